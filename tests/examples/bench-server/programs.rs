//! The measured programs, and their start, standalone and behind the hub.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Clock as _;
use berth_tests::hub::Hub;
use serde_json::json;

use berth_tests::bench::http::{Call, Connection, Protocol, Target};

/// Time limit until a program is ready.
const READY: Duration = Duration::from_secs(120);
/// The pause between two checks of readiness.
const LOOK: Duration = Duration::from_millis(4);

/// A running program, which ends with this value.
pub(crate) struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts a program with its output in `log`.
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<Self> {
        let file = File::create(log).with_context(|| log.display().to_string())?;
        let child = command
            .stdin(Stdio::piped())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("{command:?}"))?;
        Ok(Self {
            child,
            log: log.to_owned(),
        })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `target` answers `path` with success.
    pub(crate) async fn wait(&mut self, target: &Target, path: &str) -> Result<()> {
        let begun = Instant::now();
        while let Err(problem) = answers(target, path).await {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}: {}", self.log.display(), self.tail());
            }
            ensure!(begun.elapsed() < READY, "not ready: {problem:#}; {}", self.tail());
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Waits until the program has created a file at its start.
    pub(crate) async fn wait_for_file(&mut self, file: &Path) -> Result<()> {
        let begun = Instant::now();
        while !file.is_file() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}: {}", self.log.display(), self.tail());
            }
            ensure!(begun.elapsed() < READY, "{} is not made", file.display());
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    fn tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail only when it has already ended, which is the goal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Succeeds when `path` is answered with success.
pub(crate) async fn answers(target: &Target, path: &str) -> Result<()> {
    let mut connection = Connection::open(target, Protocol::One).await?;
    connection.drained(&Call::get(path)).await.map(drop)
}

/// Command of a standalone `berth serve` in a folder.
pub(crate) fn berth(program: &Path, folder: &Path, port: u16, etcd: Option<&str>) -> Command {
    let mut command = Command::new(program);
    command
        .args(["serve", "--secure-port", &port.to_string(), "--data-dir"])
        .arg(folder);
    if let Some(etcd) = etcd {
        command.args([
            "--storage",
            "etcd",
            "--etcd-servers",
            etcd,
            "--etcd-prefix",
            "/berth-bench",
        ]);
    }
    command
}

/// The name that kube-apiserver expects in the certificate of sample-apiserver.
const SAMPLE: &str = "sample.default.svc";

/// Command of sample-apiserver on the hub's etcd, with the hub's users.
pub(crate) fn sample(hub: &Hub, program: &Path, port: u16) -> Result<Command> {
    let names = ["localhost", "127.0.0.1", SAMPLE].map(str::to_owned);
    let issued = hub
        .ca()
        .issue_server(&names, berth_apiserver::SystemClock.now())?;
    let file = |name: &str, content: &str| -> Result<String> {
        let path = hub.folder().join(name);
        std::fs::write(&path, content).with_context(|| path.display().to_string())?;
        Ok(path.display().to_string())
    };
    let certificate = file("sample.crt", &issued.certificate)?;
    let key = file("sample.key", &issued.key)?;
    let ca = file("sample-ca.crt", hub.ca().certificate_pem())?;
    let kubeconfig = hub.admin().display().to_string();
    let mut command = Command::new(program);
    let flags = [
        ("etcd-servers", hub.etcd()),
        ("bind-address", "127.0.0.1"),
        ("secure-port", &port.to_string()),
        ("kubeconfig", &kubeconfig),
        ("authentication-kubeconfig", &kubeconfig),
        ("authorization-kubeconfig", &kubeconfig),
        ("client-ca-file", &ca),
        ("tls-cert-file", &certificate),
        ("tls-private-key-file", &key),
    ];
    command.args(flags.map(|(flag, value)| format!("--{flag}={value}")));
    Ok(command)
}

/// Registers sample-apiserver on the hub.
pub(crate) fn register_sample(hub: &Hub, port: u16) {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "sample", "namespace": "default"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    });
    let api_service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1alpha1.wardle.example.com"},
        "spec": {
            "group": "wardle.example.com", "version": "v1alpha1", "groupPriorityMinimum": 1000, "versionPriority": 15,
            "service": {"name": "sample", "namespace": "default", "port": port},
            "caBundle": STANDARD.encode(hub.ca().certificate_pem()),
        },
    });
    for object in [service, api_service] {
        hub.kubectl("apply -f -").input(object.to_string()).succeeds();
    }
}

/// Installs a CRD of ManagedClusters on the hub with Berth's schema, in another group, since Berth serves its
/// own there.
pub(crate) fn install_crd(hub: &Hub) -> Result<()> {
    let ocm = berth_dialect_registry::by_name("ocm").context("there is a dialect called ocm")?;
    let kinds = ocm.kinds();
    let kind = kinds
        .iter()
        .find(|kind| kind.info().kind == "ManagedCluster")
        .context("it has ManagedClusters")?;
    let mut crd = berth_openapi::crd::definition(&**kind);
    crd["metadata"]["name"] = json!("managedclusters.crd.bench.berth.dev");
    crd["spec"]["group"] = json!("crd.bench.berth.dev");
    hub.kubectl("create -f -").input(crd.to_string()).succeeds();
    Ok(())
}
