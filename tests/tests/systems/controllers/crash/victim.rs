//! A server that may abort during a test.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use berth_tests::{Kubectl, berth, raw};
use serde_json::Value;

/// Time limit of a test's waits.
const DEADLINE: Duration = Duration::from_secs(60);
/// Interval of checks.
const AGAIN: Duration = Duration::from_millis(20);

/// The server has ended.
#[derive(Debug)]
pub(super) struct Died;

/// The server, which is started with a fault, and without one after it aborted.
pub(super) struct Victim {
    child: Child,
    folder: tempfile::TempDir,
    times_died: u32,
    runtime: tokio::runtime::Runtime,
}

fn spawn(data: &Path, fault: &str) -> Child {
    let mut command = Command::new(berth());
    command
        .args(["serve", "--secure-port", "0", "--data-dir"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if fault.is_empty() {
        command.env_remove("BERTH_TEST_FAULT");
    } else {
        command.env("BERTH_TEST_FAULT", fault);
    }
    let mut child = command.spawn().expect("berth starts");
    let mut lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
    // An abort during the start ends the lines; the next request detects it.
    for line in lines.by_ref() {
        if line.is_ok_and(|line| line.starts_with("kubeconfig ")) {
            break;
        }
    }
    // Later output must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

impl Victim {
    pub(super) fn start(fault: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let child = spawn(&folder.path().join("data"), fault);
        Self {
            child,
            folder,
            times_died: 0,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime"),
        }
    }

    /// Starts the server again, without a fault.
    pub(super) fn restart(&mut self) {
        let status = self.child.wait().expect("the server is ours");
        assert!(!status.success(), "it died of the fault: {status}");
        self.times_died += 1;
        assert_eq!(self.times_died, 1, "it dies once, of the fault: {status}");
        self.child = spawn(&self.folder.path().join("data"), "");
    }

    pub(super) fn has_died(&self) -> bool {
        self.times_died > 0
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("data/admin.kubeconfig")
    }

    /// Whether the process has ended, or will in a moment: its port is closed before its end.
    fn is_gone(&self) -> bool {
        let status = format!("/proc/{}/stat", self.child.id());
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(5) {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let state = text.rsplit_once(") ").map_or("Z", |(_, rest)| rest);
            if state.starts_with('Z') {
                return true;
            }
            std::thread::park_timeout(AGAIN);
        }
        false
    }

    /// `kubectl` as admin, which succeeds unless the server aborts.
    pub(super) fn kubectl(&self, arguments: &str, input: &str) -> Result<String, Died> {
        let split: Vec<&str> = arguments.split_whitespace().collect();
        self.kubectl_args(&split, input)
    }

    pub(super) fn kubectl_args(&self, arguments: &[&str], input: &str) -> Result<String, Died> {
        let output = Kubectl::new(&self.kubeconfig(), self.folder.path(), arguments)
            .input(input)
            .run();
        if output.success {
            return Ok(output.out);
        }
        assert!(
            self.is_gone(),
            "kubectl {} failed:\n{}{}",
            output.shown,
            output.out,
            output.err
        );
        Err(Died)
    }

    pub(super) fn apply(&self, text: &str) -> Result<(), Died> {
        self.kubectl("apply -f -", text).map(drop)
    }

    /// Merges `change` into the object `what`, such as `-n ns cluster one`.
    pub(super) fn patch(&self, what: &str, change: &str) -> Result<(), Died> {
        let mut arguments = vec!["patch"];
        arguments.extend(what.split_whitespace());
        arguments.extend(["--type=merge", "-p", change]);
        self.kubectl_args(&arguments, "").map(drop)
    }

    /// Writes objects with their status, as `berth load` does.
    pub(super) fn load(&self, text: &str) -> Result<(), Died> {
        let file = self.folder.path().join("objects.yaml");
        std::fs::write(&file, text).expect("the test's folder is writable");
        let output = Command::new(berth())
            .args(["load", "--kubeconfig"])
            .arg(self.kubeconfig())
            .arg("-f")
            .arg(file)
            .output()
            .expect("berth runs");
        if output.status.success() {
            return Ok(());
        }
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(self.is_gone(), "{problem}");
        Err(Died)
    }

    /// The object at `path`, if it exists, as text.
    pub(super) fn read(&self, path: &str) -> Result<Option<String>, Died> {
        let request = http::Request::get(path).body(Vec::new()).expect("a path");
        let read = async { raw::client(&self.kubeconfig()).await.request_text(request).await };
        match self.runtime.block_on(read) {
            Ok(text) => Ok(Some(text)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(kube::Error::Api(status)) if status.code != 503 => panic!("{path}: {status:?}"),
            Err(error) => {
                assert!(self.is_gone(), "{path}: {error}");
                Err(Died)
            }
        }
    }

    /// The objects at `path`, such as `clusters.openmcp.cloud/v1alpha1/clusters`.
    pub(super) fn list(&self, path: &str) -> Result<Vec<Value>, Died> {
        let list = self.get(path)?.expect("the resource is served");
        Ok(list["items"].as_array().expect("a list").clone())
    }

    /// The object at `path`, if it exists.
    pub(super) fn get(&self, path: &str) -> Result<Option<Value>, Died> {
        let text = self.read(&format!("/apis/{path}"))?;
        Ok(text.map(|text| serde_json::from_str(&text).expect("the server answers JSON")))
    }

    pub(super) fn namespaces(&self) -> Result<Vec<Value>, Died> {
        let text = self.read("/api/v1/namespaces")?.expect("namespaces are served");
        let list: Value = serde_json::from_str(&text).expect("the server answers JSON");
        Ok(list["items"].as_array().expect("a list").clone())
    }

    pub(super) fn metrics(&self) -> Result<String, Died> {
        Ok(self.read("/metrics")?.expect("metrics are served"))
    }

    /// Waits until `is_so` is true, and returns whether it was within the deadline.
    pub(super) fn comes_to(&self, is_so: impl Fn() -> Result<bool, Died>) -> Result<bool, Died> {
        let start = Instant::now();
        while start.elapsed() < DEADLINE {
            if is_so()? {
                return Ok(true);
            }
            std::thread::park_timeout(AGAIN);
        }
        Ok(false)
    }

    /// Waits until `is_so` is true; fails after the deadline.
    pub(super) fn eventually(&self, is_so: impl Fn() -> Result<bool, Died>) -> Result<(), Died> {
        assert!(self.comes_to(is_so)?, "waited {DEADLINE:?}");
        Ok(())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // Both fail only when the server has already ended, which is the goal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
