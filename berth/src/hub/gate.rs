//! Gate before the virtual API: requests about a system whose objects are not all read from the hub yet get
//! 503 with Retry-After. Lists and watches that could miss objects of the system get 503, too, since a
//! controller that relies on an incomplete list deletes objects that belong to the missing ones. Lists that
//! select only other systems are answered. PublishedDecisions, whose names do not contain a system, have this
//! check in their own code.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use berth_apimachinery::Status;
use berth_apimachinery::selector::FieldSelector;
use berth_apiserver::{Api, AuthorizedRequest, RequestInfo, Route, respond};
use berth_engine::{Engine, ReadinessError};
use berth_hub::SyncStatus;
use berth_scheduling_api::{GROUP, published};
use berth_scheduling_rest::records::{CLUSTER_RECORDS, RECORDS};
use berth_scheduling_rest::{behind, names};
use http::{HeaderMap, Response};

/// Seconds after which a client should try again. Reading a system from the hub takes a moment.
const RETRY_AFTER: u32 = 5;

/// An API that refuses requests while the virtual objects may be incomplete.
pub(crate) struct Gate {
    api: Arc<dyn Api>,
    engine: Arc<Engine>,
    sync_status: Arc<SyncStatus>,
}

impl Gate {
    /// Puts the gate before `api`, which answers about `engine`.
    pub(crate) fn new(api: Arc<dyn Api>, engine: Arc<Engine>, sync_status: Arc<SyncStatus>) -> Self {
        Self {
            api,
            engine,
            sync_status,
        }
    }
}

/// The dialect of the virtual object that a request names in its path.
fn dialect(info: &RequestInfo) -> Option<&str> {
    let name = info.name.as_str();
    let decision = names::split_candidate(name).map_or(name, |(decision, _)| decision);
    names::split(decision).map(|(_, dialect)| dialect)
}

/// Whether a request is about history, which is always complete, since Berth itself stores it.
fn is_history(info: &RequestInfo) -> bool {
    [RECORDS, CLUSTER_RECORDS]
        .iter()
        .any(|records| records.resource == info.resource)
        || info.subresource == "history"
}

/// The refusal of a list or a watch that could miss objects of the systems in `held`, which are not read yet;
/// `None` if the request selects none of these systems.
fn refusal(info: &RequestInfo, held: impl Iterator<Item = ReadinessError>) -> Option<Status> {
    // An invalid selector is reported elsewhere.
    let fields = FieldSelector::parse(info.query.first("fieldSelector").unwrap_or_default()).ok()?;
    let incomplete: Vec<(&str, String)> = held
        .filter_map(|held| match &held {
            ReadinessError::NotSynced { dialect, .. } => {
                may_select(&fields, dialect).then(|| (*dialect, held.to_string()))
            }
            ReadinessError::NotCaughtUp { .. } | ReadinessError::SourceUnavailable(_) => None,
        })
        .collect();
    if incomplete.is_empty() {
        return None;
    }
    let reasons: Vec<&str> = incomplete.iter().map(|(_, reason)| reason.as_str()).collect();
    let remedy = match info.resource.as_str() {
        "candidates" | "clustercandidates" => {
            "use --field-selector decision=<name> with a decision of another system".to_owned()
        }
        _ => {
            let other_systems: Vec<String> = incomplete
                .iter()
                .map(|(dialect, _)| format!("spec.dialect!={dialect}"))
                .collect();
            format!("use --field-selector {} for the others", other_systems.join(","))
        }
    };
    let text = format!(
        "the {} are not complete ({}); {remedy}",
        info.resource,
        reasons.join("; ")
    );
    Some(Status::unavailable(text, RETRY_AFTER))
}

/// Whether virtual objects of `dialect` can match `fields`.
fn may_select(fields: &FieldSelector, dialect: &str) -> bool {
    fields.terms.iter().all(|(path, equal, value)| {
        let name = match path.as_str() {
            "spec.dialect" => return (value == dialect) == *equal,
            "metadata.name" => names::split_candidate(value).map_or(value.as_str(), |(decision, _)| decision),
            "decision" | "target" => value,
            _ => return true,
        };
        !equal || names::split(name).is_some_and(|(_, system)| system == dialect)
    })
}

#[async_trait]
impl Api for Gate {
    fn route(&self, info: &RequestInfo) -> Option<Route> {
        self.api.route(info)
    }

    fn changed_bytes(&self, info: &RequestInfo) -> usize {
        self.api.changed_bytes(info)
    }

