//! Output of a plan: the counts first, then one row for each decision that changes, with the reason.

use std::io::{self, Write};

use berth_dialect_contract::amounts::AmountChange;
use berth_scheduling_api::API_VERSION;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::SimulateOutput;
use crate::terminal::{self, Cell};

/// Highest number of names from one list, such as the clusters in a cell.
const NAMES_LIMIT: usize = 3;

const HEADINGS: [&str; 6] = ["DECISION", "KIND", "VERDICT", "LEAVES", "GETS", "WHY"];
/// Heading of the column with the clusters that stay with another amount. The column is the second to last,
/// and exists only if there are such clusters.
const RESIZES: &str = "RESIZES";

/// Fields of the counts, in the order of the summary, and their verdicts.
const COUNTS: [(&str, &str); 9] = [
    ("lost", "Lost"),
    ("moved", "Moved"),
    ("shrunk", "Shrunk"),
    ("fits", "Fits"),
    ("grown", "Grown"),
    ("resized", "Resized"),
    ("bound", "Bound"),
    ("unplaced", "Unplaced"),
    ("removed", "Removed"),
];

/// Returns the number of decisions that `plan` (`status.plan` of a SchedulingReview) would change.
#[must_use]
pub fn changed_count(plan: &Value) -> u64 {
    COUNTS.iter().map(|(field, _)| count(plan, field)).sum()
}

fn count(plan: &Value, field: &str) -> u64 {
    plan["counts"][field].as_u64().unwrap_or_default()
}

/// Prints `plan` in `form`.
///
/// # Errors
/// When `out` fails.
pub fn print(out: &mut impl Write, plan: &Value, form: SimulateOutput) -> io::Result<()> {
    match form {
        SimulateOutput::Table => table(out, plan, terminal::width()),
        SimulateOutput::Markdown => markdown(out, plan),
        SimulateOutput::Json => writeln!(out, "{}", serde_json::to_string_pretty(&review(plan))?),
        SimulateOutput::Yaml => {
            let text = serde_saphyr::to_string(&review(plan)).map_err(io::Error::other)?;
            writeln!(out, "{}", text.trim_end())
        }
    }
}

fn review(plan: &Value) -> Value {
    json!({"apiVersion": API_VERSION, "kind": "SchedulingReview", "status": {"plan": plan}})
}

/// Returns a summary, such as `3 decisions change: 1 Lost, 2 Moved; 4 decided again as before.`
fn summary(plan: &Value) -> String {
    let parts: Vec<String> = COUNTS
        .iter()
        .filter(|(field, _)| count(plan, field) > 0)
        .map(|(field, word)| format!("{} {word}", count(plan, field)))
        .collect();
    let mut text = match changed_count(plan) {
        0 => "No decision changes".to_owned(),
        1 => format!("1 decision changes: {}", parts.join(", ")),
        some => format!("{some} decisions change: {}", parts.join(", ")),
    };
    match count(plan, "same") {
        0 => {}
        same => text.push_str(&format!("; {same} decided again as before")),
    }
    text.push('.');
    text
}

/// Returns a note about decisions that kept changing during the computation of the plan, if there are any.
fn unsettled(plan: &Value) -> Option<String> {
    let list = plan["unsettled"].as_array().filter(|list| !list.is_empty())?;
    let names: Vec<&str> = list.iter().filter_map(Value::as_str).take(NAMES_LIMIT).collect();
    Some(format!(
        "{} of the decisions kept changing, such as {}: the last result of each is shown.",
        list.len(),
        names.join(", ")
    ))
}

/// Prints `plan` as a table that fits `width`.
///
/// # Errors
/// When `out` fails.
pub fn table(out: &mut impl Write, plan: &Value, width: Option<usize>) -> io::Result<()> {
    writeln!(out, "{}", terminal::heading(&summary(plan)))?;
    if let Some(text) = unsettled(plan) {
        writeln!(out, "{}", terminal::warning(&text))?;
    }
    let entries = plan["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    if entries.is_empty() {
        return Ok(());
    }
    let with_resizes = has_resizes(entries);
    let rows: Vec<Vec<Cell>> = entries
        .iter()
        .map(|entry| {
            cells(entry, with_resizes)
                .into_iter()
                .map(|text| text.0)
                .collect()
        })
        .collect();
    let table = terminal::fitted_table(&headings(with_resizes), &rows, width);
    write!(out, "\n{table}")
}

