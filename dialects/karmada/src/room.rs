//! Room: the number of further replicas that a cluster can run, by its own report (docs/systems/karmada.md,
//! "Room").
//!
//! Implements Karmada's general estimator, over the cluster's own summary or its resource models, and uses
//! the answers of accurate estimators if any are stored. Each figure comes with its limit.

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

/// The resource that is counted in milli-units.
const CPU: &str = "cpu";
/// The resource of pods.
const PODS: &str = "pods";
/// The largest number of replicas in Karmada.
pub(crate) const MOST: i64 = i32::MAX as i64;

/// The limit of a cluster's room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoomLimit {
    /// No limit: the binding requests no replicas.
    Nothing,
    /// The cluster has reported no resources.
    NoSummary,
    /// The number of pods.
    Pods,
    /// This resource, as the summary counts it.
    Resource(Arc<str>),
    /// This resource, which is not among the allocatable resources of the cluster.
    Missing(Arc<str>),
    /// The sizes of the cluster's nodes.
    Models,
    /// This resource, which is in none of the cluster's resource models, so every node counts as having none
    /// of it.
    NotModelled(Arc<str>),
    /// The answer of an accurate estimator.
    Estimator(Estimate),
    /// The contained limit, minus this number of replicas, whose room recently placed workloads take.
    RecentLoads(i64, Box<Self>),
}

/// Number of further replicas that fit, and their limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Number of replicas.
    pub(crate) replicas: i64,
    /// The limit of the room.
    pub(crate) bound: RoomLimit,
}

impl Room {
    /// The room that remains if `taken` replicas are subtracted.
    pub(crate) fn without(self, taken: i64) -> Self {
        match taken.min(self.replicas) {
            0 => self,
            taken => Self {
                replicas: self.replicas - taken,
                bound: RoomLimit::RecentLoads(taken, Box::new(self.bound)),
            },
        }
    }
}

/// An amount in both units in which amounts are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Amount {
    /// Whole units, rounded up.
    pub(crate) units: i64,
    /// Thousandths, rounded up.
    pub(crate) milli: i64,
}

impl Amount {
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
pub(crate) struct Reserve {
    shape: Arc<Shape>,
    /// Number of pods that can still be created; `None` if the cluster reports no resources.
    pods: Option<i64>,
    /// Free amounts of the shape's resources, in the order of the shape.
    free: Vec<Amount>,
    /// Numbers of nodes of the shape's sizes, in the order of the shape.
    nodes: Vec<i64>,
    /// Answers of accurate estimators.
    estimates: Vec<Estimate>,
}

impl Reserve {
    /// Parses the reports of `cluster`, whose object is `object`.
    ///
    /// # Errors
    /// When a figure is not a quantity, or the answers of estimators cannot be parsed.
    pub(crate) fn read(cluster: &Cluster, object: &Object) -> Result<Self, String> {
        let estimates = estimate::read(object)?;
        let Some(summary) = &cluster.status.resource_summary else {
            return Ok(Self {
                estimates,
                ..Self::default()
            });
        };
        let path_error = |part: &str, name: &str, error: QuantityError| {
            format!("status.resourceSummary.{part}[{name}]: {error}")
        };
        let mut free = BTreeMap::new();
        for (name, text) in &summary.allocatable {
            let mut left = text
                .get()
                .map_err(|error| path_error("allocatable", name, error))?
                .0;
            for (part, list) in used(summary) {
                if let Some(text) = list.get(name) {
                    left = left.saturating_sub(text.get().map_err(|error| path_error(part, name, error))?.0);
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
            pods: Some(pods.clamp(0, MOST)),
            free: free.into_values().collect(),
            nodes: nodes.unwrap_or_default(),
            estimates,
        })
    }

    /// The resources by which the room is counted.
    pub(crate) const fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// Room for further replicas of `request`, each of which takes `measure` on clusters of this shape.
    pub(crate) fn room(&self, request: Option<&Request>, measure: &Measure) -> Room {
        let general = self.general(measure);
        let estimated =
            request.and_then(|request| self.estimates.iter().find(|answer| answer.is_about(request)));
        match estimated {
            Some(answer) if answer.replicas < general.replicas => Room {
                replicas: answer.replicas,
                bound: RoomLimit::Estimator(answer.clone()),
            },
            _ => general,
        }
    }

    fn general(&self, measure: &Measure) -> Room {
        let none = |bound| Room { replicas: 0, bound };
        let pods = match self.pods {
            None => return none(RoomLimit::NoSummary),
            Some(0) => return none(RoomLimit::Pods),
            Some(pods) => pods,
        };
        let by_pods = Room {
            replicas: pods,
            bound: RoomLimit::Pods,
        };
        let by_resources = match measure {
            Measure::Pod => return by_pods,
            Measure::None(bound) => return none(bound.clone()),
            Measure::Resources(parts) => self.by_summary(parts),
            Measure::PerNode(replicas) => Some(self.by_nodes(replicas)),
        };
        match by_resources {
            Some(room) if room.replicas < pods => room,
            _ => by_pods,
        }
    }

    /// The room by the free resources of the whole cluster; `None` without requests.
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
            bound: RoomLimit::Resource(Arc::clone(&part.name)),
        })
    }

    /// The room on all nodes; `replicas` has the number that one node takes, by its size.
    fn by_nodes(&self, replicas: &[i64]) -> Room {
        let sizes = self.nodes.iter().zip(replicas);
        let room = sizes.fold(0_i64, |sum, (nodes, replicas)| {
            sum.saturating_add(nodes.saturating_mul(*replicas))
        });
        Room {
            replicas: room.min(MOST),
            bound: RoomLimit::Models,
        }
    }
}

/// Amounts in use, by the name of the field.
fn used(summary: &ResourceSummary) -> [(&'static str, &ResourceList); 2] {
    [
        ("allocated", &summary.allocated),
        ("allocating", &summary.allocating),
    ]
}

fn units(list: &ResourceList, name: &str) -> Result<i64, QuantityError> {
    list.get(name)
        .map_or(Ok(0), |text| text.get().map(Quantity::units))
}

#[cfg(test)]
mod tests;
