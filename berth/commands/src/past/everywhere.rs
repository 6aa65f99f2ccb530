//! `berth history -A`: the newest changes of all decisions, newest first.

use std::cmp::Reverse;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use berth_apimachinery::Timestamp;
use berth_client::Client;
use berth_scheduling_api::API_VERSION;
use berth_scheduling_api::record::RecordSpec;
use http::Method;
use serde_json::{Value, json};

use super::print;
use crate::args::{HistoryOutput, HistoryQuestion};
use crate::terminal;
use crate::why::{self, missing};

/// Number of changes that are shown without `--limit`.
const DEFAULT_LIMIT: usize = 20;
/// Number of records in one page of a list.
const PAGE_LIMIT: usize = 500;
/// Resources with the records of namespaced and of cluster-scoped decisions.
const RESOURCES: [&str; 2] = ["decisionrecords", "clusterdecisionrecords"];

/// Requests the newest records, and prints them. Records that the caller may not read are left out,
/// with a note on standard error.
///
/// # Errors
/// When the server does not serve records, or refuses all of them, or no server answers.
pub(super) async fn run(question: &HistoryQuestion, client: &Client) -> Result<ExitCode> {
    let mut refusals = Vec::new();
    let mut records = Vec::new();
    for resource in RESOURCES {
        records.extend(list(client, resource, &mut refusals).await?);
    }
    if refusals.len() == RESOURCES.len() {
        bail!(
            "{}: {}",
            refusals.join("; "),
            missing::role_hint(client, "").await
        );
    }
    for message in refusals {
        crate::say_error!("note: left out: {}", terminal::shown(&message));
    }
    let count = records.len();
    let newest = newest(records, question.limit.unwrap_or(DEFAULT_LIMIT));
    let mut text = Vec::new();
    write(&mut text, question.output, &newest, count, terminal::width())?;
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    match out.write_all(&text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Returns all records of `resource`, from all pages. If the caller may not list them, the result is empty,
/// and the reason is added to `refusals`.
async fn list(client: &Client, resource: &str, refusals: &mut Vec<String>) -> Result<Vec<Value>> {
    let (mut all, mut token) = (Vec::new(), String::new());
    loop {
        let path = format!("/apis/{API_VERSION}/{resource}?limit={PAGE_LIMIT}{token}");
        match client.send(Method::GET, &path, None).await? {
            Ok(mut list) => {
                if let Some(items) = list["items"].as_array_mut() {
                    all.append(items);
                }
                match list["metadata"]["continue"].as_str() {
                    Some(next) if !next.is_empty() => token = format!("&continue={next}"),
                    _ => return Ok(all),
                }
            }
            Err(status) if status.code == 403 => {
                refusals.push(status.message);
                return Ok(Vec::new());
            }
            Err(status) if status.code == 404 => bail!(
                "the server does not serve the history of {API_VERSION}: Berth is not installed or is an older version, or the kubeconfig names another cluster"
            ),
            Err(status) => return Err(anyhow!("{}", status.message)),
        }
    }
}

/// Returns the newest `limit` of `records`, newest first; all records if `limit` is 0.
fn newest(mut records: Vec<Value>, limit: usize) -> Vec<Value> {
    let time = |record: &Value| {
        record["spec"]["at"]
            .as_str()
            .and_then(|at| at.parse::<Timestamp>().ok())
    };
    records.sort_by_key(|record| Reverse(time(record)));
    if limit > 0 {
        records.truncate(limit);
    }
    records
}

/// Writes `records`, which are the newest of `count` records.
fn write(
    out: &mut impl Write,
    output: HistoryOutput,
    records: &[Value],
    count: usize,
    width: Option<usize>,
) -> Result<()> {
    let list = || json!({"apiVersion": "v1", "kind": "List", "items": records});
    match output {
        HistoryOutput::Json => writeln!(out, "{}", serde_json::to_string_pretty(&list())?)?,
        HistoryOutput::Yaml => writeln!(out, "{}", serde_saphyr::to_string(&list())?.trim_end())?,
        HistoryOutput::Table if records.is_empty() => writeln!(out, "No changes are recorded.")?,
        HistoryOutput::Table => {
            for record in records {
                let spec: RecordSpec = why::read(&record["spec"])?;
                let namespace = record["metadata"]["namespace"].as_str().unwrap_or_default();
                writeln!(
                    out,
                    "{}",
                    print::heading(namespace, &spec.decision, &spec.source_ref)
                )?;
                print::print_record(out, &spec, width)?;
                writeln!(out)?;
            }
            let older = match count - records.len() {
                0 => String::new(),
                older => format!("; {older} older, --limit 0 shows all"),
            };
            let noun = if records.len() == 1 { "change" } else { "changes" };
            let total = format!("{} {noun}, newest first{older}", records.len());
            writeln!(out, "{}", terminal::dim(&terminal::indented(&total, 0, width)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, at: &str) -> Value {
        json!({
            "metadata": {"namespace": "team", "name": format!("{name}.1")},
            "spec": {"decision": name, "dialect": "ocm", "at": at, "change": "Bound", "cause": {"type": "Time"},
                     "sourceRef": {"apiVersion": "v1", "kind": "Placement", "name": "p"},
                     "to": {"phase": "Bound", "clusterCount": 1, "clusters": []}},
        })
    }

    #[test]
    fn changes_of_all_decisions_come_newest_first() {
        let records = vec![
            record("old.ocm", "2026-11-23T10:20:00Z"),
            record("new.ocm", "2026-11-23T10:20:00.250000Z"),
            record("oldest.ocm", "2026-11-22T10:20:00Z"),
        ];
        let newest = newest(records, 2);
        let mut text = Vec::new();
        write(&mut text, HistoryOutput::Table, &newest, 3, None).unwrap();
        let text = String::from_utf8(text).unwrap();
        let text = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(
            text,
            "team/new.ocm (Placement p)\n2026-11-23 10:20:00Z  Bound  re-evaluated (no object changed)\n  Bound\n\n\
             team/old.ocm (Placement p)\n2026-11-23 10:20:00Z  Bound  re-evaluated (no object changed)\n  Bound\n\n\
             2 changes, newest first; 1 older, --limit 0 shows all\n"
        );
    }
}
