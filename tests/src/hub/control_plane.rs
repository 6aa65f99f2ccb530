//! Start of etcd, kube-apiserver and kube-controller-manager: certificates, flags, readiness.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;

use berth_apimachinery::Timestamp;
use berth_certs::{Authority, IssuedCertificate};

use super::process::Process;
use super::{FRONT_PROXY, Hub, Purpose, READY};
use crate::ports;

/// Policy of the audit log: the metadata of every request, and the bodies of access reviews.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, resources: [{group: authorization.k8s.io, resources: [subjectaccessreviews]}]}
- {level: Metadata}
";

/// Writes the certificates of kube-apiserver (as server, as front proxy, and for service accounts'
/// tokens).
pub(super) fn write_certificates(hub: &Hub, now: Timestamp) {
    let write = |stem: &str, issued: IssuedCertificate| {
        let file = |end: &str| hub.folder.join(format!("{stem}.{end}"));
        std::fs::write(file("crt"), issued.certificate).expect("the hub's folder is writable");
        std::fs::write(file("key"), issued.key).expect("the hub's folder is writable");
    };
    let names = ["localhost", "127.0.0.1", "kubernetes.default.svc"].map(str::to_owned);
    write(
        "apiserver",
        hub.ca.issue_server(&names, now).expect("a server certificate"),
    );
    let proxy = hub.front_proxy_ca.issue_client(FRONT_PROXY, &[], now);
    write("front-proxy", proxy.expect("a front-proxy certificate"));
    let accounts =
        Authority::open(&hub.folder, "service-account-ca", "service-account", now).expect("a CA can be made");
    // Only a key pair is needed; a certificate is one format of the public key.
    write(
        "service-account",
        accounts
            .issue_client("service-account", &[], now)
            .expect("a key pair"),
    );
    std::fs::write(hub.folder.join("audit-policy.yaml"), AUDIT_POLICY).expect("the hub's folder is writable");
}

/// Starts etcd.
pub(super) fn start_etcd(hub: &mut Hub, program: &Path, purpose: Purpose) {
    let (client, peer) = (ports::free(), ports::free());
    let url = format!("http://127.0.0.1:{client}");
    let mut command = Command::new(program);
    command
        .arg("etcd")
        .arg("--data-dir")
        .arg(hub.folder.join("etcd"))
        .args(["--listen-client-url", &url])
        .args(["--listen-peer-url", &format!("http://127.0.0.1:{peer}")]);
    if purpose != Purpose::Testing {
        command.arg("--fsync");
    }
    let mut process = Process::start(&mut command, &hub.folder, "etcd");
    process.wait_until(READY, || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, client)).is_ok()
    });
    hub.processes.push(process);
    hub.etcd = url;
}

/// Command that runs kube-apiserver on the hub's etcd.
pub(super) fn apiserver_command(hub: &Hub, program: &Path, purpose: Purpose, port: u16) -> Command {
    let file = |name: &str| hub.folder.join(name).display().to_string();
    let mut flags: Vec<(&str, String)> = vec![
        ("etcd-servers", hub.etcd.clone()),
        ("bind-address", "127.0.0.1".to_owned()),
        ("secure-port", port.to_string()),
        // The `kubernetes` Service is not used here, and loopback would be refused as its endpoint.
        ("endpoint-reconciler-type", "none".to_owned()),
        ("tls-cert-file", file("apiserver.crt")),
        ("tls-private-key-file", file("apiserver.key")),
        ("client-ca-file", file("ca.crt")),
        (
            "service-account-issuer",
            "https://kubernetes.default.svc".to_owned(),
        ),
        ("service-account-key-file", file("service-account.crt")),
        ("service-account-signing-key-file", file("service-account.key")),
        ("service-cluster-ip-range", "10.0.0.0/24".to_owned()),
        ("authorization-mode", "RBAC".to_owned()),
        ("requestheader-client-ca-file", file("front-proxy-ca.crt")),
        ("requestheader-allowed-names", FRONT_PROXY.to_owned()),
        ("requestheader-username-headers", "X-Remote-User".to_owned()),
        ("requestheader-group-headers", "X-Remote-Group".to_owned()),
        ("requestheader-extra-headers-prefix", "X-Remote-Extra-".to_owned()),
        ("proxy-client-cert-file", file("front-proxy.crt")),
        ("proxy-client-key-file", file("front-proxy.key")),
    ];
    if purpose != Purpose::Measuring {
        flags.push(("audit-policy-file", file("audit-policy.yaml")));
        flags.push(("audit-log-path", file("audit.log")));
    }
    let mut command = Command::new(program);
    command.arg("kube-apiserver");
    command.args(flags.iter().map(|(flag, value)| format!("--{flag}={value}")));
    command
}

/// Starts kube-apiserver and waits until it is ready.
pub(super) fn start_apiserver(hub: &mut Hub, program: &Path, purpose: Purpose) {
    let port = ports::free();
    let mut command = apiserver_command(hub, program, purpose, port);
    let mut process = Process::start(&mut command, &hub.folder, "kube-apiserver");
    hub.url = format!("https://127.0.0.1:{port}");
    drop(hub.admin());
    process.wait_until(READY, || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
            && hub.kubectl("get --raw /readyz").run().success
            // The service account admission requires the namespace, which is created after readiness.
            && hub.kubectl("get namespaces default kube-system").run().success
    });
    hub.processes.push(process);
}

/// Starts the garbage collector, the namespace controller, the controller of aggregated roles, and the
/// controllers of the token Secrets of service accounts.
pub(super) fn start_controllers(hub: &mut Hub, program: &Path) {
    let file = |flag: &str, name: &str| format!("--{flag}={}", hub.folder.join(name).display());
    let mut command = Command::new(program);
    command
        .arg("kube-controller-manager")
        .arg("--kubeconfig")
        .arg(hub.admin_file())
        .args([
            "--controllers=garbage-collector-controller,namespace-controller,clusterrole-aggregation-controller,\
             serviceaccount-token-controller",
            "--leader-elect=false",
            "--secure-port=0",
            &file("service-account-private-key-file", "service-account.key"),
            &file("root-ca-file", "ca.crt"),
        ]);
    let process = Process::start(&mut command, &hub.folder, "kube-controller-manager");
    hub.processes.push(process);
}
