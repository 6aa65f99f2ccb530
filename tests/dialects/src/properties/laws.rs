//! Laws of one decision, on one world. Each law gets a world of its own and may change it.

use std::collections::{BTreeMap, BTreeSet};

use berth_apimachinery::Key;
use berth_dialect_contract::{Action, Ask, BindingChange, Decision, Outcome, PlacedCluster};
use serde_json::Value;

use super::Generator;
use super::server::Server;
use super::show::{self, affects};

/// Input of a law.
pub(crate) struct Matter<'a> {
    /// Generator of the world.
    pub(crate) generator: &'a dyn Generator,
    /// Whether a second decision must change nothing.
    pub(crate) settles: bool,
    /// The demand.
    pub(crate) demand: &'a Key,
    /// A seed.
    pub(crate) seed: u64,
}

/// A law; its error is the reason why it does not hold.
pub(crate) type Law = fn(&Matter<'_>, Server) -> Result<(), String>;

/// Every law of one decision.
pub(crate) const ALL: [Law; 8] = [
    twice, same_seed, feasible, explained, exact, divided, prefixes, not_due,
];

/// After the writes, nothing is left to do.
pub(crate) fn twice(matter: &Matter<'_>, mut server: Server) -> Result<(), String> {
    let Some(first) = server.decide(matter.demand)? else {
        return Ok(());
    };
    if !matter.settles {
        return Ok(());
    }
    let picked = show::picked(server.inventory(), &first);
    server.apply(&server.inventory().writes(&first))?;
    let Some(second) = server.decide(matter.demand)? else {
        return Ok(());
    };
    let demand = matter.demand;
    at_rest(&server, &second).map_err(|problem| format!("{demand}: deciding again {problem}"))?;
    let again = show::picked(server.inventory(), &second);
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    if set(&picked) != set(&again) {
        return Err(format!(
            "{demand}: deciding again picks {again:?} after {picked:?}"
        ));
    }
    Ok(())
}

/// Checks that `decision` has nothing to do.
fn at_rest(server: &Server, decision: &Decision) -> Result<(), String> {
    let inventory = server.inventory();
    if let Some(write) = inventory.writes(decision).first() {
        return Err(format!(
            "writes: {} {}: {}",
            write.verb.as_str(),
            write.key,
            write.object
        ));
    }
    // Other controllers remove the finalizers of a deleted object, when their work is done.
    let rests = match decision.outcome {
        Outcome::Released => Action::Unbind,
        _ => Action::Keep,
    };
    let mut changes = decision.changes.iter();
    if let Some(change) = changes.find(|change| change.action != rests && change.action != Action::Keep) {
        return Err(format!("changes {change:?} and writes nothing"));
    }
    let placed = inventory
        .demand(&decision.demand, server.now)
        .map(|view| view.placed)
        .unwrap_or_default();
    let stays = placed.iter().any(|place| !place.leaving);
    let fits = match decision.outcome {
        Outcome::Unchanged => !placed.is_empty(),
        // A cluster that the demand is leaving is not a place any more.
        Outcome::Scheduled => !stays,
        Outcome::Partial | Outcome::Provision => false,
        _ => true,
    };
    if !fits {
        let outcome = decision.outcome.as_str();
        return Err(format!(
            "ends as {outcome} with nothing to write, something placed: {stays}"
        ));
    }
    Ok(())
}

/// One seed gives one answer, on this world and on a rebuilt one with the same objects.
pub(crate) fn same_seed(matter: &Matter<'_>, server: Server) -> Result<(), String> {
    let answer = |server: &Server| -> Result<Option<Value>, String> {
        let ask = Ask {
            demand: matter.demand,
            now: server.now,
            seed: matter.seed,
            chosen: None,
        };
        match server.inventory().decide(&ask) {
            Some(Ok(decision)) => show::report(&server.snapshot, &decision).map(Some),
            Some(Err(_)) => Err(format!("{}: refused although nothing was chosen", matter.demand)),
            None => Ok(None),
        }
    };
    let first = answer(&server)?.unwrap_or_default();
    for (place, second) in [
        ("the same world", answer(&server)?),
        ("a world built anew", answer(&server.rebuilt()?)?),
    ] {
        let second = second.unwrap_or_default();
        if first != second {
            let text = show::difference("status", &first, &second);
            return Err(format!(
                "{}: seed {} on {place}: {text}",
                matter.demand, matter.seed
            ));
        }
    }
    Ok(())
}

/// Newly bound clusters pass every filter.
pub(crate) fn feasible(matter: &Matter<'_>, server: Server) -> Result<(), String> {
    let Some(decision) = server.decide(matter.demand)? else {
        return Ok(());
    };
    let inventory = server.inventory();
    let bound = decision.changes.iter();
    for change in bound.filter(|change| matches!(change.action, Action::Bind | Action::Restore)) {
        let name = &change.cluster_name;
        let row = inventory
            .candidate(name)
            .and_then(|candidate| decision.solved.row_of(candidate));
        if row.is_none() {
            return Err(format!("{}: {name} is bound and not feasible", matter.demand));
        }
    }
    for &candidate in &decision.solved.picked {
        let name = inventory.cluster_name(candidate);
        let held = decision
            .current
            .iter()
            .any(|current| current.cluster_name == name);
        if !held && decision.solved.row_of(candidate).is_none() {
            return Err(format!(
                "{}: {name} is picked anew and not feasible",
                matter.demand
            ));
        }
    }
    Ok(())
}

/// Every target is feasible or has a refusal; a target that is not picked has a reason.
pub(crate) fn explained(matter: &Matter<'_>, server: Server) -> Result<(), String> {
    let Some(decision) = server.decide(matter.demand)? else {
        return Ok(());
    };
    show::written_as_made(&server.snapshot, &decision)?;
    if matches!(
        decision.outcome,
        Outcome::Invalid | Outcome::Ignored | Outcome::Released
    ) {
        return Ok(());
    }
    let solved = &decision.solved;
    if decision.outcome == Outcome::Unchanged && solved.feasible.is_empty() && solved.rejections.is_empty() {
        // The demand is bound, and no target was considered.
        return Ok(());
    }
    let inventory = server.inventory();
    for candidate in 0..inventory.count() {
        let refused = !solved.rejections_of(candidate).is_empty();
        if solved.row_of(candidate).is_some() == refused {
            let name = inventory.cluster_name(candidate);
            let which = if refused {
                "feasible and refused"
            } else {
                "neither feasible nor refused"
            };
            return Err(format!("{}: {name} is {which}", matter.demand));
        }
    }
    let ranked: BTreeSet<u32> = solved.ranked.iter().copied().collect();
    if ranked != solved.feasible.iter().copied().collect() || ranked.len() != solved.ranked.len() {
        return Err(format!("{}: the ranked are not the feasible", matter.demand));
    }
    let mut pairs = solved.ranked.windows(2);
    if let Some(pair) = pairs.find(|pair| solved.total_of(pair[0]) < solved.total_of(pair[1])) {
        let names = [pair[0], pair[1]].map(|candidate| inventory.cluster_name(candidate));
        return Err(format!(
            "{}: {} ranks before {} with a smaller total",
            matter.demand, names[0], names[1]
        ));
    }
    let report = server.snapshot.report(&decision);
    for candidate in report.candidates.iter().filter(|candidate| !candidate.picked) {
        let empty = candidate
            .rejections
            .iter()
            .any(|rejection| rejection.reason.is_empty() || rejection.message.is_empty());
        if candidate.rejections.is_empty() || empty {
            let name = &candidate.cluster_name;
            return Err(format!(
                "{}: {name} is not picked, and no reason or message says why",
                matter.demand
            ));
        }
    }
    if report.message.is_empty() || report.reason.is_empty() {
        return Err(format!(
            "{}: the decision has no reason or no message",
            matter.demand
        ));
    }
    Ok(())
}

/// The announced changes are the actual changes.
pub(crate) fn exact(matter: &Matter<'_>, mut server: Server) -> Result<(), String> {
    let demand = matter.demand;
    let Some(decision) = server.decide(demand)? else {
        return Ok(());
    };
    let before = placed(&server, demand);
    for (name, place) in &before {
        let known = decision
            .current
            .iter()
            .any(|current| *current.cluster_name == **name && current.state == place.state);
        if !known {
            return Err(format!(
                "{demand}: bound to {name} ({}), which `current` does not list",
                place.state
            ));
        }
    }
    let writes = server.inventory().writes(&decision);
    if decision.outcome == Outcome::Released && writes.is_empty() {
        // Other controllers remove its finalizers.
        return Ok(());
    }
    server.apply(&writes)?;
    let after = placed(&server, demand);
    let mut named = BTreeSet::new();
    for change in &decision.changes {
        let name = &*change.cluster_name;
        if !named.insert(name) {
            return Err(format!("{demand}: two changes of {name}"));
        }
        let (was, is) = (
            before.get(name).map(|place| place.state.as_str()),
            after.get(name).map(|place| place.state.as_str()),
        );
        let left = before.get(name).is_none_or(|place| place.leaving);
        let leaves = after.get(name).is_none_or(|place| place.leaving);
        let right = match change.action {
            Action::Unbind => leaves && (change.to.is_empty() || is == Some(change.to)),
            Action::Keep => is == was || is == Some(change.to),
            Action::Bind | Action::Create => is == Some(change.to) && (left || was != is),
            Action::Restore => is == Some(change.to),
            Action::Resize => !leaves && !left,
        } && amounts_hold(change, before.get(name), after.get(name));
        if !right {
            return Err(format!(
                "{demand}: {change:?}, yet {name} goes from {was:?} to {is:?}"
            ));
        }
    }
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in all.into_iter().filter(|name| !named.contains(name.as_str())) {
        let state = |places: &BTreeMap<String, PlacedCluster>| {
            let place = places.get(name)?;
            Some((place.state.clone(), place.amount))
        };
        let (was, is) = (state(&before), state(&after));
        if was != is {
            return Err(format!(
                "{demand}: {name} goes from {was:?} to {is:?}, which no change announces"
            ));
        }
    }
    Ok(())
}

/// Whether the amounts of `change` are those that the place has before and after.
fn amounts_hold(
    change: &BindingChange,
    before: Option<&PlacedCluster>,
    after: Option<&PlacedCluster>,
) -> bool {
    let amount = |place: Option<&PlacedCluster>| place.filter(|place| !place.leaving)?.amount;
    change.amount_from == amount(before)
        && change.amount_to == amount(after)
        && (change.action == Action::Resize)
            == (change.amount_from.is_some()
                && change.amount_to.is_some()
                && change.amount_from != change.amount_to)
}

/// There is one amount for each pick, and the sum is the wanted amount where all is placed. Only a system
/// that divides has amounts.
pub(crate) fn divided(matter: &Matter<'_>, server: Server) -> Result<(), String> {
    let demand = matter.demand;
    let Some(decision) = server.decide(demand)? else {
        return Ok(());
    };
    let Some(amount) = server.inventory().amount(&decision) else {
        let changes = decision.changes.iter();
        let sized = changes.filter(|change| change.amount_from.is_some() || change.amount_to.is_some());
        return match decision.amounts.is_empty() && sized.count() == 0 {
            true => Ok(()),
            false => Err(format!("{demand}: it has amounts and divides nothing")),
        };
    };
    if decision.amounts.len() != decision.solved.picked.len() {
        return Err(format!(
            "{demand}: {} amounts of {} picks",
            decision.amounts.len(),
            decision.solved.picked.len()
        ));
    }
    // A place whose cluster was deleted is not among the picks.
    let placed: i64 = decision
        .changes
        .iter()
        .filter_map(|change| change.amount_to)
        .sum();
    let is_fulfilled = matches!(decision.outcome, Outcome::Scheduled | Outcome::Unchanged);
    if placed != amount.placed || is_fulfilled && placed != amount.wanted {
        return Err(format!("{demand}: {placed} is placed, and {amount:?} is told"));
    }
    Ok(())
}

/// Places of `demand`, by cluster.
fn placed(server: &Server, demand: &Key) -> BTreeMap<String, PlacedCluster> {
    let view = server.inventory().demand(demand, server.now);
    let list = view.map(|view| view.placed).unwrap_or_default();
    let entry = |placed: PlacedCluster| (placed.cluster_name.to_string(), placed);
    list.into_iter().map(entry).collect()
}

/// After any prefix of the writes, a new decision completes them.
pub(crate) fn prefixes(matter: &Matter<'_>, server: Server) -> Result<(), String> {
    let Some(decision) = server.decide(matter.demand)? else {
        return Ok(());
    };
    if !matter.settles {
        return Ok(());
    }
    let writes = server.inventory().writes(&decision);
    let state = |server: &Server| server.state(|object| matter.generator.even_out(object));
    let mut whole = server.clone();
    whole.apply(&writes)?;
    let whole = state(&whole);
    for cut in 0..writes.len() {
        let demand = matter.demand;
        let wrong = |problem: String| format!("{demand}: after {cut} of {} writes, {problem}", writes.len());
        let mut part = server.clone();
        part.apply(&writes[..cut]).map_err(wrong)?;
        part.settle(demand).map_err(wrong)?;
        let rest = part.decide(demand)?;
        if let Some(rest) = &rest {
            at_rest(&part, rest).map_err(|problem| wrong(format!("deciding twice more {problem}")))?;
        }
        let part = state(&part);
        if part != whole {
            let only = |these: &[String], those: &[String]| {
                these
                    .iter()
                    .filter(|object| !those.contains(object))
                    .cloned()
                    .collect::<Vec<_>>()
            };
            return Err(wrong(format!(
                "deciding again ends in {:?} instead of {:?}",
                only(&part, &whole),
                only(&whole, &part)
            )));
        }
    }
    Ok(())
}

/// The writes of a decision do not make its demand due.
pub(crate) fn not_due(matter: &Matter<'_>, mut server: Server) -> Result<(), String> {
    let Some(decision) = server.decide(matter.demand)? else {
        return Ok(());
    };
    let writes = server.inventory().writes(&decision);
    let due = server.apply(&writes)?;
    match due.iter().position(|due| affects(&due.decide, matter.demand)) {
        Some(index) => {
            let (verb, key) = (writes[index].verb.as_str(), &writes[index].key);
            Err(format!(
                "{}: its own write \"{verb} {key}\" makes it due",
                matter.demand
            ))
        }
        None => Ok(()),
    }
}
