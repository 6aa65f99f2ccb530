//! The recorder, which watches the Decisions of the API and writes a record of each change, a moment later
//! and many at once.
//!
//! No other task waits for the recorder, and no decision is made for it: a record has the reasons and scores
//! of the written decision. Where servers share a store, the server that made a change records it, and the
//! leader records all others.

mod writing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, GroupResource, Key, Timestamp};
use berth_scheduling_api::record::RecordCause;
use berth_scheduling_rest::projection::{CLUSTER_DECISIONS, DECISIONS};
use berth_scheduling_rest::records::{CLUSTER_RECORDS, RECORDS, resource_of};
use berth_storage::{At, Event, Expect, Name, Scope, Source, Step as Write, StoreError, Watch};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use self::writing::deletions;
use super::History;
use super::decision_states::{DecisionStates, PendingChanges, StateChange};
use super::record::{self, Change};
use super::record_index::{LastRecord, RecordIndex};
use super::state::{self, DecisionState, DecisionSubject, differ};

/// Time for collecting changes before they are recorded.
const DELAY: Duration = Duration::from_millis(250);
/// Time for which the leader of servers that share a store leaves a change to the server that made it.
const GRACE: Duration = Duration::from_secs(2);
/// Interval between checks for old records.
const SWEEP_INTERVAL: Duration = Duration::from_secs(15);
/// Delay before the next attempt at a store that did not answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Longest wait for the last changes to appear in the Decisions when the server ends.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Assumed highest difference between the clocks of servers that share a store, in microseconds.
const MAX_SKEW_MICROSECONDS: i64 = 5_000_000;
/// Highest number of events that are processed at once.
const BATCH: usize = 512;

/// Observes Decisions, and writes the records of their changes.
pub(super) struct Recorder {
    history: Arc<History>,
    leading: watch::Receiver<bool>,
    states: DecisionStates,
    record_index: RecordIndex,
    /// Time of the start: older decisions are not changes when they are first observed.
    start_time: Timestamp,
    /// Number in the name of the last record that this server wrote.
    number: i64,
    /// Whether the index may differ from the store.
    is_stale: bool,
}

/// Watches of the recorder.
struct RecorderSources {
    decisions: Box<dyn Watch>,
    /// Revision of the list of each resource. The watch may repeat changes up to this revision.
    list_revisions: BTreeMap<GroupResource, berth_apimachinery::Revision>,
    records: Box<dyn Watch>,
}

impl Recorder {
    pub(super) fn new(history: Arc<History>, leading: watch::Receiver<bool>) -> Self {
        let start_time = history.clock().now();
        Self {
            history,
            leading,
            states: DecisionStates::default(),
            record_index: RecordIndex::default(),
            start_time,
            number: 0,
            is_stale: true,
        }
    }

    /// Deletes all records, where no history is kept.
    pub(super) async fn clear(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Ok(_) = self.leading.wait_for(|&leads| leads), if !self.leads() => {}
                () = std::future::ready(()), if self.leads() => {}
            }
            match self.load().await {
                Ok(()) => {
                    let all = self
                        .record_index
                        .take_all_surplus(&self.history.bounds, self.history.clock().now());
                    self.write(deletions(all).collect()).await;
                    if !self.is_stale {
                        return;
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot read the decision history; retrying"),
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(RETRY_DELAY) => {}
            }
        }
    }

