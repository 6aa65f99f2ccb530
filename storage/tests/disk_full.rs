//! A full disk: writes are refused with a reason, reads continue, and every acknowledged write is available
//! once there is space again. The limit is on the size of files (`ulimit -f`), so that the failure is the
//! operating system's.
//!
//! The test starts its own executable as the process with the limit, which reports on stdout.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::path::Path;
use std::process::Command;

use berth_apimachinery::Draft;
use berth_storage::conformance::{THINGS, create, thing};
use berth_storage::embedded::EmbeddedStore;
use berth_storage::{At, Limits, Source, Step, Store, StoreError, Writer};
use serde_json::json;
use tempfile::TempDir;

const FILE: &str = "BERTH_DISK_FULL_TEST_FILE";
/// The limit in kilobytes, bash's unit.
const KILOBYTES: u32 = 4096;

/// A creation of some 20 kB.
fn large(index: usize) -> Step {
    let key = thing("full", &format!("x{index:05}"));
    let object = json!({
        "apiVersion": "conformance.example/v1", "kind": "Thing",
        "metadata": {"namespace": "full", "name": &*key.name},
        "spec": {"value": index, "text": format!("{index:08}").repeat(2500)},
    });
    Step {
        object: Some(Draft::new(&object).unwrap()),
        ..create(&key, 0)
    }
}

/// Body of the process with the limit; in an ordinary run it does nothing.
#[tokio::test]
async fn the_process_without_room() {
    let Ok(file) = std::env::var(FILE) else { return };
    let store = EmbeddedStore::open(Path::new(&file), Limits::default()).unwrap();
    let mut acknowledged = 0;
    let refused = loop {
        match store.apply(vec![large(acknowledged)]).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 10_000, "the limit is not in force");
    };
    let StoreError::Unavailable(why) = &refused else {
        panic!("{refused:?}")
    };
    assert!(why.contains(&file) && why.contains("restarted"), "{why}");
    assert_eq!(
        store.ready().unwrap_err().to_string(),
        *why,
        "the health check says the same"
    );
    let again = store.apply(vec![large(acknowledged)]).await;
    assert!(matches!(again, Err(StoreError::Unavailable(_))), "{again:?}");
    let listed = store.list(THINGS, At::Latest).await.unwrap();
    assert_eq!(
        listed.items.len(),
        acknowledged,
        "reads go on, without the write that failed"
    );
    println!("acknowledged {acknowledged} {}", store.revision());
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    // With the signal ignored, a write beyond the limit is an error and does not end the process.
    let limited = format!("trap '' XFSZ; ulimit -f {KILOBYTES}; exec \"$0\" \"$@\"");
    let output = Command::new("bash")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_without_room", "--nocapture"])
        .env(FILE, &file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{errors}");
    let words: Vec<&str> = said
        .lines()
        .find_map(|line| line.split_once("acknowledged "))
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap();
    let [count, revision] = words[..] else {
        panic!("{said}")
    };
    let (count, revision): (usize, u64) = (count.parse().unwrap(), revision.parse().unwrap());
    assert!(count > 10, "{count}");

    let store = EmbeddedStore::open(&file, Limits::default()).unwrap();
    assert!(store.revision().0 >= revision);
    let listed = store.cached(THINGS);
    // The failed write may be on the disk completely or not at all.
    assert!(
        (count..=count + 1).contains(&listed.items.len()),
        "{}",
        listed.items.len()
    );
    for (index, object) in listed.items.values().enumerate() {
        assert_eq!(object.value()["spec"]["value"], index);
        assert_eq!(object.value()["spec"]["text"].as_str().unwrap().len(), 20_000);
    }
}
