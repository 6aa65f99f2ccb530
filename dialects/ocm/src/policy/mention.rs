//! The parts of a cluster that the selectors of a policy read, in addition to the parts that every decision
//! reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Labels;
use berth_apimachinery::selector::Selector;

use super::Policy;
use crate::cluster::Cluster;

/// A part of a cluster that the selectors of a policy read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mention {
    /// The whole cluster, which an expression may read.
    Anything,
    /// The label with this key.
    Label(Arc<str>),
    /// The claim with this name.
    Claim(Arc<str>),
}

impl Mention {
    /// [`Mention::Anything`], and the labels and claims that differ between two versions of a cluster.
    pub(crate) fn of_difference(old: &Cluster, new: &Cluster) -> Vec<Self> {
        let labels = changed(old.labels(), new.labels()).map(|key| Self::Label(key.into()));
        let claims = changed(&old.claims, &new.claims).map(|name| Self::Claim(name.into()));
        [Self::Anything].into_iter().chain(labels).chain(claims).collect()
    }
}

/// The keys that only one of the two maps has, or that have different values in the two.
fn changed<'a>(old: &'a Labels, new: &'a Labels) -> impl Iterator<Item = &'a str> {
    let removed = old.keys().filter(|key| !new.contains_key(key));
    let set = new.iter().filter(|(key, value)| old.get(key) != Some(*value));
    removed.chain(set.map(|(key, _)| key))
}

impl Policy {
    /// The parts of clusters that the selectors of the policy read.
    pub(crate) fn mentions(&self) -> BTreeSet<Mention> {
        let mut mentions = BTreeSet::new();
        if self.uses_cel() {
            mentions.insert(Mention::Anything);
        }
        let mut add = |labels: &Selector, claims: &Selector| {
            let labels = labels.requirements.iter();
            mentions.extend(labels.map(|one| Mention::Label(one.key.as_str().into())));
            let claims = claims.requirements.iter();
            mentions.extend(claims.map(|one| Mention::Claim(one.key.as_str().into())));
        };
        for one in self.predicates.iter().flatten() {
            add(&one.labels, &one.claims);
        }
        for one in self.groups.iter().flat_map(|groups| &groups.named) {
            add(&one.labels, &one.claims);
        }
        mentions
    }
}
