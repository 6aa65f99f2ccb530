//! What runs beside the server: a stand-in for the rest of a control plane, or what follows the hub.

use std::sync::Arc;

use anyhow::{Context, Result};
use meta::Clock;
use storage::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::groups::{self, Parts};
use crate::garbage::{self, Kinds};
use crate::hub::Hub;
use crate::{namespaces, rbac};

/// Default namespaces and roles, the garbage collector, the deleter of namespaces.
///
/// # Errors
/// When the defaults cannot be stored.
pub(super) async fn alone(
    store: &Arc<dyn Store>,
    parts: &Parts,
    clock: &Arc<dyn Clock>,
    ending: &CancellationToken,
) -> Result<Vec<JoinHandle<()>>> {
    namespaces::ensure_defaults(store, &**clock)
        .await
        .context("making the default namespaces")?;
    rbac::bootstrap::ensure(store, &**clock, &groups::reach(&parts.dialects))
        .await
        .context("making the default roles")?;
    let kinds = Kinds::of(&parts.groups);
    let collector = garbage::spawn(
        Arc::clone(store),
        Arc::clone(&kinds),
        Arc::clone(clock),
        ending.clone(),
    );
    let deleter = namespaces::spawn(Arc::clone(store), kinds, Arc::clone(clock), ending.clone());
    Ok(vec![collector, deleter])
}

/// What is followed on a hub: whom it believes, and the objects decisions depend on.
///
/// # Errors
/// When the hub does not hand those objects out.
pub(super) async fn behind(hub: &Hub, store: &Arc<dyn Store>, parts: &Parts) -> Result<Vec<JoinHandle<()>>> {
    let mirror = hub.mirror(store, &parts.mirrored);
    mirror.complete().await?;
    let mut tasks = mirror.tasks;
    tasks.extend(hub.follow());
    Ok(tasks)
}
