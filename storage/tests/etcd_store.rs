//! Behavior of the store in etcd beyond the suite: several processes on one etcd, restarts, compaction,
//! foreign keys, certificates and passwords.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, Key, Revision};
use berth_storage::conformance::{
    OTHERS, THINGS, create, delete, draft, fence, guarded, thing, update, value,
};
use berth_storage::etcd::{EtcdConfig, EtcdStore};
use berth_storage::{At, Expect, Limits, Scope, Source, Step, Store, StoreError, Writer};
use etcd_client::Client;
use etcd_process::Etcd;
use proxy::Proxy;
use serde_json::json;

#[expect(dead_code, unreachable_pub, reason = "shared with tests that need more of it")]
#[path = "../../tests/src/etcd.rs"]
mod etcd_process;
#[expect(unreachable_pub, reason = "a module of a test")]
#[path = "support/proxy.rs"]
mod proxy;

const PATIENCE: Duration = Duration::from_secs(30);

fn config(url: String) -> EtcdConfig {
    let mut config = EtcdConfig::new([url]);
    config.prefix = format!("/case-{}", RandomState::new().hash_one(0));
    config
}

async fn open(config: &EtcdConfig) -> Arc<dyn Store> {
    Arc::new(
        EtcdStore::open(config, Limits::default())
            .await
            .expect("the store opens"),
    )
}

/// An object of 3 MiB, more than etcd accepts by default, at `key`.
fn large(key: &Key) -> Draft {
    let object = json!({
        "apiVersion": "conformance.example/v1", "kind": "Thing",
        "metadata": {"namespace": &*key.namespace, "name": &*key.name}, "spec": {"text": "x".repeat(3 << 20)},
    });
    Draft::new(&object).expect("an object")
}

async fn put(store: &Arc<dyn Store>, step: Step) -> Revision {
    store.apply(vec![step]).await.expect("the step is applied")[0]
        .object
        .revision()
}

