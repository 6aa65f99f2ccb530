//! The admission rule beyond the kinds' own validation (docs/systems/openmcp.md, "What is guarded"): only the
//! scheduler changes the grant in the status of a request, the scheduler's finalizer on requests, and the
//! finalizers of requests on Clusters. Other users may change all other fields: other finalizers, labels, and
//! the rest of the status, in which providers report on Clusters. Deletions are not restricted.
//!
//! A Cluster may be *created* with finalizers of requests: an object restored from a backup has them, and no
//! decision depends on an object that did not exist.

pub(crate) mod hub_rules;

use std::collections::BTreeSet;

use berth_admission::{Denial, Operation, Plugin, Request};
use berth_apimachinery::FieldError;
use serde_json::Value;

use crate::names::{ACTOR, CLUSTERS, REQUEST_FINALIZER, REQUESTS, USE_FINALIZER};

/// The fields of a request's status that only the scheduler writes, each with the reason.
const GRANT_FIELDS: [(&str, &str); 2] = [
    ("cluster", "says which Cluster the request was granted"),
    ("phase", "says whether the request was granted"),
];

/// Refuses changes of grants by users other than the scheduler. Members of the break-glass group are exempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrantGuard;

impl Plugin for GrantGuard {
    fn name(&self) -> &'static str {
        "ClusterGrants"
    }

    fn is_guard(&self) -> bool {
        true
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        let guarded = match request.operation {
            Operation::Create => request.resource == REQUESTS,
            Operation::Update => request.resource == REQUESTS || request.resource == CLUSTERS,
            Operation::Delete | Operation::Connect => false,
        };
        guarded && request.user.name != ACTOR
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        let nothing = Value::Null;
        let (old, new) = (request.old.unwrap_or(&nothing), object.unwrap_or(&nothing));
        let mut problems = Vec::new();
        // A creation drops the status, so that only updates are checked.
        if request.resource == REQUESTS && request.operation == Operation::Update {
            let changed = GRANT_FIELDS
                .iter()
                .filter(|(field, _)| old["status"][field] != new["status"][field]);
            problems.extend(changed.map(|(field, reason)| {
                reserved_field(format!("status.{field}"), reason, "send it as it is stored")
            }));
        }
        let (old, new) = (finalizers(request, old), finalizers(request, new));
        for finalizer in old.symmetric_difference(&new) {
            let reason = if request.resource == REQUESTS {
                "keeps the request until it has released its Cluster"
            } else {
                "says that a request uses the Cluster"
            };
            let advice = if !old.contains(finalizer) {
                "leave it out"
            } else if request.resource == REQUESTS {
                "keep it in the list, the scheduler removes it when the request is deleted"
            } else {
                "keep it in the list, the scheduler removes it when the request is deleted; if the request no longer exists, \
                 only a member of a --break-glass-group can remove it"
            };
            let path = format!("metadata.finalizers[{finalizer}]");
            problems.push(reserved_field(path, reason, advice));
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(Denial::owned_fields(request, &problems))
    }
}

/// The error about a change of the field at `path`, which only the scheduler writes.
fn reserved_field(path: String, reason: &str, advice: &str) -> FieldError {
    FieldError::forbidden(path, format!("it {reason}; only {ACTOR} writes it: {advice}"))
}

/// The finalizers of `object` that only the scheduler changes.
fn finalizers<'a>(request: &Request<'_>, object: &'a Value) -> BTreeSet<&'a str> {
    let list = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    let own = |name: &&str| {
        if request.resource == REQUESTS {
            *name == REQUEST_FINALIZER
        } else {
            name.starts_with(USE_FINALIZER)
        }
    };
    list.filter_map(Value::as_str).filter(own).collect()
}

#[cfg(test)]
mod tests {
    use berth_admission::UserInfo;
    use berth_apimachinery::GroupResource;
    use serde_json::json;

    use super::*;

    fn review(user: &str, resource: GroupResource, old: Option<&Value>, new: &Value) -> Result<(), String> {
        let user = UserInfo {
            name: user.to_owned(),
            groups: vec!["system:masters".to_owned()],
            ..UserInfo::default()
        };
        let request = Request {
            operation: old.map_or(Operation::Create, |_| Operation::Update),
            resource,
            kind: "ClusterRequest",
            subresource: "",
            namespace: "project-a",
            name: "batch",
            user: &user,
            old,
            dry_run: false,
        };
        if !GrantGuard.handles(&request) {
            return Ok(());
        }
        GrantGuard
            .validate(&request, Some(new), &mut Vec::new())
            .map_err(|denied| denied.into_status(&request).message)
    }

    fn object(finalizers: Value, status: Value) -> Value {
        json!({"metadata": {"name": "batch", "finalizers": finalizers}, "spec": {}, "status": status})
    }

    fn granted() -> Value {
        let cluster = json!({"name": "a", "namespace": "ns"});
        object(
            json!([REQUEST_FINALIZER, "example.com/hold"]),
            json!({"phase": "Granted", "cluster": cluster, "observedGeneration": 1}),
        )
    }

