//! Laws of every apply.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::World;
use crate::Set;

fn spec() -> impl Strategy<Value = Value> {
    let word = || select(vec!["x", "y"]);
    let names = || subsequence(vec!["A", "B", "C", "D"], 0..=4).prop_shuffle();
    let env = (names(), word()).prop_map(|(names, value)| {
        let items = names.iter().map(|name| json!({"name": name, "value": value}));
        items.collect::<Vec<_>>()
    });
    let data = btree_map(select(vec!["k", "l"]), word(), 0..3);
    let parts = (
        option::of(word()),
        option::of(names()),
        option::of(env),
        option::of(data),
        option::of(option::of(word())),
        option::of(vec(word(), 0..3)),
    );
    parts.prop_map(|(image, tags, env, data, template, args)| {
        let template = template.map(|a| a.map_or(json!({}), |a| json!({"a": a})));
        let mut spec = json!({"image": image, "tags": tags, "env": env, "data": data, "template": template, "args": args});
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        spec
    })
}

fn without_empty_lists(mut spec: Value) -> Value {
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|name, value| name == "args" || value != &json!([]));
    }
    spec
}

/// Steps of three managers.
fn steps(spec: impl Strategy<Value = Value>) -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    vec((select(vec!["a", "b", "c"]), spec), 1..8)
}

proptest! {
    #[test]
    fn applying_again_changes_nothing(steps in steps(spec().prop_map(without_empty_lists))) {
        let mut world = World::new();
        for (manager, spec) in steps {
            world.force(manager, spec.clone());
            let (live, managers) = (world.live.clone(), world.managers.clone());
            world.apply(manager, spec);
            prop_assert_eq!(&world.live, &live);
            prop_assert_eq!(&world.managers, &managers);
        }
    }

    // Empty sets and lists by key are merged but have no owner, and neither have their parents, in
    // kube-apiserver as here (its field manager has the same results in `apply_reference`, which has such
    // configurations and applies them twice). `env: [D]` followed by `env: []` prunes `env` with all of
    // `spec`, since no field there has an owner; the same apply again restores `env: []`, and if then no
    // field at all has an owner, the next apply assigns the existing fields to before-first-apply.
    #[test]
    fn applying_empty_lists_again_settles(steps in steps(spec())) {
        let mut world = World::new();
        for (manager, spec) in steps {
            for _ in 0..3 {
                world.force(manager, spec.clone());
            }
            let (live, managers) = (world.live.clone(), world.managers.clone());
            world.force(manager, spec);
            prop_assert_eq!(&world.live, &live);
            prop_assert!(world.managers.same_but_times(&managers));
        }
    }

    #[test]
    fn what_nobody_owns_any_more_is_gone_and_what_another_owns_stays(
        one in spec().prop_map(without_empty_lists), other in spec().prop_map(without_empty_lists)
    ) {
        let mut world = World::new();
        world.apply("b", other.clone());
        let alone = world.types.paths(&json!({"spec": other.clone()})).unwrap();
        world.force("a", one).force("b", other).apply("a", json!({}));
        let now = world.types.paths_of_stored(&world.live).unwrap();
        // Defaults have no owner.
        let owned = world.all();
        prop_assert!(alone.difference(&owned).is_empty());
        for path in now.difference(&owned).paths() {
            prop_assert!([".spec.replicas", ".spec.template.b"].contains(&path.as_str()), "{} is nobody's", path);
        }
    }

    #[test]
    fn nothing_differs_between_an_object_and_itself(one in spec()) {
        let world = World::new();
        let object = json!({"spec": one});
        prop_assert!(world.types.compare(&object, &object).is_empty());
    }

    #[test]
    fn decoding_undoes_encoding(one in spec()) {
        let set = World::new().types.paths(&json!({"spec": one})).unwrap();
        prop_assert_eq!(Set::decode_bytes(set.encode().as_bytes()).unwrap(), set);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..64), text in r#"[{}":,.fkvi\\0-9a\[\]]{0,40}"#) {
        for input in [bytes.as_slice(), text.as_bytes()] {
            if let Ok(set) = Set::decode_bytes(input) {
                prop_assert_eq!(Set::decode_bytes(set.encode().as_bytes()).unwrap(), set);
            }
        }
    }
}
