//! Guard of objects that are created with a place (a Shoot with `spec.seedName`), which judges the
//! place by feasibility, not by its author (docs/admission.md, "Guards"). A place that the scheduler
//! could have picked passes. Any other place needs the right to bind, and has to be a binding that the
//! system allows; by the rules of the system's newest release, every place needs that right.
//!
//! A webhook can judge the place, but cannot reserve it until the object is stored ([`Precondition`]): many
//! concurrent creates would all find the last free place free. So in a webhook every given place needs the
//! right to bind, as in Gardener's own API server. A user without that right leaves the place out, and the
//! controller writes a place.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_admission::rights::{RequiredRight, Right};
use berth_admission::{Denial, Plugin, Ready, Request, Requirements};
use berth_apimachinery::Timestamp;
use berth_apimachinery::write::Guard;
use berth_dialect_contract::rules::Rules;
use berth_dialect_contract::{Outcome, OwnPlace};
use berth_engine::{Snapshot, World};
use berth_scheduling_rest::own_places;
use serde_json::Value;

use super::forecast;
use super::knowledge::{self, Knowledge};
use super::placed_on_create;

/// Mechanism by which a verdict stays true until the object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precondition {
    /// The store checks the guards with the write.
    Guards,
    /// No guard: a hub calls the webhook, and stores the object later.
    None,
}

/// The admission plugin that judges the place that a new object names.
pub(super) struct BoundOnCreate {
    knowledge: Knowledge,
    precondition: Precondition,
}

/// Verdict on a place that an object names.
struct PlaceVerdict {
    own: &'static OwnPlace,
    /// The fences of the scheduler's own decision for the place, or the reason why the scheduler would
    /// not pick it.
    feasible: Result<Vec<Arc<str>>, String>,
    snapshot: Snapshot,
}

impl BoundOnCreate {
    pub(super) fn new(knowledge: Knowledge, precondition: Precondition) -> Self {
        Self {
            knowledge,
            precondition,
        }
    }

    /// Judges the place that `object` names; `None` if the object names no place, or its kind has no field
    /// for a place.
    fn judge(&self, request: &Request<'_>, object: &Value) -> Result<Option<PlaceVerdict>, Denial> {
        let Some((own, dialect)) = own_places::find(self.knowledge.engine(), request.resource) else {
            return Ok(None);
        };
        let Some(name) = own.read(object) else {
            return Ok(None);
        };
        let snapshot = self.knowledge.snapshot(dialect.name())?;
        let case = PlacedObject {
            name,
            snapshot: &snapshot,
            request,
            bare: own.without(object),
            now: self.knowledge.now(),
        };
        let audience = self.knowledge.audience();
        let feasible = case.feasible().map_err(|reasons| audience.reasons(reasons));
        Ok(Some(PlaceVerdict {
            own,
            feasible,
            snapshot,
        }))
    }
}

impl PlaceVerdict {
    /// Returns the fences that the write of `object` has to pass.
    ///
    /// # Errors
    /// When the system does not allow the binding.
    fn fences(&self, object: &Value) -> Result<Vec<Arc<str>>, Denial> {
        match &self.feasible {
            Ok(fences) => Ok(fences.clone()),
            // The scheduler would not pick the place, so the rules of the system for manual bindings decide.
            Err(_) => {
                let mut filled = object.clone();
                let inventory = &self.snapshot.inventory;
                inventory
                    .guarding()
                    .own_binding(&self.own.without(object), &mut filled)
            }
        }
    }

    /// Returns the guards of the write of `object`, which has to pass the fences by the snapshot of this
    /// verdict.
    ///
    /// # Errors
    /// When the system does not allow the binding.
    fn guards(&self, object: &Value) -> Result<Vec<Guard>, Denial> {
        let not_after = self.snapshot.revision;
        let fences = self.fences(object)?.into_iter();
        Ok(fences.map(|name| Guard::Fence { name, not_after }).collect())
    }

    /// Returns the right to bind, if the user needs that right to name the place.
    fn needs(
        &self,
        request: &Request<'_>,
        object: &Value,
        precondition: Precondition,
    ) -> Option<RequiredRight> {
        let (field, name) = (self.own.field(), self.own.read(object)?);
        let problem = match (&self.feasible, precondition) {
            (Err(reasons), _) => format!("is not feasible ({reasons})"),
            (Ok(_), Precondition::None) => "cannot be reserved for a create".to_owned(),
            (Ok(_), Precondition::Guards) if follows_current_rules(&self.snapshot) => {
                "may not be chosen without the right to bind, by the rules of today (spec.rules: Current)"
                    .to_owned()
            }
            (Ok(_), Precondition::Guards) => return None,
        };
        let right = right_to_bind(self.own, request);
        let refusal = format!(
            "{field} \"{name}\" {problem}, and user \"{}\" may not {}: leave it out, and a \
             feasible one is picked",
            request.user.name,
            right.to_kubectl_text(),
        );
        Some(RequiredRight::or_forbidden(right, refusal))
    }
}

