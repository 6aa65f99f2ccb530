//! Estimated effort of requests, before they are handled.

use berth_admission::client::{Policies, PolicyNotes, PolicyObjections, Rounds, VersionedWrite};

use super::*;
use crate::heavy::LIGHT;

/// `count` widgets in namespace `ns`, three in `other`.
fn many(client: &Client, count: usize) {
    let steps = (0..count + 3).map(|number| {
        let namespace = if number < count { "ns" } else { "other" };
        let name = format!("w{number}");
        let value = json!({"apiVersion": "toys.example.com/v1", "kind": "Widget",
            "metadata": {"name": name, "namespace": namespace, "uid": name}, "spec": {"color": "red"}});
        berth_storage::Step {
            verb: berth_apimachinery::write::Verb::Create,
            key: berth_apimachinery::Key::new(GroupResource::new(toys::GROUP, "widgets"), namespace, &name),
            subresource: "",
            object: Some(berth_apimachinery::Draft::new(&value).unwrap()),
            expect: berth_storage::Expect::Absent,
            guards: Vec::new(),
        }
    });
    client.toys.store.commit(&steps.collect::<Vec<_>>()).unwrap();
}

/// Whether `method` on `path` is heavy.
fn is_heavy(client: &Client, method: &str, path: &str, accept: &str) -> bool {
    let request = Client::request(method, path, &[("accept", accept)], b"");
    client.api.effort(&request.info, &request.headers) > LIGHT
}

const JSON: &str = "application/json";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const YAML: &str = "application/yaml";

#[test]
fn a_list_is_heavy_by_what_is_looked_at_and_not_by_what_is_sent() {
    let client = Client::new();
    many(&client, 2_000);
    let terms = vec!["!a"; 100].join(",");
    let value = format!("color%20in%20({})", vec!["x"; 100].join(","));
    for (method, query, accept, expected) in [
        ("GET", String::new(), JSON, false),
        ("GET", "labelSelector=a".to_owned(), JSON, false),
        ("GET", format!("labelSelector={terms}"), JSON, true),
        ("GET", format!("labelSelector={value}"), JSON, true),
        (
            "GET",
            format!("fieldSelector={}", vec!["metadata.name!=x"; 100].join(",")),
            JSON,
            true,
        ),
        // A page of a selection is searched in all objects.
        ("GET", format!("limit=1&labelSelector={terms}"), JSON, true),
        ("DELETE", format!("labelSelector={terms}"), JSON, true),
        ("GET", format!("watch=1&labelSelector={terms}"), JSON, true),
        (
            "GET",
            format!("watch=1&resourceVersion=5&labelSelector={terms}"),
            JSON,
            false,
        ),
        ("GET", String::new(), TABLE, true),
        ("GET", "limit=100".to_owned(), TABLE, false),
        ("GET", String::new(), YAML, true),
        ("GET", "limit=10".to_owned(), YAML, false),
    ] {
        let path = "/apis/toys.example.com/v1/namespaces/ns/widgets";
        let target = format!("{path}?{query}");
        assert_eq!(
            is_heavy(&client, method, &target, accept),
            expected,
            "{method} {target} {accept}"
        );
        let elsewhere = target.replace("/ns/", "/other/");
        assert!(
            !is_heavy(&client, method, &elsewhere, accept),
            "{method} {elsewhere} {accept}"
        );
    }
    let one = format!("{WIDGETS}?fieldSelector=metadata.name%3Dw1&labelSelector={terms}");
    assert!(!is_heavy(&client, "GET", &one, JSON));
}

/// Policies about widgets that take long.
struct Slow;

impl Policies for Slow {
    fn effort(&self, write: &VersionedWrite<'_>) -> usize {
        match write.request.resource.resource {
            "widgets" => LIGHT + 1,
            _ => 0,
        }
    }
    fn concern(&self, _: &VersionedWrite<'_>) -> bool {
        true
    }
    fn mutate<'a>(
        &'a self,
        _: &'a VersionedWrite<'a>,
        _: &'a mut Value,
        _: &'a mut Rounds,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async { Ok(()) })
    }
    fn validate<'a>(
        &'a self,
        _: &'a VersionedWrite<'a>,
        _: Option<&'a Value>,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn a_write_through_a_view_has_the_effort_of_the_policies_about_its_object() {
    let toys = toys::Toys::new(berth_storage::Limits::default());
    let chain = toys.chain().with_policies(Arc::new(Slow));
    let client = Client::over(toys, chain);
    let view = "/apis/toys.example.com/v1/gadgets/red/proxy";
    for (method, path, expected) in [
        ("PATCH", at("a"), true),
        ("PATCH", format!("{view}{}", at("a")), true),
        ("PATCH", view.to_owned(), false),
        ("GET", format!("{view}{}", at("a")), false),
    ] {
        assert_eq!(
            is_heavy(&client, method, &path, JSON),
            expected,
            "{method} {path}"
        );
    }
}

#[test]
fn the_tree_of_a_protobuf_body_is_estimated_by_the_codec() {
    let client = Client::new();
    let estimate = |media_type: &str| {
        let request = Client::request("POST", ALL_WIDGETS, &[("content-type", media_type)], b"{}");
        client.api.tree_size(&request.headers, &request.body)
    };
    let plain = crate::memory::tree_size(b"{}");
    assert_eq!(estimate("application/json"), plain);
    assert_eq!(estimate("application/vnd.kubernetes.protobuf"), 2 * plain);
}

#[tokio::test]
async fn a_selector_that_compares_too_much_is_refused() {
    let client = Client::new();
    many(&client, 2_000);
    let terms = vec!["!a"; 60_000].join(",");
    // The address is longer than the test client allows.
    let request = Client::request("GET", ALL_WIDGETS, &[], b"");
    let query = crate::request_info::Query::parse(&format!("labelSelector={terms}"));
    let info = RequestInfo {
        query,
        ..(*request.info).clone()
    };
    let request = RequestCx {
        info: Arc::new(info),
        ..request
    };
    let response = client.api.dispatch(AuthorizedRequest::new(request)).await;
    assert_eq!(response.status(), 422);
}
