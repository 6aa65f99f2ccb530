//! `berth plan`: requests the effects of a change from a server or from this process (docs/concepts.md,
//! "Planning").

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use berth_client::Client;
use berth_scheduling_api::API_VERSION;
use http::Method;
use serde_json::{Value, json};

use crate::args::{ChangeArgs, PlanQuestion};
use crate::catalog::catalog;
use crate::plan::changes::{self, Entry};
use crate::plan::print;
use crate::simulate::{DIFFERENT, DONE, MALFORMED, SET_ASIDE};
use crate::source::Source;
use crate::why::missing;

/// Requests a plan from `source`, and prints it. Objects without a namespace are in `namespace`, if it is
/// given. Problems of the changes go to standard error, and the exit code is then 2, without a request to the
/// source. If the source refuses the request, the refusal goes to standard error, and the exit code is 2,
/// too. Unreadable documents are set aside: the plan is about the rest, and the exit code is 3.
///
/// # Errors
/// When there is no answer, or the answer is not a plan.
pub async fn run(
    args: &PlanQuestion,
    namespace: Option<&str>,
    source: impl Future<Output = Result<Source>>,
) -> Result<ExitCode> {
    let change = ChangeArgs {
        change: args.filename.clone(),
        drain: args.drain.clone(),
        delete: args.delete.clone(),
    };
    let input = changes::read(&change, &catalog(&berth_dialect_registry::all()), namespace);
    for note in input.notes.iter().chain(&input.doubtful) {
        crate::say_error!("note: {note}");
    }
    // A malformed document is reported with its place, before a request to the source.
    let problems = match input.problems.is_empty() {
        true => input.steps().err().unwrap_or_default(),
        false => input.problems.clone(),
    };
    for aside in &input.aside {
        crate::say_error!("error: {aside}");
    }
    if !problems.is_empty() {
        return Ok(print_refusal(&problems));
    }
    let source = source.await?;
    let answer = match request(&source.client, &input.entries).await? {
        Ok(answer) => answer,
        Err(problems) => return Ok(print_refusal(&problems)),
    };
    let plan = answer["status"]
        .get("plan")
        .context("the server returned no plan")?;
    let code = print_plan(args, plan)?;
    if input.aside.is_empty() {
        return Ok(code);
    }
    crate::say_error!("note: the plan ignores the documents that could not be read");
    Ok(ExitCode::from(SET_ASIDE))
}

/// Sends `entries` as a SchedulingReview. Returns the answer, or the server's refusal in lines for the user.
async fn request(client: &Client, entries: &[Entry]) -> Result<Result<Value, Vec<String>>> {
    let review = json!({
        "apiVersion": API_VERSION,
        "kind": "SchedulingReview",
        "metadata": {"name": "plan"},
        "spec": {"changes": entries.iter().map(|entry| &entry.value).collect::<Vec<_>>()},
    });
    let path = format!("/apis/{API_VERSION}/schedulingreviews");
    let body = Some(("application/json", &review));
    let status = match client.send(Method::POST, &path, body).await? {
        Ok(answer) => return Ok(Ok(answer)),
        Err(status) => status,
    };
    if status.code == 403 {
        let hint = missing::role_hint(client, "").await;
        let hint = format!(
            "{hint}; a plan also requires the rights to list targets (berth:target-viewer), and to get the objects that it \
             changes"
        );
        return Ok(Err(vec![status.message, hint]));
    }
    let causes = status.details.as_ref().map(|details| details.causes.as_slice());
    let causes = causes.unwrap_or_default().iter();
    let problems: Vec<String> = causes
        .map(|cause| changes::sentence(&cause_text(&cause.field, &cause.message, entries)))
        .collect();
    Ok(Err(match problems.is_empty() {
        true => vec![status.message],
        false => problems,
    }))
}

/// Returns the text of a cause: the file and document, or the flag, that has the problem, and the message.
fn cause_text(field: &str, message: &str, entries: &[Entry]) -> String {
    let entry_and_rest = field
        .strip_prefix("spec.changes[")
        .and_then(|rest| rest.split_once(']'))
        .and_then(|(index, rest)| Some((entries.get(index.parse::<usize>().ok()?)?, rest)));
    match entry_and_rest {
        Some((entry, rest)) => {
            let place = [entry.at.as_str(), entry.path.as_str()].into_iter();
            let place: Vec<&str> = place.filter(|text| !text.is_empty()).collect();
            let rest = rest.trim_start_matches('.');
            let rest = rest.strip_prefix("object.").unwrap_or(rest);
            // For a flag, the path is the flag itself: it is named only once.
            let rest = rest
                .strip_prefix(entry.path.trim_start_matches('-'))
                .unwrap_or(rest);
            let parts = place.into_iter().chain([rest, message]);
            let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            parts.join(": ")
        }
        None => format!("{field}: {message}"),
    }
}

/// Prints `problems` on standard error, and returns the exit code.
fn print_refusal(problems: &[String]) -> ExitCode {
    for problem in problems {
        crate::say_error!("error: {problem}");
    }
    ExitCode::from(MALFORMED)
}

fn print_plan(args: &PlanQuestion, plan: &Value) -> Result<ExitCode> {
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    let result = print::print(&mut out, plan, args.output).and_then(|()| out.flush());
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::from(DONE)),
        Err(error) => Err(error.into()),
        Ok(()) if args.exit_code && print::changed_count(plan) > 0 => Ok(ExitCode::from(DIFFERENT)),
        Ok(()) => Ok(ExitCode::from(DONE)),
    }
}
