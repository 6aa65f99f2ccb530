//! Target of a request, parsed only from its method, path and query, before any other step.
//!
//! Authentication, authorization, limits, metrics and dispatch all use the same [`RequestInfo`], so that the
//! authorized request is the executed one. Paths are parsed as in kube-apiserver (docs/reference.md,
//! "Serving").

mod query;

use std::sync::Arc;

use berth_apimachinery::Status;
use berth_apimachinery::selector::FieldSelector;
use http::{Method, Uri};

pub use query::Query;

/// Subresources of a namespace itself. Any other path below `/namespaces/<name>/`, except `namespaces`, is a
/// resource in it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Target of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// Whether the request is for a resource, not for a path such as `/healthz` or a discovery document.
    pub is_resource: bool,
    /// The decoded URL path.
    pub path: String,
    /// Verb: for resources `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`,
    /// `proxy`, or empty for a method without a verb; for paths the HTTP method in lower case, or empty for a
    /// nonstandard method.
    pub verb: &'static str,
    /// Path prefix: `api` (the core group) or `apis`; empty for paths.
    pub prefix: &'static str,
    /// The API group; empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The namespace, or the empty string.
    pub namespace: String,
    /// The plural resource.
    pub resource: String,
    /// The subresource, or the empty string.
    pub subresource: String,
    /// The object's name, or the empty string. For list, watch and deletecollection it is the one name that
    /// the field selector selects, so that rules on resource names apply to them too; see
    /// [`RequestInfo::named_in_path`].
    pub name: String,
    /// Whether the name is from the path, not from a field selector.
    pub named_in_path: bool,
    /// Rest of the path after the subresource, or after the name if the verb is `proxy`; without a leading
    /// slash (`proxy/<rest>`).
    pub rest: String,
    /// The decoded query.
    pub query: Query,
    /// Request to the API below the subresource `proxy`, if the rest of the path is not empty and can be
    /// parsed.
    pub inner: Option<Arc<RequestInfo>>,
}

impl RequestInfo {
    /// Parses a request's method and target.
    ///
    /// # Errors
    /// 400 when the path is not properly percent-encoded UTF-8, or ends directly after `/watch` or `/proxy`.
    pub fn parse(method: &Method, uri: &Uri) -> Result<Self, Status> {
        let path = decode_path(uri.path())?;
        let query = Query::parse(uri.query().unwrap_or_default());
        let mut info = Self::of_path(method, path, query)?;
        if info.is_resource && info.subresource == "proxy" && !info.rest.is_empty() {
            // Only one level is parsed: the API below the first proxy handles a further proxy.
            let inner = Self::of_path(method, format!("/{}", info.rest), info.query.clone());
            info.inner = inner.ok().map(Arc::new);
        }
        Ok(info)
    }

    fn of_path(method: &Method, path: String, query: Query) -> Result<Self, Status> {
        let mut info = Self {
            verb: method_name(method),
            query,
            ..Self::default()
        };
        let resource_path = info.read_path(&path, method);
        info.path = path;
        resource_path?;
        Ok(info)
    }

    /// Whether the request is long-running: it has no timeout and no in-flight limit, and is audited at its
    /// start. A request to an API below a proxy is long-running only if that API's request is a watch.
    #[must_use]
    pub fn is_long_running(&self) -> bool {
        if let Some(inner) = &self.inner {
            return inner.is_resource && inner.verb == "watch";
        }
        self.is_resource && (self.verb == "watch" || self.verb == "proxy" || self.subresource == "proxy")
    }

    /// Number of bytes of the request's selectors, including selectors below a proxy.
    #[must_use]
    pub fn selector_bytes(&self) -> usize {
        let length = |name: &str| self.query.first(name).map_or(0, str::len);
        length("labelSelector") + length("fieldSelector")
    }

