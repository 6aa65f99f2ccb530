//! Changes of writes by mutating policies.

use berth_tests::Server;
use serde_json::json;

use super::{apply, create_accepted, deployment, mutating, refused};

#[test]
fn configurations_and_patches_change_what_is_written_and_belong_to_nobody() {
    let server = Server::start();
    let applied =
        "Object{metadata: Object.metadata{labels: {'team': 'blue'}}, spec: Object.spec{minReadySeconds: 7}}";
    let patched = "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'note/' + object.metadata.name: 'yes'}}]";
    let spec = json!({"mutations": [
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": applied}},
        {"patchType": "JSONPatch", "jsonPatch": {"expression": patched}}]});
    let objects = mutating("labels", &spec);
    apply(&server, &objects).succeeds();
    let table = server.kubectl("get mutatingadmissionpolicies").succeeds();
    assert!(table.contains("MUTATIONS") && table.contains("labels"), "{table}");
    create_accepted(&server, &deployment("web", "default", 1));
    let web = server.kubectl("get deployment web -o json").json();
    assert_eq!(web["metadata"]["labels"], json!({"team": "blue"}));
    assert_eq!(web["metadata"]["annotations"]["note/web"], "yes");
    assert_eq!(web["spec"]["minReadySeconds"], 7);
    assert_eq!(web["spec"]["replicas"], 1);
    // The same in the version before Kubernetes 1.36.
    let older = objects.map(|mut object| {
        object["apiVersion"] = "admissionregistration.k8s.io/v1beta1".into();
        object["metadata"]["name"] = "older".into();
        object
    });
    apply(&server, &older).succeeds();
    let newer = server.kubectl("get mutatingadmissionpolicy older -o json").json();
    assert_eq!(newer["apiVersion"], "admissionregistration.k8s.io/v1");
}

#[test]
fn a_mutation_that_cannot_be_made_refuses_the_write_and_the_next_one_sees_what_was_made() {
    let server = Server::start();
    let apply_of = |expression: &str| json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}});
    let first = json!({"mutations": [apply_of("Object{spec: Object.spec{replicas: 4}}")]});
    let second =
        json!({"mutations": [apply_of("Object{spec: Object.spec{minReadySeconds: object.spec.replicas}}")]});
    apply(&server, &mutating("a", &first)).succeeds();
    apply(&server, &mutating("b", &second)).succeeds();
    create_accepted(&server, &deployment("web", "default", 1));
    let web = server.kubectl("get deployment web -o json").json();
    assert_eq!(
        (&web["spec"]["replicas"], &web["spec"]["minReadySeconds"]),
        (&json!(4), &json!(4))
    );
    let impossible = json!({"mutations": [apply_of("Object{spec: Object.spec{replicas: 'many'}}")]});
    apply(&server, &mutating("b", &impossible)).succeeds();
    let text = refused(&server, &deployment("more", "default", 1));
    assert!(
        text.contains(
            "policy 'b' with binding 'b' denied request: error applying patch: failed to convert patch object"
        ),
        "{text}"
    );
    let mut ignored = impossible;
    ignored["failurePolicy"] = "Ignore".into();
    apply(&server, &mutating("b", &ignored)).succeeds();
    create_accepted(&server, &deployment("more", "default", 1));
}
