//! How a history is printed: one step after the other, newest last, each with what came and went.

use std::io::{self, Write};

use berth_dialect_contract::amounts::{self, Held};
use serde_json::Value;

use crate::args::HistoryOutput;
use crate::terminal::{self, broken, indented, shown};

/// Prints `history`, which `words` asked for.
///
/// # Errors
/// When `out` takes no more.
pub(super) fn print(
    out: &mut impl Write,
    output: HistoryOutput,
    history: &Value,
    words: &str,
    width: Option<usize>,
) -> io::Result<()> {
    match output {
        HistoryOutput::Json => writeln!(out, "{}", serde_json::to_string_pretty(history)?),
        HistoryOutput::Yaml => {
            let text = serde_saphyr::to_string(history).map_err(io::Error::other)?;
            writeln!(out, "{}", text.trim_end())
        }
        HistoryOutput::Table => timeline(out, history, words, width),
    }
}

fn timeline(out: &mut impl Write, history: &Value, words: &str, width: Option<usize>) -> io::Result<()> {
    let status = &history["status"];
    let records = list(status, "records");
    match records.last() {
        None => writeln!(out, "No change of \"{}\" is remembered.", shown(words))?,
        Some(newest) => {
            let place = match text(&history["metadata"], "namespace").as_str() {
                "" => text(&history["metadata"], "name"),
                namespace => format!("{namespace}/{}", text(&history["metadata"], "name")),
            };
            let source = &newest["sourceRef"];
            let object = format!("({} {})", text(source, "kind"), text(source, "name"));
            writeln!(out, "{} {}", terminal::heading(&place), terminal::dim(&object))?;
        }
    }
    if let Some(more @ 1..) = status["remainingRecords"].as_u64() {
        writeln!(out, "{}", terminal::dim(&format!("{more} older")))?;
    }
    for record in records {
        writeln!(out)?;
        step(out, record, width)?;
    }
    if !records.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{}", terminal::dim(&indented(&kept(status), 0, width)))
}

/// One change: when, what, why and by whom, then the difference it made.
fn step(out: &mut impl Write, record: &Value, width: Option<usize>) -> io::Result<()> {
    let change = text(record, "change");
    let told = match change.as_str() {
        "Bound" | "Fits" | "Grown" | "Resized" => terminal::good(&change),
        "Lost" | "Unplaced" => terminal::bad(&change),
        "Moved" | "Shrunk" | "Removed" => terminal::warning(&change),
        other => terminal::dim(other),
    };
    let (cause, actor) = why(record);
    let moment = moment(record);
    let long = format!("{moment}  {change}  {cause}{actor}").chars().count();
    let moment = terminal::heading(&moment);
    match width.filter(|width| long > *width) {
        None => writeln!(out, "{moment}  {told}  {cause}{}", terminal::dim(&actor))?,
        Some(_) => {
            let line = indented(&format!("{cause}{actor}"), 2, width);
            writeln!(out, "{moment}  {told}\n{line}")?;
        }
    }
    let side = |field: &str| match &record[field] {
        Value::Null => None,
        side => Some((text(side, "phase"), text(side, "reason"), text(side, "message"))),
    };
    let phase = |(phase, reason, _): &(String, String, String)| match reason.as_str() {
        "" => phase.clone(),
        reason => format!("{phase} ({reason})"),
    };
    let (from, to) = (side("from"), side("to"));
    let phases = match (&from, &to) {
        (Some(from), Some(to)) if phase(from) == phase(to) => phase(to),
        (Some(from), Some(to)) => format!("{} → {}", phase(from), phase(to)),
        (None, Some(to)) => phase(to),
        (Some(from), None) => format!("{} → gone", phase(from)),
        (None, None) => String::new(),
    };
    match to
        .map(|(.., message)| message)
        .filter(|message| !message.is_empty())
    {
        Some(message) => {
            let line = indented(&format!("{phases}: {message}"), 2, width);
            writeln!(out, "{line}")?;
        }
        None => writeln!(out, "  {phases}")?,
    }
    clusters(out, record, "Joined", "joinedCount", width)?;
    clusters(out, record, "Left", "leftCount", width)?;
    resized(out, record)?;
    for reason in list(record, "reasons") {
        reasons(out, reason)?;
    }
    agreement(out, &record["agreement"], width)
}

/// Whether Berth agreed with what another scheduler did.
fn agreement(out: &mut impl Write, agreement: &Value, width: Option<usize>) -> io::Result<()> {
    let message = text(agreement, "message");
    let told = match text(agreement, "status").as_str() {
        "True" => terminal::good("  Berth agrees"),
        "False" => terminal::warning(&indented(&message, 2, width)),
        "Unknown" => {
            let told = format!("whether Berth agrees cannot be said: {message}");
            terminal::dim(&indented(&told, 2, width))
        }
        // Berth decided it.
        _ => return Ok(()),
    };
    writeln!(out, "{told}")
}

