//! Order of admission, which is the same for all requests: writes, deletions, objects that are only returned,
//! bodies of subresources, and connections to a proxy.
//!
//! In each pass the program's own plugins come first. External plugins (admission policies, the hub's
//! webhooks) follow, since they take longest. Guards detect changes of the store in the meantime. Quotas come
//! last, so that a refused write does not use them.

use std::sync::Arc;

use berth_admission::client::{PolicyNotes, VersionedWrite};
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

/// Use of an object after admission.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The object is stored or deleted: the verdict must still hold at the commit.
    Store,
    /// The object is returned and not stored.
    Answer,
    /// The object is passed to the handler of a subresource. The writes of this handler are admitted and
    /// audited separately.
    Handle,
}

/// Request to be admitted.
#[derive(Clone, Copy)]
pub(crate) struct AdmissionInput<'a> {
    /// The request for the program's own plugins.
    pub(crate) request: &'a Request<'a>,
    /// The request for policies and webhooks; `None` if they are not consulted.
    pub(crate) write: Option<&'a VersionedWrite<'a>>,
    pub(crate) purpose: Purpose,
}

/// Object during admission. The methods are the work between the passes of admission.
pub(crate) trait AdmissionObject: Send {
    /// Adds fields that policies and webhooks need, and that the object otherwise gets later.
    fn before_external(&mut self, _value: &mut Value) {}

    /// Removes the fields that [`AdmissionObject::before_external`] added, and restores fields that policies
    /// and webhooks must not change. `changers` are the names of the policies and webhooks that changed the
    /// object.
    ///
    /// # Errors
    /// 403 when policies or webhooks changed a field that must not be restored silently.
    fn after_external(&mut self, _value: &mut Value, _changers: &[Arc<str>]) -> Result<(), Status> {
        Ok(())
    }

    /// Completes the object: defaults, the kind's own preparation, and validation with all errors at once.
    fn finish(&mut self, value: Value) -> Result<Value, Status>;
}

impl<F: FnMut(Value) -> Result<Value, Status> + Send> AdmissionObject for F {
    fn finish(&mut self, value: Value) -> Result<Value, Status> {
        self(value)
    }
}

/// Deletion, for which admission processes no object.
pub(crate) struct Deletion;

impl AdmissionObject for Deletion {
    fn finish(&mut self, value: Value) -> Result<Value, Status> {
        Ok(value)
    }
}

impl Admission<'_> {
    /// Runs admission on `value` (null on delete). Returns the resulting object, and the guards that must
    /// hold when it is stored.
    pub(crate) async fn admit(
        &self,
        input: AdmissionInput<'_>,
        mut value: Value,
        admission_object: &mut dyn AdmissionObject,
    ) -> Result<(Value, Vec<Guard>), Status> {
        let AdmissionInput {
            request,
            write,
            purpose,
        } = input;
        let plugins = self.chain.plugins_for(request);
        plugins.ready().await?;
        if !value.is_null() {
            self.with_warnings(|warnings| plugins.mutate(&mut value, warnings))?;
        }
        if let Some(write) = write {
            admission_object.before_external(&mut value);
            let changers = self.mutate(write, &mut value).await?;
            admission_object.after_external(&mut value, &changers)?;
        }
        let mut value = admission_object.finish(value)?;
        self.with_warnings(|warnings| plugins.validate(object(&value), warnings))?;
        let mut guards = match purpose {
            Purpose::Store => plugins.check_rights_to_store(object(&value)).await?,
            Purpose::Answer | Purpose::Handle => {
                plugins.check_rights(object(&value)).await?;
                Vec::new()
            }
        };
        if let Some(write) = write {
            admission_object.before_external(&mut value);
            self.validate(write, object(&value)).await?;
            admission_object.after_external(&mut value, &[])?;
        }
        if purpose == Purpose::Store {
            let chain = self.chain;
            guards.extend(
                self.with_warnings(|warnings| chain.run_final_plugins(request, object(&value), warnings))?,
            );
        }
        if purpose != Purpose::Handle {
            for (key, text) in plugins.annotations(object(&value)) {
                self.annotations.add_own("admission", key, text);
            }
        }
        Ok((value, guards))
    }

    /// Lets policies and webhooks change `value`. Returns the names of the policies and webhooks that changed
    /// it.
    async fn mutate(&self, write: &VersionedWrite<'_>, value: &mut Value) -> Result<Vec<Arc<str>>, Status> {
        let mut notes = PolicyNotes::default();
        let result = self.chain.mutate_by_policies(write, value, &mut notes).await;
        self.pass_on(notes);
        result
    }

    /// Lets policies and webhooks validate the final object.
    async fn validate(&self, write: &VersionedWrite<'_>, object: Option<&Value>) -> Result<(), Status> {
        let mut notes = PolicyNotes::default();
        let result = self.chain.validate_by_policies(write, object, &mut notes).await;
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
}

/// Returns the object for plugins; `None` on delete.
fn object(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}
