//! Rounds of webhook calls: a webhook with `reinvocationPolicy: IfNeeded` is called again when the object
//! changed later.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

/// Identity of a webhook: the name of its configuration, and its index there. Policies have identities of the
/// same type: a unique key, and the index 0.
pub type HookId = (Arc<str>, usize);

/// The one or two rounds of mutating webhooks over one write.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Whether the second round has begun.
    is_second: bool,
    /// Webhooks with `reinvocationPolicy: IfNeeded` that made the last change, or were called after it.
    willing: BTreeSet<HookId>,
    /// Webhooks for the second round.
    due: BTreeSet<HookId>,
    /// The names of the configurations, and the keys of the policies, that changed the object: each once, in
    /// the order of their first change.
    changers: Vec<Arc<str>>,
    /// The object after the first round.
    last_object: Option<Value>,
}

impl Rounds {
    /// Index of the present round: 0 or 1.
    #[must_use]
    pub fn number(&self) -> usize {
        usize::from(self.is_second)
    }

    /// Whether the webhook takes part in this round.
    #[must_use]
    pub fn includes(&self, id: &HookId) -> bool {
        !self.is_second || self.due.contains(id)
    }

    /// Records that a webhook was called, whether it is `willing` to be called again, and whether it changed
    /// the object.
    pub fn called(&mut self, id: HookId, willing: bool, changed: bool) {
        if changed {
            // Earlier webhooks have to be called again; this webhook knows its own change.
            self.due.append(&mut self.willing);
            if !self.changers.contains(&id.0) {
                self.changers.push(Arc::clone(&id.0));
            }
        }
        if willing {
            self.willing.insert(id);
        }
    }

    /// Records the object after the first round, if it changed.
    pub fn ended(&mut self, object: &Value) {
        if self.changed() && !self.is_second {
            self.last_object = Some(object.clone());
        }
    }

    /// Whether the object changed, so that the server's own rules have to run again.
    #[must_use]
    pub fn changed(&self) -> bool {
        !self.changers.is_empty()
    }

    /// Names of the configurations, and keys of the policies, that changed the object.
    #[must_use]
    pub fn into_changers(self) -> Vec<Arc<str>> {
        self.changers
    }

    /// Begins the second round over `object`; returns whether any webhook takes part. If the server's own
    /// rules changed the object after the first round, every webhook with `reinvocationPolicy: IfNeeded`
    /// takes part.
    pub fn again(&mut self, object: &Value) -> bool {
        self.is_second = true;
        if self.last_object.as_ref() != Some(object) {
            self.due.append(&mut self.willing);
        }
        !self.due.is_empty()
    }
}
