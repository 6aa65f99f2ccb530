//! The search for one target: it tries sets of edits in the order of their size, and decides again on a fork
//! of the world at each step.
//!
//! Every refusal has to be lifted. So a step tries the remedies of the first remaining refusal, and
//! each set is tried in one order only. The smallest sets come first. Where each of them
//! contains changes of other owners, the search continues for a set with only changes of the request.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::budget::{Budget, BudgetExceeded};
use berth_apimachinery::{GroupResource, Key};
use berth_dialect_contract::{Decision, Edit, Inventory, Remedy, Whose, config, names};
use berth_scheduling::Ix;
use serde_json::json;

use super::patch::{self, Form};
use super::{Change, Patch, Set, Terms, decide, trial};
use crate::what_if::{Catalog, World};

/// Highest number of sets of one target.
const SETS: usize = 4;
/// Highest number of edits of a set; more would not be a small change.
const EDITS: usize = 8;
/// Highest number of unfinished sets of one size that the search extends.
const WIDTH: usize = 32;
/// Steps of a trial in addition to the steps of the decision: objects are read, validated and folded.
const TRIAL: usize = 1_000;
/// Steps for each target of a forked world, whose data for decisions are derived again.
const DERIVED: usize = 5;
/// Cost of judging a target with expressions, relative to a target without expressions.
const EXPRESSIONS: usize = 64;

/// Reason why a search ends early.
pub(super) enum Stop {
    /// The search took too long.
    Spent(BudgetExceeded),
    /// The caller no longer waits for the advice.
    Ended(BudgetExceeded),
}

impl From<BudgetExceeded> for Stop {
    fn from(exceeded: BudgetExceeded) -> Self {
        match exceeded {
            BudgetExceeded::Ended => Self::Ended(exceeded),
            BudgetExceeded::Steps { .. } | BudgetExceeded::Bytes { .. } => Self::Spent(exceeded),
        }
    }
}

/// The search about one target.
pub(super) struct Search<'a> {
    world: &'a World,
    catalog: &'a Catalog,
    demand: &'a Key,
    terms: &'a Terms,
    cluster: Arc<str>,
    /// Number of demands. After each change, all of them are checked for whether the change makes them
    /// due.
    demands: usize,
    budget: &'a mut Budget,
    found: Vec<(usize, Set)>,
    cut: bool,
}

/// A world during the search, with the changes that lead to it.
struct Node {
    world: World,
    decision: Arc<Decision>,
    changes: Vec<Change>,
    touched: BTreeMap<Key, Whose>,
    size: usize,
}

