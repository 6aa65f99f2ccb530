//! `berth compare`: does Berth decide as the other scheduler did? The command reads the present placements,
//! decides every request again from that state, and compares the clusters (docs/try-on-your-hub.md).

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
use berth_engine::agreement::{self, Agreement, GRACE, UnknownReason};
use berth_engine::simulate::{DemandOutcome, Fault, InvalidDemand, SimulationParameters};
use berth_scheduling_api::API_VERSION;
use berth_scheduling_api::decision::ContestedCluster;
use serde::Serialize;

use crate::args::{CompareOutput, CompareQuestion, ConnectionArgs};
use crate::reading::{ReadResult, Scope};
use crate::simulate::demand_filter::DemandFilter;
use crate::simulate::{DIFFERENT, DONE, LoadOptions, MALFORMED, SET_ASIDE, load};

/// Highest number of clusters in each list of an entry. The counts include all clusters.
const CLUSTERS_LIMIT: usize = 50;

/// Reads the placements, compares and prints. All problems of the input go to standard error. The exit code
/// is 2 for an unreadable file or a malformed configuration, 3 if objects were set aside, and 1 for different
/// decisions with `--exit-code`.
///
/// # Errors
/// When no server answers, nothing can be read from it, or a dialect is at fault.
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
    let options = LoadOptions {
        config: &question.config,
        rules: question.rules,
        now,
    };
    let mut loaded = match load(&question.filename, &options, false, inputs) {
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
    let was_read_to_end = print::to_stdout(&comparison, question.output)?;
    Ok(ExitCode::from(match was_read_to_end {
        // The reader, such as `head`, has seen enough.
        false => DONE,
        true if !loaded.is_complete => SET_ASIDE,
        true if comparison.counts.different > 0 && question.exit_code => DIFFERENT,
        true => DONE,
    }))
}

/// Compares the placements of `system` with Berth's decisions by `config`, for the requests that `selector`
/// matches. Prints the requests whose decisions differ or cannot be compared, and returns the number of
/// different decisions.
///
/// # Errors
/// When no server answers, nothing can be read from it, a configuration is malformed, or a dialect is at
/// fault.
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
    let options = LoadOptions {
        config,
        rules: None,
        now,
    };
    let loaded = load(&[], &options, false, reading.inputs());
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

/// Reads the objects of a hub, and prints their number on standard error.
async fn read(client: &Client, scope: &Scope) -> Result<ReadResult> {
    let reading = ReadResult::of(client, scope).await?;
    reading.print_summary(client).await?;
    reading.check_not_refused()?;
    Ok(reading)
}

/// Selection of the requests to compare, and the time that the other scheduler has for each.
struct Subject<'a> {
    filter: DemandFilter<'a>,
    /// Selector of requests by their labels.
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
    /// The compared requests, ordered by system, namespace and name.
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
    /// Decides each request of `subject` independently at `now`, and compares.
    ///
    /// # Errors
    /// When a dialect is at fault.
    fn of(
        simulation: &mut Simulation,
        subject: &Subject<'_>,
        only_different: bool,
        now: Timestamp,
    ) -> Result<Self, Fault> {
        let parameters = SimulationParameters {
            now,
            seed: None,
            independent: true,
        };
        let filter = &subject.filter;
        let choose =
            |dialect: &dyn Dialect, demand: &berth_apimachinery::Key| filter.accepts(dialect, demand);
        let mut comparison = Self::default();
        simulation.run(&parameters, choose, |outcome| -> Result<(), Fault> {
            let is_selected = subject.selector.matches(outcome.object.meta().labels());
            let entry = is_selected.then(|| Entry::of(outcome, subject.grace, now));
            if let Some(entry) = entry.flatten() {
                comparison.add(entry, only_different);
            }
            Ok(())
        })?;
        comparison.add_invalid(simulation, subject);
        let sort_key = |entry: &Entry| (entry.system, entry.namespace.clone(), entry.name.clone());
        comparison.items.sort_by_cached_key(sort_key);
        Ok(comparison)
    }

    /// Counts `entry`, and adds it to the items; with `only_different`, an entry with the same decision is
    /// only counted.
    fn add(&mut self, entry: Entry, only_different: bool) {
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

    /// Adds the requests of `subject` that were set aside as invalid: their comparison is unknown.
    fn add_invalid(&mut self, simulation: &Simulation, subject: &Subject<'_>) {
        let all = simulation.invalid_demands().iter();
        let is_selected = |request: &&InvalidDemand| {
            subject.filter.accepts(&*request.dialect, &request.demand)
                && subject.selector.matches_with(|key| request.labels[key].as_str())
        };
        for request in all.filter(is_selected) {
            self.add(Entry::of_invalid(request), false);
        }
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

/// Comparison of one request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    system: &'static str,
    kind: &'static str,
    /// Namespace of the Decision; empty for a ClusterDecision.
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    /// Name of the Decision.
    name: String,
    verdict: &'static str,
    #[serde(skip)]
    agreement: Agreement,
    /// Number of clusters that the request has.
    placed: usize,
    /// Number of clusters that the request would have.
    would_have: usize,
    /// Message of the decision if the clusters are the same, otherwise the message of the condition Agrees;
    /// for a request that was set aside, the problem of the object.
    message: String,
    /// First clusters that the request has and would not get; at most [`CLUSTERS_LIMIT`].
    losses: Vec<ContestedCluster>,
    /// Number of all clusters that the request has and would not get.
    loss_count: usize,
    /// First clusters that the request would get and does not have; at most [`CLUSTERS_LIMIT`].
    gains: Vec<ContestedCluster>,
    /// Number of all clusters that the request would get and does not have.
    gain_count: usize,
    /// First clusters that the request has and would keep with another amount; at most [`CLUSTERS_LIMIT`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resizes: Vec<AmountChange>,
    /// Known difference in the behaviour of the system's own scheduler that can explain this entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    known_difference: Option<&'static str>,
}

impl Entry {
    /// Creates the entry of a decided demand; `None` if the demand does not exist any more.
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

    /// Creates the entry of a request that was set aside, since no server would accept the object.
    fn of_invalid(request: &InvalidDemand) -> Self {
        let (namespace, name) = request.place();
        let agreement = Agreement::Unknown(UnknownReason::Invalid);
        Self {
            system: request.dialect.name(),
            kind: request.kind,
            namespace,
            name,
            verdict: verdict(agreement),
            agreement,
            placed: 0,
            would_have: 0,
            message: request.message(),
            losses: Vec::new(),
            loss_count: 0,
            gains: Vec::new(),
            gain_count: 0,
            resizes: Vec::new(),
            known_difference: None,
        }
    }
}

/// Returns the name of an agreement in the output.
fn verdict(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Same => "Same",
        Agreement::Different(verdict) => verdict.as_str(),
        Agreement::Unknown(_) => "Unknown",
    }
}

#[cfg(test)]
mod tests;
