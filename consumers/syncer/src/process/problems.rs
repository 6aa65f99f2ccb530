//! Problems of a syncer, and their report on the hub: the condition Synced (docs/systems/kcp.md, "What
//! is not synced").

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::condition_text::ConditionText;
use super::ends::Side;
use super::mirrors::Key;

/// Highest number of problems of one reason that are named in the condition.
const MAX_NAMED: usize = 3;
/// Longest text of one error in the condition, in characters, without the ellipsis.
const MAX_CHARS: usize = 300;

/// The problem of one object.
struct Problem {
    text: String,
    /// Time at which the problem ends, unless it is recorded again before. `None` for a problem that lasts
    /// until [`Problems::forget`].
    until: Option<Instant>,
}

/// The known problems.
pub(super) struct Problems {
    /// The names of the kinds, by their indexes.
    names: Vec<String>,
    /// Resources that `--resources` names and the hub does not show.
    unknown: Vec<String>,
    objects: BTreeMap<Key, Problem>,
    /// Kinds that cannot be listed or watched, each with the reason.
    watches: BTreeMap<(usize, Side), String>,
    /// Numbers of the cluster's namespaces by the identifier in their label, for identifiers that may belong
    /// to earlier registrations of this cluster.
    unproven: BTreeMap<String, usize>,
    /// Number of objects that the hub shows.
    shown: usize,
}

impl Problems {
    pub(super) fn new(names: Vec<String>, unknown: Vec<String>) -> Self {
        Self {
            names,
            unknown,
            objects: BTreeMap::new(),
            watches: BTreeMap::new(),
            unproven: BTreeMap::new(),
            shown: 0,
        }
    }

    /// Records a problem of `key`, for the time `duration` or until it is forgotten. Returns whether `text`
    /// differs from the known problem of `key`.
    pub(super) fn record(&mut self, key: &Key, text: String, duration: Option<Duration>) -> bool {
        let until = duration.map(|duration| Instant::now() + duration);
        let is_news = self.objects.get(key).is_none_or(|known| known.text != text);
        self.objects.insert(key.clone(), Problem { text, until });
        is_news
    }

    /// Forgets the problem of `key`, which is solved, or whose object was deleted.
    pub(super) fn forget(&mut self, key: &Key) {
        self.objects.remove(key);
    }

    /// Forgets the problem of `key`, unless the problem ends at a known time.
    pub(super) fn forget_lasting(&mut self, key: &Key) {
        if self.objects.get(key).is_some_and(|known| known.until.is_none()) {
            self.objects.remove(key);
        }
    }

    /// Records that the watch of a kind failed, or works (`None`).
    pub(super) fn record_watch(&mut self, kind: usize, side: Side, problem: Option<String>) {
        match problem {
            Some(problem) => drop(self.watches.insert((kind, side), problem)),
            None => drop(self.watches.remove(&(kind, side))),
        }
    }

    /// Whether a kind cannot be listed or watched on a side.
    pub(super) fn is_lost(&self, kind: usize, side: Side) -> bool {
        self.watches.contains_key(&(kind, side))
    }

    /// Records the number of objects that the hub shows.
    pub(super) fn record_shown(&mut self, objects: usize) {
        self.shown = objects;
    }

    /// Records the numbers of namespaces with the identifiers of other WorkloadClusters. Returns whether the
    /// numbers have changed.
    pub(super) fn record_unproven(&mut self, unproven: BTreeMap<String, usize>) -> bool {
        let is_news = self.unproven != unproven;
        self.unproven = unproven;
        is_news
    }

