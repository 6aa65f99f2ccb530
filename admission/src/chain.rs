//! The ordered list of plugins.

use std::sync::Arc;

use meta::Status;
use serde_json::Value;

use crate::request::{Denied, Request};

/// One admission rule set. `mutate` runs before schema defaulting and validation, `validate` after.
pub trait Plugin: Send + Sync + 'static {
    /// The plugin's name, for metrics and messages.
    fn name(&self) -> &'static str;

    /// Whether this plugin has anything to say about `request`.
    fn handles(&self, request: &Request<'_>) -> bool;

    /// Changes the object on its way in. Adds texts for the client to `warnings`.
    ///
    /// # Errors
    /// When the write must be refused.
    fn mutate(
        &self,
        _request: &Request<'_>,
        _object: &mut Value,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        Ok(())
    }

    /// Judges the final object (`None` on delete).
    ///
    /// # Errors
    /// When the write must be refused.
    fn validate(
        &self,
        _request: &Request<'_>,
        _object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denied> {
        Ok(())
    }
}

/// Plugins in the order they run.
#[derive(Clone, Default)]
pub struct Chain(Vec<Arc<dyn Plugin>>);

impl Chain {
    /// The chain of `plugins`, first one first.
    #[must_use]
    pub fn new(plugins: Vec<Arc<dyn Plugin>>) -> Self {
        Self(plugins)
    }

    /// Runs every plugin's `mutate` over `object`.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        for plugin in self.0.iter().filter(|plugin| plugin.handles(request)) {
            plugin
                .mutate(request, object, warnings)
                .map_err(|denied| denied.into_status(request))?;
        }
        Ok(())
    }

    /// Runs every plugin's `validate` over the final object.
    ///
    /// # Errors
    /// The first refusal, as the client sees it.
    pub fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        for plugin in self.0.iter().filter(|plugin| plugin.handles(request)) {
            plugin
                .validate(request, object, warnings)
                .map_err(|denied| denied.into_status(request))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use meta::GroupResource;
    use serde_json::json;

    use super::*;
    use crate::request::{Operation, UserInfo};

    struct Stamp(&'static str);
    impl Plugin for Stamp {
        fn name(&self) -> &'static str {
            self.0
        }
        fn handles(&self, request: &Request<'_>) -> bool {
            request.operation == Operation::Create
        }
        fn mutate(&self, _: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Denied> {
            if let Some(list) = object["seen"].as_array_mut() {
                list.push(self.0.into());
            }
            Ok(())
        }
        fn validate(&self, _: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denied> {
            Err(Denied::Forbidden("no".to_owned()))
        }
    }

    #[test]
    fn plugins_run_in_order_and_only_where_they_handle() {
        let chain = Chain::new(vec![Arc::new(Stamp("a")), Arc::new(Stamp("b"))]);
        let user = UserInfo::default();
        let mut request = Request {
            operation: Operation::Create,
            resource: GroupResource::new("g", "foos"),
            kind: "Foo",
            subresource: "",
            namespace: "",
            name: "x",
            user: &user,
            old: None,
            dry_run: false,
        };
        let mut object = json!({"seen": []});
        chain.mutate(&request, &mut object, &mut Vec::new()).unwrap();
        assert_eq!(object["seen"], json!(["a", "b"]));
        let denied = chain
            .validate(&request, Some(&object), &mut Vec::new())
            .unwrap_err();
        assert_eq!(denied.message, "foos.g \"x\" is forbidden: no");
        request.operation = Operation::Delete;
        assert!(chain.validate(&request, None, &mut Vec::new()).is_ok());
    }
}
