//! Policies do not reveal objects that their authors may not read.

use berth_tests::Server;
use serde_json::{Value, json};

use super::{apply, mutating, validating};

/// The message of a refusal, with the origin of its text in Go.
const BINDING: [&str; 2] = [
    "spec.paramRef: Forbidden: ",
    "user &{ann  [system:authenticated] map[",
];

/// A user with only the right to write policies.
fn somebody(server: &Server) -> std::path::PathBuf {
    server
        .kubectl("create clusterrole policies --verb=* --resource=validatingadmissionpolicies.admissionregistration.k8s.io,validatingadmissionpolicybindings.admissionregistration.k8s.io,mutatingadmissionpolicies.admissionregistration.k8s.io,mutatingadmissionpolicybindings.admissionregistration.k8s.io")
        .succeeds();
    server
        .kubectl("create clusterrolebinding policies --clusterrole=policies --user=ann")
        .succeeds();
    server.kubeconfig_for("ann", &[])
}

#[test]
fn who_names_parameters_must_be_allowed_to_read_them() {
    let server = Server::start();
    let ann = somebody(&server);
    let create = |object: &Value| {
        server
            .kubectl_as(&ann, &["create", "-f", "-"])
            .input(object.to_string())
    };
    let spec =
        json!({"paramKind": {"apiVersion": "v1", "kind": "Secret"}, "validations": [{"expression": "true"}]});
    let by =
        json!({"paramRef": {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}});
    let [policy, binding] = validating("secrets", &spec, &by);
    let text = create(&policy).fails();
    assert!(
        text.contains("The ValidatingAdmissionPolicy \"secrets\" is invalid: spec.paramKind: Forbidden: user &{ann  [")
            && text.contains(
                "must have \"get\" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)"
            ),
        "{text}"
    );
    // The policy does not exist, so the right to read everything is required.
    let text = create(&binding).fails();
    assert!(
        BINDING.iter().all(|part| text.contains(part))
            && text.contains("unable to get policy secrets to determine minimum required permissions")
            && text.contains("does not have \"get\" permission for all groups, versions and resources"),
        "{text}"
    );
    apply(&server, &[policy]).succeeds();
    let text = create(&binding).fails();
    assert!(
        BINDING.iter().all(|part| text.contains(part))
            && text.contains("does not have \"get\" permission on the object referenced by paramRef"),
        "{text}"
    );
    // The right to read one object suffices for a binding by name, and not for one by labels.
    server
        .kubectl("create role limits --verb=get --resource=secrets --resource-name=limits")
        .succeeds();
    server
        .kubectl("create rolebinding limits --role=limits --user=ann")
        .succeeds();
    create(&binding).succeeds();
    let mut selected = binding;
    selected["metadata"]["name"] = "selected".into();
    selected["spec"]["paramRef"] = json!({"selector": {}, "parameterNotFoundAction": "Deny"});
    let text = create(&selected).fails();
    assert!(text.contains("does not have \"list\" permission"), "{text}");
    // Unchanged parts are not checked again.
    server
        .kubectl_as(&ann, &["label", "validatingadmissionpolicy", "secrets", "a=b"])
        .succeeds();
    server
        .kubectl_as(
            &ann,
            &["label", "validatingadmissionpolicybinding", "secrets", "a=b"],
        )
        .succeeds();
    let text = server
        .kubectl_as(
            &ann,
            &[
                "patch",
                "validatingadmissionpolicybinding",
                "secrets",
                "--type=merge",
                "-p",
                "{\"spec\":{\"paramRef\":{\"name\":\"others\"}}}",
            ],
        )
        .fails();
    assert!(
        text.contains("does not have \"get\" permission on the object"),
        "{text}"
    );
}

#[test]
fn the_same_holds_for_what_changes_writes() {
    let server = Server::start();
    let ann = somebody(&server);
    let patch = json!({"patchType": "JSONPatch", "jsonPatch": {
        "expression": "[JSONPatch{op: 'test', path: '/kind', value: 'x'}]"}});
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "mutations": [patch]});
    let [policy, mut binding] = mutating("maps", &spec);
    binding["spec"]["paramRef"] = json!({"name": "limits", "parameterNotFoundAction": "Deny"});
    let create = |object: &Value| {
        server
            .kubectl_as(&ann, &["create", "-f", "-"])
            .input(object.to_string())
    };
    let text = create(&policy).fails();
    assert!(text.contains("spec.paramKind: Forbidden"), "{text}");
    server
        .kubectl("create clusterrole maps --verb=get --resource=configmaps")
        .succeeds();
    server
        .kubectl("create clusterrolebinding maps --clusterrole=maps --user=ann")
        .succeeds();
    create(&policy).succeeds();
    create(&binding).succeeds();
}
