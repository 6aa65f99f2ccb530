//! What is read of a registration's objects, and what is patched into them.

use super::*;

fn api_service(namespace: &str) -> Value {
    json!({
        "kind": "APIService",
        "metadata": {"name": "v1alpha1.scheduling.berth.dev", "resourceVersion": "7"},
        "spec": {"service": {"namespace": namespace, "name": "berth"}},
    })
}

fn judged(object: &Value) -> Found {
    let registered = Registered::of(object.clone()).unwrap();
    registered.judged(object.clone(), &Service::default())
}

#[test]
fn only_what_is_for_the_service_is_filled_in() {
    let service = Service::default();
    let ours = api_service("berth-system");
    assert_eq!(judged(&ours), Found::Ours(ours.clone()));
    let patch = filled(&ours, &service, "PEM").unwrap();
    assert_eq!(patch, json!({"spec": {"caBundle": STANDARD.encode("PEM")}}));
    assert!(!trusts(&ours, &service, "PEM"));

    let other = judged(&api_service("elsewhere"));
    let Found::Foreign(Some(other)) = other else {
        panic!("{other:?}");
    };
    assert!(
        other.contains("elsewhere/berth, not for the Service berth-system/berth"),
        "{other}"
    );
    let mut skipping = ours.clone();
    skipping["spec"]["insecureSkipTLSVerify"] = json!(true);
    assert_eq!(judged(&skipping), Found::Foreign(None));
}

#[test]
fn who_is_to_fill_in_what_is_missing_is_said() {
    let mut injected = api_service("berth-system");
    injected["metadata"]["annotations"] = json!({INJECTED: "berth-system/berth"});
    let said = "APIService v1alpha1.scheduling.berth.dev has no caBundle, which cert-manager is to fill in";
    assert_eq!(judged(&injected), Found::Foreign(Some(said.to_owned())));
    injected["spec"]["caBundle"] = json!(STANDARD.encode("PEM"));
    assert_eq!(judged(&injected), Found::Foreign(None));

    let registered = Registered::of(api_service("berth-system")).unwrap();
    assert_eq!(
        registered.absent(),
        "APIService v1alpha1.scheduling.berth.dev is not there; `berth manifests apiservice` has it"
    );
    let webhook = |bundle: &str| {
        let config = json!({"service": {"namespace": "berth-system", "name": "berth"}, "caBundle": bundle});
        json!({"kind": "MutatingWebhookConfiguration", "metadata": {"name": "berth"},
            "webhooks": [{"name": "a", "clientConfig": config}, {"name": "b", "clientConfig": {"url": "https://x"}}]})
    };
    let service = Service::default();
    let registered = Registered::of(webhook("")).unwrap();
    let said = registered.untrusting(&webhook(""), &service);
    assert!(said.is_some_and(|text| text.contains("MutatingWebhookConfiguration berth has no caBundle")));
    assert_eq!(registered.untrusting(&webhook("UEVN"), &service), None);
}

#[test]
fn what_is_filled_in_already_is_left_alone() {
    let service = Service::default();
    let mut object = api_service("berth-system");
    object["spec"]["caBundle"] = json!(STANDARD.encode("PEM"));
    assert!(trusts(&object, &service, "PEM"));
    assert!(!trusts(&object, &service, "PEM and another"));
}

#[test]
fn each_webhook_of_the_service_is_filled_in_and_no_other() {
    let service = Service::default();
    let own =
        json!({"name": "a", "clientConfig": {"service": {"namespace": "berth-system", "name": "berth"}}});
    let foreign = json!({"name": "b", "clientConfig": {"url": "https://elsewhere"}});
    let object = json!({"kind": "MutatingWebhookConfiguration", "webhooks": [own, foreign]});
    let patch = filled(&object, &service, "PEM").unwrap();
    assert_eq!(
        patch["webhooks"][0]["clientConfig"]["caBundle"],
        STANDARD.encode("PEM")
    );
    assert_eq!(patch["webhooks"][1], foreign);
    assert_eq!(
        filled(&json!({"kind": "X", "webhooks": [foreign]}), &service, "PEM"),
        None
    );
}

#[test]
fn templates_are_known_by_kind() {
    let installation = crate::manifests::Installation::default();
    let all = crate::manifests::objects(&installation, crate::manifests::Set::All);
    let registered = all.into_iter().filter_map(Registered::of);
    let names: Vec<String> = registered.map(|one| one.to_string()).collect();
    assert!(
        names.contains(&"APIService v1alpha1.scheduling.berth.dev".to_owned()),
        "{names:?}"
    );
    assert!(
        names.contains(&"ValidatingWebhookConfiguration berth".to_owned()),
        "{names:?}"
    );
}
