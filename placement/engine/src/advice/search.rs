//! The search for advice on one target. It tries sets of edits, the smallest first, and decides again on a
//! fork of the world after each remedy.
//!
//! Every refusal of the target has to be lifted, so each step of the search tries the remedies of the first
//! remaining refusal. Thus each set is tried in one order only. If all of the smallest sets contain changes
//! of other objects than the request, the search continues for a set with only changes of the request.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::budget::{Budget, BudgetExceeded};
use berth_apimachinery::{GroupResource, Key};
use berth_dialect_contract::{ChangeOwner, Decision, Edit, Inventory, Remedy, config, names};
use berth_scheduling::Ix;
use serde_json::{Value, json};

use super::patch::{self, Form};
use super::{Change, Patch, Set, Terms, decide, trial};
use crate::snapshot::Snapshot;
use crate::what_if::{Catalog, World};

/// Highest number of sets in the advice on one target.
const MAX_SETS: usize = 4;
/// Highest number of edits of a set; more would not be a small change.
const MAX_EDITS: usize = 8;
/// Highest number of nodes with sets of one size that the search extends.
const MAX_NODES: usize = 32;
/// Cost of a trial in addition to the decision, since objects are read, validated and folded. The unit is the
/// cost of judging one target.
const TRIAL_STEPS: usize = 1_000;
/// Cost for each target of a forked world, since data for decisions are derived again. The unit is the cost
/// of judging one target.
const DERIVATION_STEPS: usize = 5;
/// Cost of judging a target with expressions, relative to a target without expressions.
const EXPRESSION_FACTOR: usize = 64;

/// Reason why a search ends early.
pub(super) enum Stop {
    /// The search exceeded the budget.
    Spent(BudgetExceeded),
    /// The caller no longer waits for the advice.
    Ended(BudgetExceeded),
}

impl From<BudgetExceeded> for Stop {
    fn from(exceeded: BudgetExceeded) -> Self {
        match exceeded {
            BudgetExceeded::Abandoned => Self::Ended(exceeded),
            BudgetExceeded::Steps { .. } | BudgetExceeded::Bytes { .. } => Self::Spent(exceeded),
        }
    }
}

/// The search for advice on one target.
pub(super) struct Search<'a> {
    world: &'a World,
    catalog: &'a Catalog,
    demand: &'a Key,
    terms: &'a Terms,
    cluster: Arc<str>,
    /// Number of demands in the world. Each change is folded, which checks for all demands whether they
    /// become due.
    demand_count: usize,
    budget: &'a mut Budget,
    /// The found sets, each with the number of edits.
    found: Vec<(usize, Set)>,
    /// Whether some sets were not tried, or a failure left them out.
    incomplete: bool,
}

/// A node of the search: a forked world, with the changes that lead to it.
struct Node {
    world: World,
    decision: Arc<Decision>,
    changes: Vec<Change>,
    /// The changed objects, with the owners of the changes.
    touched: BTreeMap<Key, ChangeOwner>,
    /// Number of edits in the changes.
    size: usize,
}

