//! Bodies as kubectl sends them in protobuf, and round trips of objects.

use berth_apiserver::memory::{self, ByteLimiter, DEFAULT_BYTES, Share};
use serde_json::json;

use super::*;

fn decode(bytes: &[u8]) -> Value {
    Protobuf
        .decode(bytes)
        .expect("a known message")
        .expect("a well-formed message")
}

/// A body of a kind whose message is `raw`.
fn body(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut named = Vec::new();
    wire::bytes(1, version.as_bytes(), &mut named);
    wire::bytes(2, kind.as_bytes(), &mut named);
    let mut out = MAGIC.to_vec();
    wire::bytes(1, &named, &mut out);
    wire::bytes(2, raw, &mut out);
    out
}

/// `object` encoded and decoded again.
fn there_and_back(object: &Value) -> Value {
    let text = |field: &str| object[field].as_str().unwrap();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let message = Protobuf.message(version, kind, object).expect("a known kind");
    decode(&body(version, kind, &message))
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
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": name("a"), "spec": {}}),
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
fn whole_objects_come_back_as_they_were() {
    for object in [
        deployment(),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "Opaque", "immutable": false,
            "data": {"empty": "", "key": "AAEC/w=="}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
            "clusterIPs": ["None"], "ports": [{"port": 80, "targetPort": "http", "appProtocol": "x"}, {"targetPort": 8080}],
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}, "allocateLoadBalancerNodePorts": false}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "ns"}]}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"},
            "aggregationRule": {"clusterRoleSelectors": [{}, {"matchLabels": {"a": ""}}]}}),
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {
            "holderIdentity": "", "leaseTransitions": 0, "renewTime": "2026-11-21T12:00:00.000001Z"}}),
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {
            "hard": {"configmaps": "0", "requests.example.com/dongle": "500m"}}, "status": {"used": {"configmaps": "0"}}}),
        json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "deprecatedCount": 3,
            "eventTime": "2023-11-14T22:13:20.000005Z", "note": "n", "deprecatedFirstTimestamp": "2023-11-14T22:13:20Z"}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {},
            "spec": {"matchConstraints": {"namespaceSelector": {}, "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"], "resourceNames": ["x"]}]},
                "validations": [{"expression": "true"}]}}),
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
            "spec": {"user": "u", "extra": {"none": [], "one": ["", "x"]}, "nonResourceAttributes": {"path": "/"}}}),
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s"}, "spec": {"replicas": 3}}),
        json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "code": 404, "reason": "NotFound",
            "details": {"causes": [{"reason": "FieldValueInvalid", "field": "a"}], "retryAfterSeconds": 1}}),
    ] {
        assert_eq!(there_and_back(&object), object);
    }
}

/// A Deployment with fields of every form: inlined, behind pointers, in maps, numbers or texts.
fn deployment() -> Value {
    let container = json!({
        "name": "c", "image": "i", "tty": true,
        "env": [{"name": "A"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": false}}}],
        "livenessProbe": {"httpGet": {"port": "web", "path": "/"}, "periodSeconds": 5},
        "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
        "securityContext": {"runAsUser": 0, "privileged": false, "capabilities": {"drop": ["ALL"]}},
    });
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u", "controller": true,
        "blockOwnerDeletion": false});
    let managed = json!({"apiVersion": "apps/v1", "fieldsType": "FieldsV1", "manager": "m", "operation": "Apply",
        "time": "2023-11-14T22:13:20Z", "fieldsV1": {"f:spec": {"f:replicas": {}, ".": {}}}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "x", "creationTimestamp": "2023-11-14T22:13:20Z", "generation": 2, "labels": {"a": "b", "c": ""},
            "finalizers": ["example.com/f"], "ownerReferences": [owner], "managedFields": [managed]},
        "spec": {
            "replicas": 0, "revisionHistoryLimit": 3, "selector": {},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "containers": [container],
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "secret": {"secretName": "s", "defaultMode": 420}}],
                "tolerations": [{}, {"key": "k", "tolerationSeconds": -1}],
            }},
        },
        "status": {"observedGeneration": 2, "conditions": [{"type": "Available", "status": "True"}]},
    })
}

#[test]
fn what_a_kind_does_not_have_is_left_out() {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "more": 1}, "other": {}});
    let known = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    assert_eq!(there_and_back(&object), known);
    let mut newer = Protobuf.message("v1", "ConfigMap", &known).unwrap();
    wire::bytes(99, b"newer", &mut newer);
    wire::number(100, -1, &mut newer);
    assert_eq!(decode(&body("v1", "ConfigMap", &newer)), known);
}

