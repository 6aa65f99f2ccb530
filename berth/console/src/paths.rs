//! Allowlist of the requests to the API that are forwarded.

use std::collections::BTreeSet;

use http::{Method, StatusCode};

use crate::refusal::Refusal;

/// Berth's own API group.
const BERTH_GROUP: &str = "scheduling.berth.dev";
/// The version of Berth's group in which reviews and bindings are created.
const VERSION: &str = "v1alpha1";
/// Highest number of bytes of a path with its query.
const MAX_PATH_LENGTH: usize = 8 * 1024;
/// Highest value of the query parameter `limit`.
const MAX_LIMIT: u32 = 500;

/// Rules for the requests that are forwarded.
#[derive(Clone, Debug)]
pub(crate) struct Allowlist {
    /// The API groups that may be read.
    pub(crate) groups: BTreeSet<String>,
    /// Whether Bindings and ClusterBindings may be created.
    pub(crate) writes: bool,
}

impl Allowlist {
    /// Checks that `method` on `path` (without the prefix [`crate::verifier::API`]) may be forwarded.
    pub(crate) fn check(&self, method: &Method, path: &str, query: Option<&str>) -> Result<(), Refusal> {
        if path.len() + query.map_or(0, str::len) > MAX_PATH_LENGTH {
            return Err(Refusal::new(
                StatusCode::URI_TOO_LONG,
                format!("a path with its query has at most {MAX_PATH_LENGTH} bytes"),
            ));
        }
        let segments = segments(path)?;
        match *method {
            Method::GET | Method::HEAD => {
                if !self.may_read(&segments) {
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
            Method::POST => self.check_create(path, &segments),
            _ => Err(Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                format!(
                    "the console does not forward {method}, only GET, HEAD, and POST of a review or a Binding"
                ),
            )),
        }
    }

    fn may_read(&self, segments: &[&str]) -> bool {
        match segments {
            ["version" | "apis"] | ["openapi", "v3"] => true,
            ["apis", group] | ["apis", group, _] | ["openapi", "v3", "apis", group, _] => {
                self.groups.contains(*group) || *group == "events.k8s.io"
            }
            ["api", "v1", "events"] | ["api", "v1", "namespaces", _, "events"] => true,
            ["apis", "events.k8s.io", "v1", "events"]
            | ["apis", "events.k8s.io", "v1", "namespaces", _, "events"] => true,
            ["apis", group, _, rest @ ..] => self.groups.contains(*group) && is_readable_resource(rest),
            _ => false,
        }
    }

    fn check_create(&self, path: &str, segments: &[&str]) -> Result<(), Refusal> {
        let below = match segments {
            ["apis", group, version, rest @ ..] if *group == BERTH_GROUP && *version == VERSION => rest,
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
                "the console creates nothing at {path}: it creates only SchedulingReviews and, with --allow-writes, Bindings"
            ))),
        }
    }
}

/// The segments of a path, which must be in its normal form: without percent-encoding, empty segments or dot
/// segments.
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

/// Whether `rest`, the part of a path after the version, is a list, an object or an allowed subresource.
/// Secrets are never readable.
fn is_readable_resource(rest: &[&str]) -> bool {
    let rest = match rest {
        ["namespaces", _, below @ ..] if !below.is_empty() => below,
        _ => rest,
    };
    match rest {
        // Old forms of paths, in which the resource is the next segment.
        ["watch" | "proxy", ..] => false,
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

/// Checks that `limit` is from 1 to [`MAX_LIMIT`], if the query has it.
fn check_limit(query: Option<&str>) -> Result<(), Refusal> {
    // A server accepts percent-encoded names of parameters, so the query is decoded first.
    for (name, limit) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        if name != "limit" {
            continue;
        }
        if !limit
            .parse::<u32>()
            .is_ok_and(|limit| (1..=MAX_LIMIT).contains(&limit))
        {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                format!("limit={limit} is out of range: use 1 to {MAX_LIMIT}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
