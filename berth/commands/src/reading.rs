//! Reading of the objects for decisions from a server or a hub, with the user's rights. Nothing is written,
//! and no component has to be installed there (docs/try-on-your-hub.md).
//!
//! Each dialect names the kinds that its decisions read, whether they read objects of other namespaces, and
//! the effect of objects that cannot be read ([`berth_dialect_contract::Reach`]).

mod list;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use berth_apimachinery::{GroupResource, Kind};
use berth_client::Client;
use berth_dialect_contract::{Dialect, Reach, config};
use berth_engine::Catalog;
use berth_engine::simulate::{Input, Problem};
use futures::future::try_join_all;
use http::Method;
use serde_json::Value;

use crate::catalog::catalog;
use crate::terminal::shown;
use list::Answer;
pub use list::Objects;

/// Systems and namespace of the decisions for which objects are read.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The systems, by name; `None` means all systems that the server has.
    pub systems: Option<BTreeSet<String>>,
    /// Namespace of the decisions: only objects that affect these decisions are read. `None` means all
    /// objects.
    pub namespace: Option<String>,
}

/// The objects of one kind that were read.
pub struct KindObjects {
    /// Name of the resource, such as `placements.cluster.open-cluster-management.io`.
    pub name: String,
    /// The objects.
    pub objects: Objects,
}

/// Objects of one kind that could not be read, and the consequence for decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Name of the resource, such as `placements.cluster.open-cluster-management.io`.
    pub name: String,
    /// The only namespace whose objects were read; `None` if no object of the kind was read.
    pub only_namespace: Option<String>,
    /// The reason, in the server's words.
    pub message: String,
    /// Clause about decisions without these objects.
    pub consequence: &'static str,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            message, consequence, ..
        } = self;
        match &self.only_namespace {
            None => write!(f, "{message}; without them {consequence}"),
            Some(namespace) => {
                write!(
                    f,
                    "{message}; only those of namespace {namespace} were read, without the others {consequence}"
                )
            }
        }
    }
}

/// Kinds of a server that the decisions of systems read.
pub struct Kinds {
    /// The requested systems whose API groups the server has.
    pub systems: Vec<&'static str>,
    /// Each kind, with the extent in which decisions read its objects.
    all: Vec<(Arc<dyn Kind>, Reach)>,
}

impl Kinds {
    /// Finds the kinds that the systems of `scope` read, among the kinds of the server.
    ///
    /// # Errors
    /// When no server answers, or it has none of the systems.
    pub async fn of(client: &Client, scope: &Scope) -> Result<Self> {
        let dialects = berth_dialect_registry::all();
        let catalog = catalog(&dialects);
        let groups = groups(client).await?;
        let is_there = |group: &str| {
            let groups = groups.as_ref();
            group.is_empty() || groups.is_none_or(|groups| groups.contains(group))
        };
        let selected: Vec<&Arc<dyn Dialect>> = dialects
            .iter()
            .filter(|dialect| is_there(dialect.target().group))
            .filter(|dialect| {
                let systems = scope.systems.as_ref();
                systems.is_none_or(|systems| systems.contains(dialect.name()))
            })
            .collect();
        if selected.is_empty() {
            let names = dialects.iter().map(|dialect| dialect.name());
            let names: Vec<&str> = match &scope.systems {
                Some(systems) => systems.iter().map(String::as_str).collect(),
                None => names.collect(),
            };
            bail!(
                "{} has no API of {}: check the context of the kubeconfig",
                client.url(),
                names.join(", ")
            );
        }
        let reaches = reaches(&selected).into_iter();
        let present = reaches.filter(|(resource, _)| is_there(resource.group));
        Ok(Self {
            systems: selected.iter().map(|dialect| dialect.name()).collect(),
            all: present
                .filter_map(|(resource, reach)| Some((kind_of(&catalog, resource)?, reach)))
                .collect(),
        })
    }

    /// Returns the kinds that the caller may list, and a gap for each other kind.
    ///
    /// # Errors
    /// When no server answers, or it fails.
    pub async fn readable(&self, client: &Client) -> Result<(Vec<Arc<dyn Kind>>, Vec<Gap>)> {
        let requests = self.all.iter().map(|(kind, _)| list::refusal(client, &**kind));
        let refusals = try_join_all(requests).await?;
        let (mut kinds, mut gaps) = (Vec::new(), Vec::new());
        for ((kind, reach), refusal) in self.all.iter().zip(refusals) {
            match refusal {
                None => kinds.push(Arc::clone(kind)),
                Some(message) => gaps.push(Gap {
                    name: kind.info().resource().to_string(),
                    only_namespace: None,
                    message,
                    consequence: reach.without,
                }),
            }
        }
        Ok((kinds, gaps))
    }
}

