//! A `berth serve` behind the hub: its identity on the hub, its registration and its process.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_certs::IssuedCertificate;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::{Hub, build};
use crate::{berth, eventually, ports};

/// Namespace of the manifests.
pub const NAMESPACE: &str = "berth-system";
/// The name of the APIService's Service, and of the service account.
const NAME: &str = "berth";
/// The name of the APIService of the virtual group.
pub const API_SERVICE: &str = "v1alpha1.scheduling.berth.dev";

/// A service account, and the Service with the same name.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// The namespace of the service account and the Service.
    pub namespace: &'static str,
    /// The name of the service account and the Service.
    pub name: &'static str,
}

/// Berth's own service account.
pub const BERTH: Account = Account {
    namespace: NAMESPACE,
    name: NAME,
};

/// A running Berth, which receives requests through the hub's kube-apiserver.
pub struct Berth {
    child: Child,
    data: PathBuf,
    url: String,
}

impl Berth {
    /// Applies the manifests of `deploy/`, starts Berth with their service account, registers its API and
    /// waits until it is available on the hub.
    ///
    /// # Panics
    /// When any of that fails.
    #[must_use]
    pub fn install(hub: &Hub, arguments: &[&str]) -> Self {
        hub.ensure(&["create", "namespace", NAMESPACE]);
        apply(hub, "owned-sources-rbac.yaml");
        Self::install_with(hub, arguments, &["apiservice.yaml", "apiservices-owned.yaml"])
    }

    /// Installs Berth with the objects of `systems` on the hub; the APIs of other systems are not
    /// registered.
    ///
    /// # Panics
    /// When any of that fails.
    #[must_use]
    pub fn install_hub(hub: &Hub, systems: &[&str]) -> Self {
        let flags: Vec<String> = systems
            .iter()
            .map(|system| format!("--source={system}=hub"))
            .collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Self::install_with(hub, &flags, &["apiservice.yaml"])
    }

    fn install_with(hub: &Hub, arguments: &[&str], registered: &[&str]) -> Self {
        apply_rights(hub);
        let berth = Self::start(hub, "berth", arguments);
        berth.register(hub, registered);
        available(hub);
        berth
    }

    /// The shared Berth behind the shared hub, with the example fleets loaded through it.
    #[must_use]
    pub fn shared() -> (&'static Hub, &'static Self) {
        static SHARED: OnceLock<Berth> = OnceLock::new();
        let hub = Hub::shared();
        (hub, SHARED.get_or_init(|| Self::install_with_fleets(hub)))
    }

    /// Installs Berth and loads the example fleets through it.
    #[must_use]
    pub fn install_with_fleets(hub: &Hub) -> Self {
        let berth = Self::install(hub, &[]);
        for fleet in ["gardener", "ocm"] {
            load(hub, &format!("../examples/{fleet}/fleet.yaml"));
        }
        berth
    }

    /// Starts Berth with its service account, without registering it, with the data folder `name`.
    #[must_use]
    pub fn start(hub: &Hub, name: &str, arguments: &[&str]) -> Self {
        Self::start_as(hub, BERTH, name, arguments)
    }

    /// Starts Berth with another `account`.
    #[must_use]
    pub fn start_as(hub: &Hub, account: Account, name: &str, arguments: &[&str]) -> Self {
        Self::run(hub, account, name, arguments, "")
    }

    /// Starts Berth with a fault point (`BERTH_TEST_FAULT`), at which a build with debug assertions aborts.
    #[must_use]
    pub fn start_with_fault(hub: &Hub, name: &str, arguments: &[&str], fault: &str) -> Self {
        Self::run(hub, BERTH, name, arguments, fault)
    }

