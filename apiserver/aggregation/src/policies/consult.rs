//! Calling webhooks about a write: their selection, their order, and the consequences of the answers.

use std::sync::Arc;
use std::time::Instant;

use berth_admission::client::{
    self, Answer, PolicyNotes, PolicyObjections, Rounds, Subject, WebhookType, condition_failed, denied,
    failed, no_dry_run, unusable,
};
use berth_apimachinery::Status;
use berth_apiserver::metrics::Rejection;
use bytes::Bytes;
use futures::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Policies;
use super::conditions::Verdict;
use super::prepared::PreparedWebhook;

/// Highest number of evaluations of a webhook's conditions for one call, with access reviews in between.
const MOST_ROUNDS: usize = 64;

/// Domain of kube-apiserver's audit annotations about mutating webhooks.
const MUTATION: &str = "mutation.webhook.admission.k8s.io";
const VALIDATION: &str = "validating.webhook.admission.k8s.io";

impl client::Policies for Policies {
    fn concern(&self, subject: &Subject<'_>) -> bool {
        [WebhookType::Mutating, WebhookType::Validating]
            .into_iter()
            .any(|webhook_type| {
                self.hooks(webhook_type)
                    .iter()
                    .any(|one| one.hook.version(subject).is_some())
            })
    }

    fn mutate<'a>(
        &'a self,
        subject: &'a Subject<'a>,
        object: &'a mut Value,
        rounds: &'a mut Rounds,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(self.change(subject, object, rounds, notes))
    }

    fn validate<'a>(
        &'a self,
        subject: &'a Subject<'a>,
        object: Option<&'a Value>,
        notes: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(self.judge(subject, object, notes))
    }
}

impl Policies {
    /// Runs one round of mutating webhooks, in order: each sees the changes of earlier ones.
    async fn change(
        &self,
        subject: &Subject<'_>,
        object: &mut Value,
        rounds: &mut Rounds,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        for (index, prepared) in self.hooks(WebhookType::Mutating).iter().enumerate() {
            let id = prepared.hook.id();
            if !rounds.includes(&id) {
                continue;
            }
            let current = Some(&*object).filter(|object| !object.is_null());
            let call = WebhookCall {
                policies: self,
                prepared,
                webhook_type: WebhookType::Mutating,
                subject,
                place: format!("round_{}_index_{index}", rounds.number()),
            };
            let Some(question) = call.question(current).await? else {
                continue;
            };
            let (new_notes, result) = call.ask(&question).await;
            take(notes, new_notes);
            let Some(answer) = result? else {
                rounds.called(id, prepared.hook.again, false);
                continue;
            };
            let changed = call.apply(&question, &answer, object)?;
            call.note(changed, notes);
            rounds.called(id, prepared.hook.again, changed);
        }
        Ok(())
    }

    /// Calls all validating webhooks in parallel. Where several refuse a write, the first refusal is
    /// returned.
    async fn judge(
        &self,
        subject: &Subject<'_>,
        object: Option<&Value>,
        notes: &mut PolicyNotes,
    ) -> Result<(), Status> {
        let hooks = self.hooks(WebhookType::Validating);
        let mut questions = Vec::new();
        for (index, prepared) in hooks.iter().enumerate() {
            let call = WebhookCall {
                policies: self,
                prepared,
                webhook_type: WebhookType::Validating,
                subject,
                place: format!("round_0_index_{index}"),
            };
            if let Some(question) = call.question(object).await? {
                questions.push((call, question));
            }
        }
        let calls = questions.iter().map(|(call, question)| call.ask(question));
        let mut verdict = Ok(());
        for (new_notes, result) in join_all(calls).await {
            take(notes, new_notes);
            if let Err(status) = result
                && verdict.is_ok()
            {
                verdict = Err(status);
            }
        }
        verdict
    }
}

fn take(notes: &mut PolicyNotes, new_notes: PolicyNotes) {
    notes.warnings.extend(new_notes.warnings);
    notes.annotations.extend(new_notes.annotations);
}

/// Call of one webhook about one write.
struct WebhookCall<'a> {
    policies: &'a Policies,
    prepared: &'a PreparedWebhook,
    webhook_type: WebhookType,
    subject: &'a Subject<'a>,
    /// Position of the call, for the audit log.
    place: String,
}

/// Question to a webhook about a write.
struct Question<'a> {
    uid: String,
    version: &'a str,
    request: Value,
}

impl<'a> WebhookCall<'a> {
    fn name(&self) -> &str {
        &self.prepared.hook.name
    }

