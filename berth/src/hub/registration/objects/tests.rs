//! What is read of a registration's objects, and what is patched into them.

use super::*;

fn api_service(namespace: &str) -> Value {
    json!({
        "kind": "APIService",
        "metadata": {"name": "v1alpha1.scheduling.berth.dev", "resourceVersion": "7"},
        "spec": {"service": {"namespace": namespace, "name": "berth"}},
    })
}

#[test]
fn only_what_is_for_the_service_is_filled_in() {
    let service = Service::default();
    let ours = api_service("berth-system");
    assert_eq!(foreign(&ours, &service), None);
    let patch = filled(&ours, &service, "PEM").unwrap();
    assert_eq!(patch, json!({"spec": {"caBundle": STANDARD.encode("PEM")}}));
    assert!(!trusts(&ours, &service, "PEM"));

    let other = foreign(&api_service("elsewhere"), &service).unwrap();
    assert!(
        other.contains("elsewhere/berth, not for the Service berth-system/berth"),
        "{other}"
    );
    let mut skipping = ours.clone();
    skipping["spec"]["insecureSkipTLSVerify"] = json!(true);
    assert!(foreign(&skipping, &service).is_some());
    let mut injected = ours.clone();
    injected["metadata"]["annotations"] = json!({INJECTED: "berth-system/berth"});
    assert!(foreign(&injected, &service).is_some());
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