    fn run(hub: &Hub, account: Account, name: &str, arguments: &[&str], fault: &str) -> Self {
        let data = hub.folder().join(name);
        let kubeconfig = hub.kubeconfig_for_service_account(account.namespace, account.name);
        let log = File::create(data.with_extension("log")).expect("the hub's folder is writable");
        let serve = serve(&kubeconfig, &data, arguments);
        let mut command = Command::new(build::program());
        if !fault.is_empty() {
            command.env("BERTH_TEST_FAULT", fault);
        }
        let mut child = command
            .arg("run")
            .arg(serve.get_program())
            .args(serve.get_args())
            // The name in leader election.
            .env("HOSTNAME", name)
            .stdin(Stdio::piped())
            .stderr(log)
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
                    let log = std::fs::read_to_string(data.with_extension("log")).unwrap_or_default();
                    panic!(
                        "berth ended before it served: {other:?}, {:?}\n{log}",
                        child.wait()
                    );
                }
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, data, url }
    }

    /// Creates the Service and the APIServices, with Berth's generated CA.
    fn register(&self, hub: &Hub, files: &[&str]) {
        let ca = std::fs::read(self.data.join("ca.crt")).expect("berth wrote its CA");
        register(hub, self.port(), &ca, files);
    }

    /// Creates the Service of `account` and, for it, the APIServices of owned groups that match `wanted`.
    ///
    /// # Panics
    /// When the hub refuses.
    pub fn register_as(&self, hub: &Hub, account: Account, wanted: impl Fn(&Value) -> bool) {
        let ca = std::fs::read(self.data.join("ca.crt")).expect("berth wrote its CA");
        let mut objects = registered(hub, "apiservices-owned.yaml");
        objects.retain(wanted);
        assert!(!objects.is_empty(), "some are wanted");
        create(hub, account, self.port(), &ca, objects);
    }

    /// `https://127.0.0.1:<port>` of Berth itself.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The port of Berth itself.
    ///
    /// # Panics
    /// When the URL has no port.
    #[must_use]
    pub fn port(&self) -> u16 {
        let port = self.url.rsplit(':').next().and_then(|port| port.parse().ok());
        port.expect("the URL has a port")
    }

    /// The data folder.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    /// A client of Berth itself, with or without a certificate.
    ///
    /// # Panics
    /// When the client cannot be created.
    pub async fn client(&self, certificate: Option<&IssuedCertificate>) -> Client {
        let ca = std::fs::read(self.data.join("ca.crt")).expect("berth wrote its CA");
        let user = certificate.map_or_else(
            || json!({}),
            |issued| {
                json!({
                    "client-certificate-data": STANDARD.encode(&issued.certificate),
                    "client-key-data": STANDARD.encode(&issued.key),
                })
            },
        );
        let cluster = json!({"server": self.url, "certificate-authority-data": STANDARD.encode(ca)});
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "berth", "cluster": cluster}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "berth", "context": {"cluster": "berth", "user": "user"}}],
            "current-context": "berth",
        });
        let file = Kubeconfig::from_yaml(&text.to_string()).expect("the kubeconfig is well formed");
        let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .expect("the kubeconfig makes a configuration");
        // The tests check refusals.
        config.default_retry = false;
        Client::try_from(config).expect("the configuration makes a client")
    }

    /// Terminates Berth, as a kubelet does, waits for its end and returns its exit code.
    ///
    /// # Panics
    /// When it has already ended.
    pub fn terminate(&mut self) -> Option<i32> {
        let id = self.child.id();
        // Go may have started the program from any of its threads.
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).expect("it runs");
        let lists = tasks.flatten().map(|task| task.path().join("children"));
        let found = lists.filter_map(|list| std::fs::read_to_string(list).ok());
        let mut programs = found.flat_map(|list| {
            let names = list.split_whitespace().map(str::to_owned);
            names.collect::<Vec<_>>()
        });
        let program = programs.next().expect("it runs one program");
        let sent = Command::new("kill").args(["-TERM", &program]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -TERM {program}");
        // A wait would close the input, which ends Berth without warning.
        let input = self.child.stdin.take();
        let status = self.child.wait();
        drop(input);
        status.ok().and_then(|status| status.code())
    }

    /// Whether Berth has ended by itself.
    ///
    /// # Panics
    /// When the state of the process cannot be read.
    pub fn has_ended(&mut self) -> bool {
        let status = self.child.try_wait().expect("the process is ours");
        status.is_some()
    }

    /// Ends Berth without warning.
    pub fn kill(&mut self) {
        // It ends with its input, as all programs of the hub; the wait fails only when it has already ended.
        drop(self.child.stdin.take());
        drop(self.child.wait());
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Creates the Service and the APIServices of `files`, for a server on `port` of loopback whose certificate
/// is of `ca` (PEM).
///
/// # Panics
/// When the hub refuses.
pub fn register(hub: &Hub, port: u16, ca: &[u8], files: &[&str]) {
    let objects = files.iter().flat_map(|file| registered(hub, file));
    create(hub, BERTH, port, ca, objects);
}

/// The objects of one file of APIServices.
fn registered(hub: &Hub, file: &str) -> Vec<Value> {
    let read = ["apply", "--dry-run=client", "-o", "json", "-f", &manifest(file)];
    let mut registered = hub.kubectl_args(&read).json();
    // kubectl prints one object directly, and several as a list.
    match registered.get_mut("items").and_then(Value::as_array_mut) {
        Some(objects) => std::mem::take(objects),
        None => vec![registered],
    }
}

/// Creates the Service of `account`, and the APIServices `services` for it.
fn create(hub: &Hub, account: Account, port: u16, ca: &[u8], services: impl IntoIterator<Item = Value>) {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": account.name, "namespace": account.namespace},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    });
    hub.kubectl("apply -f -").input(service.to_string()).succeeds();
    for mut object in services {
        // An existing object would carry its old resourceVersion, and the hub writes its status
        // frequently.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        object["spec"]["caBundle"] = json!(STANDARD.encode(ca));
        object["spec"]["service"] =
            json!({"name": account.name, "namespace": account.namespace, "port": port});
        hub.kubectl("apply -f -").input(object.to_string()).succeeds();
    }
}

/// Waits until each of Berth's APIServices is available on the hub.
///
/// # Panics
/// When one is not available in time.
pub fn available(hub: &Hub) {
    eventually("every APIService to be available", || {
        let services = availability(hub);
        let mut all = services.iter();
        (!services.is_empty() && all.all(|(_, message)| message == "all checks passed")).then_some(())
    });
}

/// Sets on the hub, with an object per system, whether a system's controllers bind: `Off` or
/// `Controller`.
///
/// # Panics
/// When the hub refuses.
pub fn auto_bind(hub: &Hub, systems: &[&str], mode: &str) {
    for system in systems {
        let configuration = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": system}, "spec": {"autoBind": mode},
        });
        hub.kubectl("apply --server-side -f -")
            .input(configuration.to_string())
            .succeeds();
    }
}

