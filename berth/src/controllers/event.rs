//! One event on a demand, as an `events.k8s.io/v1` object.

use berth_apimachinery::{Key, Object, Revision, Timestamp, time};
use berth_dialect_contract::{Dialect, Note, NoteType, RelatedObject, config};
use berth_engine::Snapshot;
use serde_json::{Value, json};

/// Highest number of bytes of an event's text (docs/reference.md, "Events").
const TEXT_LIMIT: usize = 1000;
/// Highest number of bytes of an event's name that come from the name of the regarding object.
const NAME_LIMIT: usize = 220;
/// The namespace of events about objects without a namespace.
const NAMESPACE: &str = "default";
/// Reporting controller.
const CONTROLLER: &str = "berth.dev/scheduler";

/// Content of an event, apart from its times and count.
#[derive(Clone, Debug)]
pub(super) struct EventContent {
    /// Namespace of the event.
    pub(super) namespace: String,
    /// Name of the object that the event is about.
    pub(super) name: String,
    /// Actor of the system. The event is written as this actor.
    pub(super) actor: &'static str,
    /// Series of the event.
    pub(super) series: Series,
    regarding: Value,
    action: &'static str,
    related: Option<Value>,
}

/// Fields that identify an event: events with equal fields are repetitions of one event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Series {
    /// Uid of the object that the events are about, or the name of a configuration that is not stored.
    pub(super) uid: String,
    r#type: &'static str,
    reason: &'static str,
    text: String,
    related: Option<Key>,
}

impl Series {
    fn new(uid: &str, note: Note) -> Self {
        Self {
            uid: uid.to_owned(),
            r#type: NoteType::as_str(note.r#type),
            reason: note.reason,
            text: truncated(note.text),
            related: note.related.map(|related| related.key),
        }
    }
}

impl EventContent {
    /// The event of `note` on `demand` at `revision`; `None` when `snapshot` does not have the demand.
    pub(super) fn new(snapshot: &Snapshot, demand: &Key, revision: Revision, note: Note) -> Option<Self> {
        let object = snapshot.inventory.object(demand)?;
        let kinds = snapshot.dialect.demands();
        let kind = kinds.iter().find(|kind| kind.resource == demand.resource)?;
        let meta = object.meta();
        let regarding = json!({
            "apiVersion": object.api_version(), "kind": kind.kind, "name": meta.name(), "namespace": meta.namespace(),
            "uid": meta.uid(), "resourceVersion": revision.to_string(),
        });
        let namespace = match meta.namespace() {
            "" => NAMESPACE,
            namespace => namespace,
        };
        Some(Self {
            namespace: namespace.to_owned(),
            name: meta.name().to_owned(),
            actor: snapshot.dialect.actor(),
            regarding: without_empty(regarding),
            action: note.action,
            related: note.related.as_ref().map(reference),
            series: Series::new(meta.uid(), note),
        })
    }

    /// The event of `note` on the SchedulerConfiguration of `dialect`, stored or not.
    pub(super) fn of_configuration(dialect: &dyn Dialect, stored: Option<&Object>, note: Note) -> Self {
        let uid = stored.map_or("", |stored| stored.meta().uid());
        let regarding = json!({
            "apiVersion": format!("{}/{}", config::GROUP, config::VERSION), "kind": config::KIND, "name": dialect.name(),
            "uid": uid,
        });
        // A configuration that is not stored has no uid: its name identifies it.
        let uid = if uid.is_empty() { dialect.name() } else { uid };
        Self {
            namespace: NAMESPACE.to_owned(),
            name: dialect.name().to_owned(),
            actor: dialect.actor(),
            regarding: without_empty(regarding),
            action: note.action,
            related: note.related.as_ref().map(reference),
            series: Series::new(uid, note),
        }
    }

    /// A unique name for the event, which is the `number`th of this process.
    pub(super) fn event_name(&self, now: Timestamp, number: u64) -> String {
        let mut end = self.name.len().min(NAME_LIMIT);
        while !self.name.is_char_boundary(end) {
            end -= 1;
        }
        let unique = now.as_nanosecond().wrapping_add(i128::from(number));
        format!("{}.{unique:x}", self.name[..end].trim_end_matches(['.', '-']))
    }

    /// The Event object, first observed at `now`, reported by the process named `instance`.
    pub(super) fn object(&self, name: &str, instance: &str, now: Timestamp) -> Value {
        let Series {
            r#type, reason, text, ..
        } = &self.series;
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": name, "namespace": self.namespace},
            "regarding": self.regarding, "type": r#type, "reason": reason, "action": self.action, "note": text,
            "eventTime": time::rfc3339_micro(now),
            "reportingController": CONTROLLER, "reportingInstance": instance,
        });
        if let Some(related) = &self.related {
            event["related"] = related.clone();
        }
        event
    }
}

/// Sets the series of `event`: observed `count` times, last at `now`.
pub(super) fn set_series(event: &mut Value, count: u64, now: Timestamp) {
    event["series"] = json!({"count": count, "lastObservedTime": time::rfc3339_micro(now)});
}

fn reference(related: &RelatedObject) -> Value {
    without_empty(json!({
        "apiVersion": related.api_version, "kind": related.kind,
        "name": *related.key.name, "namespace": *related.key.namespace,
    }))
}

fn without_empty(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| field.as_str() != Some(""));
    }
    value
}

/// Truncates `text` to [`TEXT_LIMIT`] bytes.
fn truncated(mut text: String) -> String {
    const MARK: &str = "...";
    if text.len() <= TEXT_LIMIT {
        return text;
    }
    let mut end = TEXT_LIMIT - MARK.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text.push_str(MARK);
    text
}

/// An event for tests.
#[cfg(test)]
pub(super) fn test_event(uid: &str, text: &str) -> EventContent {
    EventContent {
        namespace: "ns".to_owned(),
        name: "thing".to_owned(),
        actor: "berth:scheduler",
        regarding: json!({"uid": uid}),
        action: "Binding",
        related: None,
        series: Series {
            uid: uid.to_owned(),
            r#type: "Normal",
            reason: "Scheduled",
            text: text.to_owned(),
            related: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(truncated("short".to_owned()), "short");
        assert_eq!(truncated("x".repeat(1000)).len(), 1000);
        let long = truncated("é".repeat(600));
        assert!(long.len() <= 1000 && long.ends_with("é..."), "{}", long.len());
    }
}
