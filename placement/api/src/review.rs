//! SchedulingReview: a hypothetical question to the scheduler.

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{FieldError, KindInfo, Schema, Scope, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::{Virtual, info};
use super::scheduling::PublishedReport;
use super::shared::AnyObject;

/// Highest number of selectors of `spec.decisions`.
const MOST_SELECTORS: usize = 100;

/// A request for the decision that the scheduler would make with other objects, another fleet, another
/// configuration or at another time. The status of the create response contains the answer; nothing is stored
/// or bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReview {
    /// The request.
    pub spec: SchedulingReviewSpec,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SchedulingReviewStatus>,
}

/// The answer of the scheduler: a decision with every step that led to it, or a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReviewStatus {
    /// The decision, if the request is about one object.
    #[serde(flatten)]
    pub decision: Option<PublishedReport>,
    /// Effects of `spec.changes`: counts of the decisions that change, and an entry for each with its
    /// clusters and reasons before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<AnyObject>,
}

/// A request to the scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReviewSpec {
    /// The whole placeable object to schedule. Not together with `reference`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<AnyObject>,
    /// An existing placeable object to schedule, unchanged. Not together with `object`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<ObjectReference>,
    /// The inventory for the decision: Live (the stored objects), Overlay (the stored objects, with `objects`
    /// added or replaced) or Provided (only `objects`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Live", "Overlay", "Provided"], "default" = "Live"))]
    pub inventory: Option<String>,
    /// Whole objects, including their status, for Overlay and Provided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<Vec<AnyObject>>,
    /// The configuration of the scheduling system, in the form of the system's field of a
    /// SchedulerConfiguration. If omitted, the stored configuration (with Provided, the defaults).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<AnyObject>,
    /// Changes to evaluate on the live inventory; the answer lists the decisions that they would change. In
    /// place of `object` or `reference`; at most 5,000, each about another object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
    /// With `changes`: decisions to report even if they do not change; at most 100 of the entries may be
    /// selectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<DecisionReference>>,
    /// The instant of the decision; now if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
}

/// A change, of which exactly one field must be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The whole object, which is created or replaces the existing one. If its status is omitted, the
    /// existing status is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<AnyObject>,
    /// A JSON merge patch, with apiVersion, kind and name of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<AnyObject>,
    /// An object to delete. An object with finalizers stays, marked as deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<ObjectReference>,
    /// The name of a Target to drain, with or without its system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<String>,
}

/// A reference to a Decision, or to a ClusterDecision if there is no namespace; or a selector of decisions by
/// their labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionReference {
    /// The namespace of the Decision. If omitted with `selector`, decisions of all namespaces and without a
    /// namespace are selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name, with the system: `web.gardener`. Not together with `selector`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The labels of the decisions, which are those of the placeable objects. Not together with `name`; an
    /// empty selector selects all decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// A reference to an existing object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// The API version of the object.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object; omitted for cluster-scoped objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
}

/// The kind of `schedulingreviews`.
#[must_use]
pub fn kind() -> Virtual {
    let info = KindInfo {
        scope: Scope::Cluster,
        ..info(
            "SchedulingReview",
            "schedulingreviews",
            "schedulingreview",
            &["create"],
        )
    };
    Virtual {
        rules,
        ..Virtual::new(info, Schema::of::<SchedulingReview>())
    }
}

/// The kind of `localschedulingreviews`: reviews about the objects of one namespace, for users who may
/// explain decisions in that namespace.
#[must_use]
pub fn local() -> Virtual {
    let info = info(
        "LocalSchedulingReview",
        "localschedulingreviews",
        "localschedulingreview",
        &["create"],
    );
    Virtual {
        rules: local_rules,
        ..Virtual::new(info, Schema::of::<SchedulingReview>())
    }
}

