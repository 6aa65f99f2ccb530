//! `berth history`, and `kubectl berth history`: how a decision changed, when and why (docs/terminal.md).

mod print;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use berth_client::Client;
use http::Method;
use serde_json::Value;
use virtual_api::API_VERSION;

use crate::args::{ConnectionArgs, HistoryQuestion};
use crate::catalog::catalog;
use crate::why::asked::{self, Place};

/// Asks and prints. Where there is no history, that is told, and is no failure.
///
/// # Errors
/// When the words name nothing that is decided, the server refuses, or none answers.
pub async fn run(question: &HistoryQuestion, connection: &ConnectionArgs) -> Result<ExitCode> {
    let client = connection.client().await?;
    let dialects = dialect_registry::all();
    let namespace = connection.namespace(&client);
    let places = asked::places(&question.object, namespace, &dialects, &catalog(&dialects))
        .map_err(|problem| anyhow!("{problem}"))?;
    let mut answers = ask(&client, &places, question.limit).await?;
    let has_records = |(_, history): &(Place, Value)| !records(history).is_empty();
    let known = answers.iter().filter(|answer| has_records(answer)).count();
    if known > 1 {
        let names: Vec<&str> = answers
            .iter()
            .filter(|answer| has_records(answer))
            .map(|(place, _)| place.name.as_str())
            .collect();
        bail!("several decisions match: name one of {}", names.join(", "));
    }
    let index = answers.iter().position(has_records).unwrap_or(0);
    let (_, history) = answers.swap_remove(index);
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    let words = question.object.join(" ");
    let printed = print::print(&mut out, question.output, &history, &words).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn path(place: &Place, limit: usize) -> String {
    let (namespace, name) = (&place.namespace, &place.name);
    if namespace.is_empty() {
        format!("/apis/{API_VERSION}/clusterdecisions/{name}/history?limit={limit}")
    } else {
        format!("/apis/{API_VERSION}/namespaces/{namespace}/decisions/{name}/history?limit={limit}")
    }
}

fn records(history: &Value) -> &[Value] {
    history["status"]["records"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The histories at those of `places` that may be read; at least one.
async fn ask(client: &Client, places: &[Place], limit: usize) -> Result<Vec<(Place, Value)>> {
    let (mut answers, mut refused) = (Vec::new(), None);
    for place in places {
        match client.send(Method::GET, &path(place, limit), None).await? {
            Ok(history) => answers.push((place.clone(), history)),
            // A name alone is asked for in every system; most people may not look into all.
            Err(status) => refused = refused.or(Some(status)),
        }
    }
    match (answers.is_empty(), refused) {
        (false, _) => Ok(answers),
        (true, Some(status)) if status.code == 404 => Err(anyhow!(
            "the server does not serve the history of {API_VERSION}: Berth is not installed or older, or the kubeconfig names another cluster"
        )),
        (true, Some(status)) => Err(anyhow!("{}", status.message)),
        (true, None) => Err(anyhow!("no system of this server schedules that kind")),
    }
}
