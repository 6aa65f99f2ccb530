//! Real etcd processes: built from the Go module in `tests/hub/etcd`, started on free ports, stopped with the
//! test.
//!
//! Only the standard library, tempfile and `berth_house`, since other crates' tests include this file too.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

#[path = "ports.rs"]
pub mod ports;

/// Time for an etcd to answer.
const START: Duration = Duration::from_secs(60);
/// The pause between two checks.
const LOOK: Duration = Duration::from_millis(20);

/// The etcd program, which is built once per change of its module.
///
/// # Panics
/// When the build fails.
#[must_use]
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("the crate is in the repository");
        let module = root.join("tests/hub/etcd");
        let test = std::env::current_exe().expect("a test knows its own path");
        let target = test
            .ancestors()
            .nth(3)
            .expect("tests live in <target>/<profile>/deps");
        let program = target.join("etcd-program").join("etcd");
        if up_to_date(&program, &module) {
            return program;
        }
        // First under a unique name: several test programs may build at once.
        let built = program.with_extension(std::process::id().to_string());
        let output = berth_house::program("go")
            .args(["build", "-trimpath", "-o"])
            .arg(&built)
            .arg(".")
            .current_dir(&module)
            .output()
            .expect("go runs");
        assert!(
            output.status.success(),
            "building etcd from {} failed: {}",
            module.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        std::fs::rename(&built, &program).expect("the program can be put in place");
        program
    })
}

fn up_to_date(program: &Path, module: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let Some(built) = changed(program) else {
        return false;
    };
    ["main.go", "go.mod", "go.sum"]
        .iter()
        .all(|name| changed(&module.join(name)).is_some_and(|source| source <= built))
}

/// One member of an etcd cluster.
pub struct Etcd {
    child: Child,
    folder: TempDir,
    arguments: Vec<String>,
    client: u16,
    scheme: &'static str,
}

impl Etcd {
    /// Starts a cluster of one member that does not wait for the disk, for tests in which it is never
    /// killed.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&["--unsafe-no-fsync"])
    }

    /// Starts a cluster of one member that answers a write after it is on the disk, as in production, for
    /// tests of durability.
    #[must_use]
    pub fn start_durable() -> Self {
        Self::start_with(&[])
    }

    /// Starts a cluster of one member with more arguments.
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        let secure = arguments.contains(&"--cert-file");
        let (client, peer) = (ports::free(), ports::free());
        let member = Self::spawn("one", client, peer, &cluster(&[("one", peer)]), arguments, secure);
        member.wait();
        member
    }

    /// Starts a cluster of three members that wait for the disk.
    #[must_use]
    pub fn start_three() -> Vec<Self> {
        let ports: Vec<_> = ["one", "two", "three"]
            .map(|name| (name, ports::free(), ports::free()))
            .into();
        let peers: Vec<_> = ports.iter().map(|&(name, _, peer)| (name, peer)).collect();
        let cluster = cluster(&peers);
        let members: Vec<_> = ports
            .iter()
            .map(|&(name, client, peer)| Self::spawn(name, client, peer, &cluster, &[], false))
            .collect();
        members.iter().for_each(Self::wait);
        members
    }

    fn spawn(name: &str, client: u16, peer: u16, cluster: &str, more: &[&str], secure: bool) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("berth-etcd-")
            .tempdir()
            .expect("a temporary folder");
        let scheme = if secure { "https" } else { "http" };
        let (client_url, peer_url) = (
            format!("{scheme}://127.0.0.1:{client}"),
            format!("http://127.0.0.1:{peer}"),
        );
        let data = folder.path().join("data").display().to_string();
        let arguments = [
            ("--name", name),
            ("--data-dir", &data),
            ("--listen-client-urls", &client_url),
            ("--advertise-client-urls", &client_url),
            ("--listen-peer-urls", &peer_url),
            ("--initial-advertise-peer-urls", &peer_url),
            ("--initial-cluster", cluster),
            ("--log-level", "error"),
        ];
        let arguments: Vec<String> = arguments
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value.to_owned()])
            .chain(more.iter().map(|&text| text.to_owned()))
            .collect();
        Self {
            child: run(&arguments, folder.path()),
            folder,
            arguments,
            client,
            scheme,
        }
    }

    /// URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.client)
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Starts the process again on its data and waits until it answers.
    pub fn restart(&mut self) {
        self.child = run(&self.arguments, self.folder.path());
        self.wait();
    }

    /// Starts the process again without waiting.
    pub fn restart_unawaited(&mut self) {
        self.child = run(&self.arguments, self.folder.path());
    }

    /// Pauses the process: connections stay open, without answers.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Resumes a paused process.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(sent.success(), "kill {signal}");
    }

    /// Waits until the process answers clients.
    fn wait(&self) {
        let end = Instant::now() + START;
        while !self.is_healthy() {
            assert!(Instant::now() < end, "etcd does not answer at {}", self.url());
            std::thread::sleep(LOOK);
        }
    }

    fn is_healthy(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.client)) else {
            return false;
        };
        if self.scheme == "https" {
            return true;
        }
        let mut answer = String::new();
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").is_ok()
            && stream.set_read_timeout(Some(Duration::from_secs(10))).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.contains(r#""health":"true""#)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // Fails when the test has already killed it.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

fn run(arguments: &[String], folder: &Path) -> Child {
    Command::new(program())
        .args(arguments)
        .env("BERTH_TEST_FOLDER", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("etcd starts")
}

fn cluster(members: &[(&str, u16)]) -> String {
    let urls: Vec<_> = members
        .iter()
        .map(|(name, peer)| format!("{name}=http://127.0.0.1:{peer}"))
        .collect();
    urls.join(",")
}