impl Node {
    /// Number of changes of other objects than the request.
    fn foreign_change_count(&self) -> usize {
        let others = self.changes.iter();
        others
            .filter(|change| change.whose != ChangeOwner::Request)
            .count()
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(
        world: &'a World,
        catalog: &'a Catalog,
        demand: &'a Key,
        terms: &'a Terms,
        candidate: Ix,
        demand_count: usize,
        budget: &'a mut Budget,
    ) -> Self {
        Self {
            cluster: world.snapshot().inventory.cluster_name(candidate),
            world,
            catalog,
            demand,
            terms,
            demand_count,
            budget,
            found: Vec::new(),
            incomplete: false,
        }
    }

    /// Whether there may be further sets: some were not tried, or a failure left them out.
    pub(super) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// Takes the sets that were found so far, in the order of the advice and at most [`MAX_SETS`].
    pub(super) fn take_sets(&mut self) -> Vec<Set> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|(size, set)| (*size, set.foreign_change_count()));
        found.dedup_by(|(_, later), (_, first)| later.patches == first.patches);
        // A set with only changes of the request is always reported.
        if let Some(own) = found.iter().position(|(_, set)| set.is_own())
            && own >= MAX_SETS
        {
            found.swap(own, MAX_SETS - 1);
        }
        found.truncate(MAX_SETS);
        found.into_iter().map(|(_, set)| set).collect()
    }

    /// Searches for sets of changes after which the target fits, and takes them. `decision` is the decision
    /// without changes.
    ///
    /// # Errors
    /// When the search ends early; [`Search::take_sets`] then takes the sets that were found.
    pub(super) fn run(&mut self, decision: &Decision) -> Result<Vec<Set>, Stop> {
        let inventory = &self.world.snapshot().inventory;
        let Some(candidate) = inventory.candidate(&self.cluster) else {
            return Ok(Vec::new());
        };
        if decision.solved.row_of(candidate).is_some() {
            self.search_for_pick(decision, candidate)?;
        } else {
            self.search_for_fit(decision, candidate)?;
        }
        Ok(self.take_sets())
    }

    /// Searches for sets of changes after which a refused target is feasible.
    fn search_for_fit(&mut self, decision: &Decision, candidate: Ix) -> Result<(), Stop> {
        let mut frontier: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
        let inventory = Arc::clone(&self.world.snapshot().inventory);
        self.expand(None, &*inventory, decision, candidate, &mut frontier)?;
        while let Some((size, mut nodes)) = frontier.pop_first() {
            let smallest = self.found.iter().map(|(size, _)| *size).min();
            let own = self.found.iter().any(|(_, set)| set.is_own());
            if smallest.is_some_and(|smallest| own && size >= smallest) {
                return Ok(());
            }
            nodes.sort_by_key(Node::foreign_change_count);
            self.incomplete |= nodes.len() > MAX_NODES;
            for node in nodes.into_iter().take(MAX_NODES) {
                if smallest.is_some_and(|smallest| size >= smallest && node.foreign_change_count() > 0) {
                    continue;
                }
                let inventory = Arc::clone(&node.world.snapshot().inventory);
                let Some(candidate) = inventory.candidate(&self.cluster) else {
                    continue;
                };
                let decision = Arc::clone(&node.decision);
                self.expand(Some(&node), &*inventory, &decision, candidate, &mut frontier)?;
            }
        }
        Ok(())
    }

    /// Tries the remedies of the first refusal that remains after `node` (`None`: in the unchanged world).
    /// Worlds in which the target is still refused, for other reasons, are added to `frontier`.
    fn expand(
        &mut self,
        node: Option<&Node>,
        inventory: &dyn Inventory,
        decision: &Decision,
        candidate: Ix,
        frontier: &mut BTreeMap<usize, Vec<Node>>,
    ) -> Result<(), Stop> {
        let Some(refusal) = decision.solved.rejections_of(candidate).first() else {
            return Ok(());
        };
        for remedy in inventory.advisor().remedies(decision, candidate, Some(refusal)) {
            let size = node.map_or(0, |node| node.size) + remedy.edits.len();
            if remedy.edits.is_empty() {
                continue;
            }
            if size > MAX_EDITS {
                self.incomplete = true;
                continue;
            }
            let Some(next) = self.try_remedy(node, &remedy, size)? else {
                continue;
            };
            let inventory = &next.world.snapshot().inventory;
            let Some(candidate) = inventory.candidate(&self.cluster) else {
                continue;
            };
            let refusals = next.decision.solved.rejections_of(candidate);
            let lifted = !refusals
                .iter()
                .any(|other| other.plugin == refusal.plugin && other.reason == refusal.reason);
            if next.decision.solved.row_of(candidate).is_some() {
                self.record_if_fits(&next, None)?;
            } else if lifted && !refusals.is_empty() {
                frontier.entry(size).or_default().push(next);
            }
        }
        Ok(())
    }

    /// Returns the node after `remedy`; `None` if a server would refuse the edits, or there is no decision
    /// after them.
    fn try_remedy(
        &mut self,
        node: Option<&Node>,
        remedy: &Remedy,
        size: usize,
    ) -> Result<Option<Node>, Stop> {
        self.spend_decision()?;
        let mut world = node.map_or(self.world, |node| &node.world).clone();
        if trial::apply_edits(&mut world, self.catalog, &remedy.edits, self.terms.now).is_err() {
            return Ok(None);
        }
        let Some(decision) = self.decide(world.snapshot(), None) else {
            return Ok(None);
        };
        let mut changes = node.map_or(Vec::new(), |node| node.changes.clone());
        changes.push(Change {
            message: remedy.text.clone(),
            whose: remedy.owner,
            keys: remedy.edits.iter().map(|edit| edit.key().clone()).collect(),
        });
        let mut touched = node.map_or_else(BTreeMap::new, |node| node.touched.clone());
        for key in remedy.edits.iter().map(Edit::key) {
            let whose = touched.entry(key.clone()).or_insert(remedy.owner);
            *whose = remedy.owner.max(*whose);
        }
        Ok(Some(Node {
            world,
            decision: Arc::new(decision),
            changes,
            touched,
            size,
        }))
    }

    /// Decides the demand in the world of a trial, with the clusters in `chosen` if there are any. `None` if
    /// the demand does not exist, or `chosen` is refused. A decision that breaks the dialect's contract is
    /// logged, and ends only the trial; the search is then incomplete.
    fn decide(&mut self, snapshot: &Snapshot, chosen: Option<&[String]>) -> Option<Decision> {
        decide(snapshot, self.demand, chosen, self.terms).unwrap_or_else(|fault| {
            self.incomplete = true;
            tracing::error!(
                dialect = snapshot.dialect.name(),
                %fault,
                "advice leaves out changes, since a decision after them failed; report it as a bug, with this line"
            );
            None
        })
    }

    /// Takes the cost of one trial and its decision from the budget.
    fn spend_decision(&mut self) -> Result<(), Stop> {
        berth_apimachinery::budget::check_needed()?;
        let inventory = &self.world.snapshot().inventory;
        let (effort, count) = (inventory.effort(self.demand) as usize, inventory.count() as usize);
        let work = effort.min(count.saturating_mul(EXPRESSION_FACTOR));
        let forked = count
            .saturating_mul(DERIVATION_STEPS)
            .saturating_add(self.demand_count);
        Ok(self.budget.spend(work.saturating_add(TRIAL_STEPS + forked))?)
    }

    /// Records the set of changes that lead to `node` if the target also fits when the changes are applied to
    /// the unchanged world as patches. The outcome must be `wanted`, if that is given. Patches that cannot be
    /// applied are left out; changes without patches are, too, and the search is then incomplete.
    fn record_if_fits(&mut self, node: &Node, wanted: Option<&'static str>) -> Result<(), Stop> {
        let Some(patches) = self.patches(node) else {
            self.incomplete = true;
            return Ok(());
        };
        self.spend_decision()?;
        let outcome = self.try_patches(&patches).unwrap_or_else(|problem| {
            tracing::debug!(demand = %self.demand, %problem, "advice leaves out changes that fail as patches");
            None
        });
        if let Some(then) = outcome
            && wanted.is_none_or(|wanted| wanted == then)
        {
            let set = Set {
                then,
                allowed: None,
                changes: node.changes.clone(),
                patches,
            };
            self.found.push((node.size, set));
        }
        Ok(())
    }

    /// Returns the outcome of the target when `patches` are applied to the unchanged world; `None` if the
    /// target does not fit, or there is no decision.
    ///
    /// # Errors
    /// The reason why a patch cannot be applied, or why a server would refuse the patched object.
    fn try_patches(&mut self, patches: &[Patch]) -> Result<Option<&'static str>, String> {
        let mut world = self.world.clone();
        for patch in patches {
            let value = patched(&world, patch)?;
            trial::store(&mut world, self.catalog, &patch.key, value, self.terms.now)?;
        }
        let snapshot = world.snapshot();
        let decision = self.decide(snapshot, None);
        let candidate = snapshot.inventory.candidate(&self.cluster);
        Ok(match (decision, candidate) {
            (Some(decision), Some(candidate)) if decision.solved.row_of(candidate).is_some() => {
                let is_picked = decision.solved.picked.contains(&candidate);
                Some(if is_picked { "Picked" } else { "Feasible" })
            }
            _ => None,
        })
    }

    /// Returns the changes that lead to `node`, as one patch for each object. `None` if no patch expresses
    /// one of them: an object is deleted, or is of a kind that is not served.
    fn patches(&self, node: &Node) -> Option<Vec<Patch>> {
        let patch = |(key, whose): (&Key, &ChangeOwner)| {
            let (api_version, kind, resource) = self.served_kind(key.resource)?;
            let after = node.world.get(key)?.parse_unmanaged();
            let form = match self.world.get(key) {
                Some(before) => Form::Json(patch::between(&before.parse_unmanaged(), &after)),
                None => Form::Create(patch::without_server_fields(after)),
            };
            Some(Patch {
                command: patch::command(resource, &key.namespace, &key.name, &form),
                key: key.clone(),
                api_version,
                kind: kind.to_owned(),
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                whose: *whose,
                allowed: None,
                form,
            })
        };
        node.touched.iter().map(patch).collect()
    }

    /// Returns the apiVersion, the kind and the resource under which objects of the stored `resource` are
    /// served.
    fn served_kind(&self, resource: GroupResource) -> Option<(String, &'static str, GroupResource)> {
        if resource == config::RESOURCE {
            let api_version = format!("{}/{}", config::GROUP, config::VERSION);
            return Some((api_version, config::KIND, resource));
        }
        let info = self.catalog.stored_in(resource)?.info();
        Some((info.api_version(info.storage_version), info.kind, info.resource()))
    }

    /// Searches for sets of changes after which a feasible target is picked: the proposals of the dialect,
    /// and a Binding that names the target, if a Binding is possible.
    fn search_for_pick(&mut self, decision: &Decision, candidate: Ix) -> Result<(), Stop> {
        if decision.solved.picked.contains(&candidate) {
            return Ok(());
        }
        let inventory = Arc::clone(&self.world.snapshot().inventory);
        for remedy in inventory.advisor().remedies(decision, candidate, None) {
            let size = remedy.edits.len();
            if size == 0 {
                continue;
            }
            if let Some(node) = self.try_remedy(None, &remedy, size)? {
                self.record_if_fits(&node, Some("Picked"))?;
            }
        }
        match self.terms.can_bind {
            true => self.try_binding(decision, candidate),
            false => Ok(()),
        }
    }

    /// Tries a Binding that names the target in addition to the picked targets, then in place of the last
    /// picked target, then in place of all picked targets.
    fn try_binding(&mut self, decision: &Decision, candidate: Ix) -> Result<(), Stop> {
        let world = self.world;
        let snapshot = world.snapshot();
        let inventory = &snapshot.inventory;
        let picked = &decision.solved.picked;
        let mut tries: Vec<&[Ix]> = vec![picked];
        if let Some((_, rest)) = picked.split_last() {
            tries.push(rest);
            tries.push(&[]);
        }
        for others in tries {
            let chosen: Vec<Ix> = others.iter().copied().chain([candidate]).collect();
            let clusters: Vec<String> = chosen
                .iter()
                .map(|&one| inventory.cluster_name(one).to_string())
                .collect();
            self.spend_decision()?;
            let Some(after) = self.decide(snapshot, Some(&clusters)) else {
                continue;
            };
            if after.solved.picked.contains(&candidate) {
                let targets = chosen
                    .iter()
                    .map(|&one| names::join(&inventory.target_name(one), snapshot.dialect.name()));
                let set = self.propose_binding(targets.collect());
                self.found.push((1, set));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the set with the creation of a Binding to `targets`.
    fn propose_binding(&self, targets: Vec<String>) -> Set {
        let (namespace, name) = names::place(&*self.world.snapshot().dialect, self.demand);
        let (kind, plural) = match namespace.as_str() {
            "" => ("ClusterBinding", "clusterbindings"),
            _ => ("Binding", "bindings"),
        };
        let api_version = format!("{}/{}", names::GROUP, names::VERSION);
        let mut object = json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": name},
            "spec": {"targets": targets},
        });
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.as_str().into();
        }
        let message = format!("bind it to {} by name", targets.join(", "));
        let key = Key::new(GroupResource::new(names::GROUP, plural), &namespace, &name);
        let whose = ChangeOwner::Request;
        Set {
            then: "Picked",
            allowed: None,
            changes: vec![Change {
                message,
                whose,
                keys: vec![key.clone()],
            }],
            patches: vec![Patch {
                key,
                api_version,
                kind: kind.to_owned(),
                namespace,
                name,
                whose,
                allowed: None,
                command: patch::create_command(&object),
                form: Form::Create(object),
            }],
        }
    }
}

