//! `berth syncer`: the process at a workload cluster of kcp. It copies the objects in its view on the
//! hub to the cluster, and their status to the hub; it deletes the content of leaving namespaces, and
//! sends heartbeats (docs/systems/kcp.md, "Order of removal" and "The syncer's view").
//!
//! Every step follows from the present state of both sides ([`berth_dialect_kcp::syncer_view::step`]), so
//! that the process may be killed at any point and started again. [`session`] is the loop, and [`work`] the
//! state of the loop, with the [`queue`] of due objects. [`mirrors`] has the known objects of both sides,
//! which [`follow`] watches, and [`kinds`] their kinds. [`act`] executes a step; [`identity`] lets it
//! delete copies for the WorkloadCluster of the session only, and [`list_check`] begin steps. [`undone`]
//! finds writes that other clients revert, and [`leftovers`] copies of earlier registrations. [`heartbeat`]
//! reports [`problems`] to the hub, as conditions ([`condition_text`]). [`ends`] has the two connections.

mod act;
mod condition_text;
mod ends;
mod follow;
mod heartbeat;
mod identity;
mod kinds;
mod leftovers;
mod list_check;
mod mirrors;
mod problems;
mod queue;
mod session;
mod undone;
mod work;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use self::ends::Connections;
use self::session::{EndReason, Session};

/// Pause after the first failed attempt to begin a session, such as when the hub does not answer.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between attempts to begin a session.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Arguments of `berth syncer`.
#[derive(Args, Clone, Debug)]
pub struct SyncerArgs {
    /// The kubeconfig of the hub. Its server is the hub itself, or the API endpoint of the target on the hub
    /// (https://…/apis/scheduling.berth.dev/v1alpha1/targets/NAME.kcp/proxy).
    #[arg(long)]
    pub from_kubeconfig: PathBuf,
    /// The context in --from-kubeconfig; by default the current one.
    #[arg(long)]
    pub from_context: Option<String>,
    /// The logical cluster of the objects, from which the names of downstream namespaces are computed. Must
    /// differ between hubs that are synced to the same cluster.
    #[arg(long, default_value = "root")]
    pub from_cluster: String,
    /// The kubeconfig of the workload cluster; by default, in a Pod on that cluster, its service account.
    #[arg(long)]
    pub to_kubeconfig: Option<PathBuf>,
    /// The context in --to-kubeconfig; by default the current one.
    #[arg(long)]
    pub to_context: Option<String>,
    /// The name of the WorkloadCluster on the hub, or of its target (NAME.kcp).
    #[arg(long, visible_alias = "workload-cluster-name", value_name = "NAME")]
    pub target: String,
    /// The resources to sync, such as configmaps,deployments.apps; by default all resources that the hub
    /// serves.
    #[arg(long, value_delimiter = ',', value_name = "RESOURCE")]
    pub resources: Vec<String>,
    /// The uid of an earlier registration of this WorkloadCluster, whose copies the syncer takes over. Copies
    /// of a WorkloadCluster with this name on this hub are taken over without the flag.
    #[arg(long, value_delimiter = ',', value_name = "UID")]
    pub adopt: Vec<String>,
    /// Time after which a copy of an earlier registration is removed if the hub does not show the copied
    /// object (such as 5m).
    #[arg(long, default_value = "5m", value_parser = berth_apimachinery::duration::parse_unsigned)]
    pub remove_leftovers_after: Duration,
    /// Interval at which the syncer sends a heartbeat to the hub (such as 20s), at least 1s.
    #[arg(long, default_value = "20s", value_parser = berth_apimachinery::duration::parse_unsigned)]
    pub heartbeat_interval: Duration,
}

/// Syncs until a termination signal.
///
/// # Errors
/// When a kubeconfig cannot be used, the server in --from-kubeconfig is the API endpoint of another target,
/// signals cannot be listened to, or a step panicked. The syncer waits for a server that does not answer.
pub async fn run(args: SyncerArgs) -> Result<()> {
    let ends = Connections::connect(&args).await?;
    let stop = CancellationToken::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop_on_signal = stop.clone();
    let signal_task = tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop_on_signal.cancel();
    });
    let result = sync(&args, &ends, &stop).await;
    signal_task.abort();
    result
}

/// Runs one session after the other, until `stop` is cancelled.
async fn sync(args: &SyncerArgs, ends: &Connections, stop: &CancellationToken) -> Result<()> {
    let mut pause = MIN_PAUSE;
    while !stop.is_cancelled() {
        let session = tokio::select! {
            () = stop.cancelled() => break,
            session = Session::begin(args, ends) => session,
        };
        match session {
            Ok(session) => {
                pause = MIN_PAUSE;
                // A closed output does not matter.
                writeln!(
                    std::io::stdout(),
                    "syncing {} to the cluster of {}",
                    session.resource_names(),
                    ends.target
                )
                .unwrap_or_default();
                match session.run(stop).await.context("syncing")? {
                    EndReason::Stopped => break,
                    EndReason::Changed(what) => tracing::info!(what, "starting over"),
                }
            }
            Err(problem) => {
                tracing::warn!(
                    problem = format!("{problem:#}"),
                    "cannot read from the hub; retrying"
                );
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(MAX_PAUSE);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod testing;
