//! The data of a Cluster for decisions.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Meta, Object};

use super::Place;
use super::intern::InternedTexts;
use crate::kind::cluster::Cluster;
use crate::names::{DELETE_LABEL, USE_FINALIZER};

/// A Cluster in the inventory. Rows are contiguous in memory, since every decision reads the facts of all
/// rows.
#[derive(Clone)]
pub(crate) struct Row {
    /// The Cluster with its object, which filters do not read.
    pub(crate) record: Arc<ClusterRecord>,
    /// The facts for the filters.
    pub(crate) facts: Facts,
    /// Number of requests that use the Cluster.
    pub(crate) used: u32,
}

/// The facts about a Cluster that filters compare, except the number of requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    /// The interned namespace.
    pub(crate) namespace: u32,
    /// The number of the list of purposes.
    pub(crate) purposes: u32,
    /// Whether the Cluster is for one request only.
    pub(crate) exclusive: bool,
    /// Whether the Cluster is being deleted.
    pub(crate) deleting: bool,
    /// The labels, as interned keys and values.
    pub(crate) labels: Arc<[(u32, u32)]>,
}

/// A Cluster with its object.
pub(crate) struct ClusterRecord {
    pub(crate) object: Arc<Object>,
    pub(crate) place: Place,
    /// The cluster name, `<namespace>/<name>`.
    pub(crate) cluster_name: Arc<str>,
    pub(crate) view: Cluster,
}

impl Facts {
    /// Reads the facts, with numbers from `texts`.
    fn read(place: &Place, view: &Cluster, meta: &Meta, texts: &mut InternedTexts) -> Self {
        let labels = meta.labels().iter();
        Self {
            namespace: texts.namespaces.number(&place.namespace),
            purposes: texts.purposes.number(&view.spec.purposes),
            exclusive: view.spec.tenancy == "Exclusive",
            deleting: meta.deletion_timestamp().is_some(),
            labels: labels
                .map(|(key, value)| (texts.labels.number(key), texts.labels.number(value)))
                .collect(),
        }
    }
}

impl Row {
    /// Parses the Cluster at `place`.
    ///
    /// # Errors
    /// The reason why the object cannot be parsed.
    pub(crate) fn read(
        place: Place,
        object: &Arc<Object>,
        texts: &mut InternedTexts,
    ) -> Result<Self, String> {
        let view: Cluster = object.view().map_err(|error| error.to_string())?;
        let meta = object.meta();
        Ok(Self {
            used: u32::try_from(holders_of(meta).len()).unwrap_or(u32::MAX),
            facts: Facts::read(&place, &view, meta, texts),
            record: Arc::new(ClusterRecord {
                object: Arc::clone(object),
                cluster_name: place.to_string().into(),
                place,
                view,
            }),
        })
    }

    /// The row with numbers from `texts`.
    pub(super) fn renumbered(&self, texts: &mut InternedTexts) -> Self {
        let ClusterRecord {
            object, place, view, ..
        } = &*self.record;
        Self {
            facts: Facts::read(place, view, object.meta(), texts),
            ..self.clone()
        }
    }

    /// Namespace and name of the Cluster.
    pub(crate) fn place(&self) -> &Place {
        &self.record.place
    }

    /// The purposes of the Cluster.
    pub(crate) fn purposes(&self) -> &[String] {
        &self.record.view.spec.purposes
    }
}

/// The holders with a finalizer on a Cluster, each once, including holders whose requests do not exist.
pub(crate) fn holders_of(meta: &Meta) -> BTreeSet<&str> {
    let finalizers = meta.finalizers().iter();
    finalizers
        .filter_map(|finalizer| finalizer.strip_prefix(USE_FINALIZER))
        .collect()
}

/// Whether the Cluster with `meta` is deleted with its last request: the value of the label is exactly
/// `true`.
pub(crate) fn is_deleted_with_last_request(meta: &Meta) -> bool {
    meta.labels()
        .get(DELETE_LABEL)
        .is_some_and(|value| value == "true")
}
