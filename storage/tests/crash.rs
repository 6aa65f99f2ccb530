//! `kill -9` under load: every acknowledged write survives, and the revision never decreases.
//!
//! The test starts its own executable as the process to kill, which acknowledges on stdout.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_storage::conformance::{THINGS, create, delete, thing, update, value};
use berth_storage::embedded::EmbeddedStore;
use berth_storage::{Expect, Limits, Source, Writer};
use tempfile::TempDir;

const FILE: &str = "BERTH_CRASH_TEST_FILE";
const ROUND: &str = "BERTH_CRASH_TEST_ROUND";
const WRITERS: i64 = 8;
const ROUNDS: i64 = 6;

/// Step `index` of the writer `writer`: writes `index` to a key of the writer, or deletes it.
fn planned(writer: i64, index: i64) -> (Key, bool) {
    (
        thing("crash", &format!("w{writer}-{}", index % 7)),
        index % 5 == 4,
    )
}

fn first_of(round: i64) -> i64 {
    round * 1_000_000
}

/// Body of the process to kill; in an ordinary run it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_to_kill() {
    let (Ok(file), Ok(round)) = (std::env::var(FILE), std::env::var(ROUND)) else {
        return;
    };
    let round: i64 = round.parse().unwrap();
    let store = Arc::new(EmbeddedStore::open(Path::new(&file), Limits::default()).unwrap());
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(write(Arc::clone(&store), writer, round)))
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

async fn write(store: Arc<EmbeddedStore>, writer: i64, round: i64) {
    for index in first_of(round).. {
        let (key, deletes) = planned(writer, index);
        let there = store.cached(THINGS).get(&key.namespace, &key.name).is_some();
        let step = match (deletes, there) {
            (true, true) => delete(&key, Expect::Present),
            (true, false) => continue,
            (false, true) => update(&key, index, Expect::Present),
            (false, false) => create(&key, index),
        };
        let revision = store.apply(vec![step]).await.unwrap()[0].object.revision();
        let mut out = std::io::stdout().lock();
        writeln!(out, "ack {writer} {index} {revision}").unwrap();
        out.flush().unwrap();
    }
}

fn start(file: &Path, round: i64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_to_kill", "--nocapture"])
        .env(FILE, file)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Last acknowledged step of each writer as (index, revision), of a process that was killed after `enough`
/// steps.
fn acknowledged_before_the_kill(file: &Path, round: i64, enough: usize) -> Vec<(i64, i64, u64)> {
    let mut child = start(file, round);
    let lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    let mut acks = Vec::new();
    let mut ended = false;
    for line in lines {
        let line = String::from_utf8(line.unwrap()).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["ack", writer, index, revision] = words[..] {
            acks.push((
                writer.parse().unwrap(),
                index.parse().unwrap(),
                revision.parse().unwrap(),
            ));
        }
        if acks.len() >= enough && !ended {
            child.kill().unwrap();
            ended = true;
        }
    }
    assert!(!child.wait().unwrap().success(), "it was killed");
    acks
}

#[test]
fn every_acknowledged_write_survives_kill_9() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("berth.redb");
    let mut last = 0;
    let mut states: BTreeMap<Key, (i64, bool, u64)> = BTreeMap::new();
    for round in 0..ROUNDS {
        let acks = acknowledged_before_the_kill(&file, round, 150 + 83 * usize::try_from(round).unwrap());
        let mut reached = BTreeMap::new();
        for &(writer, index, revision) in &acks {
            let (key, deleted) = planned(writer, index);
            states.insert(key, (index, deleted, revision));
            reached.insert(writer, index);
            last = last.max(revision);
        }
        let store = EmbeddedStore::open(&file, Limits::default()).unwrap();
        assert!(
            store.revision().0 >= last,
            "round {round}: {} after {last}",
            store.revision()
        );
        last = store.revision().0;
        let expected = states.clone();
        for (key, state) in expected {
            let (index, deleted, revision) = check(&store, &key, state, &reached, round);
            states.insert(key, (index, deleted, revision));
        }
    }
}

/// The key has its acknowledged state, or the state after the one step that its writer had in flight.
fn check(
    store: &EmbeddedStore,
    key: &Key,
    (index, deleted, revision): (i64, bool, u64),
    reached: &BTreeMap<i64, i64>,
    round: i64,
) -> (i64, bool, u64) {
    let writer: i64 = key.name[1..2].parse().unwrap();
    let from = reached.get(&writer).map_or(first_of(round), |index| index + 1);
    // A delete of a missing key is skipped silently, so the step in flight is one of the next few.
    let in_flight =
        |deletes: bool| (from..from + 8).find(|index| planned(writer, *index) == (key.clone(), deletes));
    match store.cached(THINGS).get(&key.namespace, &key.name) {
        Some(object) if object.revision().0 == revision => {
            assert!(!deleted && value(object) == index, "{key}");
            (index, deleted, revision)
        }
        Some(object) => {
            assert!(object.revision().0 > revision, "{key} went back");
            assert_eq!(Some(value(object)), in_flight(false), "{key}");
            (value(object), false, object.revision().0)
        }
        None => {
            assert!(deleted || in_flight(true).is_some(), "{key} is lost");
            (index, true, revision)
        }
    }
}
