//! Rounds of mutating webhooks: in a second round, webhooks with `reinvocationPolicy: IfNeeded` are called
//! again if the object changed after their call.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

/// Identity of a webhook: the name of the configuration, and the index of the webhook in it. For a policy: a
/// unique key, and the index 0.
pub type HookId = (Arc<str>, usize);

/// State of the one or two rounds of mutating webhooks and policies for one write.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Whether the second round has begun.
    is_second: bool,
    /// Webhooks with `reinvocationPolicy: IfNeeded` whose call saw the last change of the object or made it.
    reinvocable: BTreeSet<HookId>,
    /// Webhooks that take part in the second round.
    second_round: BTreeSet<HookId>,
    /// Names of the webhook configurations, and keys of the policies, that changed the object, in the order
    /// of their first change.
    changers: Vec<Arc<str>>,
    /// Object at the end of the first round, if it changed.
    first_result: Option<Value>,
}

impl Rounds {
    /// Index of the current round: 0 or 1.
    #[must_use]
    pub fn number(&self) -> usize {
        usize::from(self.is_second)
    }

    /// Whether the webhook takes part in the current round.
    #[must_use]
    pub fn includes(&self, id: &HookId) -> bool {
        !self.is_second || self.second_round.contains(id)
    }

    /// Records a call of a webhook: whether the webhook is `reinvocable` (`reinvocationPolicy: IfNeeded`),
    /// and whether it `changed` the object.
    pub fn record_call(&mut self, id: HookId, reinvocable: bool, changed: bool) {
        if changed {
            // Earlier webhooks have not seen this change.
            self.second_round.append(&mut self.reinvocable);
            if !self.changers.contains(&id.0) {
                self.changers.push(Arc::clone(&id.0));
            }
        }
        if reinvocable {
            self.reinvocable.insert(id);
        }
    }

    /// Ends the current round with `object`.
    pub fn end_round(&mut self, object: &Value) {
        if self.changed() && !self.is_second {
            self.first_result = Some(object.clone());
        }
    }

    /// Whether a webhook or policy changed the object, so that the plugins have to run again.
    #[must_use]
    pub fn changed(&self) -> bool {
        !self.changers.is_empty()
    }

    /// Returns the names of the webhook configurations, and the keys of the policies, that changed the
    /// object.
    #[must_use]
    pub fn into_changers(self) -> Vec<Arc<str>> {
        self.changers
    }

    /// Begins the second round with `object`. Returns whether any webhook takes part. If the plugins changed
    /// the object after the first round, every webhook with `reinvocationPolicy: IfNeeded` takes part.
    pub fn begin_second_round(&mut self, object: &Value) -> bool {
        self.is_second = true;
        if self.first_result.as_ref() != Some(object) {
            self.second_round.append(&mut self.reinvocable);
        }
        !self.second_round.is_empty()
    }
}