    #[test]
    fn what_was_granted_is_the_schedulers() {
        let old = granted();
        for (pointer, value, part) in [
            (
                "/status/cluster",
                json!({"name": "b", "namespace": "ns"}),
                "status.cluster: Forbidden: it says which",
            ),
            ("/status/cluster", json!(null), "status.cluster"),
            (
                "/status/phase",
                json!("Pending"),
                "status.phase: Forbidden: it says whether",
            ),
            ("/status", json!(null), "status.cluster"),
            (
                "/metadata/finalizers",
                json!(["example.com/hold"]),
                "metadata.finalizers[clusters.openmcp.cloud/request]",
            ),
            (
                "/metadata/finalizers",
                json!(null),
                "only berth:scheduler writes it",
            ),
        ] {
            let mut new = old.clone();
            *new.pointer_mut(pointer).unwrap() = value;
            let message = review("alice", REQUESTS, Some(&old), &new).unwrap_err();
            assert!(message.contains(part), "{message}");
            assert_eq!(review(ACTOR, REQUESTS, Some(&old), &new), Ok(()));
        }
        let mut without_status = old.clone();
        without_status["status"] = json!({});
        let message = review("alice", REQUESTS, Some(&old), &without_status).unwrap_err();
        assert_eq!(
            message,
            "clusterrequests.clusters.openmcp.cloud \"batch\" is forbidden: status.cluster: Forbidden: it says which \
             Cluster the request was granted; only berth:scheduler writes it: send it as it is stored; status.phase: \
             Forbidden: it says whether the request was granted; only berth:scheduler writes it: send it as it is stored"
        );
    }

    #[test]
    fn everything_else_of_a_request_is_everybodys() {
        let old = granted();
        for (pointer, value) in [
            (
                "/metadata/finalizers",
                json!(["other.example.com/x", REQUEST_FINALIZER]),
            ),
            ("/metadata/name", json!("c")),
            ("/status/observedGeneration", json!(2)),
            ("/spec", json!({"purpose": "x"})),
        ] {
            let mut new = old.clone();
            *new.pointer_mut(pointer).unwrap() = value;
            assert_eq!(review("alice", REQUESTS, Some(&old), &new), Ok(()), "{pointer}");
        }
        assert_eq!(
            review(
                "alice",
                REQUESTS,
                None,
                &object(json!([]), json!({"phase": "Granted"}))
            ),
            Ok(())
        );
        assert!(
            review("alice", REQUESTS, None, &granted()).is_err(),
            "a new one carries no hold"
        );
    }

    #[test]
    fn a_finalizer_of_a_request_that_no_longer_exists_is_not_left_to_the_scheduler() {
        let held = object(json!(["request.clusters.openmcp.cloud/1"]), json!({}));
        let message = review("alice", CLUSTERS, Some(&held), &object(json!([]), json!({}))).unwrap_err();
        assert!(
            message.ends_with(
                "; if the request no longer exists, only a member of a --break-glass-group can remove it"
            ),
            "{message}"
        );
        let mut released = granted();
        released["metadata"]["finalizers"] = json!([]);
        let message = review("alice", REQUESTS, Some(&granted()), &released).unwrap_err();
        assert!(
            message.ends_with("the scheduler removes it when the request is deleted"),
            "{message}"
        );
    }

    #[test]
    fn uses_of_a_cluster_are_counted_by_the_scheduler_alone() {
        let with_finalizers = |names: &[&str]| object(json!(names), json!({"phase": "Ready"}));
        let used = with_finalizers(&[
            "request.clusters.openmcp.cloud/1",
            "gardener.clusters.openmcp.cloud/cluster",
        ]);
        for (new, part) in [
            (
                with_finalizers(&[]),
                Some(
                    "metadata.finalizers[request.clusters.openmcp.cloud/1]: Forbidden: it says that a request",
                ),
            ),
            (
                with_finalizers(&[
                    "request.clusters.openmcp.cloud/1",
                    "request.clusters.openmcp.cloud/2",
                ]),
                Some("metadata.finalizers[request.clusters.openmcp.cloud/2]"),
            ),
            (with_finalizers(&["request.clusters.openmcp.cloud/1"]), None),
            (
                with_finalizers(&["a.example.com/x", "request.clusters.openmcp.cloud/1"]),
                None,
            ),
        ] {
            let answer = review("alice", CLUSTERS, Some(&used), &new);
            match part {
                Some(part) => assert!(answer.unwrap_err().contains(part)),
                None => assert_eq!(answer, Ok(())),
            }
            assert_eq!(review(ACTOR, CLUSTERS, Some(&used), &new), Ok(()));
        }
        let mut reported = used.clone();
        reported["status"]["phase"] = "Degraded".into();
        assert_eq!(review("provider", CLUSTERS, Some(&used), &reported), Ok(()));
        assert_eq!(
            review("alice", CLUSTERS, None, &used),
            Ok(()),
            "restored from a copy"
        );
    }
}
