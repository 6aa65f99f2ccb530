//! A MemberCluster, parsed once per change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::types::{QuantityText, condition};
use berth_apimachinery::{Key, Labels, Object};

use crate::eligibility::{EligibilityReports, IneligibilityReason, Limits};
use crate::kind::{MemberCluster, MemberClusterStatus, PropertyValue, Taint};
use crate::names::{NAMESPACES_COLLECTED, RESOURCE_PROPERTY_PREFIX};

/// The value of a property that is a quantity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Amount {
    /// The exact quantity, for comparisons.
    pub(crate) exact: Quantity,
    /// The nearest 64-bit float, for scaled weights.
    pub(crate) near: f64,
    /// The text in the object, for messages.
    pub(crate) text: Arc<str>,
}

impl Amount {
    fn of(text: &str) -> Option<Self> {
        let exact = Quantity::parse(text).ok()?;
        Some(Self {
            exact,
            near: exact.as_f64(),
            text: text.into(),
        })
    }
}

/// The data of a MemberCluster that decisions use.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The name of the cluster.
    pub(crate) name: Arc<str>,
    /// The MemberCluster itself.
    pub(crate) object: Arc<Object>,
    /// The reports of the member agent that determine eligibility.
    pub(crate) eligibility: EligibilityReports,
    /// The taints of the cluster.
    pub(crate) taints: Arc<[Taint]>,
    /// The properties whose values are quantities, by name, including the properties that are read from
    /// `status.resourceUsage`.
    pub(crate) properties: BTreeMap<Arc<str>, Amount>,
    /// The properties whose values are not quantities, by name, such as the version of Kubernetes.
    pub(crate) non_quantities: BTreeMap<Arc<str>, Arc<str>>,
    /// The namespaces of the cluster, as its agent reports them.
    pub(crate) namespaces: Namespaces,
    /// The reason why the MemberCluster cannot be parsed; `None` if it can.
    pub(crate) problem: Option<String>,
}

/// The namespaces of a cluster, as its agent reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespaces {
    /// The agent does not collect namespaces.
    Uncollected,
    /// The agent collects namespaces, but has not reported any list of them.
    Unknown,
    /// The agent reports these namespaces.
    Known(Arc<BTreeSet<Arc<str>>>),
}

/// The namespaces whose placements can use a cluster only since its last change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum NewNamespaces<'a> {
    /// No namespace.
    #[default]
    None,
    /// All namespaces.
    All,
    /// The namespaces with these names.
    Some(Vec<&'a str>),
}

impl NewNamespaces<'_> {
    /// Whether the change affects no namespace.
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Whether the change affects placements in `namespace`. The namespace of cluster-scoped placements is
    /// empty, and never affected.
    pub(crate) fn contains(&self, namespace: &str) -> bool {
        !namespace.is_empty()
            && match self {
                Self::None => false,
                Self::All => true,
                Self::Some(names) => names.binary_search(&namespace).is_ok(),
            }
    }
}

impl Namespaces {
    fn of(status: &MemberClusterStatus) -> Self {
        if condition(&status.conditions, NAMESPACES_COLLECTED).is_none() {
            return Self::Uncollected;
        }
        match &status.namespaces {
            None => Self::Unknown,
            Some(list) => Self::Known(Arc::new(
                list.keys().map(|name| Arc::from(name.as_str())).collect(),
            )),
        }
    }
}

