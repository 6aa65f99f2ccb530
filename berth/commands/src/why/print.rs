//! How a Scheduling is printed: the verdict, then every cluster with its reasons; or one cluster's alone.

use std::io::{self, Write};

use berth_dialect_contract::report;
use serde_json::Value;

use crate::args::{WhyOutput, WhyQuestion};
use crate::terminal::{self, Cell, indented, shown};
use crate::words::{self, NOT_PICKED, PICKED, REFUSED};

/// Prints `report` as it is asked for. `counts` are the reasons of all clusters, where not all of them are in it.
///
/// # Errors
/// When `out` takes no more.
pub(super) fn print(
    out: &mut impl Write,
    question: &WhyQuestion,
    report: &Value,
    counts: &Value,
    width: Option<usize>,
) -> io::Result<()> {
    match question.output {
        WhyOutput::Json => writeln!(out, "{}", serde_json::to_string_pretty(report)?),
        WhyOutput::Yaml => {
            let text = serde_saphyr::to_string(report).map_err(io::Error::other)?;
            writeln!(out, "{}", text.trim_end())
        }
        WhyOutput::Name => {
            let kind = match text(&report["metadata"], "namespace").as_str() {
                "" => "clusterdecision",
                _ => "decision",
            };
            let name = text(&report["metadata"], "name");
            writeln!(out, "{kind}.scheduling.berth.dev/{name}")
        }
        WhyOutput::Table | WhyOutput::Wide => {
            writeln!(out, "{}", headline(report, width))?;
            if question.cluster.is_some() {
                for candidate in list(&report["status"], "candidates") {
                    one(out, candidate, width)?;
                }
                return Ok(());
            }
            table(out, report, question.output == WhyOutput::Wide, width)?;
            cut(out, report, counts, width)
        }
    }
}

/// `Shoot garden-dev/web (gardener): would be placed on 1 of 1`, and the summary below.
pub fn headline(report: &Value, width: Option<usize>) -> String {
    let (source, status) = (&report["spec"]["sourceRef"], &report["status"]);
    let place = match text(source, "namespace").as_str() {
        "" => text(source, "name"),
        namespace => format!("{namespace}/{}", text(source, "name")),
    };
    let outcome = text(status, "outcome");
    let picked = status["picked"].as_array().map(Vec::len);
    let mut standing = words::standing(&outcome, picked.unwrap_or_default(), status["wanted"].as_i64());
    if picked.is_none() {
        // Advice does not say how many.
        words::outcome(&outcome).clone_into(&mut standing.phrase);
    }
    let mut lines = format!(
        "{} {}: {}\n{}",
        terminal::heading(&format!("{} {place}", text(source, "kind"))),
        terminal::dim(&format!("({})", text(&report["spec"], "dialect"))),
        terminal::styled(standing.style, &standing.phrase),
        indented(&text(status, "message"), 2, width)
    );
    for warning in list(status, "warnings") {
        let told = shown(warning.as_str().unwrap_or_default());
        let told = indented(&format!("Warning: {told}"), 2, width);
        lines.push_str(&format!("\n{}", terminal::warning(&told)));
    }
    lines
}

