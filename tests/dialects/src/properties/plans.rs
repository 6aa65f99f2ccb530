//! Property of plans: a plan of a change on a world equals the effect of that change on the server, whose
//! objects are stored and decided as in production.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::amounts::AmountsByCluster;
use berth_dialect_contract::{AffectedDemands, Consequences, Phase};
use berth_engine::plan::{ChangeKind, Plan, Step, Terms, apply, compare};
use berth_engine::{Catalog, Snapshot};

use super::case::Later;
use super::server::Server;
use super::{Generator, Trial};
use crate::foreign;

/// Highest number of decisions of one demand before the plan counts as different.
const MOST: usize = 8;

/// Plans every step of the story, and then carries it out.
pub(crate) fn equal(generator: &dyn Generator, trial: &Trial) -> Result<(), String> {
    if !generator.settles(&trial.case) {
        return Ok(());
    }
    let mut server = Server::build(generator.dialect(), &trial.case)?;
    settle(&mut server)?;
    for (number, later) in (1..).zip(&trial.case.later) {
        let with_step = |problem: String| format!("at step {number}: {problem}");
        let before = server.clone();
        let planned = plan(&server, later).map_err(with_step)?;
        let due = server.happen(later).map_err(with_step)?;
        server.usable().map_err(with_step)?;
        decide_due(&mut server, due).map_err(with_step)?;
        if let Some(planned) = planned {
            compare(&before, &server, &planned).map_err(with_step)?;
        }
        settle(&mut server).map_err(with_step)?;
    }
    Ok(())
}

/// Decides every demand until nothing changes any more.
fn settle(server: &mut Server) -> Result<(), String> {
    for _ in 0..MOST {
        let before = server.snapshot.revision;
        for demand in server.demands() {
            server.settle(&demand)?;
        }
        if server.snapshot.revision == before {
            break;
        }
    }
    Ok(())
}

/// The plan of `later`, if it changes an object.
fn plan(server: &Server, later: &Later) -> Result<Option<Plan>, String> {
    let change = match later {
        Later::Wait(_) => return Ok(None),
        Later::Delete(value) if !server.has(value)? || server.is_used(value)? => return Ok(None),
        Later::Delete(value) => {
            let mut reference = value["metadata"].clone();
            reference["apiVersion"] = value["apiVersion"].clone();
            reference["kind"] = value["kind"].clone();
            ChangeKind::Delete(reference)
        }
        Later::Merge(value) if server.has(value)? => ChangeKind::Patch(value.clone()),
        Later::Merge(value) => ChangeKind::Object(value.clone()),
    };
    let step = Step {
        at: String::new(),
        path: String::new(),
        change,
    };
    let dialect = &server.snapshot.dialect;
    let catalog = Catalog::new(dialect.kinds().into_iter().chain(foreign::kinds()));
    let mut world = server.world()?;
    let before = world.begin();
    let terms = Terms {
        now: server.now,
        seed: None,
    };
    let mut worlds = [world];
    apply(&mut worlds, &catalog, &[step], terms.now)
        .map_err(|problems| format!("the plan is refused: {problems:?}"))?;
    let [world] = &mut worlds;
    let plan = Plan::of(&before, world, &terms, |_| false);
    plan.map(Some).map_err(|fault| fault.to_string())
}

/// Decides the due demands, and the demands that these make due, one after the other.
fn decide_due(server: &mut Server, due: Consequences) -> Result<(), String> {
    let mut queue: VecDeque<Key> = VecDeque::new();
    let mut times: BTreeMap<Key, usize> = BTreeMap::new();
    add(&mut queue, server, [due]);
    let retries = server.inventory().pace().unplaced.is_some();
    let mut tried_at = None;
    loop {
        while let Some(demand) = queue.pop_front() {
            let count = times.entry(demand.clone()).or_default();
            *count += 1;
            if *count > MOST {
                return Err(format!("{demand} never comes to rest"));
            }
            if let Some(decision) = server.decide(&demand)? {
                let writes = server.inventory().writes(&decision);
                let dues = server.apply(&writes)?;
                add(&mut queue, server, dues);
            }
        }
        if !retries || tried_at.replace(server.snapshot.revision) == Some(server.snapshot.revision) {
            return Ok(());
        }
        for demand in server.demands() {
            let view = server.inventory().demand(&demand, server.now);
            if view.is_some_and(|view| {
                matches!(
                    view.phase,
                    Phase::Pending | Phase::Unschedulable | Phase::Invalid | Phase::Partial
                )
            }) {
                queue.push_back(demand);
            }
        }
    }
}

fn add(queue: &mut VecDeque<Key>, server: &Server, dues: impl IntoIterator<Item = Consequences>) {
    let mut keys = BTreeSet::new();
    for due in dues {
        match due.decide {
            AffectedDemands::None => {}
            AffectedDemands::Some(some) => keys.extend(some),
            AffectedDemands::All => keys.extend(server.demands()),
        }
    }
    queue.extend(
        keys.into_iter()
            .filter(|key| !queue.contains(key))
            .collect::<Vec<_>>(),
    );
}

/// The clusters of each demand.
fn clusters(snapshot: &Snapshot, now: Timestamp) -> BTreeMap<Key, AmountsByCluster> {
    let demands = snapshot.inventory.demands().into_iter();
    demands
        .filter_map(|demand| {
            let clusters = compare::clusters(snapshot, &demand, now)?;
            Some((demand, clusters))
        })
        .collect()
}

/// Checks that `plan` names every demand whose clusters differ, with the clusters before and after, and no
/// other demand.
fn compare(before: &Server, after: &Server, plan: &Plan) -> Result<(), String> {
    if let Some(demand) = plan.unsettled.first() {
        return Err(format!("the plan leaves {demand} unsettled"));
    }
    let was = clusters(&before.snapshot, before.now);
    let is = clusters(&after.snapshot, after.now);
    let planned: BTreeMap<&Key, _> = plan.entries.iter().map(|entry| (&entry.demand, entry)).collect();
    let all: BTreeSet<&Key> = was.keys().chain(is.keys()).collect();
    for demand in all {
        let (old, new) = (was.get(demand), is.get(demand));
        match planned.get(demand) {
            None if old == new => {}
            None => {
                return Err(format!(
                    "{demand} goes from {old:?} to {new:?}, which the plan leaves out"
                ));
            }
            Some(entry) => {
                let planned = (
                    entry.before.as_ref().map(|side| &side.clusters),
                    entry.after.as_ref().map(|side| &side.clusters),
                );
                if planned != (old, new) {
                    return Err(format!(
                        "{demand} goes from {old:?} to {new:?}; the plan says {planned:?}"
                    ));
                }
            }
        }
    }
    Ok(())
}
