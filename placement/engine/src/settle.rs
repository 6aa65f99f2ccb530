//! Settlement of a demand: the binding by the scheduler itself. Several tasks may need it at once: the
//! controller, which sees that the demand changed, and `autoBind: OnCreate`, which answers a create with the
//! binding. The demand is then decided once for all of them.

use std::sync::Arc;

use berth_apimachinery::{Key, Revision};
use tokio::sync::watch;

use crate::answers::Answer;
use crate::bind::Committer;
use crate::bound::{Bind, BindOutcome, Settlement, UnplacedTreatment};
use crate::engine::Engine;
use crate::turns::Role;

impl Engine {
    /// Binds `demand` as the scheduler decides, or writes the reason where no target fits. If another task is
    /// already doing this on a snapshot with every change up to `since`, the result of that task is returned.
    pub async fn settle(
        &self,
        committer: &dyn Committer,
        dialect: &str,
        demand: &Key,
        since: Revision,
    ) -> Settlement {
        let request = own_request(dialect, demand);
        let Some(slot) = self.slot(dialect) else {
            return Arc::new(self.bind(committer, request).await);
        };
        loop {
            match slot.settlements.join(demand) {
                Role::Do(turn) => {
                    let settlement = Arc::new(self.bind(committer, request).await);
                    if let Ok(bound) = &*settlement {
                        slot.answers.put(demand.clone(), answer(bound));
                    }
                    turn.end(Arc::clone(&settlement));
                    return settlement;
                }
                Role::Wait(settlement) => {
                    if let Some(settlement) = result_of_other(settlement, since).await {
                        return settlement;
                    }
                }
            }
        }
    }
}

impl Engine {
    /// Takes the recent decision on `demand`, which another task has made, if it includes the change at
    /// `since` that made the demand due, and the demand is not due again by time. Without a new decision, a
    /// second call returns `None`.
    pub(crate) fn recent_answer(&self, dialect: &str, demand: &Key, since: Revision) -> Option<Answer> {
        self.slot(dialect)?.answers.take(demand, since, self.clock.now())
    }
}

/// The binding of `demand` that the scheduler itself requests.
pub(crate) fn own_request<'a>(dialect: &'a str, demand: &'a Key) -> Bind<'a> {
    Bind {
        dialect,
        demand,
        chosen: None,
        dry_run: false,
        unplaced: UnplacedTreatment::Commit,
        by: None,
    }
}

/// The answer to remember for a binding.
pub(crate) fn answer(bound: &BindOutcome) -> Answer {
    Answer {
        through: bound.snapshot.revision,
        outcome: bound.decision.outcome,
        due_at: bound.decision.due_at,
    }
}

/// Result of another task; `None` where that task failed, ended without a result, or decided on a snapshot
/// without the changes up to `since`.
async fn result_of_other(
    mut settlement: watch::Receiver<Option<Settlement>>,
    since: Revision,
) -> Option<Settlement> {
    let settlement = settlement.wait_for(Option::is_some).await.ok()?.clone()?;
    let is_new_enough = matches!(&*settlement, Ok(bound) if bound.snapshot.revision >= since);
    is_new_enough.then_some(settlement)
}