/// Summary of the objects that were read from a server or hub.
pub struct ReadSummary<'a> {
    /// First word of the summary: `read`, or `follows` if the objects are watched.
    pub verb: &'static str,
    /// Number of objects.
    pub objects: usize,
    /// Number of kinds with objects.
    pub kinds: usize,
    /// The systems whose decisions read the objects.
    pub systems: &'a [&'static str],
    /// Objects that could not be read, by kind.
    pub gaps: &'a [Gap],
}

impl ReadSummary<'_> {
    /// Prints the number of objects, the server, the user and the unreadable kinds on standard error.
    ///
    /// # Errors
    /// When the server no longer answers.
    pub async fn print(&self, client: &Client) -> Result<()> {
        let user = client
            .user()
            .await?
            .unwrap_or_else(|| "the user of the kubeconfig".to_owned());
        crate::say_error!(
            "{} {} objects of {} kinds of {} at {} as {user}; decided in this process, nothing is written",
            self.verb,
            self.objects,
            self.kinds,
            joined(self.systems),
            client.url(),
        );
        for gap in self.gaps {
            crate::say_error!("note: left out: {}", shown(&gap.to_string()));
        }
        Ok(())
    }
}

/// Objects that were read from a server or a hub.
pub struct ReadResult {
    /// The requested systems whose API groups the server has.
    pub systems: Vec<&'static str>,
    /// Objects of each kind, including kinds without objects, ordered by name.
    pub kinds: Vec<KindObjects>,
    /// Objects that could not be read, by kind.
    pub gaps: Vec<Gap>,
}

impl ReadResult {
    /// Reads the objects of `scope`.
    ///
    /// # Errors
    /// When no server answers, it fails, or it has none of the systems.
    pub async fn of(client: &Client, scope: &Scope) -> Result<Self> {
        let Kinds { systems, all } = Kinds::of(client, scope).await?;
        let mut reading = Self {
            systems,
            kinds: Vec::new(),
            gaps: Vec::new(),
        };
        let progress = Progress::start();
        for (kind, reach) in all {
            progress.print(reading.count(), &*kind);
            reading
                .read_kind(client, &*kind, reach, scope.namespace.as_deref())
                .await?;
        }
        reading.kinds.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(reading)
    }

    /// Checks that something was read: an answer without any object says nothing about the server.
    ///
    /// # Errors
    /// When no object was read, and the caller may not list all kinds.
    pub fn check_not_refused(&self) -> Result<()> {
        check_not_refused(self.count(), &self.systems, &self.gaps)
    }

    /// Number of objects that were read.
    #[must_use]
    pub fn count(&self) -> usize {
        self.kinds.iter().map(|kind| kind.objects.len()).sum()
    }

    /// Names of the systems for a sentence, such as `fleet and ocm`.
    #[must_use]
    pub fn named_systems(&self) -> String {
        joined(&self.systems)
    }

    /// Converts the objects to inputs of a simulation.
    pub fn inputs(self) -> impl Iterator<Item = Input> {
        let kinds = self.kinds.into_iter();
        kinds.flat_map(|kind| {
            let KindObjects { name, objects } = kind;
            objects.into_values().map(move |object| Input {
                at: place(&name, &object),
                value: object,
                duplicates: Vec::new(),
            })
        })
    }

    /// Prints the number of objects, the server, the user and the unreadable kinds on standard error.
    ///
    /// # Errors
    /// When the server no longer answers.
    pub async fn print_summary(&self, client: &Client) -> Result<()> {
        let kinds = self.kinds.iter().filter(|kind| !kind.objects.is_empty());
        let summary = ReadSummary {
            verb: "read",
            objects: self.count(),
            kinds: kinds.count(),
            systems: &self.systems,
            gaps: &self.gaps,
        };
        summary.print(client).await
    }

