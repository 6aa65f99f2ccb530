//! `berth why`, and `kubectl berth why`: the picked clusters, and the reasons against the others, as a server
//! or this process decides them (docs/terminal.md).

pub mod cluster;
pub mod missing;
pub mod places;
pub mod print;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use berth_client::Client;
use berth_dialect_contract::report::{Candidate, ReasonCount};
use berth_engine::spelling;
use berth_scheduling_api::API_VERSION;
use berth_scheduling_api::scheduling::{PublishedReport, Scheduling};
use berth_scheduling_api::shared::Manifest;
use http::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{WhyOutput, WhyQuestion};
use crate::catalog::catalog;
use crate::source::Source;
use crate::terminal;
use places::Place;

/// Highest number of clusters that a table shows one by one.
const CLUSTERS_LIMIT: usize = 50;

/// Requests a report from `source`, and prints it.
///
/// # Errors
/// When the words name no decision or cluster, or several, a flag does not fit the question, or the server
/// refuses or does not answer.
pub async fn run(question: &WhyQuestion, source: &Source) -> Result<ExitCode> {
    let (client, namespace) = (&source.client, source.namespace.as_str());
    let dialects = berth_dialect_registry::all();
    let catalog = catalog(&dialects);
    if let Some(cluster_question) = cluster::cluster_question(&question.object, &dialects, &catalog) {
        check_for_cluster(question)?;
        let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
        cluster::run(&mut out, &cluster_question, source, terminal::width()).await?;
        out.flush().unwrap_or_default();
        return Ok(ExitCode::SUCCESS);
    }
    let places = places::places(&question.object, namespace, &dialects, &catalog)
        .map_err(|problem| anyhow!("{problem}"))?;
    let existing = match question.all_namespaces {
        true => everywhere(client, places.clone()).await?,
        false => places.clone(),
    };
    let table = matches!(question.output, WhyOutput::Table | WhyOutput::Wide);
    let is_cut = table && !question.all && question.cluster.is_none();
    let query = if is_cut {
        format!("?limit={CLUSTERS_LIMIT}")
    } else {
        String::new()
    };
    let reports = find(client, &question.object, &existing, "scheduling", &query).await?;
    let reports = match question.all_namespaces {
        true => reports,
        false => only_one(reports)?.into_iter().collect(),
    };
    if reports.is_empty() {
        let all_namespaces = question.all_namespaces;
        return Err(absent(source, &question.object, &places, all_namespaces).await);
    }
    let mut text = Vec::new();
    for (index, (place, mut report)) in reports.into_iter().enumerate() {
        if let Some(cluster) = &question.cluster {
            keep_cluster(&mut report, cluster)?;
        }
        let scheduling: Manifest<Scheduling> = read(&report)?;
        let counts = counts(client, &place, scheduling.body.status.as_ref()).await?;
        if index > 0 && table {
            text.push(b'\n');
        }
        let answer = print::Answer {
            raw: &report,
            parsed: &scheduling,
        };
        print::print(&mut text, question, &answer, &counts, terminal::width())?;
    }
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    match out.write_all(&text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Checks that a question about a cluster has no flag that its answer would ignore.
///
/// # Errors
/// When it has one.
fn check_for_cluster(question: &WhyQuestion) -> Result<()> {
    let flags = [
        ("--output", question.output != WhyOutput::Table),
        ("--all-namespaces", question.all_namespaces),
        ("--all", question.all),
        ("--cluster", question.cluster.is_some()),
    ];
    let given = flags.iter().filter(|(_, is_given)| *is_given);
    let given: Vec<&str> = given.map(|(flag, _)| *flag).collect();
    match given.is_empty() {
        true => Ok(()),
        false => bail!(
            "{}: only for a question about a request: the answer about a cluster is one table, with the requests of all namespaces",
            given.join(", ")
        ),
    }
}

/// Requests the counts of reasons over all clusters, if `status` does not contain all clusters.
async fn counts(
    client: &Client,
    place: &Place,
    status: Option<&PublishedReport>,
) -> Result<Vec<ReasonCount>> {
    let Some(1..) = status.and_then(|status| status.remaining_candidates) else {
        return Ok(Vec::new());
    };
    let path = path(place, "scheduling", "?limit=1&reasons=counts");
    let scheduling: Scheduling = read(&client.get(&path).await?)?;
    let counts = scheduling.status.and_then(|status| status.reason_counts);
    Ok(counts.unwrap_or_default())
}

/// Returns the existing decisions with the names of `places`, in all namespaces. Cluster-scoped places stay
/// as they are.
async fn everywhere(client: &Client, places: Vec<Place>) -> Result<Vec<Place>> {
    let mut all = Vec::new();
    for place in places {
        if place.namespace.is_empty() {
            all.push(place);
            continue;
        }
        let name = place.name;
        let path = format!("/apis/{API_VERSION}/decisions?fieldSelector=metadata.name%3D{name}");
        let list = client.get(&path).await?;
        let items = list["items"].as_array().into_iter().flatten();
        all.extend(items.map(|item| {
            Place {
                namespace: item["metadata"]["namespace"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                name: name.clone(),
            }
        }));
    }
    Ok(all)
}

/// Parses an answer of the server.
///
/// # Errors
/// When the answer is not an object of the type `T`.
pub fn read<T: DeserializeOwned>(answer: &Value) -> Result<T> {
    let result = T::deserialize(answer);
    result.context("the server's answer has an unknown form: use a program of the same version as the server")
}

/// Returns the only report; `None` if there is none.
///
/// # Errors
/// When there are several reports.
pub fn only_one(mut reports: Vec<(Place, Value)>) -> Result<Option<(Place, Value)>> {
    if reports.len() > 1 {
        let names: Vec<&str> = reports.iter().map(|(place, _)| place.name.as_str()).collect();
        bail!("several decisions match: name one of {}", names.join(", "));
    }
    Ok(reports.pop())
}

/// URL path of a `subresource` of the decision at `place`.
fn path(place: &Place, subresource: &str, query: &str) -> String {
    let (namespace, name) = (&place.namespace, &place.name);
    if namespace.is_empty() {
        format!("/apis/{API_VERSION}/clusterdecisions/{name}/{subresource}{query}")
    } else {
        format!("/apis/{API_VERSION}/namespaces/{namespace}/decisions/{name}/{subresource}{query}")
    }
}

/// Requests `subresource` of the decisions at `places`, which `words` may mean, and returns the answers of
/// those that exist.
///
/// # Errors
/// When no answer exists and at least one was refused, or no server answers.
pub async fn find(
    client: &Client,
    words: &[String],
    places: &[Place],
    subresource: &str,
    query: &str,
) -> Result<Vec<(Place, Value)>> {
    let (mut answers, mut refusals) = (Vec::new(), Vec::new());
    for place in places {
        match client
            .send(Method::GET, &path(place, subresource, query), None)
            .await?
        {
            Ok(report) => answers.push((place.clone(), report)),
            Err(status) if status.code == 404 => {}
            // A name alone may be a decision of any system, and most users may not read those of all systems.
            Err(status) => refusals.push((place.clone(), status)),
        }
    }
    match answers.is_empty() && !refusals.is_empty() {
        true => Err(missing::refused(client, words, refusals).await),
        false => Ok(answers),
    }
}

/// Returns the error about `words` if none of `places` exists; with `all_namespaces`, in no namespace.
pub async fn absent(
    source: &Source,
    words: &[String],
    places: &[Place],
    all_namespaces: bool,
) -> anyhow::Error {
    let question = missing::Question {
        client: &source.client,
        namespace: (!all_namespaces).then_some(source.namespace.as_str()),
        words,
        places,
        is_within: source.is_within(),
        searched_seconds: None,
    };
    question.absent().await
}

/// Keeps only the candidates of `report` that `cluster` names: by the name of the cluster in the system, or
/// by the name of the Target, with or without the system.
fn keep_cluster(report: &mut Value, cluster: &str) -> Result<()> {
    let Scheduling { spec, status } = read(report)?;
    let Some(PublishedReport { candidates, .. }) = status else {
        bail!("the server returned no candidates");
    };
    let full = spec.map(|spec| format!("{cluster}.{}", spec.dialect));
    let is_requested = |candidate: &Candidate| {
        let target = candidate.target.as_str();
        *candidate.cluster_name == *cluster || target == cluster || full.as_deref() == Some(target)
    };
    if !candidates.iter().any(is_requested) {
        let names: Vec<&str> = candidates
            .iter()
            .map(|candidate| candidate.target.as_str())
            .filter(|target| !target.is_empty())
            .take(10)
            .collect();
        let more = match candidates.len().saturating_sub(names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let near = candidates.iter().find(|candidate| {
            spelling::near(cluster, &candidate.cluster_name)
                || spelling::near(cluster, candidate.target.as_str())
        });
        match near {
            Some(near) => bail!(
                "no cluster named \"{cluster}\"; did you mean {}?",
                near.cluster_name
            ),
            None if names.is_empty() => bail!("no cluster named \"{cluster}\"; there are no clusters"),
            None => bail!(
                "no cluster named \"{cluster}\"; there are {}{more}",
                names.join(", ")
            ),
        }
    }
    // The unparsed list is filtered, since it has the fields that only a newer server knows.
    let mut filtered = candidates.iter().map(is_requested);
    if let Some(list) = report["status"]["candidates"].as_array_mut() {
        list.retain(|_| filtered.next().unwrap_or_default());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::OriginArgs;

    #[test]
    fn a_question_about_a_cluster_refuses_the_flags_that_its_answer_would_ignore() {
        let plain = WhyQuestion {
            object: vec!["cluster/a".to_owned()],
            cluster: None,
            output: WhyOutput::Table,
            all: false,
            all_namespaces: false,
            origin: OriginArgs::default(),
        };
        assert!(check_for_cluster(&plain).is_ok());
        let question = WhyQuestion {
            cluster: Some("b".to_owned()),
            output: WhyOutput::Json,
            all: true,
            all_namespaces: true,
            ..plain
        };
        let problem = check_for_cluster(&question).unwrap_err().to_string();
        assert!(
            problem.starts_with("--output, --all-namespaces, --all, --cluster: only for"),
            "{problem}"
        );
    }
}
