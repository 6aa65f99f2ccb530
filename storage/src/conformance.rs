//! Requirements of every store, as named cases: all backends must pass this suite.
//!
//! A backend's tests call [`conformance!`](crate::conformance) (and
//! [`conformance_atomic!`](crate::conformance_atomic) when its lists of steps are atomic) with the path of an
//! `async fn(Limits) -> (Arc<dyn Store>, K)` that creates an empty store; `K` is kept until the case ends.
//! Cases panic when the store violates a requirement.

pub mod atomic;
pub mod concurrency;
pub mod lists;
pub mod watches;
pub mod writes;

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::write::{Guard, Verb};
use berth_apimachinery::{Draft, GroupResource, Key, Object, Revision};
use serde_json::json;

use crate::error::StoreError;
use crate::history::Limits;
use crate::source::{Event, Store, Watch};
use crate::step::{Expect, Step, StepResult};

/// A namespaced resource that the cases write.
pub const THINGS: GroupResource = GroupResource::new("conformance.example", "things");
/// Another resource that the cases write.
pub const OTHERS: GroupResource = GroupResource::new("conformance.example", "others");
/// A resource that no case writes.
pub const QUIET: GroupResource = GroupResource::new("conformance.example", "quiet");

/// Longest wait of a case for an expected event.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Returns limits that keep four changes for each resource.
#[must_use]
pub fn short_history() -> Limits {
    Limits {
        events: 4,
        ..Limits::default()
    }
}

/// Returns the key of the object `namespace`/`name` of [`THINGS`].
#[must_use]
pub fn thing(namespace: &str, name: &str) -> Key {
    Key::new(THINGS, namespace, name)
}

/// Returns the draft of an object at `key` whose `spec.value` is `value`.
#[must_use]
pub fn draft(key: &Key, value: i64) -> Draft {
    let object = json!({
        "apiVersion": "conformance.example/v1", "kind": "Thing",
        "metadata": {"namespace": &*key.namespace, "name": &*key.name, "labels": {"suite": "conformance"}},
        "spec": {"value": value},
    });
    Draft::new(&object).expect("the suite's own object is valid")
}

/// Returns a step that creates the object at `key` with `spec.value` = `value`.
#[must_use]
pub fn create(key: &Key, value: i64) -> Step {
    step(Verb::Create, key, Some(value), Expect::Absent)
}

/// Returns a step that sets `spec.value` of the object at `key` to `value`, if `expect` holds.
#[must_use]
pub fn update(key: &Key, value: i64, expect: Expect) -> Step {
    step(Verb::Update, key, Some(value), expect)
}

/// Returns a step that deletes the object at `key`, if `expect` holds.
#[must_use]
pub fn delete(key: &Key, expect: Expect) -> Step {
    step(Verb::Delete, key, None, expect)
}

fn step(verb: Verb, key: &Key, value: Option<i64>, expect: Expect) -> Step {
    let object = value.map(|value| draft(key, value));
    Step {
        verb,
        key: key.clone(),
        subresource: "",
        object,
        expect,
        guards: Vec::new(),
    }
}

/// Returns `step` with `guard` in addition.
#[must_use]
pub fn guarded(mut step: Step, guard: Guard) -> Step {
    step.guards.push(guard);
    step
}

/// Returns the guard of the fence `name`, which must not have been passed after `not_after`.
#[must_use]
pub fn fence(name: &str, not_after: Revision) -> Guard {
    Guard::Fence {
        name: name.into(),
        not_after,
    }
}

/// Returns `spec.value` of an object of this suite.
#[must_use]
pub fn value(object: &Object) -> i64 {
    object.value()["spec"]["value"]
        .as_i64()
        .expect("the suite's objects have a value")
}

async fn apply_one(store: &Arc<dyn Store>, step: Step) -> Result<StepResult, StoreError> {
    let mut applied = store.apply(vec![step]).await?;
    assert_eq!(applied.len(), 1, "one answer per step");
    Ok(applied.remove(0))
}

async fn put(store: &Arc<dyn Store>, step: Step) -> StepResult {
    apply_one(store, step).await.expect("the step is applied")
}

