//! Counters that Kubernetes named without `_total`.
//!
//! The exposition format appends `_total` to the name of every counter, and dashboards would not find these
//! counters under that name. So they are exposed with an unknown type, which keeps their names; rates are
//! computed from the samples in any case.

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
        // A gauge is the encoder's only form of a sample without a suffix.
        encoder.encode_gauge(&self.0.get())
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
