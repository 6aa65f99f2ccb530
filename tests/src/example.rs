//! The examples, with current times.

use std::path::Path;

use berth_apimachinery::{Clock, time};
use berth_apiserver::SystemClock;

/// The examples of every system, in an order in which they can be decided.
pub const EXAMPLES: [&str; 23] = [
    "openmcp/configuration.yaml",
    "openmcp/fleet.yaml",
    "openmcp/shared.yaml",
    "openmcp/exclusive.yaml",
    "openmcp/unknown-purpose.yaml",
    "fleet/fleet.yaml",
    "fleet/pick-all.yaml",
    "fleet/pick-fixed.yaml",
    "fleet/pick-n.yaml",
    "karmada/fleet.yaml",
    "karmada/divided.yaml",
    "gardener/fleet.yaml",
    "gardener/load.yaml",
    "gardener/same-region.yaml",
    "gardener/testing.yaml",
    "gardener/unschedulable.yaml",
    "ocm/fleet.yaml",
    "ocm/story-1.yaml",
    "ocm/story-2.yaml",
    "ocm/story-3.yaml",
    "ocm/story-4.yaml",
    "kcp/fleet.yaml",
    "kcp/namespaces.yaml",
];

/// The present of the examples.
const WRITTEN: &str = "2021-10-28T09:00:00Z";

/// The example at `path` below `examples/`, with its times moved to the present: heartbeats of 2021 are
/// stale.
///
/// # Panics
/// When the example does not exist.
#[must_use]
pub fn example(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path);
    let text = std::fs::read_to_string(&file).expect("the example is there");
    let age = SystemClock
        .now()
        .duration_since(time::parse(WRITTEN).expect("an instant"));
    let mut moved = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("2021-10-28T") {
        let (before, from) = rest.split_at(at);
        let (instant, after) = from.split_at(WRITTEN.len());
        let instant = time::parse(instant)
            .expect("an instant")
            .checked_add(age)
            .expect("in range");
        moved.push_str(before);
        moved.push_str(&time::rfc3339(instant));
        rest = after;
    }
    moved + rest
}
