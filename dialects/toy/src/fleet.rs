//! The known objects: toys and boxes.

pub(crate) mod fold;

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use berth_scheduling::Ix;

/// The known objects. Boxes are candidates in the order of their names.
#[derive(Clone, Default)]
pub(crate) struct Fleet {
    pub(crate) toys: BTreeMap<Key, Arc<Object>>,
    pub(crate) boxes: BTreeMap<Arc<str>, Arc<Object>>,
}

/// The box of a toy.
pub(crate) fn place_of(toy: &Object) -> Option<Arc<str>> {
    toy.value()["spec"]["box"].as_str().map(Arc::from)
}

impl Fleet {
    /// The box with the index `candidate`, and its name.
    pub(crate) fn find(&self, candidate: Ix) -> Option<(&Arc<str>, &Arc<Object>)> {
        self.boxes.iter().nth(candidate as usize)
    }

    /// Number of toys in the box called `name`.
    pub(crate) fn used(&self, name: &str) -> i64 {
        let inside = self
            .toys
            .values()
            .filter(|toy| place_of(toy).as_deref() == Some(name));
        i64::try_from(inside.count()).unwrap_or(i64::MAX)
    }
}
