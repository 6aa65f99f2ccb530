//! Parsing of a registration's objects, and patches to them.

use super::*;

fn api_service(namespace: &str) -> Value {
    json!({
        "kind": "APIService",
        "metadata": {"name": "v1alpha1.scheduling.berth.dev", "resourceVersion": "7"},
        "spec": {"service": {"namespace": namespace, "name": "berth"}},
    })
}

fn service() -> Service {
    Service {
        name: "berth".to_owned(),
        namespace: "berth-system".to_owned(),
        port: 443,
    }
}

fn registered(template: Value) -> RegisteredObject {
    let sources = Sources {
        api_services: "`berth manifests apiservice` has it".to_owned(),
        webhooks: "`berth manifests webhooks` has it".to_owned(),
        ca_secret: String::new(),
    };
    RegisteredObject::of(template, "berth", &sources).unwrap()
}

fn judged(object: &Value) -> ObjectState {
    registered(object.clone()).classify(object.clone(), &service())
}

#[test]
fn only_what_is_for_the_service_is_filled_in() {
    let service = service();
    let ours = api_service("berth-system");
    assert_eq!(judged(&ours), ObjectState::Ours(ours.clone()));
    let patch = ca_patch(&ours, &service, "PEM").unwrap();
    assert_eq!(patch, json!({"spec": {"caBundle": STANDARD.encode("PEM")}}));
    assert!(!trusts(&ours, &service, "PEM"));

    let other = judged(&api_service("elsewhere"));
    let ObjectState::Foreign(Some(other)) = other else {
        panic!("{other:?}");
    };
    assert!(
        other.contains("elsewhere/berth, not for the Service berth-system/berth"),
        "{other}"
    );
    let mut skipping = ours.clone();
    skipping["spec"]["insecureSkipTLSVerify"] = json!(true);
    assert_eq!(judged(&skipping), ObjectState::Foreign(None));
}

#[test]
fn an_api_service_for_another_service_is_a_problem_whoever_sets_its_ca_bundle() {
    let mut skipping = api_service("elsewhere");
    skipping["spec"]["insecureSkipTLSVerify"] = json!(true);
    let mut injected = api_service("elsewhere");
    injected["metadata"]["annotations"] = json!({"cert-manager.io/inject-ca-from": "elsewhere/berth"});
    injected["spec"]["caBundle"] = json!(STANDARD.encode("PEM"));
    for other in [skipping, injected] {
        let state = judged(&other);
        assert!(matches!(state, ObjectState::Foreign(Some(_))), "{other}");
    }
}

#[test]
fn who_is_to_fill_in_what_is_missing_is_said() {
    let said = "APIService v1alpha1.scheduling.berth.dev has no caBundle, which cert-manager must fill in";
    for annotation in [INJECT_CA_FROM[0], INJECT_CA_FROM[1], INJECT_APISERVER_CA] {
        let mut injected = api_service("berth-system");
        injected["metadata"]["annotations"] = json!({annotation: "true"});
        assert_eq!(judged(&injected), ObjectState::Foreign(Some(said.to_owned())));
        injected["spec"]["caBundle"] = json!(STANDARD.encode("PEM"));
        assert_eq!(judged(&injected), ObjectState::Foreign(None));
    }

    let missing = registered(api_service("berth-system"));
    assert_eq!(
        missing.missing_message(),
        "APIService v1alpha1.scheduling.berth.dev does not exist; `berth manifests apiservice` has it"
    );
    let webhook = |bundle: &str| {
        let config = json!({"service": {"namespace": "berth-system", "name": "berth"}, "caBundle": bundle});
        json!({"kind": "MutatingWebhookConfiguration", "metadata": {"name": "berth"},
            "webhooks": [{"name": "a", "clientConfig": config}, {"name": "b", "clientConfig": {"url": "https://x"}}]})
    };
    let service = service();
    let untrusting = registered(webhook(""));
    let said = untrusting.missing_bundles(&webhook(""), &service);
    assert!(said.is_some_and(|text| text.contains("MutatingWebhookConfiguration berth has no caBundle")));
    assert_eq!(untrusting.missing_bundles(&webhook("UEVN"), &service), None);
}

#[test]
fn what_is_filled_in_already_is_left_alone() {
    let service = service();
    let mut object = api_service("berth-system");
    object["spec"]["caBundle"] = json!(STANDARD.encode("PEM"));
    assert!(trusts(&object, &service, "PEM"));
    assert!(!trusts(&object, &service, "PEM and another"));
}

#[test]
fn each_webhook_of_the_service_is_filled_in_and_no_other() {
    let service = service();
    let own =
        json!({"name": "a", "clientConfig": {"service": {"namespace": "berth-system", "name": "berth"}}});
    let foreign = json!({"name": "b", "clientConfig": {"url": "https://elsewhere"}});
    let object = json!({"kind": "MutatingWebhookConfiguration", "webhooks": [own, foreign]});
    let patch = ca_patch(&object, &service, "PEM").unwrap();
    assert_eq!(
        patch["webhooks"][0]["clientConfig"]["caBundle"],
        STANDARD.encode("PEM")
    );
    assert_eq!(patch["webhooks"][1], foreign);
    assert_eq!(
        ca_patch(&json!({"kind": "X", "webhooks": [foreign]}), &service, "PEM"),
        None
    );
}

#[test]
fn only_what_has_a_ca_bundle_is_registered() {
    let sources = Sources::default();
    let of = |kind: &str| {
        let template = json!({"kind": kind, "metadata": {"name": "one"}});
        RegisteredObject::of(template, "tests", &sources).map(|one| one.to_string())
    };
    assert_eq!(of("APIService").as_deref(), Some("APIService one"));
    let webhooks = of("ValidatingWebhookConfiguration");
    assert_eq!(webhooks.as_deref(), Some("ValidatingWebhookConfiguration one"));
    assert_eq!(of("Deployment"), None);
}
