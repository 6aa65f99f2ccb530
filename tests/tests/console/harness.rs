//! A console of a server with the examples.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use berth_tests::Server;
use berth_tests::running::Running;

/// Condition that rows of decisions are on screen.
pub(crate) const DECISIONS_SHOWN: &str = "document.querySelectorAll('tbody a').length > 3";

/// A console that ends with the test.
pub(crate) struct Console {
    /// The process, which ends with the test.
    _running: Running,
    /// The URL with the token.
    pub(crate) url: String,
    /// Open, since a console ends when it writes to a closed pipe.
    _output: BufReader<ChildStdout>,
}

impl Console {
    /// Starts a console for the server's admin.
    pub(crate) fn start(server: &Server, arguments: &[&str]) -> Self {
        Self::of(&server.kubeconfig(), arguments)
    }

    /// Starts a console for the user of `kubeconfig`.
    pub(crate) fn of(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let child = Command::new(berth_tests::berth())
            .args(["console", "--no-open", "--kubeconfig"])
            .arg(kubeconfig)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("berth starts");
        let mut running = Running(child);
        let mut line = String::new();
        let mut output = BufReader::new(running.0.stdout.take().expect("the output is piped"));
        output.read_line(&mut line).expect("the console says where it is");
        let url = line.trim().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self {
            _running: running,
            url,
            _output: output,
        }
    }

    /// `http://127.0.0.1:<port>`.
    pub(crate) fn origin(&self) -> &str {
        self.url.split("/#").next().expect("an address")
    }

    /// The token of this run.
    pub(crate) fn token(&self) -> &str {
        self.url.split('=').nth(1).expect("a token")
    }

    /// The URL of a view.
    pub(crate) fn view(&self, view: &str) -> String {
        format!("{}/#/{view}", self.origin())
    }
}

/// Starts a server with the examples of four systems.
pub(crate) fn loaded() -> Server {
    loaded_at(0)
}

/// Starts the same server at a port of `ports::free`.
pub(crate) fn loaded_at(port: u16) -> Server {
    let server = Server::start_at(port);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for system in ["ocm", "gardener", "fleet", "openmcp"] {
        server.load(&examples.join(system));
    }
    server
}