    /// Returns the question about `object`; `None` when the webhook is not called about it.
    async fn question(&self, object: Option<&Value>) -> Result<Option<Question<'a>>, Status> {
        let hook = &self.prepared.hook;
        let labels = |namespace: &str| self.policies.labels(namespace);
        let Some(version) = hook.concerns(self.subject, object, labels)? else {
            return Ok(None);
        };
        let uid = Uuid::new_v4().to_string();
        let request = client::request(&uid, self.subject, version, object);
        if !self.conditions_hold(&request).await? {
            return Ok(None);
        }
        if self.subject.request.dry_run && !hook.dry_runs {
            return Err(no_dry_run(self.name()));
        }
        Ok(Some(Question {
            uid,
            version,
            request,
        }))
    }

    /// Returns the result of the conditions, once every access review that they need is made.
    async fn judge_conditions(&self, request: &Value) -> Verdict {
        let user = self.subject.request.user;
        let decider = &self.policies.decider;
        let mut decisions = Arc::default();
        for _ in 0..MOST_ROUNDS {
            let reviews = match self.prepared.conditions.judge(request, &decisions) {
                Verdict::Unasked(reviews) => reviews,
                verdict => return verdict,
            };
            let answers = join_all(reviews.iter().map(|review| decider.decide(user, review))).await;
            let answers = answers.into_iter().map(Arc::new);
            Arc::make_mut(&mut decisions).extend(reviews.into_iter().zip(answers));
        }
        Verdict::Unknown(format!(
            "match conditions still ask for access reviews after {MOST_ROUNDS} evaluations"
        ))
    }

    async fn conditions_hold(&self, request: &Value) -> Result<bool, Status> {
        if self.prepared.conditions.is_empty() {
            return Ok(true);
        }
        let metrics = &self.policies.metrics;
        let operation = self.subject.request.operation;
        match self.judge_conditions(request).await {
            Verdict::Holds => Ok(true),
            Verdict::Excluded => {
                metrics.condition(self.name(), self.webhook_type, operation, false);
                Ok(false)
            }
            Verdict::Unasked(_) => Ok(false),
            Verdict::Unknown(problem) => {
                metrics.condition(self.name(), self.webhook_type, operation, true);
                if self.prepared.hook.fails_open {
                    return Ok(false);
                }
                Err(condition_failed(self.subject.request, &problem))
            }
        }
    }

    /// Calls the webhook. The answer is `None` when the call failed and the write continues without it.
    async fn ask(&self, question: &Question<'_>) -> (PolicyNotes, Result<Option<Answer>, Status>) {
        let start = Instant::now();
        let answer = self.call(question).await;
        let (notes, result, rejection) = self.weigh(answer);
        let operation = self.subject.request.operation;
        let metrics = &self.policies.metrics;
        metrics.called(
            self.name(),
            self.webhook_type,
            operation,
            start.elapsed(),
            rejection,
        );
        (notes, result)
    }

    async fn call(&self, question: &Question<'_>) -> Result<Answer, String> {
        let caller = self.prepared.caller.as_ref().map_err(Clone::clone)?;
        let body =
            serde_json::to_vec(&client::review(&question.request)).map_err(|problem| problem.to_string())?;
        let answer = caller.call(Bytes::from(body), self.prepared.hook.timeout).await?;
        client::read(self.webhook_type, &question.uid, &answer)
            .map_err(|problem| format!("received invalid webhook response: {problem}"))
    }

    /// Applies the consequences of an answer, or of a failed call.
    fn weigh(
        &self,
        answer: Result<Answer, String>,
    ) -> (PolicyNotes, Result<Option<Answer>, Status>, Option<Rejection>) {
        let mut notes = PolicyNotes::default();
        match answer {
            Ok(mut answer) => {
                notes.warnings = std::mem::take(&mut answer.warnings);
                let annotations = std::mem::take(&mut answer.annotations).into_iter();
                notes.annotations = annotations
                    .map(|(key, value)| (format!("{}/{key}", self.name()), value))
                    .collect();
                if answer.allowed {
                    return (notes, Ok(Some(answer)), None);
                }
                let status = denied(self.name(), &answer);
                let rejection = Rejection::Denied(status.code);
                (notes, Err(status), Some(rejection))
            }
            Err(problem) if self.prepared.hook.fails_open => {
                let name = self.name();
                tracing::warn!(
                    webhook = name,
                    problem,
                    "admission webhook call failed; failurePolicy is Ignore, so the write goes on"
                );
                self.policies.metrics.failed_open(name, self.webhook_type);
                notes.annotations.push((self.failed_open_key(), name.to_owned()));
                (notes, Ok(None), None)
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
                    Some(Rejection::Uncalled),
                )
            }
        }
    }

    fn failed_open_key(&self) -> String {
        let domain = match self.webhook_type {
            WebhookType::Mutating => MUTATION,
            WebhookType::Validating => VALIDATION,
        };
        format!("failed-open.{domain}/{}", self.place)
    }

    /// Applies the patch of the answer. Returns whether the object changed.
    fn apply(&self, question: &Question<'_>, answer: &Answer, object: &mut Value) -> Result<bool, Status> {
        let Some(patch) = &answer.patch else {
            return Ok(false);
        };
        let changed = if object.is_null() {
            Err("there is no object to change in this operation".to_owned())
        } else {
            client::apply(patch, &question.request["object"]).map_err(|problem| problem.to_string())
        };
        let changed = changed.map_err(|problem| {
            let status = unusable(self.name(), &problem);
            let operation = self.subject.request.operation;
            let internal = Rejection::Internal(status.code);
            self.policies
                .metrics
                .rejected(self.name(), self.webhook_type, operation, internal);
            status
        })?;
        let mut changed = self.subject.as_held(question.version, changed);
        self.subject.default(&mut changed);
        let differs = changed != *object;
        *object = changed;
        Ok(differs)
    }

    /// Adds the audit annotation of a successful call.
    fn note(&self, changed: bool, notes: &mut PolicyNotes) {
        let hook = &self.prepared.hook;
        let note = json!({"configuration": &*hook.configuration, "webhook": &*hook.name, "mutated": changed});
        notes
            .annotations
            .push((format!("{MUTATION}/{}", self.place), note.to_string()));
    }
}
