//! Bodies as kubectl sends them in protobuf.

use k8s_pb::apimachinery::pkg::runtime::TypeMeta;
use serde_json::json;

use super::*;

fn decode(bytes: &[u8]) -> Value {
    Protobuf
        .decode(bytes)
        .expect("a known message")
        .expect("a well-formed message")
}

fn body(version: &str, kind: &str, message: &impl Message) -> Vec<u8> {
    let type_meta = TypeMeta {
        api_version: Some(version.to_owned()),
        kind: Some(kind.to_owned()),
    };
    let envelope = Unknown {
        type_meta: Some(type_meta),
        raw: Some(message.encode_to_vec()),
        ..Unknown::default()
    };
    [MAGIC, &envelope.encode_to_vec()].concat()
}

/// The bytes of `kubectl create namespace a` (v1.32.4).
const NAMESPACE: &[u8] = b"k8s\x00\n\x0f\n\x02v1\x12\tNamespace\x12\x19\n\x11\n\x01a\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\x00\x1a\x02\n\x00\x1a\x00\"\x00";
/// The bytes of `kubectl create configmap b --from-literal=x=y`.
const CONFIG_MAP: &[u8] = b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x1b\n\x11\n\x01b\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\x06\n\x01x\x12\x01y\x1a\x00\"\x00";
/// The bytes of `kubectl create secret generic c --from-literal=x=y`.
const SECRET: &[u8] = b"k8s\x00\n\x0c\n\x02v1\x12\x06Secret\x12\x1d\n\x11\n\x01c\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\x06\n\x01x\x12\x01y\x1a\x00\x1a\x00\"\x00";
/// The bytes of `kubectl create role e --verb=get --resource=configmaps`.
const ROLE: &[u8] = b"k8s\x00\n$\n\x1crbac.authorization.k8s.io/v1\x12\x04Role\x12(\n\x11\n\x01e\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\x13\n\x03get\x12\x00\x1a\nconfigmaps\x1a\x00\"\x00";
/// The bytes of `kubectl create clusterrole f --verb=get --non-resource-url=/x`.
const CLUSTER_ROLE: &[u8] = b"k8s\x00\n+\n\x1crbac.authorization.k8s.io/v1\x12\x0bClusterRole\x12\x1e\n\x11\n\x01f\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\t\n\x03get*\x02/x\x1a\x00\"\x00";
/// The bytes of `kubectl auth can-i get cm`.
const CAN_I: &[u8] = b"k8s\x00\n2\n\x17authorization.k8s.io/v1\x12\x17SelfSubjectAccessReview\x12:\n\x10\n\x00\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\x1c\n\x1a\n\x07default\x12\x03get\x1a\x00\"\x00*\x02cm2\x00:\x00\x1a\x08\x08\x00\x12\x00\x1a\x00 \x00\x1a\x00\"\x00";
/// The bytes of `kubectl auth can-i --list`.
const CAN_I_LIST: &[u8] = b"k8s\x00\n1\n\x17authorization.k8s.io/v1\x12\x16SelfSubjectRulesReview\x12#\n\x10\n\x00\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\t\n\x07default\x1a\x04\x18\x00\"\x00\x1a\x00\"\x00";
/// The bytes of `kubectl auth whoami`.
const WHO_AM_I: &[u8] = b"k8s\x00\n-\n\x18authentication.k8s.io/v1\x12\x11SelfSubjectReview\x12\x1a\n\x10\n\x00\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\x06\n\x04\n\x00\x12\x00\x1a\x00\"\x00";

#[test]
fn what_kubectl_sends_reads_as_the_json_it_would_have_sent() {
    let name = |name: &str| json!({"name": name});
    let rbac = "rbac.authorization.k8s.io/v1";
    for (bytes, value) in [
        (
            NAMESPACE,
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": name("a")}),
        ),
        (
            CONFIG_MAP,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": name("b"), "data": {"x": "y"}}),
        ),
        (
            SECRET,
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": name("c"), "data": {"x": "eQ=="}}),
        ),
        (
            ROLE,
            json!({"apiVersion": rbac, "kind": "Role", "metadata": name("e"),
                "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}]}),
        ),
        (
            CLUSTER_ROLE,
            json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": name("f"),
                "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}),
        ),
        (
            CAN_I,
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
                "spec": {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "cm"}}}),
        ),
        (
            CAN_I_LIST,
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "metadata": {},
                "spec": {"namespace": "default"}}),
        ),
        (
            WHO_AM_I,
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}),
        ),
    ] {
        assert_eq!(decode(bytes), value);
    }
}

#[test]
fn bindings_and_service_accounts_keep_their_parts() {
    let subject = rbac_v1::Subject {
        kind: Some("ServiceAccount".to_owned()),
        api_group: Some(String::new()),
        name: Some("d".to_owned()),
        namespace: Some("ns".to_owned()),
    };
    let role_ref = rbac_v1::RoleRef {
        api_group: Some("rbac.authorization.k8s.io".to_owned()),
        kind: Some("ClusterRole".to_owned()),
        name: Some("view".to_owned()),
    };
    let binding = rbac_v1::RoleBinding {
        metadata: None,
        subjects: vec![subject],
        role_ref: Some(role_ref),
    };
    let value = decode(&body("rbac.authorization.k8s.io/v1", "RoleBinding", &binding));
    assert_eq!(
        value["subjects"],
        json!([{"kind": "ServiceAccount", "name": "d", "namespace": "ns"}])
    );
    assert_eq!(value["roleRef"]["name"], "view");

    let account = core_v1::ServiceAccount {
        automount_service_account_token: Some(false),
        ..Default::default()
    };
    let value = decode(&body("v1", "ServiceAccount", &account));
    assert_eq!(value["automountServiceAccountToken"], false);
}

