//! Fields of admission policies and their bindings. Of these fields, the schemas require only the names of
//! match conditions and variables, and the fields of warnings; the validation of the kinds reports other
//! missing fields, in kube-apiserver's words.

use berth_apimachinery::selector::LabelSelector;
use berth_apimachinery::types::Condition;
use schemars::JsonSchema;

/// The fields of a ValidatingAdmissionPolicy.
#[derive(JsonSchema)]
pub struct ValidatingFields {
    /// The writes that the policy validates, and the validations.
    pub spec: Option<ValidatingSpec>,
    /// Problems of the expressions, which the server found.
    pub status: Option<Status>,
}

/// Validations of a ValidatingAdmissionPolicy, and the writes to which they apply.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatingSpec {
    /// The kind of the parameter objects, which expressions read as `params`. If omitted, there is no
    /// `params`.
    pub param_kind: Option<ParamKind>,
    /// The writes that the policy validates. A binding may restrict these writes further.
    pub match_constraints: Option<MatchResources>,
    /// Validations with expressions that must be true. A false expression has the consequences that the
    /// binding names in validationActions.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub validations: Option<Vec<Validation>>,
    /// Consequence when the policy cannot be evaluated: Fail refuses the write, Ignore allows it.
    #[schemars(extend("x-default" = "Fail"))]
    pub failure_policy: Option<String>,
    /// Annotations that the policy adds to the audit event of the write.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub audit_annotations: Option<Vec<AuditAnnotation>>,
    /// Conditions on writes in addition to matchConstraints; the policy is evaluated only if all conditions
    /// are true.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub match_conditions: Option<Vec<MatchCondition>>,
    /// Values that other expressions read as `variables.<name>`. A variable may use earlier variables.
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
    /// The writes whose objects the policy changes, and the mutations.
    pub spec: Option<MutatingSpec>,
}

/// Mutations of a MutatingAdmissionPolicy, and the writes to which they apply.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingSpec {
    /// The kind of the parameter objects, which expressions read as `params`. If omitted, there is no
    /// `params`.
    pub param_kind: Option<ParamKind>,
    /// The writes whose objects the policy changes: creates and updates. A binding may restrict these writes
    /// further.
    pub match_constraints: Option<MatchResources>,
    /// Values that other expressions read as `variables.<name>`. A variable may use earlier variables.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub variables: Option<Vec<Variable>>,
    /// Mutations in the order of their evaluation. Each mutation reads the object after the earlier
    /// mutations.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub mutations: Option<Vec<Mutation>>,
    /// Consequence when the policy cannot be evaluated: Fail refuses the write, Ignore allows it unchanged.
    #[schemars(extend("x-default" = "Fail"))]
    pub failure_policy: Option<String>,
    /// Conditions on writes in addition to matchConstraints; the policy is evaluated only if all conditions
    /// are true.
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
    /// The bound policy, the writes for which it is in force, and the consequences of a false validation.
    pub spec: Option<ValidatingBindingSpec>,
}

/// Policy that a ValidatingAdmissionPolicyBinding puts in force, and the writes to which the policy applies.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatingBindingSpec {
    /// The name of the policy.
    pub policy_name: Option<String>,
    /// The parameters with which the policy is evaluated.
    pub param_ref: Option<ParamRef>,
    /// Writes to validate, among the writes that the policy's matchConstraints select; all such writes if
    /// omitted.
    pub match_resources: Option<MatchResources>,
    /// Consequences of a false validation: Deny, Warn, Audit.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub validation_actions: Option<Vec<String>>,
}

/// The fields of a MutatingAdmissionPolicyBinding.
#[derive(JsonSchema)]
pub struct MutatingBindingFields {
    /// The bound policy, and the writes for which it is in force.
    pub spec: Option<MutatingBindingSpec>,
}

/// Policy that a MutatingAdmissionPolicyBinding puts in force, and the writes to which the policy applies.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingBindingSpec {
    /// The name of the policy.
    pub policy_name: Option<String>,
    /// The parameters with which the policy is evaluated.
    pub param_ref: Option<ParamRef>,
    /// Writes to change, among the writes that the policy's matchConstraints select; all such writes if
    /// omitted.
    pub match_resources: Option<MatchResources>,
}

/// The kind of the parameter objects of a policy.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ParamKind {
    /// API version of the parameter objects, such as `v1` or `example.com/v1`.
    pub api_version: Option<String>,
    /// Kind of the parameter objects.
    pub kind: Option<String>,
}