#[test]
fn gos_zeros_say_nothing_but_behind_pointers() {
    // Every field of a Service's port as Go encodes an empty one: name, protocol, port, targetPort, nodePort.
    let port = [0x0a, 0, 0x12, 0, 0x18, 0, 0x22, 6, 8, 0, 16, 0, 26, 0, 0x28, 0];
    let mut spec = Vec::new();
    wire::bytes(1, &port, &mut spec);
    let mut raw = Vec::new();
    wire::bytes(2, &spec, &mut raw);
    assert_eq!(
        decode(&body("v1", "Service", &raw))["spec"],
        json!({"ports": [{}]})
    );
    let mut raw = Vec::new();
    wire::number(4, 0, &mut raw);
    assert_eq!(
        decode(&body("v1", "ServiceAccount", &raw))["automountServiceAccountToken"],
        false
    );
}

#[test]
fn the_parts_of_a_message_that_comes_twice_are_joined() {
    let mut metadata = [Vec::new(), Vec::new()];
    wire::bytes(1, b"x", &mut metadata[0]);
    wire::bytes(3, b"ns", &mut metadata[1]);
    let mut raw = Vec::new();
    metadata.iter().for_each(|part| wire::bytes(1, part, &mut raw));
    let value = decode(&body("v1", "ConfigMap", &raw));
    assert_eq!(value["metadata"], json!({"name": "x", "namespace": "ns"}));
}

#[test]
fn a_time_without_fields_is_none_and_zeros_are_the_epoch() {
    let read = |time: &[u8]| {
        let (mut metadata, mut raw) = (Vec::new(), Vec::new());
        wire::bytes(8, time, &mut metadata);
        wire::bytes(1, &metadata, &mut raw);
        decode(&body("v1", "ConfigMap", &raw))["metadata"]["creationTimestamp"].clone()
    };
    assert_eq!(read(&[]), Value::Null);
    assert_eq!(read(&[8, 0, 16, 0]), "1970-01-01T00:00:00Z");
}

#[test]
fn delete_options_are_read_in_every_group() {
    let options = json!({"kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": {"uid": "u"},
        "propagationPolicy": "Foreground", "dryRun": ["All"]});
    for version in ["v1", "rbac.authorization.k8s.io/v1"] {
        let raw = Protobuf.message(version, "DeleteOptions", &options).unwrap();
        let mut wanted = options.clone();
        wanted["apiVersion"] = version.into();
        assert_eq!(decode(&body(version, "DeleteOptions", &raw)), wanted);
    }
}

#[test]
fn what_is_no_protobuf_is_told_and_what_is_not_ours_is_left() {
    let problem = |bytes: &[u8]| Protobuf.decode(bytes).unwrap().unwrap_err();
    assert!(problem(b"{}").contains("6b 38 73 00"));
    assert!(problem(b"k8s\0\xff\xff").contains("envelope"));
    let text = problem(&body("v1", "ConfigMap", &[0xff, 0xff]));
    assert!(text.contains("v1 ConfigMap"), "{text}");
    let text = problem(&body("v1", "ConfigMap", &[0x0a, 2, 0x0a, 9]));
    assert!(text.contains("metadata: unexpected end"), "{text}");
    let text = problem(&body("v1", "ConfigMap", &[0x08, 1]));
    assert!(
        text.contains("metadata: expected bytes, found a number"),
        "{text}"
    );
    assert!(Protobuf.decode(&body("apps/v1", "DaemonSet", b"")).is_none());
    assert!(!Protobuf.has_message("example.com/v1", "ConfigMap"));
}

/// A message with the bytes `inner` in the field `number`.
fn within(number: u32, inner: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    wire::bytes(number, inner, &mut out);
    out
}

/// A message with `count` times the field `number`, which has the bytes of `part`.
fn many(number: u32, count: usize, part: &dyn Fn(usize) -> Vec<u8>) -> Vec<u8> {
    (0..count)
        .flat_map(|index| within(number, &part(index)))
        .collect()
}

/// An entry of a map.
fn entry(key: &str, value: &[u8]) -> Vec<u8> {
    [within(1, key.as_bytes()), within(2, value)].concat()
}

/// A ConfigMap with `count` owner references `{controller: false}`, each of four bytes.
fn with_owners(count: usize) -> Vec<u8> {
    let metadata = many(13, count, &|_| vec![0x30, 0]);
    body("v1", "ConfigMap", &within(1, &metadata))
}

