//! Remedies for refusals and for unscheduled bindings (docs/adding-a-system.md, "Advice"). The requirements
//! of a binding are copied from its policy: the edits change the copy, and the sentences name the policy.

use berth_apimachinery::Key;
use berth_apimachinery::selector::Selector;
use berth_dialect_contract::remedy::{labels, push};
use berth_dialect_contract::{ChangeOwner, Decision, Edit, Remedy, taints};
use berth_scheduling::{Ix, Rejection};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::code::Code;
use crate::compiled_placement::CompiledPlacement;
use crate::detail::Detail;
use crate::failure::Failure;
use crate::filters;
use crate::fleet::Fleet;
use crate::kind::placement::ClusterAffinity;
use crate::names::CLUSTERS;
use crate::record::Record;
use crate::words;

/// Remedies that lift `refusal` of a cluster, or that may get a feasible cluster picked.
pub(crate) fn remedies(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    refusal: Option<&Rejection>,
) -> Vec<Remedy> {
    let record = fleet.bindings.get(&decision.demand);
    let Some((record, placement)) = record.and_then(|record| Some((record, record.placement.as_deref()?)))
    else {
        return Vec::new();
    };
    let pair = BindingAndCluster {
        decision,
        record,
        placement,
        cluster: fleet.columns().row(candidate),
    };
    let Some(refusal) = refusal else {
        return pair.failure_remedies();
    };
    match Code::of_reason(refusal.reason) {
        Code::Deleting => vec![Remedy::none("the cluster is being deleted")],
        Code::NotServed | Code::NoApis => vec![Remedy::none(
            "install the API on the cluster; if it is installed, find out why Karmada does not report it",
        )],
        Code::Untolerated => pair.taint_remedies(),
        Code::Excluded => vec![
            pair.affinity_remedy("take the cluster off exclude", |affinity, name| {
                remove(&mut affinity["exclude"], name);
            }),
        ],
        Code::Names => vec![
            pair.affinity_remedy("add the cluster to clusterNames", |affinity, name| {
                push(&mut affinity["clusterNames"], name.into());
            }),
        ],
        Code::Labels => pair.label_remedies(),
        Code::Field => vec![pair.affinity_remedy("remove the fieldSelector", |affinity, _| {
            affinity["fieldSelector"] = Value::Null;
        })],
        Code::NoProvider => vec![pair.spread_remedy("provider")],
        Code::NoRegion => vec![pair.spread_remedy("region")],
        Code::NoZone => vec![pair.spread_remedy("zone")],
        Code::Evicting => vec![Remedy::none(
            "wait for the end of the task in spec.gracefulEvictionTasks: the template is healthy on another cluster, or the \
             grace period is over",
        )],
        Code::GroupElsewhere | Code::GroupHere => vec![Remedy::none(
            "the clusters of the other workloads in the group decide this: move these workloads, or change the group of one",
        )],
    }
}

/// A binding and a cluster for which remedies are found.
struct BindingAndCluster<'a> {
    decision: &'a Decision,
    record: &'a Record,
    placement: &'a CompiledPlacement,
    cluster: &'a Cluster,
}

/// Removes `name` from `list`.
fn remove(list: &mut Value, name: &str) {
    if let Some(items) = list.as_array_mut() {
        items.retain(|item| item != name);
    }
}

