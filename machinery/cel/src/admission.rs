//! The environments of match conditions and admission policies.

use std::borrow::Cow;

use crate::environment::Environment;
use crate::types::Type;

/// Variables of [`Environment::match_conditions`] and [`Environment::policies`], in the order of their
/// indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionVariable {
    /// The variable `object`.
    Object,
    /// The variable `oldObject`.
    OldObject,
    /// The variable `request`.
    Request,
    /// The variable `namespaceObject`.
    NamespaceObject,
    /// The variable `authorizer`.
    Authorizer,
    /// The variable `authorizer.requestResource`.
    AuthorizerRequestResource,
    /// The variable `variables`, in policies.
    Variables,
    /// The variable `params`, in policies with parameters.
    Params,
}

impl Environment {
    /// Creates Kubernetes' environment with the variables of match conditions.
    #[must_use]
    pub fn match_conditions() -> Self {
        Self::kubernetes()
            .with_variable("object", Type::Dyn)
            .with_variable("oldObject", Type::Dyn)
            .with_variable("request", request())
            .with_variable("namespaceObject", namespace())
            .with_variable("authorizer", Type::Named(AUTHORIZER))
            .with_variable(
                "authorizer.requestResource",
                Type::Named("kubernetes.authorization.ResourceCheck"),
            )
    }

    /// Creates Kubernetes' environment with the variables of admission policies: the variables of match
    /// conditions, `variables`, and `params` where the policy has parameters. The fields of `variables` are
    /// declared afterwards as `variables.<name>`.
    #[must_use]
    pub fn policies(params: bool) -> Self {
        let environment = Self::match_conditions().with_variable("variables", variables());
        if params {
            environment.with_variable("params", Type::Dyn)
        } else {
            environment
        }
    }

    /// Creates an environment that only type-checks the expressions of a policy, for one of the kinds that
    /// the policy matches: `object` is the type of the written objects, and `params` the type of the
    /// parameters, if the policy has any. As in kube-apiserver, the environment has no
    /// `authorizer.requestResource`.
    #[must_use]
    pub fn checking_policies(object: &Type, params: Option<&Type>) -> Self {
        let environment = Self::kubernetes()
            .with_variable("object", object.clone())
            .with_variable("oldObject", object.clone())
            .with_variable("request", request())
            .with_variable("namespaceObject", namespace())
            .with_variable("authorizer", Type::Named(AUTHORIZER))
            .with_variable("variables", variables());
        match params {
            Some(params) => environment.with_variable("params", params.clone()),
            None => environment,
        }
    }
}

/// Name of the type of `authorizer`.
const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";

/// Returns the type of `variables`; the fields are declared separately.
fn variables() -> Type {
    Type::object("kubernetes.variables", Vec::new())
}

/// Returns fields with these names, each of the type `field_type`.
fn fields(field_type: &Type, names: &[&'static str]) -> Vec<(Cow<'static, str>, Type)> {
    names
        .iter()
        .map(|name| (Cow::Borrowed(*name), field_type.clone()))
        .collect()
}

/// Returns the type of `namespaceObject`: the fields of a Namespace that Kubernetes exposes.
fn namespace() -> Type {
    let texts = |names: &[&'static str]| fields(&Type::String, names);
    let map = Type::map(Type::String, Type::String);
    let mut metadata = texts(&["name", "generateName", "namespace", "UID", "resourceVersion"]);
    metadata.extend(fields(&map, &["labels", "annotations"]));
    metadata.extend(fields(
        &Type::Timestamp,
        &["creationTimestamp", "deletionTimestamp"],
    ));
    metadata.extend(fields(&Type::Int, &["deletionGracePeriodSeconds", "generation"]));
    metadata.extend(fields(&Type::list(Type::String), &["finalizers"]));
    let mut condition = texts(&["status", "type", "message", "reason"]);
    condition.extend(fields(&Type::Timestamp, &["lastTransitionTime"]));
    let condition = Type::object("kubernetes.NamespaceCondition", condition);
    let mut status = texts(&["phase"]);
    status.extend(fields(&Type::list(condition), &["conditions"]));
    let spec = fields(&Type::list(Type::String), &["finalizers"]);
    let parts = [
        ("metadata", Type::object("kubernetes.NamespaceMetadata", metadata)),
        ("spec", Type::object("kubernetes.NamespaceSpec", spec)),
        ("status", Type::object("kubernetes.NamespaceStatus", status)),
    ];
    let parts = parts.map(|(name, field_type)| (Cow::Borrowed(name), field_type));
    Type::object("kubernetes.Namespace", parts.into())
}

/// Returns the type of `request`: an AdmissionRequest without its objects and its UID.
fn request() -> Type {
    let texts = |names: &[&'static str]| fields(&Type::String, names);
    let kind = Type::object(
        "kubernetes.GroupVersionKind",
        texts(&["group", "version", "kind"]),
    );
    let resource = Type::object(
        "kubernetes.GroupVersionResource",
        texts(&["group", "version", "resource"]),
    );
    let mut user = texts(&["username", "uid"]);
    let groups = Type::list(Type::String);
    user.extend(fields(&groups, &["groups"]));
    user.extend(fields(&Type::map(Type::String, groups), &["extra"]));
    let mut all = texts(&[
        "subResource",
        "requestSubResource",
        "name",
        "namespace",
        "operation",
    ]);
    all.extend(fields(&kind, &["kind", "requestKind"]));
    all.extend(fields(&resource, &["resource", "requestResource"]));
    all.extend(fields(&Type::object("kubernetes.UserInfo", user), &["userInfo"]));
    all.extend(fields(&Type::Bool, &["dryRun"]));
    all.extend(fields(&Type::Dyn, &["options"]));
    Type::object("kubernetes.AdmissionRequest", all)
}
