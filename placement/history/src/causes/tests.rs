//! Changes that are taken for the causes of decisions, and for how long.

use berth_apimachinery::time::testing::SteppedClock;
use berth_apimachinery::{Change, Draft};
use berth_dialect_contract::{AffectedDemands, Consequences};
use serde_json::json;

use super::*;

const PLACEMENTS: berth_apimachinery::GroupResource =
    berth_apimachinery::GroupResource::new("cluster.open-cluster-management.io", "placements");
const CLUSTERS: berth_apimachinery::GroupResource =
    berth_apimachinery::GroupResource::new("cluster.open-cluster-management.io", "managedclusters");

const SCORES: berth_apimachinery::GroupResource =
    berth_apimachinery::GroupResource::new("cluster.open-cluster-management.io", "addonplacementscores");

struct World {
    clock: Arc<SteppedClock>,
    causes: Causes,
}

fn world() -> World {
    world_with(None)
}

fn world_with(managers: Option<Managers>) -> World {
    let clock = Arc::new(SteppedClock::at(Timestamp::from_second(1000).unwrap()));
    let of_clusters = [CLUSTERS, SCORES].into();
    World {
        causes: Causes::new(Arc::clone(&clock) as Arc<dyn Clock>, of_clusters, managers),
        clock,
    }
}

fn demand() -> Key {
    Key::new(PLACEMENTS, "ns", "p")
}

impl World {
    fn wait(&self, seconds: i64) {
        self.clock.advance(jiff::SignedDuration::from_secs(seconds));
    }

    /// A change of the cluster `name` at `revision` that makes `decide` due and `view` look different.
    fn change(&self, name: &str, revision: u64, decide: AffectedDemands, view: AffectedDemands) {
        self.change_of(Key::new(CLUSTERS, "", name), revision, decide, view);
    }

    fn change_of(&self, key: Key, revision: u64, decide: AffectedDemands, view: AffectedDemands) {
        let name = &*key.name;
        let value = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name, "managedFields": [
                {"manager": "first", "time": "2026-01-01T00:00:00Z"},
                {"manager": "last", "time": "2026-01-01T00:00:01Z"},
            ]},
        });
        let managed = serde_json::to_vec(&value["metadata"]["managedFields"]).unwrap();
        let object = Arc::new(Draft::managed(&value, &managed).unwrap().at(Revision(revision)));
        let change = Change {
            revision: Revision(revision),
            key: key.clone(),
            old: Some(Arc::clone(&object)),
            new: Some(object),
        };
        let due = Consequences {
            decide,
            demands: view,
            targets: None,
        };
        self.causes.folded("ocm", &change, &due);
    }

    fn due(&self, name: &str, revision: u64) {
        self.change(
            name,
            revision,
            AffectedDemands::Some(vec![demand()]),
            AffectedDemands::None,
        );
    }

    fn taken(&self, through: u64) -> Option<(String, u64)> {
        let cause = self.causes.take_due("ocm", &demand(), Revision(through))?;
        Some((cause.name, cause.more))
    }

    fn seen(&self) -> Option<String> {
        let cause = self.causes.take_seen("ocm", &demand(), self.clock.now())?;
        Some(cause.name)
    }
}

#[test]
fn who_wrote_a_copy_of_a_hubs_object_is_said_by_whoever_copies() {
    let world = world_with(Some(Arc::new(|key: &Key| {
        (&*key.name == "one").then(|| "placement".into())
    })));
    for (name, manager) in [("one", "placement"), ("two", "last")] {
        world.due(name, 5);
        let cause = world.causes.take_due("ocm", &demand(), Revision(6)).unwrap();
        assert_eq!(cause.field_manager, manager);
    }
}

#[test]
fn the_newest_change_that_made_a_decision_due_is_its_cause_once() {
    let world = world();
    world.due("one", 5);
    world.due("two", 6);
    let cause = world.causes.take_due("ocm", &demand(), Revision(6)).unwrap();
    assert_eq!(
        cause,
        RecordCause {
            r#type: CauseType::Object,
            verb: "Updated".to_owned(),
            api_version: "cluster.open-cluster-management.io/v1".to_owned(),
            kind: "ManagedCluster".to_owned(),
            namespace: String::new(),
            name: "two".to_owned(),
            resource_version: "6".to_owned(),
            field_manager: "last".to_owned(),
            more: 1,
        }
    );
    assert_eq!(world.taken(6), None, "taken");
}

