//! `berth compare`: does Berth decide as the scheduler did? It reads the present placements, decides
//! every request by itself from that state, and compares the two (docs/try-on-your-hub.md).

mod print;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};
use berth_apimachinery::selector::Selector;
use berth_apimachinery::{Clock, Timestamp};
use berth_apiserver::SystemClock;
use berth_client::Client;
use berth_dialect_contract::amounts::AmountChange;
use berth_dialect_contract::{Dialect, names};
use berth_engine::Simulation;
use berth_engine::agreement::{self, Agreement, GRACE, Unknown};
use berth_engine::simulate::{Aside, DemandOutcome, Fault, Terms};
use berth_scheduling_api::API_VERSION;
use berth_scheduling_api::decision::ContestedCluster;
use serde::Serialize;

use crate::args::{CompareOutput, CompareQuestion, ConnectionArgs};
use crate::reading::{ReadResult, Scope};
use crate::simulate::demand_filter::DemandFilter;
use crate::simulate::{By, DONE, MALFORMED, SET_ASIDE, UNPLACED, load};

/// Highest number of clusters that each list of an entry names. The counts are of all clusters.
const CLUSTERS_LIMIT: usize = 50;

/// Reads, compares and prints. All problems of the input go to standard error. The exit code is 1 for
/// different decisions if the question requests this, 2 for an unreadable file, and 3 if objects were set
/// aside.
///
/// # Errors
/// When no server answers, or a dialect is at fault.
pub async fn run(question: &CompareQuestion, connection: &ConnectionArgs) -> Result<ExitCode> {
    let now = question.at.unwrap_or_else(|| SystemClock.now());
    let reading = match question.filename.is_empty() {
        false => None,
        true => {
            let scope = Scope {
                systems: None,
                namespace: connection.namespace.clone(),
            };
            Some(read(&connection.client().await?, &scope).await?)
        }
    };
    let inputs = reading.into_iter().flat_map(ReadResult::inputs);
    let by = By {
        config: &question.config,
        rules: question.rules,
        now,
    };
    let mut loaded = match load(&question.filename, &by, false, inputs) {
        Ok(loaded) => loaded,
        Err(problems) => {
            for problem in problems {
                crate::say_error!("error: {problem}");
            }
            return Ok(ExitCode::from(MALFORMED));
        }
    };
    let subject = Subject {
        filter: DemandFilter::Within(connection.namespace.as_deref()),
        selector: &Selector::default(),
        grace: question.agreement_grace_period,
    };
    let comparison = Comparison::of(&mut loaded.simulation, &subject, question.only_different, now)?;
    let is_read = print::to_stdout(&comparison, question.output)?;
    Ok(ExitCode::from(match is_read {
        true if !loaded.whole => SET_ASIDE,
        true if comparison.counts.different > 0 && question.exit_code => UNPLACED,
        _ => DONE,
    }))
}

/// Compares the placements of `system` with Berth's decisions by `config`, for the requests that
/// `selector` matches. Prints the requests that differ or cannot be compared, and returns the number of
/// differences.
///
/// # Errors
/// When no server answers, a configuration is malformed, or a dialect is at fault.
pub async fn print_system(
    client: &Client,
    system: &str,
    selector: &Selector,
    config: &[PathBuf],
) -> Result<usize> {
    let now = SystemClock.now();
    let scope = Scope {
        systems: Some(BTreeSet::from([system.to_owned()])),
        namespace: None,
    };
    let reading = read(client, &scope).await?;
    let by = By {
        config,
        rules: None,
        now,
    };
    let loaded = load(&[], &by, false, reading.inputs());
    let mut simulation = loaded
        .map_err(|problems| anyhow!(problems.join("\n")))?
        .simulation;
    let subject = Subject {
        filter: DemandFilter::Within(None),
        selector,
        grace: GRACE,
    };
    let comparison = Comparison::of(&mut simulation, &subject, true, now)?;
    print::to_stdout(&comparison, CompareOutput::Table)?;
    Ok(comparison.counts.different)
}

/// Reads the objects of a hub, and reports their number.
async fn read(client: &Client, scope: &Scope) -> Result<ReadResult> {
    let reading = ReadResult::of(client, scope).await?;
    reading.tell(client).await?;
    Ok(reading)
}

/// Requests that are compared, and the time that the other scheduler has for each.
struct Subject<'a> {
    filter: DemandFilter<'a>,
    /// Labels of the requests.
    selector: &'a Selector,
    /// Least age at which a request can count as different.
    grace: Duration,
}

/// Comparison of present placements with decisions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Comparison {
    api_version: &'static str,
    kind: &'static str,
    /// Counts of all requests, including requests that are not listed.
    counts: Counts,
    /// Counts of all requests by system, including requests that are not listed.
    systems: BTreeMap<&'static str, Counts>,
    /// The requests by system, namespace and name.
    items: Vec<Entry>,
}

impl Default for Comparison {
    fn default() -> Self {
        Self {
            api_version: API_VERSION,
            kind: "DecisionComparison",
            counts: Counts::default(),
            systems: BTreeMap::new(),
            items: Vec::new(),
        }
    }
}

