//! `berth why cluster/NAME`: the requests on a cluster, the requests that could use the cluster and are not
//! on it, and the effects of draining the cluster.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use berth_client::Client;
use berth_dialect_contract::Dialect;
use berth_engine::{Catalog, spelling};
use berth_scheduling_api::API_VERSION;
use http::Method;
use serde_json::{Value, json};

use crate::plan;
use crate::source::Source;
use crate::terminal::{self, Cell, indented, shown};
use crate::words::{self, NOT_PICKED};

/// Words that can precede the name of a cluster of any system, or of a Target.
const ANY: [&str; 5] = ["cluster", "clusters", "target", "targets", "btg"];
/// Highest number of entries of each list that are shown.
const ENTRIES_LIMIT: usize = 20;
/// Highest number of names that are suggested.
const SUGGESTIONS_LIMIT: usize = 3;

/// Question about one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterQuestion {
    /// Name of the cluster or of the Target, with or without the system.
    pub name: String,
    /// The possible systems of the cluster.
    pub systems: BTreeSet<&'static str>,
}

/// Returns the question if `words` name a cluster: as `cluster/NAME`, or with the system's own kind
/// (`seed/NAME`); `None` if they name another object.
#[must_use]
pub fn cluster_question(
    words: &[String],
    dialects: &[Arc<dyn Dialect>],
    catalog: &Catalog,
) -> Option<ClusterQuestion> {
    let (kind, name) = match words {
        [word] => word.split_once('/')?,
        [kind, name] => (kind.as_str(), name.as_str()),
        _ => return None,
    };
    let kinds = catalog.named(kind);
    let is_target = |dialect: &Arc<dyn Dialect>| {
        let mut kinds = kinds.iter();
        kinds.any(|kind| kind.info().resource() == dialect.target())
    };
    let any = ANY.iter().any(|word| word.eq_ignore_ascii_case(kind));
    let systems: BTreeSet<&'static str> = dialects
        .iter()
        .filter(|dialect| any || is_target(dialect))
        .map(|dialect| dialect.name())
        .collect();
    (!name.is_empty() && !systems.is_empty()).then(|| ClusterQuestion {
        name: name.to_owned(),
        systems,
    })
}

/// Answer to a question about one cluster.
struct ClusterAnswer {
    target: Value,
    /// The decisions that are bound to the cluster.
    current: Requests,
    /// The Candidates of the requests that could use the cluster and are not on it, the nearest to fitting
    /// first.
    candidates: Requests,
    /// The plan of draining the cluster, or the server's refusal.
    plan: Result<Value, String>,
}

/// Objects about requests, as far as the caller may list them.
#[derive(Default)]
struct Requests {
    items: Vec<Value>,
    /// Resources that the caller may not list.
    refused: Vec<&'static str>,
}

impl Requests {
    /// Adds the items of the list of `resource` at `path`; none if the server does not have it.
    async fn add(&mut self, source: &Source, resource: &'static str, path: &str) -> Result<()> {
        match source.client.send(Method::GET, path, None).await? {
            Ok(list) => self.items.extend(items(list)),
            Err(status) if status.code == 403 => self.refused.push(resource),
            Err(status) if status.code == 404 => {}
            Err(status) => bail!("{}", status.message),
        }
        Ok(())
    }

    /// Prints `title` with the number of requests, and the resources that the caller may not list.
    fn print_heading(&self, out: &mut impl Write, title: &str, width: Option<usize>) -> io::Result<()> {
        let heading = match (self.items.len(), self.refused.is_empty()) {
            (0, false) => title.to_owned(),
            (1, _) => format!("{title}: 1 request"),
            (count, _) => format!("{title}: {count} requests"),
        };
        writeln!(out, "\n{}", terminal::heading(&heading))?;
        if self.refused.is_empty() {
            return Ok(());
        }
        let extent = match self.items.is_empty() {
            true => "not shown",
            false => "not all are shown",
        };
        let line = format!("{extent}: you may not list {}", self.refused.join(" and "));
        writeln!(out, "{}", terminal::dim(&indented(&line, 2, width)))
    }
}

