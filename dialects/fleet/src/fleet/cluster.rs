//! A MemberCluster, parsed once per change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::types::{QuantityText, condition};
use berth_apimachinery::{Key, Labels, Object};

use crate::eligibility::{EligibilityReports, Limits};
use crate::kind::{self, MemberCluster, MemberClusterStatus, PropertyValue, Taint};
use crate::names::{NAMESPACES_COLLECTED, RESOURCE_PROPERTY_PREFIX};

/// The value of a property: an exact quantity for comparisons, a 64-bit float for scaling, and the text for
/// messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Amount {
    /// The quantity.
    pub(crate) exact: Quantity,
    /// The nearest 64-bit float.
    pub(crate) near: f64,
    /// The text in the object.
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
    /// The name.
    pub(crate) name: Arc<str>,
    /// The object.
    pub(crate) object: Arc<Object>,
    /// The reports for eligibility.
    pub(crate) standing: EligibilityReports,
    /// The taints.
    pub(crate) taints: Arc<[Taint]>,
    /// The properties that are quantities, including those from the resource usage.
    pub(crate) properties: BTreeMap<Arc<str>, Amount>,
    /// The values of the properties that are not quantities, such as the version of Kubernetes.
    pub(crate) unreadable: BTreeMap<Arc<str>, Arc<str>>,
    /// The namespaces that the agent reports.
    pub(crate) namespaces: Namespaces,
}

/// The namespaces of a cluster, as its agent reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespaces {
    /// The agent does not collect namespaces.
    Uncollected,
    /// The agent collects namespaces, and reports none.
    Unknown,
    /// The agent reports these namespaces.
    Known(Arc<BTreeSet<Arc<str>>>),
}

/// The namespaces whose placements are affected by a change of a cluster.
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
    /// Whether no namespace is affected.
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Whether a change affects placements of `namespace`, which is empty for cluster-scoped
    /// placements.
    pub(crate) fn concern(&self, namespace: &str) -> bool {
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
    /// Parses a cluster.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(key: &Key, object: &Arc<Object>) -> Result<Self, String> {
        let view: MemberCluster = kind::view(key, object)?;
        let leaving = object.meta().deletion_timestamp().is_some();
        Ok(Self {
            name: Arc::clone(&key.name),
            object: Arc::clone(object),
            standing: EligibilityReports::of(&view, leaving),
            namespaces: Namespaces::of(&view.status),
            properties: properties(&view),
            unreadable: unreadable(&view),
            taints: view.spec.taints.into(),
        })
    }

    /// The labels.
    pub(crate) fn labels(&self) -> &Labels {
        self.object.meta().labels()
    }

    /// Whether the change from `old` may make the cluster fit where it did not fit, regardless of properties
    /// (docs/systems/fleet.md, "When it runs").
    pub(crate) fn improves_on(&self, old: Option<&Self>, limits: Limits) -> bool {
        let Some(old) = old else {
            return !self.standing.leaving;
        };
        let has_lost_taint = old.taints.iter().any(|taint| !self.taints.contains(taint));
        let better = self.labels() != old.labels() || has_lost_taint;
        !self.standing.leaving && (better || self.standing.improves_on(&old.standing, limits))
    }

    /// The namespaces whose placements may use the cluster now, and could not in its former state `old`.
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

    /// The names of the properties whose quantities differ from `old`.
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
}

/// The properties that the cluster reports itself, without those from the resource usage.
fn own_properties(view: &MemberCluster) -> impl Iterator<Item = (&String, &PropertyValue)> {
    let all = view.status.properties.iter();
    all.filter(|(name, _)| !name.starts_with(RESOURCE_PROPERTY_PREFIX))
}

fn unreadable(view: &MemberCluster) -> BTreeMap<Arc<str>, Arc<str>> {
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
