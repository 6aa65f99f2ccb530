//! `berth advice`, and `kubectl berth advice`: the changes after which an object would fit a cluster,
//! computed by a server or by this process (docs/terminal.md).

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use berth_scheduling_api::advice::SchedulingAdvice;

use crate::args::{AdviceOutput, AdviceQuestion};
use crate::catalog::catalog;
use crate::simulate::advice::edits;
use crate::source::Source;
use crate::terminal;
use crate::why::print::headline;
use crate::why::{self, places};
use crate::words::{self, RequestState};

/// Asks `source` for advice, and prints the answer.
///
/// # Errors
/// When the words name no decision, or several, or the cluster does not exist, or the server refuses or does
/// not answer.
pub async fn run(question: &AdviceQuestion, source: &Source) -> Result<ExitCode> {
    let (client, namespace) = (&source.client, source.namespace.as_str());
    let dialects = berth_dialect_registry::all();
    let places = places::places(&question.object, namespace, &dialects, &catalog(&dialects))
        .map_err(|problem| anyhow!("{problem}"))?;
    let mut query: Vec<String> = Vec::new();
    if let Some(cluster) = &question.cluster {
        query.push(format!("cluster={}", escaped(cluster)));
    }
    query.extend(question.limit.map(|limit| format!("limit={limit}")));
    let query = match query.join("&") {
        query if query.is_empty() => query,
        query => format!("?{query}"),
    };
    let answers = why::find(client, &question.object, &places, "advice", &query).await?;
    let advice = match why::only_one(answers)? {
        Some((_, advice)) => advice,
        None => return Err(why::absent(source, &question.object, &places, false).await),
    };
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    let result = match question.output {
        AdviceOutput::Table | AdviceOutput::Wide => {
            let width = terminal::width();
            let commands = question.output == AdviceOutput::Wide;
            let typed_advice: SchedulingAdvice = why::read(&advice)?;
            writeln!(out, "{}", headline_of(&typed_advice, width))
                .and_then(|()| edits(&mut out, &advice["status"], commands, width))
        }
        AdviceOutput::Json => serde_json::to_string_pretty(&advice)
            .map_err(io::Error::other)
            .and_then(|text| writeln!(out, "{text}")),
        AdviceOutput::Yaml => serde_saphyr::to_string(&advice)
            .map_err(io::Error::other)
            .and_then(|text| writeln!(out, "{}", text.trim_end())),
    };
    match result.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Headline with the object and its state, followed by the message of the advice.
fn headline_of(advice: &SchedulingAdvice, width: Option<usize>) -> String {
    let status = advice.status.as_ref();
    let (outcome, message) = status.map_or(("", ""), |status| (&*status.outcome, status.message.as_str()));
    // Advice does not contain the number of clusters, so the phrase has no number.
    let state = RequestState {
        phrase: words::outcome(outcome).to_owned(),
        ..words::request_state(outcome, 0, None)
    };
    headline(advice.spec.as_ref(), &state, message, width)
}

/// Escapes `text` for a value in the query of a URL.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
