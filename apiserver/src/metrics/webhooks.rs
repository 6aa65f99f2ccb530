//! Durations and results of calls of a hub's admission webhooks, under kube-apiserver's names
//! (docs/reference.md, "Health, metrics, stopping").

use std::sync::Arc;
use std::time::Duration;

use berth_admission::Operation;
use berth_admission::client::WebhookType;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use super::{Metrics, UnsuffixedCounter};

/// Buckets of durations, in seconds.
const LATENCIES: [f64; 8] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0];

/// Highest status code that has a series. Higher codes count as this code, so that webhooks cannot add series
/// without limit.
const HIGHEST_CODE: u16 = 600;

fn latencies() -> Histogram {
    Histogram::new(LATENCIES)
}

/// Reason why a write was refused because of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The webhook refused the write with this code.
    Denied(u16),
    /// The webhook could not be called, or its answer was invalid.
    CallFailed,
    /// The change by the webhook could not be applied.
    Internal,
}

/// Outcome of a call of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The webhook allowed the write.
    Allowed,
    /// The call failed, and the write continues: `failurePolicy` is Ignore.
    FailedOpen,
    /// The call led to the refusal of the write.
    Rejected(Rejection),
}

impl Rejection {
    fn labels(self) -> (&'static str, u16) {
        match self {
            Self::Denied(code) => ("no_error", code.min(HIGHEST_CODE)),
            Self::CallFailed => ("calling_webhook_error", 0),
            Self::Internal => ("apiserver_internal_error", 0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    name: String,
    r#type: &'static str,
    operation: &'static str,
    rejected: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    name: String,
    r#type: &'static str,
    operation: &'static str,
    code: u16,
    rejected: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RejectionLabels {
    name: String,
    r#type: &'static str,
    operation: &'static str,
    error_type: &'static str,
    rejection_code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailOpenLabels {
    name: String,
    r#type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConditionLabels {
    name: String,
    kind: &'static str,
    r#type: &'static str,
    operation: &'static str,
}

/// Metrics of webhooks. [`Metrics::count_webhooks`] exposes them.
#[derive(Debug)]
pub struct WebhookMetrics {
    durations: Family<DurationLabels, Histogram, fn() -> Histogram>,
    requests: Family<RequestLabels, Counter>,
    rejections: Family<RejectionLabels, UnsuffixedCounter>,
    fail_opens: Family<FailOpenLabels, UnsuffixedCounter>,
    exclusions: Family<ConditionLabels, Counter>,
    condition_errors: Family<ConditionLabels, Counter>,
}

impl WebhookMetrics {
    /// Creates the metrics, at zero.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            durations: Family::new_with_constructor(latencies),
            requests: Family::default(),
            rejections: Family::default(),
            fail_opens: Family::default(),
            exclusions: Family::default(),
            condition_errors: Family::default(),
        })
    }

    /// Records a call of the webhook `name`, with its `outcome`.
    pub fn called(
        &self,
        name: &str,
        webhook_type: WebhookType,
        operation: Operation,
        took: Duration,
        outcome: CallOutcome,
    ) {
        let (r#type, operation) = (webhook_type.label(), operation.as_str());
        let (code, rejected) = match outcome {
            CallOutcome::Allowed => (200, "false"),
            CallOutcome::FailedOpen => (500, "false"),
            CallOutcome::Rejected(Rejection::CallFailed) => (500, "true"),
            CallOutcome::Rejected(other) => (other.labels().1, "true"),
        };
        let call = DurationLabels {
            name: name.to_owned(),
            r#type,
            operation,
            rejected,
        };
        self.durations.get_or_create(&call).observe(took.as_secs_f64());
        let code_labels = RequestLabels {
            name: name.to_owned(),
            r#type,
            operation,
            code,
            rejected,
        };
        self.requests.get_or_create(&code_labels).inc();
        match outcome {
            CallOutcome::Allowed => {}
            CallOutcome::FailedOpen => self.count_failed_open(name, r#type),
            CallOutcome::Rejected(rejection) => self.count(name, r#type, operation, rejection),
        }
    }

    /// Records that a write was refused because of the webhook `name`, although the webhook allowed it.
    pub fn rejected(
        &self,
        name: &str,
        webhook_type: WebhookType,
        operation: Operation,
        rejection: Rejection,
    ) {
        self.count(name, webhook_type.label(), operation.as_str(), rejection);
    }

    fn count(&self, name: &str, r#type: &'static str, operation: &'static str, rejection: Rejection) {
        let (error_type, rejection_code) = rejection.labels();
        let labels = RejectionLabels {
            name: name.to_owned(),
            r#type,
            operation,
            error_type,
            rejection_code,
        };
        self.rejections.get_or_create(&labels).inc();
    }

    fn count_failed_open(&self, name: &str, r#type: &'static str) {
        let labels = FailOpenLabels {
            name: name.to_owned(),
            r#type,
        };
        self.fail_opens.get_or_create(&labels).inc();
    }

    /// Records that the conditions of the webhook `name` excluded a write, or (`failed`) could not be
    /// evaluated.
    pub fn condition(&self, name: &str, webhook_type: WebhookType, operation: Operation, failed: bool) {
        let condition = ConditionLabels {
            name: name.to_owned(),
            kind: "webhook",
            r#type: webhook_type.label(),
            operation: operation.as_str(),
        };
        let family = if failed {
            &self.condition_errors
        } else {
            &self.exclusions
        };
        family.get_or_create(&condition).inc();
    }
}

impl Metrics {
    /// Exposes the metrics of `webhooks`.
    pub fn count_webhooks(&self, webhooks: &WebhookMetrics) {
        self.register(|registry| {
            registry.register(
                "apiserver_admission_webhook_admission_duration_seconds",
                "Seconds of a call of an admission webhook, by its name, type, the operation and whether it refused",
                webhooks.durations.clone(),
            );
            registry.register(
                "apiserver_admission_webhook_request",
                "Calls of admission webhooks, by name, type, operation, code and whether it refused",
                webhooks.requests.clone(),
            );
            registry.register(
                "apiserver_admission_webhook_rejection_count",
                "Writes that were refused because of an admission webhook, by the kind of error and the code",
                webhooks.rejections.clone(),
            );
            registry.register(
                "apiserver_admission_webhook_fail_open_count",
                "Writes that were allowed although an admission webhook could not be called",
                webhooks.fail_opens.clone(),
            );
            registry.register(
                "apiserver_admission_match_condition_exclusions",
                "Writes that match conditions excluded from an admission webhook",
                webhooks.exclusions.clone(),
            );
            registry.register(
                "apiserver_admission_match_condition_evaluation_errors",
                "Match conditions of admission webhooks that could not be evaluated",
                webhooks.condition_errors.clone(),
            );
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_those_of_kube_apiserver() {
        let (metrics, webhooks) = (Metrics::new(), WebhookMetrics::new());
        metrics.count_webhooks(&webhooks);
        let took = Duration::from_millis(1);
        let (create, update) = (Operation::Create, Operation::Update);
        webhooks.called("a", WebhookType::Mutating, create, took, CallOutcome::Allowed);
        webhooks.called(
            "b",
            WebhookType::Validating,
            update,
            took,
            CallOutcome::Rejected(Rejection::Denied(700)),
        );
        webhooks.called(
            "c",
            WebhookType::Validating,
            update,
            took,
            CallOutcome::Rejected(Rejection::CallFailed),
        );
        webhooks.rejected("c", WebhookType::Mutating, create, Rejection::Internal);
        webhooks.called("d", WebhookType::Mutating, create, took, CallOutcome::FailedOpen);
        webhooks.condition("e", WebhookType::Mutating, create, false);
        webhooks.condition("e", WebhookType::Mutating, create, true);
        let text = metrics.render().unwrap();
        for line in [
            r#"apiserver_admission_webhook_admission_duration_seconds_count{name="a",type="admit",operation="CREATE",rejected="false"} 1"#,
            r#"apiserver_admission_webhook_request_total{name="a",type="admit",operation="CREATE",code="200",rejected="false"} 1"#,
            r#"apiserver_admission_webhook_rejection_count{name="b",type="validating",operation="UPDATE",error_type="no_error",rejection_code="600"} 1"#,
            r#"apiserver_admission_webhook_rejection_count{name="c",type="validating",operation="UPDATE",error_type="calling_webhook_error",rejection_code="0"} 1"#,
            r#"apiserver_admission_webhook_rejection_count{name="c",type="admit",operation="CREATE",error_type="apiserver_internal_error",rejection_code="0"} 1"#,
            r#"apiserver_admission_webhook_request_total{name="d",type="admit",operation="CREATE",code="500",rejected="false"} 1"#,
            r#"apiserver_admission_webhook_fail_open_count{name="d",type="admit"} 1"#,
            r#"apiserver_admission_match_condition_exclusions_total{name="e",kind="webhook",type="admit",operation="CREATE"} 1"#,
            r#"apiserver_admission_match_condition_evaluation_errors_total{name="e",kind="webhook",type="admit",operation="CREATE"} 1"#,
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
        }
    }
}
