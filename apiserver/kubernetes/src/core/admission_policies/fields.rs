//! The fields of policies and their bindings. The schema requires only the names of conditions and variables,
//! and the fields of warnings: the rules report other missing fields, in kube-apiserver's words.

use berth_apimachinery::selector::LabelSelector;
use berth_apimachinery::types::Condition;
use schemars::JsonSchema;

/// The fields of a ValidatingAdmissionPolicy.
#[derive(JsonSchema)]
pub struct ValidatingFields {
    /// The writes that the policy validates, and its rules.
    pub spec: Option<ValidatingSpec>,
    /// Findings of the server about the expressions.
    pub status: Option<Status>,
}

/// Rules of a ValidatingAdmissionPolicy, and the writes that they validate.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatingSpec {
    /// The kind of the parameter objects, which expressions read as `params`. If omitted, there is no
    /// `params`.
    pub param_kind: Option<ParamKind>,
    /// The writes that the policy validates. A binding may narrow them.
    pub match_constraints: Option<MatchResources>,
    /// Expressions that must be true. Each false one is reported.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub validations: Option<Vec<Validation>>,
    /// Consequence when the policy cannot be evaluated: Fail refuses the write, Ignore allows it.
    #[schemars(extend("x-default" = "Fail"))]
    pub failure_policy: Option<String>,
    /// Annotations of the audit event.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub audit_annotations: Option<Vec<AuditAnnotation>>,
    /// Further conditions on writes, besides the rules; the policy is evaluated only if all of them are true.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub match_conditions: Option<Vec<MatchCondition>>,
    /// Values that the other expressions read as `variables.<name>`; a variable may use earlier ones.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub variables: Option<Vec<Variable>>,
}

/// The fields of a MutatingAdmissionPolicy.
#[derive(JsonSchema)]
pub struct MutatingFields {
    /// The objects that the policy changes, and its mutations.
    pub spec: Option<MutatingSpec>,
}

/// Mutations of a MutatingAdmissionPolicy, and the objects that they change.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingSpec {
    /// The kind of the parameter objects, which expressions read as `params`. If omitted, there is no
    /// `params`.
    pub param_kind: Option<ParamKind>,
    /// The writes that the policy changes: creates and updates. A binding may narrow them.
    pub match_constraints: Option<MatchResources>,
    /// Values that the other expressions read as `variables.<name>`; a variable may use earlier ones.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub variables: Option<Vec<Variable>>,
    /// Mutations in the order of their evaluation: each reads the result of the earlier ones.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub mutations: Option<Vec<Mutation>>,
    /// Consequence when the policy cannot be evaluated: Fail refuses the write, Ignore allows it unchanged.
    #[schemars(extend("x-default" = "Fail"))]
    pub failure_policy: Option<String>,
    /// Further conditions on writes, besides the rules; the policy is evaluated only if all of them are true.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub match_conditions: Option<Vec<MatchCondition>>,
    /// Whether the policy is evaluated again when a later mutation changes the object: Never, or IfNeeded.
    pub reinvocation_policy: Option<String>,
}

/// The fields of a ValidatingAdmissionPolicyBinding.
#[derive(JsonSchema)]
pub struct ValidatingBindingFields {
    /// Scope of the policy.
    pub spec: Option<ValidatingBindingSpec>,
}

/// Scope in which a ValidatingAdmissionPolicy is in force.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatingBindingSpec {
    /// The name of the policy.
    pub policy_name: Option<String>,
    /// The parameters with which the policy is evaluated.
    pub param_ref: Option<ParamRef>,
    /// Writes to validate among those of the policy's constraints; all of them if omitted.
    pub match_resources: Option<MatchResources>,
    /// Consequences of a false validation: Deny, Warn, Audit.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub validation_actions: Option<Vec<String>>,
}

/// The fields of a MutatingAdmissionPolicyBinding.
#[derive(JsonSchema)]
pub struct MutatingBindingFields {
    /// Scope of the policy.
    pub spec: Option<MutatingBindingSpec>,
}

/// Scope in which a MutatingAdmissionPolicy is in force.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingBindingSpec {
    /// The name of the policy.
    pub policy_name: Option<String>,
    /// The parameters with which the policy is evaluated.
    pub param_ref: Option<ParamRef>,
    /// Writes to change among those of the policy's constraints; all of them if omitted.
    pub match_resources: Option<MatchResources>,
}

/// A kind of parameters.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ParamKind {
    /// The group and version of the kind: `v1`, `example.com/v1`.
    pub api_version: Option<String>,
    /// The kind.
    pub kind: Option<String>,
}

