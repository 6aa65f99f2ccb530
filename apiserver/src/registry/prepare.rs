//! Preparation of every write, from a decoded body to a draft: system fields, and admission
//! ([`super::admit`]). Between the passes of admission, defaults are filled in, the kind prepares the object,
//! and the whole object is validated.

use std::sync::Arc;

use berth_admission::client::{ObjectKind, VersionedWrite};
use berth_admission::{Chain, Operation, Request};
use berth_apimachinery::write::Guard;
use berth_apimachinery::{Draft, DraftError, FieldError, Object, Status, Write, WriteOperation, field};
use berth_apply::Managers;
use berth_storage::StoreError;
use serde_json::Value;

use crate::actor::Actor;
use crate::registry::admit::{Admission, AdmissionInput, AdmissionObject, Deletion, Purpose};
use crate::registry::ownership::{self, Ownership, WriteIntent};
use crate::registry::system::SystemFields;
use crate::registry::{Index, decided, system};
use crate::served::ServedVersion;
use crate::{render, validation};

impl<'a> Actor<'a> {
    /// Returns the admission by `chain` of a write by this actor, with the receivers of warnings and
    /// annotations.
    fn admission(&self, chain: &'a Chain) -> Admission<'a> {
        Admission {
            chain,
            warnings: self.warnings,
            annotations: self.annotations,
        }
    }
}

/// Returns `request` as policies and webhooks receive it. The object is in the version `object_version`.
fn versioned_write<'a>(
    served: &'a ServedVersion,
    request: &'a Request<'a>,
    object_version: &'a str,
) -> VersionedWrite<'a> {
    VersionedWrite {
        request,
        version: served.version,
        versions: served.info().versions,
        object_kind: ObjectKind::Own {
            kind: served.kind(),
            object_version,
        },
    }
}

/// An object that passed admission and validation.
pub(crate) struct AdmittedObject {
    /// The object, without its managed fields.
    pub(crate) value: Value,
    pub(crate) managers: Managers,
    /// Conditions that must still hold when the object is stored.
    pub(crate) guards: Vec<Guard>,
}

/// A write before its preparation.
pub(crate) struct WriteInput<'a> {
    pub(crate) served: &'a ServedVersion,
    pub(crate) index: &'a Index,
    pub(crate) chain: &'a Chain,
    pub(crate) actor: Actor<'a>,
    pub(crate) operation: WriteOperation,
    pub(crate) namespace: &'a str,
    /// Name in the request; empty if the name is generated.
    pub(crate) name: &'a str,
}

