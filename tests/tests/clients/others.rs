//! Python's official client and kopf, fabric8 in Java, and JavaScript's official client.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use berth_tests::Server;
use berth_tests::running::Running;
use serde_json::Value;

use super::client::Client;
use super::installed::{java, node, python, sources};
use super::{STORY, load, server};

#[test]
#[ignore = "installs packages of Python: `make clients`"]
fn pythons_client_lists_watches_patches_and_applies() {
    let mut program = python();
    program.arg(sources("python").join("client.py"));
    let server = server(&STORY);
    Client::start(&server, program)
        .says(&[
            "lists Decisions",
            "gets a Candidate by the names of its decision and its cluster",
            "lists in pages",
            "watches a Decision follow a patch of its Placement",
            "has an informer that is told what comes and goes",
            "patches by strategic merge and by JSON patch",
            "patches a scale",
            "applies, with owners and conflicts",
            "is told to quote what YAML takes for a boolean",
            "is elected by a Lease",
        ])
        .ends();
}

#[test]
#[ignore = "installs packages of Python: `make clients`"]
fn an_operator_made_with_kopf_handles_placements() {
    let mut program = python();
    program.arg(sources("python").join("placements_operator.py"));
    let server = server(&STORY);
    Client::start(&server, program)
        .says(&[
            "a handler is called for what is created, and what it writes is kept",
            "handlers are called for a change, and for the Decision that follows",
            "a handler is called for what is deleted, which waits for it",
        ])
        .ends();
}

#[test]
#[ignore = "fetches libraries of Java: `make clients`"]
fn fabric8_watches_by_websocket_over_both_of_its_http_clients() {
    let program = java("Client.java");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("audit.log");
    let server = Server::start_with(&[&format!("--audit-log-path={}", log.display())]);
    load(&server, &STORY);
    let steps = ["jdk", "vertx"].map(|over| {
        [
            "starts with the key of the kubeconfig",
            "watches what comes, changes and goes",
            "watches the Decision of a Placement that it applies",
            "has an informer of Decisions",
            "is elected by a Lease",
        ]
        .map(|step| format!("{over}: {step}"))
    });
    let steps: Vec<&str> = steps.iter().flatten().map(String::as_str).collect();
    Client::start(&server, program).says(&steps).ends();
    let text = std::fs::read_to_string(log).expect("the log is there");
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let watches: Vec<Value> = events
        .filter(|event| event["verb"] == "watch" && event["userAgent"].to_string().contains("fabric8"))
        .collect();
    let switched = watches
        .iter()
        .filter(|event| event["responseStatus"]["code"] == 101);
    // Each of the two clients opened two watches and an informer.
    assert!(switched.count() >= 6, "{watches:?}");
}

#[test]
#[ignore = "installs packages of JavaScript: `make clients`"]
fn javascripts_client_watches_informs_and_applies_and_a_page_watches_through_kubectl_proxy() {
    let mut program = node("client.mjs");
    let server = server(&STORY);
    let mut proxy = berth_house::program("kubectl");
    let proxy = proxy
        .args(["proxy", "--port=0", "--kubeconfig"])
        .arg(server.kubeconfig())
        .stdout(Stdio::piped())
        .spawn();
    let mut proxy = Running(proxy.expect("kubectl runs"));
    let output = proxy.0.stdout.take().expect("its output is piped");
    let line = BufReader::new(output)
        .lines()
        .next()
        .expect("it says where it is");
    let line = line.expect("it prints text");
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    program.env("PROXY", format!("http://{address}"));
    Client::start(&server, program)
        .says(&[
            "lists Decisions",
            "watches a Decision appear for a Placement that it applies",
            "has an informer that is told what comes, changes and goes",
            "patches by strategic merge, and scales",
            "watches by WebSocket through kubectl proxy",
        ])
        .ends();
}
