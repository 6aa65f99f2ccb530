//! Output of advice: the edits one by one, each with the clusters that would then fit.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde_json::Value;

use crate::terminal::{self, indented, shown};

/// Highest number of edits that are listed without their commands.
const EDITS_LIMIT: usize = 6;
/// Highest number of clusters of an edit that are named.
const NAMES_LIMIT: usize = 3;

/// One edit, and the clusters that would fit after it.
struct Edit<'a> {
    /// The advice about the first of the clusters.
    advice: &'a Value,
    /// Sentence about the changes, without the name of the cluster.
    words: String,
    /// The clusters.
    targets: Vec<&'a Value>,
}

/// Prints the advice of `status`. With `commands`, every edit is printed, with its lines for a shell.
///
/// # Errors
/// When `out` fails.
pub fn edits(out: &mut impl Write, status: &Value, commands: bool, width: Option<usize>) -> io::Result<()> {
    let targets = list(status, "targets");
    let edits = edits_of(targets);
    let shown_edits = if commands {
        edits.len()
    } else {
        edits.len().min(EDITS_LIMIT)
    };
    for (number, edit) in (1..).zip(&edits[..shown_edits]) {
        print_edit(out, number, edit, commands, width)?;
    }
    let mut dim = |text: String| writeln!(out, "{}", terminal::dim(&indented(&text, 2, width)));
    if edits.is_empty() && targets.is_empty() {
        dim("There is no further cluster that it could use.".to_owned())?;
    } else if edits.is_empty() {
        dim("No single change makes one of these clusters fit.".to_owned())?;
    }
    for (note, count) in notes(targets) {
        let clusters = if count == 1 {
            "1 cluster".to_owned()
        } else {
            format!("{count} clusters")
        };
        dim(format!("{clusters}: {note}"))?;
    }
    match edits.len() - shown_edits {
        0 => {}
        1 => dim("and 1 more way: -o wide shows all, with the commands".to_owned())?,
        more => dim(format!(
            "and {more} more ways: -o wide shows all, with the commands"
        ))?,
    }
    if !commands && !edits.is_empty() && edits.len() == shown_edits {
        dim("-o wide shows the commands that make each change".to_owned())?;
    }
    if let Some(rest @ 1..) = status["remainingTargets"].as_u64() {
        dim(format!(
            "The nearest {} clusters were tried, {rest} more were not: see berth advice --limit and --cluster.",
            targets.len()
        ))?;
    }
    match status["gaveUp"].as_str().filter(|why| !why.is_empty()) {
        Some(why) => dim(format!("The search ended early: {}", shown(why))),
        None if targets.iter().any(|target| target["gaveUp"] == true) => {
            dim("There may be further changes that were not tried.".to_owned())
        }
        None => Ok(()),
    }
}

/// The edits of all `targets`. Edits that the user can make come first, then edits that place the object,
/// then the smallest edits, then edits that make the most clusters fit.
fn edits_of(targets: &[Value]) -> Vec<Edit<'_>> {
    let mut edits: Vec<Edit<'_>> = Vec::new();
    for target in targets {
        for advice in list(target, "advice") {
            let words = words(advice, &text(target, "clusterName"));
            let same = |edit: &&mut Edit<'_>| edit.words == words && edit.advice["then"] == advice["then"];
            match edits.iter_mut().find(same) {
                Some(edit) => edit.targets.push(target),
                None => edits.push(Edit {
                    advice,
                    words,
                    targets: vec![target],
                }),
            }
        }
    }
    edits.sort_by_key(|edit| {
        let owner = list(edit.advice, "changes").iter().map(owner).max();
        let is_picked = edit.advice["then"] == "Picked";
        let size = list(edit.advice, "changes").len();
        (owner, !is_picked, size, std::cmp::Reverse(edit.targets.len()))
    });
    edits
}

/// Owner of the changed object, as a number to sort by: 0 for the user, 1 for an administrator, 2 for the
/// owner of the cluster.
fn owner(change: &Value) -> u8 {
    match text(change, "whose").as_str() {
        "Request" => 0,
        "Fleet" => 1,
        _ => 2,
    }
}

/// Returns the changes of `advice` in words, without the name of `cluster`, so that the words for several
/// clusters are equal.
fn words(advice: &Value, cluster: &str) -> String {
    let changes = list(advice, "changes").iter();
    let changes: Vec<String> = changes
        .map(|change| without_name(&text(change, "message"), cluster))
        .collect();
    changes.join("; ")
}