    /// Reads the objects of one kind, and adds them; adds a gap for objects that the caller may not read.
    async fn read_kind(
        &mut self,
        client: &Client,
        kind: &dyn Kind,
        reach: Reach,
        namespace: Option<&str>,
    ) -> Result<()> {
        let name = kind.info().resource().to_string();
        let namespace = namespace.filter(|_| kind.info().namespaced());
        let first = namespace.filter(|_| !reach.elsewhere);
        let mut objects = Objects::default();
        match list::of(client, kind, first, reach.labels).await? {
            Answer::Objects(all) => objects = all,
            Answer::Refused(message) => {
                // The user may have the right to read this namespace, but not all namespaces.
                let of_namespace = match (first, namespace) {
                    (None, Some(own)) => Some((own, list::of(client, kind, Some(own), reach.labels).await?)),
                    _ => None,
                };
                let only_namespace = match of_namespace {
                    Some((own, Answer::Objects(all))) => {
                        objects = all;
                        Some(own.to_owned())
                    }
                    _ => None,
                };
                self.gaps.push(Gap {
                    name: name.clone(),
                    only_namespace,
                    message,
                    consequence: reach.without,
                });
            }
        }
        self.kinds.push(KindObjects { name, objects });
        Ok(())
    }
}

/// Checks that there is something to decide by: `found` is the number of objects that were read, or of kinds
/// that are followed.
///
/// # Errors
/// When `found` is 0, and the caller may not list all kinds.
pub fn check_not_refused(found: usize, systems: &[&str], gaps: &[Gap]) -> Result<()> {
    if found == 0 && !gaps.is_empty() {
        bail!(
            "no objects that a scheduler of {} reads were found, and you may not list all of them",
            joined(systems)
        );
    }
    Ok(())
}