    /// The condition Synced.
    pub(super) fn condition(&mut self) -> ConditionText {
        let now = Instant::now();
        self.objects
            .retain(|_, problem| problem.until.is_none_or(|until| now < until));
        let parts = [
            self.watch_part(),
            self.object_part(),
            self.unknown_part(),
            self.unproven_part(),
        ];
        let parts: Vec<(&'static str, String)> = parts.into_iter().flatten().collect();
        let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
        match parts.first() {
            Some((reason, _)) => ConditionText::not_synced(reason, texts.join("; ")),
            None => ConditionText::synced(),
        }
    }

    fn name(&self, kind: usize) -> &str {
        self.names.get(kind).map_or("", String::as_str)
    }

    /// Reason and text for kinds that cannot be listed or watched.
    fn watch_part(&self) -> Option<(&'static str, String)> {
        let texts = self.watches.iter().map(|((kind, side), problem)| {
            let side = match side {
                Side::Up => "hub",
                Side::Down => "cluster",
            };
            format!("{} on the {side}: {}", self.name(*kind), shortened(problem))
        });
        let list = list(texts, self.watches.len())?;
        Some(("WatchFailed", format!("cannot follow {list}")))
    }

    /// Reason and text for objects with a problem.
    fn object_part(&self) -> Option<(&'static str, String)> {
        let texts = self.objects.iter().map(|(key, problem)| {
            let place = match key.namespace.as_str() {
                "" => key.name.clone(),
                namespace => format!("{namespace}/{}", key.name),
            };
            format!("{} {place}: {}", self.name(key.kind), shortened(&problem.text))
        });
        let (count, all) = (self.objects.len(), self.shown.max(self.objects.len()));
        let list = list(texts, count)?;
        Some(("ObjectsNotSynced", format!("{count} of {all} objects: {list}")))
    }

    /// Reason and text for resources that the hub does not show.
    fn unknown_part(&self) -> Option<(&'static str, String)> {
        let list = list(self.unknown.iter().cloned(), self.unknown.len())?;
        let text = format!("--resources names resources that the hub does not show the syncer: {list}");
        Some(("UnknownResources", text))
    }

    /// Reason and text for namespaces of other WorkloadClusters.
    fn unproven_part(&self) -> Option<(&'static str, String)> {
        let texts = self
            .unproven
            .iter()
            .map(|(identifier, count)| format!("{count} with the identifier {identifier}"));
        let list = list(texts, self.unproven.len())?;
        let text = format!(
            "the cluster has namespaces that another WorkloadCluster's syncer created: {list}; if that was an earlier registration \
             of this one, berth syncer --adopt UID takes them over"
        );
        Some(("EarlierRegistration", text))
    }
}

/// A list of the first [`MAX_NAMED`] of `texts`, with the number of the others; `None` for no texts. `all` is
/// the number of texts.
fn list(texts: impl Iterator<Item = String>, all: usize) -> Option<String> {
    let mut first: Vec<String> = texts.take(MAX_NAMED).collect();
    if all > first.len() {
        first.push(format!("and {} more", all - first.len()));
    }
    (!first.is_empty()).then(|| first.join(", "))
}

/// The first [`MAX_CHARS`] characters of `text`, with an ellipsis if there are more.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    fn key(name: &str) -> Key {
        Key {
            kind: 1,
            namespace: "app".to_owned(),
            name: name.to_owned(),
        }
    }

    fn problems(unknown: &[&str]) -> Problems {
        let names = ["namespaces", "services"].map(str::to_owned);
        Problems::new(
            names.to_vec(),
            unknown.iter().map(|&name| name.to_owned()).collect(),
        )
    }

    fn condition(problems: &mut Problems) -> Value {
        let list = problems.condition().set_in(&Value::Null, Timestamp::UNIX_EPOCH);
        list.unwrap()[0].clone()
    }

    #[test]
    fn the_first_objects_are_named_with_their_error_and_the_others_counted() {
        let mut problems = problems(&[]);
        assert_eq!(condition(&mut problems)["status"], "True");
        problems.record_shown(7);
        assert!(problems.record(&key("a"), "no address".to_owned(), None));
        assert!(
            !problems.record(&key("a"), "no address".to_owned(), None),
            "no news"
        );
        let synced = condition(&mut problems);
        assert_eq!(
            (&synced["reason"], &synced["severity"]),
            (&json!("ObjectsNotSynced"), &json!("Warning"))
        );
        assert_eq!(synced["message"], "1 of 7 objects: services app/a: no address");
        for name in ["b", "c", "d", "e"] {
            problems.record(&key(name), "x".repeat(1000), None);
        }
        let synced = condition(&mut problems);
        let message = synced["message"].as_str().unwrap();
        assert!(message.starts_with("5 of 7 objects: services app/a"), "{message}");
        assert!(
            message.ends_with("…, and 2 more") && message.len() < 1_200,
            "{message}"
        );
        for name in ["a", "b", "c", "d", "e"] {
            problems.forget(&key(name));
        }
        assert_eq!(condition(&mut problems)["status"], "True");
    }

    #[test]
    fn a_problem_with_a_duration_ends_by_itself() {
        let mut problems = problems(&[]);
        problems.record(&key("a"), "undone".to_owned(), Some(Duration::ZERO));
        assert_eq!(condition(&mut problems)["status"], "True");
        problems.record(&key("a"), "undone".to_owned(), Some(Duration::from_mins(5)));
        problems.forget_lasting(&key("a"));
        assert_eq!(condition(&mut problems)["reason"], "ObjectsNotSynced");
        problems.record(&key("a"), "refused".to_owned(), None);
        problems.forget_lasting(&key("a"));
        assert_eq!(condition(&mut problems)["status"], "True");
    }

    #[test]
    fn all_problems_are_in_the_message_and_the_worst_gives_the_reason() {
        let mut problems = problems(&["widgets.example.com"]);
        assert_eq!(condition(&mut problems)["reason"], "UnknownResources");
        assert!(problems.record_unproven(BTreeMap::from([("u-1".to_owned(), 5)])));
        problems.record_watch(1, Side::Down, Some("forbidden".to_owned()));
        let synced = condition(&mut problems);
        assert_eq!(synced["reason"], "WatchFailed");
        let message = synced["message"].as_str().unwrap();
        for part in [
            "cannot follow services on the cluster: forbidden",
            "that the hub does not show the syncer: widgets.example.com",
            "5 with the identifier u-1",
            "--adopt",
        ] {
            assert!(message.contains(part), "{message}");
        }
        problems.record_watch(1, Side::Down, None);
        assert!(!problems.is_lost(1, Side::Down));
        assert_eq!(condition(&mut problems)["reason"], "UnknownResources");
    }
}
