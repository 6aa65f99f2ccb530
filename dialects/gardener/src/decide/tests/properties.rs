//! The result of the strategy for every fleet. Properties that hold for every dialect are in
//! `tests/properties.rs`.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::testing::{configuration, decide, fleet, seed, shoot, with};

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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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
