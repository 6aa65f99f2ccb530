//! Allowlist of the requests to the API that are forwarded.

use std::collections::BTreeSet;

use http::{Method, StatusCode};

use crate::refusal::Refusal;

/// Berth's own group.
const BERTH: &str = "scheduling.berth.dev";
/// The version of Berth's group in which reviews and bindings are created.
const VERSION: &str = "v1alpha1";
/// Highest number of bytes of a path with its query.
const LONGEST: usize = 8 * 1024;
/// Highest `limit` of a request.
const LARGEST_PAGE: u32 = 500;

/// Requests that are allowed.
#[derive(Clone, Debug)]
pub(crate) struct Allowlist {
    /// The API groups that may be read.
    pub(crate) groups: BTreeSet<String>,
    /// Whether bindings may be created.
    pub(crate) writes: bool,
}

impl Allowlist {
    /// Checks that `method` on `path` (without the console's own prefix) may be forwarded.
    pub(crate) fn check(&self, method: &Method, path: &str, query: Option<&str>) -> Result<(), Refusal> {
        if path.len() + query.map_or(0, str::len) > LONGEST {
            return Err(Refusal::new(
                StatusCode::URI_TOO_LONG,
                format!("paths with their query are at most {LONGEST} bytes long"),
            ));
        }
        let segments = segments(path)?;
        match *method {
            Method::GET | Method::HEAD => {
                if !self.readable(&segments) {
                    return Err(Refusal::forbidden(format!(
                        "the console does not read {path}: it reads discovery, OpenAPI, events, and objects of {}",
                        self.groups
                            .iter()
                            .map(String::as_str)
                            .collect::<Vec<_>>()
                            .join(", ")
                    )));
                }
                check_limit(query)
            }
            Method::POST => self.creatable(path, &segments),
            _ => Err(Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                format!("{method} is never sent on: only GET, HEAD, and POST of a review or a Binding"),
            )),
        }
    }

    fn readable(&self, segments: &[&str]) -> bool {
        match segments {
            ["version" | "apis"] | ["openapi", "v3"] => true,
            ["apis", group] | ["apis", group, _] | ["openapi", "v3", "apis", group, _] => {
                self.groups.contains(*group) || *group == "events.k8s.io"
            }
            ["api", "v1", "events"] | ["api", "v1", "namespaces", _, "events"] => true,
            ["apis", "events.k8s.io", "v1", "events"]
            | ["apis", "events.k8s.io", "v1", "namespaces", _, "events"] => true,
            ["apis", group, _, rest @ ..] => self.groups.contains(*group) && resource(rest),
            _ => false,
        }
    }

    fn creatable(&self, path: &str, segments: &[&str]) -> Result<(), Refusal> {
        let below = match segments {
            ["apis", group, version, rest @ ..] if *group == BERTH && *version == VERSION => rest,
            _ => &[],
        };
        match below {
            ["schedulingreviews"] | ["namespaces", _, "localschedulingreviews"] => Ok(()),
            ["clusterbindings"]
            | ["namespaces", _, "bindings"]
            | ["clusterdecisions", _, "binding"]
            | ["namespaces", _, "decisions", _, "binding"] => {
                if self.writes {
                    Ok(())
                } else {
                    Err(Refusal::forbidden(
                        "this console only reads: start it with --allow-writes to bind from the page",
                    ))
                }
            }
            _ => Err(Refusal::forbidden(format!(
                "the console creates SchedulingReviews and, with --allow-writes, Bindings, and nothing at {path}"
            ))),
        }
    }
}

/// The segments of a path. The path must be in its normal form: without percent-encoding, empty segments or
/// dot segments.
fn segments(path: &str) -> Result<Vec<&str>, Refusal> {
    let refusal = || {
        Refusal::forbidden(
            "paths must be in their normal form: no percent signs, backslashes, dot segments or doubled slashes",
        )
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@+/".contains(&byte);
    let below = path.strip_prefix('/').ok_or_else(refusal)?;
    if !path.bytes().all(plain) {
        return Err(refusal());
    }
    let segments: Vec<&str> = below.split('/').collect();
    if segments.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
        return Err(refusal());
    }
    Ok(segments)
}

/// Whether the part of a path after the version is a list, an object, or an allowed subresource, and not one
/// of Secrets.
fn resource(rest: &[&str]) -> bool {
    let rest = match rest {
        ["namespaces", _, below @ ..] if !below.is_empty() => below,
        _ => rest,
    };
    match rest {
        [resource] | [resource, _] => *resource != "secrets",
        [resource, _, subresource] => {
            *resource != "secrets"
                && matches!(
                    *subresource,
                    "scheduling" | "binding" | "status" | "history" | "advice"
                )
        }
        _ => false,
    }
}

/// Checks that `limit` is from 1 to [`LARGEST_PAGE`], if the query has it.
fn check_limit(query: Option<&str>) -> Result<(), Refusal> {
    // The query is decoded as by the server, which accepts percent-encoded names.
    for (name, limit) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        if name != "limit" {
            continue;
        }
        if !limit
            .parse::<u32>()
            .is_ok_and(|limit| (1..=LARGEST_PAGE).contains(&limit))
        {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                format!("limit={limit}: a page has 1 to {LARGEST_PAGE} objects"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
