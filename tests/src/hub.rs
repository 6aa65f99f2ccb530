//! A real control plane for the tests of Berth behind an aggregator: etcd, kube-apiserver and, on request,
//! the garbage collector and the namespace controller. All run on loopback, without containers, with
//! generated certificates.
//!
//! The programs are built once from Go modules (`tests/hub`) and cached. They end with their standard input,
//! so no program outlives a test, even one that crashes.

pub mod audit;
pub mod balancer;
pub mod berth;
mod build;
mod control_plane;
pub mod installation;
mod kubeconfig;
mod process;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_certs::Authority;
use serde_json::Value;

pub use berth::Berth;
pub use kubeconfig::Credentials;

use crate::Kubectl;
pub use process::Process;
use process::Runs;

/// Time limit until the control plane is ready: the machine may be busy with other tests.
const READY: Duration = Duration::from_secs(180);
/// The only allowed common name of a front proxy.
pub const FRONT_PROXY: &str = "front-proxy-client";

/// Purpose of a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A test: its data does not outlive it, so etcd does not wait for the disk. Tests read the audit log.
    Testing,
    /// A benchmark: as in production, without an audit log.
    Measuring,
    /// A benchmark that counts requests: as in production, with an audit log.
    Counting,
}

/// A running control plane with an administrator.
pub struct Hub {
    folder: PathBuf,
    url: String,
    etcd: String,
    ca: Authority,
    front_proxy_ca: Authority,
    stranger_ca: Authority,
    processes: Vec<Process>,
}

impl Hub {
    /// The shared control plane of the tests of one program, with which it ends.
    #[must_use]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Hub> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts a separate control plane for a test and waits until it is ready.
    ///
    /// # Panics
    /// When it cannot be built or does not become ready; the message has the end of its log.
    #[must_use]
    pub fn start() -> Self {
        Self::start_as(Purpose::Testing)
    }

    /// Starts a control plane as in production: etcd waits for the disk, and there is no audit log,
    /// since the other measured servers do not write one either.
    ///
    /// # Panics
    /// When it cannot be built or does not become ready; the message has the end of its log.
    #[must_use]
    pub fn start_to_measure() -> Self {
        Self::start_as(Purpose::Measuring)
    }

    /// Starts a control plane as [`Hub::start_to_measure`] does, with an audit log.
    ///
    /// # Panics
    /// When it cannot be built or does not become ready; the message has the end of its log.
    #[must_use]
    pub fn start_to_count() -> Self {
        Self::start_as(Purpose::Counting)
    }

    fn start_as(purpose: Purpose) -> Self {
        let program = build::program();
        let folder = Runs::new_folder();
        let now = SystemClock.now();
        let authority = |stem: &str| Authority::open(&folder, stem, stem, now).expect("a CA can be made");
        let mut hub = Self {
            url: String::new(),
            ca: authority("ca"),
            front_proxy_ca: authority("front-proxy-ca"),
            stranger_ca: authority("stranger-ca"),
            etcd: String::new(),
            processes: Vec::new(),
            folder,
        };
        control_plane::write_certificates(&hub, now);
        control_plane::start_etcd(&mut hub, program, purpose);
        control_plane::start_apiserver(&mut hub, program, purpose);
        hub
    }

    /// Starts the garbage collector, the namespace controller, and the controllers of aggregated roles and of
    /// service accounts' tokens.
    pub fn start_controllers(&mut self) {
        control_plane::start_controllers(self, build::program());
    }

    /// `https://127.0.0.1:<port>` of kube-apiserver.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// `http://127.0.0.1:<port>` of etcd.
    #[must_use]
    pub fn etcd(&self) -> &str {
        &self.etcd
    }

    /// Command of another kube-apiserver on the same etcd, which ends with its standard input.
    #[must_use]
    pub fn another_apiserver(&self, port: u16) -> Command {
        control_plane::apiserver_command(self, build::program(), Purpose::Measuring, port)
    }

    /// The process id of a program: `etcd` or `kube-apiserver`.
    #[must_use]
    pub fn process_id(&self, name: &str) -> Option<u32> {
        let named = self.processes.iter().find(|process| process.name() == name);
        named.map(Process::id)
    }

    /// The CA of the users and of the serving certificate.
    #[must_use]
    pub fn ca(&self) -> &Authority {
        &self.ca
    }