#[test]
fn an_object_of_another_namespace_is_not_named_unless_it_describes_a_cluster() {
    let world = world();
    let cases = [
        (Key::new(PLACEMENTS, "other", "theirs"), ["", ""]),
        (Key::new(PLACEMENTS, "ns", "ours"), ["ns", "ours"]),
        (Key::new(SCORES, "cluster1", "score"), ["cluster1", "score"]),
    ];
    for (revision, (key, told)) in (5..).zip(cases) {
        world.change_of(
            key,
            revision,
            AffectedDemands::Some(vec![demand()]),
            AffectedDemands::None,
        );
        let cause = world
            .causes
            .take_due("ocm", &demand(), Revision(revision))
            .unwrap();
        assert_eq!([cause.namespace.as_str(), &cause.name], told);
        assert_eq!(cause.field_manager.is_empty(), told[1].is_empty());
    }
}

#[test]
fn a_change_after_the_world_that_was_decided_on_is_no_cause_yet() {
    let world = world();
    world.due("one", 5);
    assert_eq!(world.taken(4), None);
    assert_eq!(world.taken(5), Some(("one".to_owned(), 0)));
}

#[test]
fn what_concerns_all_is_the_cause_of_each() {
    let world = world();
    world.change("one", 5, AffectedDemands::All, AffectedDemands::None);
    assert_eq!(world.taken(9), Some(("one".to_owned(), 0)));
    world.due("two", 6);
    assert_eq!(world.taken(9), Some(("two".to_owned(), 0)));
}

#[test]
fn a_change_that_was_acted_on_without_effect_explains_nothing_later() {
    let world = world();
    world.due("one", 5);
    world.causes.settled(&demand(), Revision(5));
    world.wait(5);
    assert_eq!(
        world.seen().as_deref(),
        Some("one"),
        "what is seen a moment later"
    );
    world.due("one", 6);
    world.causes.settled(&demand(), Revision(6));
    world.wait(11);
    assert_eq!(world.seen(), None);
    world.due("two", 7);
    world.causes.settled(&demand(), Revision(6));
    world.wait(60);
    assert_eq!(
        world.taken(7),
        Some(("two".to_owned(), 0)),
        "it was not decided yet"
    );
}

#[test]
fn a_later_decision_does_not_revive_a_settled_change() {
    let world = world();
    world.due("one", 5);
    world.causes.settled(&demand(), Revision(5));
    world.wait(8);
    world.causes.settled(&demand(), Revision(6));
    assert_eq!(world.seen().as_deref(), Some("one"));
    world.wait(5);
    assert_eq!(world.seen(), None);
}

#[test]
fn what_only_looks_different_is_told_for_a_moment() {
    let world = world();
    let view = || AffectedDemands::Some(vec![demand()]);
    world.change("one", 5, AffectedDemands::None, view());
    assert_eq!(world.taken(9), None, "nothing is due");
    assert_eq!(world.seen().as_deref(), Some("one"));
    world.change("one", 6, AffectedDemands::None, view());
    world.wait(11);
    assert_eq!(world.seen(), None);
}

/// A change of the demand itself.
fn own_change(revision: u64, was: bool, is: bool) -> Change {
    let value =
        json!({"apiVersion": "v1", "kind": "Placement", "metadata": {"name": "p", "namespace": "ns"}});
    let object = || Arc::new(Draft::new(&value).unwrap().at(Revision(revision)));
    Change {
        revision: Revision(revision),
        key: demand(),
        old: was.then(object),
        new: is.then(object),
    }
}

#[test]
fn a_deletion_is_the_cause_of_its_end_whatever_follows_from_it() {
    let world = world();
    let due = Consequences {
        demands: AffectedDemands::Some(vec![demand()]),
        ..Consequences::nothing()
    };
    world.causes.folded("ocm", &own_change(5, true, false), &due);
    world.change(
        "one",
        6,
        AffectedDemands::None,
        AffectedDemands::Some(vec![demand()]),
    );
    let cause = world.causes.take_gone(&demand(), world.clock.now()).unwrap();
    assert_eq!(
        (cause.kind.as_str(), cause.verb.as_str()),
        ("Placement", "Deleted")
    );
    assert_eq!(world.seen(), None, "with it goes what followed from it");
}

