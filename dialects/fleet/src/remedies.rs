//! Ways to lift a refusal (docs/adding-a-system.md, "Advice"): a label, a required term, a toleration, a
//! taint, a spread constraint, a name, a larger number.

use berth_apimachinery::Key;
use berth_dialect_contract::remedy::{labels, push};
use berth_dialect_contract::{Decision, Edit, Remedy, Taint, Whose, taints};
use berth_scheduling::{Ix, Rejection};
use serde_json::{Value, json};

use crate::code::{self, Code};
use crate::columns::Columns;
use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::fleet::cluster::Cluster;
use crate::fleet::record::PlacementRecord;
use crate::names::CLUSTERS;
use crate::policy::{Mode, Policy, Term};

/// Highest number of required terms for which remedies are proposed.
const MAX_TERMS: usize = 4;
/// The field of the required terms.
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

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
    let Ok(policy) = record.policy.as_ref() else {
        return Vec::new();
    };
    let pair = ClusterPair {
        decision,
        record,
        policy,
        columns: fleet.columns(),
        cluster: fleet.columns().row(candidate),
        candidate,
    };
    let Some(refusal) = refusal else {
        return pair.number();
    };
    let detail = refusal.reason.detail;
    match Code::of_reason(refusal.reason) {
        Code::AffinityMismatch => pair.affinity(),
        Code::NotEligible | Code::NamedIneligible if code::is_leaving(refusal.reason) => {
            vec![Remedy::none(
                "the MemberCluster is being deleted, which cannot be undone",
            )]
        }
        Code::NotEligible | Code::NamedIneligible => vec![Remedy::none(
            "the member agent reports this: the cluster or its agent must be mended",
        )],
        Code::NamespaceMissing | Code::NamespacesUnknown => {
            let namespace = &decision.demand.namespace;
            vec![Remedy::none(format!(
                "a ClusterResourcePlacement of the namespace {namespace} must bring it to the cluster first"
            ))]
        }
        Code::Untolerated => pair.taint(pair.cluster, detail as usize),
        Code::SkewExceeded => pair.spread(detail as usize),
        Code::NotFound => Vec::new(),
        Code::NotNamed => vec![pair.named()],
    }
}

/// One placement and one cluster.
struct ClusterPair<'a> {
    decision: &'a Decision,
    record: &'a PlacementRecord,
    policy: &'a Policy,
    columns: &'a Columns,
    cluster: &'a Cluster,
    candidate: Ix,
}