/// The parameter objects.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ParamRef {
    /// The name of the parameter object. Exactly one of name and `selector` must be set.
    pub name: Option<String>,
    /// The namespace of the parameter objects; the namespace of the write if omitted.
    pub namespace: Option<String>,
    /// The labels of the parameter objects. The policy is evaluated with each of them, and all must allow the
    /// write.
    pub selector: Option<LabelSelector>,
    /// Consequence when there is no parameter object: Allow, as if there were no binding, or Deny, which
    /// refuses the write unless the failure policy is Ignore.
    pub parameter_not_found_action: Option<String>,
}

/// Matching writes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct MatchResources {
    /// Labels of the objects' namespaces. Cluster-scoped objects always match; a Namespace is matched by its
    /// own labels.
    #[schemars(extend("x-default" = {}))]
    pub namespace_selector: Option<LabelSelector>,
    /// Labels of the object, or of the object before the write.
    #[schemars(extend("x-default" = {}))]
    pub object_selector: Option<LabelSelector>,
    /// Operations and resources that match.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_rules: Option<Vec<Rule>>,
    /// Operations and resources that do not match, even if a resource rule matches them.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub exclude_resource_rules: Option<Vec<Rule>>,
    /// Whether a rule matches a resource in every served version (Equivalent), or only in the named versions
    /// (Exact).
    #[schemars(extend("x-default" = "Equivalent"))]
    pub match_policy: Option<String>,
}

/// Operations on resources.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Rule {
    /// The names of the objects; all names if omitted.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_names: Option<Vec<String>>,
    /// CREATE, UPDATE, DELETE, CONNECT, or `*`.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub operations: Option<Vec<String>>,
    /// The API groups; `*` matches all groups.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub api_groups: Option<Vec<String>>,
    /// The API versions; `*` matches all versions.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub api_versions: Option<Vec<String>>,
    /// Resources and subresources: `shoots`, `shoots/status`, `shoots/*`, `*`, `*/*`, `*/scale`.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resources: Option<Vec<String>>,
    /// Cluster, Namespaced, or `*`.
    #[schemars(extend("x-default" = "*"))]
    pub scope: Option<String>,
}

/// A condition on writes.
#[derive(JsonSchema)]
pub struct MatchCondition {
    /// The name of the condition, unique in the list.
    pub name: String,
    /// A CEL expression that returns a bool.
    pub expression: Option<String>,
}

/// A value for other expressions.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Variable {
    /// The name of the variable, an identifier of CEL.
    pub name: String,
    /// A CEL expression.
    pub expression: Option<String>,
}

/// A validation rule.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// A CEL expression that returns a bool.
    pub expression: Option<String>,
    /// Message if the expression is false.
    pub message: Option<String>,
    /// The reason of the refusal: Forbidden, Invalid or RequestEntityTooLarge; Invalid if omitted.
    pub reason: Option<String>,
    /// A CEL expression that returns the message, in place of `message`.
    pub message_expression: Option<String>,
}

/// An annotation of the audit event.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditAnnotation {
    /// The key of the annotation, without its prefix: the name of the policy and a slash.
    pub key: Option<String>,
    /// A CEL expression that returns the text, or null for no annotation.
    pub value_expression: Option<String>,
}

/// A mutation.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mutation {
    /// ApplyConfiguration or JSONPatch.
    pub patch_type: Option<String>,
    /// The expression of an ApplyConfiguration.
    pub apply_configuration: Option<MutationExpression>,
    /// The expression of a JSONPatch.
    pub json_patch: Option<MutationExpression>,
}

/// Expression of a mutation.
#[derive(JsonSchema)]
pub struct MutationExpression {
    /// A CEL expression that returns an Object, or a list of JSONPatch.
    pub expression: Option<String>,
}

/// Findings of the server about the expressions of a policy.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The generation of the policy for which the findings were computed.
    pub observed_generation: Option<i64>,
    /// Expressions that do not fit the types of the policy's resources.
    pub type_checking: Option<TypeChecking>,
    /// Conditions of the policy.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// Expressions that do not fit the types of a policy's resources.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypeChecking {
    /// Warnings, one for each such expression.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub expression_warnings: Option<Vec<ExpressionWarning>>,
}

/// A warning about one expression.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpressionWarning {
    /// Path of the expression: `spec.validations[0].expression`.
    pub field_ref: String,
    /// The problem, for each resource.
    pub warning: String,
}
