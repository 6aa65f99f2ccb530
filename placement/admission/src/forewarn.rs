//! `autoBind: OnCreate` behind a hub, for objects whose binding is a field of their own (a Shoot's
//! `spec.seedName`): the creator gets a warning if the scheduler finds no place. The controller
//! writes the place into the object, moments later.
//!
//! A webhook must not pick the place. A webhook decides from copies that lag behind the hub, and cannot
//! reserve a place: the create may be a dry run or may be refused later, another replica may get the
//! next create, and concurrent creates are all answered before any of them is stored. Many of
//! these creates would get the same place, beyond its capacity. The controller decides after the object
//! is stored, and writes under the fences of the counted capacity (`placement/hub/src/fences.rs`).

use std::sync::Arc;

use berth_admission::{Denial, Plugin, Ready, Request};
use berth_dialect_contract::{Outcome, OwnPlace};
use berth_engine::Catalog;
use berth_scheduling_rest::own_places;
use serde_json::Value;

use super::audience::Audience;
use super::auto_bind::binds_on_create;
use super::forecast::{self, Forecast, forecast};
use super::in_force::LabelsOf;
use super::knowledge::Knowledge;
use super::placed_on_create;

/// The admission plugin that warns creators of objects for which the scheduler finds no place.
pub(super) struct PlacementWarnings {
    knowledge: Knowledge,
    catalog: Arc<Catalog>,
}

impl PlacementWarnings {
    pub(super) fn new(knowledge: Knowledge, catalog: Arc<Catalog>) -> Self {
        Self { knowledge, catalog }
    }

    /// Returns the forecast for `object`; `None` without a complete snapshot, or if the dialect does not
    /// decide on the object.
    ///
    /// # Errors
    /// When the object is invalid.
    fn forecast(
        &self,
        request: &Request<'_>,
        object: &Value,
        dialect: &str,
    ) -> Result<Option<Forecast>, String> {
        let Ok(snapshot) = self.knowledge.snapshot(dialect) else {
            return Ok(None);
        };
        let key = forecast::key(request, object);
        let provisional = forecast::provisional(object, &key)?.parse();
        let now = self.knowledge.now();
        let (_, read) = self
            .catalog
            .read(provisional, "", now)
            .map_err(|errors| berth_apimachinery::field::aggregate(&errors))?;
        let source = self.knowledge.engine().source();
        forecast(snapshot, &**source, &key, &read, now)
    }

    /// Returns the warning for the creator: the reason why the object gets no place or, only for a dry run,
    /// the place that it would get.
    fn warning(
        &self,
        request: &Request<'_>,
        object: &Value,
        own: &OwnPlace,
        dialect: &str,
    ) -> Option<CreateWarning> {
        let forecast = match self.forecast(request, object, dialect) {
            Ok(forecast) => forecast?,
            // The hub refuses invalid objects. For the forecast, an invalid object only means that no place
            // can be picked yet.
            Err(problem) => return Some(CreateWarning::Unplaced(format!("not bound: {problem}"))),
        };
        if forecast.outcome == Outcome::Scheduled {
            let place = own.read(forecast.object.value()).filter(|_| request.dry_run)?;
            return Some(CreateWarning::Placed(format!("would be bound to {place}")));
        }
        forecast.warning.map(CreateWarning::Unplaced)
    }
}

/// Warning for the creator of an object.
enum CreateWarning {
    /// The text about the place that the object would get.
    Placed(String),
    /// The text about the reason why the object would get no place.
    Unplaced(String),
}

impl CreateWarning {
    /// Returns the text for `audience`, which discloses other objects only to a known audience.
    fn text_for(self, audience: Audience) -> Option<String> {
        match self {
            Self::Placed(text) | Self::Unplaced(text) if audience.is_known() => Some(text),
            Self::Placed(_) => None,
            Self::Unplaced(_) => {
                Some("not bound: create a SchedulingReview of the object to see why".to_owned())
            }
        }
    }
}

impl Plugin for PlacementWarnings {
    fn name(&self) -> &'static str {
        "AutoBind"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        placed_on_create::handles(self.knowledge.engine(), request)
    }

    fn ready<'a>(&'a self, _: &Request<'_>) -> Option<Ready<'a>> {
        Some(self.knowledge.ready())
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let engine = self.knowledge.engine();
        let found = own_places::find(engine, request.resource).zip(object);
        let Some(((own, dialect), object)) = found else {
            return Ok(());
        };
        if own.read(object).is_none()
            && binds_on_create(engine, dialect.name(), request.namespace, &LabelsOf(object))
        {
            let warning = self.warning(request, object, own, dialect.name());
            warnings.extend(warning.and_then(|warning| warning.text_for(self.knowledge.audience())));
        }
        Ok(())
    }
}
