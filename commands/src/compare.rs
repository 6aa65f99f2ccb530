//! `berth compare`: does Berth decide as the scheduler did? What is placed is read as it stands, every request is decided by
//! itself on just that, as in life, and the two are held against each other (docs/try-on-your-hub.md).

mod print;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use apiserver::SystemClock;
use dialect_contract::report::Candidate;
use dialect_contract::{Action, Outcome, Placed, names};
use engine::plan::{Verdict, compare};
use engine::simulate::{Decided, Fault, Terms};
use meta::{Clock, Timestamp};
use serde::Serialize;
use virtual_api::API_VERSION;

use crate::args::{CompareQuestion, ConnectionArgs};
use crate::reading::{Reading, Scope};
use crate::simulate::{DONE, MALFORMED, UNPLACED, load};

/// How many clusters of each side of an entry are told of. The counts are of all.
const SHOWN: usize = 50;

/// Reads, compares and prints. What is wrong with files goes to standard error, all of it, and ends it with exit code 2.
///
/// # Errors
/// When no server answers, or a dialect is at fault.
pub async fn run(question: &CompareQuestion, connection: &ConnectionArgs) -> Result<ExitCode> {
    let now = question.at.unwrap_or_else(|| SystemClock.now());
    let read = match question.filename.is_empty() {
        false => Vec::new(),
        true => {
            let client = connection.client().await?;
            let scope = Scope {
                systems: None,
                namespace: connection.namespace.clone(),
            };
            let reading = Reading::of(&client, &scope).await?;
            reading.tell(&client).await?;
            reading.inputs()
        }
    };
    let mut simulation = match load(&question.filename, &question.config, false, read, now) {
        Ok(read) => read.simulation,
        Err(problems) => {
            for problem in problems {
                crate::say_error!("error: {problem}");
            }
            return Ok(ExitCode::from(MALFORMED));
        }
    };
    let mut comparison = Comparison::default();
    let terms = Terms {
        now,
        seed: None,
        independent: true,
    };
    let namespace = connection.namespace.as_deref();
    let wanted = |dialect: &dyn dialect_contract::Dialect, demand: &meta::Key| {
        let (of, _) = names::place(dialect, demand);
        namespace.is_none_or(|namespace| of == namespace || of.is_empty())
    };
    simulation.run(&terms, wanted, |decided| -> Result<(), Fault> {
        comparison.take(Entry::of(decided, now), question.only_different);
        Ok(())
    })?;
    let differs = comparison.counts.different > 0;
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    let printed = print::print(&mut out, &comparison, question.output).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) if differs && question.exit_code => Ok(ExitCode::from(UNPLACED)),
        _ => Ok(ExitCode::from(DONE)),
    }
}

/// Comparison of what is placed with what would be decided.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Comparison {
    api_version: &'static str,
    kind: &'static str,
    /// Counts of all requests, those that are not listed among them.
    counts: Counts,
    /// Counts of all requests by system, those that are not listed among them.
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
    fn take(&mut self, entry: Entry, only_different: bool) {
        let of_system = self.systems.entry(entry.system).or_default();
        for counts in [&mut self.counts, of_system] {
            match entry.verdict {
                Agreement::Same => counts.same += 1,
                Agreement::Unknown => counts.unknown += 1,
                Agreement::Different(_) => counts.different += 1,
            }
        }
        if entry.verdict != Agreement::Same || !only_different {
            self.items.push(entry);
        }
    }
}

/// How many requests are decided how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    /// With the same clusters.
    same: usize,
    /// With others.
    different: usize,
    /// It cannot be said.
    unknown: usize,
}

/// Whether Berth agrees with what is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agreement {
    Same,
    Different(Verdict),
    Unknown,
}

impl Agreement {
    fn as_str(self) -> &'static str {
        match self {
            Self::Same => "Same",
            Self::Different(verdict) => verdict.as_str(),
            Self::Unknown => "Unknown",
        }
    }
}

impl Serialize for Agreement {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
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
    verdict: Agreement,
    /// How many clusters it has.
    placed: usize,
    /// How many it would have.
    would_have: usize,
    /// Message of the decision; where nothing can be said, it begins with the reason why.
    message: String,
    /// The clusters that it has and would not get; at most [`SHOWN`].
    losses: Vec<Side>,
    loss_count: usize,
    /// The clusters that it would get and has not; at most [`SHOWN`].
    gains: Vec<Side>,
    gain_count: usize,
}

