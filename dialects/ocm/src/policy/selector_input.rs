//! The parts of a cluster that the selectors of a policy read, beyond what every decision reads. A change of
//! only such a part makes only the policies due that read it.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Labels;
use berth_apimachinery::selector::Selector;

use super::Policy;
use crate::cluster::Cluster;

/// A part of a cluster that the selectors of a policy read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SelectorInput {
    /// The whole cluster, which an expression may read.
    Cluster,
    /// The label with this key.
    Label(Arc<str>),
    /// The claim with this name.
    Claim(Arc<str>),
}

impl SelectorInput {
    /// [`SelectorInput::Cluster`], and the labels and claims that differ between two versions of a cluster.
    pub(crate) fn of_difference(old: &Cluster, new: &Cluster) -> Vec<Self> {
        let labels = changed(old.labels(), new.labels()).map(|key| Self::Label(key.into()));
        let claims = changed(&old.claims, &new.claims).map(|name| Self::Claim(name.into()));
        [Self::Cluster].into_iter().chain(labels).chain(claims).collect()
    }
}

/// The keys that only one of the maps has, or that have different values in the maps.
fn changed<'a>(old: &'a Labels, new: &'a Labels) -> impl Iterator<Item = &'a str> {
    let removed = old.keys().filter(|key| !new.contains_key(key));
    let set = new.iter().filter(|(key, value)| old.get(key) != Some(*value));
    removed.chain(set.map(|(key, _)| key))
}

impl Policy {
    /// The parts of clusters that the selectors of the policy read.
    pub(crate) fn selector_inputs(&self) -> BTreeSet<SelectorInput> {
        let mut inputs = BTreeSet::new();
        if self.uses_cel() {
            inputs.insert(SelectorInput::Cluster);
        }
        let mut add = |labels: &Selector, claims: &Selector| {
            let labels = labels.requirements.iter();
            inputs.extend(labels.map(|requirement| SelectorInput::Label(requirement.key.as_str().into())));
            let claims = claims.requirements.iter();
            inputs.extend(claims.map(|requirement| SelectorInput::Claim(requirement.key.as_str().into())));
        };
        for predicate in self.predicates.iter().flatten() {
            add(&predicate.labels, &predicate.claims);
        }
        for group in self.groups.iter().flat_map(|groups| &groups.named) {
            add(&group.labels, &group.claims);
        }
        inputs
    }
}
