//! Notification of several observers of bindings.

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_engine::{Bind, BindError, BindObserver, BindOutcome};

/// Observers of bindings, which are notified in the order of the list.
pub(super) struct BindObservers(pub(super) Vec<Arc<dyn BindObserver>>);

impl BindObserver for BindObservers {
    fn bound(&self, bind: &Bind<'_>, outcome: &BindOutcome) {
        for observer in &self.0 {
            observer.bound(bind, outcome);
        }
    }

    fn failed(&self, dialect: &str, demand: &Key, error: &BindError) {
        for observer in &self.0 {
            observer.failed(dialect, demand, error);
        }
    }
}
