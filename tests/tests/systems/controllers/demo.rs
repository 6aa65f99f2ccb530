//! `berth demo` runs its stories live: the controllers cause the movements in them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use berth_tests::{berth, eventually};

#[test]
fn the_demo_shows_a_disaster_and_an_eviction_that_mend_themselves() {
    let output = Command::new(berth()).args(["demo", "--exit"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let logged = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{logged}");
    assert!(!logged.contains("WARN"), "{logged}");
    let (_, karmada) = text.split_once("Karmada").expect("Karmada has a story");
    for part in [
        "bound to frankfurt:5, oregon:5, singapore:2",
        "bound to oregon:7, singapore:3",
        "bound to frankfurt:6",
        "nothing makes Karmada decide again",
    ] {
        assert!(karmada.contains(part), "{part:?} is missing in\n{karmada}");
    }
    let (_, disaster) = text.split_once("Live: a disaster").expect("the disaster is told");
    let (disaster, eviction) = disaster
        .split_once("Live: an eviction")
        .expect("the eviction is told");
    // The user's command, the movement, and kubectl's output, in this order.
    let mut rest = disaster;
    for part in [
        "$ kubectl -n story-3 get decision placement.ocm",
        "primary",
        "$ kubectl patch managedcluster primary --type=merge -p '{\"spec\":{\"taints\":[{",
        "managedcluster/primary patched",
        "It moved to backup within",
        "placement.ocm",
        "backup",
        "-p '{\"spec\":{\"taints\":null}}'",
        "It moved to primary within",
        "--field-selector reason=DecisionUpdate",
        "DecisionUpdate",
    ] {
        let (_, after) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part:?} is missing in\n{rest}"));
        rest = after;
    }
    let mut rest = eviction;
    for part in [
        "joins the location",
        "$ kubectl -n shop get decision shop.kcp",
        "$ kubectl patch workloadcluster",
        "evictAfter",
        "Namespaces that left",
        "$ kubectl get namespace shop",
        "\"Bound\"",
    ] {
        let (_, after) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part:?} is missing in\n{rest}"));
        rest = after;
    }
}

#[test]
fn the_demo_offers_the_console_of_its_server_and_ends_with_it() {
    let mut demo = Command::new(berth())
        .arg("demo")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let url = lines
        .find(|line| line.contains("/#token="))
        .expect("the demo prints the console's address");
    // Later output must not fill the pipe.
    let rest = std::thread::spawn(move || lines.collect::<Vec<String>>().join("\n"));
    let (address, token) = url.trim().split_once("/#token=").unwrap();
    let host = address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let path = "/cluster/apis/scheduling.berth.dev/v1alpha1/targets?limit=1";
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nx-berth-console-token: {token}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("\"TargetList\""),
        "{answer}"
    );
    let id = demo.id().to_string();
    assert!(Command::new("kill").arg(&id).status().unwrap().success());
    let ended = eventually("the demo to end", || demo.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    let text = rest.join().unwrap();
    assert!(
        text.contains("export KUBECONFIG=") && text.contains("berth why placement/placement -n story-2"),
        "{text}"
    );
    assert!(TcpStream::connect(host).is_err(), "nobody answers any more");
}