impl Comparison {
    /// Decides each request of `subject` by itself at `now`, and compares.
    ///
    /// # Errors
    /// When a dialect is at fault.
    fn of(
        simulation: &mut Simulation,
        subject: &Subject<'_>,
        only_different: bool,
        now: Timestamp,
    ) -> Result<Self, Fault> {
        let terms = Terms {
            now,
            seed: None,
            independent: true,
        };
        let filter = &subject.filter;
        let choose =
            |dialect: &dyn Dialect, demand: &berth_apimachinery::Key| filter.accepts(dialect, demand);
        let mut comparison = Self::default();
        simulation.run(&terms, choose, |outcome| -> Result<(), Fault> {
            let is_selected = subject.selector.matches(outcome.object.meta().labels());
            let entry = is_selected.then(|| Entry::of(outcome, subject.grace, now));
            if let Some(entry) = entry.flatten() {
                comparison.take(entry, only_different);
            }
            Ok(())
        })?;
        comparison.take_aside(simulation, subject);
        Ok(comparison)
    }

    fn take(&mut self, entry: Entry, only_different: bool) {
        let of_system = self.systems.entry(entry.system).or_default();
        for counts in [&mut self.counts, of_system] {
            match entry.agreement {
                Agreement::Same => counts.same += 1,
                Agreement::Unknown(_) => counts.unknown += 1,
                Agreement::Different(_) => counts.different += 1,
            }
        }
        if entry.agreement != Agreement::Same || !only_different {
            self.items.push(entry);
        }
    }

    /// Adds the requests of `subject` that were set aside: their comparison is unknown.
    fn take_aside(&mut self, simulation: &Simulation, subject: &Subject<'_>) {
        let aside = simulation.aside().iter();
        let is_asked = |aside: &&Aside| {
            subject.filter.accepts(&*aside.dialect, &aside.demand)
                && subject.selector.matches_with(|key| aside.labels[key].as_str())
        };
        for aside in aside.filter(is_asked) {
            self.take(Entry::aside(aside), false);
        }
        let sort_key = |entry: &Entry| (entry.system, entry.namespace.clone(), entry.name.clone());
        self.items.sort_by_cached_key(sort_key);
    }
}

/// Numbers of requests by agreement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    /// Number of requests with the same clusters.
    same: usize,
    /// Number of requests with different clusters.
    different: usize,
    /// Number of requests that cannot be compared.
    unknown: usize,
}

/// One request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    system: &'static str,
    kind: &'static str,
    /// Namespace of the Decision; empty for a ClusterDecision.
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    /// The name of the Decision.
    name: String,
    verdict: &'static str,
    #[serde(skip)]
    agreement: Agreement,
    /// Number of clusters that the request has.
    placed: usize,
    /// Number of clusters that the request would have.
    would_have: usize,
    /// Message of the decision if the clusters are the same, otherwise the sentence of the condition Agrees;
    /// for a request that was set aside, its problem.
    message: String,
    /// The clusters that the request has and would not get; at most [`CLUSTERS_LIMIT`].
    losses: Vec<ContestedCluster>,
    loss_count: usize,
    /// The clusters that the request would get and does not have; at most [`CLUSTERS_LIMIT`].
    gains: Vec<ContestedCluster>,
    gain_count: usize,
    /// The clusters that the request has and would keep with another amount; at most [`CLUSTERS_LIMIT`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resizes: Vec<AmountChange>,
    /// Behaviour of the system's own scheduler that is known to differ here.
    #[serde(skip_serializing_if = "Option::is_none")]
    known_difference: Option<&'static str>,
}

impl Entry {
    /// The entry of a decided demand; `None` if the demand does not exist any more.
    fn of(outcome: &DemandOutcome<'_>, grace: Duration, now: Timestamp) -> Option<Self> {
        let (snapshot, decision) = (outcome.snapshot, outcome.decision);
        let view = snapshot.inventory.demand(&decision.demand, now)?;
        let created = outcome.object.meta().creation_timestamp();
        let comparison = agreement::Comparison::of(snapshot, decision, &view, CLUSTERS_LIMIT);
        let comparison = comparison.within(created, grace, now);
        let (namespace, name) = names::place(&*snapshot.dialect, &decision.demand);
        Some(Self {
            system: snapshot.dialect.name(),
            kind: outcome.kind,
            namespace,
            name,
            verdict: verdict(comparison.agreement),
            agreement: comparison.agreement,
            placed: comparison.placed,
            would_have: comparison.would_have,
            message: match comparison.agreement {
                Agreement::Same => comparison.message.clone(),
                Agreement::Different(_) | Agreement::Unknown(_) => comparison.sentence(),
            },
            losses: comparison.losses,
            loss_count: comparison.loss_count,
            gains: comparison.gains,
            gain_count: comparison.gain_count,
            resizes: comparison.resizes,
            known_difference: comparison.known_difference,
        })
    }
}

impl Entry {
    /// The entry of a request that was set aside, since no server would accept it.
    fn aside(aside: &Aside) -> Self {
        let (namespace, name) = aside.place();
        let agreement = Agreement::Unknown(Unknown::Invalid);
        Self {
            system: aside.dialect.name(),
            kind: aside.kind,
            namespace,
            name,
            verdict: verdict(agreement),
            agreement,
            placed: 0,
            would_have: 0,
            message: aside.message(),
            losses: Vec::new(),
            loss_count: 0,
            gains: Vec::new(),
            gain_count: 0,
            resizes: Vec::new(),
            known_difference: None,
        }
    }
}

/// The printed verdict.
fn verdict(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Same => "Same",
        Agreement::Different(verdict) => verdict.as_str(),
        Agreement::Unknown(_) => "Unknown",
    }
}

#[cfg(test)]
mod tests;
