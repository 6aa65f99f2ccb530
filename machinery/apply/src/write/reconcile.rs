//! Adaptation of managed fields to a schema that has changed since they were recorded.

use super::Versions;
use crate::element::Element;
use crate::fields::Set;
use crate::managers::Managers;
use crate::types::{DEDUCED, Node, Types};

impl Managers {
    /// Drops entries of versions that are no longer served, and makes the other entries fit the schema: the
    /// owner of fields in a value that has become one leaf owns the leaf.
    pub(super) fn reconcile(&mut self, versions: &dyn Versions) {
        self.entries
            .retain(|_, entry| match versions.types(&entry.api_version) {
                Some(types) => {
                    types.reconcile(&mut entry.set);
                    true
                }
                None => false,
            });
    }
}

impl Types {
    fn reconcile(&self, set: &mut Set) {
        reconcile(&self.root, set);
    }
}

fn reconcile(node: &Node, set: &mut Set) {
    if set.below.is_empty() {
        return;
    }
    if let Some(shape) = &node.object {
        if shape.is_deduced() {
            return;
        }
        if shape.atomic {
            *set = Set::leaf();
            return;
        }
        for (element, below) in &mut set.below {
            if let Element::Field(name) = element {
                reconcile(shape.field(name).unwrap_or(&DEDUCED), below);
            }
        }
    } else if let (Some(list), None) = (&node.list, node.scalar) {
        if !list.is_granular() {
            *set = Set::leaf();
            return;
        }
        for below in set.below.values_mut() {
            reconcile(&list.items, below);
        }
    }
}