    /// Records changes until `stop`, and then the last changes before that.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => return,
            () = self.history.projection.ready() => {}
        }
        loop {
            let sources = self.begin().await;
            let error = match sources {
                Ok(sources) => match self.follow(sources, &stop).await {
                    Ok(()) => return,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            tracing::info!(%error, "decision history watch restarted");
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(RETRY_DELAY) => {}
            }
        }
    }

    /// Reads all Decisions and records, opens the watches that continue the lists, observes the differences
    /// from the known states, and sweeps once.
    async fn begin(&mut self) -> Result<RecorderSources, StoreError> {
        let store = &self.history.store;
        let records = store.watch(Scope::Many(vec![RECORDS, CLUSTER_RECORDS]), store.revision())?;
        self.load().await?;
        let shown = &self.history.projection;
        let decisions = shown.watch(Scope::Many(vec![DECISIONS, CLUSTER_DECISIONS]), shown.revision())?;
        let lists = [DECISIONS, CLUSTER_DECISIONS].map(|resource| (resource, shown.cached(resource)));
        let now = self.history.clock().now();
        let ended: Vec<Name> = self
            .states
            .places()
            .filter(|place| !lists.iter().any(|(_, list)| list.items.contains_key(*place)))
            .cloned()
            .collect();
        for place in ended {
            self.states.observe(&place, None, now);
        }
        for object in lists.iter().flat_map(|(_, list)| list.items.values()) {
            self.observe(object, now);
        }
        let mut sources = RecorderSources {
            decisions,
            list_revisions: lists
                .into_iter()
                .map(|(resource, list)| (resource, list.revision))
                .collect(),
            records,
        };
        self.sweep(&mut sources).await?;
        Ok(sources)
    }

    /// Rebuilds the index from the store.
    async fn load(&mut self) -> Result<(), StoreError> {
        let mut index = RecordIndex::default();
        for resource in [RECORDS, CLUSTER_RECORDS] {
            let stored = self.history.store.list(resource, At::Latest).await?;
            stored
                .items
                .values()
                .for_each(|object| index.add(object, &self.states));
        }
        self.record_index = index;
        self.is_stale = false;
        Ok(())
    }

    async fn follow(
        &mut self,
        mut sources: RecorderSources,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let mut flushes = tokio::time::interval(DELAY);
        flushes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sweeps =
            tokio::time::interval_at(tokio::time::Instant::now() + SWEEP_INTERVAL, SWEEP_INTERVAL);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return self.end(&mut sources).await,
                events = sources.decisions.next(BATCH) => self.observe_events(&events?, &sources.list_revisions),
                events = sources.records.next(BATCH) => self.index(&events?),
                Ok(()) = self.leading.changed(), if self.history.store.is_shared() => self.add_unrecorded(),
                _ = flushes.tick(), if self.states.oldest().is_some() => {
                    self.index_new_records(&mut sources).await?;
                    self.flush(DELAY).await;
                }
                _ = sweeps.tick() => self.sweep(&mut sources).await?,
            }
        }
    }

    /// Indexes records of other servers, whose changes must not be recorded again.
    async fn index_new_records(&mut self, sources: &mut RecorderSources) -> Result<(), StoreError> {
        while let Ok(events) = tokio::time::timeout(Duration::ZERO, sources.records.next(BATCH)).await {
            self.index(&events?);
        }
        Ok(())
    }

    /// Observes all changes of Decisions that have already arrived in the watch.
    async fn observe_pending(&mut self, sources: &mut RecorderSources) -> Result<(), StoreError> {
        while let Ok(events) = tokio::time::timeout(Duration::ZERO, sources.decisions.next(BATCH)).await {
            self.observe_events(&events?, &sources.list_revisions);
        }
        Ok(())
    }

    /// Records the last changes: the next server would not know their causes.
    async fn end(&mut self, sources: &mut RecorderSources) -> Result<(), StoreError> {
        if let Ok(Err(error)) = tokio::time::timeout(END_TIMEOUT, self.history.projection.caught_up()).await {
            tracing::info!(%error, "the last changes of decisions may be missing from the history");
        }
        self.observe_pending(sources).await?;
        self.index_new_records(sources).await?;
        self.flush(Duration::ZERO).await;
        Ok(())
    }

    /// Whether this server records the changes that no server made.
    fn leads(&self) -> bool {
        !self.history.store.is_shared() || *self.leading.borrow()
    }

    fn observe_events(
        &mut self,
        events: &[Arc<Event>],
        list_revisions: &BTreeMap<GroupResource, berth_apimachinery::Revision>,
    ) {
        let now = self.history.clock().now();
        for event in events {
            let change = &event.change;
            if list_revisions
                .get(&change.key.resource)
                .is_some_and(|&revision| change.revision <= revision)
            {
                continue;
            }
            match &change.new {
                Some(object) => self.observe(object, now),
                None => {
                    let place = Name::new(&change.key.namespace, &change.key.name);
                    self.states.observe(&place, None, now);
                }
            }
        }
    }

    /// Observes the present state of the Decision `object`.
    fn observe(&mut self, object: &berth_apimachinery::Object, now: Timestamp) {
        let meta = object.meta();
        let (subject, state) = match state::read(object) {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(name = meta.name(), namespace = meta.namespace(), %error, "cannot parse a Decision; its change is not recorded");
                return;
            }
        };
        let place = Name::new(meta.namespace(), meta.name());
        let is_old = meta
            .creation_timestamp()
            .is_some_and(|created| self.is_older(created));
        let is_followed = self.states.state(&place).is_some() || self.states.has_pending(&place);
        if is_followed || !is_old {
            // `record` compares the state with the last record, which another server may have made.
            self.states.observe(&place, Some((subject, state)), now);
            return;
        }
        match self.record_index.last(&place).cloned() {
            Some(last) if self.is_from_earlier_run(&last) => self.catch_up(place, last, subject, state, now),
            Some(_) => self.states.observe(&place, Some((subject, state)), now),
            None => self.states.set_state(place, subject, state.into()),
        }
    }

    /// Whether `last` was recorded before this server began to record: then the changes after it were
    /// not observed.
    fn is_from_earlier_run(&self, last: &LastRecord) -> bool {
        record::number(&last.name).is_none_or(|number| number < self.start_time.as_microsecond())
    }

    /// Whether an object created at `created` is older than the recorder. `creationTimestamp` has whole
    /// seconds: an object created in the second of the start counts as new.
    fn is_older(&self, created: Timestamp) -> bool {
        created.as_second() < self.start_time.as_second()
    }

    /// Records the present state of a decision whose last record is `last`, after changes that were not
    /// observed.
    fn catch_up(
        &mut self,
        place: Name,
        last: LastRecord,
        subject: DecisionSubject,
        state: DecisionState,
        now: Timestamp,
    ) {
        let subject = if subject == last.subject {
            last.subject.clone()
        } else {
            subject
        };
        let state = state::shared(state, last.to.as_ref());
        self.states
            .set_state(place.clone(), subject.clone(), Arc::clone(&state));
        self.add_since(&place, last, subject, state, now);
    }

    /// Adds the changes between the last record of a decision and its present `state`. The decision may be
    /// about another object of the same name by now.
    fn add_since(
        &mut self,
        place: &Name,
        last: LastRecord,
        subject: DecisionSubject,
        state: Arc<DecisionState>,
        now: Timestamp,
    ) {
        let mut from = last.to;
        if last.subject.is_other_object(&subject) {
            self.add_unobserved(place, last.subject, from.take(), None, now);
        }
        self.add_unobserved(place, subject, from, Some(state), now);
    }

    /// Adds the change from `from` to `to`, which was not observed, if the two differ.
    fn add_unobserved(
        &mut self,
        place: &Name,
        subject: DecisionSubject,
        from: Option<Arc<DecisionState>>,
        to: Option<Arc<DecisionState>>,
        now: Timestamp,
    ) {
        if !differ(from.as_deref(), to.as_deref()) {
            return;
        }
        let change = StateChange {
            subject,
            from,
            to,
            at: now,
            unseen: true,
        };
        self.states.add_change(place, change);
    }

    /// Indexes written records, of this server or of another one.
    fn index(&mut self, events: &[Arc<Event>]) {
        for event in events {
            let change = &event.change;
            match (&change.new, &change.old) {
                (Some(object), _) => self.record_index.add(object, &self.states),
                (None, Some(object)) => self.record_index.remove_object(object),
                (None, None) => {}
            }
        }
    }

    /// Adds the changes since the last records, where this server records the changes that no server made.
    /// They are missing after a failed write, and where a former leader has not recorded them. Decisions
    /// without any record are left out.
    fn add_unrecorded(&mut self) {
        if !self.leads() {
            return;
        }
        let now = self.history.clock().now();
        let missed: Vec<(Name, LastRecord, DecisionSubject, Arc<DecisionState>)> = self
            .record_index
            .all()
            .filter(|(place, _)| !self.states.has_pending(place))
            .filter_map(|(place, last)| {
                let (subject, known) = self.states.subject_and_state(place)?;
                Some((place.clone(), last.clone(), subject.clone(), Arc::clone(known)))
            })
            .collect();
        for (place, last, subject, known) in missed {
            self.add_since(&place, last, subject, known, now);
        }
    }

    /// Records the changes that have waited for `delay`, and deletes records beyond the limits.
    async fn flush(&mut self, delay: Duration) {
        let now = self.history.clock().now();
        let mut writes = Vec::new();
        for (place, waiting) in self.states.take(now, delay) {
            if !delay.is_zero() && self.may_be_recorded_elsewhere(&place, &waiting, now) {
                self.states.put_back(place, waiting);
                continue;
            }
            for change in waiting.changes {
                writes.extend(self.record(&place, &change, now));
            }
            writes.extend(deletions(
                self.record_index.take_surplus_of(&place, &self.history.bounds),
            ));
        }
        writes.extend(deletions(
            self.record_index.take_surplus(&self.history.bounds, now),
        ));
        self.write(writes).await;
    }

    /// Whether another server may have made the changes in `waiting`, and may still record them.
    fn may_be_recorded_elsewhere(&self, place: &Name, waiting: &PendingChanges, now: Timestamp) -> bool {
        let waited = Duration::try_from(now.duration_since(waiting.since)).unwrap_or_default();
        self.history.store.is_shared() && waited < GRACE && !self.history.listener.has_pending(place)
    }

    /// The write of the record of `change`, if this server has to record the change and no record has it yet.
    fn record(&mut self, place: &Name, change: &StateChange, now: Timestamp) -> Option<Write> {
        let [joined, left] = record::joined_and_left(change.from.as_deref(), change.to.as_deref());
        let written = self
            .history
            .listener
            .take(place, &joined, &left, change.to.is_none());
        if written.is_none() && !self.leads() {
            return None;
        }
        let from = self.recorded_state(place, change);
        if !differ(from.as_deref(), change.to.as_deref())
            || (written.is_none() && self.may_be_recorded(place, change))
        {
            return None;
        }
        let observed_cause = match &written {
            None if !change.unseen => self.cause_of(change),
            _ => None,
        };
        let spec = record::record(&Change {
            decision: &place.name,
            subject: &change.subject,
            at: change.at,
            from: from.as_deref(),
            to: change.to.as_deref(),
            written: written.as_ref(),
            observed_cause,
            unseen: change.unseen && written.is_none(),
        });
        let name = record::name(&place.name, self.next_number(place, now));
        let value = match record::object(&place.namespace, &name, &spec, now) {
            Ok(value) => value,
            Err(error) => {
                tracing::error!(%error, name, "this change of a decision is missing in the history: its record cannot be made");
                return None;
            }
        };
        match Draft::new(&value) {
            Ok(draft) => {
                self.record_index
                    .put(place.clone(), &name, &spec, draft.len(), now, &self.states);
                Some(Write {
                    verb: Verb::Create,
                    key: Key::new(resource_of(&place.namespace), &place.namespace, &name),
                    subresource: "",
                    object: Some(draft),
                    expect: Expect::Absent,
                    guards: Vec::new(),
                })
            }
            Err(error) => {
                tracing::error!(%error, name, "this change of a decision is missing in the history: its record is no valid object");
                None
            }
        }
    }

    /// Whether the last record may be the record of `change` by another server: it does not name all
    /// clusters, and has no difference from the state after `change`.
    fn may_be_recorded(&self, place: &Name, change: &StateChange) -> bool {
        let Some(last) = self.record_index.last(place) else {
            return false;
        };
        // A record from before the change is about another one. The clocks of the servers may differ a little.
        let earliest = change.at.as_microsecond() - MAX_SKEW_MICROSECONDS;
        let is_newer = record::number(&last.name).is_some_and(|number| number >= earliest);
        let last = last.to.as_deref();
        self.history.store.is_shared()
            && is_newer
            && last.is_some_and(DecisionState::is_shortened)
            && !differ(last, change.to.as_deref())
    }

    /// The state from which the record of `change` starts: the end state of the last record, so that no two
    /// records contradict each other, or the state before `change` if there is no record. Where both are
    /// equal, the state before `change` completes the recorded one, which may be shortened.
    fn recorded_state(&self, place: &Name, change: &StateChange) -> Option<Arc<DecisionState>> {
        let Some(last) = self.record_index.last(place) else {
            return change.from.clone();
        };
        match (&last.to, &change.from) {
            (Some(last), Some(whole)) if !last.differs(whole) => Some(Arc::new(DecisionState {
                message: last.message.clone(),
                reasons: last.reasons.clone().or_else(|| whole.reasons.clone()),
                ..DecisionState::clone(whole)
            })),
            (last, _) => last.clone(),
        }
    }

    /// The number of the next record of the decision at `place`: it is higher than the last one, even if
    /// another server's clock was ahead.
    fn next_number(&mut self, place: &Name, now: Timestamp) -> i64 {
        let last = self
            .record_index
            .last(place)
            .and_then(|last| record::number(&last.name));
        self.number = now
            .as_microsecond()
            .max(self.number + 1)
            .max(last.unwrap_or_default() + 1);
        self.number
    }

    /// The change of an object that caused `change`, which no decision of this server made.
    fn cause_of(&self, change: &StateChange) -> Option<RecordCause> {
        let dialect = self
            .history
            .engine
            .dialects()
            .find(|dialect| dialect.name() == &*change.subject.dialect)?;
        let source = &change.subject.source_ref;
        let kinds = dialect.demands().iter();
        let resource = kinds
            .filter(|demand| demand.kind == &*source.kind)
            .map(|demand| demand.resource)
            .next()?;
        let key = Key::new(resource, &source.namespace, &source.name);
        match change.to {
            Some(_) => self.history.causes.take_seen(dialect.name(), &key, change.at),
            None => self.history.causes.take_gone(&key, change.at),
        }
    }

    /// Forgets causes and written decisions that are too old, and reads a stale index again. On the leader,
    /// this also deletes records beyond the limits and in deleted namespaces, and adds the end of decisions
    /// that ended while no server recorded.
    async fn sweep(&mut self, sources: &mut RecorderSources) -> Result<(), StoreError> {
        self.history.causes.sweep();
        self.history.listener.sweep();
        if self.is_stale {
            if let Err(error) = self.load().await {
                tracing::warn!(%error, "cannot read the decision history; retrying");
                return Ok(());
            }
            // Records that could not be written are not in the store.
            self.add_unrecorded();
        }
        if !self.leads() {
            return Ok(());
        }
        let now = self.history.clock().now();
        if self.history.projection.caught_up().await.is_ok() {
            // Another server may have recorded changes that this server has not read yet. Their decisions
            // may still exist.
            self.observe_pending(sources).await?;
            self.find_ended(now);
        }
        let mut surplus = self.record_index.take_all_surplus(&self.history.bounds, now);
        surplus.extend(self.of_deleted_namespaces());
        self.write(deletions(surplus).collect()).await;
        Ok(())
    }

    /// Adds the end of decisions that have a record and do not exist any more.
    fn find_ended(&mut self, now: Timestamp) {
        let is_complete = |dialect: &str| {
            let engine = &self.history.engine;
            engine.snapshot(dialect).is_some() && engine.complete(dialect).is_ok()
        };
        let ended: Vec<(Name, DecisionSubject, Arc<DecisionState>)> = self
            .record_index
            .all()
            .filter(|(place, last)| self.states.state(place).is_none() && is_complete(&last.subject.dialect))
            .filter_map(|(place, last)| Some((place.clone(), last.subject.clone(), last.to.clone()?)))
            .filter(|(place, ..)| !self.states.has_pending(place))
            .collect();
        for (place, subject, last) in ended {
            self.add_unobserved(&place, subject, Some(last), None, now);
        }
    }
}