/// Joins names for a sentence: `ocm`, or `fleet and ocm`.
fn joined(systems: &[&str]) -> String {
    match systems {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Time after the start from which progress is printed.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

/// Progress of reading: the time of the start; `None` if standard error is no terminal, where no progress is
/// printed.
struct Progress(Option<Instant>);

impl Progress {
    fn start() -> Self {
        Self(io::stderr().is_terminal().then(Instant::now))
    }

    /// Prints that `count` objects were read, and that the objects of `kind` are next.
    fn print(&self, count: usize, kind: &dyn Kind) {
        if self.0.is_some_and(|started| started.elapsed() >= PROGRESS_DELAY) {
            crate::say_error!("{count} objects so far; reading {}", kind.info().resource());
        }
    }
}

/// Returns the place of an object for messages: the resource, and the name with the namespace.
fn place(resource: &str, object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    match (text("namespace"), text("name")) {
        ("", name) => format!("{resource} {name}"),
        (namespace, name) => format!("{resource} {namespace}/{name}"),
    }
}

/// Highest number of problems that are printed.
const PROBLEMS_LIMIT: usize = 5;

/// Prints the first of `problems` on standard error, and the number of the others.
pub fn print_problems(problems: &[Problem]) {
    for problem in problems.iter().take(PROBLEMS_LIMIT) {
        crate::say_error!("note: {}", shown(&problem.to_string()));
    }
    match problems.len().saturating_sub(PROBLEMS_LIMIT) {
        0 => {}
        more => crate::say_error!("note: {more} more problems; `berth simulate` lists all"),
    }
}

/// Returns the API groups that the server has; `None` if it does not list them.
async fn groups(client: &Client) -> Result<Option<BTreeSet<String>>> {
    let answer = client.send(Method::GET, "/apis", None).await?;
    Ok(answer.ok().map(|list| {
        let groups = list["groups"].as_array().into_iter().flatten();
        let names = groups.filter_map(|group| group["name"].as_str());
        names.map(str::to_owned).collect()
    }))
}

/// Returns each resource that `dialects` read, with the largest extent in which one of them reads it.
fn reaches(dialects: &[&Arc<dyn Dialect>]) -> BTreeMap<GroupResource, Reach> {
    let mut all: BTreeMap<GroupResource, Reach> = BTreeMap::new();
    for dialect in dialects {
        for resource in dialect.reads() {
            let reach = match resource {
                config::RESOURCE => Reach::everywhere("the default configuration is assumed"),
                other => dialect.reach(other),
            };
            let largest = all.entry(resource).or_insert(reach);
            largest.elsewhere |= reach.elsewhere;
            if largest.labels != reach.labels {
                largest.labels = "";
            }
        }
    }
    all
}

/// Returns the kind of `resource`, if exactly one kind of the catalog matches.
fn kind_of(catalog: &Catalog, resource: GroupResource) -> Option<Arc<dyn Kind>> {
    let mut kinds = catalog.named(&resource.to_string());
    kinds.retain(|kind| kind.info().resource() == resource);
    match kinds.as_slice() {
        [kind] => Some(Arc::clone(kind)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_scheduler_reads_has_a_kind_and_no_secret_is_among_it() {
        let dialects = berth_dialect_registry::all();
        let catalog = catalog(&dialects);
        let all = reaches(&dialects.iter().collect::<Vec<_>>());
        for resource in all.keys() {
            assert!(kind_of(&catalog, *resource).is_some(), "{resource}");
            assert_ne!(resource.resource, "secrets");
        }
        for name in [
            "seeds.core.gardener.cloud",
            "shoots.core.gardener.cloud",
            "managedclusters.cluster.open-cluster-management.io",
            "addonplacementscores.cluster.open-cluster-management.io",
            "memberclusters.cluster.kubernetes-fleet.io",
            "clusterrequests.clusters.openmcp.cloud",
            "namespaces",
            "schedulerconfigurations.config.berth.dev",
        ] {
            assert!(all.keys().any(|resource| resource.to_string() == name), "{name}");
        }
    }

    #[test]
    fn the_page_names_just_the_kinds_that_each_system_reads() {
        const PAGE: &str = include_str!("../../../docs/try-on-your-hub.md");
        let rows = PAGE
            .lines()
            .skip_while(|line| !line.starts_with("| system | kinds |"));
        let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
        let documented: BTreeSet<BTreeSet<String>> = rows
            .filter_map(|row| row.split('|').nth(2))
            .map(|kinds| kinds.split(',').map(|kind| kind.trim().to_owned()).collect())
            .collect();
        let dialects = berth_dialect_registry::all();
        let catalog = catalog(&dialects);
        let plural = |resource: &GroupResource| {
            let kind = kind_of(&catalog, *resource).unwrap();
            let kind = kind.info().kind;
            match (kind.strip_suffix('y'), kind.ends_with("ss")) {
                (Some(stem), _) => format!("{stem}ies"),
                (None, true) => format!("{kind}es"),
                (None, false) => format!("{kind}s"),
            }
        };
        let read = dialects.iter().map(|dialect| {
            let kinds = dialect.reads();
            let own = kinds.iter().filter(|resource| **resource != config::RESOURCE);
            own.map(plural).collect()
        });
        let every = BTreeSet::from([plural(&config::RESOURCE)]);
        assert_eq!(documented, read.chain([every]).collect());
    }

    #[test]
    fn nothing_that_may_not_be_read_is_no_empty_hub() {
        let of = |gaps: Vec<Gap>| ReadResult {
            systems: vec!["ocm"],
            kinds: Vec::new(),
            gaps,
        };
        assert!(of(Vec::new()).check_not_refused().is_ok());
        let problem = of(vec![gap()]).check_not_refused().unwrap_err().to_string();
        assert!(problem.ends_with("you may not list all of them"), "{problem}");
    }

    #[test]
    fn what_is_followed_is_at_least_one_kind_where_some_may_not_be_listed() {
        let check = |found: usize, gaps: &[Gap]| check_not_refused(found, &["fleet", "ocm"], gaps);
        assert!(check(0, &[]).is_ok(), "the hub has none of the kinds");
        assert!(check(1, &[gap()]).is_ok());
        let problem = check(0, &[gap()]).unwrap_err().to_string();
        assert!(
            problem.contains("a scheduler of fleet and ocm reads"),
            "{problem}"
        );
    }

    /// A kind that the caller may not list.
    fn gap() -> Gap {
        Gap {
            name: "placements.cluster.open-cluster-management.io".to_owned(),
            only_namespace: None,
            message: "placements is forbidden".to_owned(),
            consequence: "there are no requests",
        }
    }

    #[test]
    fn every_system_says_how_answers_are_without_what_it_reads() {
        for dialect in berth_dialect_registry::all() {
            for resource in dialect.reads() {
                if resource != config::RESOURCE {
                    let reach = dialect.reach(resource);
                    assert_ne!(reach, Reach::default(), "{} {resource}", dialect.name());
                }
            }
        }
    }

    #[test]
    fn decisions_of_a_namespace_look_at_what_others_take_of_the_clusters() {
        let dialects = berth_dialect_registry::all();
        let all = reaches(&dialects.iter().collect::<Vec<_>>());
        let elsewhere = |name: &str| {
            let found = all.iter().find(|(resource, _)| resource.resource == name);
            found.map(|(_, reach)| reach.elsewhere)
        };
        for name in ["placementdecisions", "addonplacementscores", "shoots", "clusters"] {
            assert_eq!(elsewhere(name), Some(true), "{name}");
        }
        for name in ["placements", "managedclustersetbindings", "clusterrequests"] {
            assert_eq!(elsewhere(name), Some(false), "{name}");
        }
    }
}
