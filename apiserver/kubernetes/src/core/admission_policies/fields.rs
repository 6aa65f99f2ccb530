//! The fields of policies and their bindings. The schema requires nothing: the rules report missing
//! fields, in kube-apiserver's words.

use berth_apimachinery::selector::LabelSelector;
use berth_apimachinery::types::Condition;
use schemars::JsonSchema;

/// The fields of a ValidatingAdmissionPolicy.
#[derive(JsonSchema)]
pub struct ValidatingFields {
    /// Writes to judge, and rules.
    pub spec: Option<ValidatingSpec>,
    /// Findings of the server about the expressions.
    pub status: Option<Status>,
}

/// Rules of a ValidatingAdmissionPolicy, and the writes they judge.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatingSpec {
    /// The kind of the objects that `params` stands for. Without it there is no `params`.
    pub param_kind: Option<ParamKind>,
    /// Writes that are judged. A binding may narrow it.
    pub match_constraints: Option<MatchResources>,
    /// Expressions that must hold. Each is told when it does not.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub validations: Option<Vec<Validation>>,
    /// Consequence when the policy cannot be evaluated: Fail refuses the write, Ignore lets it pass.
    #[schemars(extend("x-default" = "Fail"))]
    pub failure_policy: Option<String>,
    /// Notes for the audit log.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub audit_annotations: Option<Vec<AuditAnnotation>>,
    /// Conditions on writes beside the rules; all of them must hold for the policy to be evaluated.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub match_conditions: Option<Vec<MatchCondition>>,
    /// Values that the other expressions read as `variables.<name>`; one may use those before it.
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
    /// Objects to change, and mutations.
    pub spec: Option<MutatingSpec>,
}

/// Mutations of a MutatingAdmissionPolicy, and the objects they change.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingSpec {
    /// The kind of the objects that `params` stands for. Without it there is no `params`.
    pub param_kind: Option<ParamKind>,
    /// Writes that are changed: creates and updates. A binding may narrow it.
    pub match_constraints: Option<MatchResources>,
    /// Values that the other expressions read as `variables.<name>`; one may use those before it.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub variables: Option<Vec<Variable>>,
    /// Mutations, one after the other: each sees what those before it did.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub mutations: Option<Vec<Mutation>>,
    /// Consequence when the policy cannot be evaluated: Fail refuses the write, Ignore lets it pass
    /// unchanged.
    #[schemars(extend("x-default" = "Fail"))]
    pub failure_policy: Option<String>,
    /// Conditions on writes beside the rules; all of them must hold for the policy to be evaluated.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub match_conditions: Option<Vec<MatchCondition>>,
    /// Whether it is evaluated again when the object was changed after it: Never, or IfNeeded.
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
    /// The policy.
    pub policy_name: Option<String>,
    /// The parameters it is evaluated with.
    pub param_ref: Option<ParamRef>,
    /// Writes among those of the policy's constraints that are judged; all of them where it is left out.
    pub match_resources: Option<MatchResources>,
    /// Consequences of a validation that does not hold: Deny, Warn, Audit.
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
    /// The policy.
    pub policy_name: Option<String>,
    /// The parameters it is evaluated with.
    pub param_ref: Option<ParamRef>,
    /// Writes among those of the policy's constraints that are changed; all of them where it is left out.
    pub match_resources: Option<MatchResources>,
}

/// A kind of parameters.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ParamKind {
    /// Its group and version: `v1`, `example.com/v1`.
    pub api_version: Option<String>,
    /// The kind.
    pub kind: Option<String>,
}

/// Objects that are the parameters.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ParamRef {
    /// The one of this name. Either this or `selector` is given.
    pub name: Option<String>,
    /// The namespace they are in; that of the write where it is left out.
    pub namespace: Option<String>,
    /// The objects with these labels. The policy is evaluated with each of them, and all must allow the write.
    pub selector: Option<LabelSelector>,
    /// Consequence when there are none: Allow, as if there were no binding, or Deny, which refuses the write
    /// unless the failure policy is Ignore.
    pub parameter_not_found_action: Option<String>,
}

/// Writes that are meant.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct MatchResources {
    /// The labels of the namespaces they are in. What is in no namespace is always meant; a Namespace is
    /// meant by its own labels.
    #[schemars(extend("x-default" = {}))]
    pub namespace_selector: Option<LabelSelector>,
    /// The labels of the object, or of what it was before.
    #[schemars(extend("x-default" = {}))]
    pub object_selector: Option<LabelSelector>,
    /// Operations and resources.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_rules: Option<Vec<Rule>>,
    /// Resources that are left out of that.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub exclude_resource_rules: Option<Vec<Rule>>,
    /// Whether a rule means a resource in every version it is served in (Equivalent), or only in the versions
    /// it names (Exact).
    #[schemars(extend("x-default" = "Equivalent"))]
    pub match_policy: Option<String>,
}

/// Operations on resources.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Rule {
    /// The names of the objects; any where it is left out.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_names: Option<Vec<String>>,
    /// CREATE, UPDATE, DELETE, CONNECT, or `*`.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub operations: Option<Vec<String>>,
    /// The API groups; `*` is any.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub api_groups: Option<Vec<String>>,
    /// Their versions; `*` is any.
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
    /// Its name, each once.
    pub name: String,
    /// A CEL expression that gives a bool.
    pub expression: Option<String>,
}

/// A value for other expressions.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Variable {
    /// Its name, an identifier of CEL.
    pub name: String,
    /// A CEL expression.
    pub expression: Option<String>,
}

/// Something that must hold.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// A CEL expression that gives a bool.
    pub expression: Option<String>,
    /// Message when it does not hold.
    pub message: Option<String>,
    /// The reason of the refusal: Forbidden, Invalid or RequestEntityTooLarge; Invalid where it is left out.
    pub reason: Option<String>,
    /// A CEL expression that gives the text to be said instead of `message`.
    pub message_expression: Option<String>,
}

/// Something noted in the audit log.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditAnnotation {
    /// Its key, behind the name of the policy and a slash.
    pub key: Option<String>,
    /// A CEL expression that gives the text, or null for none.
    pub value_expression: Option<String>,
}

/// One change.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mutation {
    /// ApplyConfiguration or JSONPatch.
    pub patch_type: Option<String>,
    /// The configuration that is applied.
    pub apply_configuration: Option<MutationExpression>,
    /// The patch that is carried out.
    pub json_patch: Option<MutationExpression>,
}

/// Expression that makes a change.
#[derive(JsonSchema)]
pub struct MutationExpression {
    /// A CEL expression that gives an Object, or a list of JSONPatch.
    pub expression: Option<String>,
}

/// Findings of the server about the expressions of a policy.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The generation it was found in.
    pub observed_generation: Option<i64>,
    /// Expressions that do not fit the types of the resources that the policy is about.
    pub type_checking: Option<TypeChecking>,
    /// Observations.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// Expressions that do not fit the types of the resources that a policy is about.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypeChecking {
    /// Each expression, with what is wrong.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub expression_warnings: Option<Vec<ExpressionWarning>>,
}

/// Problem of one expression.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpressionWarning {
    /// Path of the expression: `spec.validations[0].expression`.
    pub field_ref: String,
    /// Problem, for each resource.
    pub warning: String,
}