impl WriteInput<'_> {
    /// Prepares a new object: `intent` is decoded, in the served version, and its name is given or already
    /// generated.
    pub(crate) async fn create(&self, intent: WriteIntent) -> Result<AdmittedObject, Status> {
        let (mut value, managers) = match intent {
            WriteIntent::Sent(value) | WriteIntent::Patched { value, .. } => self.created(value)?,
            WriteIntent::Applied { value, managers, .. } => (self.applied(value)?, managers),
        };
        self.to_stored(&mut value);
        system::on_create(&mut value, self.served, self.namespace, self.actor.now);
        self.admit(value, managers, None).await
    }

    /// Prepares the next state of `stored`: `intent` is decoded, in the served version.
    pub(crate) async fn update(
        &self,
        intent: WriteIntent,
        stored: &Object,
    ) -> Result<AdmittedObject, Status> {
        // The parsed tree is not cached with the object, which is about to be replaced: the tree is several
        // times as large as the object.
        let parse = || stored.parse_unmanaged();
        let (mut value, managers, old) = match intent {
            WriteIntent::Sent(value) => self.updated(value, stored, parse())?,
            WriteIntent::Patched { value, before } => self.updated(value, stored, before)?,
            WriteIntent::Applied {
                value,
                managers,
                before,
            } => (self.applied(value)?, managers, before.unwrap_or_else(parse)),
        };
        self.to_stored(&mut value);
        if !matches!(self.operation, WriteOperation::Subresource(_)) {
            self.refuse(system::deletion_changes(&value, &old), &value)?;
        }
        let value = self.confine(value, &old);
        self.admit(value, managers, Some((stored, &old))).await
    }

    /// Completes the body of a create, and computes the managed fields.
    fn created(&self, mut value: Value) -> Result<(Value, Managers), Status> {
        self.complete(&mut value);
        self.served.kind().normalize_body(None, &mut value);
        let sent_fields = self.managed_fields(&mut value)?;
        let managers = self.ownership().created(&value, sent_fields.as_ref());
        Ok((value, managers))
    }

    /// Completes the body of an update of `stored`, and computes the managed fields. `old` is `stored`,
    /// parsed. Returns the body, the managed fields, and `old`.
    fn updated(
        &self,
        mut value: Value,
        stored: &Object,
        old: Value,
    ) -> Result<(Value, Managers, Value), Status> {
        self.complete(&mut value);
        self.served.kind().normalize_body(Some(&old), &mut value);
        let mut sent_fields = self.managed_fields(&mut value)?;
        let live = render::converted(self.served, stored);
        let live = live.as_ref().unwrap_or(&old);
        if self.is_kept_by_another()? {
            sent_fields = None;
            value = self.with_kept_fields(stored, live, value);
        }
        let managers = self
            .ownership()
            .updated(stored, live, &value, sent_fields.as_ref());
        Ok((value, managers, old))
    }

    /// Completes the result of an apply, whose managed fields are already computed.
    fn applied(&self, mut value: Value) -> Result<Value, Status> {
        self.complete(&mut value);
        self.managed_fields(&mut value)?;
        Ok(value)
    }

    /// Removes duplicate owner references, and fills in defaults.
    fn complete(&self, value: &mut Value) {
        self.deduplicate_owners(value);
        self.default(value);
    }

    fn ownership(&self) -> Ownership<'_> {
        let Actor { manager, now, .. } = self.actor;
        Ownership::new(self.index, self.served, self.operation, manager, now)
    }

    /// Fills in the defaults of the served version. The sender of the body owns these fields.
    fn default(&self, value: &mut Value) {
        self.served.kind().schema(self.served.version).default(value);
    }

    /// Removes the managed fields from a body and returns them. The error is 422 if they are invalid.
    fn managed_fields(&self, value: &mut Value) -> Result<Option<Value>, Status> {
        let sent_fields = ownership::take_managed_fields(value);
        if let (Some(list), WriteOperation::Create | WriteOperation::Update) = (&sent_fields, self.operation)
        {
            // A list that cannot be parsed counts as absent.
            let errors = Managers::decode_value(list).map(|managers| managers.validate());
            self.refuse(errors.unwrap_or_default(), value)?;
        }
        Ok(sent_fields)
    }

    fn deduplicate_owners(&self, value: &mut Value) {
        if let Some(warning) = system::deduplicate_owners(value) {
            self.actor.warnings.add(warning);
        }
    }

    /// Restores the fields of the stored object that this write must not change: system fields; for a write
    /// of the status also everything else, and for other writes also the status.
    fn confine(&self, mut value: Value, old: &Value) -> Value {
        if self.operation == WriteOperation::Subresource("status") {
            value = system::only_status(value, old, self.served.kind().status_metadata());
        } else if self.served.info().status_subresource {
            system::keep_status(&mut value, old);
        }
        system::on_update(&mut value, old);
        value
    }

    /// Prepares an object that the program returns to the client, or stores itself. `value` is decoded, and
    /// replaces `old` if there is one. The object needs no name and gets no system fields.
    pub(crate) async fn answer(&self, old: Option<&Value>, value: Value) -> Result<Value, Status> {
        let request = self.request(old);
        let versioned_write = versioned_write(self.served, &request, self.served.version);
        let admission_input = AdmissionInput {
            request: &request,
            write: Some(&versioned_write),
            purpose: Purpose::Answer,
        };
        let mut finish = |value: Value| self.prepare_answer(old, value);
        let admission = self.actor.admission(self.chain);
        let (value, _) = admission.admit(admission_input, value, &mut finish).await?;
        Ok(value)
    }

    fn prepare_answer(&self, old: Option<&Value>, mut value: Value) -> Result<Value, Status> {
        let kind = self.served.kind();
        let schema = kind.schema(self.served.version);
        let write = self.write(old);
        schema.default(&mut value);
        kind.prepare(&write, &mut value);
        let mut errors = validation::labels_and_annotations(&value);
        errors.extend(schema.validate(&value));
        field::merge_by_field(&mut errors, kind.validate(&write, &value));
        self.refuse(errors, &value)?;
        Ok(value)
    }

    fn write<'b>(&self, old: Option<&'b Value>) -> Write<'b> {
        Write {
            operation: self.operation,
            old,
            now: self.actor.now,
        }
    }

    fn to_stored(&self, value: &mut Value) {
        let served = self.served;
        served.kind().to_stored(served.version, value);
        value["apiVersion"] = (*served.storage_api_version).into();
        value["kind"] = served.info().kind.into();
    }

    async fn admit(
        &self,
        value: Value,
        managers: Managers,
        before: Option<(&Object, &Value)>,
    ) -> Result<AdmittedObject, Status> {
        let old = before.map(|(_, old)| old);
        let request = self.request(old);
        let storage_version = self.served.info().storage_version;
        let consults = !self.actor.policies_consulted
            && self
                .chain
                .consults(&versioned_write(self.served, &request, storage_version));
        // Policies and webhooks receive the managed fields as clients do.
        let parsed = before.filter(|_| consults).map(|(stored, _)| stored.parse());
        let client_request = self.request(parsed.as_ref().or(old));
        let versioned_write = versioned_write(self.served, &client_request, storage_version);
        let admission_input = AdmissionInput {
            request: &request,
            write: consults.then_some(&versioned_write),
            purpose: Purpose::Store,
        };
        let mut object = ObjectToStore {
            input: self,
            old,
            managers,
            system_fields: None,
            decided: None,
            is_final: false,
        };
        let admission = self.actor.admission(self.chain);
        let (value, guards) = admission.admit(admission_input, value, &mut object).await?;
        Ok(AdmittedObject {
            value,
            managers: object.managers,
            guards,
        })
    }

    /// Returns the errors that this write can correct. A write of the status cannot correct errors outside of
    /// metadata and status, which existed before, so these errors are dropped (as in kube-apiserver's
    /// validation ratcheting).
    fn correctable(&self, mut errors: Vec<FieldError>) -> Vec<FieldError> {
        if matches!(self.operation, WriteOperation::Subresource("status")) {
            errors.retain(|error| {
                ["metadata", "status"]
                    .iter()
                    .any(|part| error.path.starts_with(part))
            });
        }
        errors
    }

    fn refuse(&self, errors: Vec<FieldError>, value: &Value) -> Result<(), Status> {
        if errors.is_empty() {
            return Ok(());
        }
        let info = self.served.info();
        let confidential = self.served.kind().confidential();
        let errors: Vec<_> = errors
            .into_iter()
            .map(|error| error.redacted(confidential))
            .collect();
        Err(Status::invalid(
            info.group,
            info.kind,
            system::text(value, "name"),
            &errors,
        ))
    }

    fn request<'b>(&'b self, old: Option<&'b Value>) -> Request<'b> {
        let (operation, subresource) = match self.operation {
            WriteOperation::Create => (Operation::Create, ""),
            WriteOperation::Update => (Operation::Update, ""),
            WriteOperation::Subresource(name) => (Operation::Update, name),
        };
        Request {
            operation,
            resource: self.served.name,
            kind: self.served.info().kind,
            subresource,
            namespace: self.namespace,
            name: self.name,
            user: self.actor.user,
            old,
            dry_run: self.actor.dry_run,
        }
    }
}

