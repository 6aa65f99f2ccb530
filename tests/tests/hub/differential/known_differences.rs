//! The known differences. Each has a reason, and removes as little as possible from a comparison.

use http::Method;
use serde_json::{Value, json};

use crate::differential::request::Request;

/// A known difference.
pub(crate) struct KnownDifference {
    pub(crate) why: &'static str,
    /// Removes the difference, if it exists, from both answers; the remaining differences are unknown.
    settle: fn(&Request, &mut Value, &mut Value),
}

/// Removes the known differences from both answers, and returns the reasons of those that existed.
pub(crate) fn settle(request: &Request, reference: &mut Value, other: &mut Value) -> Vec<&'static str> {
    let mut found = Vec::new();
    for known in KNOWN_DIFFERENCES {
        if reference == other {
            break;
        }
        let before = (reference.clone(), other.clone());
        (known.settle)(request, reference, other);
        if before != (reference.clone(), other.clone()) {
            found.push(known.why);
        }
    }
    found
}

/// Reason of a known difference that changes the stored object.
pub(crate) const KEPT: &str =
    "unknown fields are kept, not pruned, so that what newer releases write survives";

const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        why: "errors are a Status in JSON also where kube-apiserver answers in plain text",
        settle: |_, reference, other| {
            if refused(reference) && reference["body"] == "not JSON" && other["code"] == reference["code"] {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "kube-apiserver answers 500 to what is the client's mistake",
        settle: |_, reference, other| {
            if reference["code"] == 500 && refused(other) {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "a Deployment's pods, a Service's addresses and their status are for the cluster that runs them to fill in",
        settle: |request, reference, other| {
            if request.path.contains("/deployments") || request.path.contains("/services") {
                each(reference, &mut unfilled);
                each(other, &mut unfilled);
            }
        },
    },
    KnownDifference {
        why: "kube-apiserver answers the deletion of a Service with the Service, and of everything else with a Status",
        settle: |request, reference, other| {
            let deleted = request.method == Method::DELETE && request.path.contains("/services/");
            if deleted && reference["code"] == 200 && other["body"][0]["kind"] == "Status" {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "columns of a system's kind are typed and printed as those of Kubernetes' own: an age is a string, and what is \
              not there is an empty text; a Service's address is its cluster's to give",
        settle: |request, reference, other| {
            if request.accept.contains("as=Table") && !request.path.starts_with("/apis/apps") {
                each(reference, &mut uncolumned);
                each(other, &mut uncolumned);
            }
        },
    },
    KnownDifference {
        why: KEPT,
        settle: |_, reference, other| {
            // The field of a change counts as well.
            if has(other, "nope") && !has(reference, "nope") {
                each(other, &mut |map| drop(map.remove("nope")));
                for side in [reference, other] {
                    each(side, &mut |map| drop(map.remove("generation")));
                }
            }
        },
    },
    KnownDifference {
        why: "empty values where Go's types write null, {} or an empty text",
        settle: |_, reference, other| {
            for side in [reference, other] {
                each(side, &mut |map| {
                    map.retain(|_, value| {
                        !(value.is_null()
                            || *value == json!({})
                            || *value == json!("")
                            || *value == json!([]))
                    });
                });
            }
        },
    },
    KnownDifference {
        why: "fields of Pods and Services that Berth does not know are read last: one of a wrong type is 422 with the field",
        settle: |request, reference, other| {
            let read_last = request.path.contains("/deployments") || request.path.contains("/services");
            if read_last && reference["code"] == 400 && other["code"] == 422 {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "a map whose last field is given up is left empty; kube-apiserver leaves a null in custom resources, which it refuses",
        settle: |request, reference, other| {
            let given_up =
                request.content == "application/apply-patch+yaml" && request.body.contains(r#""spec":{}"#);
            let refused = reference["body"][0]["causes"] == json!(["FieldValueTypeInvalid spec"]);
            if given_up && refused && other["code"] == 200 {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "a patch to another apiVersion or kind is about no object; of custom resources kube-apiserver names one of the \
              kind in the patch",
        settle: |request, reference, other| {
            let causes = |answer: &Value| answer["body"][0]["causes"].clone();
            let own = ["apiVersion", "kind"].map(|field| json!([format!("FieldValueInvalid {field}")]));
            let refused = reference["code"] == 422 && own.contains(&causes(reference));
            if request.method == Method::PATCH
                && refused
                && other["code"] == 422
                && causes(other) == json!(["FieldValueInvalid patch"])
            {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "more exact causes: the item's index, and every mistake at once",
        settle: |_, reference, other| {
            if reference["code"] == 422 && other["code"] == 422 {
                match reference["body"][0].get("causes").cloned() {
                    Some(causes) => other["body"][0]["causes"] = causes,
                    None => each(other, &mut |map| drop(map.remove("causes"))),
                }
            }
        },
    },
    KnownDifference {
        why: "definitions demand apiVersion and kind in the body; Berth takes those that are missing from the path",
        settle: |request, reference, other| {
            if reference["code"] == 400 && untyped(&request.body) {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "the systems' own rules and defaults hold beside the schema, as with their webhooks",
        settle: |request, reference, other| {
            let rule = |path: &str, cause: &str| {
                request.path.contains(path) && other["body"][0]["causes"] == json!([cause])
            };
            // The time of a new taint is the server's, so a sent time is another value.
            let timed = rule("/managedclusters", "FieldManagerConflict .spec.taints")
                && request.body.contains("timeAdded");
            let refused = timed
                || rule("/clusterrequests/", "FieldValueInvalid spec")
                || rule("/managedclusters", "FieldValueInvalid spec.taints[0].timeAdded")
                || ["tolerations", "numberOfClusters"].iter().any(|field| {
                    let cause = format!("FieldValueForbidden spec.policy.{field}");
                    rule("/clusterresourceplacements", &cause)
                });
            if refused && reference["code"].as_u64().is_some_and(|code| code < 300) {
                *other = reference.clone();
            }
            let conflicts = [&*reference, &*other].iter().all(|side| side["code"] == 409);
            let own = json!("FieldManagerConflict .spec.taints");
            let has_conflict = |side: &Value| {
                let causes = side["body"][0]["causes"].as_array();
                causes.is_some_and(|causes| causes.contains(&own))
            };
            if conflicts
                && request.body.contains("timeAdded")
                && has_conflict(other)
                && !has_conflict(reference)
            {
                let causes = other["body"][0]["causes"].as_array_mut();
                causes
                    .into_iter()
                    .for_each(|causes| causes.retain(|cause| *cause != own));
            }
            if request.path.contains("/managedclusters") {
                // As OCM's own webhook does.
                for side in [&mut *reference, &mut *other] {
                    each(side, &mut |map| drop(map.remove("timeAdded")));
                }
                each(other, &mut |map| {
                    let default = map.get("cluster.open-cluster-management.io/clusterset");
                    if default.is_some_and(|set| set == "default") {
                        map.remove("cluster.open-cluster-management.io/clusterset");
                    }
                });
            }
        },
    },
    KnownDifference {
        why: "a patch of apiVersion or kind is refused in every format; kube-apiserver ignores it in strategic merges",
        settle: |request, reference, other| {
            let refused = other["body"][0]["causes"] == json!(["FieldValueInvalid patch"]);
            if request.content == "application/strategic-merge-patch+json"
                && refused
                && reference["code"] == 200
            {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "null in a list is refused; kube-apiserver makes an empty text of it in its own kinds",
        settle: |request, reference, other| {
            let refused = other["code"] == 422
                && other["body"][0]["causes"][0]
                    .as_str()
                    .is_some_and(|cause| cause.ends_with(']'));
            if request.body.contains("[null]") && refused {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "a list is no text in base64; kube-apiserver reads a list of numbers as bytes",
        settle: |request, reference, other| {
            // Accepted, or compared with the existing value.
            let taken = reference["code"]
                .as_u64()
                .is_some_and(|code| code < 300 || code == 409);
            if request.path.contains("/secrets")
                && request.body.contains(":[")
                && taken
                && other["code"] == 400
            {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "what a dry run would create by PUT has no resourceVersion; kube-apiserver gives back the one that was sent",
        settle: |request, reference, other| {
            let dry = request.method == Method::PUT && request.path.contains("dryRun=All");
            if dry && reference["code"] == 201 && other["code"] == 201 {
                each(reference, &mut |map| drop(map.remove("resourceVersion")));
            }
        },
    },
    KnownDifference {
        why: "of several mistakes another one is told: what the answer may look like, the body and the object's absence come first",
        settle: |request, reference, other| {
            let mistakes = (
                reference["code"].as_u64().unwrap_or_default(),
                other["code"].as_u64().unwrap_or_default(),
            );
            let body = request.body.as_str();
            let other_mistake = match (&request.method, mistakes) {
                (&Method::GET, (400 | 404, 406)) => request.accept != crate::differential::request::JSON,
                (&Method::PUT, (400 | 409 | 422, 404) | (400, 409)) => true,
                (&Method::PATCH, (404 | 422, 400)) => !body.contains('{') || body == "{" || body == "{}",
                (&Method::POST, (422, 400)) => body == "null",
                (_, (415, 422)) => request.path.contains('?'),
                _ => false,
            };
            if other_mistake {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "a kind that does not belong in the body of a create or an update is 400 for every kind, as for Kubernetes' own",
        settle: |request, reference, other| {
            let written = [Method::POST, Method::PUT].contains(&request.method);
            if written
                && request.body.contains(r#""kind":"Nope""#)
                && refused(reference)
                && other["code"] == 400
            {
                *other = reference.clone();
            }
        },
    },
    KnownDifference {
        why: "the last page by a selector says that it is; kube-apiserver may promise another, which is empty",
        settle: |request, reference, other| {
            let promised = reference["body"][0]["metadata"]["continue"] == "<continue>";
            if promised
                && request.path.contains("limit=1")
                && other["body"][0]["metadata"].get("continue").is_none()
            {
                each(reference, &mut |map| drop(map.remove("continue")));
            }
        },
    },
    KnownDifference {
        why: "warnings come with what is done; kube-apiserver sends them with refusals, too",
        settle: |_, reference, other| {
            if refused(reference) && refused(other) {
                reference["warnings"] = json!([]);
                other["warnings"] = json!([]);
            }
        },
    },
];

/// Whether a body has no kind.
fn untyped(body: &str) -> bool {
    serde_json::from_str::<Value>(body).is_ok_and(|body| {
        let missing = |key: &str| body[key].as_str().is_none_or(str::is_empty);
        missing("kind") || missing("apiVersion")
    })
}

/// Whether a map of an answer's body has `key`.
fn has(answer: &mut Value, key: &str) -> bool {
    let mut found = false;
    each(answer, &mut |map| found |= map.contains_key(key));
    found
}

fn refused(answer: &Value) -> bool {
    answer["code"].as_u64().is_some_and(|code| code >= 400)
}

/// Visits every map of an answer's body, the inner ones first.
fn each(answer: &mut Value, visit: &mut dyn FnMut(&mut serde_json::Map<String, Value>)) {
    fn walk(value: &mut Value, visit: &mut dyn FnMut(&mut serde_json::Map<String, Value>)) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
            Value::Object(map) => {
                map.values_mut().for_each(|value| walk(value, visit));
                visit(map);
            }
            _ => {}
        }
    }
    walk(&mut answer["body"], visit);
}

/// Removes defaults of kube-apiserver for Services and pods.
fn unfilled(map: &mut serde_json::Map<String, Value>) {
    for key in [
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "internalTrafficPolicy",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
        "restartPolicy",
        "terminationGracePeriodSeconds",
        "dnsPolicy",
        "securityContext",
        "schedulerName",
        "resources",
        "status",
        "generation",
    ] {
        map.remove(key);
    }
}

fn uncolumned(map: &mut serde_json::Map<String, Value>) {
    map.remove("columnDefinitions");
    map.remove("cells");
}

/// Removes the managed fields, which only the sequences of several managers compare.
pub(crate) fn disown(answer: &mut Value) {
    each(answer, &mut |map| drop(map.remove("managedFields")));
}
