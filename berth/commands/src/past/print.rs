//! Output of a history: one record after another, newest last, each with the added and removed clusters.

use std::io::{self, Write};

use berth_dialect_contract::amounts;
use berth_scheduling_api::record::{
    self, CauseType, DecisionHistory, HistoryStatus, Move, MovedCluster, ReasonChange, RecordAgreement,
    RecordSpec, RecordedState,
};
use berth_scheduling_api::shared::{Manifest, SourceRef};

use super::Answer;
use crate::args::HistoryOutput;
use crate::terminal::{self, indented, shown, wrapped};

/// Prints the history in `answer`, which `words` name, in the form of `output`.
///
/// # Errors
/// When `out` fails.
pub(super) fn print(
    out: &mut impl Write,
    output: HistoryOutput,
    answer: &Answer,
    words: &str,
    width: Option<usize>,
) -> io::Result<()> {
    match output {
        HistoryOutput::Json => writeln!(out, "{}", serde_json::to_string_pretty(&answer.json)?),
        HistoryOutput::Yaml => {
            let text = serde_saphyr::to_string(&answer.json).map_err(io::Error::other)?;
            writeln!(out, "{}", text.trim_end())
        }
        HistoryOutput::Table => timeline(out, &answer.history, words, width),
    }
}

/// Prints the table form of a history.
fn timeline(
    out: &mut impl Write,
    history: &Manifest<DecisionHistory>,
    words: &str,
    width: Option<usize>,
) -> io::Result<()> {
    let Some(status) = &history.body.status else {
        return Ok(());
    };
    match status.records.last() {
        None => writeln!(out, "No changes of \"{}\" are recorded.", shown(words))?,
        Some(newest) => {
            let [namespace, name] = ["namespace", "name"].map(|field| history.metadata(field));
            writeln!(out, "{}", heading(namespace, name, &newest.spec.source_ref))?;
        }
    }
    if let Some(more @ 1..) = status.remaining_records {
        writeln!(out, "{}", terminal::dim(&format!("{more} older")))?;
    }
    for record in &status.records {
        writeln!(out)?;
        print_record(out, &record.spec, width)?;
    }
    if !status.records.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{}", terminal::dim(&indented(&retention(status), 0, width)))
}

/// Returns the heading of a decision, such as `team/p.ocm (Placement p)`.
pub(super) fn heading(namespace: &str, name: &str, source: &SourceRef) -> String {
    let place = match namespace {
        "" => shown(name),
        namespace => format!("{}/{}", shown(namespace), shown(name)),
    };
    let object = format!("({} {})", shown(&source.kind), shown(&source.name));
    format!("{} {}", terminal::heading(&place), terminal::dim(&object))
}

/// Prints one record: time, verdict, cause and user of the change, then the differences of the decision.
pub(super) fn print_record(
    out: &mut impl Write,
    record: &RecordSpec,
    width: Option<usize>,
) -> io::Result<()> {
    print_cause(out, record, width)?;
    print_phases(out, record, width)?;
    clusters(out, record, Move::Joined, width)?;
    clusters(out, record, Move::Left, width)?;
    resizes(out, record)?;
    for reason in &record.reasons {
        reasons(out, reason)?;
    }
    match &record.agreement {
        Some(entry) => agreement(out, entry, width),
        // Berth made the decision itself.
        None => Ok(()),
    }
}

/// Prints time, verdict, cause and user of a change.
fn print_cause(out: &mut impl Write, record: &RecordSpec, width: Option<usize>) -> io::Result<()> {
    let change = shown(&record.change);
    let verdict = match change.as_str() {
        "Bound" | "Fits" | "Grown" | "Resized" => terminal::good(&change),
        "Lost" | "Unplaced" => terminal::bad(&change),
        "Moved" | "Shrunk" | "Removed" => terminal::warning(&change),
        other => terminal::dim(other),
    };
    let (cause, actor) = cause_and_actor(record);
    let moment = moment(record);
    let length = format!("{moment}  {change}  {cause}{actor}").chars().count();
    let moment = terminal::heading(&moment);
    match width.filter(|width| length > *width) {
        None => writeln!(out, "{moment}  {verdict}  {cause}{}", terminal::dim(&actor)),
        Some(_) => {
            let line = indented(&format!("{cause}{actor}"), 2, width);
            writeln!(out, "{moment}  {verdict}\n{line}")
        }
    }
}

