//! Commands without a server of Berth: the systems' objects are read from a hub or from files, and this
//! process serves decisions about them as a server with these objects would (docs/try-on-your-hub.md).
//! Nothing is written to the hub.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use berth_apimachinery::{Clock, Key, Object, Timestamp};
use berth_apiserver::SystemClock;
use berth_client::Client;
use berth_commands::args::{ConnectionArgs, FilesArgs, Origin, OriginArgs, ServerArgs};
use berth_commands::catalog::catalog;
use berth_commands::reading::{self, Kinds, ReadResult, ReadSummary, Scope};
use berth_commands::source::Source;
use berth_commands::why::{cluster, places};
use berth_console::{Console, ConsoleArgs};
use berth_dialect_contract::names;
use berth_dialect_contract::rules::RulesChoice;
use berth_engine::Simulation;
use berth_engine::simulate::{Input, Problem};
use berth_scheduling_api::API_VERSION;
use http::Method;
use serde_json::json;

use crate::serve::{InMemory, Settings};
use crate::{folder, readable};

/// Subject of a command, which determines the objects to read from a hub.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One decision or one cluster, named by the words of the command line.
    Decision(&'a [String]),
    /// All decisions.
    Everything,
}

/// Opens the source of answers: the server, or this process with the objects that it reads from a hub or from
/// files.
///
/// # Errors
/// When no server answers, the objects cannot be read, or the words do not name a placeable object.
pub async fn open(connection: &ConnectionArgs, origin: &OriginArgs, subject: Subject<'_>) -> Result<Source> {
    if let Some(Origin::Files(path)) = &origin.from {
        let namespace = connection.namespace.as_deref().unwrap_or("default");
        return open_files(path.clone(), namespace, origin.rules).await;
    }
    let client = connection.client().await?;
    let namespace = connection.namespace(&client).to_owned();
    if uses_server(&client, origin).await? {
        origin.check_for_server()?;
        return Ok(Source::server(client, namespace));
    }
    let scope = match subject {
        Subject::Everything => Scope::default(),
        Subject::Decision(words) => {
            let dialects = berth_dialect_registry::all();
            let catalog = catalog(&dialects);
            match cluster::cluster_question(words, &dialects, &catalog) {
                // Requests that are on the cluster, or could use it, may be in any namespace.
                Some(question) => Scope {
                    systems: Some(question.systems.into_iter().map(str::to_owned).collect()),
                    namespace: None,
                },
                None => Scope {
                    systems: Some(systems(words, &namespace)?),
                    namespace: Some(
                        places::within(words, &dialects, &catalog)
                            .unwrap_or(&namespace)
                            .to_owned(),
                    ),
                },
            }
        }
    };
    let in_memory = serve_hub(&client, &scope, origin.rules).await?;
    Ok(Source::within(
        Client::new(in_memory.client()),
        namespace,
        in_memory,
    ))
}

/// Whether the server of Berth is used: as `origin` states, or if `origin` states nothing, whether Berth's
/// API is registered.
///
/// # Errors
/// When no server answers.
pub async fn uses_server(client: &Client, origin: &OriginArgs) -> Result<bool> {
    match origin.from {
        Some(Origin::Server) => return Ok(true),
        Some(_) => return Ok(false),
        None => {}
    }
    let path = format!("/apis/{API_VERSION}");
    // A registered API that does not answer has another status than 404. In this case, reading the hub would
    // hide the problem.
    let answer = client.send(Method::GET, &path, None).await?;
    Ok(!answer.is_err_and(|status| status.code == 404))
}

/// Reads the objects of a hub, reports their number on standard error, and serves them.
async fn serve_hub(client: &Client, scope: &Scope, rules: Option<RulesChoice>) -> Result<InMemory> {
    let reading = ReadResult::of(client, scope).await?;
    reading.print_summary(client).await?;
    reading.check_not_refused()?;
    let now = SystemClock.now();
    // Objects are validated on this thread, since the allocator of another thread would keep the memory that
    // only the validation needs.
    let (objects, problems) = tokio::task::block_in_place(move || validate(reading.inputs(), now));
    reading::print_problems(&problems);
    let settings = Settings {
        configurations: &[],
        rules,
        is_of_hub: true,
    };
    InMemory::serve(objects, settings, now).await
}

