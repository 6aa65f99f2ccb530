//! Output of a Scheduling: the verdict, then the clusters, each with the reasons for and against it.

use std::collections::BTreeSet;
use std::io::{self, Write};

use berth_dialect_contract::report::{self, Candidate, ChangeEntry, ReasonCount, RejectionEntry};
use berth_scheduling_api::scheduling::{PublishedReport, Scheduling, verdict};
use berth_scheduling_api::shared::{Manifest, SchedulingSpec};
use serde_json::Value;

use crate::args::{WhyOutput, WhyQuestion};
use crate::terminal::{self, Cell, indented, shown};
use crate::words::{self, NOT_PICKED, PICKED, RequestState};

/// A Scheduling as the server sent it, and its parsed form.
pub(super) struct Answer<'a> {
    /// The answer with every field, including fields of a newer server.
    pub(super) raw: &'a Value,
    /// The parsed fields of the answer.
    pub(super) parsed: &'a Manifest<Scheduling>,
}

/// Prints `answer` in the requested format. `counts` are the counts of reasons over all clusters, if `answer`
/// does not contain all clusters.
///
/// # Errors
/// When `out` fails.
pub(super) fn print(
    out: &mut impl Write,
    question: &WhyQuestion,
    answer: &Answer<'_>,
    counts: &[ReasonCount],
    width: Option<usize>,
) -> io::Result<()> {
    match question.output {
        WhyOutput::Json => writeln!(out, "{}", serde_json::to_string_pretty(answer.raw)?),
        WhyOutput::Yaml => {
            let text = serde_saphyr::to_string(answer.raw).map_err(io::Error::other)?;
            writeln!(out, "{}", text.trim_end())
        }
        WhyOutput::Name => {
            let kind = match answer.parsed.metadata("namespace") {
                "" => "clusterdecision",
                _ => "decision",
            };
            let name = shown(answer.parsed.metadata("name"));
            writeln!(out, "{kind}.scheduling.berth.dev/{name}")
        }
        WhyOutput::Table | WhyOutput::Wide => {
            let Scheduling { spec, status } = &answer.parsed.body;
            let Some(status) = status else {
                return Ok(());
            };
            let request_state = words::request_state(&status.outcome, status.picked.len(), status.wanted);
            let spec = spec.as_ref();
            writeln!(out, "{}", headline(spec, &request_state, &status.message, width))?;
            warnings(out, &status.warnings, width)?;
            if question.cluster.is_some() {
                for candidate in &status.candidates {
                    print_cluster(out, candidate, width)?;
                }
                return Ok(());
            }
            table(out, status, question.output == WhyOutput::Wide, width)?;
            print_remaining(out, status, counts, width)
        }
    }
}

/// Returns the headline of a request, such as `Shoot garden-dev/web (gardener): would be placed on 1 of 1`,
/// with `message` on the next lines.
pub fn headline(
    spec: Option<&SchedulingSpec>,
    request_state: &RequestState,
    message: &str,
    width: Option<usize>,
) -> String {
    let source = spec.and_then(|spec| spec.source_ref.as_ref());
    let (kind, place) = source.map_or_else(Default::default, |source| {
        let name = shown(&source.name);
        let place = match &*source.namespace {
            "" => name,
            namespace => format!("{}/{name}", shown(namespace)),
        };
        (shown(&source.kind), place)
    });
    let dialect = spec.map_or("", |spec| &*spec.dialect);
    format!(
        "{} {}: {}\n{}",
        terminal::heading(&format!("{kind} {place}")),
        terminal::dim(&format!("({})", shown(dialect))),
        terminal::styled(request_state.style, &shown(&request_state.phrase)),
        indented(&shown(message), 2, width)
    )
}

fn warnings(out: &mut impl Write, warnings: &[String], width: Option<usize>) -> io::Result<()> {
    for warning in warnings {
        let line = indented(&format!("Warning: {}", shown(warning)), 2, width);
        writeln!(out, "{}", terminal::warning(&line))?;
    }
    Ok(())
}

