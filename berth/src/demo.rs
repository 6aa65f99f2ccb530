//! `berth demo`: a standalone server with each system's example fleet loaded, decided and explained.
//!
//! The demo sends the requests that `kubectl` would send, over TLS, as the admin. At the end, decisions
//! change without a Binding: a cluster is lost, and another is evicted.

mod examples;
mod heartbeats;
mod live;
mod story;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use berth_apimachinery::Clock;
use berth_apiserver::SystemClock;
use berth_client::Client;
use berth_commands::terminal::{dim, heading};
use berth_console::{Console, ConsoleArgs};
use berth_dialect_registry::ActorArgs;

use crate::cli::DemoArgs;
use crate::readable;
use crate::serve::{BerthServer, Options, Signals};
use live::LiveStory;

/// Starts a server, plays the story, then serves until a termination signal, or ends with `--exit`.
///
/// # Errors
/// When the server cannot start, or a step of the story fails.
pub async fn run(args: DemoArgs) -> Result<()> {
    let temporary = match &args.data_dir {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix("berth-demo-")
                // The folder has the keys of the demo's users.
                .permissions(Permissions::from_mode(0o700))
                .tempdir()
                .context("creating a data folder")?,
        ),
    };
    let data_dir: PathBuf = match (&args.data_dir, &temporary) {
        (Some(folder), _) => folder.clone(),
        (None, Some(folder)) => folder.path().to_owned(),
        (None, None) => unreachable!("a data folder is given or temporary"),
    };
    let mut options = Options::demo(&data_dir, args.secure_port)?;
    // All systems share the server: kcp must not place the namespaces of the other examples.
    options.args.actors = ActorArgs::placing_labelled_namespaces();
    let running = BerthServer::start(options).await?;
    let kubeconfig = running.kubeconfig().to_owned();
    let mut client = Client::from_kubeconfig(&kubeconfig).await?;
    // The story loads the clusters of the examples. Their agents do not run here, so the demo sends their
    // heartbeats.
    let heartbeat_client = Client::from_kubeconfig(&kubeconfig).await?;
    let heartbeats = tokio::spawn(heartbeats::send(
        heartbeat_client,
        heartbeats::of_live_clusters(SystemClock.now())?,
    ));
    // The handlers are installed first, so that the folder with the keys is removed whenever the demo ends.
    let mut signals = Signals::listen()?;
    let outcome = tokio::select! {
        outcome = play_story(&mut client, &kubeconfig) => outcome,
        () = signals.next() => Err(anyhow!("the demo was interrupted")),
    };
    if outcome.is_ok() && !args.exit {
        let console = start_console(&kubeconfig).await?;
        berth_commands::say!(
            "{}",
            next_commands(&kubeconfig.display().to_string(), &console.url())
        );
        // The console ends with the demo.
        let console_task = tokio::spawn(console.serve());
        let result = running.until_signal(signals).await;
        heartbeats.abort();
        console_task.abort();
        result?;
    } else {
        heartbeats.abort();
        running.stop().await?;
    }
    outcome
}

async fn play_story(client: &mut Client, kubeconfig: &Path) -> Result<()> {
    // Each example begins at the present time, since the earlier examples take a while on a slow machine.
    let now = || SystemClock.now();
    berth_commands::say!("{}\n", heading("Which cluster does this go to, and why?"));
    story::openmcp(client, now()).await?;
    story::fleet(client, now()).await?;
    story::gardener(client, now()).await?;
    story::ocm(client, now()).await?;
    story::karmada(client, now()).await?;
    story::kcp(client, now()).await?;
    story::publish(client, now()).await?;
    let mut live = LiveStory::new(client, kubeconfig).await?;
    live.disaster().await?;
    live.eviction(now()).await
}

/// A console for the server of `kubeconfig` that cannot write.
async fn start_console(kubeconfig: &Path) -> Result<Console> {
    let args = ConsoleArgs {
        kubeconfig: Some(kubeconfig.to_owned()),
        ..ConsoleArgs::default()
    };
    Console::start(&args, readable::groups()).await
}

/// Text with commands to try next.
fn next_commands(kubeconfig: &str, console: &str) -> String {
    let hint = |text: &str, description: &str| format!("  {text}\n      {}\n", dim(description));
    let mut text = format!(
        "{}\n\n  {console}\n      {}\n\n  export KUBECONFIG={kubeconfig}\n\n",
        heading("The server is running. Explore it:"),
        dim("all of it in a browser; with a server of yours: berth console")
    );
    for (command, description) in [
        (
            "berth why placement/placement -n story-2",
            "which clusters, and why not the others",
        ),
        (
            "kubectl get targets",
            "every cluster of every system, with readiness and capacity",
        ),
        (
            "kubectl get decisions -A -o wide",
            "every placeable object and where it is bound",
        ),
        (
            "kubectl -n story-2 get decision placement.ocm --subresource=scheduling",
            "every candidate of a decision, with score and reasons",
        ),
        (
            "kubectl -n garden-dev get candidates --field-selector decision=overlap.gardener",
            "why each seed was refused",
        ),
        (
            "kubectl -n story-1 get placementdecisions -o yaml",
            "the system's own objects, as its controllers read them",
        ),
        (
            "kubectl get clusterprofiles.multicluster.x-k8s.io,placementdecisions.multicluster.x-k8s.io -A",
            "the same clusters and decisions as tools of other vendors read them",
        ),
        (
            "kubectl explain placements.spec.prioritizerPolicy",
            "what the fields mean",
        ),
    ] {
        text.push_str(&hint(command, description));
    }
    text.push_str("\nCtrl-C ends the server.");
    text
}
