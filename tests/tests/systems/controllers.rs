//! The controllers, from outside: decisions stay up to date while objects change. The absence of an effect is
//! proved by a later effect, and by the number of decisions.

#[cfg(debug_assertions)]
mod crash;
mod demo;
mod fleet;
mod gardener;
mod kcp;
mod ocm;
mod openmcp;
mod overcommit;
mod speed;
mod telemetry;

use berth_tests::{Server, eventually};
use serde_json::Value;

/// Number of decisions of the controllers of `dialect` so far, with any outcome.
fn decisions(server: &Server, dialect: &str) -> u64 {
    let series = format!("scheduler_schedule_attempts_total{{dialect=\"{dialect}\"");
    let text = server.kubectl("get --raw /metrics").succeeds();
    let lines = text.lines().filter(|line| line.starts_with(&series));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// The value of one series of `/metrics`, or 0 where it does not exist yet.
fn metric(server: &Server, series: &str) -> u64 {
    let text = server.kubectl("get --raw /metrics").succeeds();
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

/// Waits until the controllers of `dialect` have exactly `count` decisions.
fn counted(server: &Server, dialect: &str, count: u64) {
    eventually(&format!("{count} decisions to be counted"), || {
        (decisions(server, dialect) >= count).then_some(())
    });
    assert_eq!(decisions(server, dialect), count);
}

/// Merges `change` into the object `what`, such as `-n ns cluster one`.
fn patch(server: &Server, what: &str, change: &str) {
    let mut arguments = vec!["patch"];
    arguments.extend(what.split_whitespace());
    arguments.extend(["--type=merge", "-p", change]);
    server.kubectl_args(&arguments).succeeds();
}

/// The events of the object `name`, as `<type> <reason>`, and their notes.
fn events(server: &Server, namespace: &str, name: &str) -> Vec<(String, String)> {
    let list = server
        .kubectl(&format!(
            "-n {namespace} get events.events.k8s.io --field-selector regarding.name={name} -o json"
        ))
        .json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    items
        .iter()
        .map(|item| {
            (
                format!("{} {}", text(&item["type"]), text(&item["reason"])),
                text(&item["note"]),
            )
        })
        .collect()
}

/// Waits for an event `<type> <reason>` of the object `name`, and returns its note.
fn event(server: &Server, namespace: &str, name: &str, expected: &str) -> String {
    eventually(&format!("event {expected} on {name}"), || {
        let found = events(server, namespace, name)
            .into_iter()
            .find(|(what, _)| what == expected);
        found.map(|(_, note)| note)
    })
}

/// Sets the binding of new objects of `dialect`.
fn auto_bind(server: &Server, dialect: &str, mode: &str) {
    let text = format!(
        "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {{name: {dialect}}}\nspec: {{autoBind: \"{mode}\"}}\n"
    );
    server.kubectl("apply -f -").input(text).succeeds();
}
