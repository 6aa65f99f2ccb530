//! What holds for every fleet.

use dialect_contract::{Decision, Inventory, Outcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::testing::{configuration, decide, fleet, seed, shoot, stored, with};

const REGIONS: [&str; 4] = ["eu-west-1", "eu-central-1", "us-east-1", "nowhere"];

prop_compose! {
    fn any_seed()(
        number in 0..40u32, provider in prop::sample::select(vec!["aws", "aws", "gcp"]),
        region in prop::sample::select(&REGIONS[..]), tainted in prop::bool::weighted(0.2),
        hidden in prop::bool::weighted(0.1), limit in prop::option::of(0..4i64), load in 0..4usize,
    ) -> (Value, usize) {
        let mut object = seed(&format!("seed-{number}"), provider, region);
        if tainted {
            object = with(object, "/spec/taints", json!([{"key": "t"}]));
        }
        if hidden {
            object = with(object, "/spec/settings/scheduling/visible", json!(false));
        }
        if let Some(limit) = limit {
            object = with(object, "/status/allocatable", json!({"shoots": limit.to_string()}));
        }
        (object, load)
    }
}

prop_compose! {
    fn any_world()(
        seeds in prop::collection::vec(any_seed(), 0..12), region in prop::sample::select(&REGIONS[..]),
        purpose in prop::sample::select(vec!["evaluation", "testing"]),
        strategy in prop::sample::select(vec!["SameRegion", "MinimalDistance"]), anywhere in any::<bool>(),
    ) -> (Vec<Value>, Value) {
        let mut demand = with(shoot("foo", region), "/spec/purpose", json!(purpose));
        if anywhere {
            demand = with(demand, "/spec/seedSelector", json!({"providerTypes": ["*"]}));
        }
        let mut objects = vec![configuration(strategy), demand.clone()];
        for (index, (seed, load)) in seeds.into_iter().enumerate() {
            for number in 0..load {
                let resident = shoot(&format!("r-{index}-{number}"), "eu-west-1");
                objects.push(with(resident, "/spec/seedName", seed["metadata"]["name"].clone()));
            }
            objects.push(seed);
        }
        (objects, demand)
    }
}

/// What of a decision does not depend on numbering.
fn essence(fleet: &Fleet, decision: &Decision) -> (Outcome, Vec<String>, Vec<String>, usize) {
    let names = |list: &[u32]| {
        list.iter()
            .map(|&candidate| fleet.cluster_name(candidate).to_string())
            .collect()
    };
    (
        decision.outcome,
        names(&decision.solved.picked),
        names(&decision.solved.ranked),
        decision.solved.rejections.len(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deciding_twice_gives_the_same((objects, demand) in any_world()) {
        let fleet = fleet(&objects);
        prop_assert_eq!(essence(&fleet, &decide(&fleet, &demand)), essence(&fleet, &decide(&fleet, &demand)));
    }

    #[test]
    fn what_was_written_is_kept((objects, demand) in any_world()) {
        let mut fleet = fleet(&objects);
        let decision = decide(&fleet, &demand);
        let writes = fleet.writes(&decision);
        prop_assert_eq!(writes.len(), decision.solved.picked.len());
        for write in writes {
            let due = fleet.fold(&stored(&write.object));
            prop_assert_eq!(due.decide, dialect_contract::Affected::None, "its own writes make nothing due");
            let again = decide(&fleet, &demand);
            prop_assert_eq!(again.outcome, Outcome::Unchanged);
            prop_assert_eq!(&again.solved.picked, &decision.solved.picked);
            prop_assert!(fleet.writes(&again).is_empty());
        }
    }

    #[test]
    fn the_order_of_objects_does_not_matter((objects, demand) in any_world()) {
        // Of several seeds of one name the last one stands, so only the last of each is turned around.
        let mut last: Vec<Value> = Vec::new();
        for object in objects {
            last.retain(|other| crate::testing::key(other) != crate::testing::key(&object));
            last.push(object);
        }
        let forwards = fleet(&last);
        last.reverse();
        let backwards = fleet(&last);
        prop_assert_eq!(essence(&forwards, &decide(&forwards, &demand)), essence(&backwards, &decide(&backwards, &demand)));
    }

    #[test]
    fn an_infeasible_seed_changes_no_pick((objects, demand) in any_world(), name in "[a-z]{1,8}") {
        let before = fleet(&objects);
        let mut after = before.clone();
        let hidden = with(seed(&format!("x-{name}"), "aws", "eu-west-1"), "/spec/settings/scheduling/visible", json!(false));
        after.fold(&stored(&hidden));
        let (one, two) = (essence(&before, &decide(&before, &demand)), essence(&after, &decide(&after, &demand)));
        prop_assert_eq!((one.0, one.1, one.2), (two.0, two.1, two.2));
    }

    #[test]
    fn the_picked_seed_has_room_and_fewest_shoots((objects, demand) in any_world()) {
        let fleet = fleet(&objects);
        let decision = decide(&fleet, &demand);
        for &candidate in &decision.solved.picked {
            let row = fleet.row(candidate);
            prop_assert!(row.has_room(0));
            prop_assert!(decision.solved.feasible.iter().all(|&other| fleet.row(other).used >= row.used));
        }
    }
}