impl ClusterPair<'_> {
    /// The remedy `text`, whose edit applies `change` to the policy.
    fn policy_edit(&self, text: String, change: impl FnOnce(&mut Value)) -> Remedy {
        let demand = self.decision.demand.clone();
        let edit = Edit::of(demand, &self.record.object, |placement| {
            let policy = &mut placement["spec"]["policy"];
            if policy.is_null() {
                // A placement without a policy counts as PickAll.
                *policy = json!({"placementType": "PickAll"});
            }
            change(policy);
        });
        Remedy::new(Whose::Request, text, edit)
    }

    /// Remedies for each required term alone: labels on the cluster, or a weaker term.
    fn affinity(&self) -> Vec<Remedy> {
        let mut remedies = Vec::new();
        for (index, term) in self.policy.required.iter().enumerate().take(MAX_TERMS) {
            let failing = self.failing(term);
            if failing.is_empty()
                && let Some(changes) = labels::to_match(&term.labels, self.cluster.labels())
            {
                let text = labels::words(&format!("MemberCluster {}", self.cluster.name), &changes);
                let edit = Edit::Merge {
                    key: Key::new(CLUSTERS, "", &self.cluster.name),
                    patch: labels::patch(&changes),
                };
                remedies.push(Remedy::new(Whose::Target, text, edit));
            }
            remedies.extend(self.relaxed(index, &failing));
        }
        remedies
    }

    /// The indices of the property requirements that the cluster does not meet. Properties are measured and
    /// cannot be set.
    fn failing(&self, term: &Term) -> Vec<usize> {
        let tests = term.properties.iter().enumerate();
        tests
            .filter(|(_, test)| {
                let value = self.cluster.properties.get(test.name.as_str());
                !test.passes(value.map(|amount| amount.exact))
            })
            .map(|(place, _)| place)
            .collect()
    }

    /// The remedy that removes from the term at `index` the requirements that the cluster does not meet. If
    /// no requirement is left, all terms are removed.
    fn relaxed(&self, index: usize, failing: &[usize]) -> Option<Remedy> {
        let mut removed = Vec::new();
        let remedy = self.policy_edit(String::new(), |policy| {
            let affinity = &mut policy["affinity"]["clusterAffinity"];
            let term = &mut affinity[REQUIRED]["clusterSelectorTerms"][index];
            if let Some(selector) = term.get_mut("labelSelector") {
                removed.extend(labels::relax(selector, self.cluster.labels()));
            }
            let tests = term.pointer_mut("/propertySelector/matchExpressions");
            if let Some(tests) = tests.and_then(Value::as_array_mut) {
                for &place in failing.iter().rev() {
                    if place < tests.len() {
                        let test = tests.remove(place);
                        removed.push(format!(
                            "the property {}",
                            test["name"].as_str().unwrap_or_default()
                        ));
                    }
                }
            }
            if is_empty(term)
                && let Some(fields) = affinity.as_object_mut()
            {
                fields.remove(REQUIRED);
            }
        });
        let text = format!(
            "take {} out of clusterSelectorTerms[{index}]",
            removed.join(" and ")
        );
        (!removed.is_empty()).then_some(Remedy { text, ..remedy })
    }

    /// Remedies for the taint of `cluster` with index `place`: tolerate it, or remove it.
    fn taint(&self, cluster: &Cluster, place: usize) -> Vec<Remedy> {
        let Some(taint) = cluster.taints.get(place).map(Taint::from) else {
            return Vec::new();
        };
        let tolerate = self.policy_edit(taints::tolerate(&taint), |policy| {
            push(&mut policy["tolerations"], taints::toleration(&taint));
        });
        let key = Key::new(CLUSTERS, "", &cluster.name);
        let target = ("MemberCluster", key, &*cluster.object);
        vec![tolerate, taints::removal(&taint, target, place, |_| true)]
    }

    /// Remedies for the taint of the only cluster in the emptiest domain: with a pick there, other domains
    /// may get one more.
    fn emptiest(&self, constraint: usize) -> Vec<Remedy> {
        let emptiest = self.decision.detail::<Detail>().map(|detail| &detail.emptiest);
        let emptiest = emptiest.and_then(|all| all.get(constraint)?.as_ref()?.only);
        let Some(only) = emptiest else {
            return Vec::new();
        };
        match self.decision.solved.rejections_of(only) {
            [refusal] if Code::of_reason(refusal.reason) == Code::Untolerated => {
                self.taint(self.columns.row(only), refusal.reason.detail as usize)
            }
            _ => Vec::new(),
        }
    }

    /// Remedies for a topology spread constraint: a larger maxSkew, a soft constraint, or a pick in the
    /// emptiest domain.
    fn spread(&self, place: usize) -> Vec<Remedy> {
        let Some(constraint) = self.policy.spread.get(place) else {
            return Vec::new();
        };
        let field = format!(
            "spec.policy.topologySpreadConstraints[{place}] (over {})",
            constraint.key
        );
        let skews = self.decision.detail::<Detail>().map(|detail| &detail.skews);
        let counts = skews.and_then(|skews| {
            let place = skews.binary_search_by_key(&self.candidate, |(candidate, ..)| *candidate);
            place.ok().map(|place| (skews[place].1, skews[place].2))
        });
        let mut remedies = Vec::new();
        if let Some((own, least)) = counts {
            let skew = (i64::from(own) + 1 - i64::from(least)).max(constraint.max_skew + 1);
            remedies.push(
                self.policy_edit(format!("raise maxSkew of {field} to {skew}"), |policy| {
                    policy["topologySpreadConstraints"][place]["maxSkew"] = skew.into();
                }),
            );
        }
        let text = format!("set whenUnsatisfiable of {field} to ScheduleAnyway");
        remedies.push(self.policy_edit(text, |policy| {
            policy["topologySpreadConstraints"][place]["whenUnsatisfiable"] = "ScheduleAnyway".into();
        }));
        remedies.extend(self.emptiest(place));
        remedies
    }

    /// The remedy that adds the cluster to the names of PickFixed.
    fn named(&self) -> Remedy {
        let name = &self.cluster.name;
        self.policy_edit(format!("add {name} to spec.policy.clusterNames"), |policy| {
            push(&mut policy["clusterNames"], json!(name));
        })
    }

    /// The remedy that sets the smallest number of clusters with which this one is picked.
    fn number(&self) -> Vec<Remedy> {
        let ranked = &self.decision.solved.ranked;
        let rank = ranked.iter().position(|&other| other == self.candidate);
        let Some(number) = rank
            .map(|rank| rank + 1)
            .filter(|_| matches!(self.policy.mode, Mode::Number(_)))
        else {
            return Vec::new();
        };
        let text = format!("raise spec.policy.numberOfClusters to {number}");
        vec![self.policy_edit(text, |policy| policy["numberOfClusters"] = number.into())]
    }
}

/// Whether a term has no requirements.
fn is_empty(term: &Value) -> bool {
    let none = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(_) => false,
    };
    none(term.get("labelSelector"))
        && none(term.pointer("/propertySelector/matchExpressions"))
        && none(term.get("propertySorter"))
}
