//! Deciding a demand that is about to be made: what the scheduler wants of it then goes into the store in one step with it,
//! and nobody ever sees it unbound.

use std::collections::BTreeMap;
use std::sync::Arc;

use meta::{Guard, Key, Object};
use tokio::sync::OwnedMutexGuard;

use crate::bind::{self, Commit, Committer};
use crate::bound::{BindError, Bound};
use crate::engine::{Engine, Slot};
use crate::settle::{answer, own_wish};
use crate::what_if::World;

/// A decision about a demand that is about to be made.
pub struct Foreseen {
    bound: Bound,
    expected: Expected,
    /// Where capacity was counted: others who count it do so once their demands are there, or most would lose.
    _making: Option<OwnedMutexGuard<()>>,
}

/// A demand whose answer waits until it is made. Dropped, nobody waits any more.
struct Expected {
    engine: Arc<Engine>,
    dialect: &'static str,
    demand: Key,
    uid: String,
}

impl Engine {
    /// Decides `demand` of `dialect` as if `object` were stored already: what is decided, and what to write in one step with
    /// it. Nothing where that cannot be foreseen, or others compete for what is scarce: then it is bound once it is there.
    pub async fn foresee(
        self: &Arc<Self>,
        committer: &dyn Committer,
        dialect: &'static str,
        demand: &Key,
        object: &Arc<Object>,
    ) -> Option<(Foreseen, Commit)> {
        let slot = self.slot(dialect).filter(|_| committer.can_go_along())?;
        self.complete(dialect).ok()?;
        if slot.turn.try_lock().is_err() || slot.making.try_lock().is_err() {
            return None;
        }
        self.caught_up(self.source.revision()).await.ok()?;
        let bound = self.decide_with(slot, demand, object).await?;
        let making = match bound.decision.fences.is_empty() {
            true => None,
            false => Some(Arc::clone(&slot.making).try_lock_owned().ok()?),
        };
        let mut commit = bind::commit(&bound, slot, false);
        // The demand is as it was decided, since it is made in the same step.
        commit.guards.retain(|guard| matches!(guard, Guard::Fence { .. }));
        let uid = object.meta().uid().to_owned();
        slot.answers.foresee(uid.clone(), answer(&bound));
        let foreseen = Foreseen {
            bound,
            expected: Expected {
                engine: Arc::clone(self),
                dialect,
                demand: demand.clone(),
                uid,
            },
            _making: making,
        };
        Some((foreseen, commit))
    }

    /// The decision on a world of now and `object`; nothing when the dialect cannot read it, or leaves it alone.
    async fn decide_with(&self, slot: &Slot, demand: &Key, object: &Arc<Object>) -> Option<Bound> {
        let _place = self.deciding.acquire().await;
        // Nothing of it is replaced, so it does not matter what it was made of.
        let mut world = World::over(slot.snapshot(), BTreeMap::new());
        world.put(demand, Arc::clone(object)).ok()?;
        let snapshot = world.begin();
        let decision = snapshot.decide(demand, None, self.clock.now())?.ok()?;
        Some(Bound {
            snapshot,
            decision,
            written: Vec::new(),
        })
    }
}

impl Foreseen {
    /// The demand was made, with all there was to write: `made` is the demand as it was made, `written` the rest, as it is
    /// now.
    ///
    /// # Errors
    /// When the engine does not answer in time.
    pub async fn made(self, made: &Object, written: Vec<Arc<Object>>) -> Result<Bound, BindError> {
        let Self {
            mut bound, expected, ..
        } = self;
        let engine = &expected.engine;
        let wish = own_wish(expected.dialect, &expected.demand);
        let revisions = written.iter().map(|object| object.revision());
        let last = revisions.fold(made.revision(), Ord::max);
        bound.decision.demand_revision = made.revision();
        bound.snapshot.revision = last;
        bound.written = written;
        let span = bind::span(&wish);
        let result = engine
            .caught_up(last)
            .await
            .map(|()| bound)
            .map_err(BindError::from);
        engine.tell(&span, &wish, &result);
        result
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        if let Some(slot) = self.engine.slot(self.dialect) {
            slot.answers.forget(&self.uid);
        }
    }
}
