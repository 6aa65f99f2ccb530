//! The program of this build: run to its end, or serving until it is dropped.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `berth` to its end; gives all it said.
pub(crate) fn berth(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(arguments)
        .output()
        .expect("berth runs");
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

/// A serving `berth`.
pub(crate) struct Program {
    child: Child,
    data: PathBuf,
}

impl Program {
    /// Serves from `data` on a free port; returns when it does.
    pub(crate) fn serve(data: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
            .args(["serve", "--secure-port", "0", "--data-dir"])
            .arg(data)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("berth starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output is ours")).lines();
        let serving = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("kubeconfig ")));
        assert!(serving.is_some(), "berth ends before it serves");
        Self {
            child,
            data: data.to_owned(),
        }
    }

    /// The admin's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.data.join("admin.kubeconfig")
    }

    /// Kills it without warning.
    pub(crate) fn crash(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails when the test killed it already.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// Polls until `done`.
pub(crate) async fn eventually(name: &str, done: impl AsyncFn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done().await {
        assert!(Instant::now() < end, "{name} does not happen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
