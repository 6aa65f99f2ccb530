//! Correlation of events, as in client-go: equal events about one object become one event with a count, and
//! the rate of events about each object is limited.

use std::collections::{HashMap, HashSet};

use berth_apimachinery::Timestamp;
use serde_json::Value;

use super::event::{self, EventContent, Series};

/// Time without a repetition after which a series ends.
const SERIES_TIMEOUT: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);
/// Number of events about one object that are accepted at once.
const BURST: f64 = 25.0;
/// Seconds after which one more event about an object is accepted.
const REFILL_SECONDS: f64 = 300.0;
/// Interval at which finished series and full buckets are removed.
const CLEANUP_INTERVAL: jiff::SignedDuration = jiff::SignedDuration::from_mins(1);
/// Highest number of series, and of buckets, that are kept.
const MAX_ENTRIES: usize = 8192;

/// Write of one event.
#[derive(Clone, Debug)]
pub(crate) struct EventWrite {
    /// Series of the event.
    pub(super) series: Series,
    /// Actor that writes the event.
    pub(crate) actor: &'static str,
    /// Namespace of the event.
    pub(crate) namespace: String,
    /// Name of the event.
    pub(crate) name: String,
    /// Whether the event is already stored, so that it is updated.
    pub(crate) is_stored: bool,
    /// The Event object.
    pub(crate) object: Value,
}

/// Outcome of the write of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteResult {
    /// The event is stored.
    Stored,
    /// The event to update was deleted.
    Gone,
    /// The event could not be written.
    Refused,
}

/// State of a series.
#[derive(Debug)]
struct SeriesState {
    content: EventContent,
    name: String,
    count: u64,
    first: Timestamp,
    last: Timestamp,
    is_stored: bool,
}

/// Token bucket for the events about one object: each accepted event takes a token.
#[derive(Debug)]
struct Bucket {
    tokens: f64,
    updated: Timestamp,
}

/// Correlator of the events of one process.
#[derive(Debug)]
pub(super) struct EventCorrelator {
    instance: String,
    /// Number of series that were started.
    started: u64,
    series: HashMap<Series, SeriesState>,
    /// Buckets by the uid of the object.
    buckets: HashMap<String, Bucket>,
    unwritten: HashSet<Series>,
    last_cleanup: Timestamp,
}

impl SeriesState {
    /// The event to store, reported by the process named `instance`.
    fn object(&self, instance: &str) -> Value {
        let mut object = self.content.object(&self.name, instance, self.first);
        if self.count > 1 {
            event::set_series(&mut object, self.count, self.last);
        }
        object
    }

    /// Whether the series has ended, so that a repetition at `now` is a new event.
    fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.last) >= SERIES_TIMEOUT
    }
}

impl Bucket {
    /// Number of tokens at `now`.
    fn tokens(&self, now: Timestamp) -> f64 {
        let seconds = now.duration_since(self.updated).as_secs_f64().max(0.0);
        (self.tokens + seconds / REFILL_SECONDS).min(BURST)
    }
}

impl EventCorrelator {
    /// A correlator for events that the process named `instance` reports.
    pub(super) fn new(instance: String) -> Self {
        Self {
            instance,
            started: 0,
            series: HashMap::new(),
            buckets: HashMap::new(),
            unwritten: HashSet::new(),
            last_cleanup: Timestamp::MIN,
        }
    }

    /// Records an event that occurred at `now`. Returns false if the rate limit of the object drops the
    /// event.
    pub(super) fn record(&mut self, content: EventContent, now: Timestamp) -> bool {
        if !self.take_token(&content.series.uid, now) {
            return false;
        }
        self.clean_up(now);
        let series = content.series.clone();
        self.unwritten.insert(series.clone());
        if let Some(entry) = self.series.get_mut(&series)
            && !entry.is_over(now)
        {
            entry.count += 1;
            entry.last = now;
            return true;
        }
        let entry = self.new_series(content, now);
        self.series.insert(series, entry);
        true
    }

    fn new_series(&mut self, content: EventContent, now: Timestamp) -> SeriesState {
        self.started += 1;
        SeriesState {
            name: content.event_name(now, self.started),
            content,
            count: 1,
            first: now,
            last: now,
            is_stored: false,
        }
    }

    /// Returns the writes of all unwritten events, one for each series.
    pub(super) fn take_writes(&mut self) -> Vec<EventWrite> {
        let unwritten = std::mem::take(&mut self.unwritten);
        let writes = unwritten.into_iter().filter_map(|series| {
            let entry = self.series.get(&series)?;
            Some(EventWrite {
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

    /// Records the outcome of a write. If the stored event was deleted, a new event is to be written.
    pub(super) fn record_result(&mut self, series: &Series, result: WriteResult) {
        match result {
            WriteResult::Stored => {
                if let Some(entry) = self.series.get_mut(series) {
                    entry.is_stored = true;
                }
            }
            WriteResult::Refused => drop(self.series.remove(series)),
            WriteResult::Gone => {
                if let Some(old) = self.series.remove(series) {
                    let entry = self.new_series(old.content, old.last);
                    self.series.insert(series.clone(), entry);
                    self.unwritten.insert(series.clone());
                }
            }
        }
    }

    /// Takes a token of the object `uid`. Returns whether there was one.
    fn take_token(&mut self, uid: &str, now: Timestamp) -> bool {
        let full = Bucket {
            tokens: BURST,
            updated: now,
        };
        let bucket = self.buckets.entry(uid.to_owned()).or_insert(full);
        bucket.tokens = bucket.tokens(now);
        bucket.updated = now;
        let admitted = bucket.tokens >= 1.0;
        if admitted {
            bucket.tokens -= 1.0;
        }
        admitted
    }

    /// Removes finished series and full buckets. If too many series or buckets remain, the half of them that
    /// was unused longest is removed, except unwritten series. A repetition of a removed event is a new
    /// event.
    fn clean_up(&mut self, now: Timestamp) {
        let unwritten = &self.unwritten;
        if now.duration_since(self.last_cleanup) >= CLEANUP_INTERVAL {
            self.last_cleanup = now;
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
            let middle = median(self.buckets.values().map(|bucket| bucket.updated));
            self.buckets.retain(|_, bucket| bucket.updated > middle);
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
