//! Parameters of policies: the `paramRef` of a binding, and the objects that it selects.

use std::sync::Arc;

use berth_apimachinery::selector::{LabelSelector, Selector};
use serde_json::Value;

use crate::param_kind::ParamKind;
use crate::surroundings::Surroundings;

/// The `paramRef` of a binding.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamRef {
    name: String,
    namespace: String,
    selector: Option<Result<Selector, String>>,
    /// Whether the binding fails when there is no parameter (`parameterNotFoundAction: Deny`).
    denies_missing: bool,
}

impl ParamRef {
    /// Reads the field `paramRef`; `None` where the field is absent.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        let value = value.as_object()?;
        let text = |field: &str| {
            value
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let selector = value.get("selector").filter(|selector| !selector.is_null());
        Some(Self {
            name: text("name"),
            namespace: text("namespace"),
            selector: selector.map(|selector| compile(selector, "selector")),
            denies_missing: text("parameterNotFoundAction") == "Deny",
        })
    }

    /// Upper bound for the number of parameters of a policy for a write in `namespace`, at most `limit`. The
    /// selector is not evaluated.
    pub(crate) fn count(
        kind: Option<&ParamKind>,
        param_ref: Option<&Self>,
        namespace: &str,
        surroundings: &dyn Surroundings,
        limit: usize,
    ) -> usize {
        match (kind, param_ref) {
            (Some(kind), Some(param_ref)) if param_ref.name.is_empty() => {
                let param_namespace = match param_ref.namespace.as_str() {
                    "" => namespace,
                    named => named,
                };
                surroundings.count(kind, param_namespace, limit)
            }
            _ => 1,
        }
    }

    /// The parameters of a policy for a write in `namespace`. `None` as an element stands for an evaluation
    /// without a parameter.
    ///
    /// # Errors
    /// Reason why the binding cannot be used, in kube-apiserver's words.
    pub fn find(
        kind: Option<&ParamKind>,
        param_ref: Option<&Self>,
        namespace: &str,
        surroundings: &dyn Surroundings,
    ) -> Result<Vec<Option<Arc<Value>>>, String> {
        let (Some(kind), Some(param_ref)) = (kind, param_ref) else {
            return Ok(vec![None]);
        };
        let param_namespace = if param_ref.namespace.is_empty() {
            namespace
        } else {
            &param_ref.namespace
        };
        let name = Some(param_ref.name.as_str()).filter(|name| !name.is_empty());
        let found = surroundings
            .params(kind, param_namespace, name)
            .map_err(|error| error.to_string())?;
        if found.namespaced && param_namespace.is_empty() {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            );
        }
        if !found.namespaced && !param_ref.namespace.is_empty() {
            return Err(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned(),
            );
        }
        let chosen: Vec<_> = match (name, &param_ref.selector) {
            (Some(_), Some(_)) => {
                return Err("paramRef.name and paramRef.selector are mutually exclusive".to_owned());
            }
            (Some(_), None) => found.objects,
            (None, Some(selector)) => {
                let selector = selector.as_ref().map_err(Clone::clone)?;
                let selected = |object: &Arc<Value>| {
                    let labels = &object["metadata"]["labels"];
                    selector.matches_with(|key| labels[key].as_str())
                };
                found.objects.into_iter().filter(selected).collect()
            }
            (None, None) => return Err("one of name or selector must be provided".to_owned()),
        };
        if chosen.is_empty() && param_ref.denies_missing {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
        }
        Ok(chosen.into_iter().map(Some).collect())
    }
}

/// Compiles the label selector in `field`; an absent selector matches everything.
pub(crate) fn compile(value: &Value, field: &str) -> Result<Selector, String> {
    if value.is_null() {
        return Ok(Selector::default());
    }
    let selector: LabelSelector =
        serde_json::from_value(value.clone()).map_err(|problem| format!("{field}: {problem}"))?;
    Selector::compile(&selector, field).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        texts.join("; ")
    })
}
