//! Counters that Kubernetes named without `_total`.
//!
//! The exposition format puts `_total` behind every counter, and dashboards would not find these under that
//! name. So they are exposed without a type, which leaves names alone; rates are computed from the samples
//! all the same.

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::{MetricType, TypedMetric};

#[derive(Clone, Debug, Default)]
pub(super) struct UnsuffixedCounter(Counter);

impl UnsuffixedCounter {
    pub(super) fn inc(&self) {
        self.0.inc();
    }
}

impl TypedMetric for UnsuffixedCounter {
    const TYPE: MetricType = MetricType::Unknown;
}

impl EncodeMetric for UnsuffixedCounter {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        // The encoder calls a sample without a suffix a gauge.
        encoder.encode_gauge(&self.0.get())
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
