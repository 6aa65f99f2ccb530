//! Secrets in etcd are encrypted as those in a file are: etcd holds no plain text, keys are replaced without
//! data loss, and a missing key prevents the start.

use std::sync::Arc;

use berth_storage::conformance::{OTHERS, THINGS, create, draft, thing, update, value};
use berth_storage::encryption::{Encryption, Key, Rule};
use berth_storage::etcd::{EtcdConfig, EtcdStore};
use berth_storage::{Expect, Limits, Source, Step, StoreError, Writer};
use etcd_client::{Client, GetOptions};
use etcd_process::Etcd;

#[expect(dead_code, unreachable_pub, reason = "shared with tests that need more of it")]
#[path = "../../tests/src/etcd.rs"]
mod etcd_process;

fn with(keys: &[(&str, u8)]) -> Arc<Encryption> {
    let keys = keys
        .iter()
        .map(|(name, byte)| Key::aes_gcm(name, &[*byte; 32]).expect("a key of 32 bytes"));
    Arc::new(Encryption::new(vec![Rule {
        resources: vec![(THINGS.group.to_owned(), THINGS.resource.to_owned())],
        writes_encrypted: true,
        keys: keys.collect(),
    }]))
}

async fn open(etcd: &Etcd, encryption: Arc<Encryption>) -> Result<EtcdStore, StoreError> {
    let mut config = EtcdConfig::new([etcd.url()]);
    config.prefix = "/encrypted".to_owned();
    config.encryption = encryption;
    EtcdStore::open(&config, Limits::default()).await
}

/// Every value in etcd, as lossy text.
async fn values(etcd: &Etcd) -> Vec<String> {
    let mut client = Client::connect([etcd.url()], None).await.expect("etcd answers");
    let all = client.get("", Some(GetOptions::new().with_all_keys())).await;
    let all = all.expect("etcd lists");
    all.kvs()
        .iter()
        .map(|pair| String::from_utf8_lossy(pair.value()).into_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_holds_no_plain_text_and_keys_are_rotated_without_losing_an_object() {
    let etcd = Etcd::start();
    let [plain, first, second] = ["plain", "first", "second"].map(|name| thing("a", name));
    let secret = |key, number| Step {
        object: Some(draft(key, number)),
        ..create(key, number)
    };
    let store = open(&etcd, Arc::default()).await.expect("a new store");
    store.apply(vec![secret(&plain, 1)]).await.expect("stored");
    drop(store);

    let store = open(&etcd, with(&[("k1", 1)])).await.expect("opened with a key");
    assert_eq!(
        value(store.cached(THINGS).get("a", "plain").expect("it is there")),
        1
    );
    store.apply(vec![secret(&first, 2)]).await.expect("stored");
    let other = berth_apimachinery::Key::new(OTHERS, "a", "other");
    store.apply(vec![create(&other, 5)]).await.expect("stored");
    drop(store);
    let held = values(&etcd).await;
    let sealed = held
        .iter()
        .filter(|value| value.contains("k8s:enc:aesgcm:v1:k1:"));
    assert!(sealed.count() >= 1, "{held:?}");
    assert!(
        !held.iter().any(|value| value.contains("\"first\"")),
        "the object that was written with a key is there in plain text"
    );
    assert!(
        held.iter().any(|value| value.contains("\"other\"")),
        "kinds without a rule are not encrypted"
    );

    let refused = open(&etcd, with(&[("k2", 2)])).await.map(drop);
    let refused = refused.expect_err("the key of one object is missing");
    assert!(matches!(refused, StoreError::Sealed { .. }), "{refused:?}");
    assert!(refused.to_string().contains("\"k1\""), "{refused}");

    let store = open(&etcd, with(&[("k2", 2), ("k1", 1)]))
        .await
        .expect("opened with both");
    store.apply(vec![secret(&second, 3)]).await.expect("stored");
    for (key, number) in [(&plain, 10), (&first, 20)] {
        let step = update(key, number, Expect::Present);
        store.apply(vec![step]).await.expect("updated");
    }
    drop(store);

    // Everything is rewritten with the new key, so the old one can be removed.
    let store = open(&etcd, with(&[("k2", 2)]))
        .await
        .expect("opened with the new key");
    let things = store.cached(THINGS);
    let values = ["plain", "first", "second"].map(|name| value(things.get("a", name).expect("it is there")));
    assert_eq!(values, [10, 20, 3]);
}
