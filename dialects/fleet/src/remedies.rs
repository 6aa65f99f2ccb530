//! Remedies for a refusal (docs/adding-a-system.md, "Advice"): changes of labels and taints of the cluster,
//! and changes of terms, tolerations, spread constraints, names and the number of clusters in the policy.

use berth_apimachinery::Key;
use berth_dialect_contract::remedy::{labels, push};
use berth_dialect_contract::{ChangeOwner, Decision, Edit, Remedy, Taint, taints};
use berth_scheduling::{Ix, Rejection};
use serde_json::{Value, json};

use crate::code::{self, Code};
use crate::columns::Columns;
use crate::detail::Detail;
use crate::eligibility::IneligibilityReason;
use crate::filters::spread::DomainCounts;
use crate::fleet::Fleet;
use crate::fleet::cluster::Cluster;
use crate::fleet::record::PlacementRecord;
use crate::names::CLUSTERS;
use crate::policy::{Mode, Policy, Term};

/// The highest number of required terms for which remedies are proposed.
const MAX_TERMS: usize = 4;
/// The name of the field of the required terms.
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// The changes that may lift `refusal` of `candidate`; without a refusal, the changes after which the
/// feasible candidate is picked.
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
    let pair = PlacementClusterPair {
        decision,
        record,
        policy,
        columns: fleet.columns(),
        cluster: fleet.columns().row(candidate),
        candidate,
    };
    let Some(refusal) = refusal else {
        return pair.number_remedies();
    };
    let detail = refusal.reason.detail;
    match Code::of_reason(refusal.reason) {
        Code::AffinityMismatch => pair.affinity_remedies(),
        Code::NotEligible | Code::NamedIneligible => {
            vec![eligibility_remedy(code::ineligible(refusal.reason))]
        }
        Code::NamespaceMissing | Code::NamespacesUnknown => {
            let namespace = &decision.demand.namespace;
            vec![Remedy::none(format!(
                "place the namespace {namespace} on the cluster first, with a ClusterResourcePlacement"
            ))]
        }
        Code::Untolerated => pair.taint_remedies(pair.cluster, detail as usize),
        Code::SkewExceeded => pair.spread_remedies(detail as usize),
        Code::NotFound => Vec::new(),
        Code::NotNamed => vec![pair.name_remedy()],
    }
}

/// The remedy without an edit for a cluster that is not eligible because of `reason`.
fn eligibility_remedy(reason: IneligibilityReason) -> Remedy {
    Remedy::none(match reason {
        IneligibilityReason::Leaving => "the MemberCluster is being deleted, which cannot be undone",
        IneligibilityReason::Unreadable => "the MemberCluster cannot be read: correct it first",
        IneligibilityReason::AgentNotOnline
        | IneligibilityReason::HeartbeatStale
        | IneligibilityReason::NotJoined
        | IneligibilityReason::HealthUnknown
        | IneligibilityReason::Unhealthy => {
            "eligibility follows the reports of the member agent: repair the cluster or its agent"
        }
    })
}

/// A placement and a cluster that the placement does not use.
struct PlacementClusterPair<'a> {
    decision: &'a Decision,
    record: &'a PlacementRecord,
    policy: &'a Policy,
    columns: &'a Columns,
    cluster: &'a Cluster,
    candidate: Ix,
}

