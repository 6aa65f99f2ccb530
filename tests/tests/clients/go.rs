//! client-go, controller-runtime, Flux's ssa and Argo CD's gitops-engine.

use std::process::Command;

use berth_tests::example::EXAMPLES;
use berth_tests::{Server, go, ports};

use super::client::Client;
use super::{STORY, load, server};

/// A call of the program in `tests/clients/go`.
fn program(what: &str) -> Command {
    let mut command = Command::new(go::build("clients/go", ".", "clients"));
    command.arg(what);
    command
}

#[test]
#[ignore = "builds a program in Go: `make clients`"]
fn informers_of_every_kind_go_on_over_a_restart() {
    let informers = program("informers");
    let port = ports::free();
    let mut server = Server::start_at(port);
    load(&server, &EXAMPLES);
    let client = Client::start(&server, informers).says(&[
        "an informer of every kind is synced by a streaming list, and by nothing else",
        "each has what a list has",
        "ready for a restart",
    ]);
    server.crash();
    server.restart_at(port);
    client
        .go_on()
        .says(&[
            "each watches again after a restart, has what a list has, and missed nothing",
            "resourceVersions go on where they were",
            "a watch from before the restart is expired",
        ])
        .ends();
}

/// Steps of a typed client.
const TYPED: [&str; 7] = [
    "a ConfigMap and a Deployment come back as they were sent",
    "a watch tells what was created, changed and deleted",
    "a scale is updated, and patched by merge and by strategic merge",
    "what is applied has owners, and conflicts between them",
    "a list comes in pages",
    "a typed informer has what comes later",
    "an aggregated role shows its rules",
];

#[test]
#[ignore = "builds a program in Go: `make clients`"]
fn client_go_reads_and_writes_kubernetes_own_kinds() {
    let typed = program("typed");
    let server = Server::start();
    Client::start(&server, typed).says(&TYPED).ends();
}

#[test]
#[ignore = "builds a program in Go: `make clients`"]
fn client_go_does_the_same_in_protobuf() {
    let protobuf = program("protobuf");
    let server = Server::start();
    Client::start(&server, protobuf)
        .says(&TYPED)
        .says(&["every answer is protobuf"])
        .ends();
}

#[test]
#[ignore = "builds a program in Go: `make clients`"]
fn a_controller_with_leader_election_reconciles_decisions() {
    let controller = program("controller");
    let server = server(&STORY);
    Client::start(&server, controller)
        .says(&[
            "a controller is elected by its Lease, and writes what Decisions say",
            "it follows a decision while another waits",
            "the other takes over when the first has stopped",
            "what it wrote for a Decision goes with it",
        ])
        .ends();
}

#[test]
#[ignore = "builds a program in Go: `make clients`"]
fn flux_tells_created_from_configured_and_prunes() {
    let flux = program("flux");
    let mut examples = STORY.to_vec();
    examples.extend([
        "gardener/fleet.yaml",
        "fleet/fleet.yaml",
        "openmcp/configuration.yaml",
        "openmcp/fleet.yaml",
    ]);
    let server = server(&examples);
    Client::start(&server, flux)
        .says(&[
            "what was not there is told to be created, whatever is placed",
            "all of it becomes ready",
            "applied again, all is unchanged, decisions included",
            "of a change one object is configured",
            "pruned, all of it goes",
        ])
        .ends();
}

#[test]
#[ignore = "builds a program in Go: `make clients`"]
fn argo_cds_engine_prunes_what_is_its_own_and_no_decision() {
    let gitops = Command::new(go::build("clients/gitops", ".", "gitops"));
    let server = server(&STORY);
    Client::start(&server, gitops)
        .says(&[
            "every kind is cached",
            "a Placement of an application is synchronized, and decided",
            "what is not wanted is pruned, and no Decision",
        ])
        .ends();
}