/// A file for `--encryption-provider-config` that encrypts Secrets, which is required where kcp's Secrets are
/// copied to an etcd.
#[must_use]
pub fn encryption(hub: &Hub) -> String {
    const CONFIGURATION: &str = "
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aesgcm: {keys: [{name: one, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}]}
";
    hub.file("encryption.yaml", CONFIGURATION).display().to_string()
}

/// Writes the objects of a text (YAML) through the hub with their status.
///
/// # Panics
/// When the hub refuses.
pub fn load_text(hub: &Hub, name: &str, text: &str) {
    let file = hub.file(name, text);
    load(hub, &file.display().to_string());
}

/// Writes the objects of a file, given from this crate's folder, through the hub with their status.
pub fn load(hub: &Hub, file: &str) {
    let output = Command::new(berth())
        .args(["load", "--kubeconfig"])
        .arg(hub.admin())
        .arg("-f")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(file))
        .output()
        .expect("berth runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Command of `berth serve` with the identity of a kubeconfig on the hub.
#[must_use]
pub fn serve(kubeconfig: &Path, data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(berth());
    command.args(["serve", "--data-dir"]).arg(data);
    if !arguments.contains(&"--secure-port") {
        // The port is reserved while the test runs, since some servers are started again on their port.
        command.args(["--secure-port", &ports::free().to_string()]);
    }
    if !arguments.contains(&"--mode=observe") {
        command.args(owned(arguments).map(|system| format!("--source={system}=owned")));
    }
    if !arguments.iter().any(|argument| argument.starts_with("--mode")) {
        // On a hub, the default mode does not decide.
        command.arg("--mode=decide");
    }
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--tls-san", &format!("{NAME}.{NAMESPACE}.svc")])
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Systems in Berth's own store, which must be named one by one: those without a source in `arguments`, and
/// only kcp where `arguments` have no source.
fn owned(arguments: &[&str]) -> impl Iterator<Item = &'static str> {
    let is_named = |system: &str| {
        let flag = format!("--source={system}=");
        arguments.iter().any(|argument| argument.starts_with(&flag))
    };
    let names_any = arguments.iter().any(|argument| argument.starts_with("--source"));
    let usual = ["fleet", "gardener", "karmada", "ocm", "openmcp"].into_iter();
    usual
        .filter(move |system| !is_named(system))
        .chain(Some("kcp").filter(|_| !names_any))
}

/// Applies all of `deploy/manifests` except the registration, and Berth's own definitions.
pub fn apply_rights(hub: &Hub) {
    hub.ensure(&["create", "namespace", NAMESPACE]);
    hub.kubectl_args(&["apply", "-k", &deployed("helm/berth/crds")])
        .succeeds();
    for file in ["rbac.yaml", "server-rbac.yaml"] {
        apply(hub, file);
    }
}

/// Applies the definitions of all systems' kinds.
pub fn apply_definitions(hub: &Hub) {
    hub.kubectl_args(&["apply", "-R", "-f", &definitions()])
        .succeeds();
}

/// The folder of the definitions of all systems' kinds.
#[must_use]
pub fn definitions() -> String {
    deployed("helm/berth/files/definitions")
}

/// Applies one file of `deploy/manifests`.
pub fn apply(hub: &Hub, file: &str) {
    hub.kubectl_args(&["apply", "-f", &manifest(file)]).succeeds();
}

/// Availability of each of Berth's APIServices on the hub, by name.
#[must_use]
pub fn availability(hub: &Hub) -> Vec<(String, String)> {
    let list = hub.kubectl("get apiservices -o json").json();
    let services = list["items"].as_array().cloned().unwrap_or_default();
    let ours = services
        .iter()
        .filter(|service| service["spec"]["service"]["namespace"] == NAMESPACE);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    ours.map(|service| {
        let conditions = service["status"]["conditions"].as_array();
        let condition = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Available"));
        let message = condition.map_or_else(String::new, |condition| text(&condition["message"]));
        (text(&service["metadata"]["name"]), message)
    })
    .collect()
}

fn manifest(file: &str) -> String {
    deployed(&format!("manifests/{file}"))
}

/// The path of a file or folder in `deploy/`.
fn deployed(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy");
    folder.join(file).display().to_string()
}
