//! SchedulingReview: a hypothetical question to the scheduler.

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{FieldError, KindInfo, Schema, Scope, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::{Virtual, info};
use super::scheduling::PublishedReport;
use super::shared::AnyObject;

/// Most selectors of `spec.decisions`.
const MOST_SELECTORS: usize = 100;

/// Asks what the scheduler would decide, with other objects, another fleet, another configuration or at
/// another time. Creating one answers in its status; nothing is stored and nothing is bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReview {
    /// The question.
    pub spec: SchedulingReviewSpec,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SchedulingReviewStatus>,
}

/// The answer of the scheduler: a decision with everything that led to it, or a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReviewStatus {
    /// The decision, where one object was asked about.
    #[serde(flatten)]
    pub decision: Option<PublishedReport>,
    /// Effects of `spec.changes`: counts of the decisions that change, and an entry for each with its
    /// clusters and reasons before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<AnyObject>,
}

/// A question to the scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReviewSpec {
    /// The placeable object to decide, whole. Either this or `reference`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<AnyObject>,
    /// A placeable object that exists, decided as it is. Either this or `object`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<ObjectReference>,
    /// World that is decided on: Live (what is stored), Overlay (what is stored, with `objects` added or in
    /// place of stored ones) or Provided (nothing but `objects`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Live", "Overlay", "Provided"], "default" = "Live"))]
    pub inventory: Option<String>,
    /// Whole objects, status included, for Overlay and Provided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<Vec<AnyObject>>,
    /// The scheduling system's configuration to decide with, as it stands below the system's name in a
    /// SchedulerConfiguration. Left out, the stored one counts (the defaults with Provided).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<AnyObject>,
    /// Changes to try; the answer lists the decisions they would move. Instead of `object` or `reference`, on
    /// the live world; at most 5,000, each object in one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
    /// With `changes`: decisions to report even if they do not change; at most 100 of the entries are
    /// selectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<DecisionReference>>,
    /// The instant to decide for; left out, now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
}

/// One change, made by exactly one of its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The whole object, created or put in place of the one there. Left out, its status stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<AnyObject>,
    /// A JSON merge patch, with apiVersion, kind and the name of what it patches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<AnyObject>,
    /// An object to delete. With finalizers it stays, marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<ObjectReference>,
    /// The name of a Target to empty, with or without its system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<String>,
}

/// Names a Decision, or a ClusterDecision where there is no namespace; or selects decisions by their labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionReference {
    /// The namespace of the Decision. With `selector`, left out, those of all namespaces and those that have
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name, with its system: `web.gardener`. Either this or `selector`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The labels of the decisions, which are those of the objects that they place. Either this or `name`; an
    /// empty selector selects every decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// Names an object that exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// The API version of the object.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object; left out when it has none.
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
/// explain there.
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
        let detail = "decisions are named for a plan: with spec.changes";
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
            let detail = "objects are only looked at when spec.inventory is Overlay or Provided";
            errors.push(FieldError::forbidden("spec.objects", detail));
        }
        Some("Provided") if has("reference") => {
            let detail =
                "with spec.inventory Provided nothing stored is looked at: give the object as spec.object";
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

/// Errors of fields that cannot be combined with `spec.changes`.
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
        let detail = "a plan is made on what is stored: leave it out, or ask berth simulate";
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

/// The selector of `entry`, which is at `path` in `spec.decisions`, if it has one.
///
/// # Errors
/// Everything wrong with it.
pub fn selector(entry: &Value, path: &str) -> Result<Option<Selector>, Vec<FieldError>> {
    let Some(given) = entry.get("selector").filter(|given| !given.is_null()) else {
        return Ok(None);
    };
    let path = format!("{path}.selector");
    let read: Result<LabelSelector, _> = serde_json::from_value(given.clone());
    match read {
        Ok(selector) => Selector::compile(&selector, &path).map(Some),
        Err(error) => Err(vec![FieldError::invalid(path, given.clone(), error.to_string())]),
    }
}

/// Rules of a LocalSchedulingReview. It cannot request a plan, which shows all decisions.
fn local_rules(value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if value["spec"]
        .get("changes")
        .is_some_and(|changes| !changes.is_null())
    {
        let detail = "a plan is about every decision: make a SchedulingReview";
        errors.push(FieldError::forbidden("spec.changes", detail));
    } else {
        errors.extend(rules(value));
    }
    errors
}