/// Requests the facts about a cluster, and prints them.
///
/// # Errors
/// When no cluster matches, or several do, or the server refuses or does not answer.
pub async fn run(
    out: &mut impl Write,
    question: &ClusterQuestion,
    source: &Source,
    width: Option<usize>,
) -> Result<()> {
    let answer = request(question, source).await?;
    match print(out, &answer, width) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

async fn request(question: &ClusterQuestion, source: &Source) -> Result<ClusterAnswer> {
    let target = find_target(question, source).await?;
    let (name, system) = (
        text(&target["metadata"], "name"),
        text(&target["spec"], "dialect"),
    );
    let cluster = target["spec"]["clusterName"].clone();
    let (mut current, mut candidates) = (Requests::default(), Requests::default());
    for resource in ["decisions", "clusterdecisions"] {
        let path = format!("/apis/{API_VERSION}/{resource}?fieldSelector=spec.dialect%3D{system}");
        current.add(source, resource, &path).await?;
    }
    current.items.retain(|decision| {
        let places = decision["status"]["decisions"].as_array().into_iter().flatten();
        places.into_iter().any(|place| place["clusterName"] == cluster)
    });
    for resource in ["candidates", "clustercandidates"] {
        let path = format!(
            "/apis/{API_VERSION}/{resource}?fieldSelector=target%3D{name}%2Cpicked%3Dfalse%2CoutOfScope%3Dfalse"
        );
        candidates.add(source, resource, &path).await?;
    }
    let rejections = |candidate: &Value| candidate["status"]["rejections"].as_array().map_or(0, Vec::len);
    candidates.items.sort_by_key(rejections);
    let plan = plan_drain(&source.client, &name).await?;
    Ok(ClusterAnswer {
        target,
        current,
        candidates,
        plan,
    })
}

/// Returns the Target of the cluster in question.
async fn find_target(question: &ClusterQuestion, source: &Source) -> Result<Value> {
    let path = format!("/apis/{API_VERSION}/targets");
    let targets = items(source.client.get(&path).await?);
    let is_requested = |target: &&Value| {
        let name = text(&target["metadata"], "name");
        let system = text(&target["spec"], "dialect");
        let bare = name.strip_suffix(&format!(".{system}")).unwrap_or(&name);
        let is_named =
            [name.as_str(), bare, &text(&target["spec"], "clusterName")].contains(&question.name.as_str());
        is_named && question.systems.contains(system.as_str())
    };
    let matching: Vec<&Value> = targets.iter().filter(is_requested).collect();
    match matching.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(absent(question, &targets)),
        several => {
            let names: Vec<String> = several.iter().map(|one| text(&one["metadata"], "name")).collect();
            bail!("several clusters match: name one of {}", names.join(", "));
        }
    }
}

/// Returns the plan of draining the Target `name`, or the server's refusal.
async fn plan_drain(client: &Client, name: &str) -> Result<Result<Value, String>> {
    let review = json!({
        "apiVersion": API_VERSION, "kind": "SchedulingReview", "spec": {"changes": [{"drain": name}]},
    });
    let path = format!("/apis/{API_VERSION}/schedulingreviews");
    let body = Some(("application/json", &review));
    Ok(match client.send(Method::POST, &path, body).await? {
        Ok(mut answer) => Ok(answer["status"]["plan"].take()),
        Err(status) => Err(status.message),
    })
}

