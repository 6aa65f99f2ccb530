//! Failures in the status of a shoot, by the current rules.

use berth_dialect_contract::Inventory;
use serde_json::{Value, json};

use crate::testing::{configured_with, decide, fleet, seed, shoot, stored, with};

#[test]
fn by_the_rules_of_today_a_failure_is_written_once_per_text() {
    let foo = with(
        shoot("foo", "mars-1"),
        "/status/lastOperation",
        json!({"progress": 7, "type": "Create"}),
    );
    let rules = |rules: &str| configured_with(&json!({"rules": rules}));
    let mut fleet = fleet(&[seed("a", "aws", "eu-west-1"), foo.clone(), rules("Documented")]);
    assert!(
        fleet.writes(&decide(&fleet, &foo)).is_empty(),
        "in v1.8 there was an event alone"
    );
    fleet.fold(&stored(&rules("Current")));
    let writes = fleet.writes(&decide(&fleet, &foo));
    assert_eq!((writes.len(), writes[0].subresource), (1, "status"));
    let operation = &writes[0].object["status"]["lastOperation"];
    assert_eq!(operation["state"], "Pending");
    assert_eq!(operation["progress"], 7, "it stays");
    let description = operation["description"].as_str().unwrap();
    assert!(
        description.starts_with("Failed to schedule Shoot: No Seed fits. Nearest: "),
        "{description}"
    );
    let due = fleet.fold(&stored(&writes[0].object));
    assert_eq!(
        due.decide,
        berth_dialect_contract::AffectedDemands::None,
        "it makes nothing due"
    );
    assert!(fleet.writes(&decide(&fleet, &foo)).is_empty(), "nothing is new");
    // A binding removes the failure.
    let near = with(
        seed("b", "aws", "mars-1"),
        "/status/lastOperation",
        json!({"type": "Reconcile"}),
    );
    fleet.fold(&stored(&near));
    let bound = fleet.writes(&decide(&fleet, &foo));
    assert_eq!(bound[0].subresource, "binding");
    assert_eq!(bound[0].object["status"].get("lastOperation"), None::<&Value>);
}
