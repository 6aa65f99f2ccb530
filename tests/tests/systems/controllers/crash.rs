//! A controller that aborts at any write boundary and is started again reaches the same state as without the
//! abort.
//!
//! A story runs once without a fault, and then with an abort before one commit after the other until the
//! story ends first: before every third commit, or before each (`BERTH_CRASH_POINTS=all`). Lists of writes
//! are committed at once, as on the embedded store, and one by one, as on etcd and on a hub. The fault point
//! is only in builds with debug assertions.

mod stories;
mod victim;

use serde_json::Value;

use victim::{Died, Victim};

/// A user's action, and the check of its effect.
struct Phase {
    /// The action, which is repeated after a crash, so it must accept existing objects.
    act: fn(&Victim) -> Result<(), Died>,
    /// Whether the last write of the effect exists.
    is_done: fn(&Victim) -> Result<bool, Died>,
}

/// A story, and its result.
struct Story {
    dialect: &'static str,
    phases: &'static [Phase],
    /// State of the server, without parts that differ between runs (times, uids).
    state: fn(&Victim) -> Result<Value, Died>,
}

/// Least number of fault points: with fewer, the story would not reach its writes.
const FEWEST: u64 = 3;

/// Runs a phase, and starts the server again whenever it aborts.
fn through<T>(victim: &mut Victim, step: impl Fn(&Victim) -> Result<T, Died>) -> T {
    loop {
        match step(victim) {
            Ok(value) => return value,
            Err(Died) => victim.restart(),
        }
    }
}

/// Whether the queues of all controllers are empty.
fn are_empty_queues(metrics: &str) -> bool {
    let depths = metrics
        .lines()
        .filter(|line| line.starts_with("workqueue_depth{"));
    let mut depths = depths.peekable();
    depths.peek().is_some() && depths.all(|line| line.ends_with(" 0"))
}

/// Runs the story with `fault`, and returns its state and whether the fault was reached.
fn run_story(story: &Story, fault: &str, wanted: Option<&Value>) -> (Value, bool) {
    let mut victim = Victim::start(fault);
    for phase in story.phases {
        through(&mut victim, |victim| {
            (phase.act)(victim)?;
            victim.eventually(|| (phase.is_done)(victim))
        });
    }
    let state = through(&mut victim, |victim| {
        let is_settled = || {
            let same = match wanted {
                Some(wanted) => (story.state)(victim)? == *wanted,
                None => true,
            };
            Ok(same && are_empty_queues(&victim.metrics()?))
        };
        // When it never reaches the expected state, the difference is reported.
        victim.comes_to(is_settled)?;
        (story.state)(victim)
    });
    (state, victim.has_died())
}

/// Distance of tested fault points: every third, or every one with `BERTH_CRASH_POINTS=all` (`make faults`),
/// which takes ten minutes on two cores.
fn stride() -> usize {
    let is_all = std::env::var("BERTH_CRASH_POINTS").is_ok_and(|points| points == "all");
    if is_all { 1 } else { 3 }
}

/// Runs the story with a fault before one commit after the other.
fn survives_crashes(story: &Story, mode: &str) {
    let (calm, died) = run_story(story, mode.trim_start_matches(','), None);
    assert!(!died, "nothing dies without a fault");
    for number in (1..).step_by(stride()) {
        let (state, reached) = run_story(story, &format!("before={number}{mode}"), Some(&calm));
        assert_eq!(
            state, calm,
            "{}: killed before commit {number}{mode}",
            story.dialect
        );
        if !reached {
            println!("{}{mode}: fewer than {number} fault points", story.dialect);
            assert!(number > FEWEST, "{}: only {number} points", story.dialect);
            return;
        }
    }
}

#[test]
fn openmcp_survives_crashes() {
    survives_crashes(&stories::openmcp::STORY, "");
}

#[test]
fn openmcp_survives_crashes_between_two_writes() {
    survives_crashes(&stories::openmcp::STORY, ",stepwise");
}

#[test]
fn fleet_survives_crashes() {
    survives_crashes(&stories::fleet::STORY, "");
}

#[test]
fn fleet_survives_crashes_between_two_writes() {
    survives_crashes(&stories::fleet::STORY, ",stepwise");
}

#[test]
fn ocm_survives_crashes() {
    survives_crashes(&stories::ocm::STORY, "");
}

#[test]
fn ocm_survives_crashes_between_two_writes() {
    survives_crashes(&stories::ocm::STORY, ",stepwise");
}

/// Its decisions are one write each.
#[test]
fn gardener_survives_crashes() {
    survives_crashes(&stories::gardener::STORY, "");
}

/// Its decisions are one write each.
#[test]
fn kcp_survives_crashes() {
    survives_crashes(&stories::kcp::STORY, "");
}

/// There is also a boundary between two writes of one list.
#[test]
fn kcps_further_controllers_survive_crashes_between_two_writes() {
    survives_crashes(&stories::reconcilers::STORY, ",stepwise");
}
