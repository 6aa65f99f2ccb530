//! Test that no request does unlimited work on the runtime's threads: with many objects, the effort of every
//! verb of every resource is heavy, or is the size of one stored object, or the request is listed below with
//! the reason why the work is bounded.

use std::time::Instant;

use berth_apimachinery::Revision;
use berth_apimachinery::write::Verb;
use berth_apimachinery::{Draft, Key};
use berth_apiserver::heavy::LIGHT;
use berth_apiserver::{Api, Backing, Group, Query, RequestInfo, Resource};
use berth_storage::{Expect, MemoryStore, Source, Step};

use super::*;

/// Number of objects of each resource in the test.
const OBJECTS_PER_RESOURCE: usize = 200;
/// Number of ManagedClusters in the test.
const CLUSTERS: usize = 1_500;

/// Requests whose work does not grow with the number of objects, in the form `resource[/subresource] verb`.
const BOUNDED: &[&str] = &[
    // The engine writes bindings, and makes as many decisions at once as there are processors.
    "bindings create",
    "clusterbindings create",
    "clusterdecisions/binding create",
    "clusterdecisions/binding get",
    "decisions/binding create",
    "decisions/binding get",
    "clusterrequests/binding get",
    "clusterresourcebindings/binding get",
    "clusterresourceplacements/binding get",
    "placements/binding get",
    "resourcebindings/binding get",
    "resourceplacements/binding get",
    // The number of records of one decision is limited.
    "clusterdecisions/history get",
    "decisions/history get",
    // One access review, or none.
    "localsubjectaccessreviews create",
    "selfsubjectaccessreviews create",
    "selfsubjectreviews create",
    "subjectaccessreviews create",
    // There are no objects.
    "customresourcedefinitions list",
    "customresourcedefinitions watch",
    // The effort of the request behind the proxy is added when it is known.
    "targets/proxy get",
    "targets/proxy patch",
    "targets/proxy update",
    // One stored object.
    "deployments/scale get",
    "shoots/binding get",
];

/// Groups without admission policies: the effort of a write is the size of the object.
const EXEMPT: [&str; 3] = [
    "admissionregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
];

fn put(store: &MemoryStore, key: Key, value: &serde_json::Value) {
    let step = Step {
        verb: Verb::Create,
        key,
        subresource: "",
        object: Some(Draft::new(value).expect("an object")),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    store.commit(&[step]).expect("a new object");
}

/// Fills the store with objects of every stored resource, and a policy that matches all of them.
fn fill(store: &MemoryStore, groups: &[Group]) {
    for resource in groups.iter().flat_map(|group| &group.resources) {
        let info = resource.kind.info();
        let count = match info.kind {
            _ if !matches!(resource.backing, Backing::Stored(_)) => 0,
            _ if info.group == "admissionregistration.k8s.io" => 0,
            "ManagedCluster" => CLUSTERS,
            _ => OBJECTS_PER_RESOURCE,
        };
        for number in 0..count {
            let (namespace, name) = (if info.namespaced() { "ns" } else { "" }, format!("x{number}"));
            let key = Key::new(resource.kind.stored_in(), namespace, &name);
            if store.cached(key.resource).get(namespace, &name).is_some() {
                continue;
            }
            let value = serde_json::json!({
                "apiVersion": info.api_version(info.storage_version), "kind": info.kind,
                "metadata": {"name": name, "namespace": namespace, "uid": format!("{}-{name}", info.kind)},
                "spec": {"hubAcceptsClient": true},
            });
            put(store, key, &value);
        }
    }
    let rule = serde_json::json!({"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]});
    let policy = serde_json::json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "all", "uid": "all"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]},
    });
    let key = Key::new(berth_kubernetes::core::admission_policies::VALIDATING, "", "all");
    put(store, key, &policy);
}

/// One request for each verb of `resource` and of its subresources. The text before each request is the form
/// in [`BOUNDED`].
fn requests(resource: &Resource) -> Vec<(String, RequestInfo)> {
    let info = resource.kind.info();
    let labelled_request = |subresource: &str, verb: &'static str| {
        let selects = matches!(verb, "list" | "watch" | "deletecollection");
        let is_named = !selects && verb != "create" || !subresource.is_empty();
        let query = match selects {
            true => format!("labelSelector={}", vec!["!a"; OBJECTS_PER_RESOURCE].join(",")),
            false => String::new(),
        };
        let name = match info.plural {
            _ if !is_named => String::new(),
            // An unknown decision counts as a decision with the largest number of targets.
            "decisions" | "clusterdecisions" => "absent.system".to_owned(),
            "candidates" | "clustercandidates" => "absent.system:x1.system".to_owned(),
            _ if subresource == "scheduling" => "absent".to_owned(),
            _ => "x1".to_owned(),
        };
        let request = RequestInfo {
            is_resource: true,
            verb,
            group: info.group.to_owned(),
            version: info.versions[0].to_owned(),
            resource: info.plural.to_owned(),
            namespace: if info.namespaced() { "ns" } else { "" }.to_owned(),
            subresource: subresource.to_owned(),
            named_in_path: is_named,
            name,
            query: Query::parse(&query),
            ..RequestInfo::default()
        };
        let slash = if subresource.is_empty() { "" } else { "/" };
        (format!("{}{slash}{subresource} {verb}", info.plural), request)
    };
    let own = info.verbs.iter().map(|verb| labelled_request("", verb));
    let status = ["get", "update", "patch"]
        .iter()
        .map(|verb| labelled_request("status", verb));
    let subresources = resource.subresources.iter();
    own.chain(status.filter(|_| resource.has_status()))
        .chain(subresources.flat_map(|subresource| {
            let verbs = subresource.verbs.iter();
            verbs.map(|verb| labelled_request(subresource.name, verb))
        }))
        .collect()
}

#[tokio::test]
async fn every_verb_of_every_resource_is_heavy_in_a_large_world_or_bounded_for_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::demo(folder.path(), 0).expect("the defaults go together");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let memory = Arc::new(MemoryStore::new(Revision(1), berth_storage::Limits::default()));
    let store: Arc<dyn Store> = memory.clone();
    let parts = groups::assemble(&store, &clock, &options, None).expect("all parts");
    fill(&memory, &parts.groups);
    let tasks = [parts.engine.spawn(), parts.virtual_api.spawn()];
    parts
        .engine
        .caught_up(store.revision())
        .await
        .expect("it is read");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !parts.virtual_api.is_ready() {
        assert!(Instant::now() < deadline, "targets and decisions are not shown");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut light = Vec::new();
    for resource in parts.groups.iter().flat_map(|group| &group.resources) {
        let is_exempt = EXEMPT.contains(&resource.kind.info().group);
        for (label, request) in requests(resource) {
            let is_stored = !matches!(resource.backing, Backing::Computed(_))
                && matches!(request.subresource.as_str(), "" | "status");
            // The effort is the size of one object; for writes, the cost of policies is added. Lists of
            // policies are light, since the store has one policy at most.
            let is_weighed = is_stored && (request.verb == "get" || is_exempt);
            let effort = parts.api.effort(&request, &http::HeaderMap::new());
            if effort <= LIGHT && !is_weighed && !BOUNDED.contains(&label.as_str()) {
                light.push(format!("{label}: {effort}"));
            }
        }
    }
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    assert!(
        light.is_empty(),
        "unlimited work on the runtime's threads:\n{}",
        light.join("\n")
    );
}
