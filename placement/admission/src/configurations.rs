//! Validation of SchedulerConfigurations: warnings about settings that are valid but probably not intended.
//! In the webhook, where the kind is a CRD of the hub, the plugin also refuses invalid objects.

use std::sync::Arc;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::{GroupResource, Kind, Write, WriteOperation};
use berth_configuration::SchedulerConfiguration;
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Dialect, config};
use serde_json::Value;

/// The admission plugin for SchedulerConfigurations.
pub(super) struct Configurations {
    dialects: Vec<Arc<dyn Dialect>>,
    /// The kind that validates objects; `None` if the plugin only warns.
    kind: Option<SchedulerConfiguration>,
    /// The resources that this server serves, which are the only resources that it can guard. Empty behind a
    /// hub, which may serve any resource.
    served: Vec<GroupResource>,
}

impl Configurations {
    /// Creates a plugin that only warns, for a server whose kind refuses invalid objects.
    pub(super) fn with_warnings_only(dialects: Vec<Arc<dyn Dialect>>, served: Vec<GroupResource>) -> Self {
        Self {
            dialects,
            kind: None,
            served,
        }
    }

    /// Creates a plugin that refuses invalid objects, and warns.
    pub(super) fn with_validation(dialects: Vec<Arc<dyn Dialect>>) -> Self {
        let kind = Some(SchedulerConfiguration::new(dialects.clone()));
        Self {
            dialects,
            kind,
            served: Vec::new(),
        }
    }

    /// Returns a warning for each resource in the `spec` of `dialect` that this server does not serve, so
    /// that naming the resource has no effect.
    fn unserved(&self, dialect: &dyn Dialect, spec: &Value) -> Vec<String> {
        let name = dialect.name();
        let guards = dialect.configuration().guards(Some(spec)).into_iter();
        let missing = guards.filter(|resource| !self.served.is_empty() && !self.served.contains(resource));
        missing
            .map(|resource| {
                format!("spec.{name} names {resource}, which this server does not serve: it has no effect")
            })
            .collect()
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
    ) -> Result<(), Denial> {
        let Some(object) = object else { return Ok(()) };
        if let Some(kind) = &self.kind {
            judge(kind, request, object)?;
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let found = self.dialects.iter().find(|dialect| dialect.name() == name);
        if let Some(dialect) = found
            && let Some(spec) = object["spec"].get(name)
        {
            let (path, rules) = (format!("spec.{name}"), RulesChoice::of(object));
            warnings.extend(dialect.configuration().warnings(spec, &path, rules));
            warnings.extend(self.unserved(&**dialect, spec));
        }
        Ok(())
    }
}

fn judge(kind: &SchedulerConfiguration, request: &Request<'_>, object: &Value) -> Result<(), Denial> {
    let write = Write {
        operation: if request.operation == Operation::Create {
            WriteOperation::Create
        } else {
            WriteOperation::Update
        },
        old: request.old,
        // No rule of this kind depends on the time.
        now: berth_apimachinery::Timestamp::UNIX_EPOCH,
    };
    let mut errors = kind.schema(config::VERSION).validate(object);
    errors.extend(kind.validate(&write, object));
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Denial::Invalid(errors))
    }
}

#[cfg(test)]
mod tests {
    use berth_admission::UserInfo;
    use serde_json::json;

    use super::*;

    fn warned(served: &[GroupResource], synced: &Value) -> Vec<String> {
        let plugin = Configurations::with_warnings_only(berth_dialect_registry::all(), served.to_vec());
        let user = UserInfo::default();
        let name = syncing();
        let object = json!({"metadata": {"name": name}, "spec": {name: {"syncedResources": synced}}});
        let request = Request {
            operation: Operation::Create,
            resource: config::RESOURCE,
            kind: config::KIND,
            subresource: "",
            namespace: "",
            name,
            user: &user,
            old: None,
            dry_run: false,
        };
        let mut warnings = Vec::new();
        plugin.validate(&request, Some(&object), &mut warnings).unwrap();
        warnings
    }

    /// The system whose configuration names resources that are not its own.
    fn syncing() -> &'static str {
        let all = berth_dialect_registry::all();
        let mut syncing = all
            .iter()
            .filter(|dialect| !dialect.configuration().guards(None).is_empty());
        syncing.next().unwrap().name()
    }

    #[test]
    fn a_resource_that_is_not_served_here_is_warned_of_when_it_is_named() {
        let served = ["namespaces", "configmaps"].map(|plural| GroupResource::new("", plural));
        let both = json!(["configmaps", "widgets.example.com"]);
        let expected = format!(
            "spec.{} names widgets.example.com, which this server does not serve: it has no effect",
            syncing()
        );
        assert_eq!(warned(&served, &both), [expected]);
        assert!(warned(&served, &json!(["configmaps"])).is_empty());
        assert!(warned(&[], &both).is_empty(), "a hub serves more");
    }
}
