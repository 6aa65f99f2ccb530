//! Binding: the engine decides on a fresh snapshot, commits the writes with guards, and decides again if the
//! world changed in between.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::write::{CommitError, Guard, WriteRefusal};
use berth_apimachinery::{Object, Revision, Status};
use berth_dialect_contract::{Action, Decision, Outcome};
use tracing::{Instrument as _, Span};

use crate::bound::{Bind, BindError, BindOutcome, Commit, UnplacedTreatment};
use crate::contest::{WriteInProgress, WritePermit};
use crate::dirty::Dirty;
use crate::engine::{Engine, Slot};

/// Highest number of attempts of one binding, each with a decision on a fresh snapshot, before the caller
/// gets 409 (docs/concepts.md, "Settled questions").
pub const ATTEMPTS: usize = 8;

/// Commits writes: to the server's registry, with validation and admission, or to a hub.
#[async_trait]
pub trait Committer: Send + Sync + 'static {
    /// Commits the writes of `commit`, and returns the written objects in their present state.
    ///
    /// # Errors
    /// When no write, or only some of the writes, were committed.
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError>;

    /// Whether writes can be stored in one transaction with the create of the demand.
    fn can_store_with_demand(&self) -> bool {
        false
    }
}

impl Engine {
    /// Binds `bind.demand`. Writes nothing if the decision is already written.
    ///
    /// # Errors
    /// See [`BindError`].
    pub async fn bind(&self, committer: &dyn Committer, bind: Bind<'_>) -> Result<BindOutcome, BindError> {
        let span = span(&bind, false);
        let result = self.bind_in_turn(committer, bind).instrument(span.clone()).await;
        self.report(&span, &bind, &result);
        result
    }

    /// Reports the result of `bind` to the trace span and to the observer.
    pub(crate) fn report(&self, span: &Span, bind: &Bind<'_>, result: &Result<BindOutcome, BindError>) {
        if let Ok(bound) = result {
            span.record("outcome", bound.decision.outcome.as_str());
            span.record("reason", bound.decision.reason);
            span.record("written", bound.written.len());
        }
        span.in_scope(|| match result {
            Ok(_) => tracing::debug!("decided"),
            Err(error) => tracing::debug!(%error, "not bound"),
        });
        if let Some(observer) = self.observer.get().filter(|_| !bind.dry_run) {
            match result {
                Ok(bound) => observer.bound(bind, bound),
                Err(error) => observer.failed(bind.dialect, bind.demand, error),
            }
        }
    }

    async fn bind_in_turn(
        &self,
        committer: &dyn Committer,
        bind: Bind<'_>,
    ) -> Result<BindOutcome, BindError> {
        let slot = self
            .slot(bind.dialect)
            .ok_or_else(|| BindError::NotFound(bind.demand.clone()))?;
        self.complete(bind.dialect)?;
        // If other bindings queue for scarce capacity, this binding queues, too: it would lose the race
        // against them.
        let mut turn = match slot.turn.try_lock() {
            Ok(_) => None,
            Err(_) => Some(slot.turn.lock().await),
        };
        for attempt in 1.. {
            self.caught_up(self.source.revision()).await?;
            match self.attempt(slot, committer, bind).await? {
                Ok(bound) => return Ok(bound),
                Err(lost) if attempt == ATTEMPTS => return Err(BindError::Conflict(Box::new(lost.status))),
                Err(lost) => {
                    let cause = lost.status.message;
                    tracing::debug!(demand = %bind.demand, attempt, cause, "binding again");
                    // A binding that lost twice competes with other bindings, even if its guards count no
                    // capacity.
                    if (lost.is_scarce || attempt > 1) && turn.is_none() {
                        turn = Some(slot.turn.lock().await);
                    }
                }
            }
        }
        unreachable!("the loop returns at its last attempt")
    }

    /// Runs one attempt. The inner error means that the world changed in between.
    async fn attempt(
        &self,
        slot: &Slot,
        committer: &dyn Committer,
        bind: Bind<'_>,
    ) -> Result<Result<BindOutcome, LostRace>, BindError> {
        let bound = self.decide_on_fresh_snapshot(slot, &bind).await?;
        let has_targets = bind.chosen.is_some_and(|chosen| !chosen.is_empty());
        if bind.unplaced == UnplacedTreatment::Refuse && places_nothing(&bound.decision, has_targets) {
            return Err(BindError::Unplaced(Box::new(bound)));
        }
        let commit = commit(&bound, slot, bind.dry_run);
        if commit.writes.is_empty() {
            if !bind.dry_run && slot.contests.resolve(bind.demand) {
                self.restate(bind);
            }
            return Ok(Ok(bound));
        }
        self.write_decision(slot, committer, bind, bound, commit).await
    }

