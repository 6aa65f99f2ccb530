//! Backups are complete or refused.

use tempfile::TempDir;

use super::*;
use crate::conformance::{THINGS, create, draft, thing};
use crate::history::Limits;
use crate::snapshot::Snapshot;
use crate::source::{Source, Writer};

async fn filled(folder: &TempDir) -> EmbeddedStore {
    let store = EmbeddedStore::open(&folder.path().join("berth.redb"), Limits::default()).unwrap();
    for index in 0..30 {
        let key = thing("a", &format!("x{index}"));
        store.apply(vec![create(&key, index)]).await.unwrap();
    }
    store
}

#[tokio::test]
async fn a_restored_store_has_every_object_and_goes_on_after_the_backup() {
    let folder = TempDir::new().unwrap();
    let store = filled(&folder).await;
    let mut stream = Vec::new();
    let written = store.backups().write(&mut stream).unwrap();
    // Later writes are not in it.
    store.apply(vec![create(&thing("a", "later"), 1)]).await.unwrap();
    assert_eq!(check(&mut stream.as_slice()).unwrap(), written);
    let file = folder.path().join("restored.redb");
    let contents = EmbeddedStore::restore(&file, &mut stream.as_slice(), 500).unwrap();
    assert_eq!(contents.objects, 30);
    assert_eq!(contents.revision.0, written.revision.0 + 500);
    let restored = EmbeddedStore::open(&file, Limits::default()).unwrap();
    assert_eq!(restored.revision(), contents.revision);
    let objects = restored.export();
    assert_eq!(objects.objects.len(), 30);
    for (key, object) in &objects.objects {
        let original = store.cached(THINGS);
        let original = original.iter(None, None).find(|(name, _)| name.name == key.name);
        let (_, original) = original.unwrap();
        assert_eq!(object.bytes(), original.bytes());
        assert_eq!(object.revision(), original.revision());
    }
    let key = thing("a", "next");
    let applied = restored.apply(vec![create(&key, 7)]).await.unwrap();
    assert_eq!(applied.len(), 1);
    assert!(restored.revision() > contents.revision);
}

#[tokio::test]
async fn a_backup_that_was_cut_off_or_changed_anywhere_is_refused_and_nothing_is_replaced() {
    let folder = TempDir::new().unwrap();
    let store = filled(&folder).await;
    let mut stream = Vec::new();
    store.backups().write(&mut stream).unwrap();
    let file = folder.path().join("target.redb");
    std::fs::write(&file, "what was there").unwrap();
    let restored = |bytes: &[u8]| {
        let mut input = bytes;
        EmbeddedStore::restore(&file, &mut input, 0)
    };
    for length in (0..stream.len()).step_by(97) {
        assert!(restored(&stream[..length]).is_err(), "cut off at {length}");
    }
    for byte in (0..stream.len()).step_by(61) {
        let mut flipped = stream.clone();
        flipped[byte] ^= 4;
        assert!(check(&mut flipped.as_slice()).is_err(), "flipped in {byte}");
    }
    let mut longer = stream.clone();
    longer.push(0);
    assert!(restored(&longer).is_err());
    assert!(matches!(restored(b"PK\x03\x04"), Err(BackupError::NoBackup)));
    assert_eq!(std::fs::read(&file).unwrap(), b"what was there");
    assert!(!import::partial_path(&file).exists());
    restored(&stream).unwrap();
}

#[test]
fn an_encrypted_store_is_encrypted_in_its_backup_and_needs_no_key_to_be_restored() {
    use crate::encryption::{Key, Rule};
    let folder = TempDir::new().unwrap();
    let encryption = Arc::new(Encryption::new(vec![Rule {
        resources: vec![("*".to_owned(), "*".to_owned())],
        writes_encrypted: true,
        keys: vec![Key::aes_gcm("k", &[7; 32]).unwrap()],
    }]));
    let key = thing("a", "secret-name");
    let snapshot = Snapshot {
        revision: Revision(9),
        objects: vec![(key.clone(), Arc::new(draft(&key, 424_242).at(Revision(8))))],
    };
    let file = folder.path().join("berth.redb");
    EmbeddedStore::import_encrypted(&file, &snapshot, &encryption).unwrap();
    let store = EmbeddedStore::open_encrypted(&file, Limits::default(), &encryption).unwrap();
    let mut stream = Vec::new();
    store.backups().write(&mut stream).unwrap();
    let shown = String::from_utf8_lossy(&stream).into_owned();
    assert!(!shown.contains("424242"), "{shown}");
    let restored = folder.path().join("restored.redb");
    EmbeddedStore::restore(&restored, &mut stream.as_slice(), 0).unwrap();
    let without = EmbeddedStore::open(&restored, Limits::default()).err().unwrap();
    assert!(matches!(without, StoreError::Sealed { .. }), "{without}");
    let with = EmbeddedStore::open_encrypted(&restored, Limits::default(), &encryption).unwrap();
    assert_eq!(with.export().difference(&snapshot), None);
}
