//! After our own rules those of others: the hub's webhooks.

use std::sync::Arc;
use std::time::Instant;

use meta::Status;
use serde_json::Value;

use super::{Chain, Phase};
use crate::client::{Heard, Policies, Rounds, Subject};

/// What kube-apiserver calls the plugins that ask webhooks.
const MUTATING: &str = "MutatingAdmissionWebhook";
const VALIDATING: &str = "ValidatingAdmissionWebhook";

impl Chain {
    /// The same, asking `policies` after the plugins of each pass.
    #[must_use]
    pub fn with_policies(self, policies: Arc<dyn Policies>) -> Self {
        Self {
            policies: Some(policies),
            ..self
        }
    }

    /// Whether others may have a say in `subject`.
    #[must_use]
    pub fn consults(&self, subject: &Subject<'_>) -> bool {
        self.asked(subject).is_some()
    }

    fn asked(&self, subject: &Subject<'_>) -> Option<&dyn Policies> {
        let policies = self.policies.as_deref()?;
        policies.concern(subject).then_some(policies)
    }

    /// Has others change `object`, which the plugins have changed already; null on delete. What they change is shown to
    /// the plugins again, and then once more to those who want to know.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub async fn mutate_by_policies(
        &self,
        subject: &Subject<'_>,
        object: &mut Value,
        heard: &mut Heard,
    ) -> Result<(), Status> {
        let Some(policies) = self.asked(subject) else {
            return Ok(());
        };
        let start = Instant::now();
        let result = self.rounds(policies, subject, object, heard).await;
        let took = start.elapsed();
        self.tell(
            Some(MUTATING),
            Phase::Mutate,
            subject.request,
            result.is_err(),
            took,
        );
        result
    }

    async fn rounds(
        &self,
        policies: &dyn Policies,
        subject: &Subject<'_>,
        object: &mut Value,
        heard: &mut Heard,
    ) -> Result<(), Status> {
        let mut rounds = Rounds::default();
        if !object.is_null() {
            subject.default(object);
        }
        policies.mutate(subject, object, &mut rounds, heard).await?;
        if !rounds.changed() {
            return Ok(());
        }
        self.mutate(subject.request, object, &mut heard.warnings)?;
        if rounds.again(object) {
            policies.mutate(subject, object, &mut rounds, heard).await?;
        }
        Ok(())
    }

    /// Has others judge the final object, which the plugins let through; `None` on delete.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub async fn validate_by_policies(
        &self,
        subject: &Subject<'_>,
        object: Option<&Value>,
        heard: &mut Heard,
    ) -> Result<(), Status> {
        let Some(policies) = self.asked(subject) else {
            return Ok(());
        };
        let start = Instant::now();
        let result = policies.validate(subject, object, heard).await;
        let took = start.elapsed();
        self.tell(
            Some(VALIDATING),
            Phase::Validate,
            subject.request,
            result.is_err(),
            took,
        );
        result
    }
}