/// Prints the phases before and after a change, and the message of the decision.
fn print_phases(out: &mut impl Write, record: &RecordSpec, width: Option<usize>) -> io::Result<()> {
    let phase = |side: &RecordedState| match side.reason.as_str() {
        "" => shown(&side.phase),
        reason => format!("{} ({})", shown(&side.phase), shown(reason)),
    };
    let (from, to) = (record.from.as_ref(), record.to.as_ref());
    let phases = match (from.map(phase), to.map(phase)) {
        (Some(from), Some(to)) if from == to => to,
        (Some(from), Some(to)) => format!("{from} → {to}"),
        (None, Some(to)) => to,
        (Some(from), None) => format!("{from} → gone"),
        (None, None) => String::new(),
    };
    match to.map_or("", |to| &to.message) {
        "" => writeln!(out, "  {phases}"),
        message => {
            let line = indented(&format!("{phases}: {}", shown(message)), 2, width);
            writeln!(out, "{line}")
        }
    }
}

/// Prints whether Berth agreed with another scheduler's change.
fn agreement(out: &mut impl Write, agreement: &RecordAgreement, width: Option<usize>) -> io::Result<()> {
    let message = shown(&agreement.message);
    let sentence = match agreement.status.as_str() {
        "True" => terminal::good("  Berth agrees"),
        "False" => terminal::warning(&indented(&message, 2, width)),
        _ => {
            let sentence = format!("it is unknown whether Berth agrees: {message}");
            terminal::dim(&indented(&sentence, 2, width))
        }
    };
    writeln!(out, "{sentence}")
}

/// Prints the clusters that were added (`Joined`) or removed (`Left`), each with the score or the rejections.
fn clusters(out: &mut impl Write, record: &RecordSpec, part: Move, width: Option<usize>) -> io::Result<()> {
    let (sign, count, style) = match part {
        Move::Joined => ('+', record.joined_count, terminal::good as fn(&str) -> String),
        Move::Left => ('-', record.left_count, terminal::bad as fn(&str) -> String),
    };
    let moved = record.clusters.iter();
    let moved: Vec<&MovedCluster> = moved.filter(|cluster| cluster.change == part).collect();
    for cluster in &moved {
        let name = format!("{sign} {}", shown(&cluster.cluster_name));
        let mut words = Vec::new();
        if let Some(score) = cluster.score {
            let parts = cluster.scores.iter();
            let parts: Vec<String> = parts
                .map(|part| format!("{} {}", shown(&part.plugin), part.weighted))
                .collect();
            words.push(match parts.as_slice() {
                [] => format!("score {score}"),
                parts => format!("score {score} ({})", parts.join(", ")),
            });
        }
        for refusal in &cluster.rejections {
            let [plugin, reason] = [&refusal.plugin, &refusal.reason].map(|text| shown(text));
            words.push(format!("{plugin}/{reason}: {}", shown(&refusal.message)));
        }
        name_and_words(out, &name, style, &words.join("  "), width)?;
    }
    let more = count.saturating_sub(moved.len());
    if more > 0 {
        writeln!(out, "  {}", style(&format!("{sign} {more} more")))?;
    }
    Ok(())
}

