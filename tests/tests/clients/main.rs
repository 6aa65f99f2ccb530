//! Other projects' programs and libraries, in Go, Python, Java and JavaScript (`tests/clients`), and Helm:
//! each works with a standalone server as its users do with theirs. Their packages are downloaded and built
//! on first use (`make clients`), so these tests are otherwise ignored.

mod client;
mod go;
mod helm;
mod installed;
mod others;

use berth_tests::Server;
use berth_tests::example::example;

/// Files of `examples/` with a Placement that selects three clusters, in the namespace `story-1`.
const STORY: [&str; 2] = ["ocm/fleet.yaml", "ocm/story-1.yaml"];

/// Loads examples with current times, so that heartbeats are fresh.
fn load(server: &Server, examples: &[&str]) {
    let texts: Vec<String> = examples.iter().map(|path| example(path)).collect();
    server.load(&server.file("examples.yaml", &texts.join("\n---\n")));
}

/// A server with `examples`.
fn server(examples: &[&str]) -> Server {
    let server = Server::start();
    load(&server, examples);
    server
}