/// Object of a create or an update during admission.
struct ObjectToStore<'a> {
    input: &'a WriteInput<'a>,
    old: Option<&'a Value>,
    managers: Managers,
    /// Fields that only the server sets, with their values before policies and webhooks changed the object.
    system_fields: Option<SystemFields>,
    /// The object of an in-process write, before policies and webhooks changed it.
    decided: Option<Value>,
    /// Whether the object is complete, so that policies and webhooks can only validate it.
    is_final: bool,
}

impl AdmissionObject for ObjectToStore<'_> {
    fn before_external(&mut self, value: &mut Value) {
        self.system_fields = (!self.is_final).then(|| SystemFields::of(value));
        self.decided = (!self.is_final && self.input.actor.decided).then(|| value.clone());
        ownership::put_managed_fields(value, &self.managers);
    }

    fn after_external(&mut self, value: &mut Value, changers: &[Arc<str>]) -> Result<(), Status> {
        let managed_fields = ownership::take_managed_fields(value);
        if let Some(system_fields) = self.system_fields.take() {
            let managers = std::mem::take(&mut self.managers);
            let warnings = self.input.actor.warnings;
            self.managers = ownership::after_admission(managers, managed_fields.as_ref(), warnings);
            system_fields.restore(value, self.input.served, self.input.operation);
        }
        match (self.decided.take(), changers) {
            (None, _) | (_, []) => Ok(()),
            (Some(decided), changers) => {
                let WriteInput {
                    served, actor, name, ..
                } = *self.input;
                let objects = [&decided, self.old.unwrap_or(&Value::Null), value];
                decided::overruled((served.name, name), &actor.user.name, changers, objects)
            }
        }
    }

    fn finish(&mut self, mut value: Value) -> Result<Value, Status> {
        let input = self.input;
        let (served, old) = (input.served, self.old);
        self.is_final = true;
        if let Some(old) = old {
            // Admission may have changed fields that the write must not change.
            value = input.confine(value, old);
        }
        let kind = served.kind();
        let schema = kind.schema(served.info().storage_version);
        let write = input.write(old);
        schema.default(&mut value);
        kind.prepare(&write, &mut value);
        if let Some(old) = old
            && kind.counts_generation()
        {
            system::count_generation(&mut value, old);
        }
        let mut errors = validation::metadata(&value, served, old);
        errors.extend(input.correctable(schema.validate(&value)));
        field::merge_by_field(&mut errors, kind.validate(&write, &value));
        field::merge_by_field(&mut errors, kind.own_rules(&write, &value));
        input.refuse(errors, &value)?;
        for warning in validation::finalizer_warnings(&value, served, old) {
            input.actor.warnings.add(warning);
        }
        Ok(value)
    }
}