fn markdown(out: &mut impl Write, plan: &Value) -> io::Result<()> {
    writeln!(out, "**{}**", summary(plan))?;
    if let Some(text) = unsettled(plan) {
        writeln!(out, "\n{text}")?;
    }
    let entries = plan["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    if entries.is_empty() {
        return Ok(());
    }
    let with_resizes = has_resizes(entries);
    let headings = headings(with_resizes);
    writeln!(
        out,
        "\n| {} |\n|{}",
        headings.join(" | ").to_lowercase(),
        "---|".repeat(headings.len())
    )?;
    for entry in entries {
        let texts: Vec<String> = cells(entry, with_resizes)
            .iter()
            .map(|text| escaped(&text.1))
            .collect();
        writeln!(out, "| {} |", texts.join(" | "))?;
    }
    Ok(())
}

/// Escapes `text` for a cell of a table in Markdown.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in terminal::shown(text).chars() {
        match letter {
            '|' | '\\' | '`' | '*' | '_' | '<' | '[' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            // With an empty comment after the sign, a text such as a label does not mention a user.
            '@' => escaped.push_str("@<!-- -->"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Whether any cluster stays with another amount.
fn has_resizes(entries: &[Value]) -> bool {
    entries
        .iter()
        .any(|entry| entry["resizedCount"].as_u64().is_some())
}

fn headings(resizes: bool) -> Vec<&'static str> {
    let (last, first) = HEADINGS.split_last().expect("there are headings");
    let resizes = resizes.then_some(RESIZES);
    first.iter().copied().chain(resizes).chain([*last]).collect()
}

/// Returns the cells of one row, each styled and as plain text; with a cell for [`RESIZES`] if `resizes`.
fn cells(entry: &Value, resizes: bool) -> Vec<(Cell, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = match text(&entry["namespace"]) {
        namespace if namespace.is_empty() => text(&entry["name"]),
        namespace => format!("{namespace}/{}", text(&entry["name"])),
    };
    let verdict = text(&entry["verdict"]);
    let style = match verdict.as_str() {
        "Lost" | "Unplaced" => terminal::BAD,
        "Moved" | "Shrunk" | "Removed" => terminal::WARNING,
        "Same" => terminal::DIM,
        _ => terminal::GOOD,
    };
    let plain = |text: String| (Cell::plain(text.clone()), text);
    let mut cells = vec![
        plain(name),
        plain(text(&entry["kind"])),
        (Cell::new(verdict.clone(), style), verdict),
        plain(first_names(&entry["left"], &entry["leftCount"])),
        plain(first_names(&entry["joined"], &entry["joinedCount"])),
    ];
    if resizes {
        cells.push(plain(first_names(&entry["resized"], &entry["resizedCount"])));
    }
    cells.push(plain(explanation(entry)));
    cells
}

/// Returns the text of one entry of a list: a name, or a cluster with the amounts before and after.
fn entry_text(entry: &Value) -> Option<String> {
    if let Some(name) = entry.as_str() {
        return Some(name.to_owned());
    }
    let AmountChange {
        cluster_name,
        from,
        to,
    } = AmountChange::deserialize(entry).ok()?;
    let amount = |amount: Option<i64>| amount.map_or_else(|| "–".to_owned(), |amount| amount.to_string());
    Some(format!("{cluster_name} {} → {}", amount(from), amount(to)))
}

/// Returns the first names of a list, and the number of the rest.
fn first_names(names: &Value, count: &Value) -> String {
    let names: Vec<String> = names
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(entry_text)
        .take(NAMES_LIMIT)
        .collect();
    let rest = count
        .as_u64()
        .unwrap_or_default()
        .saturating_sub(names.len() as u64);
    match rest {
        0 => names.join(", "),
        rest => format!("{} and {rest} more", names.join(", ")),
    }
}

/// Returns the new reason against the first cluster that the request leaves; without such a reason, the
/// message of the new decision.
fn explanation(entry: &Value) -> String {
    let first_left = entry["left"][0].as_str();
    let candidates = entry["candidates"].as_array().into_iter().flatten();
    let reason = candidates
        .filter(|candidate| candidate["clusterName"].as_str() == first_left)
        .find_map(|candidate| candidate["appeared"].as_array()?.first());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match reason {
        Some(reason) => {
            let (plugin, token) = (text(&reason["plugin"]), text(&reason["reason"]));
            let token = [plugin, token].into_iter().filter(|part| !part.is_empty());
            format!(
                "{}: {}",
                token.collect::<Vec<_>>().join("/"),
                text(&reason["message"])
            )
        }
        None => text(&entry["after"]["message"]),
    }
}

#[cfg(test)]
mod tests;
