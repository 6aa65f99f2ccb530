//! The managers of `/scale`: owners of the one field that Scale and the object share.

use std::collections::BTreeMap;

use super::{Entry, Identity, Managers, Operation};
use crate::element::Element;
use crate::fields::Set;

const SCALE: &str = "autoscaling/v1";

impl Managers {
    /// The owners of `replicas`, a path of the object, as owners of `spec.replicas` of its Scale.
    #[must_use]
    pub fn to_scale(&self, replicas: &[Element]) -> Self {
        let owners = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.set.contains(replicas));
        let entries = owners.map(|(identity, entry)| {
            let entry = Entry {
                api_version: SCALE.to_owned(),
                time: entry.time,
                set: spec_replicas(),
            };
            (in_version(identity, SCALE), entry)
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// The owners of the object after a write to its Scale, whose owners are `scale` now: who lost `spec.replicas` there
    /// loses `replicas` here; who won it gets an entry in `api_version`, the object's.
    #[must_use]
    pub fn from_scale(mut self, scale: &Self, replicas: &[Element], api_version: &str) -> Self {
        let mut lost = Set::default();
        lost.insert(replicas.iter().cloned());
        let mut winners: BTreeMap<&Identity, &Entry> = scale
            .entries
            .iter()
            .filter(|(_, entry)| entry.set.contains(&scale_path()))
            .collect();
        let mut kept = Vec::new();
        for (identity, entry) in &mut self.entries {
            if !entry.set.contains(replicas) {
                continue;
            }
            let in_scale = in_version(identity, SCALE);
            if winners.contains_key(&in_scale) {
                kept.push(in_scale);
            } else {
                entry.set = entry.set.difference(&lost);
            }
        }
        winners.retain(|identity, _| !kept.contains(identity));
        for winner in winners.into_keys() {
            let owner = self
                .entries
                .entry(in_version(winner, api_version))
                .or_insert_with(|| Entry {
                    api_version: api_version.to_owned(),
                    time: None,
                    set: Set::default(),
                });
            owner.set.insert(replicas.iter().cloned());
        }
        self.tidy();
        self
    }
}

fn in_version(identity: &Identity, api_version: &str) -> Identity {
    let mut identity = identity.clone();
    if identity.operation == Operation::Update {
        api_version.clone_into(&mut identity.api_version);
    }
    identity
}

fn scale_path() -> [Element; 2] {
    ["spec", "replicas"].map(|name| Element::Field(name.to_owned()))
}

fn spec_replicas() -> Set {
    let mut set = Set::default();
    set.insert(scale_path());
    set
}
