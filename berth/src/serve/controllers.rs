//! The controllers a server runs.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use storage::Store;

use super::groups::Parts;
use super::options::Options;
use crate::cli::Storage;
pub(super) use crate::controllers::Running;
use crate::controllers::{self, Setting};

/// Starts the controllers that `options` select.
///
/// # Errors
/// When `--controllers` names something else than a dialect or one of its controllers.
pub(super) fn start(options: &Options, store: &Arc<dyn Store>, parts: &Parts) -> Result<Running> {
    let selection =
        controllers::select(&options.controllers, &parts.dialects).map_err(|problem| anyhow!(problem))?;
    let identity = identity(options.storage);
    let setting = Setting {
        engine: &parts.engine,
        registry: parts.api.registry(),
        store,
        identity: identity.as_deref(),
        event_ttl: options.event_ttl,
        metrics: &parts.controller_metrics,
    };
    setting.start(selection).map_err(|problem| anyhow!(problem))
}

/// The name of this server among others on the same store, if there can be others.
fn identity(storage: Storage) -> Option<String> {
    match storage {
        Storage::Embedded | Storage::Memory => None,
        Storage::Etcd => {
            let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "berth".to_owned());
            Some(format!("{host}_{}", uuid::Uuid::new_v4()))
        }
    }
}
