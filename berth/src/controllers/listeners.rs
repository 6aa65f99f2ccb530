//! Several observers of bindings.

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_engine::{Bind, BindError, BindObserver, BindOutcome};

/// Observers, which are notified in this order.
pub(super) struct Listeners(pub(super) Vec<Arc<dyn BindObserver>>);

impl BindObserver for Listeners {
    fn bound(&self, bind: &Bind<'_>, outcome: &BindOutcome) {
        for listener in &self.0 {
            listener.bound(bind, outcome);
        }
    }

    fn failed(&self, dialect: &str, demand: &Key, error: &BindError) {
        for listener in &self.0 {
            listener.failed(dialect, demand, error);
        }
    }
}
