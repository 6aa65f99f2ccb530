//! The configuration in force: the stored one, or the last good one while that is invalid (docs/concepts.md,
//! "Configuration").

use berth_dialect_contract::{Dialect, config};
use berth_storage::Source;
use serde_json::Value;

/// The last good configuration of one dialect.
#[derive(Debug, Default)]
pub(super) struct Configured {
    spec: Option<Value>,
}

impl Configured {
    /// The part of `dialect` in the configuration that is in force now.
    pub(super) fn spec(&mut self, dialect: &dyn Dialect, source: &dyn Source) -> Option<&Value> {
        let stored = source.cached(config::RESOURCE);
        let said = stored.get("", dialect.name());
        let said = said.and_then(|object| object.value()["spec"].get(dialect.name()).cloned());
        let path = format!("spec.{}", dialect.name());
        let is_good = said
            .as_ref()
            .is_none_or(|spec| dialect.configuration().validate(spec, &path).is_empty());
        if is_good {
            self.spec = said;
        }
        self.spec.as_ref()
    }
}