/// Waits for exactly `count` events.
async fn take(watch: &mut Box<dyn Watch>, count: usize) -> Vec<Arc<Event>> {
    let mut events = Vec::new();
    while events.len() < count {
        let more = tokio::time::timeout(MAX_WAIT, watch.next(count - events.len())).await;
        events.extend(more.expect("events come in time").expect("the watch goes on"));
    }
    assert_eq!(events.len(), count, "never more than asked for");
    events
}

/// Asserts that no event is pending.
async fn no_event(watch: &mut Box<dyn Watch>) {
    let none = tokio::time::timeout(Duration::ZERO, watch.next(1)).await;
    assert!(none.is_err(), "no event was expected: {none:?}");
}

/// Defines one `#[tokio::test]` for each case.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($make:path, $limits:expr => $module:ident { $($case:ident)* }) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            let (store, _keep) = $make($limits).await;
            $crate::conformance::$module::$case(store).await;
        }
    )*};
}

/// Defines the cases for every store.
#[macro_export]
macro_rules! conformance {
    ($make:path) => {
        $crate::conformance_cases! { $make, $crate::Limits::default() => writes {
            a_created_object_is_listed_at_its_revision
            creating_what_exists_is_refused
            an_update_at_its_revision_replaces
            an_update_at_another_revision_conflicts
            an_update_expecting_presence_ignores_the_revision
            an_update_expecting_absence_conflicts
            what_is_not_there_is_not_found
            an_update_that_changes_nothing_writes_nothing
            a_delete_answers_the_last_state_at_its_own_revision
            a_delete_at_another_revision_conflicts
            a_deleted_object_can_be_made_again
            a_step_that_contradicts_itself_is_refused
            an_object_above_the_limit_is_refused_by_its_size
            a_guard_holds_while_the_other_object_is_unchanged
            a_fence_refuses_a_decision_on_an_older_snapshot
            a_refused_step_passes_no_fence
            no_steps_do_nothing
            revisions_grow_across_resources
        }}
        $crate::conformance_cases! { $make, $crate::Limits::default() => lists {
            lists_are_ordered_by_namespace_then_name
            a_namespace_is_a_range
            every_freshness_shows_acknowledged_writes
            a_past_revision_is_shown_as_it_was
            an_exact_revision_ahead_is_too_new
            a_future_revision_is_waited_for
            a_revision_that_does_not_come_is_too_new
            a_list_does_not_move
        }}
        $crate::conformance_cases! { $make, $crate::conformance::short_history() => lists {
            a_held_list_stays_readable
            a_forgotten_revision_is_expired
        }}
        $crate::conformance_cases! { $make, $crate::Limits::default() => watches {
            changes_come_once_in_order
            a_watch_replays_what_came_after_its_start
            a_deletion_carries_its_own_revision
            many_resources_come_in_one_order
            at_most_max_changes_come_at_once
            a_watch_ahead_of_the_store_is_too_new
            an_update_that_changes_nothing_sends_no_event
            a_dropped_wait_loses_nothing
            all_watchers_share_the_same_event
            a_bookmark_never_runs_ahead_of_events
        }}
        $crate::conformance_cases! { $make, $crate::conformance::short_history() => watches {
            a_watch_from_a_forgotten_revision_is_expired
            a_watcher_that_falls_behind_is_expired_for_good
            a_watcher_of_a_quiet_resource_outlives_the_noise
        }}
        $crate::conformance_cases! { $make, $crate::Limits::default() => concurrency {
            one_of_many_creates_wins
            concurrent_updates_lose_nothing
            a_write_is_visible_when_it_is_answered
            a_fence_lets_one_of_many_through
        }}
    };
}

/// Defines the cases for stores whose lists of steps are atomic.
#[macro_export]
macro_rules! conformance_atomic {
    ($make:path) => {
        $crate::conformance_cases! { $make, $crate::Limits::default() => atomic {
            a_refused_list_leaves_no_trace
            a_step_sees_the_earlier_ones_of_its_list
            a_list_does_not_stand_in_its_own_way
            a_refused_list_does_not_disturb_others
            a_list_that_changes_nothing_keeps_the_revision
        }}
    };
}