    /// Whether the request cannot change anything.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(self.verb, "get" | "list" | "watch" | "head" | "options")
    }

    fn read_path(&mut self, path: &str, method: &Method) -> Result<(), Status> {
        // A path begins with one slash; `//apis` is no served path.
        let trimmed = path.strip_prefix('/').unwrap_or(path).trim_end_matches('/');
        let mut parts: Vec<&str> = trimmed.split('/').collect();
        let has_group = match parts[0] {
            "api" => false,
            "apis" => true,
            _ => return Ok(()),
        };
        // `/api/v1` and `/apis/g/v` are discovery documents; only longer paths are resources.
        if parts.len() < 3 + usize::from(has_group) {
            return Ok(());
        }
        self.is_resource = true;
        self.prefix = if has_group { "apis" } else { "api" };
        if has_group {
            self.group = parts[1].to_owned();
        }
        self.version = parts[1 + usize::from(has_group)].to_owned();
        parts.drain(..2 + usize::from(has_group));
        self.read_verb(&mut parts, method)?;
        self.read_resource(&parts);
        self.read_collection();
        Ok(())
    }

    /// Parses the verb from the method, or from the two path prefixes that are verbs (`/api/v1/watch/pods`).
    fn read_verb(&mut self, parts: &mut Vec<&str>, method: &Method) -> Result<(), Status> {
        let prefix = match parts[0] {
            "watch" => Some("watch"),
            "proxy" => Some("proxy"),
            _ => None,
        };
        match prefix {
            Some(_) if parts.len() < 2 => Err(Status::bad_request(
                "unable to determine kind and namespace from the URL path",
            )),
            Some(verb) => {
                self.verb = verb;
                parts.remove(0);
                Ok(())
            }
            None => {
                self.verb = resource_verb(method);
                Ok(())
            }
        }
    }

    fn read_resource(&mut self, parts: &[&str]) {
        let mut parts = parts;
        if parts[0] == "namespaces" && parts.len() > 1 {
            parts[1].clone_into(&mut self.namespace);
            // A namespace contains no namespaces: such a path would be an unknown subresource.
            let is_own_part = |part: &str| NAMESPACE_SUBRESOURCES.contains(&part) || part == "namespaces";
            if parts.len() > 2 && !is_own_part(parts[2]) {
                parts = &parts[2..];
            }
        }
        parts[0].clone_into(&mut self.resource);
        if let Some(name) = parts.get(1) {
            (*name).clone_into(&mut self.name);
            self.named_in_path = !name.is_empty();
        }
        if self.verb == "proxy" {
            self.rest = parts.get(2..).unwrap_or_default().join("/");
        } else if let Some(subresource) = parts.get(2) {
            (*subresource).clone_into(&mut self.subresource);
            self.rest = parts[3..].join("/");
        }
    }

    /// Corrects the verb of a request without a name in the path: a get is a list or a watch, and a delete is
    /// a deletecollection. For these verbs, also sets the name that the field selector selects, if there is
    /// one.
    fn read_collection(&mut self) {
        if !self.name.is_empty() {
            return;
        }
        self.verb = match self.verb {
            "get" if self.query.flag("watch") => "watch",
            "get" => "list",
            "delete" => "deletecollection",
            other => other,
        };
        if matches!(self.verb, "list" | "watch" | "deletecollection")
            && let Some(name) = self.selected_name()
        {
            self.name = name;
        }
    }

    /// Returns the only name that a field selector allows. An invalid selector has none; the handler answers
    /// it with 400.
    fn selected_name(&self) -> Option<String> {
        let selector = FieldSelector::parse(self.query.first("fieldSelector")?).ok()?;
        let (_, _, name) = selector
            .terms
            .into_iter()
            .find(|(path, equal, _)| *equal && path == "metadata.name")?;
        (!name.is_empty() && berth_apimachinery::name::path_segment(&name).is_ok()).then_some(name)
    }
}

fn decode_path(raw: &str) -> Result<String, Status> {
    if !raw.contains('%') {
        return Ok(raw.to_owned());
    }
    let malformed = raw.split('%').skip(1).any(|rest| {
        let digits = rest.as_bytes();
        digits.len() < 2 || !digits[..2].iter().all(u8::is_ascii_hexdigit)
    });
    let decoded = percent_encoding::percent_decode_str(raw).decode_utf8();
    match decoded {
        Ok(path) if !malformed => Ok(path.into_owned()),
        _ => Err(Status::bad_request(format!(
            "the URL path {raw:?} is not percent-encoded UTF-8"
        ))),
    }
}

fn resource_verb(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        Method::CONNECT => "connect",
        Method::TRACE => "trace",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