fn items(mut list: Value) -> Vec<Value> {
    match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// Returns the error about a cluster that does not exist, with similar names of `targets`.
fn absent(question: &ClusterQuestion, targets: &[Value]) -> anyhow::Error {
    let names = targets.iter().map(|target| text(&target["metadata"], "name"));
    let near = |name: &String| {
        let bare = name.rsplit_once('.').map_or(name.as_str(), |(bare, _)| bare);
        spelling::near(&question.name, bare) || spelling::near(&question.name, name)
    };
    let near: Vec<String> = names.filter(near).take(SUGGESTIONS_LIMIT).collect();
    match near.is_empty() {
        true => anyhow!(
            "no cluster named \"{}\"; `kubectl get targets` lists them",
            question.name
        ),
        false => anyhow!(
            "no cluster named \"{}\"; did you mean {}?",
            question.name,
            near.join(" or ")
        ),
    }
}

fn print(out: &mut impl Write, answer: &ClusterAnswer, width: Option<usize>) -> io::Result<()> {
    print_target(out, &answer.target, width)?;
    print_decisions(out, &answer.current, width)?;
    print_candidates(out, &answer.candidates, width)?;
    writeln!(out)?;
    match &answer.plan {
        Ok(plan) => {
            writeln!(out, "{}", terminal::heading("What draining it would move"))?;
            plan::print::table(out, plan, width)
        }
        Err(refusal) => {
            let line = format!("The effects of draining it are not shown: {}", shown(refusal));
            writeln!(out, "{}", terminal::dim(&indented(&line, 0, width)))
        }
    }
}

/// Prints the state of a cluster: readiness, place and capacity.
fn print_target(out: &mut impl Write, target: &Value, width: Option<usize>) -> io::Result<()> {
    let status = &target["status"];
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let ready = conditions
        .into_iter()
        .find(|condition| condition["type"] == "Ready");
    let (state, style) = match (
        ready.is_some_and(|ready| ready["status"] == "True"),
        &status["cordoned"],
    ) {
        (false, _) => ("not ready", terminal::BAD),
        (true, cordoned) if *cordoned == true => ("cordoned", terminal::WARNING),
        (true, _) => ("ready", terminal::GOOD),
    };
    writeln!(
        out,
        "{} {}: {}",
        terminal::heading(&format!(
            "{} {}",
            text(&target["spec"]["sourceRef"], "kind"),
            text(&target["spec"], "clusterName")
        )),
        terminal::dim(&format!("({})", text(&target["spec"], "dialect"))),
        terminal::styled(style, state)
    )?;
    let message = ready.map(|ready| text(ready, "message")).unwrap_or_default();
    let place = ["provider", "region"].map(|field| text(status, field));
    let mut lines: Vec<String> = vec![message];
    lines.push(
        place
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
    );
    lines.extend(status["capacity"].as_array().into_iter().flatten().map(usage));
    for line in lines.iter().filter(|line| !line.is_empty()) {
        writeln!(out, "{}", indented(line, 2, width))?;
    }
    Ok(())
}

/// Returns the text of one entry of a capacity, such as `8 of 8 shoots`.
fn usage(capacity: &Value) -> String {
    let limit = match capacity["limit"].as_i64() {
        Some(limit) => format!(" of {limit}"),
        None => String::new(),
    };
    format!("{}{limit} {}", capacity["used"], text(capacity, "name"))
}

fn print_decisions(out: &mut impl Write, decisions: &Requests, width: Option<usize>) -> io::Result<()> {
    decisions.print_heading(out, "On it", width)?;
    for decision in decisions.items.iter().take(ENTRIES_LIMIT) {
        writeln!(out, "  {}", decision_name(decision))?;
    }
    print_rest(out, decisions.items.len())
}

fn print_candidates(out: &mut impl Write, candidates: &Requests, width: Option<usize>) -> io::Result<()> {
    candidates.print_heading(out, "Could choose it, and is not on it", width)?;
    let rows: Vec<Vec<Cell>> = candidates
        .items
        .iter()
        .take(ENTRIES_LIMIT)
        .map(|candidate| {
            let status = &candidate["status"];
            let result = match status["feasible"] == true {
                true => Cell::new(NOT_PICKED, terminal::DIM),
                false => words::refusal(status["outOfScope"] == true),
            };
            let reasons = status["rejections"].as_array().into_iter().flatten();
            let reasons: Vec<String> = reasons.map(|reason| text(reason, "message")).collect();
            let namespace = text(&candidate["metadata"], "namespace");
            let decision = text(&candidate["spec"], "decision");
            let name = [namespace, decision].into_iter().filter(|part| !part.is_empty());
            vec![
                Cell::plain(format!("  {}", name.collect::<Vec<_>>().join("/"))),
                result,
                Cell::plain(reasons.join("; ")),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let headings = ["  DECISION", "RESULT", "REASON"];
        write!(out, "{}", terminal::fitted_table(&headings, &rows, width))?;
    }
    print_rest(out, candidates.items.len())
}

/// Prints the number of entries of a list with `count` entries that are not shown.
fn print_rest(out: &mut impl Write, count: usize) -> io::Result<()> {
    match count.saturating_sub(ENTRIES_LIMIT) {
        0 => Ok(()),
        more => writeln!(out, "  {}", terminal::dim(&format!("… and {more} more"))),
    }
}

fn decision_name(decision: &Value) -> String {
    let metadata = &decision["metadata"];
    let parts = ["namespace", "name"].map(|field| text(metadata, field));
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("/")
}

fn text(value: &Value, field: &str) -> String {
    shown(value[field].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(words: &[&str]) -> Option<ClusterQuestion> {
        let dialects = berth_dialect_registry::all();
        let catalog = crate::catalog::catalog(&dialects);
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        cluster_question(&words, &dialects, &catalog)
    }

    #[test]
    fn a_cluster_is_named_as_such_or_by_its_systems_kind() {
        let every = berth_dialect_registry::all().len();
        assert_eq!(named(&["cluster/aws-eu1"]).unwrap().systems.len(), every);
        assert_eq!(
            named(&["target", "aws-eu1.gardener"]).unwrap().name,
            "aws-eu1.gardener"
        );
        for (word, system) in [
            ("seed", "gardener"),
            ("ManagedClusters", "ocm"),
            ("membercluster", "fleet"),
        ] {
            let found = named(&[word, "a"]).unwrap();
            assert_eq!(found.systems.into_iter().collect::<Vec<_>>(), [system], "{word}");
        }
        for words in [&["shoot/web"][..], &["web"], &["cluster/"]] {
            assert_eq!(named(words), None, "{words:?}");
        }
    }

    #[test]
    fn every_line_fits_the_terminal() {
        let long = "the seed's region is another one; ".repeat(20);
        let candidate = json!({
            "metadata": {"namespace": "garden-dev"}, "spec": {"decision": "web.gardener"},
            "status": {"feasible": false, "rejections": [{"message": long}]},
        });
        let answer = ClusterAnswer {
            target: json!({
                "spec": {"clusterName": "aws-eu1", "dialect": "gardener", "sourceRef": {"kind": "Seed"}},
                "status": {
                    "conditions": [{"type": "Ready", "status": "True", "message": long}],
                    "capacity": [{"name": "shoots", "used": 8, "limit": 8}], "region": "eu-west-1",
                },
            }),
            current: Requests {
                items: vec![json!({"metadata": {"namespace": "garden-dev", "name": "api.gardener"}})],
                refused: Vec::new(),
            },
            candidates: Requests {
                items: vec![candidate],
                refused: vec!["candidates", "clustercandidates"],
            },
            plan: Err(long),
        };
        for width in [80, 120, 200] {
            let mut out = Vec::new();
            print(&mut out, &answer, Some(width)).unwrap();
            let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            for expected in [
                "Seed aws-eu1 (gardener): ready",
                "8 of 8 shoots",
                "On it: 1 request",
                "refused",
            ] {
                assert!(text.contains(expected), "{expected}: {text}");
            }
        }
    }

    #[test]
    fn requests_that_may_not_be_listed_are_not_counted_as_none() {
        let printed = |items: Vec<Value>, refused: Vec<&'static str>| {
            let mut out = Vec::new();
            let requests = Requests { items, refused };
            requests.print_heading(&mut out, "On it", None).unwrap();
            anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
        };
        for (items, refused, text) in [
            (vec![], vec![], "\nOn it: 0 requests\n"),
            (
                vec![],
                vec!["decisions"],
                "\nOn it\n  not shown: you may not list decisions\n",
            ),
            (
                vec![json!({})],
                vec!["decisions", "clusterdecisions"],
                "\nOn it: 1 request\n  not all are shown: you may not list decisions and clusterdecisions\n",
            ),
        ] {
            assert_eq!(printed(items, refused), text);
        }
    }
}
