//! How advice is printed: each target with its sets of changes, numbered, and the line for a shell under each.

use std::io::{self, Write};

use serde_json::Value;

use crate::terminal::{self, shown};

/// Prints the targets of `status`.
///
/// # Errors
/// When `out` takes no more.
pub fn targets(out: &mut impl Write, status: &Value) -> io::Result<()> {
    for target in list(status, "targets") {
        one(out, target)?;
    }
    if let Some(rest) = status["remainingTargets"].as_u64().filter(|rest| *rest > 0) {
        let line = format!("  and {rest} more targets: --limit shows more, --cluster one");
        writeln!(out, "{}", terminal::dim(&line))?;
    }
    match status["gaveUp"].as_str().filter(|why| !why.is_empty()) {
        Some(why) => writeln!(
            out,
            "  {}",
            terminal::warning(&format!("gave up: {}", shown(why)))
        ),
        None => Ok(()),
    }
}

fn one(out: &mut impl Write, target: &Value) -> io::Result<()> {
    let name = match text(target, "target") {
        name if name.is_empty() => text(target, "clusterName"),
        name => name,
    };
    let reasons: Vec<String> = list(target, "rejections").iter().map(reason).collect();
    let reasons = match reasons.as_slice() {
        [] => String::new(),
        some => format!(": {}", some.join("; ")),
    };
    writeln!(out, "{}{reasons}", terminal::heading(&name))?;
    for (number, set) in (1..).zip(list(target, "advice")) {
        let what: Vec<String> = list(set, "changes").iter().map(change).collect();
        let then = match (text(set, "then").as_str(), set["allowed"].as_bool()) {
            (then, Some(false)) => terminal::dim(&format!("(then {then}; you may not change all of it)")),
            (then, _) => terminal::good(&format!("(then {then})")),
        };
        writeln!(out, "  {number}. {} {then}", what.join("; "))?;
        for patch in list(set, "patches") {
            let line = match text(patch, "command") {
                none if none.is_empty() => format!("{} {}", text(patch, "kind"), text(patch, "name")),
                line => line,
            };
            writeln!(out, "     {}", terminal::dim(&line))?;
        }
    }
    for note in list(target, "rejections")
        .iter()
        .map(|rejection| text(rejection, "note"))
        .filter(|note| !note.is_empty())
    {
        writeln!(out, "  {} {note}", terminal::warning("note:"))?;
    }
    let untold = list(target, "rejections")
        .iter()
        .all(|rejection| text(rejection, "note").is_empty());
    if list(target, "advice").is_empty() && untold {
        writeln!(out, "  {}", terminal::dim("nothing that was tried helps"))?;
    }
    if target["gaveUp"] == true {
        writeln!(out, "  {}", terminal::dim("there may be more that was not tried"))?;
    }
    Ok(())
}

/// `label Seed a zone=x [Target]`: whose it is, unless it is the asker's.
fn change(change: &Value) -> String {
    match text(change, "whose").as_str() {
        "Request" => text(change, "message"),
        whose => format!("{} [{whose}]", text(change, "message")),
    }
}

fn reason(rejection: &Value) -> String {
    match text(rejection, "plugin").as_str() {
        "" => text(rejection, "message"),
        plugin => format!(
            "{plugin}/{}: {}",
            text(rejection, "reason"),
            text(rejection, "message")
        ),
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value, field: &str) -> String {
    shown(value[field].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sets_are_numbered_with_whose_they_are_and_the_line_that_makes_them() {
        let status = json!({
            "targets": [{
                "clusterName": "a", "target": "a.ocm",
                "rejections": [{"plugin": "P", "reason": "R", "message": "no \u{1b}[2J", "note": "mend it"}],
                "advice": [
                    {"then": "Picked", "allowed": true, "changes": [{"message": "tolerate it", "whose": "Request"}],
                     "patches": [{"command": "kubectl patch x", "kind": "X", "name": "x"}]},
                    {"then": "Feasible", "allowed": false, "changes": [{"message": "label it", "whose": "Target"}],
                     "patches": [{"kind": "Cluster", "name": "a"}]},
                ],
                "gaveUp": true,
            }],
            "remainingTargets": 2,
            "gaveUp": "too much",
        });
        let mut out = Vec::new();
        targets(&mut out, &status).unwrap();
        let plain = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert_eq!(
            plain,
            "a.ocm: P/R: no ^[[2J\n\
             \x20 1. tolerate it (then Picked)\n\
             \x20    kubectl patch x\n\
             \x20 2. label it [Target] (then Feasible; you may not change all of it)\n\
             \x20    Cluster a\n\
             \x20 note: mend it\n\
             \x20 there may be more that was not tried\n\
             \x20 and 2 more targets: --limit shows more, --cluster one\n\
             \x20 gave up: too much\n"
        );
    }
}