    fn tree_size(&self, headers: &HeaderMap, body: &[u8]) -> usize {
        self.api.tree_size(headers, body)
    }

    fn effort(&self, info: &RequestInfo, headers: &HeaderMap) -> usize {
        self.api.effort(info, headers)
    }

    async fn tidy(&self) {
        self.api.tidy().await;
    }

    async fn dispatch(&self, request: AuthorizedRequest) -> Response<Body> {
        let info = &request.info;
        if info.group == GROUP && !is_history(info) && info.resource != published::PLURAL {
            if let Some(Err(held)) = dialect(info).map(|dialect| self.engine.complete(dialect)) {
                return respond::status(&behind(&held));
            }
            if matches!(info.verb, "list" | "watch") {
                let dialects = self.engine.dialects().map(|dialect| dialect.name());
                let held = dialects.filter_map(|name| self.engine.complete(name).err());
                if let Some(refusal) = refusal(info, held) {
                    return respond::status(&refusal);
                }
            }
            if info.verb == "list" {
                for sentence in self.sync_status.sentences() {
                    request.warnings.add(sentence);
                }
            }
        }
        self.api.dispatch(request).await
    }
}

#[cfg(test)]
mod tests {
    use berth_apiserver::Query;

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

    fn listed(resource: &str, selector: &str) -> RequestInfo {
        let escaped = selector.replace('=', "%3D").replace(',', "%2C");
        RequestInfo {
            resource: resource.to_owned(),
            query: Query::parse(&format!("fieldSelector={escaped}")),
            ..RequestInfo::default()
        }
    }

    fn gardener() -> ReadinessError {
        ReadinessError::NotSynced {
            dialect: "gardener",
            why: "still waiting for the hub's seeds".to_owned(),
        }
    }

    #[test]
    fn a_list_that_could_miss_objects_is_refused_and_says_which_selector_works() {
        let refused = |resource: &str, selector: &str| {
            let status = refusal(&listed(resource, selector), [gardener()].into_iter())?;
            assert_eq!(
                (status.code, status.retry_after_seconds()),
                (503, Some(RETRY_AFTER))
            );
            Some(status.message)
        };
        assert_eq!(
            refused("decisions", "").unwrap(),
            "the decisions are not complete (gardener: still waiting for the hub's seeds); use --field-selector \
             spec.dialect!=gardener for the others"
        );
        assert!(
            refused("candidates", "picked=true")
                .unwrap()
                .contains("decision=<name>")
        );
        for selector in [
            "spec.dialect=gardener",
            "metadata.name=a.gardener",
            "decision=a.gardener",
            "spec.dialect!=ocm",
            "metadata.name!=a.ocm",
        ] {
            assert!(refused("targets", selector).is_some(), "{selector}");
        }
        for selector in [
            "spec.dialect=ocm",
            "spec.dialect!=gardener",
            "metadata.name=a.ocm",
            "metadata.name=a.ocm:one",
            "decision=a.ocm",
            "target=one.ocm,picked=true",
        ] {
            assert_eq!(refused("targets", selector), None, "{selector}");
        }
    }

    #[test]
    fn the_selector_that_a_refusal_names_is_not_refused() {
        let held = || {
            let ocm = ReadinessError::NotSynced {
                dialect: "ocm",
                why: "w".to_owned(),
            };
            [gardener(), ocm].into_iter()
        };
        let message = refusal(&listed("targets", ""), held()).unwrap().message;
        let (_, rest) = message.split_once("--field-selector ").unwrap();
        let (selector, _) = rest.split_once(' ').unwrap();
        assert_eq!(selector, "spec.dialect!=gardener,spec.dialect!=ocm");
        assert!(refusal(&listed("targets", selector), held()).is_none());
    }

    #[test]
    fn history_is_read_whatever_is_not_read_from_the_hub_yet() {
        let is_history = |resource: &str, subresource: &str| {
            is_history(&RequestInfo {
                resource: resource.to_owned(),
                subresource: subresource.to_owned(),
                ..RequestInfo::default()
            })
        };
        assert!(is_history("decisionrecords", "") && is_history("clusterdecisionrecords", ""));
        assert!(is_history("decisions", "history") && is_history("clusterdecisions", "history"));
        assert!(!is_history("decisions", "") && !is_history("decisions", "scheduling"));
    }

    #[test]
    fn nothing_is_refused_once_every_system_is_read() {
        assert!(refusal(&listed("targets", ""), std::iter::empty()).is_none());
    }
}
