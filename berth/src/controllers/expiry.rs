//! Expiry of events: an event whose last observation is longer ago than `--event-ttl` is deleted, as a
//! kube-apiserver does.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Key, Object, Timestamp, time};
use berth_kubernetes::core::event::STORED;
use berth_storage::{At, Expect, Step, Store, StoreError};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Longest interval between two checks. If events are kept for a shorter time, checks are more frequent.
const MAX_INTERVAL: Duration = Duration::from_mins(1);
/// Highest number of events that are deleted in one commit.
const BATCH: usize = 256;

/// Starts the task, which deletes events while `leading` is true. A `ttl` of zero keeps events without limit.
pub(super) fn spawn(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    leading: watch::Receiver<bool>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        if ttl.is_zero() {
            return;
        }
        let interval = MAX_INTERVAL.min(ttl.max(Duration::from_secs(1)));
        loop {
            tokio::time::sleep(interval).await;
            if !*leading.borrow() {
                continue;
            }
            if let Err(error) = delete_expired(&*store, clock.now(), ttl).await {
                tracing::warn!(%error, "cannot delete expired Events; retrying");
            }
        }
    })
}

/// Deletes the events that were last observed before `now - ttl`.
async fn delete_expired(store: &dyn Store, now: Timestamp, ttl: Duration) -> Result<(), StoreError> {
    let Ok(limit) = now.checked_sub(ttl) else {
        return Ok(());
    };
    let events = store.list(STORED, At::Latest).await?;
    let old: Vec<Step> = events
        .iter(None, None)
        .filter(|(_, event)| last_observed(event).is_some_and(|observed| observed < limit))
        .map(|(name, event)| Step {
            verb: Verb::Delete,
            key: Key::new(STORED, &name.namespace, &name.name),
            subresource: "",
            object: None,
            expect: Expect::At(event.revision()),
            guards: Vec::new(),
        })
        .collect();
    for steps in old.chunks(BATCH) {
        match store.apply(steps.to_vec()).await {
            Ok(_) => {}
            // An event was repeated or deleted in the meantime: the next check deletes the rest.
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Time fields of an event of the core API or of `events.k8s.io`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Times {
    series: Option<Series>,
    last_timestamp: Option<String>,
    event_time: Option<String>,
    first_timestamp: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Series {
    last_observed_time: Option<String>,
}

/// The latest time in a stored event, which may be its creation. Only the times are parsed, since a whole
/// parsed event would be cached with the object and take many times the memory of the object.
fn last_observed(event: &Object) -> Option<Timestamp> {
    let times: Times = event.view().unwrap_or_default();
    let series = times.series.and_then(|series| series.last_observed_time);
    let fields = [
        series,
        times.last_timestamp,
        times.event_time,
        times.first_timestamp,
    ];
    let latest = fields.into_iter().filter_map(|field| time::parse(&field?)).max();
    latest.max(event.meta().creation_timestamp())
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Draft, FixedClock};
    use berth_storage::MemoryStore;
    use serde_json::{Value, json};

    use super::*;

    fn event(store: &MemoryStore, name: &str, fields: Value) {
        let mut value =
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "ns"}});
        json_patch::merge(&mut value, &fields);
        let step = Step {
            verb: Verb::Create,
            key: Key::new(STORED, "ns", name),
            subresource: "",
            object: Some(Draft::new(&value).unwrap()),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        store.commit(&[step]).unwrap();
    }

    #[tokio::test]
    async fn what_was_not_seen_for_long_goes_and_what_repeats_stays() {
        let store = MemoryStore::default();
        let (early, late) = ("2026-11-21T10:00:00Z", "2026-11-21T11:30:00.000001Z");
        event(&store, "old", json!({"eventTime": early}));
        event(
            &store,
            "repeats",
            json!({"eventTime": early, "series": {"count": 2, "lastObservedTime": late}}),
        );
        event(
            &store,
            "core",
            json!({"firstTimestamp": early, "lastTimestamp": late}),
        );
        event(&store, "timeless", json!({}));
        let now = time::parse("2026-11-21T12:00:00Z").unwrap();
        delete_expired(&store, now, Duration::from_hours(1))
            .await
            .unwrap();
        let events = berth_storage::Source::cached(&store, STORED);
        let left: Vec<&str> = events.items.keys().map(|name| &*name.name).collect();
        assert_eq!(left, ["core", "repeats", "timeless"]);
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_leads_removes_events() {
        let store = Arc::new(MemoryStore::default());
        event(&store, "old", json!({"eventTime": "2026-11-21T10:00:00Z"}));
        let left = || berth_storage::Source::cached(&*store, STORED).items.len();
        let now = time::parse("2026-11-21T12:00:00Z").unwrap();
        let (lead, leading) = watch::channel(false);
        let kept = Arc::clone(&store) as Arc<dyn Store>;
        let task = spawn(kept, Arc::new(FixedClock(now)), Duration::from_hours(1), leading);
        tokio::time::sleep(MAX_INTERVAL * 3).await;
        assert_eq!(left(), 1, "somebody else leads");
        lead.send(true).unwrap();
        tokio::time::sleep(MAX_INTERVAL + Duration::from_secs(1)).await;
        assert_eq!(left(), 0);
        event(&store, "old", json!({"eventTime": "2026-11-21T10:00:00Z"}));
        lead.send(false).unwrap();
        tokio::time::sleep(MAX_INTERVAL * 3).await;
        assert_eq!(left(), 1, "it leads no more");
        task.abort();
    }
}
