//! Decisions on demands before they are stored, so that the demand and the writes of the decision are stored
//! in one step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Guard;
use berth_apimachinery::{Key, Object};
use tokio::sync::OwnedMutexGuard;

use crate::bind::{self, Committer};
use crate::blocking::run_blocking;
use crate::bound::{BindError, BindOutcome, Commit};
use crate::engine::{Engine, Slot};
use crate::settle::{answer, own_request};
use crate::what_if::World;

/// Longest wait for earlier writes, since the create of the demand waits for the decision.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// A decision on a demand that is about to be created.
pub struct ForeseenDecision {
    bound: BindOutcome,
    expected: ExpectedDemand,
    /// Lock that is held until the demand is created, where other demands compete for the same places. As
    /// long as it is held, such demands are stored first and bound afterwards: most foreseen decisions on
    /// them would end in a conflict.
    _create_lock: Option<OwnedMutexGuard<()>>,
}

/// A demand whose decision is known before the demand is created. Dropping this forgets the decision, unless
/// the created demand was already folded.
struct ExpectedDemand {
    engine: Arc<Engine>,
    dialect: &'static str,
    demand: Key,
    uid: String,
}

impl Engine {
    /// Decides `demand` of `dialect` as if `object` were stored already. Returns the decision, and the writes
    /// to be stored in one step with the object.
    ///
    /// `None` where the demand has to be bound after it is stored: the committer cannot store it in one step
    /// with its binding, the engine is not ready in time, the dialect does not decide the object, or other
    /// bindings compete for the same places now.
    pub async fn foresee(
        self: &Arc<Self>,
        committer: &dyn Committer,
        dialect: &'static str,
        demand: &Key,
        object: &Arc<Object>,
    ) -> Option<(ForeseenDecision, Commit)> {
        let slot = self.slot(dialect).filter(|_| committer.can_store_with_demand())?;
        self.complete(dialect).ok()?;
        if !self.is_loaded() {
            return None;
        }
        let caught_up = self.caught_up(self.source.revision());
        tokio::time::timeout(MAX_WAIT, caught_up).await.ok()?.ok()?;
        let bound = self.decide_with(slot, demand, object).await?;
        let mut commit = bind::commit(&bound, slot, false);
        // The demand is unchanged, since it is stored in the same step.
        commit.guards.retain(|guard| matches!(guard, Guard::Fence { .. }));
        let create_lock = match is_contested(&commit, demand) {
            false => None,
            true if slot.turn.try_lock().is_err() => return None,
            true => Some(Arc::clone(&slot.create_lock).try_lock_owned().ok()?),
        };
        let uid = object.meta().uid().to_owned();
        slot.answers.foresee(uid.clone(), answer(&bound));
        slot.contests.begin_write(demand);
        let foreseen = ForeseenDecision {
            bound,
            expected: ExpectedDemand {
                engine: Arc::clone(self),
                dialect,
                demand: demand.clone(),
                uid,
            },
            _create_lock: create_lock,
        };
        Some((foreseen, commit))
    }

    /// The decision on the present objects and `object`; `None` when the dialect cannot read `object`, or
    /// does not decide it.
    async fn decide_with(&self, slot: &Slot, demand: &Key, object: &Arc<Object>) -> Option<BindOutcome> {
        let _permit = self.deciding.acquire().await;
        let snapshot = slot.snapshot();
        run_blocking(snapshot.inventory.effort(demand), || {
            snapshot.inventory.derive();
        });
        // The world has no base: the demand does not exist yet, so that `put` needs no former object.
        let mut world = World::over(snapshot, BTreeMap::new());
        world.put(demand, Arc::clone(object)).ok()?;
        let snapshot = world.begin();
        let decision = snapshot.decide(demand, None, self.clock.now())?.ok()?;
        Some(BindOutcome {
            snapshot,
            decision,
            written: Vec::new(),
        })
    }
}

/// Whether other demands may compete with `commit`: it takes counted capacity, or changes an object other
/// than `demand`.
fn is_contested(commit: &Commit, demand: &Key) -> bool {
    let mut writes = commit.writes.iter();
    !commit.guards.is_empty() || writes.any(|write| write.key != *demand && write.base.is_some())
}

impl ForeseenDecision {
    /// Records that the demand was stored with all its writes. `stored` is the demand's object, and `written`
    /// are the other objects in their present state.
    ///
    /// # Errors
    /// When the engine does not fold the writes in time.
    pub async fn confirm(self, stored: &Object, written: Vec<Arc<Object>>) -> Result<BindOutcome, BindError> {
        let Self {
            mut bound,
            expected,
            _create_lock,
        } = self;
        let engine = &expected.engine;
        let request = own_request(expected.dialect, &expected.demand);
        let last = bind::newest(&written).max(stored.revision());
        bound.decision.demand_revision = stored.revision();
        bound.snapshot.revision = last;
        bound.written = written;
        let span = bind::span(&request, true);
        let result = engine
            .caught_up(last)
            .await
            .map(|()| bound)
            .map_err(BindError::from);
        engine.report(&span, &request, &result);
        result
    }
}

impl Drop for ExpectedDemand {
    fn drop(&mut self) {
        if let Some(slot) = self.engine.slot(self.dialect) {
            slot.answers.forget(&self.uid);
            slot.contests.end_write(&self.demand);
        }
    }
}
