//! Consultation of webhooks about a write: selection, calls, and consequences of the answers.

use std::sync::Arc;
use std::time::Instant;

use berth_admission::client::{
    self, Answer, PolicyNotes, PolicyObjections, Rounds, VersionedWrite, WebhookType, condition_failed,
    denied, dry_run_unsupported, failed, patch_failed,
};
use berth_apimachinery::Status;
use berth_apiserver::metrics::{CallOutcome, Rejection};
use bytes::Bytes;
use futures::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use super::HubWebhooks;
use super::budget::PassBudget;
use super::conditions::ConditionsResult;
use super::prepared::PreparedWebhook;

/// Highest number of evaluations of a webhook's match conditions for one write. After each evaluation that
/// needs access reviews, the reviews are made and the conditions are evaluated again.
const MAX_EVALUATIONS: usize = 64;

/// Prefix of kube-apiserver's audit annotations about mutating webhooks.
const MUTATION_PREFIX: &str = "mutation.webhook.admission.k8s.io";
/// Prefix of kube-apiserver's audit annotations about validating webhooks.
const VALIDATION_PREFIX: &str = "validating.webhook.admission.k8s.io";

impl client::Policies for HubWebhooks {
    fn effort(&self, write: &VersionedWrite<'_>) -> usize {
        let mut all: u64 = 0;
        for webhook_type in [WebhookType::Mutating, WebhookType::Validating] {
            for one in self.hooks(webhook_type).iter() {
                let cost = one.conditions.expected_cost();
                if cost > 0 && one.hook.version(write).is_some() {
                    all = all.saturating_add(cost);
                }
            }
        }
        usize::try_from(all).unwrap_or(usize::MAX)
    }

    fn concern(&self, write: &VersionedWrite<'_>) -> bool {
        [WebhookType::Mutating, WebhookType::Validating]
            .into_iter()
            .any(|webhook_type| {
                self.hooks(webhook_type)
                    .iter()
                    .any(|one| one.hook.version(write).is_some())
            })
    }

    fn mutate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: &'a mut Value,
        rounds: &'a mut Rounds,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(self.call_mutating(write, object, rounds, notes))
    }

    fn validate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: Option<&'a Value>,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(self.call_validating(write, object, notes))
    }
}

impl HubWebhooks {
    /// Calls the mutating webhooks of the current round, in order: each webhook sees the changes of earlier
    /// webhooks.
    async fn call_mutating(
        &self,
        write: &VersionedWrite<'_>,
        object: &mut Value,
        rounds: &mut Rounds,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        let mut budget = PassBudget::new();
        for (index, prepared) in self.hooks(WebhookType::Mutating).iter().enumerate() {
            let id = prepared.hook.id();
            if !rounds.includes(&id) {
                continue;
            }
            let current = Some(&*object).filter(|object| !object.is_null());
            let call = WebhookCall {
                webhooks: self,
                prepared,
                webhook_type: WebhookType::Mutating,
                write,
                position: format!("round_{}_index_{index}", rounds.number()),
            };
            let Some(request) = call.request(current, &mut budget).await? else {
                continue;
            };
            let (new_notes, result) = call.send(&request).await;
            append_notes(notes, new_notes);
            let changed = result.and_then(|answer| match answer {
                Some(answer) => call.apply_patch(&request, &answer, object),
                None => Ok(false),
            });
            // As in kube-apiserver, a call that fails or refuses the write has an annotation too.
            call.add_mutation_annotation(matches!(changed, Ok(true)), notes);
            rounds.record_call(id, prepared.hook.reinvoked, changed?);
        }
        Ok(())
    }

    /// Calls the validating webhooks in parallel. If several refuse the write, returns the refusal of the
    /// first in order.
    async fn call_validating(
        &self,
        write: &VersionedWrite<'_>,
        object: Option<&Value>,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        let hooks = self.hooks(WebhookType::Validating);
        let mut budget = PassBudget::new();
        let mut requests = Vec::new();
        for (index, prepared) in hooks.iter().enumerate() {
            let call = WebhookCall {
                webhooks: self,
                prepared,
                webhook_type: WebhookType::Validating,
                write,
                position: format!("round_0_index_{index}"),
            };
            if let Some(request) = call.request(object, &mut budget).await? {
                requests.push((call, request));
            }
        }
        let calls = requests.iter().map(|(call, request)| call.send(request));
        let mut outcome = Ok(());
        for (new_notes, result) in join_all(calls).await {
            append_notes(notes, new_notes);
            if let Err(status) = result
                && outcome.is_ok()
            {
                outcome = Err(status);
            }
        }
        outcome
    }
}

