//! A full disk of a running server: requests that still work, and the state after a restart.

use std::fs::{self, File};
use std::io::Write as _;

use berth_tests::raw::{self, get, send, write};
use berth_tests::small_disk::SmallDisk;
use berth_tests::{Server, eventually};
use http::Method;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{number}")},
        "data": {"x": "x".repeat(400_000)},
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a file system of its own: `make faults`"]
async fn a_full_disk_takes_deletions_and_starts_again_with_all_that_was_acknowledged() {
    let disk = SmallDisk::new(48);
    let mut server = Server::start_in(disk.path().join("data"));
    let client = raw::client(&server.kubeconfig()).await;
    for number in 0..10 {
        let made = write(&client, Method::POST, MAPS, &map(number)).await;
        assert_eq!(made.code, 201, "{}", String::from_utf8_lossy(&made.body));
    }
    // Another file uses all remaining space.
    let filler = disk.path().join("filler");
    let mut file = File::create(&filler).expect("the disk is there");
    let block = vec![0; 64 * 1024];
    while file.write_all(&block).is_ok() {}
    drop(file);

    let (mut made, mut refused) = (10, None);
    while refused.is_none() {
        let answer = write(&client, Method::POST, MAPS, &map(made)).await;
        if answer.code == 201 {
            made += 1;
        } else {
            refused = Some(answer);
        }
        assert!(made < 200, "the disk is not full");
    }
    let refused = refused.expect("the loop ends with it");
    let text = String::from_utf8_lossy(&refused.body).into_owned();
    assert!(
        (500..600).contains(&refused.code) && text.contains("disk"),
        "{text}"
    );

    // Reads and deletions still work.
    assert_eq!(get(&client, &format!("{MAPS}/map-0")).await.code, 200);
    for number in 1..5 {
        let path = format!("{MAPS}/map-{number}");
        let gone = send(&client, Method::DELETE, &path, &[], b"").await;
        assert_eq!(gone.code, 200, "{}", String::from_utf8_lossy(&gone.body));
    }

    server.crash();
    server.restart();
    let client = raw::client(&server.kubeconfig()).await;
    for number in (0..1).chain(5..made) {
        let got = get(&client, &format!("{MAPS}/map-{number}")).await;
        assert_eq!(got.code, 200, "map-{number} was acknowledged");
    }
    for number in 1..5 {
        assert_eq!(get(&client, &format!("{MAPS}/map-{number}")).await.code, 404);
    }

    // With free space again, all writes are accepted, without a restart.
    fs::remove_file(filler).expect("it is there");
    eventually("writes are taken again", || {
        let made = server.kubectl("create configmap again").run();
        made.success.then_some(())
    });
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a file system of its own: `make faults`"]
async fn a_disk_that_objects_filled_takes_all_writes_again_once_they_are_deleted() {
    let disk = SmallDisk::new(96);
    let server = Server::start_in(disk.path().join("data"));
    let client = raw::client(&server.kubeconfig()).await;
    let mut made = 0;
    while write(&client, Method::POST, MAPS, &map(made)).await.code == 201 {
        made += 1;
        assert!(made < 400, "the disk is not full");
    }
    // Deletions do not shrink the file: its size stays, with free space in it.
    for number in 0..made {
        let path = format!("{MAPS}/map-{number}");
        let gone = send(&client, Method::DELETE, &path, &[], b"").await;
        assert_eq!(gone.code, 200, "{}", String::from_utf8_lossy(&gone.body));
    }
    eventually("writes are taken again", || {
        let made = server.kubectl("create configmap again").run();
        made.success.then_some(())
    });
    for number in 0..made / 2 {
        let made = write(&client, Method::POST, MAPS, &map(number)).await;
        assert_eq!(made.code, 201, "{}", String::from_utf8_lossy(&made.body));
    }
}