/// Rules beyond the schema, about combinations of fields.
fn rules(value: &Value) -> Vec<FieldError> {
    let spec = &value["spec"];
    let has = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    let mut errors = Vec::new();
    if has("decisions") && !has("changes") {
        let detail = "may only be set together with spec.changes";
        errors.push(FieldError::forbidden("spec.decisions", detail));
    }
    match (has("object"), has("reference")) {
        _ if has("changes") => errors.extend(plan_rules(spec)),
        (true, true) => {
            errors.push(FieldError::forbidden(
                "spec.reference",
                "may not be set together with spec.object",
            ));
        }
        (false, false) => {
            errors.push(FieldError::required(
                "spec.object",
                "either object or reference is required",
            ));
        }
        _ => {}
    }
    let objects = spec["objects"].as_array().map_or(0, Vec::len);
    match spec["inventory"].as_str() {
        Some("Live") | None if objects > 0 => {
            let detail = "objects are only read if spec.inventory is Overlay or Provided";
            errors.push(FieldError::forbidden("spec.objects", detail));
        }
        Some("Provided") if has("reference") => {
            let detail =
                "with spec.inventory Provided no stored object is read: set spec.object to the whole object";
            errors.push(FieldError::forbidden("spec.reference", detail));
        }
        _ => {}
    }
    if let Some(at) = spec["at"].as_str()
        && time::parse(at).is_none()
    {
        errors.push(FieldError::invalid(
            "spec.at",
            at,
            "must be an RFC 3339 instant, such as 2021-10-28T09:00:00Z",
        ));
    }
    errors
}

/// Errors of a review with `spec.changes`.
fn plan_rules(spec: &Value) -> Vec<FieldError> {
    let has = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    let mut errors = Vec::new();
    for field in ["object", "reference", "objects", "config"] {
        if has(field) {
            let detail = "may not be set together with spec.changes: make it a change";
            errors.push(FieldError::forbidden(format!("spec.{field}"), detail));
        }
    }
    if spec["inventory"].as_str().is_some_and(|mode| mode != "Live") {
        let detail = "a plan is computed on the stored objects: omit the field, or use berth simulate";
        errors.push(FieldError::forbidden("spec.inventory", detail));
    }
    if spec["changes"].as_array().is_some_and(Vec::is_empty) {
        errors.push(FieldError::required(
            "spec.changes",
            "a plan has at least one change",
        ));
    }
    errors.extend(decision_rules(spec));
    errors
}

/// Errors in the entries of `spec.decisions`.
fn decision_rules(spec: &Value) -> Vec<FieldError> {
    let (mut errors, mut selectors) = (Vec::new(), 0);
    let list = spec["decisions"].as_array().map(Vec::as_slice);
    for (index, entry) in list.unwrap_or_default().iter().enumerate() {
        let path = format!("spec.decisions[{index}]");
        let has = |field: &str| entry.get(field).is_some_and(|value| !value.is_null());
        match (has("name"), has("selector")) {
            (true, true) => errors.push(FieldError::forbidden(
                format!("{path}.selector"),
                "may not be set together with name",
            )),
            (false, false) => errors.push(FieldError::required(
                format!("{path}.name"),
                "either name or selector is required",
            )),
            (true, false) => {}
            (false, true) => {
                selectors += 1;
                errors.extend(selector(entry, &path).err().into_iter().flatten());
            }
        }
    }
    if selectors > MOST_SELECTORS {
        // Each selector is evaluated for every decision.
        errors.push(FieldError::too_many("spec.decisions", selectors, MOST_SELECTORS));
    }
    errors
}

/// The selector of `entry`, if the entry has one. `path` is the path of the entry, for errors.
///
/// # Errors
/// All errors of the selector.
pub fn selector(entry: &Value, path: &str) -> Result<Option<Selector>, Vec<FieldError>> {
    let Some(value) = entry.get("selector").filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let path = format!("{path}.selector");
    let result: Result<LabelSelector, _> = serde_json::from_value(value.clone());
    match result {
        Ok(selector) => Selector::compile(&selector, &path).map(Some),
        Err(error) => Err(vec![FieldError::invalid(path, value.clone(), error.to_string())]),
    }
}

/// Rules of a LocalSchedulingReview. It cannot request a plan, which shows all decisions.
fn local_rules(value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if value["spec"]
        .get("changes")
        .is_some_and(|changes| !changes.is_null())
    {
        let detail = "a plan covers the decisions of all namespaces: create a SchedulingReview";
        errors.push(FieldError::forbidden("spec.changes", detail));
    } else {
        errors.extend(rules(value));
    }
    errors
}
