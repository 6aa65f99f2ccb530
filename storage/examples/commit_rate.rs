//! Commits per second, alone and with many writers at once, and the time to reopen the file.
//!
//! `cargo run --release -p berth-storage --example commit_rate`

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, GroupResource, Key};
use berth_storage::embedded::EmbeddedStore;
use berth_storage::{Expect, Limits, Scope, Source, Step, Writer};
use serde_json::json;

const THINGS: GroupResource = GroupResource::new("example", "things");
const OBJECTS: usize = 5_000;

fn create(name: &str) -> Step {
    let key = Key::new(THINGS, "default", name);
    let rows: Vec<_> = (0..24)
        .map(|row| json!({"type": format!("Condition{row}"), "status": "True", "message": "all is well here", "n": row}))
        .collect();
    let value = json!({
        "apiVersion": "example/v1", "kind": "Thing",
        "metadata": {
            "name": name, "namespace": "default", "uid": "6f1c3c0e-0000-4000-8000-000000000000", "generation": 1,
            "creationTimestamp": "2026-11-21T00:00:00Z", "labels": {"region": "eu-1", "provider": "example"},
        },
        "spec": {"provider": "example", "region": "eu-1"},
        "status": {"conditions": rows},
    });
    let object = Some(Draft::new(&value).expect("an object"));
    Step {
        verb: Verb::Create,
        key,
        subresource: "",
        object,
        expect: Expect::Absent,
        guards: Vec::new(),
    }
}

async fn fill(store: &Arc<EmbeddedStore>, writers: usize, each: usize, prefix: &str) -> Duration {
    let started = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, prefix) = (Arc::clone(store), prefix.to_owned());
            tokio::spawn(async move {
                for index in 0..each {
                    store
                        .apply(vec![create(&format!("{prefix}-{writer}-{index}"))])
                        .await
                        .expect("written");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("the writer ends");
    }
    started.elapsed()
}

#[tokio::main]
async fn main() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let file = folder.path().join("berth.redb");
    let store = Arc::new(EmbeddedStore::open(&file, Limits::default()).expect("a new store"));
    for (writers, each) in [(1, 1000), (16, 125), (64, 31)] {
        let took = fill(&store, writers, each, &format!("w{writers}")).await;
        let rate = (writers * each) as f64 / took.as_secs_f64();
        println!("{writers:>3} writers: {rate:>8.0} writes/s");
    }
    let mut watchers = Vec::new();
    for _ in 0..1000 {
        let mut watch = store
            .watch(Scope::One(THINGS), store.revision())
            .expect("a watch");
        watchers.push(tokio::spawn(
            async move { while watch.next(1024).await.is_ok() {} },
        ));
    }
    let took = fill(&store, 16, 63, "watched").await;
    println!(
        " 16 writers, 1000 watchers: {:>8.0} writes/s",
        16.0 * 63.0 / took.as_secs_f64()
    );
    watchers.iter().for_each(tokio::task::JoinHandle::abort);
    let missing = OBJECTS.saturating_sub(store.cached(THINGS).items.len());
    fill(&store, 16, missing.div_ceil(16), "rest").await;
    let cached = store.cached(THINGS);
    let bytes: usize = cached.items.values().map(|object| object.len()).sum();
    let count = cached.items.len();
    drop(cached);
    drop(store);
    let started = Instant::now();
    let store = EmbeddedStore::open(&file, Limits::default()).expect("it opens again");
    let took = started.elapsed();
    println!("open: {count} objects of {} bytes in {took:.1?}", bytes / count);
    drop(store);
}
