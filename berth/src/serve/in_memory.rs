//! A server within the process, without a port, certificates and controllers. The objects are a snapshot of
//! one instant, or the objects of a hub with their changes. Decisions are the same as on a server with
//! exactly these objects.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use axum::body::Body;
use berth_apimachinery::Revision;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft, GroupResource, Key, Kind, Object, Timestamp};
use berth_apiserver::authn::{Authentication, CaPool, Connection};
use berth_apiserver::health::Health;
use berth_apiserver::memory::ByteLimiter;
use berth_apiserver::metrics::Metrics;
use berth_apiserver::{Attributes, Authorizer, Chain, SystemClock};
use berth_certs::Authority;
use berth_configuration::Mode;
use berth_dialect_contract::config;
use berth_dialect_contract::rules::RulesChoice;
use berth_hub::Mirror;
use berth_hub::mirror::{CopyProgress, Progress};
use berth_storage::{Expect, MemoryStore, Step, Store};
use http::Request;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::access::Access;
use super::{Options, RequestRecorders, chain, configuration_files, groups, mirrors, with_time_limit};

/// Peer address of requests from within the process.
const PEER_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A server for objects in memory. Dropping the value stops the server.
pub struct InMemory {
    client: kube::Client,
    tasks: Vec<JoinHandle<()>>,
}

/// Authorizer that grants every right: the user of the process may read all objects, which come from the
/// user's own input or were read with the user's rights.
struct AllowAll;

#[async_trait]
impl Authorizer for AllowAll {
    async fn authorize(
        &self,
        _: &Attributes,
    ) -> Result<berth_apiserver::Access, berth_apiserver::DelegationError> {
        Ok(berth_apiserver::Access::Allow(String::new()))
    }
}

/// Settings for the decisions, in addition to the objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings<'a> {
    /// Files with configurations of the systems.
    pub configurations: &'a [PathBuf],
    /// Rules for all decisions, which override the rules in configurations; `None` if the latter apply.
    pub rules: Option<RulesChoice>,
    /// Whether the objects come from a hub, where the systems themselves run.
    pub is_of_hub: bool,
}

impl InMemory {
    /// Serves `objects`, which are in their stored form, at `now`.
    ///
    /// # Errors
    /// When a configuration is invalid, or a part of the server does not start.
    pub async fn serve(
        objects: Vec<(Key, Arc<Object>)>,
        settings: Settings<'_>,
        now: Timestamp,
    ) -> Result<Self> {
        let store = MemoryStore::of_any_size(Revision(1), berth_storage::Limits::default());
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
        Self::over(
            Arc::new(store),
            settings,
            Arc::new(berth_apimachinery::FixedClock(now)),
            None,
        )
        .await
    }