#[test]
fn metadata_comes_through_but_for_managed_fields() {
    let metadata = meta_v1::ObjectMeta {
        name: Some("x".to_owned()),
        creation_timestamp: Some(meta_v1::Time {
            seconds: Some(1_700_000_000),
            nanos: None,
        }),
        deletion_timestamp: Some(meta_v1::Time::default()),
        labels: [("a".to_owned(), "b".to_owned())].into(),
        finalizers: vec!["example.com/f".to_owned()],
        owner_references: vec![meta_v1::OwnerReference {
            api_version: Some("v1".to_owned()),
            kind: Some("ConfigMap".to_owned()),
            name: Some("o".to_owned()),
            uid: Some("u".to_owned()),
            controller: Some(true),
            block_owner_deletion: Some(false),
        }],
        managed_fields: vec![meta_v1::ManagedFieldsEntry::default()],
        ..Default::default()
    };
    let value = decode(&body(
        "v1",
        "ConfigMap",
        &core_v1::ConfigMap {
            metadata: Some(metadata),
            ..Default::default()
        },
    ));
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u", "controller": true,
        "blockOwnerDeletion": false});
    let expected = json!({"name": "x", "creationTimestamp": "2023-11-14T22:13:20Z", "labels": {"a": "b"},
        "finalizers": ["example.com/f"], "ownerReferences": [owner]});
    assert_eq!(value["metadata"], expected);
}

#[test]
fn delete_options_are_read_in_every_group() {
    let options = meta_v1::DeleteOptions {
        grace_period_seconds: Some(0),
        preconditions: Some(meta_v1::Preconditions {
            uid: Some("u".to_owned()),
            resource_version: None,
        }),
        propagation_policy: Some("Foreground".to_owned()),
        dry_run: vec!["All".to_owned()],
        ..Default::default()
    };
    let value = decode(&body("rbac.authorization.k8s.io/v1", "DeleteOptions", &options));
    assert_eq!(value["gracePeriodSeconds"], 0);
    assert_eq!(value["preconditions"], json!({"uid": "u"}));
    assert_eq!(value["propagationPolicy"], "Foreground");
    assert_eq!(value["dryRun"], json!(["All"]));
}

#[test]
fn events_of_both_apis_carry_their_times() {
    let at = meta_v1::MicroTime {
        seconds: Some(1_700_000_000),
        nanos: Some(5_000),
    };
    let event = events_v1::Event {
        event_time: Some(at),
        note: Some("n".to_owned()),
        ..Default::default()
    };
    let value = decode(&body("events.k8s.io/v1", "Event", &event));
    assert_eq!(
        (&value["eventTime"], &value["note"]),
        (&json!("2023-11-14T22:13:20.000005Z"), &json!("n"))
    );
    let event = core_v1::Event {
        count: Some(3),
        message: Some("m".to_owned()),
        ..Default::default()
    };
    let value = decode(&body("v1", "Event", &event));
    assert_eq!((&value["count"], &value["message"]), (&json!(3), &json!("m")));
}

#[test]
fn what_is_no_protobuf_is_told_and_what_is_not_ours_is_left() {
    assert!(
        Protobuf
            .decode(b"{}")
            .unwrap()
            .unwrap_err()
            .contains("6b 38 73 00")
    );
    assert!(
        Protobuf
            .decode(b"k8s\0\xff\xff")
            .unwrap()
            .unwrap_err()
            .contains("envelope")
    );
    let envelope = Unknown {
        type_meta: Some(TypeMeta {
            api_version: Some("v1".to_owned()),
            kind: Some("ConfigMap".to_owned()),
        }),
        raw: Some(vec![0xff, 0xff]),
        ..Unknown::default()
    };
    let bytes = [MAGIC, &envelope.encode_to_vec()].concat();
    assert!(
        Protobuf
            .decode(&bytes)
            .unwrap()
            .unwrap_err()
            .contains("v1 ConfigMap")
    );
    assert!(
        Protobuf
            .decode(&body("apps/v1", "DaemonSet", &core_v1::ConfigMap::default()))
            .is_none()
    );
}

#[test]
fn no_cut_or_flipped_body_panics() {
    for whole in [
        NAMESPACE,
        CONFIG_MAP,
        SECRET,
        ROLE,
        CLUSTER_ROLE,
        CAN_I,
        CAN_I_LIST,
        WHO_AM_I,
    ] {
        for cut in 0..whole.len() {
            drop(Protobuf.decode(&whole[..cut]));
            for bit in 0..8 {
                let mut flipped = whole.to_vec();
                flipped[cut] ^= 1 << bit;
                drop(Protobuf.decode(&flipped));
            }
        }
    }
}

#[test]
fn a_lease_keeps_its_zeros_and_microseconds() {
    use k8s_pb::api::coordination::v1::{Lease, LeaseSpec};
    use k8s_pb::apimachinery::pkg::apis::meta::v1::MicroTime;

    let lease = Lease {
        spec: Some(LeaseSpec {
            holder_identity: Some("a".to_owned()),
            lease_transitions: Some(0),
            renew_time: Some(MicroTime {
                seconds: Some(1_795_262_400),
                nanos: Some(1_000),
            }),
            ..LeaseSpec::default()
        }),
        ..Lease::default()
    };
    let decoded = decode(&body("coordination.k8s.io/v1", "Lease", &lease));
    assert_eq!(
        decoded["spec"],
        json!({"holderIdentity": "a", "leaseTransitions": 0, "renewTime": "2026-11-21T12:00:00.000001Z"})
    );
}