/// Memory that `value` takes: its values, and half of the room of each map with fields, as it is charged.
fn taken(value: &Value) -> usize {
    const VALUE: usize = size_of::<Value>();
    const MAP: usize = 11 * (size_of::<String>() + VALUE) / 2;
    let inner = match value {
        Value::Array(items) => items.iter().map(taken).sum(),
        Value::Object(fields) if !fields.is_empty() => MAP + fields.values().map(taken).sum::<usize>(),
        _ => 0,
    };
    VALUE + inner
}

#[test]
fn the_estimate_of_a_tree_is_not_below_what_it_takes() {
    let managed = within(7, &within(1, br#"{"a":{"b":{}}}"#));
    let metadata = [
        many(11, 10_000, &|index| entry(&index.to_string(), b"")),
        many(14, 10_000, &|_| Vec::new()),
        many(17, 10_000, &|_| managed.clone()),
    ];
    let config_maps = metadata.map(|metadata| body("v1", "ConfigMap", &within(1, &metadata)));
    let texts = many(1, 10_000, &|_| Vec::new());
    let spec = within(5, &entry("key", &texts));
    let review = body(
        "authorization.k8s.io/v1",
        "SubjectAccessReview",
        &within(2, &spec),
    );
    for whole in config_maps.into_iter().chain([review, with_owners(10_000)]) {
        let (estimate, taken) = (Protobuf.tree_size(&whole), taken(&decode(&whole)));
        assert!(
            estimate >= taken,
            "{estimate} bytes are charged for {taken} bytes"
        );
    }
}

#[test]
fn a_body_of_many_small_maps_is_charged_and_refused_like_its_json() {
    let owners = vec![r#"{"controller":false}"#; 10_000].join(",");
    let json = format!(r#"{{"metadata":{{"ownerReferences":[{owners}]}}}}"#);
    let by_json = memory::tree_size(json.as_bytes());
    let estimate = Protobuf.tree_size(&with_owners(10_000));
    assert!((by_json..2 * by_json).contains(&estimate), "{estimate} {by_json}");
    let longest = with_owners(3 * 1024 * 1024 / 4);
    let limiter = ByteLimiter::new(DEFAULT_BYTES);
    let refused = limiter.charge("ann", Share::USER, Protobuf.tree_size(&longest));
    assert_eq!(refused.unwrap_err().code, 413);
}

#[test]
fn ordinary_bodies_up_to_the_longest_fit_into_the_share_of_a_user() {
    let rule = json!({"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["configmaps"]});
    for object in [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
            "data": {"text": "a: [1]\n".repeat(400_000)}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": "AAAA".repeat(1_000_000)}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"},
            "rules": vec![rule; 10_000]}),
    ] {
        let text = |field: &str| object[field].as_str().unwrap();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let whole = body(version, kind, &Protobuf.message(version, kind, &object).unwrap());
        let bytes = whole.len() + Protobuf.tree_size(&whole);
        let limiter = ByteLimiter::new(DEFAULT_BYTES);
        limiter.charge("ann", Share::USER, bytes).unwrap();
    }
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
fn unknown_fields_are_found_wherever_they_are() {
    let mut object = deployment();
    assert_eq!(
        Protobuf.unknown_fields("apps/v1", "Deployment", &object, &Value::Null, 9),
        Some(UnknownFields::default()),
        "every field of it is Kubernetes' own"
    );
    object["other"] = json!(1);
    object["metadata"]["more"] = json!({});
    object["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["httpGet"]["prot"] = json!(1);
    object["spec"]["template"]["spec"]["volumes"][1]["secrets"] = json!([]);
    let found = |before: &Value, most| {
        let found = Protobuf.unknown_fields("apps/v1", "Deployment", &object, before, most);
        let UnknownFields { paths, more } = found.expect("it knows Deployments");
        (paths, more)
    };
    let all = [
        "metadata.more",
        "other",
        "spec.template.spec.containers[0].livenessProbe.httpGet.prot",
        "spec.template.spec.volumes[1].secrets",
    ];
    assert_eq!(found(&Value::Null, 9), (all.map(str::to_owned).to_vec(), 0));
    assert_eq!(found(&Value::Null, 1), (vec!["metadata.more".to_owned()], 3));
    assert_eq!(found(&object, 9), (Vec::new(), 0));
    assert_eq!(
        Protobuf.unknown_fields("x/v1", "Y", &object, &Value::Null, 9),
        None
    );
}
