//! Ways to lift a refusal or a shortage (docs/adding-a-system.md, "Advice"). A binding's requirements
//! come from its policy: the edits change the binding's copy, and the sentences name the policy.

use berth_apimachinery::Key;
use berth_apimachinery::selector::Selector;
use berth_dialect_contract::remedy::{labels, push};
use berth_dialect_contract::{Decision, Edit, Remedy, Whose, taints};
use berth_scheduling::{Ix, Rejection};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::code::Code;
use crate::detail::Detail;
use crate::failure::Failure;
use crate::filters;
use crate::fleet::Fleet;
use crate::kind::placement::ClusterAffinity;
use crate::names::CLUSTERS;
use crate::policy::Policy;
use crate::record::Record;
use crate::words;

/// Proposes changes that may lift `refusal`, or that get a feasible cluster picked.
pub(crate) fn remedies(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    refusal: Option<&Rejection>,
) -> Vec<Remedy> {
    let record = fleet.bindings.get(&decision.demand);
    let Some((record, policy)) = record.and_then(|record| Some((record, record.policy.as_deref()?))) else {
        return Vec::new();
    };
    let pair = ClusterPair {
        decision,
        record,
        policy,
        cluster: fleet.columns().row(candidate),
    };
    let Some(refusal) = refusal else {
        return pair.shortage();
    };
    match Code::of_reason(refusal.reason) {
        Code::Deleting => vec![Remedy::none("the cluster is being deleted")],
        Code::NotServed | Code::NoApis => vec![Remedy::none(
            "the cluster reports what it serves: its API must be installed there, or its agent mended",
        )],
        Code::Untolerated => pair.taint(),
        Code::Excluded => vec![pair.affinity("take it off exclude", |affinity, name| {
            remove(&mut affinity["exclude"], name);
        })],
        Code::Names => vec![pair.affinity("name it in clusterNames", |affinity, name| {
            push(&mut affinity["clusterNames"], name.into());
        })],
        Code::Labels => pair.labels(),
        Code::Field => vec![pair.affinity("take the fieldSelector away", |affinity, _| {
            affinity["fieldSelector"] = Value::Null;
        })],
        Code::NoProvider => vec![pair.field("provider")],
        Code::NoRegion => vec![pair.field("region")],
        Code::NoZone => vec![pair.field("zone")],
        Code::Evicting => vec![Remedy::none(
            "the task in spec.gracefulEvictionTasks ends by itself, once the template is healthy elsewhere or its grace is over",
        )],
        Code::Apart | Code::Together => vec![Remedy::none(
            "it depends on where the other workloads of its group are",
        )],
    }
}

/// One binding and one cluster.
struct ClusterPair<'a> {
    decision: &'a Decision,
    record: &'a Record,
    policy: &'a Policy,
    cluster: &'a Cluster,
}

fn remove(list: &mut Value, name: &str) {
    if let Some(items) = list.as_array_mut() {
        items.retain(|item| item != name);
    }
}