impl Cluster {
    /// Parses the MemberCluster `object` at `key`.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>) -> Result<Self, String> {
        let view = object.view().map_err(|error| error.to_string())?;
        Ok(Self::of(key, object, view))
    }

    /// The MemberCluster `object` at `key`, which cannot be parsed because of `problem`. The cluster still
    /// exists, so that it keeps its bindings. It gets no others, since it is not eligible.
    pub(crate) fn unreadable(key: &Key, object: &Arc<Object>, problem: String) -> Self {
        let cluster = Self::of(key, object, MemberCluster::default());
        Self {
            eligibility: EligibilityReports {
                readable: false,
                ..cluster.eligibility
            },
            problem: Some(problem),
            ..cluster
        }
    }

    fn of(key: &Key, object: &Arc<Object>, view: MemberCluster) -> Self {
        let leaving = object.meta().deletion_timestamp().is_some();
        Self {
            name: Arc::clone(&key.name),
            object: Arc::clone(object),
            eligibility: EligibilityReports::of(&view, leaving),
            namespaces: Namespaces::of(&view.status),
            properties: properties(&view),
            non_quantities: non_quantities(&view),
            taints: view.spec.taints.into(),
            problem: None,
        }
    }

    /// The sentence about `reason`, because of which the cluster is not eligible.
    pub(crate) fn ineligibility(&self, reason: IneligibilityReason, limits: Limits) -> String {
        let sentence = reason.sentence(&self.eligibility, limits);
        match &self.problem {
            Some(problem) if reason == IneligibilityReason::Unreadable => format!("{sentence}: {problem}"),
            _ => sentence,
        }
    }

    /// The labels of the cluster.
    pub(crate) fn labels(&self) -> &Labels {
        self.object.meta().labels()
    }

    /// Whether the change from `old` may make the cluster fit a placement that it did not fit before. Changes
    /// of properties and namespaces are not considered (docs/systems/fleet.md, "When it runs").
    pub(crate) fn improves_on(&self, old: Option<&Self>, limits: Limits) -> bool {
        let Some(old) = old else {
            return !self.eligibility.leaving;
        };
        let has_lost_taint = old.taints.iter().any(|taint| !self.taints.contains(taint));
        let better = self.labels() != old.labels() || has_lost_taint;
        !self.eligibility.leaving && (better || self.eligibility.improves_on(&old.eligibility, limits))
    }

    /// The namespaces whose placements may use the cluster now, and could not use its former state `old`.
    pub(crate) fn new_namespaces<'a>(&'a self, old: &Self) -> NewNamespaces<'a> {
        match (&old.namespaces, &self.namespaces) {
            (Namespaces::Unknown | Namespaces::Known(_), Namespaces::Uncollected) => NewNamespaces::All,
            (old, Namespaces::Known(now)) => {
                let was_usable = |name: &&Arc<str>| match old {
                    Namespaces::Uncollected => true,
                    Namespaces::Unknown => false,
                    Namespaces::Known(before) => before.contains(*name),
                };
                let new: Vec<&str> = now
                    .iter()
                    .filter(|name| !was_usable(name))
                    .map(|name| &**name)
                    .collect();
                match new.is_empty() {
                    true => NewNamespaces::None,
                    false => NewNamespaces::Some(new),
                }
            }
            _ => NewNamespaces::None,
        }
    }

    /// The names of the properties whose quantities differ from those in the former state `old`.
    pub(crate) fn changed_properties<'a>(&'a self, old: &'a Self) -> Vec<&'a str> {
        let differs = |name: &&Arc<str>| self.properties.get(*name) != old.properties.get(*name);
        let mut names: Vec<&str> = self
            .properties
            .keys()
            .filter(differs)
            .map(|name| &**name)
            .collect();
        names.extend(
            old.properties
                .keys()
                .filter(|name| !self.properties.contains_key(*name))
                .map(|name| &**name),
        );
        names
    }

    /// The names of the properties whose values here are not quantities, and which have another value or none
    /// in `new`, the next state of the cluster. `None` is a cluster that is gone.
    pub(crate) fn lost_non_quantities(&self, new: Option<&Self>) -> Vec<&str> {
        let kept = |name: &Arc<str>| new.and_then(|new| new.non_quantities.get(name));
        let own = self.non_quantities.iter();
        own.filter(|(name, value)| kept(name) != Some(*value))
            .map(|(name, _)| &**name)
            .collect()
    }
}

/// The properties in `status.properties`, without names that are reserved for `status.resourceUsage`.
fn own_properties(view: &MemberCluster) -> impl Iterator<Item = (&String, &PropertyValue)> {
    let all = view.status.properties.iter();
    all.filter(|(name, _)| !name.starts_with(RESOURCE_PROPERTY_PREFIX))
}

fn non_quantities(view: &MemberCluster) -> BTreeMap<Arc<str>, Arc<str>> {
    own_properties(view)
        .filter(|(_, property)| Quantity::parse(&property.value).is_err())
        .map(|(name, property)| (name.as_str().into(), property.value.as_str().into()))
        .collect()
}

fn properties(view: &MemberCluster) -> BTreeMap<Arc<str>, Amount> {
    let own = own_properties(view);
    let mut list: BTreeMap<Arc<str>, Amount> = own
        .filter_map(|(name, property)| Some((name.as_str().into(), Amount::of(&property.value)?)))
        .collect();
    let usage = &view.status.resource_usage;
    let parts: [(&str, &BTreeMap<String, QuantityText>); 3] = [
        ("total", &usage.capacity),
        ("allocatable", &usage.allocatable),
        ("available", &usage.available),
    ];
    for (part, resources) in parts {
        for (resource, amount) in resources {
            let amount = match amount {
                QuantityText::Text(text) => Amount::of(text),
                QuantityText::Number(number) => Amount::of(&number.to_string()),
            };
            if let Some(amount) = amount {
                list.insert(
                    format!("{RESOURCE_PROPERTY_PREFIX}{part}-{resource}").into(),
                    amount,
                );
            }
        }
    }
    list
}
