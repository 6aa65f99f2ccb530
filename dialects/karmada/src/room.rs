//! Room: the number of further replicas that a cluster can run, according to its own report
//! (docs/systems/karmada.md, "Room").
//!
//! Implements Karmada's general estimator, which uses the resource summary or the resource models of a
//! cluster. Stored answers of accurate estimators count, too. Each result names the limit of the room.

mod estimate;
mod models;
mod request;
mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::Object;
use berth_apimachinery::quantity::{Quantity, QuantityError};

pub(crate) use estimate::Estimate;
pub(crate) use request::Request;
pub(crate) use shape::{Measure, Shape};

use crate::kind::cluster::{Cluster, ResourceList, ResourceSummary};
use models::Grades;
use shape::Part;

/// The name of the resource cpu, which is counted in thousandths.
const CPU: &str = "cpu";
/// The name of the resource pods.
const PODS: &str = "pods";
/// The largest number of replicas that Karmada can represent.
pub(crate) const MAX_REPLICAS: i64 = i32::MAX as i64;

/// The limit of a cluster's room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoomLimit {
    /// No limit: the binding requests no replicas.
    Nothing,
    /// The cluster has reported no resources.
    NoSummary,
    /// The number of pods.
    Pods,
    /// A resource, as the resource summary counts it.
    Resource(Arc<str>),
    /// A requested resource that is not among the allocatable resources of the cluster.
    Missing(Arc<str>),
    /// The sizes of the cluster's nodes.
    Models,
    /// A requested resource that is in no resource model of the cluster, so that no node counts as having
    /// any.
    NotModelled(Arc<str>),
    /// The answer of an accurate estimator.
    Estimator(Estimate),
    /// The contained limit, less the room of this number of replicas, which recently placed workloads take.
    RecentLoads(i64, Box<Self>),
}

/// The number of further replicas that fit on a cluster, and the limit of this number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Number of further replicas that fit.
    pub(crate) replicas: i64,
    /// The limit of the room.
    pub(crate) limit: RoomLimit,
}

impl Room {
    /// The room that remains if `taken` replicas are subtracted.
    pub(crate) fn without(self, taken: i64) -> Self {
        match taken.min(self.replicas) {
            0 => self,
            taken => Self {
                replicas: self.replicas - taken,
                limit: RoomLimit::RecentLoads(taken, Box::new(self.limit)),
            },
        }
    }
}

/// An amount of a resource, in both units in which amounts are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Amount {
    /// Whole units, rounded up.
    pub(crate) units: i64,
    /// Thousandths, rounded up.
    pub(crate) milli: i64,
}

impl Amount {
    /// Converts `quantity`.
    pub(crate) fn of(quantity: Quantity) -> Self {
        Self {
            units: quantity.units(),
            milli: Quantity(quantity.0.saturating_mul(1000)).units(),
        }
    }

    /// The amount in the unit in which `resource` is counted.
    pub(crate) fn counted(self, resource: &str) -> i64 {
        match resource {
            CPU => self.milli,
            _ => self.units,
        }
    }
}

/// The free resources that a cluster reports, parsed for the computation of room.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FreeResources {
    /// The resources and the sizes of nodes that the cluster reports.
    shape: Arc<Shape>,
    /// Number of pods that can still be created; `None` if the cluster reports no resources.
    pods: Option<i64>,
    /// The free amounts of the resources in `shape`, in the same order.
    free: Vec<Amount>,
    /// The numbers of nodes of the sizes in `shape`, in the same order.
    nodes: Vec<i64>,
    /// The stored answers of accurate estimators.
    estimates: Vec<Estimate>,
    /// Reason why the stored answers cannot be parsed; `None` if they can. No answer counts then.
    estimates_problem: Option<String>,
}

