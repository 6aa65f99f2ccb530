//! The suite on the faulty dialect: it passes without a fault, and each property finds its fault.

use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::faulty::Faulty;
use super::{Case, Generator, Later, Property, falsify};

/// Number of rounds of the search for each fault.
const ROUNDS: usize = 16;

struct Generated(Option<Property>);

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    let mut value = json!({
        "apiVersion": "parcels.example/v1", "kind": kind, "metadata": {"name": name}, "spec": spec,
    });
    if kind != "Crate" {
        value["metadata"]["namespace"] = json!("ns");
    }
    value
}

fn crates() -> impl Strategy<Value = Vec<Value>> {
    let one = (prop::bool::weighted(0.8), 0..3i64);
    prop::collection::btree_map(0..5u8, one, 0..5).prop_map(|crates| {
        let spec = |(number, (red, capacity))| {
            let colour = if red { "red" } else { "blue" };
            object(
                "Crate",
                &format!("c{number}"),
                &json!({"colour": colour, "capacity": capacity}),
            )
        };
        crates.into_iter().map(spec).collect()
    })
}

fn parcels() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::btree_map(0..3u8, 1..3u8, 1..3).prop_map(|parcels| {
        let spec = |(number, wanted)| {
            object(
                "Parcel",
                &format!("t{number}"),
                &json!({"colour": "red", "wanted": wanted}),
            )
        };
        parcels.into_iter().map(spec).collect()
    })
}

fn later() -> impl Strategy<Value = Later> {
    let name = (0..5u8).prop_map(|number| format!("c{number}"));
    (name, 0..3i64, 0..4u8).prop_map(|(name, capacity, choice)| match choice {
        0 => Later::Wait(capacity),
        1 => Later::Merge(object(
            "Crate",
            &name,
            &json!({"colour": "red", "capacity": capacity}),
        )),
        _ => Later::Delete(object("Crate", &name, &json!({}))),
    })
}

impl Generator for Generated {
    fn dialect(&self) -> Arc<dyn Dialect> {
        Arc::new(Faulty(self.0))
    }

    fn case(&self) -> BoxedStrategy<Case> {
        let later = prop::collection::vec(later(), 0..4);
        (crates(), parcels(), later)
            .prop_map(|(crates, parcels, later)| Case {
                infeasible: Some(object("Crate", "b", &json!({"colour": "green", "capacity": 9}))),
                later,
                ..Case::new(Timestamp::UNIX_EPOCH, crates.into_iter().chain(parcels).collect())
            })
            .boxed()
    }
}

#[test]
fn a_faultless_dialect_passes_every_property() {
    for property in Property::ALL {
        assert_eq!(falsify(&Generated(None), property), Ok(()));
    }
}

#[test]
fn each_property_catches_its_fault_and_shows_the_case() {
    for property in Property::ALL {
        // Some faults need a rare case, which 64 cases may miss at times.
        let mut tries = (0..ROUNDS).map(|_| falsify(&Generated(Some(property)), property));
        let problem = tries
            .find_map(Result::err)
            .unwrap_or_else(|| panic!("{property:?} holds"));
        assert!(
            problem.starts_with(&format!("{property:?} of faulty does not hold: ")),
            "{problem}"
        );
        assert!(
            problem.contains("\n# case\n# at 1970-01-01T00:00:00Z\n---\napiVersion: "),
            "{problem}"
        );
        assert!(problem.contains("kind: Parcel"), "{problem}");
    }
}

#[test]
fn a_bad_case_says_what_is_bad_about_it() {
    struct Bad;
    impl Generator for Bad {
        fn dialect(&self) -> Arc<dyn Dialect> {
            Arc::new(Faulty(None))
        }
        fn case(&self) -> BoxedStrategy<Case> {
            let case = Case::new(Timestamp::UNIX_EPOCH, vec![object("Doll", "d", &json!({}))]);
            Just(case).boxed()
        }
    }
    let problem = falsify(&Bad, Property::SameSeedSameAnswer).unwrap_err();
    assert!(
        problem.contains("the dialect does not read the generator's parcels.example/v1 Doll"),
        "{problem}"
    );
}
