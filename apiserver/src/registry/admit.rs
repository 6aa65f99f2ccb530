//! Order of admission, which is the same for all admitted requests: writes, deletions, objects that are only
//! returned, bodies of subresources, connections to a proxy.
//!
//! In each pass the program's own plugins come first. External plugins (admission policies, the hub's
//! webhooks) come after them, since they take longest; guards detect changes in the meantime. Quotas come
//! last, so that a refused write does not count against them.

use std::sync::Arc;

use berth_admission::client::{PolicyNotes, Subject};
use berth_admission::{Chain, Request};
use berth_apimachinery::Status;
use berth_apimachinery::write::Guard;
use serde_json::Value;

use crate::annotations::Annotations;
use crate::call::Warnings;

/// Admission of one request, with the receivers of its warnings and annotations.
#[derive(Clone, Copy)]
pub(crate) struct Admission<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) warnings: &'a Warnings,
    pub(crate) annotations: &'a Annotations,
}

/// Purpose of admission.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The object is stored or deleted: the verdict must still hold at the commit.
    Store,
    /// The object is returned and not stored.
    Answer,
    /// The object is passed to the handler of the subresource, whose own writes are admitted and recorded
    /// separately.
    HandOn,
}

/// Object to be admitted.
#[derive(Clone, Copy)]
pub(crate) struct AdmissionSubject<'a> {
    /// The object for the program's own plugins.
    pub(crate) request: &'a Request<'a>,
    /// The object for policies and webhooks; `None` if they are not consulted.
    pub(crate) subject: Option<&'a Subject<'a>>,
    pub(crate) purpose: Purpose,
}

/// Object of a write between the passes of admission.
pub(crate) trait Candidate: Send {
    /// Adds fields for policies and webhooks that the object otherwise gets later.
    fn show(&mut self, _value: &mut Value) {}

    /// Removes the fields of [`Candidate::show`], and restores fields that policies and webhooks must not
    /// change. `changers` are the names of the policies and webhooks that changed the object.
    ///
    /// # Errors
    /// When such a field was changed and cannot be reset silently.
    fn hide(&mut self, _value: &mut Value, _changers: &[Arc<str>]) -> Result<(), Status> {
        Ok(())
    }

    /// Completes the object: defaults, the kind's own preparation, and validation with all errors at once.
    fn finish(&mut self, value: Value) -> Result<Value, Status>;
}

impl<F: FnMut(Value) -> Result<Value, Status> + Send> Candidate for F {
    fn finish(&mut self, value: Value) -> Result<Value, Status> {
        self(value)
    }
}

/// Candidate of a deletion, which has no object.
pub(crate) struct Deletion;

impl Candidate for Deletion {
    fn finish(&mut self, value: Value) -> Result<Value, Status> {
        Ok(value)
    }
}

impl Admission<'_> {
    /// Runs admission on `value` (null on delete). Returns the result, and the guards that must hold when it
    /// is stored.
    pub(crate) async fn admit(
        &self,
        input: AdmissionSubject<'_>,
        mut value: Value,
        candidate: &mut dyn Candidate,
    ) -> Result<(Value, Vec<Guard>), Status> {
        let AdmissionSubject {
            request,
            subject,
            purpose,
        } = input;
        let chain = self.chain;
        chain.ready(request).await?;
        if !value.is_null() {
            self.with_warnings(|warnings| chain.mutate(request, &mut value, warnings))?;
        }
        if let Some(subject) = subject {
            candidate.show(&mut value);
            let changers = self.change(subject, &mut value).await?;
            candidate.hide(&mut value, &changers)?;
        }
        let mut value = candidate.finish(value)?;
        self.with_warnings(|warnings| chain.validate(request, object(&value), warnings))?;
        let mut guards = match purpose {
            Purpose::Store => chain.guards(request, object(&value)),
            Purpose::Answer | Purpose::HandOn => Vec::new(),
        };
        chain.entitled(request, object(&value)).await?;
        if let Some(subject) = subject {
            candidate.show(&mut value);
            self.judge(subject, object(&value)).await?;
            candidate.hide(&mut value, &[])?;
        }
        if purpose == Purpose::Store {
            guards.extend(self.with_warnings(|warnings| chain.conclude(request, object(&value), warnings))?);
        }
        if purpose != Purpose::HandOn {
            self.annotate(request, object(&value));
        }
        Ok((value, guards))
    }

    /// Lets policies and webhooks change `value`. Returns the names of the policies and webhooks that changed
    /// it.
    async fn change(&self, subject: &Subject<'_>, value: &mut Value) -> Result<Vec<Arc<str>>, Status> {
        let mut notes = PolicyNotes::default();
        let result = self.chain.mutate_by_policies(subject, value, &mut notes).await;
        self.pass_on(notes);
        result
    }

    /// Lets policies and webhooks judge the final object.
    async fn judge(&self, subject: &Subject<'_>, object: Option<&Value>) -> Result<(), Status> {
        let mut notes = PolicyNotes::default();
        let result = self.chain.validate_by_policies(subject, object, &mut notes).await;
        self.pass_on(notes);
        result
    }

    fn pass_on(&self, notes: PolicyNotes) {
        notes
            .warnings
            .into_iter()
            .for_each(|text| self.warnings.add(text));
        for (key, value) in notes.annotations {
            self.annotations.add(key, value);
        }
    }

    fn with_warnings<T>(&self, run: impl FnOnce(&mut Vec<String>) -> T) -> T {
        let mut texts = Vec::new();
        let result = run(&mut texts);
        texts.into_iter().for_each(|text| self.warnings.add(text));
        result
    }

    fn annotate(&self, request: &Request<'_>, object: Option<&Value>) {
        for (key, value) in self.chain.annotations(request, object) {
            self.annotations.add_own("admission", key, value);
        }
    }
}

/// The object for plugins; `None` on delete.
fn object(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}
