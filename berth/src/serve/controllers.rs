//! The controllers that a server runs.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use berth_deploy::Storage;
use berth_engine::controller::{Leadership, SingleReplica};
use berth_storage::Store;
use tokio::sync::watch;

use super::groups::Parts;
use super::options::Options;
pub(super) use crate::controllers::RunningControllers;
use crate::controllers::{self, Environment, Selection};
use crate::hub::Hub;

/// Starts the controllers that `options` select.
///
/// # Errors
/// When `--controllers` has an unknown name, or the engine has an observer of its bindings already.
pub(super) fn start(
    options: &Options,
    store: &Arc<dyn Store>,
    parts: &Parts,
    leadership: &Leadership,
) -> Result<RunningControllers> {
    let selection = match options.is_observer() {
        true => Selection::default(),
        false => controllers::select(&options.args.controllers, &parts.dialects)
            .map_err(|problem| anyhow!(problem))?,
    };
    let mirrored = parts.mirrored.iter().map(|kind| kind.info().resource()).collect();
    let environment = Environment {
        engine: &parts.engine,
        modes: &parts.modes,
        committer: &parts.committer,
        registry: parts.api.registry(),
        mirrored: &mirrored,
        sink: &parts.sink,
        store,
        leading: may_write(options, leadership),
        event_ttl: options.args.event_ttl,
        history: parts.history.observer(),
        metrics: &parts.controller_metrics,
    };
    Ok(environment.start(selection)?)
}

/// Receiver of whether this server is the leader and may write; always false for an observer.
pub(super) fn may_write(options: &Options, leadership: &Leadership) -> watch::Receiver<bool> {
    match options.is_observer() {
        true => watch::channel(false).1,
        false => leadership.leading(),
    }
}

/// Takes part in the election of a leader: by a record in the store that servers share, or by a Lease on the
/// hub if each server has its own store. A server with neither a hub nor a shared store always leads.
pub(super) fn lead(
    options: &Options,
    store: &Arc<dyn Store>,
    parts: &Parts,
    hub: Option<&Hub>,
) -> Leadership {
    let elector = match (options.args.storage, hub) {
        (Storage::Etcd, _) => controllers::elector(store, identity(), options.terms),
        (Storage::Embedded | Storage::Memory, Some(hub)) => hub.elector(identity(), options.terms),
        (Storage::Embedded | Storage::Memory, None) => Arc::new(SingleReplica),
    };
    controllers::lead(elector, parts.engine.clock(), &parts.controller_metrics)
}

/// The identity of this server in the election of a leader: the host name and a random suffix.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "berth".to_owned());
    format!("{host}_{}", uuid::Uuid::new_v4())
}