/// Writes `name` in `style`, followed by `words`, wrapped to fit `width`.
fn name_and_words(
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
        Some(width) if width > 2 * indent => wrapped(words, width - indent),
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

/// Writes the clusters that stay with another amount.
fn resizes(out: &mut impl Write, record: &RecordSpec) -> io::Result<()> {
    let amounts_of = |side: &Option<RecordedState>| {
        let clusters = side.as_ref().map(|side| side.clusters.as_slice());
        record::held(clusters.unwrap_or_default())
    };
    for entry in amounts::changes(&amounts_of(&record.from), &amounts_of(&record.to)) {
        writeln!(out, "  ~ {}", shown(&entry.to_string()))?;
    }
    Ok(())
}

/// Writes the number of targets that are refused for one reason, if that number changed.
fn reasons(out: &mut impl Write, reason: &ReasonChange) -> io::Result<()> {
    let change = match (reason.from, reason.to) {
        (Some(from), Some(to)) if from == to => return Ok(()),
        (Some(from), Some(to)) => format!("{from} → {to}"),
        (None, Some(to)) => to.to_string(),
        // The reasons were not counted after the change.
        (_, None) => return Ok(()),
    };
    let name = format!("{}/{}", shown(&reason.plugin), shown(&reason.reason));
    let targets = match reason.to {
        Some(1) => "target",
        _ => "targets",
    };
    writeln!(
        out,
        "  {}",
        terminal::dim(&format!("{name} refuses {change} {targets}"))
    )
}

/// Returns the texts of the cause and of the user of a change.
fn cause_and_actor(record: &RecordSpec) -> (String, String) {
    let (cause, actor) = (&record.cause, &record.actor);
    let cause_text = match cause.r#type {
        CauseType::Object => {
            let [namespace, name] = [&cause.namespace, &cause.name].map(|text| shown(text));
            let place = match (namespace.as_str(), name.as_str()) {
                ("", "") => "in another namespace".to_owned(),
                ("", name) => name.to_owned(),
                (namespace, name) => format!("{namespace}/{name}"),
            };
            let by = match shown(&cause.field_manager).as_str() {
                // The field manager is unknown.
                "" | "unknown" => String::new(),
                manager => format!(" with {manager}"),
            };
            let more = match cause.more {
                0 => String::new(),
                1 => ", and 1 more change".to_owned(),
                more => format!(", and {more} more changes"),
            };
            let (kind, verb) = (shown(&cause.kind), shown(&cause.verb).to_lowercase());
            let version = shown(&cause.resource_version);
            format!("{kind} {place} was {verb}{by} (resourceVersion {version}){more}")
        }
        CauseType::Request => "a Binding was created".to_owned(),
        CauseType::Time => "re-evaluated (no object changed)".to_owned(),
        CauseType::Unseen => "seen at the start of a server (no server recorded the change)".to_owned(),
    };
    // The field manager is already part of the cause.
    let actor = match actor.user.as_str() {
        "" => String::new(),
        user => format!(", by {}", shown(user)),
    };
    (cause_text, actor)
}

/// Returns the time of a record, such as `2026-11-23 10:14:03Z`, in UTC as every time of the API.
fn moment(record: &RecordSpec) -> String {
    let at = shown(&record.at);
    let seconds = at.get(..19).unwrap_or(&at);
    format!("{}Z", seconds.replace('T', " "))
}

/// Returns a sentence about the number of stored records, the time for which they are stored, and the
/// storage.
fn retention(status: &HistoryStatus) -> String {
    let each = status.per_decision;
    if each == 0 {
        return "The server records no changes: --history-per-decision is 0.".to_owned();
    }
    let age = match status.max_age_seconds {
        0 => String::new(),
        3600 => ", for 1 hour".to_owned(),
        seconds if seconds % 3600 == 0 => format!(", for {} hours", seconds / 3600),
        seconds => format!(", for {seconds} seconds"),
    };
    let medium = match &*status.kept_in {
        "Memory" => "in memory, since the start of the server",
        "Etcd" => "in etcd",
        _ => "in the server's database",
    };
    let changes = match each {
        1 => "The last change".to_owned(),
        _ => format!("The last {each} changes"),
    };
    format!("{changes}{age}, {medium}.")
}

#[cfg(test)]
mod tests;
