//! Steps of a server's start that differ between a standalone server and a server behind a hub, such as
//! starting the controllers of Kubernetes' own kinds, or the watchers of the hub.

use std::sync::Arc;

use anyhow::{Context, Result};
use berth_aggregation::registration::Registration;
use berth_apimachinery::Clock;
use berth_certs::{Folder, ServingCertificate};
use berth_configuration::Mode;
use berth_deploy::{Installation, Storage};
use berth_engine::controller::Leadership;
use berth_hub::SyncStatus;
use berth_hub::mirror::Progress;
use berth_kubernetes::garbage::{self, Kinds};
use berth_kubernetes::{namespaces, quota, rbac, type_checking};
use berth_storage::{Source, Store};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::groups::Parts;
use super::{Options, built_in, identity, mirrors};
use crate::hub::Hub;

/// Creates the built-in objects of the systems whose objects are stored here, as the systems' own programs
/// would.
///
/// # Errors
/// When an object cannot be stored.
pub(super) async fn create_built_in(
    store: &Arc<dyn Store>,
    parts: &Parts,
    hub: Option<&Hub>,
    clock: &Arc<dyn Clock>,
) -> Result<()> {
    let on_hub = |name: &str| hub.is_some_and(|hub| hub.has(name));
    built_in::create_missing(store, &parts.dialects, on_hub, &**clock)
        .await
        .context("creating the built-in objects of the systems")
}

/// Stores the default namespaces and roles, and starts the garbage collector, the counter of quotas,
/// the deleter of namespaces, the writer of aggregated roles, and the type checker of policies.
///
/// # Errors
/// When the defaults cannot be stored.
pub(super) async fn start_standalone(
    store: &Arc<dyn Store>,
    parts: &Parts,
    clock: &Arc<dyn Clock>,
    ending: &CancellationToken,
) -> Result<Vec<JoinHandle<()>>> {
    namespaces::ensure_defaults(store, &**clock)
        .await
        .context("creating the default namespaces")?;
    rbac::bootstrap::ensure(store, &**clock, &berth_deploy::role_resources(&parts.dialects))
        .await
        .context("creating the default roles")?;
    let kinds = Kinds::of(&parts.groups);
    let collector = garbage::spawn(
        Arc::clone(store),
        Arc::clone(&kinds),
        Arc::clone(clock),
        parts.admission.protection(),
        ending.clone(),
    );
    let counter = quota::spawn(Arc::clone(store), &kinds, ending.clone());
    let deleter = namespaces::spawn(
        Arc::clone(store),
        kinds,
        Arc::clone(clock),
        parts.admission.protection(),
        ending.clone(),
    );
    let aggregator = rbac::aggregation::spawn(Arc::clone(store), ending.clone());
    let source = Arc::clone(store) as Arc<dyn Source>;
    let checker = type_checking::spawn(&parts.registry, &source, &parts.groups, ending.clone());
    Ok(vec![collector, counter, deleter, aggregator, checker])
}

/// Starts the tasks behind a hub: they copy the objects that decisions read, and watch the hub's trust
/// settings and the systems' own schedulers.
pub(super) async fn start_behind_hub(
    hub: &Hub,
    options: &Options,
    store: &Arc<dyn Store>,
    parts: &Parts,
    leadership: &Leadership,
) -> (Arc<SyncStatus>, watch::Receiver<Progress>, Vec<JoinHandle<()>>) {
    // If each server has its own store, each server writes its own copies.
    let leading = match options.args.storage {
        Storage::Etcd => leadership.leading(),
        Storage::Embedded | Storage::Memory => watch::channel(true).1,
    };
    let kinds_with_concerns = parts.mirrored.iter().map(|kind| {
        let concerns = mirrors::concerns(&parts.dialects, kind.info().resource());
        (Arc::clone(kind), concerns)
    });
    let mirror = hub.mirror(store, &kinds_with_concerns.collect::<Vec<_>>(), leading);
    let (sync_status, status_task) =
        Hub::sync_status(parts.requirements.clone(), &parts.engine, &mirror).await;
    let mut tasks = mirror.tasks;
    tasks.push(status_task);
    tasks.extend(hub.delegation.follow());
    // An observer never decides, so it does not need the state of other schedulers.
    if !options.is_observer() {
        tasks.push(hub.watch_schedulers(&parts.engine, &parts.modes).await);
    }
    (sync_status, mirror.progress, tasks)
}

