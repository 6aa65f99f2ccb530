//! Output of advice: edit by edit, each with the clusters that it makes fit.

use std::io::{self, Write};

use serde_json::Value;

use crate::terminal::{self, indented, shown};

/// Highest number of edits that are listed without their commands.
const EDITS: usize = 6;
/// Highest number of clusters of an edit that are named.
const NAMES_LIMIT: usize = 3;

/// An edit, and the clusters that then fit.
struct Edit<'a> {
    set: &'a Value,
    /// The changes in words, without the name of the cluster.
    words: String,
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
        edits.len().min(EDITS)
    };
    for (number, edit) in (1..).zip(&edits[..shown_edits]) {
        print_edit(out, number, edit, commands, width)?;
    }
    let mut dim = |text: String| writeln!(out, "{}", terminal::dim(&indented(&text, 2, width)));
    if edits.is_empty() && targets.is_empty() {
        dim("There is no cluster that it could go to and does not.".to_owned())?;
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
            "The nearest {} clusters were tried, {rest} more were not: --limit takes more, --cluster one.",
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
        for set in list(target, "advice") {
            let words = words(set, &text(target, "clusterName"));
            let same = |edit: &&mut Edit<'_>| edit.words == words && edit.set["then"] == set["then"];
            match edits.iter_mut().find(same) {
                Some(edit) => edit.targets.push(target),
                None => edits.push(Edit {
                    set,
                    words,
                    targets: vec![target],
                }),
            }
        }
    }
    edits.sort_by_key(|edit| {
        let owner = list(edit.set, "changes").iter().map(owner).max();
        let is_picked = edit.set["then"] == "Picked";
        let size = list(edit.set, "changes").len();
        (owner, !is_picked, size, std::cmp::Reverse(edit.targets.len()))
    });
    edits
}

/// Owner of a change, as a number to sort by: the nearer to the user, the lower.
fn owner(change: &Value) -> u8 {
    match text(change, "whose").as_str() {
        "Request" => 0,
        "Fleet" => 1,
        _ => 2,
    }
}

/// The changes of `set` in words, without the name of `cluster`, so that the words for several clusters are
/// equal.
fn words(set: &Value, cluster: &str) -> String {
    let changes = list(set, "changes").iter();
    let changes: Vec<String> = changes
        .map(|change| without_name(&text(change, "message"), cluster))
        .collect();
    changes.join("; ")
}

/// `message` with … for each word that equals `name`. A part of a longer word, such as a label, does not
/// count.
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
    let is_picked = edit.set["then"] == "Picked";
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
    for sentence in owners(edit.set) {
        writeln!(out, "{}", terminal::warning(&indented(&sentence, 5, width)))?;
    }
    if commands {
        for target in &edit.targets {
            let sets = list(target, "advice").iter();
            let matching_sets = sets.filter(|set| words(set, &text(target, "clusterName")) == edit.words);
            for patch in matching_sets.flat_map(|set| list(set, "patches")) {
                let line = match text(patch, "command") {
                    none if none.is_empty() => format!("{} {}", text(patch, "kind"), text(patch, "name")),
                    line => line,
                };
                // A command for a shell stays on one line.
                writeln!(out, "     {}", terminal::dim(&line))?;
            }
            if edit.targets.len() > 1 && list(edit.set, "changes").iter().all(|change| owner(change) == 0) {
                break;
            }
        }
    }
    Ok(())
}

/// Sentences about the owners of changes that are not the user's.
fn owners(set: &Value) -> Vec<String> {
    let mut sentences = Vec::new();
    let farthest_owner = list(set, "changes").iter().map(owner).max().unwrap_or_default();
    let is_forbidden = set["allowed"] == false;
    match (farthest_owner, is_forbidden) {
        (0, false) => {}
        (0, true) => sentences.push("you may not change all of it".to_owned()),
        (1, _) => sentences.push("an administrator has to change it".to_owned()),
        (_, true) => sentences.push("the owner of the cluster has to change it; you may not".to_owned()),
        (_, false) => sentences.push("the owner of the cluster has to change it".to_owned()),
    }
    sentences
}

/// Notes about rejections, each with the number of these rejections.
fn notes(targets: &[Value]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for target in targets {
        let notes = list(target, "rejections")
            .iter()
            .map(|rejection| text(rejection, "note"));
        for note in notes.filter(|note| !note.is_empty()) {
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