impl Entry {
    fn of(decided: &Decided<'_>, now: Timestamp) -> Self {
        let (snapshot, decision) = (decided.snapshot, decided.decision);
        let view = snapshot.inventory.demand(&decision.demand, now);
        let placed = view.map_or_else(Vec::new, |view| view.placed);
        let has: BTreeSet<&str> = placed
            .iter()
            .filter(|placed| !placed.leaving)
            .map(|placed| &*placed.cluster_name)
            .collect();
        let mut gets = has.clone();
        for change in &decision.changes {
            match change.action {
                Action::Unbind => gets.remove(&*change.cluster_name),
                Action::Bind | Action::Keep | Action::Create | Action::Restore => {
                    gets.insert(&change.cluster_name)
                }
            };
        }
        let (namespace, name) = names::place(&*snapshot.dialect, &decision.demand);
        let mut entry = Self {
            system: snapshot.dialect.name(),
            kind: decided.kind,
            namespace,
            name,
            verdict: Agreement::Same,
            placed: has.len(),
            would_have: gets.len(),
            message: snapshot.inventory.message(decision),
            losses: Vec::new(),
            loss_count: 0,
            gains: Vec::new(),
            gain_count: 0,
        };
        if let Some(why) = unknown(decision.outcome) {
            entry.verdict = Agreement::Unknown;
            entry.message = format!("{why}: {}", entry.message);
            entry.would_have = has.len();
            return entry;
        }
        if has == gets {
            return entry;
        }
        let own = |names: &BTreeSet<&str>| -> BTreeSet<String> {
            names.iter().map(|&name| name.to_owned()).collect()
        };
        entry.verdict = Agreement::Different(compare::verdict(Some(&own(&has)), Some(&own(&gets))));
        let left: Vec<&str> = has.difference(&gets).copied().collect();
        let joined: Vec<&str> = gets.difference(&has).copied().collect();
        let concerned: Vec<&str> = [&left, &joined]
            .into_iter()
            .flat_map(|names| names.iter().take(SHOWN).copied())
            .collect();
        let candidates = compare::candidates(snapshot, decision, &concerned);
        let side = |name: &&str| Side::of(name, &candidates, &placed);
        entry.losses = left.iter().take(SHOWN).map(side).collect();
        entry.gains = joined.iter().take(SHOWN).map(side).collect();
        (entry.loss_count, entry.gain_count) = (left.len(), joined.len());
        entry
    }
}

/// Why nothing can be said of a decision that ended so.
fn unknown(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Invalid => Some("it cannot be understood"),
        Outcome::Ignored => Some("its system leaves it alone"),
        Outcome::Released => Some("it is being deleted"),
        Outcome::Scheduled
        | Outcome::Partial
        | Outcome::Unschedulable
        | Outcome::Provision
        | Outcome::Unchanged => None,
    }
}

/// A cluster that only one side chooses, and what both say of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Side {
    cluster_name: String,
    /// Reasons that Berth has against the cluster, or the rank that the cluster has.
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
    /// Record that the scheduler stored with its decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Record>,
}

/// Reason and score that a scheduler stored with a cluster.
#[derive(Debug, Serialize)]
struct Record {
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
}

impl Side {
    fn of(name: &str, candidates: &[Candidate], placed: &[Placed]) -> Self {
        let candidate = candidates
            .iter()
            .find(|candidate| *candidate.cluster_name == *name);
        let recorded = placed
            .iter()
            .find(|placed| *placed.cluster_name == *name)
            .filter(|placed| !placed.reason.is_empty() || placed.score.is_some())
            .map(|placed| Record {
                reason: placed.reason.clone(),
                score: placed.score,
            });
        let mut reasons: Vec<String> = candidate.map_or_else(
            || vec!["there is no such cluster among those that are considered".to_owned()],
            |candidate| candidate.rejections.iter().map(told).collect(),
        );
        let rank = candidate.and_then(|candidate| candidate.rank);
        if let (true, Some(rank)) = (reasons.is_empty(), rank) {
            reasons.push(format!("rank {rank}"));
        }
        Self {
            cluster_name: name.to_owned(),
            reasons,
            rank,
            score: candidate.and_then(|candidate| candidate.score),
            recorded,
        }
    }
}

/// `Plugin/Reason: sentence`, or `Reason: sentence` where others are better, which is no plugin's doing.
fn told(rejection: &dialect_contract::report::RejectionEntry) -> String {
    let (plugin, reason, message) = (&rejection.plugin, &rejection.reason, &rejection.message);
    match plugin.is_empty() {
        true => format!("{reason}: {message}"),
        false => format!("{plugin}/{reason}: {message}"),
    }
}

#[cfg(test)]
mod tests;