impl PlacementClusterPair<'_> {
    /// The remedy with the sentence `text`, whose edit applies `change` to the policy of the placement.
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
        Remedy::new(ChangeOwner::Request, text, edit)
    }

    /// The remedies with which the cluster matches a required term: labels on the cluster, or a term with
    /// fewer requirements.
    fn affinity_remedies(&self) -> Vec<Remedy> {
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
                remedies.push(Remedy::new(ChangeOwner::Target, text, edit));
            }
            remedies.extend(self.relaxed_term(index, &failing));
        }
        remedies
    }

    /// The indices of the property requirements of `term` that the cluster does not meet. No edit of the
    /// cluster can change this, since the agent of the cluster measures properties.
    fn failing(&self, term: &Term) -> Vec<usize> {
        let tests = term.properties.iter().enumerate();
        tests
            .filter(|(_, test)| {
                let value = self.cluster.properties.get(test.name.as_str());
                !test.passes(value.map(|amount| amount.exact))
            })
            .map(|(index, _)| index)
            .collect()
    }

    /// The remedy that removes from the term at `index` the requirements that the cluster does not meet, of
    /// which `failing` are the property requirements. If no requirement is left, all required terms are
    /// removed.
    fn relaxed_term(&self, index: usize, failing: &[usize]) -> Option<Remedy> {
        let mut removed = Vec::new();
        let remedy = self.policy_edit(String::new(), |policy| {
            let affinity = &mut policy["affinity"]["clusterAffinity"];
            let term = &mut affinity[REQUIRED]["clusterSelectorTerms"][index];
            if let Some(selector) = term.get_mut("labelSelector") {
                removed.extend(labels::relax(selector, self.cluster.labels()));
            }
            let tests = term.pointer_mut("/propertySelector/matchExpressions");
            if let Some(tests) = tests.and_then(Value::as_array_mut) {
                for &failed in failing.iter().rev() {
                    if failed < tests.len() {
                        let test = tests.remove(failed);
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

    /// The remedies for the taint of `cluster` at `index`: a toleration, or the removal of the taint.
    fn taint_remedies(&self, cluster: &Cluster, index: usize) -> Vec<Remedy> {
        let Some(taint) = cluster.taints.get(index).map(Taint::from) else {
            return Vec::new();
        };
        let tolerate = self.policy_edit(taints::tolerate(&taint), |policy| {
            push(&mut policy["tolerations"], taints::toleration(&taint));
        });
        let key = Key::new(CLUSTERS, "", &cluster.name);
        let target = ("MemberCluster", key, &*cluster.object);
        vec![tolerate, taints::removal(&taint, target, index, |_| true)]
    }

    /// The remedies for the taint of the only cluster in the emptiest domain of the constraint at
    /// `constraint`. After a pick of that cluster, other domains may get one more cluster.
    fn emptiest_domain_remedies(&self, constraint: usize) -> Vec<Remedy> {
        let emptiest = self.decision.detail::<Detail>().map(|detail| &detail.emptiest);
        let only_cluster = emptiest.and_then(|all| all.get(constraint)?.as_ref()?.only_cluster);
        let Some(only_cluster) = only_cluster else {
            return Vec::new();
        };
        match self.decision.solved.rejections_of(only_cluster) {
            [refusal] if Code::of_reason(refusal.reason) == Code::Untolerated => {
                self.taint_remedies(self.columns.row(only_cluster), refusal.reason.detail as usize)
            }
            _ => Vec::new(),
        }
    }

    /// The remedies for the violated topology spread constraint at `index`: a larger maxSkew, a soft
    /// constraint, or a pick in the emptiest domain.
    fn spread_remedies(&self, index: usize) -> Vec<Remedy> {
        let Some(constraint) = self.policy.spread.get(index) else {
            return Vec::new();
        };
        let field = format!(
            "spec.policy.topologySpreadConstraints[{index}] (over {})",
            constraint.key
        );
        let skews = self.decision.detail::<Detail>().map(|detail| &detail.skews);
        let counts = skews.and_then(|skews| {
            let found = skews.binary_search_by_key(&self.candidate, |(candidate, _)| *candidate);
            found.ok().map(|found| skews[found].1)
        });
        let mut remedies = Vec::new();
        if let Some(DomainCounts { skew, .. }) = counts {
            remedies.push(
                self.policy_edit(format!("raise maxSkew of {field} to {skew}"), |policy| {
                    policy["topologySpreadConstraints"][index]["maxSkew"] = skew.into();
                }),
            );
        }
        let text = format!("set whenUnsatisfiable of {field} to ScheduleAnyway");
        remedies.push(self.policy_edit(text, |policy| {
            policy["topologySpreadConstraints"][index]["whenUnsatisfiable"] = "ScheduleAnyway".into();
        }));
        remedies.extend(self.emptiest_domain_remedies(index));
        remedies
    }

    /// The remedy that adds the cluster to the names of a PickFixed policy.
    fn name_remedy(&self) -> Remedy {
        let name = &self.cluster.name;
        self.policy_edit(format!("add {name} to spec.policy.clusterNames"), |policy| {
            push(&mut policy["clusterNames"], json!(name));
        })
    }

    /// The remedy that raises the number of clusters of a PickN policy to the rank of the cluster, after the
    /// kept clusters that have no rank, since they would not be picked today. With topology spread
    /// constraints, other clusters may still be picked first, since each pick changes ranks.
    fn number_remedies(&self) -> Vec<Remedy> {
        let ranked = &self.decision.solved.ranked;
        let rank = ranked.iter().position(|&other| other == self.candidate);
        let detail = self.decision.detail::<Detail>();
        let unranked = detail.map_or(0, |detail| detail.unfit.len());
        let Some(number) = rank
            .map(|rank| unranked + rank + 1)
            .filter(|_| matches!(self.policy.mode, Mode::Number(_)))
        else {
            return Vec::new();
        };
        let text = format!("raise spec.policy.numberOfClusters to {number}");
        vec![self.policy_edit(text, |policy| policy["numberOfClusters"] = number.into())]
    }
}

/// Whether the required term `term` has no requirements.
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