fn append_notes(notes: &mut PolicyNotes, new_notes: PolicyNotes) {
    notes.warnings.extend(new_notes.warnings);
    notes.annotations.extend(new_notes.annotations);
}

/// Call of one webhook for one write.
struct WebhookCall<'a> {
    webhooks: &'a HubWebhooks,
    prepared: &'a PreparedWebhook,
    webhook_type: WebhookType,
    write: &'a VersionedWrite<'a>,
    /// Round and index of the call, for the audit log.
    position: String,
}

/// The `request` of an AdmissionReview, in the version that the webhook receives.
struct ReviewRequest<'a> {
    uid: String,
    version: &'a str,
    request: Value,
}

impl<'a> WebhookCall<'a> {
    fn name(&self) -> &str {
        &self.prepared.hook.name
    }

    /// Returns the request to send about `object`; `None` when the webhook does not match the write. `budget`
    /// pays for the match conditions.
    async fn request(
        &self,
        object: Option<&Value>,
        budget: &mut PassBudget,
    ) -> Result<Option<ReviewRequest<'a>>, Status> {
        let hook = &self.prepared.hook;
        let labels = |namespace: &str| self.webhooks.labels(namespace);
        let Some(version) = hook.matching_version(self.write, object, labels)? else {
            return Ok(None);
        };
        let uid = Uuid::new_v4().to_string();
        let request = client::request(&uid, self.write, version, object);
        if !self.conditions_match(&request, budget).await? {
            return Ok(None);
        }
        Ok(Some(ReviewRequest {
            uid,
            version,
            request,
        }))
    }

    /// Evaluates the match conditions, and makes the access reviews that they need.
    async fn evaluate_conditions(&self, request: &Value, budget: &mut PassBudget) -> ConditionsResult {
        let user = self.write.request.user;
        let access_reviewer = &self.webhooks.access_reviewer;
        let mut decisions = Arc::default();
        for _ in 0..MAX_EVALUATIONS {
            let reviews = match budget.evaluate(&self.prepared.conditions, request, &decisions) {
                ConditionsResult::NeedsReviews(reviews) => reviews,
                result => return result,
            };
            let answers = join_all(reviews.iter().map(|review| access_reviewer.decide(user, review))).await;
            let answers = answers.into_iter().map(Arc::new);
            Arc::make_mut(&mut decisions).extend(reviews.into_iter().zip(answers));
        }
        ConditionsResult::Failed(format!(
            "match conditions still need access reviews after {MAX_EVALUATIONS} evaluations"
        ))
    }

    /// Whether the webhook is called, by its match conditions and `failurePolicy`.
    async fn conditions_match(&self, request: &Value, budget: &mut PassBudget) -> Result<bool, Status> {
        if self.prepared.conditions.is_empty() {
            return Ok(true);
        }
        let metrics = &self.webhooks.metrics;
        let operation = self.write.request.operation;
        match self.evaluate_conditions(request, budget).await {
            ConditionsResult::Match => Ok(true),
            ConditionsResult::NoMatch => {
                metrics.condition(self.name(), self.webhook_type, operation, false);
                Ok(false)
            }
            ConditionsResult::NeedsReviews(_) => Ok(false),
            ConditionsResult::Failed(problem) => {
                metrics.condition(self.name(), self.webhook_type, operation, true);
                if self.prepared.hook.fails_open {
                    return Ok(false);
                }
                Err(condition_failed(self.write.request, &problem))
            }
        }
    }

    /// Sends `request` to the webhook, unless it is a dry run on which the call may have side effects. The
    /// answer is `None` when the call failed and `failurePolicy` is Ignore.
    async fn send(&self, request: &ReviewRequest<'_>) -> (PolicyNotes, Result<Option<Answer>, Status>) {
        if self.write.request.dry_run && !self.prepared.hook.supports_dry_run {
            return (PolicyNotes::default(), Err(dry_run_unsupported(self.name())));
        }
        let start = Instant::now();
        let answer = self.call(request).await;
        let (notes, result, outcome) = self.outcome(answer);
        let operation = self.write.request.operation;
        let metrics = &self.webhooks.metrics;
        metrics.called(
            self.name(),
            self.webhook_type,
            operation,
            start.elapsed(),
            outcome,
        );
        (notes, result)
    }

    async fn call(&self, request: &ReviewRequest<'_>) -> Result<Answer, String> {
        let webhook_client = self.prepared.client.as_ref().map_err(Clone::clone)?;
        let body =
            serde_json::to_vec(&client::review(&request.request)).map_err(|problem| problem.to_string())?;
        let timeout = self.prepared.hook.timeout;
        let answer = webhook_client.call(Bytes::from(body), timeout).await?;
        client::read(self.webhook_type, &request.uid, &answer)
            .map_err(|problem| format!("received invalid webhook response: {problem}"))
    }

    /// Returns the consequences of an answer, or of a failed call: notes, result, and the outcome for
    /// metrics.
    fn outcome(
        &self,
        answer: Result<Answer, String>,
    ) -> (PolicyNotes, Result<Option<Answer>, Status>, CallOutcome) {
        let mut notes = PolicyNotes::default();
        match answer {
            Ok(mut answer) => {
                notes.warnings = std::mem::take(&mut answer.warnings);
                let annotations = std::mem::take(&mut answer.annotations).into_iter();
                notes.annotations = annotations
                    .map(|(key, value)| (format!("{}/{key}", self.name()), value))
                    .collect();
                if answer.allowed {
                    return (notes, Ok(Some(answer)), CallOutcome::Allowed);
                }
                let status = denied(self.name(), &answer);
                let rejection = Rejection::Denied(status.code);
                (notes, Err(status), CallOutcome::Rejected(rejection))
            }
            Err(problem) if self.prepared.hook.fails_open => {
                let name = self.name();
                tracing::warn!(
                    webhook = name,
                    problem,
                    "admission webhook call failed; failurePolicy is Ignore, so the write continues"
                );
                notes.annotations.push((self.failed_open_key(), name.to_owned()));
                (notes, Ok(None), CallOutcome::FailedOpen)
            }
            Err(problem) => {
                tracing::warn!(
                    webhook = self.name(),
                    problem,
                    "admission webhook call failed; failurePolicy is Fail, so the write is rejected"
                );
                (
                    notes,
                    Err(failed(self.name(), &problem)),
                    CallOutcome::Rejected(Rejection::CallFailed),
                )
            }
        }
    }

    fn failed_open_key(&self) -> String {
        let prefix = match self.webhook_type {
            WebhookType::Mutating => MUTATION_PREFIX,
            WebhookType::Validating => VALIDATION_PREFIX,
        };
        format!("failed-open.{prefix}/{}", self.position)
    }

    /// Applies the patch of the answer. Returns whether the object changed.
    fn apply_patch(
        &self,
        request: &ReviewRequest<'_>,
        answer: &Answer,
        object: &mut Value,
    ) -> Result<bool, Status> {
        let Some(patch) = &answer.patch else {
            return Ok(false);
        };
        let changed = if object.is_null() {
            Err("this operation has no object to change".to_owned())
        } else {
            client::apply(patch, &request.request["object"]).map_err(|problem| problem.to_string())
        };
        let changed = changed.map_err(|problem| {
            let status = patch_failed(self.name(), &problem);
            let operation = self.write.request.operation;
            self.webhooks
                .metrics
                .rejected(self.name(), self.webhook_type, operation, Rejection::Internal);
            status
        })?;
        let mut changed = self.write.in_object_version(request.version, changed);
        self.write.fill_defaults(&mut changed);
        let differs = changed != *object;
        *object = changed;
        Ok(differs)
    }

    /// Adds the audit annotation that tells whether a mutating webhook changed the object.
    fn add_mutation_annotation(&self, changed: bool, notes: &mut PolicyNotes) {
        let hook = &self.prepared.hook;
        let annotation =
            json!({"configuration": &*hook.configuration, "webhook": &*hook.name, "mutated": changed});
        notes.annotations.push((
            format!("{MUTATION_PREFIX}/{}", self.position),
            annotation.to_string(),
        ));
    }
}