    /// The folder of certificates, logs and the audit log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The audit log of kube-apiserver, with a JSON event on each line.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// The requests from now on, by the audit log.
    #[must_use]
    pub fn witness(&self) -> audit::Witness<'_> {
        audit::Witness::new(self)
    }

    /// Starts another program, whose output goes to `<name>.log` in the hub's folder and whose input stays
    /// open. It ends when the returned value is dropped.
    #[must_use]
    pub fn run(&self, command: &mut Command, name: &str) -> Process {
        Process::start(command, &self.folder, name)
    }

    /// Namespace, name and resourceVersion of every object of a resource.
    ///
    /// # Panics
    /// When the hub does not list it.
    #[must_use]
    pub fn versions(&self, resource: &str) -> BTreeMap<String, String> {
        let list = self.kubectl(&format!("get {resource} -A -o json")).json();
        let items = list["items"].as_array().expect("a list").iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        items
            .map(|object| {
                let metadata = &object["metadata"];
                let place = format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
                (place, text(&metadata["resourceVersion"]))
            })
            .collect()
    }

    /// A kubeconfig of the administrator.
    #[must_use]
    pub fn admin(&self) -> PathBuf {
        self.kubeconfig_for("admin", &["system:masters"])
    }

    /// A kubeconfig with a client certificate for `user` in `groups`.
    #[must_use]
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> PathBuf {
        let groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
        let issued = self
            .ca
            .issue_client(user, &groups, SystemClock.now())
            .expect("a client certificate can be made");
        self.kubeconfig(user, &Credentials::Certificate(issued))
    }

    /// A kubeconfig with any credentials, in the file `name`.
    #[must_use]
    pub fn kubeconfig(&self, name: &str, credentials: &Credentials) -> PathBuf {
        let path = self
            .folder
            .join(format!("{}.kubeconfig", name.replace([':', '/'], "-")));
        kubeconfig::write(&path, &self.url, self.ca.certificate_pem(), credentials);
        path
    }

    /// A kubeconfig with a token of a service account, which is created if it does not exist.
    #[must_use]
    pub fn kubeconfig_for_service_account(&self, namespace: &str, name: &str) -> PathBuf {
        let token = self.token(namespace, name);
        self.kubeconfig(&format!("{namespace}-{name}"), &Credentials::Token(token))
    }

    /// A kubeconfig with a client certificate for `user`, for the path `path` of the hub.
    ///
    /// # Panics
    /// When the certificate cannot be created.
    #[must_use]
    pub fn kubeconfig_below(&self, path: &str, user: &str) -> PathBuf {
        let issued = self.ca.issue_client(user, &[], SystemClock.now());
        let credentials = Credentials::Certificate(issued.expect("a client certificate can be made"));
        let file = format!("{user}{}.kubeconfig", path.replace('/', "-"));
        let file = self.folder.join(file);
        let url = format!("{}{path}", self.url);
        kubeconfig::write(&file, &url, self.ca.certificate_pem(), &credentials);
        file
    }

    /// A token of a service account, which is created if it does not exist.
    #[must_use]
    pub fn token(&self, namespace: &str, name: &str) -> String {
        self.ensure(&["create", "namespace", namespace]);
        self.ensure(&["create", "serviceaccount", name, "-n", namespace]);
        let token = self
            .kubectl(&format!("create token {name} -n {namespace} --duration=1h"))
            .succeeds();
        token.trim().to_owned()
    }

    /// Runs a `kubectl create` whose object may already exist.
    pub fn ensure(&self, arguments: &[&str]) {
        let output = self.kubectl_args(arguments).run();
        assert!(
            output.success || output.err.contains("AlreadyExists") || output.err.contains("already exists"),
            "kubectl {}: {}",
            output.shown,
            output.err
        );
    }

    /// `kubectl` with `arguments` (split at spaces) as administrator.
    #[must_use]
    pub fn kubectl(&self, arguments: &str) -> Kubectl {
        let split: Vec<&str> = arguments.split_whitespace().collect();
        self.kubectl_args(&split)
    }

    /// `kubectl` with `arguments` as administrator.
    #[must_use]
    pub fn kubectl_args(&self, arguments: &[&str]) -> Kubectl {
        self.kubectl_as(&self.admin_file(), arguments)
    }

    /// `kubectl` with another kubeconfig.
    #[must_use]
    pub fn kubectl_as(&self, kubeconfig: &Path, arguments: &[&str]) -> Kubectl {
        Kubectl::new(kubeconfig, &self.folder, arguments)
    }

    /// The CA of kube-apiserver's front-proxy certificate, with which users may be named in headers.
    #[must_use]
    pub fn front_proxy_ca(&self) -> &Authority {
        &self.front_proxy_ca
    }

    /// An untrusted CA.
    #[must_use]
    pub fn stranger_ca(&self) -> &Authority {
        &self.stranger_ca
    }

    /// Writes a file in the hub's folder, and returns its path.
    #[must_use]
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).expect("the hub's folder is writable");
        path
    }

    /// The path of the administrator's kubeconfig.
    fn admin_file(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }
}