/// Reference to the parameter objects with which a policy is evaluated.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ParamRef {
    /// Name of the parameter object. Exactly one of name and `selector` must be set.
    pub name: Option<String>,
    /// Namespace of the parameter objects; the namespace of the written object if omitted.
    pub namespace: Option<String>,
    /// Selector of parameter objects by their labels. The policy is evaluated once with each selected object:
    /// a validating policy must allow the write each time, and a mutating policy applies its mutations each
    /// time. Exactly one of `name` and selector must be set.
    pub selector: Option<LabelSelector>,
    /// Consequence when no parameter object exists: Allow skips the binding; Deny refuses the write, unless
    /// the policy's failurePolicy is Ignore.
    pub parameter_not_found_action: Option<String>,
}

/// Rules and selectors that select writes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct MatchResources {
    /// Selector of the namespace of the object, by the labels of the namespace. Cluster-scoped objects always
    /// match, except for Namespaces, which are selected by their own labels.
    #[schemars(extend("x-default" = {}))]
    pub namespace_selector: Option<LabelSelector>,
    /// Selector of the object by its labels. The object before or after the write must match.
    #[schemars(extend("x-default" = {}))]
    pub object_selector: Option<LabelSelector>,
    /// Rules about operations and resources. A write must match at least one rule. A binding may omit the
    /// rules: then every write of the policy matches.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_rules: Option<Vec<Rule>>,
    /// Rules about excluded operations and resources. A write that matches one of these rules is not
    /// selected, even if it matches a rule in resourceRules.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub exclude_resource_rules: Option<Vec<Rule>>,
    /// Whether a rule matches a resource in every served version (Equivalent), or only in the named versions
    /// (Exact).
    #[schemars(extend("x-default" = "Equivalent"))]
    pub match_policy: Option<String>,
}

/// Rule that selects writes by operation and resource.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Rule {
    /// Names of the objects; every name if omitted.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_names: Option<Vec<String>>,
    /// Operations: CREATE, UPDATE, DELETE, CONNECT, or `*` for all operations.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub operations: Option<Vec<String>>,
    /// API groups of the resources; `*` matches all groups.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub api_groups: Option<Vec<String>>,
    /// API versions of the resources; `*` matches all versions.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub api_versions: Option<Vec<String>>,
    /// Resources and subresources: `shoots`, `shoots/status`, `shoots/*`, `*`, `*/*`, `*/scale`.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resources: Option<Vec<String>>,
    /// Scope of the resources: Cluster, Namespaced, or `*` for both.
    #[schemars(extend("x-default" = "*"))]
    pub scope: Option<String>,
}

/// A match condition: a write matches only if the expression is true.
#[derive(JsonSchema)]
pub struct MatchCondition {
    /// Name of the condition, unique in the list.
    pub name: String,
    /// CEL expression that returns a bool.
    pub expression: Option<String>,
}

/// A variable: a named value for other expressions.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Variable {
    /// Name of the variable, which must be a CEL identifier.
    pub name: String,
    /// CEL expression that returns the value of the variable.
    pub expression: Option<String>,
}

/// A validation: an expression that must be true.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// CEL expression that must return true.
    pub expression: Option<String>,
    /// Message for the client if the expression is false.
    pub message: Option<String>,
    /// Reason of the refusal: Forbidden, Invalid or RequestEntityTooLarge; Invalid if omitted.
    pub reason: Option<String>,
    /// CEL expression that returns the message of the refusal. It takes precedence over `message`.
    pub message_expression: Option<String>,
}

/// An annotation that a policy adds to the audit event of a write.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditAnnotation {
    /// Key of the annotation. The name of the policy and a slash are added before the key.
    pub key: Option<String>,
    /// CEL expression that returns the text of the annotation, or null for no annotation.
    pub value_expression: Option<String>,
}

/// A mutation of the written object.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mutation {
    /// Type of the mutation: ApplyConfiguration or JSONPatch.
    pub patch_type: Option<String>,
    /// Expression of the mutation, if `patchType` is ApplyConfiguration.
    pub apply_configuration: Option<MutationExpression>,
    /// Expression of the mutation, if `patchType` is JSONPatch.
    pub json_patch: Option<MutationExpression>,
}

/// Expression of a mutation.
#[derive(JsonSchema)]
pub struct MutationExpression {
    /// CEL expression that returns an Object for an ApplyConfiguration, or a list of JSONPatch operations.
    pub expression: Option<String>,
}

/// Status of a ValidatingAdmissionPolicy: problems of the expressions.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Generation of the policy whose expressions were checked last.
    pub observed_generation: Option<i64>,
    /// Result of checking the expressions against the schemas of the resources in matchConstraints.
    pub type_checking: Option<TypeChecking>,
    /// Conditions of the policy.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// Result of checking the expressions of a policy against the schemas of resources.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypeChecking {
    /// Warnings, one for each expression that does not fit the schema of a resource.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub expression_warnings: Option<Vec<ExpressionWarning>>,
}

/// A warning about one expression.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpressionWarning {
    /// Path of the expression, such as `spec.validations[0].expression`.
    pub field_ref: String,
    /// Problem of the expression, for each resource whose schema it does not fit.
    pub warning: String,
}