fn table(out: &mut impl Write, report: &Value, wide: bool, width: Option<usize>) -> io::Result<()> {
    let status = &report["status"];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let divides = !status["amount"].is_null();
    // Where not all are shown, those that are none to choose from are only counted.
    let is_cut = status["remainingCandidates"]
        .as_u64()
        .is_some_and(|rest| rest > 0);
    for candidate in list(status, "candidates")
        .iter()
        .filter(|candidate| !is_cut || candidate["outOfScope"] != true)
    {
        let name = named(candidate);
        let change = list(status, "changes")
            .iter()
            .find(|change| change["clusterName"] == candidate["clusterName"]);
        let result = match (candidate["picked"] == true, candidate["feasible"] == true) {
            (true, _) => Cell::new(change.map_or_else(|| PICKED.to_owned(), changed), terminal::GOOD),
            (false, _) if change.is_some_and(|change| change["action"] == "Unbind") => {
                Cell::new(change.map(changed).unwrap_or_default(), terminal::WARNING)
            }
            (false, true) => Cell::new(NOT_PICKED, terminal::DIM),
            (false, false) => Cell::new(REFUSED, terminal::BAD),
        };
        let mut reasons = list(candidate, "rejections").iter().map(reason);
        let first = First {
            name: format!("  {name}"),
            rank: number(candidate, "rank"),
            score: score(candidate),
            amount: divides.then(|| amount(candidate, change)),
            result,
        };
        rows.push(row(first, wide.then(|| scores(candidate)), reasons.next()));
        for more in reasons {
            rows.push(row(First::blank(divides), wide.then(String::new), Some(more)));
        }
    }
    // Clusters that are made, and those that are left and are not there any more.
    for change in list(status, "changes") {
        let here = list(status, "candidates")
            .iter()
            .any(|candidate| candidate["clusterName"] == change["clusterName"]);
        let style = match change["action"].as_str() {
            Some("Create") => terminal::GOOD,
            Some("Unbind") => terminal::WARNING,
            _ => continue,
        };
        if !here {
            let first = First {
                name: format!("  {}", text(change, "clusterName")),
                amount: divides.then(|| amount(&Value::Null, Some(change))),
                result: Cell::new(changed(change), style),
                ..First::blank(divides)
            };
            rows.push(row(first, wide.then(String::new), None));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let amount = status["amount"]["name"].as_str().map(str::to_uppercase);
    let headings = ["  CLUSTER", "RANK", "SCORE"]
        .into_iter()
        .chain(amount.as_deref())
        .chain(["RESULT"])
        .chain(wide.then_some("SCORES"))
        .chain(["REASON"]);
    let headings: Vec<&str> = headings.collect();
    write!(out, "{}", terminal::fitted_table(&headings, &rows, width))
}

/// The amount of a cluster that is a candidate or a change: `6`, or `6 → 4` where it changes.
fn amount(candidate: &Value, change: Option<&Value>) -> String {
    let side = |field: &str| change.and_then(|change| change[field].as_i64());
    match (side("amountFrom"), side("amountTo")) {
        (Some(from), Some(to)) if from != to => format!("{from} → {to}"),
        (Some(from), None) => format!("{from} → 0"),
        (_, Some(to)) => to.to_string(),
        (None, None) => number(candidate, "amount"),
    }
}

/// The first cells of a row.
struct First {
    name: String,
    rank: String,
    score: String,
    /// There where an amount is divided.
    amount: Option<String>,
    result: Cell,
}

impl First {
    fn blank(divides: bool) -> Self {
        Self {
            name: String::new(),
            rank: String::new(),
            score: String::new(),
            amount: divides.then(String::new),
            result: Cell::plain(""),
        }
    }
}

fn row(first: First, scores: Option<String>, reason: Option<String>) -> Vec<Cell> {
    let texts = [first.name, first.rank, first.score]
        .into_iter()
        .chain(first.amount);
    let mut cells: Vec<Cell> = texts.map(Cell::plain).collect();
    cells.push(first.result);
    cells.extend(scores.map(Cell::plain));
    cells.push(Cell::plain(reason.unwrap_or_default()));
    cells
}

/// What is said of the clusters that are not shown.
fn cut(out: &mut impl Write, report: &Value, counts: &Value, width: Option<usize>) -> io::Result<()> {
    let Some(rest @ 1..) = report["status"]["remainingCandidates"].as_u64() else {
        return Ok(());
    };
    let candidates = list(&report["status"], "candidates").iter();
    let rest = rest
        + candidates
            .map(|candidate| u64::from(candidate["outOfScope"] == true))
            .sum::<u64>();
    let counts: Vec<String> = counts
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .map(|count| {
            format!(
                "{} {}/{}",
                number(count, "targets"),
                text(count, "plugin"),
                text(count, "reason")
            )
        })
        .collect();
    let counts = match counts.is_empty() {
        true => String::new(),
        false => format!("; of all: {}", counts.join(", ")),
    };
    let line = format!("… and {rest} more (--all shows them){counts}");
    writeln!(out, "{}", terminal::dim(&indented(&line, 2, width)))
}

/// One cluster, with every reason.
fn one(out: &mut impl Write, candidate: &Value, width: Option<usize>) -> io::Result<()> {
    let name = terminal::heading(&named(candidate));
    let rank = match number(candidate, "rank").as_str() {
        "" => String::new(),
        rank => format!(", rank {rank}"),
    };
    let verdict = match (candidate["picked"] == true, candidate["feasible"] == true) {
        (true, true) => format!("is {}{rank}", terminal::good("picked")),
        (true, false) => format!(
            "is {}, and would be refused today:",
            terminal::warning("kept where it is bound")
        ),
        (false, true) => format!("fits and is not picked{rank}, since others rank higher:"),
        (false, false) => format!("is {}:", terminal::bad("refused")),
    };
    writeln!(out, "  {name} {verdict}")?;
    for rejection in list(candidate, "rejections") {
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

/// `Plugin/Reason: sentence`, or `Reason: sentence`.
fn reason(rejection: &Value) -> String {
    let [plugin, reason, message] = ["plugin", "reason", "message"].map(|field| text(rejection, field));
    // That others are better is no plugin's doing.
    match plugin.as_str() {
        "" => format!("{reason}: {message}"),
        plugin => format!("{plugin}/{reason}: {message}"),
    }
}

/// The score in one text.
fn score(candidate: &Value) -> String {
    let parts = list(candidate, "scores").iter();
    report::score_cell(
        candidate["score"].as_i64(),
        parts.map(|score| score["value"].as_i64()),
    )
}

/// `Steady 100, Balance 20 × 2`: the weight where it is not one.
fn scores(candidate: &Value) -> String {
    let parts = list(candidate, "scores").iter().map(|score| {
        let (plugin, value) = (text(score, "plugin"), number(score, "value"));
        let mut value = if value.is_empty() { "–".to_owned() } else { value };
        let note = text(score, "message");
        if !note.is_empty() {
            value.push_str(&format!(" ({note})"));
        }
        match score["weight"].as_i64() {
            // Of no weight is what only breaks ties.
            Some(0 | 1) | None => format!("{plugin} {value}"),
            Some(weight) => format!("{plugin} {value} × {weight}"),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// A change in words, with the states where the system names them.
fn changed(change: &Value) -> String {
    let [action, from, to] = ["action", "from", "to"].map(|field| text(change, field));
    words::action(&action, &from, &to)
}

/// The Target's name without the system, and the cluster's where that says something else (kcp).
fn named(candidate: &Value) -> String {
    let cluster = text(candidate, "clusterName");
    let target = text(candidate, "target");
    let target = target.rsplit_once('.').map_or("", |(name, _)| name);
    if target.is_empty() || target == cluster.replace('/', ".") {
        cluster
    } else {
        format!("{target} ({cluster})")
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value, field: &str) -> String {
    shown(value[field].as_str().unwrap_or_default())
}

fn number(value: &Value, field: &str) -> String {
    value[field]
        .as_i64()
        .map(|number| number.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
