//! An object made with its place filled in (a Shoot with `spec.seedName`) is judged by feasibility, not by origin
//! (CONTRACT.md section 5): what the scheduler could have picked passes; anything else takes the right to bind, and
//! must still be a binding the system allows.

use std::collections::BTreeMap;
use std::sync::Arc;

use admission::{Denied, Guard, Operation, Plugin, Ready, Request};
use apiserver::Attributes;
use dialect_contract::Outcome;
use engine::{Snapshot, World};
use meta::{Revision, Timestamp};
use serde_json::Value;

use super::forecast;
use super::knowledge::{self, Knowledge};
use crate::rbac::{MASTERS, Rbac};
use crate::virtual_api::own_places::{self, OwnPlace};

/// The plugin.
pub(super) struct BoundOnCreate {
    knowledge: Knowledge,
    rbac: Arc<Rbac>,
}

/// A place that may be taken, and the fences under which.
struct Judged {
    fences: Vec<Arc<str>>,
    revision: Revision,
}

impl BoundOnCreate {
    pub(super) fn new(knowledge: Knowledge, rbac: Arc<Rbac>) -> Self {
        Self { knowledge, rbac }
    }

    /// Judges the place that `object` names; nothing when it names none.
    fn judge(&self, request: &Request<'_>, object: &Value) -> Result<Option<Judged>, Denied> {
        let Some((own, dialect)) = own_places::find(self.knowledge.engine(), request.resource) else {
            return Ok(None);
        };
        let Some(name) = own.read(object) else {
            return Ok(None);
        };
        let snapshot = self.knowledge.snapshot(dialect.name())?;
        let case = Case {
            name,
            snapshot: &snapshot,
            request,
            bare: own.without(object),
            now: self.knowledge.now(),
        };
        let fences = match case.feasible() {
            Ok(fences) => fences,
            Err(reasons) => {
                self.may_bind(request, own, name, &reasons)?;
                case.allowed(object)?
            }
        };
        Ok(Some(Judged {
            fences,
            revision: snapshot.revision,
        }))
    }

    /// Whether the requester may bind, which is what it takes to go where the scheduler would not.
    fn may_bind(
        &self,
        request: &Request<'_>,
        own: &OwnPlace,
        name: &str,
        reasons: &str,
    ) -> Result<(), Denied> {
        let right = Attributes {
            user: request.user.clone(),
            namespace: request.namespace.to_owned(),
            name: request.name.to_owned(),
            ..own.right()
        };
        if request.user.is_in(MASTERS) || self.rbac.allows(&right).is_some() {
            return Ok(());
        }
        Err(Denied::Forbidden(format!(
            "{} \"{name}\" is not feasible ({reasons}), and user \"{}\" may not {} {}/binding: leave it out, and a \
             feasible one is picked",
            own.field(),
            request.user.name,
            right.verb,
            right.resource,
        )))
    }
}

/// One object with its place, in one world.
struct Case<'a> {
    name: &'a str,
    snapshot: &'a Snapshot,
    request: &'a Request<'a>,
    /// The object without its place.
    bare: Value,
    now: Timestamp,
}

impl Case<'_> {
    /// The fences of the scheduler's own decision for this place, or why it would not take it.
    fn feasible(&self) -> Result<Vec<Arc<str>>, String> {
        let key = forecast::key(self.request, &self.bare);
        let object = forecast::provisional(&self.bare, &key)?;
        let mut world = World::over(self.snapshot.clone(), BTreeMap::new());
        world.put(&key, object)?;
        let chosen = [self.name.to_owned()];
        match world.snapshot().decide(&key, Some(&chosen), self.now) {
            Some(Ok(decision)) if decision.outcome == Outcome::Scheduled => Ok(decision.fences),
            Some(Ok(decision)) => Err(world.snapshot().inventory.message(&decision)),
            Some(Err(refused)) => {
                let details: Vec<String> = refused.errors.into_iter().map(|error| error.detail).collect();
                Err(details.join("; "))
            }
            None => Err("the scheduler does not take it in".to_owned()),
        }
    }

    /// The fences of a binding by hand, which the system's own rules allow.
    fn allowed(&self, object: &Value) -> Result<Vec<Arc<str>>, Denied> {
        let mut object = object.clone();
        self.snapshot.inventory.own_binding(&self.bare, &mut object)
    }
}

impl Plugin for BoundOnCreate {
    fn name(&self) -> &'static str {
        "FeasiblePlace"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
            && request.subresource.is_empty()
            && own_places::of(request.resource).is_some()
    }

    fn ready<'a>(&'a self, _: &Request<'_>) -> Option<Ready<'a>> {
        Some(self.knowledge.ready())
    }

    /// Fills in what the system fills in when a place is given. Whether it may be given is judged on the final object.
    fn mutate(&self, request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Denied> {
        let Some((own, dialect)) = own_places::find(self.knowledge.engine(), request.resource) else {
            return Ok(());
        };
        if own.read(object).is_none() {
            return Ok(());
        }
        let snapshot = self.knowledge.snapshot(dialect.name())?;
        let mut filled = object.clone();
        if snapshot
            .inventory
            .own_binding(&own.without(object), &mut filled)
            .is_ok()
        {
            *object = filled;
        }
        Ok(())
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Denied> {
        let Some(object) = object else { return Ok(()) };
        self.judge(request, object).map(drop)
    }

    /// The snapshot may have moved on since the verdict, so it is given again on the one that is guarded.
    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        let Some(object) = object else { return Vec::new() };
        match self.judge(request, object) {
            Ok(None) => Vec::new(),
            Ok(Some(judged)) => judged
                .fences
                .into_iter()
                .map(|name| Guard::Fence {
                    name,
                    not_after: Some(judged.revision),
                })
                .collect(),
            Err(_) => vec![knowledge::never(forecast::key(request, object))],
        }
    }
}