impl ClusterPair<'_> {
    /// A remedy that edits the binding's placement.
    fn binding_edit(&self, text: String, change: impl FnOnce(&mut Value)) -> Remedy {
        let edit = Edit::of(self.decision.demand.clone(), &self.record.object, |binding| {
            change(&mut binding["spec"]["placement"]);
        });
        Remedy::new(Whose::Request, text, edit)
    }

    /// The index of the group that is tried.
    fn group(&self) -> Option<usize> {
        self.decision.detail::<Detail>().and_then(|detail| detail.group)
    }

    /// A remedy that edits the affinity that is tried. `change` gets the affinity and the name of the
    /// cluster.
    fn affinity(&self, advice: &str, change: impl FnOnce(&mut Value, &str)) -> Remedy {
        let name = &*self.cluster.name;
        let group = self.group();
        let text = match group.and_then(|place| self.policy.groups().get(place)) {
            Some(group) => format!("{advice} in the policy's group \"{}\"", group.name),
            None => format!("{advice} in the policy's clusterAffinity"),
        };
        self.binding_edit(text, |placement| match group {
            Some(place) => change(&mut placement["clusterAffinities"][place], name),
            None => change(&mut placement["clusterAffinity"], name),
        })
    }

    /// The affinity that is tried.
    fn raw(&self) -> Option<&ClusterAffinity> {
        match self.group() {
            Some(place) => self.policy.raw.terms().get(place).map(|term| &term.affinity),
            None => self.policy.raw.cluster_affinity.as_ref(),
        }
    }

    fn taint(&self) -> Vec<Remedy> {
        let tolerations = &self.policy.raw.cluster_tolerations;
        let found = filters::untolerated(&self.cluster.taints, tolerations).next();
        let Some((place, taint)) = found else {
            return Vec::new();
        };
        let taint = words::common_taint(taint);
        let toleration = self.binding_edit(
            format!("{} in the policy's clusterTolerations", taints::tolerate(&taint)),
            |placement| push(&mut placement["clusterTolerations"], taints::toleration(&taint)),
        );
        let target = ("Cluster", self.target(), &*self.cluster.object);
        let removal = taints::removal(&taint, target, place, |_| true);
        vec![toleration, removal]
    }

    fn target(&self) -> Key {
        Key::new(CLUSTERS, "", &self.cluster.name)
    }

    fn labels(&self) -> Vec<Remedy> {
        let selector = self.raw().and_then(|raw| raw.label_selector.as_ref());
        let Some(selector) = selector.and_then(|raw| Selector::compile(raw, "").ok()) else {
            return vec![Remedy::none(
                "the label selector is invalid: it must be mended in the policy",
            )];
        };
        let cluster_labels = self.cluster.labels();
        let relax_selector = self.affinity("ask only for the cluster's own labels", |affinity, _| {
            labels::relax(&mut affinity["labelSelector"], cluster_labels);
        });
        let change_labels = labels::to_match(&selector, cluster_labels).map(|changes| {
            let edit = Edit::Merge {
                key: self.target(),
                patch: labels::patch(&changes),
            };
            Remedy::new(Whose::Target, labels::words("the cluster", &changes), edit)
        });
        std::iter::once(relax_selector).chain(change_labels).collect()
    }

    /// The remedy for a spread constraint by a field that the cluster does not have.
    fn field(&self, field: &str) -> Remedy {
        self.binding_edit(
            format!("take the spread constraint by {field} out of the policy, or say in the Cluster which {field} it is in"),
            |placement| {
                if let Some(constraints) = placement["spreadConstraints"].as_array_mut() {
                    constraints.retain(|constraint| constraint["spreadByField"] != field);
                }
            },
        )
    }

    /// Changes that may get a feasible cluster picked: fewer replicas, or other limits of spread constraints.
    fn shortage(&self) -> Vec<Remedy> {
        let Some(failure) = self.decision.detail::<Detail>().and_then(|detail| detail.failure) else {
            return Vec::new();
        };
        match failure {
            Failure::NotEnoughRoom { wanted, available } if available < wanted => {
                let fits = self.record.replicas() - (wanted - available);
                match fits {
                    ..=0 => Vec::new(),
                    fits => vec![self.replicas(fits)],
                }
            }
            Failure::NoRoomWithin { available, .. } if available > 0 => {
                vec![self.replicas(available), self.more_groups()]
            }
            Failure::NoRoomWithin { .. } | Failure::NoMaxGroups | Failure::NoRegions { .. } => {
                vec![self.more_groups()]
            }
            Failure::TooFewClusters { feasible, .. } => vec![self.fewer_groups("cluster", feasible)],
            Failure::TooFewRegions { feasible, .. } => vec![self.fewer_groups("region", feasible)],
            _ => Vec::new(),
        }
    }

    fn replicas(&self, fits: i64) -> Remedy {
        let edit = Edit::of(self.decision.demand.clone(), &self.record.object, |binding| {
            binding["spec"]["replicas"] = fits.into();
        });
        Remedy::new(
            Whose::Request,
            format!("lower the template's replicas to {fits}"),
            edit,
        )
    }

    fn more_groups(&self) -> Remedy {
        let all = i64::try_from(self.decision.solved.feasible.len()).unwrap_or(i64::MAX);
        self.binding_edit(
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
        self.binding_edit(
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
