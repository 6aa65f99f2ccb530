//! The author of a wrong policy can delete it.

use berth_tests::Server;
use serde_json::json;

use super::{apply, create_accepted, deployment, refused, validating};

#[test]
fn a_policy_that_refuses_everything_can_be_changed_and_deleted() {
    let server = Server::start();
    let all = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]});
    let everything = |message: &str| {
        let spec = json!({"matchConstraints": {"resourceRules": [all]},
            "validations": [{"expression": "false", "message": message}]});
        validating("everything", &spec, &json!({}))
    };
    apply(&server, &everything("no")).succeeds();
    refused(&server, &deployment("web", "default", 1));
    let text = server.kubectl("create namespace team").fails();
    assert!(text.contains("denied request: no"), "{text}");
    // A review of rights is not a write.
    server.kubectl("auth can-i create deployments").succeeds();
    apply(&server, &everything("never")).succeeds();
    server
        .kubectl("label validatingadmissionpolicy everything a=b")
        .succeeds();
    let text = refused(&server, &deployment("web", "default", 1));
    assert!(text.contains("denied request: never"), "{text}");
    server
        .kubectl("delete validatingadmissionpolicy everything")
        .succeeds();
    create_accepted(&server, &deployment("web", "default", 1));
}