impl FreeResources {
    /// Parses the reports in `cluster`, and the answers of estimators in `object`, which is the same Cluster.
    ///
    /// # Errors
    /// An amount is not a quantity.
    pub(crate) fn read(cluster: &Cluster, object: &Object) -> Result<Self, String> {
        let (estimates, estimates_problem) = match estimate::read(object) {
            Ok(estimates) => (estimates, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let Some(summary) = &cluster.status.resource_summary else {
            return Ok(Self {
                estimates,
                estimates_problem,
                ..Self::default()
            });
        };
        let path_error = |part: &str, name: &str, error: QuantityError| {
            format!("status.resourceSummary.{part}[{name}]: {error}")
        };
        let mut free = BTreeMap::new();
        for (name, text) in &summary.allocatable {
            let mut left = text
                .parse()
                .map_err(|error| path_error("allocatable", name, error))?
                .0;
            for (part, list) in used(summary) {
                if let Some(text) = list.get(name) {
                    left =
                        left.saturating_sub(text.parse().map_err(|error| path_error(part, name, error))?.0);
                }
            }
            free.insert(name.clone(), Amount::of(Quantity(left)));
        }
        let mut pods =
            units(&summary.allocatable, PODS).map_err(|error| path_error("allocatable", PODS, error))?;
        for (part, list) in used(summary) {
            pods = pods.saturating_sub(units(list, PODS).map_err(|error| path_error(part, PODS, error))?);
        }
        let grades = Grades::read(&cluster.spec.resource_models, &summary.allocatable_modelings)?;
        let (grades, nodes) = grades.unzip();
        Ok(Self {
            shape: Arc::new(Shape::of(&free, grades)),
            pods: Some(pods.clamp(0, MAX_REPLICAS)),
            free: free.into_values().collect(),
            nodes: nodes.unwrap_or_default(),
            estimates,
            estimates_problem,
        })
    }

    /// Reason why the stored answers of estimators cannot be parsed; `None` if they can.
    pub(crate) fn estimates_problem(&self) -> Option<&str> {
        self.estimates_problem.as_deref()
    }

    /// The resources and the sizes of nodes by which the room is counted.
    pub(crate) const fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The room for further replicas with `request`, each of which takes `measure` on clusters of this shape.
    pub(crate) fn room(&self, request: Option<&Request>, measure: &Measure) -> Room {
        let general = self.general_room(measure);
        let estimated =
            request.and_then(|request| self.estimates.iter().find(|answer| answer.is_for(request)));
        match estimated {
            Some(answer) if answer.replicas < general.replicas => Room {
                replicas: answer.replicas,
                limit: RoomLimit::Estimator(answer.clone()),
            },
            _ => general,
        }
    }

    /// The room according to Karmada's general estimator.
    fn general_room(&self, measure: &Measure) -> Room {
        let none = |limit| Room { replicas: 0, limit };
        let pods = match self.pods {
            None => return none(RoomLimit::NoSummary),
            Some(0) => return none(RoomLimit::Pods),
            Some(pods) => pods,
        };
        let by_pods = Room {
            replicas: pods,
            limit: RoomLimit::Pods,
        };
        let by_resources = match measure {
            Measure::Pod => return by_pods,
            Measure::NoRoom(limit) => return none(limit.clone()),
            Measure::Resources(parts) => self.by_summary(parts),
            Measure::PerNode(replicas) => Some(self.by_nodes(replicas)),
        };
        match by_resources {
            Some(room) if room.replicas < pods => room,
            _ => by_pods,
        }
    }

    /// The room according to the free resources of the whole cluster; `None` if `parts` is empty.
    fn by_summary(&self, parts: &[Part]) -> Option<Room> {
        let fits = |part: &Part| {
            let free = self.free[part.place];
            match free.units {
                ..=0 => 0,
                _ => free.counted(&part.name) / part.amount.counted(&part.name),
            }
        };
        // The first part with the least room.
        let (replicas, part) = parts
            .iter()
            .map(|part| (fits(part), part))
            .min_by_key(|(replicas, _)| *replicas)?;
        Some(Room {
            replicas,
            limit: RoomLimit::Resource(Arc::clone(&part.name)),
        })
    }

    /// The room on all nodes. `replicas` has the number of replicas that one node of each size takes.
    fn by_nodes(&self, replicas: &[i64]) -> Room {
        let sizes = self.nodes.iter().zip(replicas);
        let room = sizes.fold(0_i64, |sum, (nodes, replicas)| {
            sum.saturating_add(nodes.saturating_mul(*replicas))
        });
        Room {
            replicas: room.min(MAX_REPLICAS),
            limit: RoomLimit::Models,
        }
    }
}

/// The amounts in use, with the names of their fields.
fn used(summary: &ResourceSummary) -> [(&'static str, &ResourceList); 2] {
    [
        ("allocated", &summary.allocated),
        ("allocating", &summary.allocating),
    ]
}

fn units(list: &ResourceList, name: &str) -> Result<i64, QuantityError> {
    list.get(name)
        .map_or(Ok(0), |text| text.parse().map(Quantity::units))
}

#[cfg(test)]
mod tests;
