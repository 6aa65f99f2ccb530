//! Access of plugins to the engine's snapshots.

use std::sync::Arc;

use berth_admission::{Denial, Ready};
use berth_apimachinery::write::Guard;
use berth_apimachinery::{Key, Revision, Status, Timestamp};
use berth_dialect_contract::Dialect;
use berth_engine::{Engine, Snapshot};
use berth_scheduling_rest::behind;

use super::audience::Audience;

/// The engine and the audience of answers, as plugins use them.
#[derive(Clone)]
pub(super) struct Knowledge {
    engine: Arc<Engine>,
    audience: Audience,
}

impl Knowledge {
    pub(super) fn new(engine: &Arc<Engine>) -> Self {
        Self {
            engine: Arc::clone(engine),
            audience: Audience::Known,
        }
    }

    /// Sets the audience of the answers.
    pub(super) fn for_audience(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// Returns the audience of the answers.
    pub(super) fn audience(&self) -> Audience {
        self.audience
    }

    /// Waits until the engine has seen every write that this server acknowledged before.
    pub(super) fn ready(&self) -> Ready<'_> {
        Box::pin(async {
            let now = self.engine.source().revision();
            self.engine.caught_up(now).await.map_err(|error| behind(&error))
        })
    }

    /// Returns the present snapshot of `dialect`.
    ///
    /// # Errors
    /// When the objects of the dialect are not synced yet, or the engine does not have the dialect.
    pub(super) fn snapshot(&self, dialect: &str) -> Result<Snapshot, Denial> {
        let complete = self.engine.complete(dialect);
        complete.map_err(|error| Denial::Status(Box::new(behind(&error))))?;
        self.engine
            .snapshot(dialect)
            .ok_or_else(|| Denial::Status(Box::new(Status::internal(format!("unknown system {dialect}")))))
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn dialects(&self) -> impl Iterator<Item = &Arc<dyn Dialect>> {
        self.engine.dialects()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.engine.clock().now()
    }
}

/// Returns a guard that always fails, since no object has this revision. A plugin returns the guard if the
/// verdict of the validation no longer holds, so that the write is judged again.
pub(super) fn failing_guard(key: Key) -> Guard {
    Guard::Unchanged {
        key,
        revision: Revision(0),
    }
}
