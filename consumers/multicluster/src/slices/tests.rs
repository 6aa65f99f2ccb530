//! Slices: no prefix of the writes undeploys.

use proptest::prelude::*;

use super::*;

type Clusters = BTreeMap<String, String>;

fn clusters(names: impl IntoIterator<Item = u16>) -> Clusters {
    let names = names.into_iter();
    names
        .map(|name| (format!("c{name:04}"), format!("because {name}")))
        .collect()
}

/// `slices` after `write`.
fn apply(slices: &mut Vec<Slice>, write: &Write) {
    match write {
        Write::Put(slice) => {
            slices.retain(|other| other.index != slice.index);
            slices.push(slice.clone());
            slices.sort_by_key(|slice| slice.index);
        }
        Write::Delete(index) => slices.retain(|slice| slice.index != *index),
    }
}

fn shown(slices: &[Slice]) -> BTreeSet<&String> {
    slices.iter().flat_map(|slice| slice.clusters.keys()).collect()
}

fn after(old: &[Slice], wanted: &Clusters) -> Vec<Slice> {
    let mut slices = old.to_vec();
    plan(old, wanted, &BTreeSet::new())
        .iter()
        .for_each(|write| apply(&mut slices, write));
    slices
}

#[test]
fn a_cluster_keeps_its_slice_and_gaps_are_filled() {
    let first = after(&[], &clusters(0..250));
    assert_eq!(
        first.iter().map(|slice| slice.clusters.len()).collect::<Vec<_>>(),
        [100, 100, 50]
    );
    let second = after(&first, &clusters((1..250).chain([300])));
    assert!(second[0].clusters.contains_key("c0300"));
    for (before, now) in first.iter().zip(&second) {
        assert!(
            now.clusters
                .keys()
                .all(|name| name == "c0300" || before.clusters.contains_key(name))
        );
    }
}

#[test]
fn a_slice_is_deleted_when_it_is_empty_and_one_is_left() {
    let first = after(&[], &clusters(0..101));
    let second = plan(&first, &clusters(100..101), &BTreeSet::new());
    assert_eq!(second, [Write::Delete(0)]);
    let third = after(&after(&first, &clusters(100..101)), &Clusters::new());
    assert_eq!(
        third,
        [Slice {
            index: 1,
            clusters: Clusters::new()
        }]
    );
    assert_eq!(after(&[], &Clusters::new()), [Slice::default()]);
    assert_eq!(plan(&[Slice::default()], &Clusters::new(), &BTreeSet::new()), []);
}

#[test]
fn nothing_is_written_when_nothing_changes() {
    let slices = after(&[], &clusters(0..150));
    assert_eq!(plan(&slices, &clusters(0..150), &BTreeSet::new()), []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn at_no_prefix_of_the_writes_is_a_decided_cluster_in_no_slice(
        steps in prop::collection::vec(prop::collection::btree_set(0_u16..320, 0..320), 1..6),
        killed in prop::collection::vec(0_usize..8, 6),
    ) {
        let mut slices: Vec<Slice> = Vec::new();
        let mut before = Clusters::new();
        for (names, killed) in steps.into_iter().zip(killed) {
            let wanted = clusters(names);
            let writes = plan(&slices, &wanted, &BTreeSet::new());
            let lasting: BTreeSet<&String> = before.keys().filter(|name| wanted.contains_key(*name)).collect();
            // Killed after some of the writes, and finished by whoever comes next, which sees only what is
            // written.
            for write in writes.iter().take(killed) {
                apply(&mut slices, write);
                prop_assert!(lasting.is_subset(&shown(&slices)));
            }
            let places = |slices: &[Slice]| -> BTreeMap<String, u32> {
                slices.iter().flat_map(|slice| slice.clusters.keys().map(|name| (name.clone(), slice.index))).collect()
            };
            let at = places(&slices);
            let mut complete = false;
            for write in plan(&slices, &wanted, &BTreeSet::new()) {
                let removes = match &write {
                    Write::Delete(_) => true,
                    Write::Put(_) => false,
                };
                apply(&mut slices, &write);
                let all: BTreeSet<&String> = wanted.keys().collect();
                complete |= all.is_subset(&shown(&slices));
                prop_assert!(lasting.is_subset(&shown(&slices)));
                prop_assert!(!removes || complete, "a slice was deleted before what comes was written");
            }
            let now = places(&slices);
            prop_assert!(now.iter().all(|(name, index)| at.get(name).is_none_or(|before| before == index)));
            prop_assert!(slices.iter().all(|slice| slice.clusters.len() <= MAX_CLUSTERS));
            prop_assert_eq!(slices.iter().map(|slice| slice.clusters.len()).sum::<usize>(), wanted.len());
            prop_assert!(!slices.is_empty());
            before = wanted;
        }
    }

    /// Nobody ever finishes what was begun: each comes, sees what is written (and which slices are being
    /// deleted, which somebody's finalizer keeps for a while), and is killed after some writes.
    #[test]
    fn whoever_is_killed_and_whatever_lingers_a_cluster_stays_shown_as_long_as_it_is_decided(
        steps in prop::collection::vec(
            (prop::collection::btree_set(0_u16..250, 0..250), 0_usize..6, any::<bool>()), 1..12),
    ) {
        let (mut slices, mut lingering): (Vec<Slice>, Vec<Slice>) = Default::default();
        let mut shown_while_decided: BTreeSet<String> = BTreeSet::new();
        for (names, killed, held) in steps {
            let wanted = clusters(names);
            shown_while_decided.retain(|name| wanted.contains_key(name));
            let closed: BTreeSet<u32> = lingering.iter().map(|slice| slice.index).collect();
            // What lingers is no place: a cluster that is decided and only there gets another before that
            // goes.
            for write in plan(&slices, &wanted, &closed).iter().take(killed) {
                if let (Write::Delete(index), true) = (write, held) {
                    lingering.extend(slices.iter().filter(|slice| slice.index == *index).cloned());
                }
                if let Write::Put(slice) = write {
                    prop_assert!(!closed.contains(&slice.index));
                }
                apply(&mut slices, write);
                let now = shown(&slices);
                prop_assert!(shown_while_decided.iter().all(|name| now.contains(name)));
                let added = now.into_iter().filter(|name| wanted.contains_key(*name)).cloned();
                shown_while_decided.extend(added.collect::<Vec<_>>());
            }
            if !held {
                lingering.clear();
            }
        }
    }
}
