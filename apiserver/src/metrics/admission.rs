//! Durations and refusals of admission, under kube-apiserver's names (docs/reference.md, "Health, metrics,
//! stopping").

use std::sync::Arc;

use berth_admission::{Observer, Operation, Phase, PluginPass};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use super::Metrics;

/// Buckets of durations, in seconds.
const LATENCIES: [f64; 6] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5];

fn latencies() -> Histogram {
    Histogram::new(LATENCIES)
}

/// Labels of a pass through all plugins.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PassLabels {
    r#type: &'static str,
    operation: &'static str,
    rejected: &'static str,
}

/// Labels of a pass through one plugin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginLabels {
    name: &'static str,
    r#type: &'static str,
    operation: &'static str,
    rejected: &'static str,
}

/// Metrics of admission: of each plugin (in Kubernetes' terms, an admission controller), and of each pass
/// through all plugins.
#[derive(Debug)]
pub struct AdmissionMetrics {
    passes: Family<PassLabels, Histogram, fn() -> Histogram>,
    plugins: Family<PluginLabels, Histogram, fn() -> Histogram>,
}

impl AdmissionMetrics {
    /// Creates the metrics, at zero. [`Metrics::count_admission`] exposes them.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            passes: Family::new_with_constructor(latencies),
            plugins: Family::new_with_constructor(latencies),
        })
    }
}

impl Metrics {
    /// Exposes the metrics of `admission`.
    pub fn count_admission(&self, admission: &AdmissionMetrics) {
        self.register(|registry| {
            registry.register(
                "apiserver_admission_step_admission_duration_seconds",
                "Seconds of a pass of admission, by its type, the operation and whether the write was refused",
                admission.passes.clone(),
            );
            registry.register(
                "apiserver_admission_controller_admission_duration_seconds",
                "Seconds in one admission plugin, by its name, the type of pass, the operation and whether the write was refused",
                admission.plugins.clone(),
            );
        });
    }
}

impl Observer for AdmissionMetrics {
    fn observed(&self, pass: &PluginPass) {
        let r#type = match pass.phase {
            Phase::Mutate => "admit",
            Phase::Validate => "validate",
        };
        let operation = Operation::as_str(pass.operation);
        let rejected = if pass.rejected { "true" } else { "false" };
        let seconds = pass.took.as_secs_f64();
        match pass.plugin {
            Some(name) => self
                .plugins
                .get_or_create(&PluginLabels {
                    name,
                    r#type,
                    operation,
                    rejected,
                })
                .observe(seconds),
            None => self
                .passes
                .get_or_create(&PassLabels {
                    r#type,
                    operation,
                    rejected,
                })
                .observe(seconds),
        }
    }
}