impl BindingAndCluster<'_> {
    /// A remedy that edits the binding's placement.
    fn placement_remedy(&self, text: String, change: impl FnOnce(&mut Value)) -> Remedy {
        let edit = Edit::of(self.decision.demand.clone(), &self.record.object, |binding| {
            change(&mut binding["spec"]["placement"]);
        });
        Remedy::new(ChangeOwner::Request, text, edit)
    }

    /// The index of the group that the decision reports; `None` if the placement has no groups.
    fn group(&self) -> Option<usize> {
        self.decision.detail::<Detail>().and_then(|detail| detail.group)
    }

    /// A remedy that edits the affinity of the reported group or of the placement. `change` gets the affinity
    /// and the name of the cluster.
    fn affinity_remedy(&self, advice: &str, change: impl FnOnce(&mut Value, &str)) -> Remedy {
        let name = &*self.cluster.name;
        let group = self.group();
        let text = match group.and_then(|place| self.placement.groups().get(place)) {
            Some(group) => format!("{advice} in the policy's group \"{}\"", group.name),
            None => format!("{advice} in the policy's clusterAffinity"),
        };
        self.placement_remedy(text, |placement| match group {
            Some(place) => change(&mut placement["clusterAffinities"][place], name),
            None => change(&mut placement["clusterAffinity"], name),
        })
    }

    /// The affinity of the reported group or of the placement.
    fn raw_affinity(&self) -> Option<&ClusterAffinity> {
        match self.group() {
            Some(place) => self.placement.raw.terms().get(place).map(|term| &term.affinity),
            None => self.placement.raw.cluster_affinity.as_ref(),
        }
    }

    /// Remedies for the first taint that is not tolerated: a toleration, or the removal of the taint.
    fn taint_remedies(&self) -> Vec<Remedy> {
        let tolerations = &self.placement.raw.cluster_tolerations;
        let found = filters::untolerated(&self.cluster.taints, tolerations).next();
        let Some((place, taint)) = found else {
            return Vec::new();
        };
        let taint = words::common_taint(taint);
        let toleration = self.placement_remedy(
            format!("{} in the policy's clusterTolerations", taints::tolerate(&taint)),
            |placement| push(&mut placement["clusterTolerations"], taints::toleration(&taint)),
        );
        let target = ("Cluster", self.cluster_key(), &*self.cluster.object);
        let removal = taints::removal(&taint, target, place, |_| true);
        vec![toleration, removal]
    }

    fn cluster_key(&self) -> Key {
        Key::new(CLUSTERS, "", &self.cluster.name)
    }

    /// Remedies for labels that do not match: another selector, or other labels of the cluster.
    fn label_remedies(&self) -> Vec<Remedy> {
        let selector = self.raw_affinity().and_then(|raw| raw.label_selector.as_ref());
        let Some(selector) = selector.and_then(|raw| Selector::compile(raw, "").ok()) else {
            return vec![Remedy::none(
                "correct the label selector in the policy: it is invalid",
            )];
        };
        let cluster_labels = self.cluster.labels();
        let relax_selector = self.affinity_remedy(
            "remove the requirements that the cluster does not meet from labelSelector",
            |affinity, _| {
                labels::relax(&mut affinity["labelSelector"], cluster_labels);
            },
        );
        let change_labels = labels::to_match(&selector, cluster_labels).map(|changes| {
            let edit = Edit::Merge {
                key: self.cluster_key(),
                patch: labels::patch(&changes),
            };
            Remedy::new(ChangeOwner::Target, labels::words("the cluster", &changes), edit)
        });
        std::iter::once(relax_selector).chain(change_labels).collect()
    }

    /// The remedy for a spread constraint by a field that the cluster does not have.
    fn spread_remedy(&self, field: &str) -> Remedy {
        self.placement_remedy(
            format!(
                "remove the spread constraint by {field} from the policy, or set the {field} of the Cluster"
            ),
            |placement| {
                if let Some(constraints) = placement["spreadConstraints"].as_array_mut() {
                    constraints.retain(|constraint| constraint["spreadByField"] != field);
                }
            },
        )
    }

    /// Remedies that may get a feasible cluster picked: fewer replicas, or other limits of spread
    /// constraints.
    fn failure_remedies(&self) -> Vec<Remedy> {
        let Some(failure) = self.decision.detail::<Detail>().and_then(|detail| detail.failure) else {
            return Vec::new();
        };
        match failure {
            Failure::NotEnoughRoom { wanted, available } if available < wanted => {
                let fits = self.record.replicas() - (wanted - available);
                match fits {
                    ..=0 => Vec::new(),
                    fits => vec![self.fewer_replicas(fits)],
                }
            }
            Failure::NoRoomWithin { available, .. } if available > 0 => {
                vec![self.fewer_replicas(available), self.more_groups()]
            }
            Failure::NoRoomWithin { .. } | Failure::NoMaxGroups { .. } | Failure::NoRegions { .. } => {
                vec![self.more_groups()]
            }
            Failure::TooFewClusters { feasible, .. } => vec![self.fewer_groups("cluster", feasible)],
            Failure::TooFewRegions { feasible, .. } => vec![self.fewer_groups("region", feasible)],
            _ => Vec::new(),
        }
    }

    fn fewer_replicas(&self, fits: i64) -> Remedy {
        let edit = Edit::of(self.decision.demand.clone(), &self.record.object, |binding| {
            binding["spec"]["replicas"] = fits.into();
        });
        Remedy::new(
            ChangeOwner::Request,
            format!("lower the template's replicas to {fits}"),
            edit,
        )
    }

    fn more_groups(&self) -> Remedy {
        let all = i64::try_from(self.decision.solved.feasible.len()).unwrap_or(i64::MAX);
        self.placement_remedy(
            format!("raise maxGroups of the policy's spread constraints to {all}"),
            |placement| {
                let constraints = placement["spreadConstraints"].as_array_mut();
                for constraint in constraints.into_iter().flatten() {
                    constraint["maxGroups"] = all.into();
                }
            },
        )
    }

    fn fewer_groups(&self, field: &str, feasible: usize) -> Remedy {
        self.placement_remedy(
            format!("lower minGroups of the policy's spread constraint by {field} to {feasible}"),
            |placement| {
                let constraints = placement["spreadConstraints"].as_array_mut();
                for constraint in constraints.into_iter().flatten() {
                    if constraint["spreadByField"] == field {
                        constraint["minGroups"] = feasible.into();
                    }
                }
            },
        )
    }
}
