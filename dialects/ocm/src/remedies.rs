//! Ways to lift a refusal (docs/adding-a-system.md, "Advice"): a set or its binding, a label, a part of a
//! predicate, a toleration, a taint, a larger number.

use berth_apimachinery::{Key, selector::Selector};
use berth_dialect_contract::remedy::{labels, push};
use berth_dialect_contract::{ChangeOwner, Decision, Edit, Remedy, Taint, taints};
use berth_scheduling::{Ix, Rejection};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::code::Code;
use crate::evaluate::Evaluator;
use crate::fleet::Fleet;
use crate::names::{BINDINGS, CLUSTERS, GROUP, SET_LABEL, SETS};
use crate::policy::Predicate;
use crate::record::{Membership, PlacementRecord};

/// Highest number of remedies of each kind for one refusal: sets of the cluster to request, sets to move the
/// cluster into, and predicates to change.
const LIMIT: usize = 4;
/// The keys of the taints that OCM itself sets on clusters.
const OWN_TAINTS: [&str; 2] = [
    "cluster.open-cluster-management.io/unavailable",
    "cluster.open-cluster-management.io/unreachable",
];

/// Proposes changes that may lift `refusal`, or that get a feasible cluster picked.
pub(crate) fn remedies(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    refusal: Option<&Rejection>,
) -> Vec<Remedy> {
    let Some(record) = fleet.placements.get(&decision.demand) else {
        return Vec::new();
    };
    let pair = PlacementClusterPair {
        fleet,
        decision,
        record,
        cluster: fleet.columns().row(candidate),
        candidate,
    };
    match refusal {
        None => pair.number_remedies(),
        Some(refusal) => match Code::of_reason(refusal.reason) {
            Code::NotInSet => pair.set_remedies(),
            Code::Terminating => vec![Remedy::none("a cluster that is being deleted cannot be chosen")],
            Code::Unreadable => vec![Remedy::none(
                "the ManagedCluster cannot be read: correct it first",
            )],
            Code::PredicateMismatch | Code::ExpressionTooCostly => pair.predicate_remedies(),
            Code::Untolerated => pair.taint_remedies(refusal.reason.detail as usize),
        },
    }
}

/// One placement and one cluster.
struct PlacementClusterPair<'a> {
    fleet: &'a Fleet,
    decision: &'a Decision,
    record: &'a PlacementRecord,
    cluster: &'a Cluster,
    candidate: Ix,
}

