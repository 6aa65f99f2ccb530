//! SchedulingReview: a query to the scheduler about a hypothetical situation.

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{FieldError, KindInfo, Schema, Scope, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::{VirtualKind, info};
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
    /// The query to the scheduler.
    pub spec: SchedulingReviewSpec,
    /// The answer of the scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SchedulingReviewStatus>,
}

/// The answer of the scheduler: a decision with every step that led to it, or a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReviewStatus {
    /// The decision, if the query is about one object.
    #[serde(flatten)]
    pub decision: Option<PublishedReport>,
    /// The effects of `spec.changes`: the number of decisions that change, and for each of these decisions
    /// the clusters and reasons before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<AnyObject>,
}

/// A query to the scheduler.
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
    /// SchedulerConfiguration. If omitted, the stored configuration applies; with Provided, the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<AnyObject>,
    /// Changes to evaluate on the live inventory. The answer lists the decisions that would change. Not
    /// together with `object` or `reference`; at most 5,000 changes, each of a different object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
    /// Decisions to report even if they do not change. Only together with `changes`; at most 100 entries may
    /// have a selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<DecisionReference>>,
    /// The time for which the decision is made; now if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
}

/// A change to evaluate. Exactly one field must be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// A whole object, which is created, or replaces the existing object. If the status is omitted, the
    /// existing status is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<AnyObject>,
    /// A JSON merge patch, which includes apiVersion, kind and name of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<AnyObject>,
    /// An object to delete. An object with finalizers stays, with a deletionTimestamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<ObjectReference>,
    /// The name of a Target to drain, with or without the system: `eu-1.gardener` or `eu-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<String>,
}

/// A reference to a Decision, or to a ClusterDecision if the namespace is omitted; or a selector of
/// decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionReference {
    /// The namespace of the Decision. If omitted with `selector`, decisions of all namespaces and without a
    /// namespace are selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the decision, with the system: `web.gardener`. Not together with `selector`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The selector of decisions by the labels of their placeable objects. An empty selector selects all
    /// decisions. Not together with `name`.
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

/// Returns the kind of `schedulingreviews`.
#[must_use]
pub fn kind() -> VirtualKind {
    let info = KindInfo {
        scope: Scope::Cluster,
        ..info(
            "SchedulingReview",
            "schedulingreviews",
            "schedulingreview",
            &["create"],
        )
    };
    VirtualKind {
        rules,
        ..VirtualKind::new(info, Schema::of::<SchedulingReview>())
    }
}

/// Returns the kind of `localschedulingreviews`: reviews about the objects of one namespace, for users who
/// may explain decisions in that namespace.
#[must_use]
pub fn local() -> VirtualKind {
    let info = info(
        "LocalSchedulingReview",
        "localschedulingreviews",
        "localschedulingreview",
        &["create"],
    );
    VirtualKind {
        rules: local_rules,
        ..VirtualKind::new(info, Schema::of::<SchedulingReview>())
    }
}

/// Returns the errors in combinations of fields, which the schema does not find.
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
        // The rules of plans are about the same fields, with other remedies.
        _ if has("changes") => {}
        Some("Live") | None if objects > 0 => {
            let detail = "objects are only read if spec.inventory is Overlay or Provided";
            errors.push(FieldError::forbidden("spec.objects", detail));
        }
        Some("Provided") if has("reference") && !has("object") => {
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

/// Returns the errors of a review with `spec.changes`.
fn plan_rules(spec: &Value) -> Vec<FieldError> {
    let has = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    let mut errors = Vec::new();
    for (field, remedy) in [
        ("object", "add the object to spec.changes"),
        ("reference", "name the decision in spec.decisions"),
        ("objects", "add the objects to spec.changes"),
        ("config", "add the SchedulerConfiguration to spec.changes"),
    ] {
        if has(field) {
            let detail = format!("may not be set together with spec.changes: {remedy}");
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

/// Returns the errors in the entries of `spec.decisions`.
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

/// Returns the selector of `entry`, if the entry has one. `path` is the path of the entry, for errors.
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

/// Returns the errors of a LocalSchedulingReview, which cannot request a plan, since a plan shows the
/// decisions of all namespaces.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_field_gets_two_remedies_that_contradict_each_other() {
        let object = json!({"kind": "Shoot"});
        let reference = json!({"kind": "Shoot", "name": "web"});
        for (spec, expected) in [
            (
                json!({"changes": [{}], "objects": [object]}),
                vec!["spec.objects"],
            ),
            (
                json!({"changes": [{}], "reference": reference, "inventory": "Provided"}),
                vec!["spec.reference", "spec.inventory"],
            ),
            (
                json!({"object": object, "reference": reference, "inventory": "Provided"}),
                vec!["spec.reference"],
            ),
            (
                json!({"reference": reference, "inventory": "Provided"}),
                vec!["spec.reference"],
            ),
            (
                json!({"reference": reference, "objects": [object]}),
                vec!["spec.objects"],
            ),
        ] {
            let errors = rules(&json!({"spec": spec}));
            let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
            assert_eq!(paths, expected, "{spec}");
        }
    }
}