/// Polls until `what` returns a value.
async fn eventually<T, F: Future<Output = Option<T>>>(name: &str, what: impl Fn() -> F) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = what().await {
            return found;
        }
        assert!(Instant::now() < end, "{name} does not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_see_each_other_and_fences_hold_between_them() {
    let etcd = Etcd::start();
    let config = config(etcd.url());
    let (one, two) = (open(&config).await, open(&config).await);
    let start = two.revision();
    let mut watch = two.watch(Scope::One(THINGS), start).expect("the watch starts");
    for index in 0..20 {
        let key = thing("a", &format!("x{index}"));
        let made = put(&one, create(&key, index)).await;
        let listed = two.list(THINGS, At::Latest).await.expect("listed");
        assert!(
            listed.revision >= made && listed.get("a", &key.name).is_some(),
            "{key} is not there yet"
        );
    }
    let mut seen = Vec::new();
    while seen.len() < 20 {
        let events = tokio::time::timeout(PATIENCE, watch.next(100)).await;
        seen.extend(events.expect("events come").expect("the watch goes on"));
    }
    assert!(seen.is_sorted_by(|a, b| a.change.revision < b.change.revision));
    // Each one decides on the same snapshot.
    let snapshot = one.revision();
    put(
        &one,
        guarded(create(&thing("a", "first"), 1), fence("seed/eu", snapshot)),
    )
    .await;
    let second = guarded(create(&thing("a", "second"), 1), fence("seed/eu", snapshot));
    let second = two.apply(vec![second]).await;
    assert!(matches!(second, Err(StoreError::Fenced { .. })), "{second:?}");
    // A list of steps may pass its own fence repeatedly.
    let now = two.list(THINGS, At::Latest).await.expect("listed").revision;
    let steps = ["y", "z"].map(|name| guarded(create(&thing("a", name), 1), fence("seed/eu", now)));
    two.apply(steps.to_vec())
        .await
        .expect("a list does not stand in its own way");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_step_leaves_the_ones_before_it() {
    let etcd = Etcd::start();
    let store = open(&config(etcd.url())).await;
    let steps = vec![
        create(&thing("a", "x"), 1),
        update(&thing("a", "gone"), 2, Expect::Present),
        create(&thing("a", "y"), 3),
    ];
    let refused = store.apply(steps).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })));
    let listed = store.list(THINGS, At::Latest).await.expect("listed");
    assert_eq!(listed.items.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_and_pages_from_before_a_restart_go_on() {
    let etcd = Etcd::start();
    let mut config = config(etcd.url());
    let store = open(&config).await;
    let key = thing("a", "x");
    let first = put(&store, create(&key, 1)).await;
    let second = put(&store, update(&key, 2, Expect::Present)).await;
    put(&store, delete(&key, Expect::Present)).await;
    drop(store);
    let store = open(&config).await;
    let mut watch = store.watch(Scope::One(THINGS), first).expect("the watch goes on");
    let events = watch.next(10).await.expect("what was missed comes");
    let revisions: Vec<_> = events.iter().map(|event| event.change.revision).collect();
    assert_eq!(revisions, [second, store.revision()]);
    // A store without history requests the page from etcd.
    config.replay = 0;
    let late = open(&config).await;
    let page = late.list(THINGS, At::Exact(second)).await.expect("etcd has it");
    assert_eq!(page.revision, second);
    assert_eq!(value(page.get("a", "x").expect("it was there")), 2);
    let before = late.list(THINGS, At::Exact(Revision(1))).await;
    assert!(
        matches!(before, Err(StoreError::Expired { .. })),
        "before this store was made: {before:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_is_compacted_and_what_is_gone_is_expired() {
    let etcd = Etcd::start();
    let mut config = config(etcd.url());
    config.compaction_interval = Duration::from_millis(100);
    let store = open(&config).await;
    let first = put(&store, create(&thing("a", "x"), 1)).await;
    let client = Client::connect([etcd.url()], None).await.expect("a client");
    eventually("compaction", || {
        let mut client = client.clone();
        async move {
            let then = i64::try_from(first.0).expect("small");
            let options = etcd_client::GetOptions::new().with_revision(then);
            client.get("/any", Some(options)).await.err()
        }
    })
    .await;
    config.replay = 10_000;
    let late = open(&config).await;
    let gone = late.list(THINGS, At::Exact(first)).await;
    assert!(
        matches!(gone, Err(StoreError::Expired { asked, .. }) if asked == first),
        "{gone:?}"
    );
    let refused = late.watch(Scope::All, first).err();
    assert!(matches!(refused, Some(StoreError::Expired { .. })), "{refused:?}");
    assert_eq!(
        late.list(THINGS, At::Latest).await.expect("listed").items.len(),
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_cut_off_past_a_compaction_reads_everything_again_and_its_watchers_know() {
    let etcd = Etcd::start();
    let mut config = config(etcd.url());
    let near = open(&config).await;
    put(&near, create(&thing("a", "stays"), 1)).await;
    put(&near, create(&thing("a", "goes"), 1)).await;
    let proxy = Proxy::start(&etcd.url()).await;
    config.endpoints = vec![proxy.url()];
    let far = open(&config).await;
    let mut things = far
        .watch(Scope::One(THINGS), far.revision())
        .expect("the watch starts");
    let mut others = far
        .watch(Scope::One(OTHERS), far.revision())
        .expect("the watch starts");
    proxy.cut();
    put(&near, delete(&thing("a", "goes"), Expect::Present)).await;
    put(&near, create(&Key::new(OTHERS, "", "passing"), 1)).await;
    let last = put(&near, delete(&Key::new(OTHERS, "", "passing"), Expect::Present)).await;
    let mut client = Client::connect([etcd.url()], None).await.expect("a client");
    client
        .compact(i64::try_from(last.0).expect("small"), None)
        .await
        .expect("compacted");
    let cut_off = far.list(THINGS, At::Latest).await;
    assert!(
        matches!(cut_off, Err(StoreError::Unavailable(_))),
        "never stale: {cut_off:?}"
    );
    assert!(far.ready().is_err());
    proxy.mend();
    let listed = eventually("the store's return", || async {
        far.list(THINGS, At::Latest).await.ok()
    })
    .await;
    assert_eq!(listed.items.len(), 1);
    for watch in [&mut things, &mut others] {
        let end = tokio::time::timeout(PATIENCE, watch.next(10))
            .await
            .expect("it learns of it");
        assert!(matches!(end, Err(StoreError::Expired { .. })), "{end:?}");
    }
    assert!(far.ready().is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_cut_and_mended_misses_nothing() {
    let etcd = Etcd::start();
    let mut config = config(etcd.url());
    let near = open(&config).await;
    let proxy = Proxy::start(&etcd.url()).await;
    config.endpoints = vec![proxy.url()];
    let far = open(&config).await;
    let mut watch = far
        .watch(Scope::One(THINGS), far.revision())
        .expect("the watch starts");
    let mut expected = Vec::new();
    for round in 0..5 {
        proxy.cut();
        for index in 0..10 {
            expected.push(put(&near, create(&thing("a", &format!("x{round}-{index}")), 1)).await);
        }
        proxy.mend();
        expected.push(put(&near, create(&thing("a", &format!("y{round}")), 1)).await);
    }
    let mut seen = Vec::new();
    while seen.len() < expected.len() {
        let events = tokio::time::timeout(PATIENCE, watch.next(7))
            .await
            .expect("events come");
        seen.extend(
            events
                .expect("the watch goes on")
                .iter()
                .map(|event| event.change.revision),
        );
    }
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_prefix_is_another_store() {
    let etcd = Etcd::start();
    let (one, two) = (open(&config(etcd.url())).await, open(&config(etcd.url())).await);
    let mut watch = two.watch(Scope::All, two.revision()).expect("the watch starts");
    let made = put(&one, create(&thing("a", "x"), 1)).await;
    let listed = two.list(THINGS, At::NotOlderThan(made)).await.expect("listed");
    assert!(
        listed.items.is_empty() && listed.revision >= made,
        "revisions are etcd's"
    );
    let none = tokio::time::timeout(Duration::ZERO, watch.next(1)).await;
    assert!(none.is_err(), "no event: {none:?}");
    assert!(watch.revision() >= made, "a bookmark moves on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_is_no_object_is_named_and_never_shown() {
    let etcd = Etcd::start();
    let config = config(etcd.url());
    let store = open(&config).await;
    let key = thing("a", "x");
    put(&store, create(&key, 1)).await;
    let stored = format!("{}/objects/conformance.example/things/a/x", config.prefix);
    let mut client = Client::connect([etcd.url()], None).await.expect("a client");
    client
        .put(stored.clone(), "scribble", None)
        .await
        .expect("written");
    let problem = eventually("the store to notice", || async { store.ready().err() }).await;
    let problem = problem.to_string();
    assert!(
        problem.contains("things.conformance.example/a/x") && problem.contains("not JSON"),
        "{problem}"
    );
    let listed = store.list(THINGS, At::Latest).await.expect("listed");
    assert_eq!(value(listed.get("a", "x").expect("the last good state")), 1);
    let refused = store.apply(vec![update(&key, 2, Expect::Present)]).await;
    assert!(
        matches!(&refused, Err(StoreError::Unreadable { key, .. }) if *key == stored),
        "{refused:?}"
    );
    let Err(unopened) = EtcdStore::open(&config, Limits::default()).await else {
        panic!("it opens on a damaged value")
    };
    assert!(unopened.to_string().contains(&stored), "{unopened}");
    client.delete(stored, None).await.expect("deleted");
    eventually("the store to be ready", || async { store.ready().ok() }).await;
    put(&store, create(&key, 3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_larger_than_etcd_takes_is_refused_by_its_size() {
    let etcd = Etcd::start();
    let store = open(&config(etcd.url())).await;
    let key = thing("a", "large");
    let step = Step {
        verb: Verb::Create,
        object: Some(large(&key)),
        ..create(&key, 1)
    };
    let refused = store.apply(vec![step]).await;
    assert!(
        matches!(refused, Err(StoreError::TooLarge { bytes, .. }) if bytes > 3 << 20),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_with_more_guards_than_etcd_takes_is_refused_for_good() {
    let etcd = Etcd::start();
    let store = open(&config(etcd.url())).await;
    let mut step = create(&thing("a", "x"), 1);
    step.guards = (0..200)
        .map(|number| fence(&format!("f{number}"), store.revision()))
        .collect();
    let refused = store.apply(vec![step.clone()]).await;
    assert!(
        matches!(&refused, Err(StoreError::Misuse { problem, .. }) if problem.contains("--max-txn-ops")),
        "{refused:?}"
    );
    step.guards.truncate(100);
    put(&store, step).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_and_passwords_are_used_and_wrong_ones_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).expect("written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let (cert_text, key_text) = (cert.display().to_string(), key.display().to_string());
    let mut etcd = Etcd::start_with(&[
        "--unsafe-no-fsync",
        "--cert-file",
        &cert_text,
        "--key-file",
        &key_text,
    ]);
    let mut config = config(etcd.url());
    config.ca_file = Some(cert);
    let store = open(&config).await;
    put(&store, create(&thing("a", "x"), 1)).await;
    drop(store);

    let tls =
        etcd_client::TlsOptions::new().ca_certificate(etcd_client::Certificate::from_pem(made.cert.pem()));
    let options = etcd_client::ConnectOptions::new().with_tls(tls);
    let mut client = Client::connect([etcd.url()], Some(options))
        .await
        .expect("a client");
    client.user_add("root", "hush", None).await.expect("a user");
    client.role_add("root").await.expect("a role");
    client.user_grant_role("root", "root").await.expect("granted");
    client
        .auth_enable()
        .await
        .expect("passwords are asked for from now on");

    let problem = async |config: &EtcdConfig| match EtcdStore::open(config, Limits::default()).await {
        Ok(_) => "none".to_owned(),
        Err(error) => error.to_string(),
    };
    let nobody = problem(&config).await;
    assert!(nobody.contains("user name is empty"), "{nobody}");
    config.credentials = Some(("root".to_owned(), "wrong".to_owned()));
    let wrong = problem(&config).await;
    assert!(wrong.contains("authentication failed"), "{wrong}");
    config.credentials = Some(("root".to_owned(), "hush".to_owned()));
    let store = open(&config).await;
    assert_eq!(
        store.list(THINGS, At::Latest).await.expect("listed").items.len(),
        1
    );
    put(&store, create(&thing("a", "y"), 1)).await;
    // A restarted etcd has no earlier token: the store logs in again, for calls and for its watch.
    let mut watch = store
        .watch(Scope::One(THINGS), store.revision())
        .expect("the watch starts");
    etcd.kill();
    etcd.restart();
    let other = open(&config).await;
    let made = put(&other, create(&thing("a", "z"), 1)).await;
    let events = tokio::time::timeout(PATIENCE, watch.next(1))
        .await
        .expect("it is seen");
    assert_eq!(events.expect("the watch goes on")[0].change.revision, made);
    eventually("a write", || async {
        store.apply(vec![create(&thing("a", "again"), 1)]).await.ok()
    })
    .await;
    config.ca_file = None;
    let unknown = problem(&config).await;
    assert!(unknown.to_lowercase().contains("certificate"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_whole_and_revisions_never_go_back() {
    let etcd = Etcd::start();
    let config = config(etcd.url());
    let objects = (0..1500u64).map(|index| {
        let key = thing("a", &format!("x{index:04}"));
        let object = Arc::new(draft(&key, 1).at(Revision(100 + index)));
        (key, object)
    });
    let source = berth_storage::Snapshot {
        revision: Revision(5000),
        objects: objects.collect(),
    };
    let mut words = Vec::new();
    let reached = EtcdStore::import(&config, &source, &mut |at| words.push(at))
        .await
        .expect("copied");
    assert!(reached.0 >= 5000 + 1500, "{reached}");
    assert!(words.len() > 3, "{words:?}");
    let store = open(&config).await;
    assert!(store.revision() >= reached);
    let listed = store.list(THINGS, At::Latest).await.expect("listed");
    assert_eq!(listed.items.len(), 1500);
    assert!(
        listed
            .items
            .values()
            .all(|object| object.revision() > source.revision)
    );
    // Watchers of the source must list again.
    let old = store.watch(Scope::All, source.revision).err();
    assert!(matches!(old, Some(StoreError::Expired { .. })), "{old:?}");
    let copy = EtcdStore::export(&config).await.expect("read back");
    assert_eq!(source.difference(&copy), None);
    assert!(!EtcdStore::changed_since(&config, &copy).await.expect("asked"));
    put(&store, delete(&thing("a", "x0000"), Expect::Present)).await;
    assert!(EtcdStore::changed_since(&config, &copy).await.expect("asked"));
    let again = EtcdStore::import(&config, &source, &mut |_| {})
        .await
        .expect_err("it is not empty");
    assert!(again.to_string().contains("1499 objects"), "{again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_names_the_object_that_is_larger_than_etcd_takes() {
    let etcd = Etcd::start();
    let config = config(etcd.url());
    let key = thing("a", "large");
    let source = berth_storage::Snapshot {
        revision: Revision(2),
        objects: vec![(key.clone(), Arc::new(large(&key).at(Revision(2))))],
    };
    let refused = EtcdStore::import(&config, &source, &mut |_| {})
        .await
        .expect_err("too large");
    let text = refused.to_string();
    assert!(
        text.contains(&key.to_string()) && text.contains("--max-request-bytes"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_would_set_revisions_back_is_refused_untouched() {
    let etcd = Etcd::start();
    let config = config(etcd.url());
    let source = berth_storage::Snapshot {
        revision: Revision(5_000_000_000),
        objects: Vec::new(),
    };
    let refused = EtcdStore::import(&config, &source, &mut |_| {})
        .await
        .expect_err("too far");
    assert!(refused.to_string().contains("--bump-revision"), "{refused}");
    open(&config).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_copy_is_not_served_and_the_next_one_begins_anew() {
    let etcd = Etcd::start();
    let config = config(etcd.url());
    let mut client = Client::connect([etcd.url()], None).await.expect("a client");
    let mark = format!("{}/store", config.prefix);
    client
        .put(mark, r#"{"format":1,"copying":true}"#, None)
        .await
        .expect("written");
    let leftover = format!("{}/objects/conformance.example/things/a/leftover", config.prefix);
    client.put(leftover, "{}", None).await.expect("written");
    let Err(refused) = EtcdStore::open(&config, Limits::default()).await else {
        panic!("half a copy is served")
    };
    assert!(
        refused.to_string().contains("run the migration again"),
        "{refused}"
    );
    let key = thing("a", "x");
    let source = berth_storage::Snapshot {
        revision: Revision(2),
        objects: vec![(key.clone(), Arc::new(draft(&key, 7).at(Revision(2))))],
    };
    EtcdStore::import(&config, &source, &mut |_| {})
        .await
        .expect("copied");
    let store = EtcdStore::open(&config, Limits::default())
        .await
        .expect("it opens");
    assert_eq!(store.cached(THINGS).items.len(), 1);
    store
        .apply(vec![update(&key, 8, Expect::Present)])
        .await
        .expect("it is in use");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_deletes_no_object_that_stands_without_a_marker() {
    let etcd = Etcd::start();
    let config = config(etcd.url());
    let mut client = Client::connect([etcd.url()], None).await.expect("a client");
    let object = format!("{}/objects/conformance.example/things/a/x", config.prefix);
    client.put(object.clone(), "{}", None).await.expect("written");
    let source = berth_storage::Snapshot {
        revision: Revision(2),
        objects: Vec::new(),
    };
    let refused = EtcdStore::import(&config, &source, &mut |_| {})
        .await
        .expect_err("it is not empty");
    assert!(refused.to_string().contains("1 objects"), "{refused}");
    for (key, count) in [(object, 1), (format!("{}/store", config.prefix), 0)] {
        let found = client.get(key.clone(), None).await.expect("read");
        assert_eq!(found.kvs().len(), count, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_no_object_is_no_change_of_the_store() {
    let etcd = Etcd::start();
    let config = config(etcd.url());
    let store = open(&config).await;
    put(&store, create(&thing("a", "x"), 1)).await;
    let mut client = Client::connect([etcd.url()], None).await.expect("a client");
    let note = || format!("{}/objects/note", config.prefix);
    client.put(note(), "x", None).await.expect("written");
    let copy = EtcdStore::export(&config).await.expect("read back");
    assert_eq!(copy.objects.len(), 1);
    client.put(note(), "y", None).await.expect("written");
    assert!(!EtcdStore::changed_since(&config, &copy).await.expect("asked"));
    put(&store, update(&thing("a", "x"), 2, Expect::Present)).await;
    assert!(EtcdStore::changed_since(&config, &copy).await.expect("asked"));
}