impl PlacementClusterPair<'_> {
    /// The remedy `text`, which applies `change` to the placement.
    fn placement_edit(&self, text: String, change: impl FnOnce(&mut Value)) -> Remedy {
        let edit = Edit::of(self.decision.demand.clone(), &self.record.object, change);
        Remedy::new(ChangeOwner::Request, text, edit)
    }

    fn cluster_key(&self) -> Key {
        Key::new(CLUSTERS, "", &self.cluster.name)
    }

    /// The remedy that sets labels on the cluster so that `selector` matches; `None` if it matches already,
    /// or no permitted change of labels makes it match.
    fn label_cluster(&self, selector: &Selector) -> Option<Remedy> {
        let changes = labels::to_match(selector, self.cluster.labels())?;
        if changes.is_empty() {
            return None;
        }
        let text = labels::words(&format!("ManagedCluster {}", self.cluster.name), &changes);
        let edit = Edit::Merge {
            key: self.cluster_key(),
            patch: labels::patch(&changes),
        };
        Some(Remedy::new(ChangeOwner::Target, text, edit))
    }

    /// Remedies by sets: bind and request a set of the cluster, create the missing set that its label names,
    /// or move the cluster into a set that is bound and requested.
    fn set_remedies(&self) -> Vec<Remedy> {
        let namespace = &self.decision.demand.namespace;
        let bound = self.fleet.bound_sets(namespace);
        let requested_sets = &self.record.policy.sets;
        let has_cluster = |(name, set): &(&std::sync::Arc<str>, &std::sync::Arc<_>)| {
            let set: &crate::record::ClusterSet = set;
            set.has(name, self.cluster.labels())
        };
        let mut remedies: Vec<Remedy> = self
            .fleet
            .sets
            .iter()
            .filter(has_cluster)
            .take(LIMIT)
            .filter_map(|(name, _)| self.open_set(name, !bound.contains(name)))
            .collect();
        remedies.extend(self.missing_set(&bound));
        let chosen = bound
            .iter()
            .filter(|set| requested_sets.is_empty() || requested_sets.contains(set));
        for name in chosen.take(LIMIT) {
            let moved = self.fleet.sets.get(name).and_then(|set| match &set.membership {
                Membership::Label => Selector::parse(&format!("{SET_LABEL}={name}"))
                    .ok()
                    .and_then(|selector| self.label_cluster(&selector)),
                Membership::Selector(selector) => self.label_cluster(selector),
                Membership::Empty | Membership::Unreadable(_) => None,
            });
            remedies.extend(moved);
        }
        if remedies.is_empty() {
            let text = "the cluster is in no set, and no bound set can include it: create a ManagedClusterSet \
                        and bind it";
            return vec![Remedy::none(text)];
        }
        remedies
    }

    /// The remedy for a missing set that the cluster's label names: create the set, bind it and request it.
    fn missing_set(&self, bound: &[std::sync::Arc<str>]) -> Option<Remedy> {
        let name: std::sync::Arc<str> = self.cluster.labels().get(SET_LABEL)?.into();
        if self.fleet.sets.contains_key(&name) || berth_apimachinery::name::dns_subdomain(&name).is_err() {
            return None;
        }
        let is_bound = self
            .fleet
            .missing_sets(&self.decision.demand.namespace)
            .contains(&name);
        let open_set = self.open_set(&name, !is_bound && !bound.contains(&name));
        let set = Edit::Create {
            key: Key::new(SETS, "", &name),
            object: json!({
                "apiVersion": format!("{GROUP}/v1beta2"),
                "kind": "ManagedClusterSet",
                "metadata": {"name": &*name},
                "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
            }),
        };
        let mut text = format!("create ManagedClusterSet {name}");
        let mut edits = vec![set];
        if let Some(open_set) = open_set {
            text.push_str(&format!(" and {}", open_set.text));
            edits.extend(open_set.edits);
        }
        Some(Remedy {
            text,
            owner: ChangeOwner::Fleet,
            edits,
        })
    }

    /// The remedy that lets the placement choose from the cluster's set `name`: it binds the set if
    /// `needs_binding`, and adds the set to `spec.clusterSets` if that list names only other sets.
    fn open_set(&self, name: &std::sync::Arc<str>, needs_binding: bool) -> Option<Remedy> {
        let namespace = &self.decision.demand.namespace;
        let requested_sets = &self.record.policy.sets;
        let needs_request = !requested_sets.is_empty() && !requested_sets.contains(name);
        let (mut edits, mut texts) = (Vec::new(), Vec::new());
        if needs_binding {
            texts.push(format!("bind ManagedClusterSet {name} to namespace {namespace}"));
            edits.push(Edit::Create {
                key: Key::new(BINDINGS, namespace, name),
                object: json!({
                    "apiVersion": format!("{GROUP}/v1beta2"),
                    "kind": "ManagedClusterSetBinding",
                    "metadata": {"namespace": namespace, "name": name},
                    "spec": {"clusterSet": name},
                }),
            });
        }
        if needs_request {
            texts.push(format!("add {name} to spec.clusterSets"));
            let demand = self.decision.demand.clone();
            edits.push(Edit::of(demand, &self.record.object, |placement| {
                push(&mut placement["spec"]["clusterSets"], json!(name));
            }));
        }
        (!edits.is_empty()).then(|| Remedy {
            text: texts.join(" and "),
            owner: ChangeOwner::Request,
            edits,
        })
    }

    /// Remedies that make single predicates match: labels on the cluster, or fewer requirements in the
    /// predicate.
    fn predicate_remedies(&self) -> Vec<Remedy> {
        let predicates = self.record.policy.predicates.as_deref().unwrap_or_default();
        let mut remedies = Vec::new();
        for (index, predicate) in predicates.iter().enumerate().take(LIMIT) {
            let failing = self.failing_expressions(predicate);
            if failing.is_empty() && predicate.claims.matches(&self.cluster.claims) {
                remedies.extend(self.label_cluster(&predicate.labels));
            }
            remedies.extend(self.relax_predicate(index, &failing));
        }
        remedies
    }

    /// The indices of the expressions of `predicate` that are not true.
    fn failing_expressions(&self, predicate: &Predicate) -> Vec<usize> {
        let mut evaluator = Evaluator::new(self.fleet, self.decision.now);
        let expressions = predicate.expressions.iter().enumerate();
        expressions
            .filter(|(_, (_, expression))| !evaluator.holds(expression, self.candidate))
            .map(|(index, _)| index)
            .collect()
    }

    /// The remedy that removes from the predicate at `index` the requirements that the cluster does not meet;
    /// `failing` are the indices of the expressions to remove.
    fn relax_predicate(&self, index: usize, failing: &[usize]) -> Option<Remedy> {
        let mut removed = Vec::new();
        let demand = self.decision.demand.clone();
        let edit = Edit::of(demand, &self.record.object, |placement| {
            let selector = &mut placement["spec"]["predicates"][index]["requiredClusterSelector"];
            for (field, have) in [
                ("labelSelector", self.cluster.labels()),
                ("claimSelector", &self.cluster.claims),
            ] {
                if let Some(part) = selector.get_mut(field) {
                    removed.extend(labels::relax(part, have));
                }
            }
            let expressions = selector.pointer_mut("/celSelector/celExpressions");
            if let Some(list) = expressions.and_then(Value::as_array_mut) {
                for &expression in failing.iter().rev() {
                    if expression < list.len() {
                        removed.push(list.remove(expression).as_str().unwrap_or_default().to_owned());
                    }
                }
            }
        });
        let text = format!("take {} out of spec.predicates[{index}]", removed.join(" and "));
        (!removed.is_empty()).then(|| Remedy::new(ChangeOwner::Request, text, edit))
    }

    /// Remedies for the taint at `index`: tolerate the taint, or remove it.
    fn taint_remedies(&self, index: usize) -> Vec<Remedy> {
        let Some(taint) = self.cluster.taints().get(index).map(Taint::from) else {
            return Vec::new();
        };
        let tolerate = self.placement_edit(taints::tolerate(&taint), |placement| {
            push(&mut placement["spec"]["tolerations"], taints::toleration(&taint));
        });
        if OWN_TAINTS.contains(&taint.key.as_str()) {
            let text = format!(
                "OCM itself keeps the taint {} on the cluster until the cluster is available",
                taint.key
            );
            return vec![tolerate, Remedy::none(text)];
        }
        let target = ("ManagedCluster", self.cluster_key(), &*self.cluster.object);
        vec![tolerate, taints::removal(&taint, target, index, |_| true)]
    }

    /// The remedy that raises the number of requested clusters to the rank of the cluster plus the number of
    /// kept clusters that cannot be read: those have no rank, and come first.
    fn number_remedies(&self) -> Vec<Remedy> {
        let solved = &self.decision.solved;
        let rank = solved.ranked.iter().position(|&other| other == self.candidate);
        let picked = solved.picked.iter();
        let unranked = picked.filter(|picked| solved.row_of(**picked).is_none()).count();
        let Some(number) = rank
            .map(|rank| unranked + rank + 1)
            .filter(|_| self.record.policy.wanted.is_some())
        else {
            return Vec::new();
        };
        vec![
            self.placement_edit(format!("raise spec.numberOfClusters to {number}"), |placement| {
                placement["spec"]["numberOfClusters"] = number.into();
            }),
        ]
    }
}