/// Admits the deletion of `old` by `actor`, and returns the guards that must hold when it is committed.
pub(crate) async fn admit_delete(
    chain: &Chain,
    served: &ServedVersion,
    actor: &Actor<'_>,
    old: &Object,
) -> Result<Vec<Guard>, Status> {
    let before = old.parse();
    let request = Request {
        operation: Operation::Delete,
        resource: served.name,
        kind: served.info().kind,
        subresource: "",
        namespace: old.meta().namespace(),
        name: old.meta().name(),
        user: actor.user,
        old: Some(&before),
        dry_run: actor.dry_run,
    };
    let versioned_write = versioned_write(served, &request, served.info().storage_version);
    let admission_input = AdmissionInput {
        request: &request,
        write: Some(&versioned_write),
        purpose: Purpose::Store,
    };
    let admission = actor.admission(chain);
    let (_, guards) = admission
        .admit(admission_input, Value::Null, &mut Deletion)
        .await?;
    Ok(guards)
}

/// Whether the write was admitted on an outdated state of the store, so that it must be admitted again.
pub(crate) fn is_outdated(error: &StoreError) -> bool {
    matches!(error, StoreError::Conflict { .. } | StoreError::Fenced { .. })
}

/// Whether `error` is about one of `guards`.
pub(crate) fn is_about(error: &StoreError, guards: &[Guard]) -> bool {
    guards.iter().any(|guard| match (guard, error) {
        (Guard::Unchanged { key, .. }, StoreError::Conflict { key: changed, .. }) => key == changed,
        (Guard::Fence { name, .. }, StoreError::Fenced { name: passed, .. }) => **name == **passed,
        _ => false,
    })
}

/// Serializes the admitted object to a draft.
pub(crate) fn draft(served: &ServedVersion, admitted: &AdmittedObject) -> Result<Draft, Status> {
    let managed = admitted.managers.encode();
    Draft::managed(&admitted.value, managed.as_bytes())
        .map_err(|malformed| invalid_object(served, &admitted.value, malformed))
}

/// Serializes the admitted object to a draft that replaces `stored`. If both differ only in the times of
/// managed fields, the draft is `stored` itself, and nothing changes.
pub(crate) fn draft_over(
    served: &ServedVersion,
    admitted: &AdmittedObject,
    stored: &Object,
) -> Result<Draft, Status> {
    let draft = draft(served, admitted)?;
    if draft.same_but_managed(stored) && ownership::of_stored(stored).same_but_times(&admitted.managers) {
        return Ok(stored.draft());
    }
    Ok(draft)
}

/// Serializes `value`, a stored object that the server changed, including its managed fields.
pub(crate) fn redraft(served: &ServedVersion, value: &Value) -> Result<Draft, Status> {
    Draft::new(value).map_err(|malformed| invalid_object(served, value, malformed))
}

fn invalid_object(served: &ServedVersion, value: &Value, malformed: DraftError) -> Status {
    let info = served.info();
    let error = FieldError::invalid(malformed.path, Value::Null, malformed.problem);
    Status::invalid(info.group, info.kind, system::text(value, "name"), &[error])
}
