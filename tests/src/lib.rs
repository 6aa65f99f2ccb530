//! The harness of the black-box tests: a real `berth serve` on a free port, the real `kubectl`, and deadlines
//! instead of pauses. All processes of a test end with it.

pub mod bench;
pub mod consumer;
pub mod decided;
pub mod differential;
pub mod etcd;
pub mod example;
pub mod gardener;
pub mod go;
pub mod helm;
pub mod hub;
pub mod looking;
pub mod ocm;
pub mod raw;
pub mod running;
pub mod small_disk;
pub mod systems;
pub mod websocket;

pub use etcd::ports;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Default time limit of a test's waits.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The `berth` program of this build, which is brought up to date once.
///
/// `cargo test --workspace` has already built it (for `berth`'s own integration tests), so the same command
/// with `--no-run` is a check of a second. Another command would resolve features differently and build
/// everything twice. `BERTH_PROGRAM` names an existing program to use instead.
#[must_use]
pub fn berth() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // Before any server is started or built: most tests with a server use kubectl.
        drop(berth_house::program("kubectl"));
        if let Some(program) = std::env::var_os("BERTH_PROGRAM") {
            return PathBuf::from(program);
        }
        let test = std::env::current_exe().expect("a test knows its own path");
        let profile = test
            .parent()
            .and_then(Path::parent)
            .expect("tests live in <target>/<profile>/deps");
        let target = profile.parent().expect("the profile is below the target folder");
        let mut build = Command::new(env!("CARGO"));
        // Cargo's variables about the test's package would make build scripts that read them run again.
        for (name, _) in std::env::vars_os() {
            let about_package =
                |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
            if name.to_str().is_some_and(about_package) {
                build.env_remove(name);
            }
        }
        build
            .args(["test", "--quiet", "--workspace", "--no-run", "--target-dir"])
            .arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        // Not through `eprintln`, which a test's harness captures: the reason of minutes of waiting must be
        // visible.
        let notice =
            "building berth as `cargo test --workspace` does (BERTH_PROGRAM names one to take as it is)\n";
        std::io::stderr()
            .write_all(notice.as_bytes())
            .expect("standard error takes a line");
        let output = build
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(
            output.status.success(),
            "building berth failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        profile.join("berth")
    })
}

/// The target folder of cargo, in which programs of tests are built and installed as well.
///
/// # Panics
/// Outside of a test.
#[must_use]
pub fn target() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test.ancestors().nth(3);
    target.expect("tests live in <target>/<profile>/deps").to_owned()
}

/// A standalone server with its own folder.
pub struct Server {
    child: Child,
    folder: tempfile::TempDir,
    data: PathBuf,
    url: String,
}

