//! Series of events: new events, repeated events, and events beyond the rate limit.
//!
//! As in client-go: equal events of one object are one event with a count, and an object's rate of
//! events is limited.

use std::collections::{HashMap, HashSet};

use berth_apimachinery::Timestamp;
use serde_json::Value;

use super::event::{self, EventContent, Series};

/// Silence that ends a series.
const SILENCE: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);
/// Number of events of one object that are accepted at once.
const BURST: f64 = 25.0;
/// Seconds after which one more event of the object is accepted.
const REFILL_SECONDS: f64 = 300.0;
/// Interval at which finished series are forgotten.
const SWEEP: jiff::SignedDuration = jiff::SignedDuration::from_mins(1);
/// Highest number of series, and of objects with their rates, that are kept.
const MAX_ENTRIES: usize = 8192;

/// One event to write.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Series of the event.
    pub(super) series: Series,
    /// Actor that writes the event.
    pub(crate) actor: &'static str,
    /// Namespace of the event.
    pub(crate) namespace: String,
    /// Name of the event.
    pub(crate) name: String,
    /// Whether the event is stored already.
    pub(crate) is_stored: bool,
    /// The object.
    pub(crate) object: Value,
}

/// Outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteResult {
    /// The event is stored.
    Stored,
    /// The stored event was deleted.
    Gone,
    /// The event could not be written.
    Refused,
}

#[derive(Debug)]
struct SeriesState {
    content: EventContent,
    name: String,
    count: u64,
    first: Timestamp,
    last: Timestamp,
    is_stored: bool,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

/// The series of events of one process, and the rates of their objects.
#[derive(Debug)]
pub(super) struct Book {
    instance: String,
    number: u64,
    series: HashMap<Series, SeriesState>,
    buckets: HashMap<String, Bucket>,
    unwritten: HashSet<Series>,
    last_sweep: Timestamp,
}

impl SeriesState {
    /// The event to store, reported by the process named `instance`.
    fn object(&self, instance: &str) -> Value {
        let mut object = self.content.object(&self.name, instance, self.first);
        if self.count > 1 {
            event::repeat(&mut object, self.count, self.last);
        }
        object
    }

    /// Whether a repetition at `now` is a new event.
    fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.last) >= SILENCE
    }
}

impl Bucket {
    /// Number of tokens at `now`.
    fn tokens(&self, now: Timestamp) -> f64 {
        let seconds = now.duration_since(self.at).as_secs_f64().max(0.0);
        (self.tokens + seconds / REFILL_SECONDS).min(BURST)
    }
}

impl Book {
    /// An empty book of the process named `instance`.
    pub(super) fn new(instance: String) -> Self {
        Self {
            instance,
            number: 0,
            series: HashMap::new(),
            buckets: HashMap::new(),
            unwritten: HashSet::new(),
            last_sweep: Timestamp::MIN,
        }
    }

    /// Records an event at `now`. Returns whether the object's rate limit admits it.
    pub(super) fn note(&mut self, content: EventContent, now: Timestamp) -> bool {
        if !self.admit(&content.series.uid, now) {
            return false;
        }
        self.forget(now);
        let series = content.series.clone();
        self.unwritten.insert(series.clone());
        if let Some(entry) = self.series.get_mut(&series)
            && !entry.is_over(now)
        {
            entry.count += 1;
            entry.last = now;
            return true;
        }
        let entry = self.begin(content, now);
        self.series.insert(series, entry);
        true
    }

    fn begin(&mut self, content: EventContent, now: Timestamp) -> SeriesState {
        self.number += 1;
        SeriesState {
            name: content.event_name(now, self.number),
            content,
            count: 1,
            first: now,
            last: now,
            is_stored: false,
        }
    }

    /// Takes the events that are to be written now, each once.
    pub(super) fn take(&mut self) -> Vec<Write> {
        let unwritten = std::mem::take(&mut self.unwritten);
        let writes = unwritten.into_iter().filter_map(|series| {
            let entry = self.series.get(&series)?;
            Some(Write {
                actor: entry.content.actor,
                namespace: entry.content.namespace.clone(),
                name: entry.name.clone(),
                is_stored: entry.is_stored,
                object: entry.object(&self.instance),
                series,
            })
        });
        writes.collect()
    }

    /// Records the outcome of a write. A deleted event starts over.
    pub(super) fn wrote(&mut self, series: &Series, result: WriteResult) {
        match result {
            WriteResult::Stored => {
                if let Some(entry) = self.series.get_mut(series) {
                    entry.is_stored = true;
                }
            }
            WriteResult::Refused => drop(self.series.remove(series)),
            WriteResult::Gone => {
                if let Some(old) = self.series.remove(series) {
                    let entry = self.begin(old.content, old.last);
                    self.series.insert(series.clone(), entry);
                    self.unwritten.insert(series.clone());
                }
            }
        }
    }

    fn admit(&mut self, uid: &str, now: Timestamp) -> bool {
        let full = Bucket {
            tokens: BURST,
            at: now,
        };
        let bucket = self.buckets.entry(uid.to_owned()).or_insert(full);
        bucket.tokens = bucket.tokens(now);
        bucket.at = now;
        let admitted = bucket.tokens >= 1.0;
        if admitted {
            bucket.tokens -= 1.0;
        }
        admitted
    }

    /// Forgets finished series and full buckets. If too many series or buckets remain, the half that was
    /// silent longest is forgotten. Unwritten series stay. A repetition of a forgotten event is a new event.
    fn forget(&mut self, now: Timestamp) {
        let unwritten = &self.unwritten;
        if now.duration_since(self.last_sweep) >= SWEEP {
            self.last_sweep = now;
            self.series
                .retain(|series, entry| !entry.is_over(now) || unwritten.contains(series));
            self.buckets.retain(|_, bucket| bucket.tokens(now) < BURST);
        }
        if self.series.len() >= MAX_ENTRIES {
            let middle = median(self.series.values().map(|entry| entry.last));
            self.series
                .retain(|series, entry| entry.last > middle || unwritten.contains(series));
        }
        if self.buckets.len() >= MAX_ENTRIES {
            let middle = median(self.buckets.values().map(|bucket| bucket.at));
            self.buckets.retain(|_, bucket| bucket.at > middle);
        }
    }
}

fn median(times: impl Iterator<Item = Timestamp>) -> Timestamp {
    let mut times: Vec<Timestamp> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