    /// Decides on a fresh snapshot. The result has no written objects.
    async fn decide_on_fresh_snapshot(&self, slot: &Slot, bind: &Bind<'_>) -> Result<BindOutcome, BindError> {
        let _permit = self.deciding.acquire().await;
        let snapshot = slot.snapshot();
        if !self.is_entrusted(&snapshot, bind.demand) {
            return Err(BindError::Observed(bind.demand.clone()));
        }
        let Some(decision) = snapshot.decide(bind.demand, bind.chosen, self.clock.now()) else {
            slot.contests.forget(bind.demand);
            return Err(BindError::NotFound(bind.demand.clone()));
        };
        Ok(BindOutcome {
            decision: decision.map_err(BindError::Refused)?,
            snapshot,
            written: Vec::new(),
        })
    }

    /// Commits `commit`, the writes of the decision in `bound`. The inner error means that the world changed
    /// since the decision.
    async fn write_decision(
        &self,
        slot: &Slot,
        committer: &dyn Committer,
        bind: Bind<'_>,
        mut bound: BindOutcome,
        commit: Commit,
    ) -> Result<Result<BindOutcome, LostRace>, BindError> {
        let permit = match bind.dry_run {
            true => None,
            false => Some(self.permit(slot, &bind, &bound, &commit)?),
        };
        let writes = commit.writes.clone();
        // Until the writes are folded, changes of the decision do not count as changes by another program.
        let writing = (!bind.dry_run).then(|| WriteInProgress::of(&slot.contests, bind.demand));
        match committer.commit(commit).await {
            Ok(written) => {
                bound.written = written;
                if let Some(permit) = permit {
                    slot.contests.record_write(permit, &bound, &writes, &*self.source);
                }
            }
            Err(CommitError { reason, status }) if reason.is_outdated() => {
                let is_scarce = !bound.decision.fences.is_empty();
                return Ok(Err(LostRace { status, is_scarce }));
            }
            Err(CommitError { reason, status }) => {
                let status = Box::new(status);
                return Err(match reason {
                    WriteRefusal::Overruled => BindError::Overruled(status),
                    _ => BindError::Rejected(status),
                });
            }
        }
        if bind.dry_run {
            return Ok(Ok(bound));
        }
        self.caught_up(newest(&bound.written)).await?;
        drop(writing);
        if slot.holds_decisions(&writes) && slot.contests.is_disturbed(bind.demand, &*self.source) {
            let mut dirty = Dirty::default();
            dirty.decide.mark(Some([bind.demand.clone()]));
            dirty.since = self.source.revision();
            self.mark_stale(&[(slot.dialect.name(), dirty)]);
        }
        Ok(Ok(bound))
    }
}

impl Engine {
    /// Returns the permit to write `bound`.
    ///
    /// # Errors
    /// When another program keeps changing the decision.
    fn permit(
        &self,
        slot: &Slot,
        bind: &Bind<'_>,
        bound: &BindOutcome,
        commit: &Commit,
    ) -> Result<WritePermit, BindError> {
        let was_contested = slot.contests.of(bind.demand).is_some();
        let result = slot.contests.judge(bind, bound, commit, &*self.source);
        if was_contested != slot.contests.of(bind.demand).is_some() {
            self.restate(*bind);
        }
        result.map_err(BindError::Contested)
    }

    /// Marks the virtual objects of the demand for rendering, although no change was folded.
    fn restate(&self, bind: Bind<'_>) {
        let Some(slot) = self.slot(bind.dialect) else {
            return;
        };
        let mut dirty = Dirty::default();
        dirty.demands.mark(Some([bind.demand.clone()]));
        self.mark_stale(&[(slot.dialect.name(), dirty)]);
    }
}

/// Returns the trace span of `bind`; `with_create` is true if the binding is stored together with the demand.
pub(crate) fn span(bind: &Bind<'_>, with_create: bool) -> Span {
    tracing::info_span!(
        "bind",
        dialect = bind.dialect,
        demand = %bind.demand,
        with_create,
        outcome = tracing::field::Empty,
        reason = tracing::field::Empty,
        written = tracing::field::Empty,
    )
}