/// Claims the hub for this server's store, so that no server with another store stores objects of the same
/// systems. A store in etcd, or with only copies, needs no claim. `lost` is cancelled when the claim is lost.
///
/// # Errors
/// When another store has claimed the hub (the message has the identity of that store, and the remedy), the
/// hub refuses the claim or does not answer, or the data folder cannot be written.
pub(super) async fn claim_store(
    hub: &Hub,
    options: &Options,
    parts: &Parts,
    clock: &Arc<dyn Clock>,
    lost: &CancellationToken,
) -> Result<Option<JoinHandle<()>>> {
    let stores_objects = parts.dialects.iter().any(|dialect| !hub.has(dialect.name()));
    if options.args.storage == Storage::Etcd || !stores_objects {
        return Ok(None);
    }
    let claim = hub.claim_store(&options.args.data_dir, options.terms, clock, lost.clone());
    Ok(Some(claim.await?))
}

/// The registration of Berth on the hub; `None` without a hub.
///
/// # Errors
/// When another server has an API group of Berth, this cannot be checked, or `--ca-rotation-step` is too
/// long.
pub(super) async fn registration(
    hub: Option<&Hub>,
    options: &Options,
    folder: &Folder,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<Registration>>> {
    let Some(hub) = hub else { return Ok(None) };
    let has_certificate = options.certificate().is_some();
    let registration = hub
        .registration(&installation(options), has_certificate, folder, clock)
        .await?;
    Ok(Some(Arc::new(registration)))
}

/// The installation of this server, with the fields that its registration needs.
fn installation(options: &Options) -> Installation {
    let args = &options.args.hub;
    let dialects = args.served(berth_dialect_registry::with(&options.args.actors.settings()));
    let names = dialects.iter().map(|dialect| dialect.name());
    Installation {
        service: args.registration.service(),
        on_hub: names.filter(|name| args.is_on_hub(name)).collect(),
        dialects,
        self_register: args.registration.self_register,
        mode: match options.is_observer() {
            true => Mode::Observe,
            false => Mode::Decide,
        },
        ..Installation::default()
    }
}

/// The server's certificate: issued by the CA that replicas share, issued by the server's own CA, or read
/// from the configured files.
///
/// # Errors
/// When the CA or the files cannot be used.
pub(super) async fn certificate(
    registration: Option<&Arc<Registration>>,
    options: &Options,
    folder: &Arc<Folder>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<ServingCertificate>> {
    if let Some(registration) = registration
        && let Some(shared) = registration.certificate(&options.names).await?
    {
        return Ok(shared);
    }
    identity::certificate(options, folder, clock)
}

/// Starts to watch the hub's admission policies and webhooks, so that they are in force before any write
/// here. Without a hub, and for an observer, there are no tasks.
///
/// # Errors
/// When the hub does not list the policies or webhooks.
pub(super) async fn watch_policies(parts: &Parts) -> Result<Vec<JoinHandle<()>>> {
    let mut tasks = Vec::new();
    if let Some(policies) = &parts.hub_policies {
        tasks.extend(policies.follow().await?);
        let (enforcer, mut changes) = (Arc::clone(&parts.enforcer), policies.changes());
        tasks.push(tokio::spawn(async move {
            loop {
                enforcer.compile_stored();
                if changes.changed().await.is_err() {
                    return;
                }
            }
        }));
    }
    if let Some(webhooks) = &parts.webhooks {
        tasks.extend(webhooks.follow().await?);
    }
    Ok(tasks)
}
