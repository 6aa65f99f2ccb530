//! Binding: the engine decides on a fresh snapshot, commits with guards, and decides again when the world
//! changed meanwhile.

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

/// Highest number of decisions of a binding on fresh snapshots before the caller gets 409 (docs/concepts.md,
/// "Settled questions").
pub const ATTEMPTS: usize = 8;

/// Commits writes: to the server's registry, with validation and admission, or to a hub.
#[async_trait]
pub trait Committer: Send + Sync + 'static {
    /// Commits all of `commit` and returns the present objects.
    ///
    /// # Errors
    /// Reason why nothing, or not all of it, was committed.
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError>;

    /// Whether the commit can be made in one step with the write that stores the demand.
    fn can_extend(&self) -> bool {
        false
    }
}

impl Engine {
    /// Binds `bind.demand`. Writes nothing where the decision is already written.
    ///
    /// # Errors
    /// See [`BindError`].
    pub async fn bind(&self, committer: &dyn Committer, bind: Bind<'_>) -> Result<BindOutcome, BindError> {
        let span = span(&bind, false);
        let result = self.bind_in_turn(committer, bind).instrument(span.clone()).await;
        self.tell(&span, &bind, &result);
        result
    }

    /// Reports the result of `bind` to the observers.
    pub(crate) fn tell(&self, span: &Span, bind: &Bind<'_>, result: &Result<BindOutcome, BindError>) {
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
        // Where other bindings queue for scarce capacity, queuing is faster than losing the race
        // against them.
        let mut turn = match slot.turn.try_lock() {
            Ok(_) => None,
            Err(_) => Some(slot.turn.lock().await),
        };
        for attempt in 1.. {
            self.caught_up(self.source.revision()).await?;
            match self.attempt(slot, committer, bind).await? {
                Ok(bound) => return Ok(bound),
                Err(lost) if attempt == ATTEMPTS => return Err(BindError::Moved(Box::new(lost.status))),
                Err(lost) => {
                    let cause = lost.status.message;
                    tracing::debug!(demand = %bind.demand, attempt, cause, "binding again");
                    // A binding that lost twice competes with others, even where its guards count no
                    // capacity.
                    if (lost.is_scarce || attempt > 1) && turn.is_none() {
                        turn = Some(slot.turn.lock().await);
                    }
                }
            }
        }
        unreachable!("the loop returns at its last attempt")
    }

    /// Runs one attempt; the inner error means that the world changed meanwhile.
    async fn attempt(
        &self,
        slot: &Slot,
        committer: &dyn Committer,
        bind: Bind<'_>,
    ) -> Result<Result<BindOutcome, LostRace>, BindError> {
        let permit = self.deciding.acquire().await;
        let snapshot = slot.snapshot();
        if !self.is_entrusted(&snapshot, bind.demand) {
            return Err(BindError::Observed(bind.demand.clone()));
        }
        let Some(decision) = snapshot.decide(bind.demand, bind.chosen, self.clock.now()) else {
            slot.contests.forget(bind.demand);
            return Err(BindError::NotFound(bind.demand.clone()));
        };
        let decision = decision.map_err(BindError::Refused)?;
        drop(permit);
        let mut bound = BindOutcome {
            snapshot,
            decision,
            written: Vec::new(),
        };
        if bind.unplaced == UnplacedTreatment::Refuse && places_nothing(&bound.decision) {
            return Err(BindError::Unplaced(Box::new(bound)));
        }
        let commit = commit(&bound, slot, bind.dry_run);
        if commit.writes.is_empty() {
            if slot.contests.agreed(bind.demand) {
                self.restate(bind);
            }
            return Ok(Ok(bound));
        }
        let permit = match bind.dry_run {
            true => None,
            false => Some(self.permit(slot, &bind, &bound, &commit)?),
        };
        let writes = commit.writes.clone();
        // Until the writes are folded, changes of the decision do not count as changes by another program.
        let writing = WriteInProgress::of(&slot.contests, bind.demand);
        match committer.commit(commit).await {
            Ok(written) => {
                bound.written = written;
                if let Some(permit) = permit {
                    slot.contests.wrote(permit, &bound, &writes);
                }
            }
            Err(CommitError { why, status }) if why.is_moved() => {
                let is_scarce = !bound.decision.fences.is_empty();
                return Ok(Err(LostRace { status, is_scarce }));
            }
            Err(CommitError { why, status }) => {
                let status = Box::new(status);
                return Err(match why {
                    WriteRefusal::Overruled => BindError::Overruled(status),
                    _ => BindError::Rejected(status),
                });
            }
        }
        if !bind.dry_run {
            self.caught_up(newest(&bound.written)).await?;
        }
        drop(writing);
        if slot.holds_decisions(&writes) && slot.contests.is_disturbed(bind.demand, &*self.source) {
            let mut dirty = Dirty::default();
            dirty.decide.mark(Some([bind.demand.clone()]));
            dirty.since = self.source.revision();
            self.remark(&[(slot.dialect.name(), dirty)]);
        }
        Ok(Ok(bound))
    }
}

impl Engine {
    /// Checks whether `bound` may be written, in view of other clients that write the same objects.
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

    /// Marks the objects about the demand for rendering, although no change was folded.
    fn restate(&self, bind: Bind<'_>) {
        let Some(slot) = self.slot(bind.dialect) else {
            return;
        };
        let mut dirty = Dirty::default();
        dirty.demands.mark(Some([bind.demand.clone()]));
        self.remark(&[(slot.dialect.name(), dirty)]);
    }
}

/// The span of `bind`; `with_create` is true if the binding is stored in one step with its demand.
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
    /// Whether capacity was counted, so that other decisions about the same capacity are likely to win
    /// again.
    is_scarce: bool,
}

/// Whether a decision neither places nor releases anything.
fn places_nothing(decision: &Decision) -> bool {
    let releases = decision
        .changes
        .iter()
        .any(|change| change.action == Action::Unbind);
    let outcome = decision.outcome;
    matches!(
        outcome,
        Outcome::Unschedulable | Outcome::Invalid | Outcome::Ignored
    ) && !releases
}

/// The writes of a decision with their guards: the demand's decided revision, and a fence for each
/// counted capacity.
pub(crate) fn commit(bound: &BindOutcome, slot: &Slot, dry_run: bool) -> Commit {
    let actor = slot.dialect.actor();
    let BindOutcome {
        snapshot, decision, ..
    } = bound;
    let writes = snapshot.inventory.writes(decision);
    let mut guards = Vec::new();
    // A written demand is guarded by its own base.
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

/// The last revision of a write to one of `objects`.
pub(crate) fn newest(objects: &[Arc<Object>]) -> Revision {
    let revisions = objects.iter().map(|object| object.revision());
    revisions.max().unwrap_or_default()
}

/// The field manager of `actor` for `dialect`: `berth-gardener-scheduler`.
pub(crate) fn manager(dialect: &str, actor: &str) -> String {
    let part = actor.rsplit(':').next().unwrap_or(actor);
    format!("berth-{dialect}-{part}")
}
