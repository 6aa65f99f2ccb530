//! Results of admission policies for writes, under kube-apiserver's names (docs/reference.md, "Health,
//! metrics, stopping").

use std::sync::Arc;

use berth_policies::{Check, PolicyType};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use super::Metrics;

/// Buckets of durations, in seconds.
const LATENCIES: [f64; 5] = [0.000_000_5, 0.001, 0.01, 0.1, 1.0];

fn latencies() -> Histogram {
    Histogram::new(LATENCIES)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ValidationLabels {
    policy: String,
    policy_binding: String,
    error_type: &'static str,
    enforcement_action: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MutationLabels {
    policy: String,
    policy_binding: String,
    error_type: &'static str,
}

/// Metrics of admission policies. [`Metrics::count_policies`] exposes them.
#[derive(Debug)]
pub struct PolicyMetrics {
    validations: Family<ValidationLabels, Counter>,
    validation_seconds: Family<ValidationLabels, Histogram, fn() -> Histogram>,
    mutations: Family<MutationLabels, Counter>,
    mutation_seconds: Family<MutationLabels, Histogram, fn() -> Histogram>,
}

impl PolicyMetrics {
    /// Creates the metrics, at zero.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            validations: Family::default(),
            validation_seconds: Family::new_with_constructor(latencies),
            mutations: Family::default(),
            mutation_seconds: Family::new_with_constructor(latencies),
        })
    }

    /// Records the evaluation of a policy for a write.
    pub fn checked(&self, check: &Check<'_>) {
        let (policy, policy_binding) = (check.policy.to_owned(), check.binding.to_owned());
        let (error_type, seconds) = (check.error.label(), check.took.as_secs_f64());
        match check.policy_type {
            PolicyType::Validating => {
                let labels = ValidationLabels {
                    policy,
                    policy_binding,
                    error_type,
                    enforcement_action: check.enforcement.label(),
                };
                self.validations.get_or_create(&labels).inc();
                self.validation_seconds.get_or_create(&labels).observe(seconds);
            }
            PolicyType::Mutating => {
                let labels = MutationLabels {
                    policy,
                    policy_binding,
                    error_type,
                };
                self.mutations.get_or_create(&labels).inc();
                self.mutation_seconds.get_or_create(&labels).observe(seconds);
            }
        }
    }
}

impl Metrics {
    /// Exposes the metrics of `policies`.
    pub fn count_policies(&self, policies: &PolicyMetrics) {
        self.register(|registry| {
            registry.register(
                "apiserver_validating_admission_policy_check",
                "Validations of ValidatingAdmissionPolicies that were false or could not be evaluated, by policy, binding, \
                 error and consequence",
                policies.validations.clone(),
            );
            registry.register(
                "apiserver_validating_admission_policy_check_duration_seconds",
                "Seconds of the evaluation of validations",
                policies.validation_seconds.clone(),
            );
            registry.register(
                "apiserver_mutating_admission_policy_check",
                "Mutations of MutatingAdmissionPolicies that were applied or could not be evaluated, by policy, binding and error",
                policies.mutations.clone(),
            );
            registry.register(
                "apiserver_mutating_admission_policy_check_duration_seconds",
                "Seconds of the evaluation of mutations",
                policies.mutation_seconds.clone(),
            );
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use berth_policies::{Enforcement, ErrorType};

    use super::*;

    #[test]
    fn names_labels_and_buckets_are_those_of_kube_apiserver() {
        let (metrics, policies) = (Metrics::new(), PolicyMetrics::new());
        metrics.count_policies(&policies);
        let check = |policy_type, error, enforcement| Check {
            policy_type,
            policy: "p",
            binding: "b",
            error,
            enforcement,
            took: Duration::from_micros(20),
        };
        policies.checked(&check(PolicyType::Validating, ErrorType::None, Enforcement::Deny));
        policies.checked(&check(
            PolicyType::Validating,
            ErrorType::OutOfBudget,
            Enforcement::Allow,
        ));
        policies.checked(&check(
            PolicyType::Mutating,
            ErrorType::Compile,
            Enforcement::Deny,
        ));
        let text = metrics.render().unwrap();
        for line in [
            r#"apiserver_validating_admission_policy_check_total{policy="p",policy_binding="b",error_type="no_error",enforcement_action="deny"} 1"#,
            r#"apiserver_validating_admission_policy_check_total{policy="p",policy_binding="b",error_type="out_of_budget",enforcement_action="allow"} 1"#,
            r#"apiserver_mutating_admission_policy_check_total{policy="p",policy_binding="b",error_type="compile_error"} 1"#,
            r#"apiserver_validating_admission_policy_check_duration_seconds_bucket{le="0.001",policy="p",policy_binding="b",error_type="no_error",enforcement_action="deny"} 1"#,
            r#"apiserver_mutating_admission_policy_check_duration_seconds_count{policy="p",policy_binding="b",error_type="compile_error"} 1"#,
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
        }
    }
}