impl Server {
    /// Starts a server on a free port and waits until it serves.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments.
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        Self::start_on(0, arguments)
    }

    /// Starts a server at a port of [`ports::free`], on which it can be started again for the same clients.
    #[must_use]
    pub fn start_at(port: u16) -> Self {
        Self::start_on(port, &[])
    }

    fn start_on(port: u16, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("data");
        let (child, url) = spawn(&data, port, arguments, "");
        Self {
            child,
            folder,
            data,
            url,
        }
    }

    /// Starts a server with the data folder `data`.
    #[must_use]
    pub fn start_in(data: PathBuf) -> Self {
        let (child, url) = spawn(&data, 0, &[], "");
        Self {
            child,
            folder: tempfile::tempdir().expect("a temporary folder"),
            data,
            url,
        }
    }

    /// Starts the server again on the same data, after [`Server::crash`].
    pub fn restart(&mut self) {
        self.restart_at(0);
    }

    /// Starts the server again on the same data at `port`, after [`Server::crash`].
    pub fn restart_at(&mut self, port: u16) {
        self.restart_with_fault(port, "");
    }

    /// Starts the server again with a fault point (`BERTH_TEST_FAULT`), at which a build with debug
    /// assertions aborts.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart_with_fault(&mut self, port: u16, fault: &str) {
        let (child, url) = spawn(&self.data, port, &[], fault);
        self.child = child;
        self.url = url;
    }

    /// Kills the server without warning.
    pub fn crash(&mut self) {
        self.child.kill().expect("the server runs");
        self.child.wait().expect("the server ends");
    }

    /// `https://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The data folder.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the server has ended by itself.
    ///
    /// # Panics
    /// When the state of the process cannot be read.
    pub fn has_ended(&mut self) -> bool {
        let status = self.child.try_wait().expect("the server is ours");
        status.is_some()
    }

    /// Waits until the server ends by itself, and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        eventually("the server to end", || {
            self.child
                .try_wait()
                .expect("the server is ours")
                .map(|status| status.code())
        })
    }

    /// The admin's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.data.join("admin.kubeconfig")
    }

    /// A kubeconfig for another user.
    #[must_use]
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> PathBuf {
        let path = self.folder.path().join(format!("{user}.kubeconfig"));
        let mut command = Command::new(berth());
        command
            .args(["kubeconfig", "--user", user, "--data-dir"])
            .arg(&self.data)
            .arg("-o")
            .arg(&path);
        for group in groups {
            command.args(["--group", group]);
        }
        let output = command.output().expect("berth runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        path
    }

    /// Writes a file in the test's own folder, and returns its path.
    #[must_use]
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("the test's folder is writable");
        path
    }

    /// `kubectl` with `arguments` (split at spaces) as admin.
    #[must_use]
    pub fn kubectl(&self, arguments: &str) -> Kubectl {
        let split: Vec<&str> = arguments.split_whitespace().collect();
        self.kubectl_args(&split)
    }

    /// `kubectl` with `arguments` as admin.
    #[must_use]
    pub fn kubectl_args(&self, arguments: &[&str]) -> Kubectl {
        self.kubectl_as(&self.kubeconfig(), arguments)
    }

    /// `kubectl` with another kubeconfig.
    #[must_use]
    pub fn kubectl_as(&self, kubeconfig: &Path, arguments: &[&str]) -> Kubectl {
        Kubectl::new(kubeconfig, self.folder.path(), arguments)
    }

    /// Turns automatic binding of new objects of `dialects` off, so that a test reads them unbound and binds
    /// them with a Binding.
    pub fn bind_by_hand(&self, dialects: &[&str]) {
        for dialect in dialects {
            let configuration = format!(
                "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {{name: {dialect}}}\nspec: {{autoBind: \"Off\"}}\n"
            );
            self.kubectl("apply -f -").input(configuration).succeeds();
        }
    }

    /// Writes the objects of `path` with their status, as `berth load` does.
    pub fn load(&self, path: &Path) {
        load(&self.kubeconfig(), path);
    }
}