    /// Serves copies of the objects of `kinds` on the hub of `client`, with their changes. The server only
    /// observes, since another scheduler decides on the hub. Also returns the present number of objects of
    /// each kind.
    ///
    /// # Errors
    /// When a part of the server does not start, or `rules` are given and the configurations cannot be read.
    pub async fn follow(
        client: &kube::Client,
        kinds: &[Arc<dyn Kind>],
        rules: Option<RulesChoice>,
    ) -> Result<(Self, BTreeMap<GroupResource, usize>)> {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::of_any_size(
            Revision(1),
            berth_storage::Limits::default(),
        ));
        // If `rules` are given, configurations are read once, since a later change would replace the rules.
        let is_read_once =
            |kind: &&Arc<dyn Kind>| rules.is_some() && kind.info().resource() == config::RESOURCE;
        for kind in kinds.iter().filter(is_read_once) {
            let mirror = copies(client, &store, [kind]).await;
            mirror.tasks.iter().for_each(JoinHandle::abort);
            check_read(&mirror.progress.borrow(), kind.info().resource())?;
        }
        let watched = kinds.iter().filter(|kind| !is_read_once(kind));
        let tasks = copies(client, &store, watched).await.tasks;
        let settings = Settings {
            configurations: &[],
            rules,
            is_of_hub: true,
        };
        let clock = Arc::new(SystemClock);
        let server = Self::over(Arc::clone(&store), settings, clock, Some(Mode::Observe)).await?;
        let counts = kinds.iter().map(|kind| {
            let resource = kind.info().resource();
            (resource, store.cached(resource).iter(None, None).count())
        });
        let counts = counts.collect();
        Ok((server.with(tasks), counts))
    }

    fn with(mut self, tasks: Vec<JoinHandle<()>>) -> Self {
        self.tasks.extend(tasks);
        self
    }

    /// Serves the objects in `store` at the time of `clock`.
    async fn over(
        store: Arc<dyn Store>,
        settings: Settings<'_>,
        clock: Arc<dyn Clock>,
        mode: Option<Mode>,
    ) -> Result<Self> {
        let folder = tempfile::tempdir().context("creating a temporary folder")?;
        let now = clock.now();
        let mut options = Options::demo(folder.path(), 0)?;
        options.mode = mode;
        // No history is stored, since the store ends with the process.
        options.args.history_per_decision = 0;
        let parts = groups::assemble(&store, &clock, &options, None)?;
        if settings.is_of_hub {
            let dialects = parts.engine.dialects();
            dialects.for_each(|dialect| parts.engine.set_on_hub(dialect.name()));
        }
        configuration_files::store_files(&store, &parts, settings.configurations, false, now).await?;
        if let Some(rules) = settings.rules {
            configuration_files::choose_rules(&store, &parts, rules, now).await?;
        }
        let tasks = vec![parts.engine.spawn(), parts.virtual_api.spawn()];
        let revision = parts.engine.source().revision();
        with_time_limit(super::LOAD_TIMEOUT, parts.engine.caught_up(revision))
            .await
            .context("reading the objects")?
            .context("reading the objects")?;
        // `Authentication` requires a CA, although no client has a certificate of this CA.
        let authority = Authority::open(folder.path(), "ca", "ca", now)?;
        let trust = CaPool::from_pem(authority.certificate_pem().as_bytes())?;
        let access = Access {
            api: Arc::clone(&parts.api) as Arc<_>,
            authentication: Authentication {
                anonymous: true,
                ..Authentication::by_certificates(trust)
            },
            authorizer: Arc::new(AllowAll),
            always_allowed: Vec::new(),
        };
        let recorders = RequestRecorders {
            metrics: Arc::new(Metrics::new()),
            audit: None,
        };
        let memory = ByteLimiter::new(0);
        let config = chain(
            &options,
            recorders,
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

    /// The client for requests to this server.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }
}

/// Checks that the objects of `resource`, which are read only once, were read or do not exist.
fn check_read(progress: &Progress, resource: GroupResource) -> Result<()> {
    if let Some(CopyProgress::Waiting(problem)) = progress.get(&resource) {
        let problem = problem.as_deref().unwrap_or("the hub did not answer in time");
        bail!("cannot read {resource}, whose rules --rules overrides: {problem}");
    }
    Ok(())
}

/// Starts tasks that copy the objects of `kinds` from the hub into `store` and follow their changes. Returns
/// when the present objects of each kind are copied or cannot be read, or after a time limit.
async fn copies<'a>(
    client: &kube::Client,
    store: &Arc<dyn Store>,
    kinds: impl IntoIterator<Item = &'a Arc<dyn Kind>>,
) -> Mirror {
    let dialects = berth_dialect_registry::all();
    let kinds_with_concerns = kinds.into_iter().map(|kind| {
        let concerns = mirrors::concerns(&dialects, kind.info().resource());
        (Arc::clone(kind), concerns)
    });
    let kinds: Vec<_> = kinds_with_concerns.collect();
    let mirror = Mirror::start(client, store, &kinds, &Arc::default(), watch::channel(true).1);
    berth_hub::settled(mirror.progress.clone(), super::LOAD_TIMEOUT).await;
    mirror
}

impl Drop for InMemory {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

fn client(chain: Arc<Chain>) -> kube::Client {
    let connection = Arc::new(Connection::new(PEER_ADDRESS, Vec::new()));
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (chain, connection) = (Arc::clone(&chain), Arc::clone(&connection));
        async move { Ok::<_, Infallible>(chain.handle(&connection, request.map(Body::new)).await) }
    });
    kube::Client::new(service, "default")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_that_cannot_be_read_are_an_error_and_those_that_do_not_exist_are_none() {
        let check = |copy_progress| {
            let progress = Progress::from([(config::RESOURCE, copy_progress)]);
            check_read(&progress, config::RESOURCE).map_err(|error| error.to_string())
        };
        assert_eq!(check(CopyProgress::Complete), Ok(()));
        assert_eq!(check(CopyProgress::Absent), Ok(()));
        let refused = check(CopyProgress::Waiting(Some("503".to_owned()))).unwrap_err();
        assert!(
            refused.contains("schedulerconfigurations") && refused.contains("503"),
            "{refused}"
        );
        assert!(check(CopyProgress::Waiting(None)).is_err());
    }
}