/// The right to write the place `own` of the object of `request`.
fn right_to_bind(own: &OwnPlace, request: &Request<'_>) -> Right {
    Right {
        namespace: request.namespace.to_owned(),
        name: request.name.to_owned(),
        ..own_places::needed(own)
    }
}

/// Whether the system's decisions follow the rules of its newest release.
fn follows_current_rules(snapshot: &Snapshot) -> bool {
    let in_force = snapshot.inventory.rules_in_force();
    in_force.is_some_and(|in_force| in_force.rules == Rules::Current)
}

/// An object to create that names a place, and the snapshot by which the place is judged.
struct PlacedObject<'a> {
    name: &'a str,
    snapshot: &'a Snapshot,
    request: &'a Request<'a>,
    /// The object without its place.
    bare: Value,
    now: Timestamp,
}

impl PlacedObject<'_> {
    /// Returns the fences of the scheduler's own decision for this place, or the reason why the scheduler
    /// would refuse the place.
    fn feasible(&self) -> Result<Vec<Arc<str>>, String> {
        let key = forecast::key(self.request, &self.bare);
        let object = forecast::provisional(&self.bare, &key)?;
        let mut world = World::over(self.snapshot.clone(), BTreeMap::new());
        world.put(&key, object).map_err(|problem| problem.to_string())?;
        let chosen = [self.name.to_owned()];
        match world.snapshot().decide(&key, Some(&chosen), self.now) {
            Some(Ok(decision)) if decision.outcome == Outcome::Scheduled => Ok(decision.fences),
            Some(Ok(decision)) => Err(world.snapshot().inventory.message(&decision)),
            Some(Err(refused)) => {
                let details: Vec<String> = refused.errors.into_iter().map(|error| error.detail).collect();
                Err(details.join("; "))
            }
            None => Err("the scheduler does not decide on the object".to_owned()),
        }
    }
}

impl Plugin for BoundOnCreate {
    fn name(&self) -> &'static str {
        "FeasiblePlace"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        placed_on_create::handles(self.knowledge.engine(), request)
    }

    fn ready<'a>(&'a self, _: &Request<'_>) -> Option<Ready<'a>> {
        Some(self.knowledge.ready())
    }

    /// Sets the fields that the system sets with a place. The right of the client to name the place is
    /// checked on the final object.
    fn mutate(&self, request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Denial> {
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
            .guarding()
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
    ) -> Result<(), Denial> {
        let Some(object) = object else { return Ok(()) };
        match self.judge(request, object)? {
            Some(verdict) => {
                let fences = verdict.fences(object);
                fences
                    .map(drop)
                    .map_err(|denied| self.knowledge.audience().redact(denied))
            }
            None => Ok(()),
        }
    }

    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        self.requirements(request, object).rights
    }

    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        self.requirements(request, object).guards
    }

    /// Judges the place again, since the snapshot may be newer than in the validation, and the guards have to
    /// come from the snapshot of the verdict. So does the right: the guards of a place that is not feasible
    /// are only for a user with the right to bind.
    fn requirements(&self, request: &Request<'_>, object: Option<&Value>) -> Requirements {
        let Some(object) = object else {
            return Requirements::default();
        };
        let failing = || vec![knowledge::failing_guard(forecast::key(request, object))];
        let (right, guards) = match self.judge(request, object) {
            Ok(None) => return Requirements::default(),
            Ok(Some(verdict)) => (
                verdict.needs(request, object, self.precondition),
                verdict.guards(object).unwrap_or_else(|_| failing()),
            ),
            // The validation of a webhook comes later, when the place can perhaps be judged.
            Err(refusal) => {
                let found = own_places::find(self.knowledge.engine(), request.resource);
                let right = found.map(|(own, _)| RequiredRight {
                    right: right_to_bind(own, request),
                    refusal,
                });
                (right, failing())
            }
        };
        Requirements {
            rights: right.into_iter().collect(),
            guards,
        }
    }
}