impl Node {
    fn of_others(&self) -> usize {
        let others = self.changes.iter();
        others.filter(|change| change.whose != Whose::Request).count()
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(
        world: &'a World,
        catalog: &'a Catalog,
        demand: &'a Key,
        terms: &'a Terms,
        candidate: Ix,
        demands: usize,
        budget: &'a mut Budget,
    ) -> Self {
        Self {
            cluster: world.snapshot().inventory.cluster_name(candidate),
            world,
            catalog,
            demand,
            terms,
            demands,
            budget,
            found: Vec::new(),
            cut: false,
        }
    }

    /// Whether some sets were not tried.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Takes the sets that were found so far, in the order of the advice, at most [`SETS`].
    pub(super) fn found(&mut self) -> Vec<Set> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|(size, set)| (*size, set.of_others()));
        found.dedup_by(|(_, later), (_, first)| later.patches == first.patches);
        // A set that the caller can make alone is always reported.
        if let Some(own) = found.iter().position(|(_, set)| set.is_own())
            && own >= SETS
        {
            found.swap(own, SETS - 1);
        }
        found.truncate(SETS);
        found.into_iter().map(|(_, set)| set).collect()
    }

    /// The sets of changes after which the target fits. `decision` is the decision without changes.
    pub(super) fn sets(&mut self, decision: &Decision) -> Result<Vec<Set>, Stop> {
        let inventory = &self.world.snapshot().inventory;
        let Some(candidate) = inventory.candidate(&self.cluster) else {
            return Ok(Vec::new());
        };
        if decision.solved.row_of(candidate).is_some() {
            self.until_picked(decision, candidate)?;
        } else {
            self.until_feasible(decision, candidate)?;
        }
        Ok(self.found())
    }

    fn until_feasible(&mut self, decision: &Decision, candidate: Ix) -> Result<(), Stop> {
        let mut frontier: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
        let inventory = Arc::clone(&self.world.snapshot().inventory);
        self.expand(None, &*inventory, decision, candidate, &mut frontier)?;
        while let Some((size, mut nodes)) = frontier.pop_first() {
            let smallest = self.found.iter().map(|(size, _)| *size).min();
            let own = self.found.iter().any(|(_, set)| set.is_own());
            if smallest.is_some_and(|smallest| own && size >= smallest) {
                return Ok(());
            }
            nodes.sort_by_key(Node::of_others);
            self.cut |= nodes.len() > WIDTH;
            for node in nodes.into_iter().take(WIDTH) {
                if smallest.is_some_and(|smallest| size >= smallest && node.of_others() > 0) {
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

    /// Tries the remedies of the first refusal that remains after `node`; `None` is the unchanged
    /// world.
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
            if size > EDITS {
                self.cut = true;
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
                self.keep(&next, None)?;
            } else if lifted && !refusals.is_empty() {
                frontier.entry(size).or_default().push(next);
            }
        }
        Ok(())
    }

    /// The world after `remedy`; `None` where a server would refuse the edits, or there is no decision.
    fn try_remedy(
        &mut self,
        node: Option<&Node>,
        remedy: &Remedy,
        size: usize,
    ) -> Result<Option<Node>, Stop> {
        self.pay()?;
        let mut world = node.map_or(self.world, |node| &node.world).clone();
        if trial::make(&mut world, self.catalog, &remedy.edits, self.terms.now).is_err() {
            return Ok(None);
        }
        // A decision that breaks the dialect's contract ends only this trial.
        let Ok(Some(decision)) = decide(world.snapshot(), self.demand, None, self.terms) else {
            return Ok(None);
        };
        let mut changes = node.map_or(Vec::new(), |node| node.changes.clone());
        changes.push(Change {
            message: remedy.text.clone(),
            whose: remedy.whose,
            keys: remedy.edits.iter().map(|edit| edit.key().clone()).collect(),
        });
        let mut touched = node.map_or_else(BTreeMap::new, |node| node.touched.clone());
        for key in remedy.edits.iter().map(Edit::key) {
            let whose = touched.entry(key.clone()).or_insert(remedy.whose);
            *whose = remedy.whose.max(*whose);
        }
        Ok(Some(Node {
            world,
            decision: Arc::new(decision),
            changes,
            touched,
            size,
        }))
    }

    /// Spends the cost of one more decision.
    fn pay(&mut self) -> Result<(), Stop> {
        berth_apimachinery::budget::wanted()?;
        let inventory = &self.world.snapshot().inventory;
        let (effort, count) = (inventory.effort(self.demand) as usize, inventory.count() as usize);
        let work = effort.min(count.saturating_mul(EXPRESSIONS));
        let forked = count.saturating_mul(DERIVED).saturating_add(self.demands);
        Ok(self.budget.spend(work.saturating_add(TRIAL + forked))?)
    }

    /// Records the changes that lead to `node`, if the target also fits after the patches are applied to
    /// the unchanged world, with the outcome `wanted` if there is one.
    fn keep(&mut self, node: &Node, wanted: Option<&'static str>) -> Result<(), Stop> {
        let patches = self.patches(node);
        self.pay()?;
        if let Some(then) = self.outcome_of(&patches)
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

    /// Outcome of the target when `patches` are applied to the stored objects; `None` where the
    /// target does not fit.
    fn outcome_of(&self, patches: &[Patch]) -> Option<&'static str> {
        let mut world = self.world.clone();
        for patch in patches {
            let value = match &patch.form {
                Form::Create(object) => object.clone(),
                Form::Json(operations) => {
                    let mut value = world.get(&patch.key)?.parse_unmanaged();
                    let patch: berth_apimachinery::patch::Patch =
                        serde_json::from_value(json!(operations)).ok()?;
                    berth_apimachinery::patch::apply(
                        &patch,
                        &mut value,
                        &mut berth_apimachinery::patch::budget(),
                    )
                    .ok()?;
                    value
                }
                Form::Hidden(_) => return None,
            };
            trial::store(&mut world, self.catalog, &patch.key, value, self.terms.now).ok()?;
        }
        let decision = decide(world.snapshot(), self.demand, None, self.terms).ok()??;
        let candidate = world.snapshot().inventory.candidate(&self.cluster)?;
        decision.solved.row_of(candidate)?;
        if decision.solved.picked.contains(&candidate) {
            Some("Picked")
        } else {
            Some("Feasible")
        }
    }

    /// The changes that lead to `node`, as one patch for each object.
    fn patches(&self, node: &Node) -> Vec<Patch> {
        let patch = |(key, whose): (&Key, &Whose)| {
            let (api_version, kind, resource) = self.served_kind(key.resource)?;
            let after = node.world.get(key)?.parse_unmanaged();
            let form = match self.world.get(key) {
                Some(before) => Form::Json(patch::between(&before.parse_unmanaged(), &after)),
                None => Form::Create(patch::made(after)),
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
        node.touched.iter().filter_map(patch).collect()
    }

    /// The apiVersion, the kind and the resource that users know for the stored `resource`.
    fn served_kind(&self, resource: GroupResource) -> Option<(String, &'static str, GroupResource)> {
        if resource == config::RESOURCE {
            let api_version = format!("{}/{}", config::GROUP, config::VERSION);
            return Some((api_version, config::KIND, resource));
        }
        let info = self.catalog.stored_in(resource)?.info();
        Some((info.api_version(info.storage_version), info.kind, info.resource()))
    }

    /// Tries the changes by which a feasible target is picked: the dialect's proposals, and a binding
    /// that names the target.
    fn until_picked(&mut self, decision: &Decision, candidate: Ix) -> Result<(), Stop> {
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
                self.keep(&node, Some("Picked"))?;
            }
        }
        self.by_choice(decision, candidate)
    }

    /// Tries a binding that names the target in addition to the picked targets, in place of the last of
    /// them, or in place of all of them.
    fn by_choice(&mut self, decision: &Decision, candidate: Ix) -> Result<(), Stop> {
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
            self.pay()?;
            let Ok(Some(after)) = decide(snapshot, self.demand, Some(&clusters), self.terms) else {
                continue;
            };
            if after.solved.picked.contains(&candidate) {
                let targets = chosen
                    .iter()
                    .map(|&one| names::join(&inventory.target_name(one), snapshot.dialect.name()));
                let set = self.binding(targets.collect());
                self.found.push((1, set));
                return Ok(());
            }
        }
        Ok(())
    }

    fn binding(&self, targets: Vec<String>) -> Set {
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
        let whose = Whose::Request;
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
                command: patch::created(&object),
                form: Form::Create(object),
            }],
        }
    }
}
