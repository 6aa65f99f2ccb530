//! The admission rules beside the kinds' own validation (facts section 10, CONTRACT.md section 5): the placement
//! annotation, the syncing labels and annotations, and the syncers' finalizers change only through the actor and the
//! transition that own them. Cluster admins are no exception.
//!
//! The guard compares the object before and after, whatever the subresource: metadata changes through `status` and
//! `finalize` too. What must stay possible for everyone is: edits that leave guarded fields byte-identical, soft
//! finalizers, the label that disables scheduling, and deleting. It stops mistakes and ordinary grants: whoever may
//! impersonate the actors can pass it.

mod keys;
mod placement;
mod roles;

use std::collections::BTreeMap;

use admission::{Denied, Operation, Plugin, Request};
use meta::{FieldError, GroupResource};
use serde_json::Value;

use crate::names::{NAMESPACES, SYNCED_BY_DEFAULT};
pub use roles::{Role, user_of};

/// What the guard goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Users that act in a role beside Berth's own (`berth:placement-controller` and so on), by name.
    pub users: BTreeMap<String, Role>,
    /// Members of this group may change guarded fields by hand, to values that can be understood.
    pub break_glass_group: Option<String>,
    /// The resources that follow their namespace.
    pub synced_resources: Vec<GroupResource>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            users: BTreeMap::new(),
            break_glass_group: None,
            synced_resources: SYNCED_BY_DEFAULT.to_vec(),
        }
    }
}

/// Guards the state machines of kcp.
#[derive(Clone, Debug, Default)]
pub struct PlacementGuard {
    settings: Settings,
}

/// Who writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// An actor of the state machines.
    Role(Role),
    /// Somebody trusted to mend by hand.
    BreakGlass,
    /// Anyone else.
    User,
}

/// What speaks against a write.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Values that nobody may write.
    pub(crate) malformed: Vec<FieldError>,
    /// Changes this writer may not make.
    pub(crate) forbidden: Vec<FieldError>,
}

impl Findings {
    /// Notes a change at `path` that is not the writer's to make.
    pub(crate) fn forbid(&mut self, path: &str, detail: impl Into<String>) {
        self.forbidden.push(FieldError::forbidden(path, detail));
    }

    /// Notes a value at `path` that nobody may write.
    pub(crate) fn malform(&mut self, path: &str, value: &str, detail: impl Into<String>) {
        self.malformed.push(FieldError::invalid(path, value, detail));
    }

    /// Not allowed goes before not valid: who may not write at all need not learn how.
    fn into_result(self) -> Result<(), Denied> {
        if self.forbidden.is_empty() && self.malformed.is_empty() {
            return Ok(());
        }
        if self.forbidden.is_empty() {
            return Err(Denied::Invalid(self.malformed));
        }
        let all: Vec<String> = self
            .forbidden
            .iter()
            .chain(&self.malformed)
            .map(ToString::to_string)
            .collect();
        Err(Denied::Forbidden(all.join("; ")))
    }
}

impl PlacementGuard {
    /// The guard with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    fn writer(&self, request: &Request<'_>) -> Writer {
        let user = request.user;
        let role = Role::of(&user.name).or_else(|| self.settings.users.get(&user.name).cloned());
        let trusted = || {
            let group = self.settings.break_glass_group.as_deref();
            group.is_some_and(|group| user.is_in(group))
        };
        match role {
            Some(role) => Writer::Role(role),
            None if trusted() => Writer::BreakGlass,
            None => Writer::User,
        }
    }

    fn judge(&self, request: &Request<'_>, new: &Value) -> Result<(), Denied> {
        let nothing = Value::Null;
        let old = request.old.unwrap_or(&nothing);
        let writer = self.writer(request);
        let namespace = request.resource == NAMESPACES;
        let mut findings = Findings::default();
        if namespace {
            placement::judge(&writer, old, new, &mut findings);
        }
        keys::judge(&writer, namespace, old, new, &mut findings);
        if let Writer::Role(Role::Syncer(identifier)) = &writer {
            keys::judge_syncer(identifier, request.operation, old, new, &mut findings);
        }
        findings.into_result()
    }
}

impl Plugin for PlacementGuard {
    fn name(&self) -> &'static str {
        "PlacementGuard"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        let guarded =
            request.resource == NAMESPACES || self.settings.synced_resources.contains(&request.resource);
        guarded && request.operation != Operation::Connect
    }

    /// Refuses as early as possible: a mutating webhook is asked before any validating one.
    fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        match request.operation {
            Operation::Create | Operation::Update => self.judge(request, object),
            Operation::Delete | Operation::Connect => Ok(()),
        }
    }

    /// Judges once more what other plugins made of the object. Everybody may delete but syncers, which only let go.
    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        match (request.operation, object) {
            (Operation::Create | Operation::Update, Some(object)) => self.judge(request, object),
            (Operation::Delete, _) if matches!(self.writer(request), Writer::Role(Role::Syncer(_))) => {
                Err(Denied::Forbidden(
                    "a syncer deletes nothing; it lets go of an object by taking its finalizer off"
                        .to_owned(),
                ))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
