//! The server of `apiserver/examples/flunders.rs` behind a kube-apiserver: users and their rights are the
//! hub's, and the APIService is registered and kept current. `cargo run -p berth-aggregation --example
//! aggregated_flunders KUBECONFIG`.

#[path = "../../examples/flunders.rs"]
mod flunders;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use berth_aggregation::registration::{Options, Service};
use berth_aggregation::{Clients, Delegation, Kubeconfigs, Registration};
use berth_apimachinery::Clock;
use berth_apiserver::{ChainConfig, Server, ServerConfig, SystemClock};
use berth_certs::{Folder, ServingCertificate};
use serde_json::json;

/// Opens the port and registers the server as what the hub reaches by `service`.
///
/// # Errors
/// When the hub cannot be reached, or does not let the kubeconfig's user do what a server must.
pub(crate) async fn server(
    kubeconfig: PathBuf,
    folder: Arc<Folder>,
    address: SocketAddr,
    service: Service,
) -> Result<Server> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let hub = Delegation::to(Clients::connect(&Kubeconfigs::one(kubeconfig)).await?).await?;
    let certificate = ServingCertificate::issued(Arc::clone(&folder), &[service.host()], Arc::clone(&clock))?;
    let chain = ChainConfig::of(flunders::groups())
        .authentication(hub.authentication(false, &clock))
        .authorizer(hub.authorizer(&clock))
        .build()?;
    let server = Server::bind(ServerConfig::new(address, Arc::clone(&certificate) as _, chain)).await?;
    let api_service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.wardle.example.com"},
        "spec": {
            "group": "wardle.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10,
            "service": {"name": service.name, "namespace": service.namespace, "port": service.port},
        },
    });
    let options = Options::own(service, vec![api_service], "flunders");
    let registration = Arc::new(Registration::new(hub.client(), options, &folder, &clock));
    drop((registration.follow(certificate), hub.follow()));
    Ok(server)
}

#[tokio::main]
#[allow(dead_code, reason = "tests start the server themselves")]
async fn main() -> Result<()> {
    let kubeconfig = std::env::args_os().nth(1).context("which kubeconfig?")?;
    let folder = Arc::new(Folder::open(Path::new("flunders"), SystemClock.now())?);
    let service = Service {
        name: "flunders".to_owned(),
        namespace: "default".to_owned(),
        port: 443,
    };
    let server = server(kubeconfig.into(), folder, "0.0.0.0:6443".parse()?, service).await?;
    Ok(server.start().wait().await?)
}
