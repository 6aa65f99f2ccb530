//! A whole API server: one kind with a rule and a computed subresource. `cargo run -p berth-apiserver
//! --example flunders` prints instructions for clients.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use berth_apimachinery::{
    Clock, Definition, FieldError, Kind, KindInfo, Schema, Status, Write, described_by,
};
use berth_apiserver::authn::{Authentication, CaPool};
use berth_apiserver::authz::AlwaysAllow;
use berth_apiserver::{Call, ChainConfig, Group, Reply, RequestInfo, Resource, Server, ServerConfig};
use berth_apiserver::{Subresource, SubresourceHandler, SystemClock};
use berth_certs::{Folder, ServingCertificate};
use berth_storage::{MemoryStore, Store};
use serde_json::{Value, json};

/// A Flunder, as OpenAPI and `kubectl explain` describe it.
#[derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize)]
struct Flunder {
    /// Length of the flunder, in centimetres.
    #[schemars(range(min = 1))]
    size: i64,
    /// The name of the flunder that this one follows.
    follows: Option<String>,
}

static FLUNDER: Definition = Definition::new(
    KindInfo::new("wardle.example.com", &["v1"], "Flunder", "flunders"),
    Schema::of::<Flunder>,
);

/// The kind: its definition, and a rule that a schema cannot express.
struct Flunders;

impl Kind for Flunders {
    described_by!(FLUNDER);

    fn validate(&self, _write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        if new["follows"].is_string() && new["follows"] == new["metadata"]["name"] {
            let itself = new["follows"].clone();
            return vec![FieldError::invalid("follows", itself, "must be another flunder")];
        }
        Vec::new()
    }
}

/// `flunders/NAME/weight`, computed at each read.
struct Weight(Arc<dyn Store>);

#[async_trait::async_trait]
impl SubresourceHandler for Weight {
    fn effort(&self, _request: &RequestInfo) -> usize {
        0
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        let flunders = self.0.cached(FLUNDER.info.resource());
        let found = flunders.get(&call.namespace, &call.name);
        let flunder = found.ok_or_else(|| Status::not_found(FLUNDER.info.resource(), &call.name))?;
        let size = flunder.value()["size"].as_i64().unwrap_or_default();
        let weight = json!({"apiVersion": "wardle.example.com/v1", "kind": "Weight", "grams": size * 20});
        Ok(Reply::Value(weight))
    }
}

/// Groups that are served, with their stores.
#[must_use]
pub(crate) fn groups() -> Vec<Group> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let weight = Subresource::new("weight", "Weight", &["get"], Weight(Arc::clone(&store)));
    let flunders = Resource::stored(Flunders, &store).with_subresource(weight);
    vec![Group::new(FLUNDER.info.group, vec![flunders])]
}

/// Opens the port. Users have client certificates of the CA in `folder`.
///
/// # Errors
/// When the folder cannot be used or the port is taken.
pub(crate) async fn server(folder: Arc<Folder>, address: SocketAddr) -> Result<Server> {
    let ca = CaPool::from_pem(folder.ca().certificate_pem().as_bytes())?;
    let certificate = ServingCertificate::issued(folder, &[], Arc::new(SystemClock))?;
    let chain = ChainConfig::of(groups())
        .authentication(Authentication::by_certificates(ca))
        .authorizer(Arc::new(AlwaysAllow))
        .build()?;
    Ok(Server::bind(ServerConfig::new(address, certificate, chain)).await?)
}

#[tokio::main]
#[allow(dead_code, reason = "tests start the server themselves")]
async fn main() -> Result<()> {
    let folder = Arc::new(Folder::open(Path::new("flunders"), SystemClock.now())?);
    let alice = folder.issue_client("alice", &[], SystemClock.now())?;
    std::fs::write("flunders/alice.pem", alice.certificate + &alice.key)?;
    let server = server(folder, "127.0.0.1:6443".parse()?).await?;
    println!(
        "kubectl --server https://{} --certificate-authority flunders/ca.crt --client-certificate \
         flunders/alice.pem --client-key flunders/alice.pem get flunders",
        server.address()
    );
    Ok(server.start().wait().await?)
}