/// The clusters that came or went, and what was said of each.
fn clusters(
    out: &mut impl Write,
    record: &Value,
    part: &str,
    count: &str,
    width: Option<usize>,
) -> io::Result<()> {
    let (sign, style) = match part {
        "Joined" => ('+', terminal::good as fn(&str) -> String),
        _ => ('-', terminal::bad as fn(&str) -> String),
    };
    let moved = list(record, "clusters").iter();
    let moved: Vec<&Value> = moved.filter(|cluster| cluster["change"] == part).collect();
    for cluster in &moved {
        let name = format!("{sign} {}", text(cluster, "clusterName"));
        let mut words = Vec::new();
        if let Some(score) = cluster["score"].as_i64() {
            let parts = list(cluster, "scores").iter();
            let parts: Vec<String> = parts
                .map(|part| format!("{} {}", text(part, "plugin"), part["weighted"]))
                .collect();
            words.push(match parts.as_slice() {
                [] => format!("score {score}"),
                parts => format!("score {score} ({})", parts.join(", ")),
            });
        }
        for refusal in list(cluster, "rejections") {
            let (plugin, reason) = (text(refusal, "plugin"), text(refusal, "reason"));
            words.push(format!("{plugin}/{reason}: {}", text(refusal, "message")));
        }
        beside(out, &name, style, &words.join("  "), width)?;
    }
    let more = record[count]
        .as_u64()
        .unwrap_or_default()
        .saturating_sub(moved.len() as u64);
    if more > 0 {
        writeln!(out, "  {}", style(&format!("{sign} {more} more")))?;
    }
    Ok(())
}

/// `name` in its style, and `words` behind it, broken to fit the terminal.
fn beside(
    out: &mut impl Write,
    name: &str,
    style: fn(&str) -> String,
    words: &str,
    width: Option<usize>,
) -> io::Result<()> {
    if words.is_empty() {
        return writeln!(out, "  {}", style(name));
    }
    let indent = 4 + name.chars().count();
    let lines = match width {
        Some(width) if width > 2 * indent => broken(words, width - indent),
        Some(width) => {
            writeln!(out, "  {}", style(name))?;
            return writeln!(out, "{}", indented(words, 6, Some(width)));
        }
        None => vec![words.to_owned()],
    };
    let mut first = format!("  {}  ", style(name));
    for line in lines {
        writeln!(out, "{first}{line}")?;
        first = " ".repeat(indent);
    }
    Ok(())
}

/// The clusters that stay with another amount.
fn resized(out: &mut impl Write, record: &Value) -> io::Result<()> {
    let held = |side: &str| -> Held {
        let places = list(&record[side], "clusters").iter();
        places
            .filter(|place| place["leaving"] != true)
            .map(|place| (text(place, "clusterName"), place["amount"].as_i64()))
            .collect()
    };
    for entry in amounts::resized(&held("from"), &held("to")) {
        writeln!(out, "  ~ {}", shown(&entry.to_string()))?;
    }
    Ok(())
}

/// How many targets one reason refuses, where that is another number than before.
fn reasons(out: &mut impl Write, reason: &Value) -> io::Result<()> {
    let (from, to) = (reason["from"].as_i64(), reason["to"].as_i64());
    let told = match (from, to) {
        (Some(from), Some(to)) if from == to => return Ok(()),
        (Some(from), Some(to)) => format!("{from} → {to}"),
        (None, Some(to)) => to.to_string(),
        // Nobody counted after it.
        (_, None) => return Ok(()),
    };
    let name = format!("{}/{}", text(reason, "plugin"), text(reason, "reason"));
    let targets = match to {
        Some(1) => "target",
        _ => "targets",
    };
    writeln!(
        out,
        "  {}",
        terminal::dim(&format!("{name} refuses {told} {targets}"))
    )
}

/// Why it changed, and who changed it.
fn why(record: &Value) -> (String, String) {
    let (cause, actor) = (&record["cause"], &record["actor"]);
    let told = match text(cause, "type").as_str() {
        "Object" => {
            let place = match (text(cause, "namespace").as_str(), text(cause, "name").as_str()) {
                ("", "") => "in another namespace".to_owned(),
                ("", name) => name.to_owned(),
                (namespace, name) => format!("{namespace}/{name}"),
            };
            let by = match text(cause, "fieldManager").as_str() {
                // Nobody said who it was.
                "" | "unknown" => String::new(),
                manager => format!(" with {manager}"),
            };
            let more = match cause["more"].as_u64() {
                Some(more @ 1..) => format!(", and {more} more changes"),
                _ => String::new(),
            };
            let (kind, verb) = (text(cause, "kind"), text(cause, "verb").to_lowercase());
            let version = text(cause, "resourceVersion");
            format!("{kind} {place} was {verb}{by} (resourceVersion {version}){more}")
        }
        "Request" => "a Binding was created".to_owned(),
        "Time" => "decided again: a time that was set had come".to_owned(),
        "Unseen" => "while no server recorded".to_owned(),
        other => other.to_owned(),
    };
    let actor = match (text(actor, "user"), text(actor, "fieldManager")) {
        (user, _) if !user.is_empty() => format!(", by {user}"),
        // The cause has named it.
        (_, _) => String::new(),
    };
    (told, actor)
}

/// `2026-11-23 10:14:03`, in UTC as every time of the API.
fn moment(record: &Value) -> String {
    let at = text(record, "at");
    let seconds = at.get(..19).unwrap_or(&at);
    format!("{}Z", seconds.replace('T', " "))
}

/// How long it is remembered.
fn kept(status: &Value) -> String {
    let each = match status["perDecision"].as_u64() {
        Some(0) => return "The server remembers no changes: --history-per-decision is 0.".to_owned(),
        Some(each) => each,
        None => return String::new(),
    };
    let age = match status["maxAgeSeconds"].as_u64().unwrap_or_default() {
        0 => String::new(),
        3600 => ", for 1 hour".to_owned(),
        seconds if seconds % 3600 == 0 => format!(", for {} hours", seconds / 3600),
        seconds => format!(", for {seconds} seconds"),
    };
    let medium = match text(status, "keptIn").as_str() {
        "Memory" => "in memory: it begins when the server was started",
        "Etcd" => "in etcd",
        _ => "in the server's database",
    };
    format!("The last {each} changes{age}, {medium}.")
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text, made harmless for a terminal.
fn text(value: &Value, field: &str) -> String {
    shown(value[field].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests;
