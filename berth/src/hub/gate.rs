//! Before the virtual API: what is asked of a system that has not come from the hub yet is answered with 503 and when to
//! ask again, and lists say which systems are not all there.

use std::sync::Arc;

use apiserver::context::{Api, Authorized, Route};
use apiserver::request_info::RequestInfo;
use apiserver::respond;
use async_trait::async_trait;
use axum::body::Body;
use engine::Engine;
use http::Response;

use super::presence::Presence;
use crate::virtual_api::{behind, kinds, names};

/// An API whose virtual objects may be incomplete.
pub(crate) struct Gate {
    api: Arc<dyn Api>,
    engine: Arc<Engine>,
    presence: Arc<Presence>,
}

impl Gate {
    /// Puts the gate before `api`, which answers about `engine`.
    pub(crate) fn new(api: Arc<dyn Api>, engine: Arc<Engine>, presence: Arc<Presence>) -> Self {
        Self {
            api,
            engine,
            presence,
        }
    }
}

/// The dialect of the virtual object that a request names in its path.
fn dialect(info: &RequestInfo) -> Option<&str> {
    let name = info.name.as_str();
    let decision = names::split_candidate(name).map_or(name, |(decision, _)| decision);
    names::split(decision).map(|(_, dialect)| dialect)
}

#[async_trait]
impl Api for Gate {
    fn route(&self, info: &RequestInfo) -> Option<Route> {
        self.api.route(info)
    }

    async fn dispatch(&self, request: Authorized) -> Response<Body> {
        let info = &request.info;
        if info.group == kinds::GROUP {
            if let Some(Err(held)) = dialect(info).map(|dialect| self.engine.complete(dialect)) {
                return respond::status(&behind(&held));
            }
            if info.verb == "list" {
                for sentence in self.presence.sentences() {
                    request.warnings.add(sentence);
                }
            }
        }
        self.api.dispatch(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialect_is_read_from_whatever_name_there_is() {
        let named = |name: &str| RequestInfo {
            name: name.to_owned(),
            ..RequestInfo::default()
        };
        for (name, expected) in [
            ("aws-eu1.gardener", Some("gardener")),
            ("ns.name.openmcp", Some("openmcp")),
            ("p1.ocm:cluster.one", Some("ocm")),
            ("", None),
        ] {
            assert_eq!(dialect(&named(name)), expected, "{name}");
        }
    }
}
