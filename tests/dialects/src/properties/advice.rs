//! Property of advice: after its patches, applied to the server as by a user, the target fits.

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::names;
use berth_engine::Catalog;
use berth_engine::advice::{self, Form, Patch, Set, TargetAdvice, Terms};
use serde_json::{Value, json};

use super::laws::Matter;
use super::server::Server;
use crate::foreign;

/// Number of targets with advice for each demand.
const TARGETS: usize = 4;

/// Applies every set of every target, each on a server of its own.
pub(crate) fn holds(matter: &Matter<'_>, server: Server) -> Result<(), String> {
    let dialect = &server.snapshot.dialect;
    let catalog = Catalog::new(dialect.kinds().into_iter().chain(foreign::kinds()));
    let terms = Terms {
        now: server.now,
        seed: None,
        limit: TARGETS,
        only: None,
        can_bind: true,
    };
    let world = server.world()?;
    let advice = advice::advise(&world, &catalog, matter.demand, &terms);
    let advice = advice.map_err(|problem| format!("{}: no advice: {problem}", matter.demand))?;
    for advised in &advice.targets {
        for set in &advised.advice {
            let with_context = |problem: String| {
                let words: Vec<&str> = set.changes.iter().map(|change| change.message.as_str()).collect();
                let (demand, cluster) = (matter.demand, &advised.cluster_name);
                format!("{demand}: to have {cluster} fit, {}: {problem}", words.join("; "))
            };
            applied(matter.demand, advised, set, &server).map_err(with_context)?;
        }
    }
    Ok(())
}

/// Checks that the server accepts the patches of `set`, and that the target then has the outcome of `set`.
fn applied(demand: &Key, advised: &TargetAdvice, set: &Set, server: &Server) -> Result<(), String> {
    let mut after = server.clone();
    let mut chosen: Option<Vec<String>> = None;
    for patch in &set.patches {
        if patch.key.resource.group == names::GROUP {
            chosen = Some(clusters(patch, &after)?);
        } else {
            change(&mut after, patch)
                .map_err(|problem| format!("{} is refused: {problem}", patch.command))?;
        }
    }
    let decided = after.snapshot.decide(demand, chosen.as_deref(), after.now);
    let decision = match decided {
        Some(Ok(decision)) => decision,
        Some(Err(refused)) => return Err(format!("it is refused: {:?}", refused.errors)),
        None => return Err("the demand is gone".to_owned()),
    };
    let candidate = after.inventory().candidate(&advised.cluster_name);
    let candidate = candidate.ok_or("the target is gone")?;
    let is = if decision.solved.row_of(candidate).is_none() {
        "refused"
    } else if decision.solved.picked.contains(&candidate) {
        "Picked"
    } else {
        "Feasible"
    };
    if is == set.then {
        return Ok(());
    }
    let report = after.snapshot.report(&decision);
    Err(format!(
        "it is {is}, not {}: {}: {:?}",
        set.then,
        report.message,
        report
            .candidates
            .iter()
            .find(|candidate| candidate.cluster_name == advised.cluster_name)
            .map(|candidate| &candidate.rejections)
    ))
}

/// The clusters of the Targets that a binding names.
fn clusters(patch: &Patch, server: &Server) -> Result<Vec<String>, String> {
    let Form::Create(binding) = &patch.form else {
        return Err("a binding is made, not patched".to_owned());
    };
    let targets = binding["spec"]["targets"].as_array().cloned().unwrap_or_default();
    let inventory = server.inventory();
    let cluster = |target: &Value| {
        let target = target.as_str().unwrap_or_default();
        let (bare, _) = names::split(target).ok_or_else(|| format!("{target} is no target"))?;
        (0..inventory.count())
            .find(|&candidate| inventory.target_name(candidate) == bare)
            .map(|candidate| inventory.cluster_name(candidate).to_string())
            .ok_or_else(|| format!("{target} is not there"))
    };
    targets.iter().map(cluster).collect()
}

/// Applies one patch, as the server does for a user.
fn change(server: &mut Server, patch: &Patch) -> Result<(), String> {
    match &patch.form {
        Form::Hidden(_) => Err("nothing is hidden here".to_owned()),
        Form::Create(object) => server.made(&patch.key, object),
        Form::Json(operations) => {
            if operations.is_empty() {
                return Err("it changes nothing".to_owned());
            }
            let parsed = serde_json::from_value(json!(operations)).map_err(|error| error.to_string())?;
            let stored: Arc<_> = server.stored(&patch.key).ok_or("it does not exist")?;
            let mut value = stored.parse();
            berth_apimachinery::patch::apply(&parsed, &mut value, &mut berth_apimachinery::patch::budget())
                .map_err(|problem| format!("{problem:?}"))?;
            server.changed(&patch.key, value)
        }
    }
}
