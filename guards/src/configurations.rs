//! SchedulerConfigurations: warnings about what is legal but surely not meant. Behind the webhook, where the kind is a
//! CRD of the hub, everything wrong with one too.

use std::sync::Arc;

use admission::{Denied, Operation, Plugin, Request};
use configuration::SchedulerConfiguration;
use dialect_contract::{Dialect, config};
use meta::Kind;
use meta::kind::{self, Write};
use serde_json::Value;

/// The plugin.
pub(super) struct Configurations {
    dialects: Vec<Arc<dyn Dialect>>,
    kind: Option<SchedulerConfiguration>,
}

impl Configurations {
    /// Warns only: the kind itself refuses what is wrong.
    pub(super) fn warning(dialects: Vec<Arc<dyn Dialect>>) -> Self {
        Self { dialects, kind: None }
    }

    /// Refuses what is wrong, and warns.
    pub(super) fn judging(dialects: Vec<Arc<dyn Dialect>>) -> Self {
        let kind = Some(SchedulerConfiguration::new(dialects.clone()));
        Self { dialects, kind }
    }
}

impl Plugin for Configurations {
    fn name(&self) -> &'static str {
        "SchedulerConfiguration"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.resource == config::RESOURCE
            && request.subresource.is_empty()
            && matches!(request.operation, Operation::Create | Operation::Update)
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        let Some(object) = object else { return Ok(()) };
        if let Some(kind) = &self.kind {
            judge(kind, request, object)?;
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let found = self.dialects.iter().find(|dialect| dialect.name() == name);
        if let Some(dialect) = found
            && let Some(spec) = object["spec"].get(name)
        {
            warnings.extend(dialect.configuration().warnings(spec, &format!("spec.{name}")));
        }
        Ok(())
    }
}

fn judge(kind: &SchedulerConfiguration, request: &Request<'_>, object: &Value) -> Result<(), Denied> {
    let write = Write {
        via: if request.operation == Operation::Create {
            kind::Via::Create
        } else {
            kind::Via::Update
        },
        old: request.old,
        // No rule of this kind looks at the time.
        now: meta::Timestamp::UNIX_EPOCH,
    };
    let mut errors = kind.schema(config::VERSION).validate(object);
    errors.extend(kind.validate(&write, object));
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Denied::Invalid(errors))
    }
}