/// Runs `berth load` of the objects of `path` on the server of `kubeconfig`.
///
/// # Panics
/// When the command fails.
pub fn load(kubeconfig: &Path, path: &Path) {
    let output = Command::new(berth())
        .args(["load", "--kubeconfig"])
        .arg(kubeconfig)
        .arg("-f")
        .arg(path)
        .output()
        .expect("berth runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when the server has already ended, which is the goal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(data: &Path, port: u16, arguments: &[&str], fault: &str) -> (Child, String) {
    let mut command = Command::new(berth());
    if !fault.is_empty() {
        command.env("BERTH_TEST_FAULT", fault);
    }
    let mut child = command
        .args(["serve", "--secure-port", &port.to_string(), "--data-dir"])
        .arg(data)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("berth starts");
    let mut lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
    let url = loop {
        match lines.next() {
            Some(Ok(line)) => {
                if let Some(url) = line.split_whitespace().find(|word| word.starts_with("https://")) {
                    break url.to_owned();
                }
            }
            other => {
                drop(child.kill());
                panic!("berth ended before it served: {other:?}, {:?}", child.wait());
            }
        }
    };
    // Later output must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (child, url)
}

/// A `kubectl` call.
pub struct Kubectl {
    command: Command,
    shown: String,
    input: Option<String>,
}

/// Output of a `kubectl` call.
#[derive(Clone, Debug)]
pub struct Output {
    /// The arguments, for messages.
    pub shown: String,
    /// Whether the exit code is 0.
    pub success: bool,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Kubectl {
    /// A call with `arguments` as the user of `kubeconfig`; `home` is for kubectl's caches.
    #[must_use]
    pub fn new(kubeconfig: &Path, home: &Path, arguments: &[&str]) -> Self {
        let mut command = berth_house::program("kubectl");
        command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(arguments)
            .env("KUBECACHEDIR", home.join("cache"))
            .env("HOME", home)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self {
            command,
            shown: arguments.join(" "),
            input: None,
        }
    }

    /// Sets the standard input.
    #[must_use]
    pub fn input(mut self, text: impl Into<String>) -> Self {
        self.input = Some(text.into());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts the call without waiting for its end, for watches.
    #[must_use]
    pub fn spawn(mut self) -> Child {
        self.command.spawn().expect("kubectl runs")
    }

    /// Runs the call to its end, which must be within the deadline.
    pub fn run(mut self) -> Output {
        let mut child = self.command.spawn().expect("kubectl runs");
        let mut stdin = child.stdin.take().expect("the input is piped");
        if let Some(text) = self.input {
            stdin.write_all(text.as_bytes()).expect("kubectl reads its input");
        }
        drop(stdin);
        let id = child.id();
        let (sender, done) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            let output = child.wait_with_output();
            // The receiver is dropped only when the test failed at the deadline.
            sender.send(()).ok();
            output
        });
        if done.recv_timeout(DEADLINE).is_err() {
            drop(Command::new("kill").args(["-9", &id.to_string()]).status());
            panic!("kubectl {} did not end in {DEADLINE:?}", self.shown);
        }
        let output = waiting
            .join()
            .expect("the thread does not panic")
            .expect("kubectl can be waited for");
        Output {
            shown: self.shown,
            success: output.status.success(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs the call, which must succeed, and returns its output.
    pub fn succeeds(self) -> String {
        let output = self.run();
        assert!(
            output.success,
            "kubectl {} failed:\n{}{}",
            output.shown, output.out, output.err
        );
        output.out
    }

    /// Runs the call, which must succeed and print JSON, and returns its output.
    pub fn json(self) -> Value {
        let text = self.succeeds();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Runs the call, which must fail, and returns its error output.
    pub fn fails(self) -> String {
        let output = self.run();
        assert!(
            !output.success,
            "kubectl {} should have failed:\n{}",
            output.shown, output.out
        );
        output.err
    }
}

/// Calls `ask` until it returns a value; fails the test after the deadline.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < DEADLINE, "waited {DEADLINE:?} for {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Calls `ask` until its value satisfies `is_so`; fails the test after the deadline, with the last
/// value.
pub fn until<T: std::fmt::Debug>(what: &str, mut ask: impl FnMut() -> T, is_so: impl Fn(&T) -> bool) -> T {
    let start = Instant::now();
    loop {
        let answer = ask();
        if is_so(&answer) {
            return answer;
        }
        assert!(
            start.elapsed() < DEADLINE,
            "waited {DEADLINE:?} for {what}, the last answer was {answer:#?}"
        );
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod own {
    use super::ports;

    /// etcd once received a port that an outgoing connection had taken meanwhile.
    #[test]
    fn no_port_is_given_twice_and_none_that_connections_take() {
        let given: std::collections::BTreeSet<u16> = (0..100).map(|_| ports::free()).collect();
        assert_eq!(given.len(), 100);
        assert!(
            given.iter().all(|port| *port < 32_768),
            "connections out take the others: {given:?}"
        );
    }
}
