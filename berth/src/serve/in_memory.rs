//! Objects served within the process: no port, no certificates, no controllers, one instant. What is asked is decided as
//! by a server that has just these objects.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};

use async_trait::async_trait;
use axum::body::Body;
use berth_apimachinery::{Clock, Draft, Key, Object, Timestamp};
use berth_apiserver::authn::{Authentication, CaPool, Connection};
use berth_apiserver::chain::Chain;
use berth_apiserver::health::Health;
use berth_apiserver::metrics::Metrics;
use berth_apiserver::{Attributes, Authorizer, ByteLimiter};
use berth_certs::Authority;
use berth_storage::memory::MemoryStore;
use berth_storage::{Expect, Revision, Step, Store, Verb};
use http::Request;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::access::Access;
use super::{Options, Recording, chain, configuration_files, groups, within};

/// What the address of somebody in the process is.
const WITHIN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Objects that are served; they are no longer when it is dropped.
pub struct InMemory {
    client: kube::Client,
    tasks: Vec<JoinHandle<()>>,
}

/// The clock of one instant.
struct Still(Timestamp);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Whoever runs the process may see what they gave it.
struct Everybody;

#[async_trait]
impl Authorizer for Everybody {
    async fn authorize(
        &self,
        _: &Attributes,
    ) -> Result<berth_apiserver::Access, berth_apiserver::Unanswered> {
        Ok(berth_apiserver::Access::Allow(String::new()))
    }
}

impl InMemory {
    /// Serves `objects`, as they would be stored, with the systems' own configuration files, at `now`.
    ///
    /// # Errors
    /// When a configuration is not one, or the parts do not come up.
    pub async fn serve(
        objects: Vec<(Key, Arc<Object>)>,
        configurations: &[PathBuf],
        now: Timestamp,
    ) -> Result<Self> {
        let folder = tempfile::tempdir().context("creating a temporary folder")?;
        let options = Options {
            // Nothing changes.
            history_per_decision: 0,
            ..Options::demo(folder.path(), 0)
        };
        let clock: Arc<dyn Clock> = Arc::new(Still(now));
        let store = MemoryStore::new(Revision(1), berth_storage::Limits::default());
        for (key, object) in objects {
            let step = Step {
                verb: Verb::Create,
                key,
                subresource: "",
                object: Some(Draft::new(&object.parse())?),
                expect: Expect::Absent,
                guards: Vec::new(),
            };
            store.commit(&[step])?;
        }
        let store: Arc<dyn Store> = Arc::new(store);
        let parts = groups::assemble(&store, &clock, &options, None)?;
        configuration_files::fill(&store, &parts, configurations, false, now).await?;
        let tasks = vec![parts.engine.spawn(), parts.virtual_api.spawn()];
        let revision = parts.engine.source().revision();
        within(super::LOAD, parts.engine.caught_up(revision))
            .await
            .context("reading the objects")?
            .context("reading the objects")?;
        // Nobody has a certificate of it: it is only that there must be one.
        let authority = Authority::open(folder.path(), "ca", "ca", now)?;
        let trust = CaPool::from_pem(authority.certificate_pem().as_bytes())?;
        let access = Access {
            api: Arc::clone(&parts.api) as Arc<_>,
            authentication: Authentication {
                anonymous: true,
                ..Authentication::by_certificates(trust)
            },
            authorizer: Arc::new(Everybody),
            always_allowed: Vec::new(),
        };
        let recording = Recording {
            metrics: Arc::new(Metrics::new()),
            audit: None,
        };
        let memory = ByteLimiter::new(0);
        let config = chain(
            &options,
            recording,
            access,
            Health::new().into(),
            &parts,
            &memory,
            &clock,
        )?;
        let chain = Arc::new(Chain::new(config, CancellationToken::new())?);
        Ok(Self {
            client: client(chain),
            tasks,
        })
    }

    /// Who asks.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

fn client(chain: Arc<Chain>) -> kube::Client {
    let connection = Arc::new(Connection::new(WITHIN, Vec::new()));
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (chain, connection) = (Arc::clone(&chain), Arc::clone(&connection));
        async move { Ok::<_, Infallible>(chain.handle(&connection, request.map(Body::new)).await) }
    });
    kube::Client::new(service, "default")
}
