//! `spec.requests`: the selection of requests that Berth decides in a system that it decides. All other
//! requests are observed.

use std::sync::{Arc, LazyLock};

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{FieldError, Schema};
use berth_dialect_contract::Dialect;
use berth_engine::Requests;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the field in `spec`.
pub(super) const FIELD: &str = "requests";
/// Path of the field, for errors.
const PATH: &str = "spec.requests";
/// Path of the selector of namespaces, for errors.
const NAMESPACES: &str = "spec.requests.namespaceSelector";

/// The requests that Berth decides, if it decides the system. Both selectors must match. Other requests are
/// observed: they are not written or guarded, and a Binding of them is refused. If omitted, Berth decides all
/// requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct RequestSelectors {
    /// The selector of requests by their labels. An empty selector matches all requests.
    selector: Option<LabelSelector>,
    /// The selector of requests by the labels of their namespaces. An empty selector matches all namespaces.
    namespace_selector: Option<LabelSelector>,
}

/// The schema of `spec.requests`.
pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::part::<RequestSelectors>);

/// Returns the requests that `configuration` selects; `None` for all requests.
///
/// # Errors
/// All errors of `spec.requests`.
pub(super) fn read(configuration: &Value) -> Result<Option<Arc<Requests>>, Vec<FieldError>> {
    let Some(value) = configuration["spec"].get(FIELD).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let mut form = SCHEMA.read::<RequestSelectors>(value, PATH);
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

/// Returns the errors of `spec.requests` in a configuration of `dialect`, except errors that the schema has
/// already `reported`.
pub(super) fn problems(
    dialect: &dyn Dialect,
    configuration: &Value,
    reported: &[FieldError],
) -> Vec<FieldError> {
    let value = &configuration["spec"][FIELD];
    if value.is_null() {
        return Vec::new();
    }
    if let Some(field) = dialect.configuration().request_selection_field() {
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
