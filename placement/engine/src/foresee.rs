//! Decisions on demands before they are stored: the writes of the decision are then stored in one step
//! with the demand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::Guard;
use berth_apimachinery::{Key, Object};
use tokio::sync::OwnedMutexGuard;

use crate::aside::aside;
use crate::bind::{self, Committer};
use crate::bound::{BindError, BindOutcome, Commit};
use crate::engine::{Engine, Slot};
use crate::settle::{answer, own_wish};
use crate::what_if::World;

/// Longest wait for earlier writes, since the store waits for the answer.
const SOON: Duration = Duration::from_millis(500);

/// A decision about a demand that is about to be created.
pub struct Foreseen {
    bound: BindOutcome,
    expected: ExpectedDemand,
    /// Lock that is held until the create where other demands compete for the same places. These are
    /// bound once their demands exist, since most would lose otherwise.
    _making: Option<OwnedMutexGuard<()>>,
}

/// A demand whose answer waits for its create. Dropping this ends the wait.
struct ExpectedDemand {
    engine: Arc<Engine>,
    dialect: &'static str,
    demand: Key,
    uid: String,
}

impl Engine {
    /// Decides `demand` of `dialect` as if `object` were stored already. Returns the decision, and the
    /// writes for one step with the object. `None` where the decision would take long, or other demands
    /// compete for the same places: such a demand is bound after it is stored.
    pub async fn foresee(
        self: &Arc<Self>,
        committer: &dyn Committer,
        dialect: &'static str,
        demand: &Key,
        object: &Arc<Object>,
    ) -> Option<(Foreseen, Commit)> {
        let slot = self.slot(dialect).filter(|_| committer.can_extend())?;
        self.complete(dialect).ok()?;
        if !self.is_loaded() {
            return None;
        }
        let caught_up = self.caught_up(self.source.revision());
        tokio::time::timeout(SOON, caught_up).await.ok()?.ok()?;
        let bound = self.decide_with(slot, demand, object).await?;
        let mut commit = bind::commit(&bound, slot, false);
        // The demand is unchanged, since it is stored in the same step.
        commit.guards.retain(|guard| matches!(guard, Guard::Fence { .. }));
        let making = match is_contested(&commit, demand) {
            false => None,
            true if slot.turn.try_lock().is_err() => return None,
            true => Some(Arc::clone(&slot.making).try_lock_owned().ok()?),
        };
        let uid = object.meta().uid().to_owned();
        slot.answers.foresee(uid.clone(), answer(&bound));
        slot.contests.begins(demand);
        let foreseen = Foreseen {
            bound,
            expected: ExpectedDemand {
                engine: Arc::clone(self),
                dialect,
                demand: demand.clone(),
                uid,
            },
            _making: making,
        };
        Some((foreseen, commit))
    }

    /// The decision on the present world with `object` added; `None` when the dialect cannot read the object,
    /// or does not decide it.
    async fn decide_with(&self, slot: &Slot, demand: &Key, object: &Arc<Object>) -> Option<BindOutcome> {
        let _place = self.deciding.acquire().await;
        let snapshot = slot.snapshot();
        aside(snapshot.inventory.effort(demand), || {
            snapshot.inventory.derive();
        });
        // An existing demand is not created, and the inventory would need the replaced object.
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

/// Whether other demands compete for the resources of `commit`: counted capacity, or a changed object.
fn is_contested(commit: &Commit, demand: &Key) -> bool {
    let mut writes = commit.writes.iter();
    !commit.guards.is_empty() || writes.any(|write| write.key != *demand && write.base.is_some())
}

impl Foreseen {
    /// Records that the demand was stored with all its writes. `made` is the stored demand, and
    /// `written` are the other objects in their present state.
    ///
    /// # Errors
    /// When the engine does not answer in time.
    pub async fn made(self, made: &Object, written: Vec<Arc<Object>>) -> Result<BindOutcome, BindError> {
        let Self {
            mut bound,
            expected,
            _making,
        } = self;
        let engine = &expected.engine;
        let wish = own_wish(expected.dialect, &expected.demand);
        let last = bind::newest(&written).max(made.revision());
        bound.decision.demand_revision = made.revision();
        bound.snapshot.revision = last;
        bound.written = written;
        let span = bind::span(&wish, true);
        let result = engine
            .caught_up(last)
            .await
            .map(|()| bound)
            .map_err(BindError::from);
        engine.tell(&span, &wish, &result);
        result
    }
}

impl Drop for ExpectedDemand {
    fn drop(&mut self) {
        if let Some(slot) = self.engine.slot(self.dialect) {
            slot.answers.forget(&self.uid);
            slot.contests.ends(&self.demand);
        }
    }
}
