//! Backups of a running server, restores, and the removal of damaged or unservable records.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_tests::{Server, berth, raw};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn run(command: &str, data: &Path, arguments: &[&str]) -> Output {
    let mut process = Command::new(berth());
    process.arg(command).arg("--data-dir").arg(data).args(arguments);
    process.output().expect("berth runs")
}

fn ok(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn revision(value: &Value) -> u64 {
    let text = value["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).expect("a revision")
}

/// UIDs and revisions of the test's maps by name, and the revision of the list.
async fn maps(kubeconfig: &Path) -> (BTreeMap<String, (String, u64)>, u64) {
    let client = raw::client(kubeconfig).await;
    let list = raw::get(&client, MAPS).await.json();
    let items = list["items"].as_array().expect("a list").iter();
    let items = items.map(|item| {
        let text = |field: &str| item["metadata"][field].as_str().expect("a text").to_owned();
        (text("name"), (text("uid"), revision(item)))
    });
    (items.collect(), revision(&list))
}

/// Writers that record acknowledged writes in order, until they are stopped.
struct Writers {
    stop: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<Vec<(String, u64)>>>,
}

impl Writers {
    async fn start(kubeconfig: &Path) -> Self {
        let client = raw::client(kubeconfig).await;
        let stop = Arc::new(AtomicBool::new(false));
        let tasks = (0..6).map(|writer| {
            let (client, stop) = (client.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut done = Vec::new();
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = format!("w{writer}-{number}");
                    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
                    let answer = raw::write(&client, http::Method::POST, MAPS, &map).await;
                    assert_eq!(answer.code, 201);
                    done.push((name, revision(&answer.json())));
                }
                done
            })
        });
        Self {
            stop: Arc::clone(&stop),
            tasks: tasks.collect(),
        }
    }

    async fn end(self) -> Vec<(String, u64)> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for task in self.tasks {
            all.extend(task.await.expect("a writer ends"));
        }
        all
    }
}

/// The backup's revision, from the output of `berth backup`.
fn backup_revision(printed: &str) -> u64 {
    let after = printed.split("at revision ").nth(1).expect(printed);
    let number = after.split_whitespace().next().expect(printed);
    number.parse().expect(printed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_taken_under_write_load_has_what_was_acknowledged_before_and_nothing_by_half() {
    let mut server = Server::start();
    let elsewhere = tempfile::tempdir().unwrap();
    let backup = elsewhere.path().join("backup");
    let writers = Writers::start(&server.kubeconfig()).await;
    let enough = || async { maps(&server.kubeconfig()).await.0.len() > 100 };
    let start = std::time::Instant::now();
    while !enough().await {
        assert!(start.elapsed() < berth_tests::DEADLINE);
    }
    let (before, _) = maps(&server.kubeconfig()).await;
    let printed = {
        let (data, to) = (server.data_dir().to_owned(), backup.clone());
        let taking = move || ok(&run("backup", &data, &["--to", to.to_str().unwrap()]));
        tokio::task::spawn_blocking(taking).await.unwrap()
    };
    let at = backup_revision(&printed);
    let acknowledged = writers.end().await;
    let (all, last) = maps(&server.kubeconfig()).await;
    assert!(acknowledged.len() > before.len(), "it was written meanwhile");
    assert!(
        !server.data_dir().join("backup.sock.partial").exists() && backup.join("ca.key").is_file(),
        "the certificates are in it"
    );
    server.crash();

    // Into the same folder: the existing database is first a reason to refuse, and then kept.
    let from = backup.to_str().unwrap();
    let refused = run("restore", server.data_dir(), &["--from", from]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--replace"));
    let printed = ok(&run("restore", server.data_dir(), &["--from", from, "--replace"]));
    assert!(printed.contains("berth.redb.before-1"), "{printed}");
    server.restart();
    let (restored, now) = maps(&server.kubeconfig()).await;
    assert!(now > last, "no revision comes again: {now}, {last}");
    let expected: BTreeMap<_, _> = all
        .into_iter()
        .filter(|(_, (_, revision))| *revision <= at)
        .collect();
    assert_eq!(restored, expected);
    assert!(
        before
            .iter()
            .all(|(name, object)| restored.get(name) == Some(object))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_moves_a_server_to_another_folder_with_its_certificates() {
    let mut server = Server::start();
    server
        .kubectl("create configmap kept --from-literal=a=b")
        .succeeds();
    let elsewhere = tempfile::tempdir().unwrap();
    // Without a server, from the file; a second backup does not overwrite the first.
    server.crash();
    let backup = elsewhere.path().join("backup");
    let to = backup.to_str().unwrap();
    ok(&run("backup", server.data_dir(), &["--to", to]));
    let again = run("backup", server.data_dir(), &["--to", to]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists"));
    // A stream has the same objects.
    let stream = run("backup", server.data_dir(), &["--to", "-"]);
    assert!(stream.status.success());
    assert_eq!(
        stream.stdout,
        std::fs::read(backup.join("objects.backup")).unwrap()
    );
    std::fs::remove_dir_all(server.data_dir()).unwrap();
    ok(&run("restore", server.data_dir(), &["--from", to]));
    server.restart();
    let map = server.kubectl("get configmap kept -o json").json();
    assert_eq!(map["data"]["a"], "b");
    // A truncated backup is invalid.
    std::fs::write(
        backup.join("objects.backup"),
        &stream.stdout[..stream.stdout.len() - 40],
    )
    .unwrap();
    let new = elsewhere.path().join("new");
    let refused = run("restore", &new, &["--from", to]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the backup is damaged"));
    assert!(!new.join("berth.redb").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_keeps_the_server_from_starting_until_it_is_taken_out_by_name() {
    let mut server = Server::start();
    for name in ["one", "two", "three"] {
        let value = format!("--from-literal=text=the-value-of-{name}");
        server
            .kubectl(&format!("create configmap {name} {value}"))
            .succeeds();
    }
    let used = run("repair", server.data_dir(), &[]);
    assert!(String::from_utf8_lossy(&used.stderr).contains("stop the server first"));
    server.crash();
    let file = server.data_dir().join("berth.redb");
    let mut bytes = std::fs::read(&file).unwrap();
    let marked = b"the-value-of-two";
    let places: Vec<usize> = (0..bytes.len() - marked.len())
        .filter(|&at| bytes[at..].starts_with(marked))
        .collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place] ^= 1;
    }
    std::fs::write(&file, bytes).unwrap();
    let serve = ["serve", "--secure-port", "0", "--data-dir"];
    let start = Command::new(berth())
        .args(serve)
        .arg(server.data_dir())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&start.stderr).into_owned();
    assert!(
        !start.status.success() && errors.contains("berth.redb") && errors.contains("`berth repair`"),
        "{errors}"
    );

    let looked = run("repair", server.data_dir(), &[]);
    assert_eq!(looked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&looked.stdout).contains("configmaps/default/two: its checksum"));
    let wrong = run(
        "repair",
        server.data_dir(),
        &["--remove", "configmaps/default/other"],
    );
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("nothing was changed"));
    let name = "configmaps/default/two";
    let printed = ok(&run("repair", server.data_dir(), &["--remove", name]));
    assert!(printed.contains("removed configmaps/default/two"), "{printed}");
    server.restart();
    let left = server.kubectl("get configmaps -o name").succeeds();
    assert!(
        left.contains("/one") && left.contains("/three") && !left.contains("/two"),
        "{left}"
    );
}