/// A lost race: the world changed between decision and write.
struct LostRace {
    status: Status,
    /// Whether the decision counts capacity, so that other decisions about the same capacity are likely to
    /// win again.
    is_scarce: bool,
}

/// Whether `decision` neither places nor releases anything. If the caller chose targets (`has_targets`), a
/// release does not count: it would leave the targets out.
fn places_nothing(decision: &Decision, has_targets: bool) -> bool {
    let releases = decision
        .changes
        .iter()
        .any(|change| change.action == Action::Unbind);
    match decision.outcome {
        Outcome::Unschedulable | Outcome::Invalid | Outcome::Ignored => has_targets || !releases,
        Outcome::Released => has_targets,
        Outcome::Scheduled | Outcome::Partial | Outcome::Provision | Outcome::Unchanged => false,
    }
}

/// Returns the writes of the decision in `bound` with their guards: the revision of the demand, and a fence
/// for each counted capacity.
pub(crate) fn commit(bound: &BindOutcome, slot: &Slot, dry_run: bool) -> Commit {
    let actor = slot.dialect.actor();
    let BindOutcome {
        snapshot, decision, ..
    } = bound;
    let writes = snapshot.inventory.writes(decision);
    let mut guards = Vec::new();
    // A demand that is written is guarded by the base revision of the write.
    if !writes.iter().any(|write| write.key == decision.demand) {
        guards.push(Guard::Unchanged {
            key: decision.demand.clone(),
            revision: decision.demand_revision,
        });
    }
    let not_after: Revision = snapshot.revision;
    guards.extend(decision.fences.iter().map(|name| Guard::Fence {
        name: Arc::clone(name),
        not_after,
    }));
    Commit {
        actor,
        manager: manager(slot.dialect.name(), actor),
        cause: format!("the decision about {}", decision.demand),
        writes,
        guards,
        dry_run,
    }
}

/// Returns the newest revision of `objects`.
pub(crate) fn newest(objects: &[Arc<Object>]) -> Revision {
    let revisions = objects.iter().map(|object| object.revision());
    revisions.max().unwrap_or_default()
}

/// Returns the field manager of `actor` for `dialect`, such as `berth-gardener-scheduler`.
pub(crate) fn manager(dialect: &str, actor: &str) -> String {
    let part = actor.rsplit(':').next().unwrap_or(actor);
    format!("berth-{dialect}-{part}")
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{GroupResource, Key, Timestamp};
    use berth_dialect_contract::BindingChange;
    use berth_scheduling::PipelineOutcome;

    use super::*;

    /// A decision with this outcome, which releases a cluster if `releases` is set.
    fn decision(outcome: Outcome, releases: bool) -> Decision {
        let release = BindingChange {
            action: Action::Unbind,
            cluster_name: "a".into(),
            from: "",
            to: "",
            amount_from: None,
            amount_to: None,
        };
        Decision {
            demand: Key::new(GroupResource::new("", "things"), "", "thing"),
            demand_revision: Revision(1),
            outcome,
            reason: "Reason",
            solved: PipelineOutcome::default(),
            amounts: Vec::new(),
            scorers: Vec::new(),
            unknown: Vec::new(),
            current: Vec::new(),
            changes: releases.then_some(release).into_iter().collect(),
            fences: Vec::new(),
            due_at: None,
            now: Timestamp::UNIX_EPOCH,
            detail: Box::new(()),
        }
    }

    #[test]
    fn a_release_is_a_result_only_if_no_targets_were_chosen() {
        let nothing = |outcome: Outcome, releases: bool, has_targets: bool| {
            places_nothing(&decision(outcome, releases), has_targets)
        };
        for outcome in [Outcome::Unschedulable, Outcome::Invalid, Outcome::Ignored] {
            assert!(nothing(outcome, false, false), "{outcome:?}");
            assert!(!nothing(outcome, true, false), "{outcome:?}");
            assert!(nothing(outcome, true, true), "{outcome:?}");
        }
        assert!(!nothing(Outcome::Released, true, false));
        assert!(nothing(Outcome::Released, true, true));
        assert!(!nothing(Outcome::Scheduled, true, true));
    }
}
