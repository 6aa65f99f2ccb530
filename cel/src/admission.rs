//! The environment of a webhook's match conditions.

use crate::environment::Environment;
use crate::types::Type;

/// The places of the variables of [`Environment::match_conditions`], in the order in which they are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionVariable {
    /// `object`
    Object,
    /// `oldObject`
    OldObject,
    /// `request`
    Request,
    /// `namespaceObject`
    NamespaceObject,
    /// `authorizer`
    Authorizer,
    /// `authorizer.requestResource`
    AuthorizerRequestResource,
    /// `variables`, in policies.
    Variables,
    /// `params`, in policies that have some.
    Params,
}

impl Environment {
    /// Kubernetes' environment with the variables of match conditions.
    #[must_use]
    pub fn match_conditions() -> Self {
        Self::kubernetes()
            .with_variable("object", Type::Dyn)
            .with_variable("oldObject", Type::Dyn)
            .with_variable("request", request())
            .with_variable("namespaceObject", Type::Dyn)
            .with_variable("authorizer", Type::Named("kubernetes.authorization.Authorizer"))
            .with_variable(
                "authorizer.requestResource",
                Type::Named("kubernetes.authorization.ResourceCheck"),
            )
    }

    /// Kubernetes' environment with the variables of admission policies: those of match conditions, `variables`, and
    /// `params` where the policy has some. The fields of `variables` come after them as `variables.<name>`.
    #[must_use]
    pub fn policies(params: bool) -> Self {
        let variables = Type::object("kubernetes.variables", Vec::new());
        let environment = Self::match_conditions().with_variable("variables", variables);
        if params {
            environment.with_variable("params", Type::Dyn)
        } else {
            environment
        }
    }
}

/// The type of `request`: an AdmissionRequest without its objects and its uid.
fn request() -> Type {
    let texts = |names: &[&'static str]| names.iter().map(|name| (*name, Type::String)).collect::<Vec<_>>();
    let kind = Type::object(
        "kubernetes.GroupVersionKind",
        texts(&["group", "version", "kind"]),
    );
    let resource = Type::object(
        "kubernetes.GroupVersionResource",
        texts(&["group", "version", "resource"]),
    );
    let mut user = texts(&["username", "uid"]);
    user.push(("groups", Type::list(Type::String)));
    user.push(("extra", Type::map(Type::String, Type::list(Type::String))));
    let mut fields = texts(&[
        "subResource",
        "requestSubResource",
        "name",
        "namespace",
        "operation",
    ]);
    fields.extend([
        ("kind", kind.clone()),
        ("requestKind", kind),
        ("resource", resource.clone()),
        ("requestResource", resource),
        ("userInfo", Type::object("kubernetes.UserInfo", user)),
        ("dryRun", Type::Bool),
        ("options", Type::Dyn),
    ]);
    Type::object("kubernetes.AdmissionRequest", fields)
}