#[test]
fn of_an_object_that_is_replaced_each_change_has_its_own_cause() {
    let world = world();
    let due = || Consequences {
        decide: AffectedDemands::Some(vec![demand()]),
        demands: AffectedDemands::Some(vec![demand()]),
        targets: None,
    };
    for (revision, was, is) in [(5, false, true), (6, true, false), (7, false, true)] {
        world.causes.folded("ocm", &own_change(revision, was, is), &due());
    }
    let now = world.clock.now();
    let told = |cause: Option<RecordCause>| cause.map(|cause| (cause.verb, cause.resource_version));
    let expected = |verb: &str, revision: &str| Some((verb.to_owned(), revision.to_owned()));
    assert_eq!(
        told(world.causes.take_gone(&demand(), now)),
        expected("Deleted", "6")
    );
    assert_eq!(
        told(world.causes.take_seen("ocm", &demand(), now)),
        expected("Created", "7")
    );
}

#[test]
fn a_deletion_right_after_is_not_the_cause_of_the_beginning() {
    let world = world();
    let due = || Consequences {
        decide: AffectedDemands::Some(vec![demand()]),
        ..Consequences::nothing()
    };
    world.causes.folded("ocm", &own_change(5, false, true), &due());
    world.causes.folded("ocm", &own_change(6, true, false), &due());
    let now = world.clock.now();
    let began = world.causes.take_seen("ocm", &demand(), now).unwrap();
    let ended = world.causes.take_gone(&demand(), now).unwrap();
    assert_eq!((began.verb.as_str(), ended.verb.as_str()), ("Created", "Deleted"));
}

#[test]
fn what_is_over_is_forgotten() {
    let world = world();
    world.due("one", 5);
    world.change("two", 6, AffectedDemands::All, AffectedDemands::All);
    world.causes.sweep();
    assert_eq!(world.causes.recent.lock().by_demand.len(), 1);
    world.wait(601);
    world.causes.sweep();
    let recent = world.causes.recent.lock();
    assert!(recent.by_demand.is_empty() && recent.by_dialect.is_empty());
}

#[test]
fn of_two_changes_right_after_one_another_each_decision_is_told_its_own() {
    let world = world();
    world.due("one", 5);
    world.due("two", 6);
    assert_eq!(
        world.taken(5),
        Some(("one".to_owned(), 0)),
        "decided before the second"
    );
    world.due("three", 7);
    assert_eq!(
        world.taken(7),
        Some(("three".to_owned(), 1)),
        "of both that came after"
    );
    assert_eq!(world.taken(7), None);

    // One that had nothing to write leaves what came after it.
    world.due("four", 8);
    world.due("five", 9);
    world.causes.settled(&demand(), Revision(8));
    world.wait(11);
    assert_eq!(world.taken(9), Some(("five".to_owned(), 0)));
}

#[test]
fn what_was_seen_before_a_change_is_not_put_down_to_it() {
    let world = world();
    let both = || AffectedDemands::Some(vec![demand()]);
    world.change("one", 5, AffectedDemands::None, both());
    let first = world.clock.now();
    world.clock.advance(jiff::SignedDuration::from_millis(80));
    world.change("two", 6, both(), both());
    let told = |seen: Timestamp| {
        let cause = world.causes.take_seen("ocm", &demand(), seen);
        cause.map(|cause| cause.name)
    };
    assert_eq!(told(first).as_deref(), Some("one"));
    assert_eq!(told(world.clock.now()).as_deref(), Some("two"));
    assert_eq!(told(world.clock.now()), None);
}

#[test]
fn of_many_changes_the_last_are_told_apart_and_all_are_counted() {
    let world = world();
    for revision in 1..=20 {
        world.due(&format!("c{revision}"), revision);
    }
    assert_eq!(world.taken(19), Some(("c19".to_owned(), 18)));
    assert_eq!(world.taken(20), Some(("c20".to_owned(), 0)));
    let recent = world.causes.recent.lock();
    assert!(
        recent
            .by_demand
            .values()
            .all(|changes| changes.decide.is_empty() && changes.view.is_empty())
    );
}