/// Returns the object of `patch` in `world` after the patch.
///
/// # Errors
/// The reason why the patch cannot be applied.
fn patched(world: &World, patch: &Patch) -> Result<Value, String> {
    let operations = match &patch.form {
        Form::Create(object) => return Ok(object.clone()),
        Form::Json(operations) => operations,
        Form::Hidden(_) => return Err(format!("the patch of {} is hidden", patch.key)),
    };
    let stored = world
        .get(&patch.key)
        .ok_or_else(|| format!("{} not found", patch.key))?;
    let mut value = stored.parse_unmanaged();
    let operations: berth_apimachinery::patch::Patch =
        serde_json::from_value(json!(operations)).map_err(|error| error.to_string())?;
    let mut budget = berth_apimachinery::patch::budget();
    berth_apimachinery::patch::apply(&operations, &mut value, &mut budget)
        .map_err(|problem| problem.to_string())?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use berth_dialect_toy::{BOXES, TOYS};

    use super::*;
    use crate::plan::tests::{catalog, now, shelf, toy, world};

    #[test]
    fn changes_that_no_patch_expresses_are_left_out_and_the_advice_is_incomplete() {
        let (world, catalog) = (world(&[toy("t"), shelf("a", 1), shelf("b", 1)]), catalog());
        let demand = Key::new(TOYS, "ns", "t");
        let terms = Terms {
            now: now(),
            seed: None,
            limit: 1,
            only: None,
            can_bind: true,
        };
        let candidate = world.snapshot().inventory.candidate("b").unwrap();
        let mut budget = Budget::new("advice", 1_000_000, u64::MAX);
        let mut search = Search::new(&world, &catalog, &demand, &terms, candidate, 1, &mut budget);
        let deletion = Edit::Delete(Key::new(BOXES, "", "a"));
        let remedy = Remedy::new(ChangeOwner::Target, "remove box a", deletion);
        let Ok(Some(node)) = search.try_remedy(None, &remedy, 1) else {
            panic!("the deletion is refused");
        };
        assert!(!search.is_incomplete());
        assert!(search.record_if_fits(&node, None).is_ok());
        assert!(search.is_incomplete());
        assert!(search.take_sets().is_empty());
    }
}
