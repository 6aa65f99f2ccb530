//! `berth history`, and `kubectl berth history`: the changes of one decision or of all, with time and
//! cause (docs/terminal.md).

mod everywhere;
mod print;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use berth_client::Client;
use berth_scheduling_api::API_VERSION;
use berth_scheduling_api::record::DecisionHistory;
use berth_scheduling_api::shared::Manifest;
use http::Method;
use serde_json::Value;

use crate::args::{ConnectionArgs, HistoryQuestion};
use crate::catalog::catalog;
use crate::why;
use crate::why::missing::{self, Question};
use crate::why::places::{self, Place};

/// Requests histories, and prints them. A decision without a history is noted in the output, and is no
/// failure.
///
/// # Errors
/// When the words name neither a present nor a former decision, or several, the server refuses, or no server
/// answers.
pub async fn run(question: &HistoryQuestion, connection: &ConnectionArgs) -> Result<ExitCode> {
    let client = connection.client().await?;
    if question.all_namespaces {
        return everywhere::run(question, &client).await;
    }
    let dialects = berth_dialect_registry::all();
    let namespace = connection.namespace(&client);
    let places = places::places(&question.object, namespace, &dialects, &catalog(&dialects))
        .map_err(|problem| anyhow!("{problem}"))?;
    let mut answers = ask(
        &client,
        &question.object,
        &places,
        question.limit.unwrap_or_default(),
    )
    .await?;
    let has_records = |(_, answer): &(Place, Answer)| answer.has_records();
    let count = answers.iter().filter(|answer| has_records(answer)).count();
    if count > 1 {
        let names: Vec<&str> = answers
            .iter()
            .filter(|answer| has_records(answer))
            .map(|(place, _)| place.name.as_str())
            .collect();
        bail!("several decisions match: name one of {}", names.join(", "));
    }
    if count == 0 && !is_there(&client, &answers).await? {
        let seconds = answers.first().and_then(|(_, answer)| answer.retention_seconds());
        let question = Question {
            client: &client,
            namespace,
            words: &question.object,
            places: &places,
            is_within: false,
            unseen_for: seconds.map(|seconds| seconds / 3600),
        };
        return Err(question.absent().await);
    }
    let index = answers.iter().position(has_records).unwrap_or(0);
    let (_, answer) = answers.swap_remove(index);
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    let words = question.object.join(" ");
    let result = print::print(
        &mut out,
        question.output,
        &answer,
        &words,
        crate::terminal::width(),
    )
    .and_then(|()| out.flush());
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn path(place: &Place) -> String {
    let (namespace, name) = (&place.namespace, &place.name);
    if namespace.is_empty() {
        format!("/apis/{API_VERSION}/clusterdecisions/{name}")
    } else {
        format!("/apis/{API_VERSION}/namespaces/{namespace}/decisions/{name}")
    }
}

/// Whether any of the decisions without records exists, as far as the caller may know: a decision that never
/// changed has no records.
async fn is_there(client: &Client, answers: &[(Place, Answer)]) -> Result<bool> {
    for (place, _) in answers {
        match client.send(Method::GET, &path(place), None).await? {
            Err(status) if status.code == 404 => {}
            Ok(_) | Err(_) => return Ok(true),
        }
    }
    Ok(false)
}

/// A history, as JSON and parsed.
struct Answer {
    /// The answer with every field, including fields of a newer server.
    json: Value,
    /// The parsed fields of the answer.
    history: Manifest<DecisionHistory>,
}

impl Answer {
    fn has_records(&self) -> bool {
        let status = self.history.body.status.as_ref();
        status.is_some_and(|status| !status.records.is_empty())
    }

    /// The seconds for which changes are stored, 0 for ever; `None` if they are not stored.
    fn retention_seconds(&self) -> Option<u64> {
        let status = self.history.body.status.as_ref()?;
        (status.per_decision > 0).then_some(status.max_age_seconds)
    }
}

/// Requests the histories at `places`, the possible meanings of `words`. Returns the histories that the
/// caller may read; at least one.
async fn ask(
    client: &Client,
    words: &[String],
    places: &[Place],
    limit: usize,
) -> Result<Vec<(Place, Answer)>> {
    let (mut answers, mut refusals) = (Vec::new(), Vec::new());
    for place in places {
        let history_path = format!("{}/history?limit={limit}", path(place));
        match client.send(Method::GET, &history_path, None).await? {
            Ok(json) => {
                let history = why::read(&json)?;
                answers.push((place.clone(), Answer { json, history }));
            }
            // A name alone is looked up in every system; most users do not have the right to all of
            // them.
            Err(status) => refusals.push((place.clone(), status)),
        }
    }
    if !answers.is_empty() {
        return Ok(answers);
    }
    match refusals.first() {
        Some((_, status)) if status.code == 404 => bail!(
            "the server does not serve the history of {API_VERSION}: Berth is not installed or is an older version, or the kubeconfig names another cluster"
        ),
        _ => Err(missing::refused(client, words, refusals).await),
    }
}
