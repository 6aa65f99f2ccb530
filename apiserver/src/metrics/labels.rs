//! Labels of requests in metrics. Every value is one of a fixed set, or comes from the routes of the API.

use prometheus_client::encoding::EncodeLabelSet;

use crate::context::Route;
use crate::request_info::RequestInfo;

const COMPONENT: &str = "apiserver";

/// Labels of a request in metrics, without the status code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Labels {
    verb: &'static str,
    dry_run: &'static str,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    subresource: &'static str,
    scope: &'static str,
    component: &'static str,
}

/// Labels of a request without `dry_run`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct BaseLabels {
    verb: &'static str,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    subresource: &'static str,
    scope: &'static str,
    component: &'static str,
}

/// Labels of an answered request, with the status code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OutcomeLabels {
    verb: &'static str,
    dry_run: &'static str,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    subresource: &'static str,
    scope: &'static str,
    component: &'static str,
    code: u16,
}

/// Labels of a request that the server refused because of overload, or ended at a timeout.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TerminationLabels {
    verb: &'static str,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    subresource: &'static str,
    scope: &'static str,
    component: &'static str,
    code: u16,
}

/// Labels of the events of watches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WatchLabels {
    group: &'static str,
    version: &'static str,
    resource: &'static str,
}

/// Labels of a watch that begins with all existing objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WatchListLabels {
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    scope: &'static str,
}

/// Labels of a request body. Only in this metric does Kubernetes write the names of API verbs in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct BodyLabels {
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
}

impl Labels {
    /// Returns the labels of a request. Without a `route`, the labels of the resource are empty.
    pub(crate) fn of(info: &RequestInfo, route: Option<Route>) -> Self {
        let none = Route {
            group: "",
            version: "",
            resource: "",
            subresource: "",
        };
        let Route {
            group,
            version,
            resource,
            subresource,
        } = route.unwrap_or(none);
        Self {
            verb: verb(info.verb),
            dry_run: if info.query.first("dryRun") == Some("All") {
                "All"
            } else {
                ""
            },
            group,
            version,
            resource,
            subresource,
            scope: if route.is_some() { scope(info) } else { "" },
            component: COMPONENT,
        }
    }

    /// Returns the labels without `dry_run`.
    pub(super) fn base(&self) -> BaseLabels {
        let Self {
            verb,
            group,
            version,
            resource,
            subresource,
            scope,
            component,
            ..
        } = *self;
        BaseLabels {
            verb,
            group,
            version,
            resource,
            subresource,
            scope,
            component,
        }
    }

    /// Returns the labels of a request that was answered with `code`.
    pub(super) fn outcome(&self, code: u16) -> OutcomeLabels {
        let Self {
            verb,
            dry_run,
            group,
            version,
            resource,
            subresource,
            scope,
            component,
        } = *self;
        OutcomeLabels {
            verb,
            dry_run,
            group,
            version,
            resource,
            subresource,
            scope,
            component,
            code,
        }
    }

    /// Returns the labels of a request that the server ended with `code`.
    pub(super) fn termination(&self, code: u16) -> TerminationLabels {
        let BaseLabels {
            verb,
            group,
            version,
            resource,
            subresource,
            scope,
            component,
        } = self.base();
        TerminationLabels {
            verb,
            group,
            version,
            resource,
            subresource,
            scope,
            component,
            code,
        }
    }

    /// Returns the labels of a watch: only the group, version and resource.
    pub(super) fn watch(&self) -> WatchLabels {
        WatchLabels {
            group: self.group,
            version: self.version,
            resource: self.resource,
        }
    }

    /// Returns the labels of a watch that begins with all existing objects.
    pub(super) fn watch_list(&self) -> WatchListLabels {
        WatchListLabels {
            group: self.group,
            version: self.version,
            resource: self.resource,
            scope: self.scope,
        }
    }

    /// Returns the labels of a request body; `None` for a verb without a body, and for a path that is not a
    /// served resource.
    pub(super) fn body(&self) -> Option<BodyLabels> {
        let verb = match self.verb {
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" => "delete",
            "DELETECOLLECTION" => "delete_collection",
            _ => return None,
        };
        (!self.resource.is_empty()).then_some(BodyLabels {
            group: self.group,
            resource: self.resource,
            verb,
        })
    }
}

fn verb(verb: &str) -> &'static str {
    match verb {
        "get" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "create" | "post" => "POST",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" => "DELETE",
        "deletecollection" => "DELETECOLLECTION",
        "head" => "HEAD",
        "options" => "OPTIONS",
        "proxy" => "CONNECT",
        _ => "other",
    }
}

/// Scope of a request, as in kube-apiserver: a create, and a list of the one object that a field selector
/// names, are about a single object.
fn scope(info: &RequestInfo) -> &'static str {
    if !info.name.is_empty() || info.verb == "create" {
        "resource"
    } else if info.namespace.is_empty() {
        "cluster"
    } else {
        "namespace"
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, Uri};

    use super::*;

    #[test]
    fn the_scope_of_creates_and_of_selected_names_is_a_single_object() {
        let selected = "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dx";
        for (method, target, expected) in [
            (Method::GET, "/api/v1/namespaces/default/pods/x", "resource"),
            (Method::POST, "/api/v1/namespaces/default/pods", "resource"),
            (Method::GET, selected, "resource"),
            (Method::GET, "/api/v1/namespaces/default/pods", "namespace"),
            (Method::DELETE, "/api/v1/namespaces/default/pods", "namespace"),
            (Method::GET, "/api/v1/pods", "cluster"),
        ] {
            let info = RequestInfo::parse(&method, &Uri::from_static(target)).unwrap();
            assert_eq!(scope(&info), expected, "{method} {target}");
        }
    }
}