/// Prints the table of the clusters; if `wide`, with a column for the scores by plugin.
fn table(out: &mut impl Write, status: &PublishedReport, wide: bool, width: Option<usize>) -> io::Result<()> {
    // If not all clusters are shown, clusters out of scope are only counted.
    let is_cut = status.remaining_candidates.is_some_and(|rest| rest > 0);
    let candidates = status.candidates.iter();
    let mut rows: Vec<Vec<Cell>> = candidates
        .filter(|candidate| !is_cut || !candidate.out_of_scope)
        .flat_map(|candidate| candidate_rows(status, candidate, wide))
        .collect();
    rows.extend(change_rows(status, wide));
    if rows.is_empty() {
        return Ok(());
    }
    let amount = status.amount.as_ref();
    let amount = amount.map(|amount| shown(&amount.name).to_uppercase());
    let headings = ["  CLUSTER", "RANK", "SCORE"]
        .into_iter()
        .chain(amount.as_deref())
        .chain(["RESULT"])
        .chain(wide.then_some("SCORES"))
        .chain(["REASON"]);
    let headings: Vec<&str> = headings.collect();
    write!(out, "{}", terminal::fitted_table(&headings, &rows, width))
}

/// Returns the rows of one cluster: the first with all cells, and one more for each further rejection.
fn candidate_rows(status: &PublishedReport, candidate: &Candidate, wide: bool) -> Vec<Vec<Cell>> {
    let has_amount = status.amount.is_some();
    let change = status
        .changes
        .iter()
        .find(|change| change.cluster_name == candidate.cluster_name);
    let mut reasons = candidate.rejections.iter().map(reason);
    let first = LeadingCells {
        name: format!("  {}", candidate_name(candidate)),
        rank: candidate.rank.map(|rank| rank.to_string()).unwrap_or_default(),
        score: score(candidate),
        amount: has_amount.then(|| amount(candidate.amount, change)),
        result: result(candidate, change),
    };
    let mut rows = vec![row(first, wide.then(|| scores(candidate)), reasons.next())];
    for more in reasons {
        rows.push(row(
            LeadingCells::blank(has_amount),
            wide.then(String::new),
            Some(more),
        ));
    }
    rows
}

/// Returns the result of a cluster: the change if it is picked or released, otherwise whether it fits.
fn result(candidate: &Candidate, change: Option<&ChangeEntry>) -> Cell {
    match (candidate.picked, change) {
        (true, Some(change)) => Cell::new(change_text(change), terminal::GOOD),
        (true, None) => Cell::new(PICKED, terminal::GOOD),
        (false, Some(change)) if change.action == "Unbind" => {
            Cell::new(change_text(change), terminal::WARNING)
        }
        (false, _) if candidate.feasible => Cell::new(NOT_PICKED, terminal::DIM),
        (false, _) => words::refusal(candidate.out_of_scope),
    }
}

/// Returns the rows of changed clusters that are not candidates: new clusters, and clusters that no longer
/// exist.
fn change_rows(status: &PublishedReport, wide: bool) -> Vec<Vec<Cell>> {
    let has_amount = status.amount.is_some();
    let candidates = status.candidates.iter();
    let known: BTreeSet<&str> = candidates.map(|candidate| &*candidate.cluster_name).collect();
    let mut rows = Vec::new();
    for change in &status.changes {
        let style = match &*change.action {
            "Create" => terminal::GOOD,
            "Unbind" => terminal::WARNING,
            _ => continue,
        };
        if !known.contains(&*change.cluster_name) {
            let first = LeadingCells {
                name: format!("  {}", shown(&change.cluster_name)),
                amount: has_amount.then(|| amount(None, Some(change))),
                result: Cell::new(change_text(change), style),
                ..LeadingCells::blank(has_amount)
            };
            rows.push(row(first, wide.then(String::new), None));
        }
    }
    rows
}

/// Returns the amount of a cluster as text: `6`, or `6 → 4` if `change` changes the amount.
fn amount(amount: Option<i64>, change: Option<&ChangeEntry>) -> String {
    let sides = change.map(|change| (change.amount_from, change.amount_to));
    match sides.unwrap_or_default() {
        (Some(from), Some(to)) if from != to => format!("{from} → {to}"),
        (Some(from), None) => format!("{from} → 0"),
        (_, Some(to)) => to.to_string(),
        (None, None) => amount.map(|amount| amount.to_string()).unwrap_or_default(),
    }
}

/// Cells of a row before the scores and the reason.
struct LeadingCells {
    name: String,
    rank: String,
    score: String,
    /// Amount of the cluster; `None` if the table has no column for amounts.
    amount: Option<String>,
    result: Cell,
}

impl LeadingCells {
    fn blank(has_amount: bool) -> Self {
        Self {
            name: String::new(),
            rank: String::new(),
            score: String::new(),
            amount: has_amount.then(String::new),
            result: Cell::plain(""),
        }
    }
}

