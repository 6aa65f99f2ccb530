//! A database file with encrypted Secrets: keys are added and removed, and no data is lost.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::path::Path;
use std::sync::Arc;

use berth_storage::conformance::{THINGS, create, thing, update, value};
use berth_storage::embedded::EmbeddedStore;
use berth_storage::encryption::{Encryption, Key, Rule};
use berth_storage::{Expect, Limits, Source, StoreError, Writer};
use tempfile::TempDir;

/// Encryption of the conformance suite's things with keys of a name and a byte.
fn with(keys: &[(&str, u8)]) -> Arc<Encryption> {
    let keys = keys
        .iter()
        .map(|(name, byte)| Key::aes_gcm(name, &[*byte; 32]).unwrap());
    Arc::new(Encryption::new(vec![Rule {
        resources: vec![(THINGS.group.to_owned(), THINGS.resource.to_owned())],
        writes_encrypted: true,
        keys: keys.collect(),
    }]))
}

fn open(file: &Path, encryption: &Arc<Encryption>) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open_encrypted(file, Limits::default(), encryption)
}

fn contains(file: &Path, text: &str) -> bool {
    let bytes = std::fs::read(file).unwrap();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn keys_are_rotated_without_losing_an_object() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let [plain, first, second] = ["plain", "first", "second"].map(|name| thing("a", name));
    let store = open(&file, &Arc::default()).unwrap();
    store.apply(vec![create(&plain, 1)]).await.unwrap();
    drop(store);

    let store = open(&file, &with(&[("k1", 1)])).unwrap();
    assert_eq!(
        value(store.cached(THINGS).get("a", "plain").unwrap()),
        1,
        "as it was before"
    );
    store.apply(vec![create(&first, 2)]).await.unwrap();
    drop(store);
    assert!(contains(&file, "k8s:enc:aesgcm:v1:k1:"));

    let store = open(&file, &with(&[("k2", 2), ("k1", 1)])).unwrap();
    store.apply(vec![create(&second, 3)]).await.unwrap();
    for (key, number) in [(&plain, 10), (&first, 20)] {
        store
            .apply(vec![update(key, number, Expect::Present)])
            .await
            .unwrap();
    }
    let revision = store.revision();
    drop(store);

    // Everything is rewritten with the new key, so the old one can be removed.
    let store = open(&file, &with(&[("k2", 2)])).unwrap();
    let things = store.cached(THINGS);
    let values = ["plain", "first", "second"].map(|name| value(things.get("a", name).unwrap()));
    assert_eq!(values, [10, 20, 3]);
    assert_eq!(store.revision(), revision);
}

#[tokio::test]
async fn a_wrong_or_missing_key_refuses_the_start_and_names_object_and_key() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let store = open(&file, &with(&[("k1", 1)])).unwrap();
    store.apply(vec![create(&thing("a", "hidden"), 1)]).await.unwrap();
    drop(store);
    for keys in [vec![], vec![("k2", 1)], vec![("k1", 2)]] {
        let refused = open(&file, &with(&keys)).map(drop).unwrap_err();
        assert!(matches!(refused, StoreError::Sealed { .. }), "{refused:?}");
        let said = refused.to_string();
        assert!(said.contains("a/hidden") && said.contains("\"k1\""), "{said}");
        assert!(!said.contains("damaged"), "{said}");
    }
    assert!(open(&file, &with(&[("k1", 1)])).is_ok(), "nothing was changed");
}

#[tokio::test]
async fn copies_that_one_process_alone_can_read_are_on_disk_for_nobody_and_gone_at_the_next_start() {
    use berth_storage::conformance::OTHERS;
    let own = || Arc::new(Encryption::default().with_ephemeral(&[THINGS]).unwrap());
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let kept = berth_apimachinery::Key {
        resource: OTHERS,
        ..thing("a", "kept")
    };
    let store = open(&file, &own()).unwrap();
    store
        .apply(vec![create(&thing("a", "copy"), 424_242)])
        .await
        .unwrap();
    store.apply(vec![create(&kept, 3)]).await.unwrap();
    assert_eq!(value(store.cached(THINGS).get("a", "copy").unwrap()), 424_242);
    let mut backup = Vec::new();
    assert_eq!(store.backups().write(&mut backup).unwrap().objects, 1);
    let revision = store.revision();
    drop(store);
    assert!(contains(&file, "k8s:enc:ephemeral:v1:") && !contains(&file, "424242"));

    // Any later open discards it, with any keys.
    for encryption in [own(), Arc::default(), own()] {
        let store = open(&file, &encryption).unwrap();
        assert_eq!(store.cached(THINGS).iter(None, None).count(), 0);
        assert_eq!(value(store.cached(OTHERS).get("a", "kept").unwrap()), 3);
        assert_eq!(store.revision(), revision, "nothing has happened");
    }
    let store = open(&file, &own()).unwrap();
    store.apply(vec![create(&thing("a", "copy"), 5)]).await.unwrap();
    drop(store);
    assert_eq!(
        open(&file, &own())
            .unwrap()
            .cached(OTHERS)
            .iter(None, None)
            .count(),
        1
    );
}
