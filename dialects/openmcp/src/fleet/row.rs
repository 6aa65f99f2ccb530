//! A Cluster as scheduling sees it.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Meta, Object};

use super::Place;
use super::intern::Names;
use crate::kind::cluster::Cluster;
use crate::names::{DELETE_LABEL, USE_FINALIZER};

/// Facts for every decision, in one stretch of memory.
#[derive(Clone)]
pub(crate) struct Row {
    /// Facts for words, views and writes only.
    pub(crate) record: Arc<ClusterRecord>,
    /// The facts for the filters.
    pub(crate) facts: Facts,
    /// Number of requests that use it.
    pub(crate) used: u32,
}

/// Facts for the filters, the number of requests apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    /// The namespace.
    pub(crate) namespace: u32,
    /// The list of purposes.
    pub(crate) purposes: u32,
    /// It is for one request only.
    pub(crate) exclusive: bool,
    /// It is being deleted.
    pub(crate) deleting: bool,
    /// The labels, key and value.
    pub(crate) labels: Arc<[(u32, u32)]>,
}

/// A Cluster and the object it was read from.
pub(crate) struct ClusterRecord {
    pub(crate) object: Arc<Object>,
    pub(crate) place: Place,
    /// `<namespace>/<name>`.
    pub(crate) cluster_name: Arc<str>,
    pub(crate) view: Cluster,
}

impl Row {
    /// Reads a Cluster at `place`.
    ///
    /// # Errors
    /// Reason why it cannot be read.
    pub(crate) fn read(place: Place, object: &Arc<Object>, names: &mut Names) -> Result<Self, String> {
        let view: Cluster = object.view().map_err(|error| error.to_string())?;
        let meta = object.meta();
        let labels = meta.labels().iter();
        let facts = Facts {
            namespace: names.namespaces.number(&place.namespace),
            purposes: names.purposes.number(&view.spec.purposes),
            exclusive: view.spec.tenancy == "Exclusive",
            deleting: meta.deletion_timestamp().is_some(),
            labels: labels
                .map(|(key, value)| (names.labels.number(key), names.labels.number(value)))
                .collect(),
        };
        Ok(Self {
            used: u32::try_from(holders_of(meta).len()).unwrap_or(u32::MAX),
            facts,
            record: Arc::new(ClusterRecord {
                object: Arc::clone(object),
                cluster_name: place.to_string().into(),
                place,
                view,
            }),
        })
    }

    /// Namespace and name of the Cluster.
    pub(crate) fn place(&self) -> &Place {
        &self.record.place
    }

    /// Its purposes.
    pub(crate) fn purposes(&self) -> &[String] {
        &self.record.view.spec.purposes
    }
}

/// The holders a Cluster has finalizers of, each once, for every purpose, existing or not.
pub(crate) fn holders_of(meta: &Meta) -> BTreeSet<&str> {
    let finalizers = meta.finalizers().iter();
    finalizers
        .filter_map(|finalizer| finalizer.strip_prefix(USE_FINALIZER))
        .collect()
}

/// Whether a Cluster goes with its last request: the label has exactly the value `true`.
pub(crate) fn goes_with_last(meta: &Meta) -> bool {
    meta.labels()
        .get(DELETE_LABEL)
        .is_some_and(|value| value == "true")
}