fn row(first: LeadingCells, scores: Option<String>, reason: Option<String>) -> Vec<Cell> {
    let texts = [first.name, first.rank, first.score]
        .into_iter()
        .chain(first.amount);
    let mut cells: Vec<Cell> = texts.map(Cell::plain).collect();
    cells.push(first.result);
    cells.extend(scores.map(Cell::plain));
    cells.push(Cell::plain(reason.unwrap_or_default()));
    cells
}

/// Prints a line about the clusters without a row, if there are any.
fn print_remaining(
    out: &mut impl Write,
    status: &PublishedReport,
    counts: &[ReasonCount],
    width: Option<usize>,
) -> io::Result<()> {
    let Some(rest @ 1..) = status.remaining_candidates else {
        return Ok(());
    };
    let outside = status
        .candidates
        .iter()
        .filter(|candidate| candidate.out_of_scope);
    let rest = rest + outside.count();
    let counts: Vec<String> = counts
        .iter()
        .map(|count| {
            let ReasonCount {
                plugin,
                reason,
                targets,
                ..
            } = count;
            format!("{targets} {}/{}", shown(plugin), shown(reason))
        })
        .collect();
    let counts = match counts.is_empty() {
        true => String::new(),
        false => format!("; of all: {}", counts.join(", ")),
    };
    let line = format!("… and {rest} more (--all shows them){counts}");
    writeln!(out, "{}", terminal::dim(&indented(&line, 2, width)))
}

/// Prints one cluster, with its verdict, every reason and the scores.
fn print_cluster(out: &mut impl Write, candidate: &Candidate, width: Option<usize>) -> io::Result<()> {
    let name = terminal::heading(&candidate_name(candidate));
    let rank = candidate
        .rank
        .map(|rank| format!(", rank {rank}"))
        .unwrap_or_default();
    let verdict = match (candidate.picked, candidate.feasible) {
        (true, true) => format!("is {}{rank}", terminal::good("picked")),
        (true, false) => format!(
            "is {}, and would be refused today:",
            terminal::warning("kept where it is bound")
        ),
        (false, true) => format!("fits and is not picked{rank}, since others rank higher:"),
        (false, false) => format!(
            "is {}:",
            terminal::bad(verdict(false, false, candidate.out_of_scope))
        ),
    };
    writeln!(out, "  {name} {verdict}")?;
    for rejection in &candidate.rejections {
        writeln!(out, "{}", indented(&reason(rejection), 4, width))?;
    }
    let parts = scores(candidate);
    if !parts.is_empty() {
        let score = score(candidate);
        let line = indented(&format!("score {score}: {parts}"), 4, width);
        writeln!(out, "{}", terminal::dim(&line))?;
    }
    Ok(())
}

/// Returns the text of a rejection: `Plugin/Reason: message`, or `Reason: message` without a plugin.
fn reason(rejection: &RejectionEntry) -> String {
    let (reason, message) = (shown(&rejection.reason), shown(&rejection.message));
    // A lower rank is a rejection without a plugin.
    match &*rejection.plugin {
        "" => format!("{reason}: {message}"),
        plugin => format!("{}/{reason}: {message}", shown(plugin)),
    }
}

/// Returns the total score of a cluster as text.
fn score(candidate: &Candidate) -> String {
    report::score_cell(candidate.score, candidate.scores.iter().map(|score| score.value))
}

/// Returns the scores of a cluster by plugin, such as `Steady 100, Balance 20 × 2`, without weights of 1.
fn scores(candidate: &Candidate) -> String {
    let parts = candidate.scores.iter().map(|score| {
        let plugin = shown(&score.plugin);
        let value = score.value.map(|value| value.to_string());
        let mut value = value.unwrap_or_else(|| "–".to_owned());
        if !score.message.is_empty() {
            value.push_str(&format!(" ({})", shown(&score.message)));
        }
        match score.weight {
            // Scores that only break ties have no weight.
            0 | 1 => format!("{plugin} {value}"),
            weight => format!("{plugin} {value} × {weight}"),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns a change in words, with the system's states of the binding, if it has states.
fn change_text(change: &ChangeEntry) -> String {
    let [action, from, to] = [&change.action, &change.from, &change.to].map(|text| shown(text));
    words::action(&action, &from, &to)
}

/// Returns the name of the Target without the system, followed by the name of the cluster where the two
/// differ (kcp).
fn candidate_name(candidate: &Candidate) -> String {
    let cluster = shown(&candidate.cluster_name);
    let target = shown(&candidate.target);
    let target = target.rsplit_once('.').map_or("", |(name, _)| name);
    if target.is_empty() || target == cluster.replace('/', ".") {
        cluster
    } else {
        format!("{target} ({cluster})")
    }
}

#[cfg(test)]
mod tests;
