//! Programs of others and their libraries, in Go, Python, Java and JavaScript (`tests/clients`), and Helm: each
//! does with a standalone server what its users do with theirs. What they need is downloaded and built on first
//! use (`make clients`), so these are ignored elsewhere.

mod client;
mod go;
mod helm;
mod installed;
mod others;

use berth_tests::Server;
use berth_tests::example::example;

/// Objects of `examples/`, of which there is a Placement with three clusters in the namespace `story-1`.
const STORY: [&str; 2] = ["ocm/fleet.yaml", "ocm/story-1.yaml"];

/// Writes examples, as if it were written now: heartbeats are fresh.
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
