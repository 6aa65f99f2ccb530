//! This version opens a store of 0.1.0 (`tests/data/store-0.1.0`: the examples, loaded and decided), with
//! every object unchanged. The files are never regenerated: they remain the old version's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use berth_storage::Limits;
use berth_storage::embedded::EmbeddedStore;
use berth_tests::Server;
use serde_json::Value;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/store-0.1.0")
}

/// The written uid and revision of every object, by the name of its record.
fn written() -> BTreeMap<String, (String, u64)> {
    let text = std::fs::read_to_string(data().join("objects.txt")).unwrap();
    let lines = text.lines().map(|line| {
        let mut parts = line.split(' ');
        let mut next = || parts.next().unwrap().to_owned();
        (next(), (next(), next().parse().unwrap()))
    });
    lines.collect()
}

#[test]
fn every_record_of_a_store_of_0_1_0_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("berth.redb");
    std::fs::copy(data().join("database"), &file).unwrap();
    let store = EmbeddedStore::open(&file, Limits::default()).unwrap();
    let snapshot = store.export();
    assert_eq!(snapshot.revision.0, 308);
    let read: BTreeMap<_, _> = snapshot
        .objects
        .iter()
        .map(|(key, object)| {
            let value: Value = serde_json::from_slice(&object.bytes()).unwrap();
            let uid = value["metadata"]["uid"].as_str().unwrap().to_owned();
            (key.to_string(), (uid, object.revision().0))
        })
        .collect();
    assert_eq!(read.len(), 162);
    assert_eq!(read, written());
}

#[test]
fn a_server_serves_a_store_of_0_1_0_and_goes_on_writing_to_it() {
    let mut server = Server::start();
    server.crash();
    std::fs::copy(data().join("database"), server.data_dir().join("berth.redb")).unwrap();
    server.restart();
    for resource in [
        "shoots.core.gardener.cloud/",
        "clusterrequests.clusters.openmcp.cloud/",
        "namespaces/",
    ] {
        let plural = resource.trim_end_matches('/');
        let list = server.kubectl(&format!("get {plural} -A -o json")).json();
        let items = list["items"].as_array().unwrap().iter();
        let uids: BTreeMap<String, &str> = items
            .map(|item| {
                let text = |field: &str| item["metadata"][field].as_str();
                let place = text("namespace").map(|namespace| format!("{namespace}/"));
                let name = text("name").unwrap();
                let key = format!("{resource}{}{name}", place.unwrap_or_default());
                (key, text("uid").unwrap())
            })
            .collect();
        let mut expected = written();
        expected.retain(|key, _| key.starts_with(resource));
        assert!(expected.len() > 2, "{resource}: {}", expected.len());
        for (key, (uid, _)) in expected {
            assert_eq!(uids.get(&key), Some(&uid.as_str()), "{key}");
        }
    }
    server
        .kubectl("annotate shoot web -n garden-dev upgraded=yes")
        .succeeds();
    server.crash();
    server.restart();
    let shoot = server.kubectl("get shoot web -n garden-dev -o json").json();
    assert_eq!(shoot["metadata"]["annotations"]["upgraded"], "yes");
}
