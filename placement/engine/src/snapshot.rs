//! The objects of one dialect at one revision: the base of every decision and report.

use std::fmt;
use std::sync::Arc;

use berth_apimachinery::{Key, Meta, Revision, Timestamp, field};
use berth_dialect_contract::{Ask, ChoiceRefusal, Decision, Dialect, Inventory, Report, report};

use crate::blocking::run_blocking;
use crate::fault::Fault;

/// A dialect's inventory at a revision. A clone is cheap; while a snapshot exists, the engine forks the
/// inventory before the next change.
#[derive(Clone)]
pub struct Snapshot {
    /// The dialect.
    pub dialect: Arc<dyn Dialect>,
    /// The dialect's inventory.
    pub inventory: Arc<dyn Inventory>,
    /// Revision of the source up to which the inventory has every change.
    pub revision: Revision,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("dialect", &self.dialect.name())
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

/// The inventory, ready for a change. If a snapshot shares it, it is first replaced by a fork.
pub(crate) fn writable(inventory: &mut Arc<dyn Inventory>) -> &mut dyn Inventory {
    if Arc::get_mut(inventory).is_none() {
        *inventory = inventory.fork();
    }
    Arc::get_mut(inventory).expect("a fork is not shared yet")
}

impl Snapshot {
    /// Decides `demand` at `now`, with the seed of every live decision on this state of the demand
    /// (docs/reference.md, "The scheduling report"), so that a binding has the result that an earlier
    /// report announced. `None` when the demand does not exist.
    ///
    /// # Errors
    /// Only with `chosen`: the targets that cannot be bound, each with its reasons.
    #[must_use]
    pub fn decide(
        &self,
        demand: &Key,
        chosen: Option<&[String]>,
        now: Timestamp,
    ) -> Option<Result<Decision, ChoiceRefusal>> {
        let object = self.inventory.object(demand)?;
        self.decide_with(demand, chosen, now, seed(object.meta()))
    }

    /// Decides `demand` at `now` with `seed`. `None` when the demand does not exist.
    ///
    /// # Errors
    /// As [`Snapshot::decide`].
    #[must_use]
    pub fn decide_with(
        &self,
        demand: &Key,
        chosen: Option<&[String]>,
        now: Timestamp,
        seed: u64,
    ) -> Option<Result<Decision, ChoiceRefusal>> {
        let ask = Ask {
            demand,
            now,
            seed,
            chosen,
        };
        run_blocking(self.inventory.effort(demand), || self.inventory.decide(&ask))
    }

    /// Decides `demand` at `now` without chosen targets; without a `seed`, with the seed of a live decision.
    /// `None` when the demand does not exist.
    ///
    /// # Errors
    /// When the dialect breaks its contract: it refuses a choice, although there is none.
    pub fn decide_freely(
        &self,
        demand: &Key,
        now: Timestamp,
        seed: Option<u64>,
    ) -> Result<Option<Decision>, Fault> {
        let answer = match seed {
            Some(seed) => self.decide_with(demand, None, now, seed),
            None => self.decide(demand, None, now),
        };
        unrefused(demand, answer)
    }

    /// The report of `decision`, which was made on this snapshot.
    #[must_use]
    pub fn report(&self, decision: &Decision) -> Report {
        report::report(self.dialect.name(), &*self.inventory, self.revision.0, decision)
    }
}

/// The decision in a dialect's `answer` about `demand`, for which no targets were chosen.
///
/// # Errors
/// When the answer is a refusal nevertheless.
fn unrefused(
    demand: &Key,
    answer: Option<Result<Decision, ChoiceRefusal>>,
) -> Result<Option<Decision>, Fault> {
    answer
        .transpose()
        .map_err(|refusal| Fault::new(demand, field::aggregate(&refusal.errors)))
}

/// The seed of random strategies. It must be equal for equal uid and generation on every machine and in every
/// release. Therefore it is computed here (FNV-1a, then one round of mixing) and not by a hasher that may
/// change.
#[must_use]
pub fn seed(meta: &Meta) -> u64 {
    let bytes = meta
        .uid()
        .bytes()
        .chain([0xff])
        .chain(meta.generation().to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    berth_scheduling::Random::new(hash).next_u64()
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{FieldError, GroupResource};

    use super::*;

    #[test]
    fn a_refusal_although_nothing_was_chosen_is_a_fault_with_its_reasons() {
        let demand = Key::new(GroupResource::new("example", "toys"), "ns", "car");
        let errors = vec![FieldError::required("spec.targets", "")];
        let fault = unrefused(&demand, Some(Err(ChoiceRefusal { errors }))).unwrap_err();
        assert_eq!(
            fault,
            Fault::new(&demand, "spec.targets: Required value".to_owned())
        );
        assert!(unrefused(&demand, None).unwrap().is_none());
    }

    #[test]
    fn seeds_differ_by_uid_and_generation_and_never_change() {
        let of = |uid: &str, generation: i64| {
            let metadata = serde_json::json!({"uid": uid, "generation": generation});
            seed(&serde_json::from_value(metadata).unwrap())
        };
        assert_eq!(of("a", 1), of("a", 1));
        assert_ne!(of("a", 1), of("a", 2));
        assert_ne!(of("a", 1), of("b", 1));
        assert_eq!(of("", 0), 0xcd69_55d2_8e3b_ec7c);
    }
}
