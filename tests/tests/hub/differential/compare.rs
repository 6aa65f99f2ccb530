//! Runs a sequence on both servers, and reduces a sequence with a difference.

use http::Method;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use berth_tests::differential::{differences, members, without};
use serde_json::Value;

use crate::differential::kinds::KINDS;
use crate::differential::known_differences;
use crate::differential::normal::normal;
use crate::differential::request::{ID, Memory, Request};
use crate::differential::side::Side;

/// Most attempts of the reducer at a smaller sequence.
const TRIES: usize = 60;

/// The two servers; the first is the reference.
pub(crate) struct Pair {
    pub(crate) reference: Side,
    pub(crate) other: Side,
    /// Name of the comparison, which is unique on the same servers.
    pub(crate) run: &'static str,
    runs: AtomicU64,
    /// Whether managed fields are compared as well.
    owners: bool,
}

/// Result of a sequence.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Number of requests to each server.
    pub(crate) requests: usize,
    /// The known differences with their number.
    pub(crate) known: BTreeMap<&'static str, usize>,
    /// The first unknown difference.
    pub(crate) difference: Option<Difference>,
}

/// An unknown difference.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// The sequence up to the request with different answers.
    pub(crate) requests: Vec<Request>,
    pub(crate) lines: Vec<String>,
    /// Both raw answers.
    pub(crate) answers: [String; 2],
}

/// The request, changed so that the answer is of the newest state instead of a cache: kube-apiserver's cache
/// may lag behind the previous write.
fn newest(request: &Request) -> Request {
    let mut request = request.clone();
    if request.method == Method::GET {
        request.path = request.path.replace("resourceVersion=0", "resourceVersion=");
    }
    request
}

impl Pair {
    pub(crate) const fn new(reference: Side, other: Side, run: &'static str) -> Self {
        Self {
            reference,
            other,
            run,
            runs: AtomicU64::new(0),
            owners: false,
        }
    }

    /// Compares managed fields as well.
    pub(crate) const fn with_owners(mut self) -> Self {
        self.owners = true;
        self
    }

    /// Sends each request to both servers, up to the first with different answers.
    pub(crate) async fn run(&self, requests: &[Request]) -> Outcome {
        let id = format!("{}-{}", self.run, self.runs.fetch_add(1, Ordering::Relaxed));
        tokio::join!(self.reference.prepare(&id), self.other.prepare(&id));
        let (mut one, mut two) = (Memory::default(), Memory::default());
        let mut outcome = Outcome::default();
        for (index, request) in requests.iter().enumerate() {
            let newest = newest(request);
            let answers = tokio::join!(
                self.reference.send(&newest, &mut one, &id),
                self.other.send(request, &mut two, &id)
            );
            outcome.requests += 1;
            let (mut right, mut other) = (normal(&answers.0), normal(&answers.1));
            let codes = (right["code"].clone(), other["code"].clone());
            if !self.owners {
                known_differences::disown(&mut right);
                known_differences::disown(&mut other);
            }
            let pages =
                [&right, &other].map(|answer| answer["body"][0]["metadata"].get("continue").is_some());
            let settled = known_differences::settle(request, &mut right, &mut other);
            for why in &settled {
                *outcome.known.entry(*why).or_default() += 1;
            }
            let lines = differences(&right, &other);
            let lines: Vec<String> = lines.into_iter().map(|line| line.replace(&id, ID)).collect();
            if !lines.is_empty() {
                outcome.difference = Some(Difference {
                    requests: requests[..=index].to_vec(),
                    lines,
                    answers: [text(&answers.0.body), text(&answers.1.body)],
                });
                break;
            }
            // The next pages differ.
            if pages[0] != pages[1] {
                break;
            }
            // From here on, the stored objects differ by a known difference.
            let kept = settled.contains(&known_differences::KEPT) && request.method != Method::GET;
            if kept || codes.0 != codes.1 && (ok(&codes.0) || ok(&codes.1)) {
                break;
            }
        }
        outcome
    }

    /// Reduces the sequence of a difference as long as the answers to its last request differ.
    pub(crate) async fn reduce(&self, found: Difference) -> Difference {
        let sort = found.sort();
        let mut best = found;
        let mut tries = 0;
        let mut place = 0;
        while tries < TRIES {
            let Some(smaller) = smaller(&best.requests, place) else {
                break;
            };
            tries += 1;
            match self.run(&smaller).await.difference {
                Some(difference)
                    if difference.requests.len() == smaller.len() && difference.sort() == sort =>
                {
                    best = difference;
                    place = 0;
                }
                _ => place += 1,
            }
        }
        best
    }
}

fn ok(code: &Value) -> bool {
    code.as_u64().is_some_and(|code| code < 300)
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(700).collect()
}

/// The reduction with this number: first without one of the requests except the last, then without one of the
/// members of a body.
fn smaller(requests: &[Request], place: usize) -> Option<Vec<Request>> {
    let droppable = requests.len().saturating_sub(1);
    if place < droppable {
        let mut fewer = requests.to_vec();
        fewer.remove(place);
        return Some(fewer);
    }
    let mut left = place - droppable;
    for (index, request) in requests.iter().enumerate() {
        let Ok(body) = serde_json::from_str::<Value>(&request.body) else {
            continue;
        };
        let members = members(&body);
        if let Some(pointer) = members.get(left) {
            let mut fewer = requests.to_vec();
            fewer[index].body = without(body, pointer).to_string();
            return Some(fewer);
        }
        left -= members.len();
    }
    None
}

impl Difference {
    /// The difference with the form of the request: one of each sort is reported, and the sort remains during
    /// the reduction.
    pub(crate) fn sort(&self) -> String {
        let last = self.requests.last();
        let method = last.map_or("", |request| request.method.as_str());
        let path = last.map_or("", |request| request.path.as_str());
        let resource = KINDS.iter().find(|kind| path.starts_with(kind.path));
        let resource = resource
            .and_then(|kind| kind.path.rsplit('/').next())
            .unwrap_or_default();
        let first_line = |start: &str| {
            let line = self.lines.iter().find(|line| line.starts_with(start));
            line.cloned().unwrap_or_default()
        };
        let mut sort = format!(
            "{method} {resource} {}{}",
            first_line(".code"),
            first_line(".body[0].causes")
        );
        if !sort.contains(": ") {
            // Only the path of the difference: the values depend on the removed requests.
            let place = self.lines.first().and_then(|line| line.split(": ").next());
            sort.push_str(place.unwrap_or_default());
        }
        sort.chars().take(200).collect()
    }

    /// Describes the difference for developers.
    pub(crate) fn shown(&self) -> String {
        let requests: Vec<String> = self.requests.iter().map(Request::curl).collect();
        format!(
            "{}\n  differs (reference | Berth):\n    {}\n  reference: {}\n  Berth:     {}\n",
            requests.join("\n"),
            self.lines.join("\n    "),
            self.answers[0],
            self.answers[1]
        )
    }
}
