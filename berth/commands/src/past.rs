//! `berth history`, and `kubectl berth history`: the changes of one decision or of all, with time and
//! cause (docs/terminal.md).

mod everywhere;
mod print;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use berth_apimachinery::Status;
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

/// Requests the history of a decision, or the newest records of all decisions, and prints it. A decision
/// without records is noted in the output, and is no failure.
///
/// # Errors
/// When the words name neither a present nor a former decision, or several decisions with records; when the
/// server refuses, or no server answers.
pub async fn run(question: &HistoryQuestion, connection: &ConnectionArgs) -> Result<ExitCode> {
    let client = connection.client().await?;
    if question.all_namespaces {
        return everywhere::run(question, &client).await;
    }
    let dialects = berth_dialect_registry::all();
    let namespace = connection.namespace(&client);
    let places = places::places(&question.object, namespace, &dialects, &catalog(&dialects))
        .map_err(|problem| anyhow!("{problem}"))?;
    let Histories {
        mut answers,
        refusals,
    } = histories(
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
    if count == 0 && !any_exists(&client, &answers).await? {
        // The words may mean a decision whose history the caller may not read.
        if !refusals.is_empty() {
            return Err(missing::refused(&client, &question.object, refusals).await);
        }
        let retention = answers.first().and_then(|(_, answer)| answer.retention_seconds());
        let question = Question {
            client: &client,
            namespace: Some(namespace),
            words: &question.object,
            places: &places,
            is_within: false,
            searched_seconds: retention,
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

/// URL path of the decision at `place`.
fn path(place: &Place) -> String {
    let (namespace, name) = (&place.namespace, &place.name);
    if namespace.is_empty() {
        format!("/apis/{API_VERSION}/clusterdecisions/{name}")
    } else {
        format!("/apis/{API_VERSION}/namespaces/{namespace}/decisions/{name}")
    }
}

/// Whether any of the decisions exists, since a decision that never changed has no records. A decision that
/// cannot be read counts as existing.
async fn any_exists(client: &Client, answers: &[(Place, Answer)]) -> Result<bool> {
    for (place, _) in answers {
        match client.send(Method::GET, &path(place), None).await? {
            Err(status) if status.code == 404 => {}
            Ok(_) | Err(_) => return Ok(true),
        }
    }
    Ok(false)
}

/// A history as the server sent it, and its parsed form.
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

    /// Number of seconds for which the server stores records; 0 means forever, `None` means that it stores
    /// none.
    fn retention_seconds(&self) -> Option<u64> {
        let status = self.history.body.status.as_ref()?;
        (status.per_decision > 0).then_some(status.max_age_seconds)
    }
}

/// Histories of the decisions that words may mean.
struct Histories {
    /// The histories that the caller may read.
    answers: Vec<(Place, Answer)>,
    /// The server's refusals of the other histories.
    refusals: Vec<(Place, Box<Status>)>,
}

/// Requests the histories of the decisions at `places`, which `words` may mean.
///
/// # Errors
/// When the caller may read none, or no server answers.
async fn histories(client: &Client, words: &[String], places: &[Place], limit: usize) -> Result<Histories> {
    let (mut answers, mut refusals) = (Vec::new(), Vec::new());
    for place in places {
        let history_path = format!("{}/history?limit={limit}", path(place));
        match client.send(Method::GET, &history_path, None).await? {
            Ok(json) => {
                let history = why::read(&json)?;
                answers.push((place.clone(), Answer { json, history }));
            }
            // A name alone may be a decision of any system, and most users may not read those of all systems.
            Err(status) => refusals.push((place.clone(), status)),
        }
    }
    if !answers.is_empty() {
        refusals.retain(|(_, status)| status.code != 404);
        return Ok(Histories { answers, refusals });
    }
    match refusals.first() {
        Some((_, status)) if status.code == 404 => bail!(
            "the server does not serve the history of {API_VERSION}: Berth is not installed or is an older version, or the kubeconfig names another cluster"
        ),
        _ => Err(missing::refused(client, words, refusals).await),
    }
}
