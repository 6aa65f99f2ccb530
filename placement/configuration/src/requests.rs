//! `spec.requests`: the selection of requests that Berth decides, if it decides the system. All other
//! requests are observed.

use std::sync::{Arc, LazyLock};

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{FieldError, Schema};
use berth_dialect_contract::Dialect;
use berth_engine::Requests;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The field of `spec`.
pub(super) const FIELD: &str = "requests";
/// Path of the field.
const PATH: &str = "spec.requests";
/// Path of the selector by namespaces.
const NAMESPACES: &str = "spec.requests.namespaceSelector";

/// The requests that Berth decides, if it decides the system. Both selectors must match. Other requests are
/// observed: they are not written or guarded, and a Binding of them is refused. If omitted, Berth decides all
/// requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Form {
    /// The labels of the requests. An empty selector matches all requests.
    selector: Option<LabelSelector>,
    /// The labels of the requests' namespaces. An empty selector matches all namespaces.
    namespace_selector: Option<LabelSelector>,
}

/// Schema of the field.
pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::part::<Form>);

/// The requests that `configuration` selects; `None` for all requests.
///
/// # Errors
/// All errors of the field.
pub(super) fn read(configuration: &Value) -> Result<Option<Arc<Requests>>, Vec<FieldError>> {
    let Some(value) = configuration["spec"].get(FIELD).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let mut form = SCHEMA.read::<Form>(value, PATH);
    let selectors = form.value.clone();
    let mut compile = |field: &str, selector: Option<LabelSelector>| {
        let selector = selector.map(|selector| Selector::compile(&selector, field));
        selector
            .unwrap_or_else(|| Ok(Selector::default()))
            .unwrap_or_else(|errors| {
                errors.into_iter().for_each(|error| form.refuse(error));
                Selector::default()
            })
    };
    let labels = compile("selector", selectors.selector);
    let namespaces = compile("namespaceSelector", selectors.namespace_selector);
    let errors = form.into_errors();
    match errors.is_empty() {
        true => Ok(Some(Arc::new(Requests::Matching { labels, namespaces }))),
        false => Err(errors),
    }
}

/// Errors of the field in a configuration of `dialect`, except the `reported` errors, which are errors of
/// the schema.
pub(super) fn problems(
    dialect: &dyn Dialect,
    configuration: &Value,
    reported: &[FieldError],
) -> Vec<FieldError> {
    let value = &configuration["spec"][FIELD];
    if value.is_null() {
        return Vec::new();
    }
    if let Some(field) = dialect.configuration().selects_requests() {
        let detail = format!("{0} selects its requests by spec.{0}.{field}", dialect.name());
        return vec![FieldError::forbidden(PATH, detail)];
    }
    let mut errors = read(configuration).err().unwrap_or_default();
    errors.retain(|error| !reported.contains(error));
    let cluster_scoped = dialect.demands().iter().filter(|demand| !demand.namespaced);
    let kinds: Vec<&str> = cluster_scoped.map(|demand| demand.kind).collect();
    if !value["namespaceSelector"].is_null() && !kinds.is_empty() {
        let detail = format!("a {} has no namespace: use selector", kinds.join(" or "));
        errors.push(FieldError::forbidden(NAMESPACES, detail));
    }
    errors
}