/// Replaces each word of `message` that equals `name` by `…`. A part of a longer word, such as a label, is
/// not replaced.
fn without_name(message: &str, name: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || "-._/=".contains(letter);
    let mut replaced = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(name).filter(|_| !name.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let begins = !before
            .chars()
            .next_back()
            .or(replaced.chars().next_back())
            .is_some_and(is_part);
        let ends = !after.chars().next().is_some_and(is_part);
        replaced.push_str(before);
        replaced.push_str(if begins && ends { "…" } else { name });
        rest = after;
    }
    replaced + rest
}

fn print_edit(
    out: &mut impl Write,
    number: usize,
    edit: &Edit<'_>,
    commands: bool,
    width: Option<usize>,
) -> io::Result<()> {
    let is_picked = edit.advice["then"] == "Picked";
    let (clusters, then) = match edit.targets.as_slice() {
        [one] if is_picked => (target_name(one), "would be picked"),
        [one] => (target_name(one), "would fit, others rank higher"),
        several if is_picked => (
            format!("{} clusters", several.len()),
            "would be picked, each by this alone",
        ),
        several => (format!("{} clusters", several.len()), "would fit"),
    };
    // With only one cluster, the change names the cluster.
    let subject = match edit.targets.as_slice() {
        [one] => edit.words.replace('…', &text(one, "clusterName")),
        _ => edit.words.clone(),
    };
    let number = format!("  {number}. ");
    let lines = indented(&subject, number.len(), width);
    writeln!(out, "{number}{}", lines.trim_start())?;
    let outcome = indented(&format!("→ {clusters} {then}"), 5, width);
    let outcome = if is_picked {
        terminal::good(&outcome)
    } else {
        outcome
    };
    writeln!(out, "{outcome}")?;
    if let [_, _, ..] = edit.targets.as_slice() {
        let names: Vec<String> = edit
            .targets
            .iter()
            .take(NAMES_LIMIT)
            .map(|target| target_name(target))
            .collect();
        let more = match edit.targets.len().saturating_sub(NAMES_LIMIT) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let line = indented(&format!("{}{more}", names.join(", ")), 5, width);
        writeln!(out, "{}", terminal::dim(&line))?;
    }
    if let Some(sentence) = missing_right(edit.advice) {
        writeln!(out, "{}", terminal::warning(&indented(sentence, 5, width)))?;
    }
    match commands {
        true => print_commands(out, edit),
        false => Ok(()),
    }
}

/// Prints the commands of an edit for a shell, each on one line.
fn print_commands(out: &mut impl Write, edit: &Edit<'_>) -> io::Result<()> {
    // A change of the request is the same for every cluster.
    let is_of_request = list(edit.advice, "changes")
        .iter()
        .all(|change| owner(change) == 0);
    let targets = match is_of_request {
        true => &edit.targets[..1],
        false => &edit.targets[..],
    };
    for target in targets {
        let all = list(target, "advice").iter();
        let of_edit = all.filter(|advice| words(advice, &text(target, "clusterName")) == edit.words);
        for patch in of_edit.flat_map(|advice| list(advice, "patches")) {
            let line = match text(patch, "command") {
                none if none.is_empty() => format!("{} {}", text(patch, "kind"), text(patch, "name")),
                line => line,
            };
            writeln!(out, "     {}", terminal::dim(&line))?;
        }
    }
    Ok(())
}

/// Sentence about the person who has to make the changes of `advice`; `None` if the user may make them.
fn missing_right(advice: &Value) -> Option<&'static str> {
    let owner = list(advice, "changes")
        .iter()
        .map(owner)
        .max()
        .unwrap_or_default();
    let is_forbidden = advice["allowed"] == false;
    match (owner, is_forbidden) {
        (0, false) => None,
        (0, true) => Some("you may not change all of it"),
        (1, _) => Some("an administrator has to change it"),
        (_, true) => Some("the owner of the cluster has to change it; you may not"),
        (_, false) => Some("the owner of the cluster has to change it"),
    }
}

/// Returns the notes about rejections, each with the number of targets that have the note.
fn notes(targets: &[Value]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for target in targets {
        let notes = list(target, "rejections")
            .iter()
            .map(|rejection| text(rejection, "note"));
        // Several rejections of one target may have the same note.
        let mut of_target = BTreeSet::new();
        for note in notes.filter(|note| !note.is_empty() && of_target.insert(note.clone())) {
            match counts.iter_mut().find(|(known, _)| *known == note) {
                Some((_, count)) => *count += 1,
                None => counts.push((note, 1)),
            }
        }
    }
    counts
}

fn target_name(target: &Value) -> String {
    match text(target, "target") {
        name if name.is_empty() => text(target, "clusterName"),
        name => name
            .rsplit_once('.')
            .map_or_else(|| name.clone(), |(name, _)| name.to_owned()),
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value, field: &str) -> String {
    shown(value[field].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests;
