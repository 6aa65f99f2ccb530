//! `apiserver_storage_objects`: the number of objects of each stored resource, counted at each scrape.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use berth_apimachinery::GroupResource;
use berth_storage::Store;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

/// Collector of the numbers of stored objects: the stored resources by name, each with a store. Resources
/// that share their stored objects count once.
pub(super) struct ObjectCounts(BTreeMap<String, (GroupResource, Arc<dyn Store>)>);

impl ObjectCounts {
    pub(super) fn of(stored: impl IntoIterator<Item = (GroupResource, Arc<dyn Store>)>) -> Self {
        let stored = stored.into_iter();
        Self(
            stored
                .map(|(resource, store)| (resource.to_string(), (resource, store)))
                .collect(),
        )
    }
}

impl Collector for ObjectCounts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut family = encoder.encode_descriptor(
            "apiserver_storage_objects",
            "Stored objects by resource",
            None,
            MetricType::Gauge,
        )?;
        for (name, (resource, store)) in &self.0 {
            let count = store.cached(*resource).items.len();
            let labels = [("resource", name.as_str())];
            ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl fmt::Debug for ObjectCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}
