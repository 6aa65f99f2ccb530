//! The funnel and the cause, counted again from the API's view of every target.

use std::collections::BTreeMap;

use berth_apimachinery::selector::Requirement;
use berth_dialect_contract::report::{self, Candidate, Cause, CauseKind};
use berth_dialect_contract::{Decision, Inventory, TargetView};

use super::laws::Matter;
use super::server::Server;

/// The funnel adds up, and the cause is true.
pub(crate) fn hold(matter: &Matter<'_>, server: Server) -> Result<(), String> {
    let demand = matter.demand;
    let Some(decision) = server.decide(demand)? else {
        return Ok(());
    };
    let report = server.snapshot.report(&decision);
    let inventory = server.inventory();
    // A name without a cluster is no target.
    let targets: Vec<&Candidate> = report
        .candidates
        .iter()
        .filter(|candidate| !candidate.target.is_empty())
        .collect();
    let with_context = |problem: String| format!("{demand}: {problem}");
    funnel(inventory, &report.funnel, &targets).map_err(with_context)?;
    let Some(cause) = report::cause(inventory, &decision) else {
        return Ok(());
    };
    let world = World {
        inventory,
        decision: &decision,
        views: targets
            .iter()
            .filter_map(|target| {
                let candidate = inventory.candidate(&target.cluster_name)?;
                Some((&*target.cluster_name, inventory.target(candidate, server.now)))
            })
            .collect(),
        scope: targets
            .into_iter()
            .filter(|target| !target.out_of_scope)
            .collect(),
    };
    world
        .holds(&cause)
        .map_err(|problem| with_context(format!("\"{cause}\": {problem}")))
}

/// Every target counts at the first filter that refuses it.
fn funnel(
    inventory: &dyn Inventory,
    steps: &[report::FunnelStep],
    targets: &[&Candidate],
) -> Result<(), String> {
    if targets.is_empty() && steps.is_empty() {
        return Ok(());
    }
    let mut left = targets.len();
    for (step, plugin) in steps.iter().zip(inventory.filters()) {
        let first = |target: &&&Candidate| {
            target
                .rejections
                .first()
                .is_some_and(|one| one.plugin == *plugin && !target.feasible)
        };
        let before = left;
        let refused: Vec<_> = targets.iter().filter(first).collect();
        left -= refused.len();
        let messages = refused.iter().map(|target| &target.rejections[0].message);
        let has_message = refused.is_empty() == step.message.is_empty()
            && (refused.is_empty() || messages.into_iter().any(|message| *message == step.message));
        let counted = (&*step.plugin, step.before, step.after);
        if counted != (*plugin, before as i64, left as i64) || !has_message {
            return Err(format!(
                "{plugin} goes from {before} to {left} and is told as {step:?}"
            ));
        }
    }
    let feasible = targets.iter().filter(|target| target.feasible).count();
    match steps.len() == inventory.filters().len() && left == feasible {
        true => Ok(()),
        false => Err(format!(
            "{} steps end with {left}, and {feasible} are feasible",
            steps.len()
        )),
    }
}

/// Input of a cause, from the API.
struct World<'a> {
    inventory: &'a dyn Inventory,
    decision: &'a Decision,
    views: BTreeMap<&'a str, TargetView>,
    /// The targets in scope.
    scope: Vec<&'a Candidate>,
}

impl World<'_> {
    fn holds(&self, cause: &Cause) -> Result<(), String> {
        if cause.in_scope != self.scope.len() {
            return Err(format!("there are {} to choose from", self.scope.len()));
        }
        if let Some(fits) = self.scope.iter().find(|target| target.feasible && !target.picked) {
            return Err(format!("{} fits", fits.cluster_name));
        }
        let picked = !self.decision.solved.picked.is_empty();
        if cause.has_picked != picked {
            return Err(format!("whether others are picked is {picked}"));
        }
        match &cause.kind {
            CauseKind::Labels(requirements) => self.labels(requirements),
            CauseKind::Nearest {
                cluster_name,
                reasons,
                as_near,
                only_in,
            } => {
                self.nearest(cluster_name, reasons, *as_near)?;
                only_in
                    .as_ref()
                    .map_or(Ok(()), |region| self.only(cluster_name, region))
            }
        }
    }

    fn has(&self, target: &Candidate, requirement: &Requirement) -> bool {
        let view = self.views.get(&*target.cluster_name);
        requirement.matches(view.and_then(|view| view.labels.get(&requirement.key)))
    }

    fn labels(&self, requirements: &[(Requirement, usize)]) -> Result<(), String> {
        let all = |target: &&&Candidate| {
            requirements
                .iter()
                .all(|(requirement, _)| self.has(target, requirement))
        };
        if let Some(fits) = self.scope.iter().find(all) {
            return Err(format!("{} has all of the labels", fits.cluster_name));
        }
        for (requirement, expected) in requirements {
            let count = self
                .scope
                .iter()
                .filter(|target| self.has(target, requirement))
                .count();
            if count != *expected {
                return Err(format!("{count} have {requirement}"));
            }
        }
        Ok(())
    }

    /// Steps from a target to one that fits.
    fn steps(&self, target: &Candidate) -> usize {
        let candidate = self.inventory.candidate(&target.cluster_name);
        let refusals = self.decision.solved.rejections.iter();
        let own = refusals.filter(|refusal| Some(refusal.candidate) == candidate);
        let steps = own.map(
            |refusal| match self.inventory.asked_labels(self.decision, refusal.plugin) {
                Some(selector) => {
                    let unmet = selector
                        .requirements
                        .iter()
                        .filter(|requirement| !self.has(target, requirement));
                    unmet.count().max(1)
                }
                None => self.inventory.steps(refusal.reason),
            },
        );
        steps.sum()
    }

    fn nearest(&self, name: &str, reasons: &[String], as_near: usize) -> Result<(), String> {
        let refused = self
            .scope
            .iter()
            .filter(|target| !target.feasible && !target.picked);
        let steps: Vec<(usize, &&Candidate)> = refused.map(|target| (self.steps(target), target)).collect();
        let least = steps.iter().map(|(steps, _)| *steps).min().unwrap_or_default();
        let mut near = steps.iter().filter(|(steps, _)| *steps == least);
        // Equally near candidates are in the order of their names.
        let Some((_, first)) = near.next() else {
            return Err("nobody is refused".to_owned());
        };
        let others = near.count();
        if (&*first.cluster_name, others) != (name, as_near) {
            return Err(format!(
                "{} is the nearest, and {others} are as near",
                first.cluster_name
            ));
        }
        let messages: Vec<&String> = first.rejections.iter().map(|refusal| &refusal.message).collect();
        match messages.iter().copied().eq(reasons) {
            true => Ok(()),
            false => Err(format!("{name} is refused for {messages:?}")),
        }
    }

    fn only(&self, name: &str, region: &str) -> Result<(), String> {
        let there = self.views.iter().filter(|(_, view)| view.region == region);
        let there: Vec<&&str> = there.map(|(name, _)| name).collect();
        match there.as_slice() {
            [only] if **only == name => Ok(()),
            _ => Err(format!("in {region} are {there:?}")),
        }
    }
}
