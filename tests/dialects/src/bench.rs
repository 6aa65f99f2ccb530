//! Common parts of the dialects' benchmarks: objects that are folded into an inventory, and medians of times.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::{Change, GroupResource, Key, Object, Revision};
use berth_dialect_contract::Inventory;
use serde_json::Value;

/// Number of repetitions of a run for its median.
const RUNS: usize = 201;

/// The inventory, for changes.
///
/// # Panics
/// When another owner shares the inventory.
pub fn editable(inventory: &mut Arc<dyn Inventory>) -> &mut dyn Inventory {
    Arc::get_mut(inventory).expect("nobody else holds the inventory")
}

/// Change that adds the object `value`.
///
/// # Panics
/// When `value` is no object.
#[must_use]
pub fn added(resource: GroupResource, namespace: &str, name: &str, value: &Value) -> Change {
    let object = Arc::new(Object::new(value, Revision(1)).expect("the object is well formed"));
    Change::added(Key::new(resource, namespace, name), object)
}

/// Folds the object `value` as added.
///
/// # Panics
/// When `value` is no object, or another owner shares the inventory.
pub fn fold(
    inventory: &mut Arc<dyn Inventory>,
    resource: GroupResource,
    namespace: &str,
    name: &str,
    value: &Value,
) {
    let change = added(resource, namespace, name, value);
    // The demands that the change makes due are ignored here.
    drop(editable(inventory).fold(&change));
}

/// The median of the times of many runs.
pub fn median(mut run: impl FnMut()) -> Duration {
    let times = (0..RUNS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    middle(times.collect())
}

/// The median of `times`; zero without any.
#[must_use]
pub fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The duration in milliseconds.
#[must_use]
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_in_the_middle() {
        let times = [9, 1, 5].map(Duration::from_millis).to_vec();
        assert_eq!(middle(times), Duration::from_millis(5));
        assert_eq!(middle(Vec::new()), Duration::ZERO);
        let mut runs = 0;
        assert!(median(|| runs += 1) < Duration::from_secs(1));
        assert_eq!(runs, RUNS);
    }
}