/// Runs `berth console` for a server, or for a hub without a server of Berth, whose objects are watched.
///
/// # Errors
/// When the console cannot start, or a listener fails.
pub async fn console(args: ConsoleArgs, origin: &OriginArgs) -> Result<()> {
    let server = ServerArgs {
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
    };
    let client = server.client().await?;
    // If the server does not answer, the page reports this and tries again.
    if uses_server(&client, origin).await.unwrap_or(true) {
        origin.check_for_server()?;
        return berth_console::run(args, readable::groups()).await;
    }
    if args.page.allow_writes {
        bail!(
            "--allow-writes: the console cannot write here, since the hub is only read (--from=hub, or Berth is not installed); \
             omit --allow-writes"
        );
    }
    let context = match args.context {
        Some(context) => Some(context),
        None => berth_client::kubeconfig(args.kubeconfig.as_deref())?.current_context,
    };
    let in_memory = watch_hub(&client, origin.rules).await?;
    let about = json!({
        "context": context,
        "server": format!("{}, without Berth: its objects are read and decided here", client.url()),
        "namespace": client.namespace(),
        "writes": false,
    });
    let console = Console::with_client(&args.page, readable::groups(), in_memory.client(), about)
        .await
        .context("starting the console")?;
    let notice = "This address shows what your kubeconfig may read, as it changes. Ctrl-C ends it.";
    console.until_ctrl_c(&args.page, notice).await
}

/// Watches the objects of a hub that its schedulers read, reports their number on standard error, and
/// serves them.
///
/// # Errors
/// When no server answers, it fails or has none of the systems, or the user may list none of the kinds.
async fn watch_hub(client: &Client, rules: Option<RulesChoice>) -> Result<InMemory> {
    let hub_kinds = Kinds::of(client, &Scope::default()).await?;
    let (kinds, gaps) = hub_kinds.readable(client).await?;
    let (in_memory, counts) = InMemory::follow(&client.connection(), &kinds, rules).await?;
    let summary = ReadSummary {
        verb: "follows",
        objects: counts.values().sum(),
        kinds: counts.values().filter(|count| **count > 0).count(),
        systems: &hub_kinds.systems,
        gaps: &gaps,
    };
    summary.print(client).await?;
    reading::check_not_refused(kinds.len(), &hub_kinds.systems, &gaps)?;
    Ok(in_memory)
}

/// Opens the files at `path` as the source of answers.
async fn open_files(path: PathBuf, namespace: &str, rules: Option<RulesChoice>) -> Result<Source> {
    let now = SystemClock.now();
    let files = FilesArgs {
        filename: vec![path],
        ..FilesArgs::default()
    };
    let objects = match folder::read_objects(&files, now) {
        Ok(objects) => objects,
        Err(problems) => bail!("{}", problems.join("\n")),
    };
    let settings = Settings {
        configurations: &[],
        rules,
        is_of_hub: false,
    };
    let in_memory = InMemory::serve(objects, settings, now).await?;
    Ok(Source::within(
        Client::new(in_memory.client()),
        namespace,
        in_memory,
    ))
}

/// Validates objects as `berth simulate` does, so that both commands give equal answers about a hub. Returns
/// the accepted objects in their stored form, and all problems.
fn validate(
    inputs: impl IntoIterator<Item = Input>,
    now: Timestamp,
) -> (Vec<(Key, Arc<Object>)>, Vec<Problem>) {
    let dialects = berth_dialect_registry::all();
    let simulation = Simulation::load(&dialects, &catalog(&dialects), Vec::new(), inputs, now);
    let problems = simulation.findings().problems.clone();
    (simulation.into_objects(), problems)
}

/// The systems whose objects `words` may name.
fn systems(words: &[String], namespace: &str) -> Result<BTreeSet<String>> {
    let dialects = berth_dialect_registry::all();
    let catalog = catalog(&dialects);
    let places = places::places(words, namespace, &dialects, &catalog);
    let places = places.map_err(|problem| anyhow!("{problem}"))?;
    let names_and_systems = places.iter().filter_map(|place| names::split(&place.name));
    Ok(names_and_systems.map(|(_, system)| system.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_berth_would_refuse_is_in_the_world_of_why_as_in_that_of_simulate() {
        // Another server accepted a set whose selector is invalid. Requests that name the set depend on it
        // all the same.
        let expression = json!({"key": "a", "operator": "Like", "values": ["b"]});
        let refused = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": {"name": "odd", "uid": "1", "resourceVersion": "1"},
            "spec": {"clusterSelector": {
                "selectorType": "LabelSelector", "labelSelector": {"matchExpressions": [expression]},
            }},
        });
        let input = Input {
            at: "managedclustersets.cluster.open-cluster-management.io odd".to_owned(),
            value: refused,
            duplicates: Vec::new(),
        };
        let (objects, problems) = validate([input], SystemClock.now());
        let names: Vec<&str> = objects.iter().map(|(key, _)| &*key.name).collect();
        assert!(names.contains(&"odd"), "{names:?}");
        assert!(!problems.is_empty(), "and what is wrong is told");
    }

    #[test]
    fn only_the_systems_that_are_asked_about_are_read() {
        let of = |word: &str| {
            let found = systems(&[word.to_owned()], "team").unwrap();
            found.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of("placement/web"), ["ocm"]);
        assert_eq!(of("web.gardener"), ["gardener"]);
        assert_eq!(of("web").len(), berth_dialect_registry::all().len());
        assert!(systems(&["resourcequota/web".to_owned()], "team").is_err());
    }
}
