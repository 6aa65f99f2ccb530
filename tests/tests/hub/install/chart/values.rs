//! Effect of each value: it is at the intended paths, and has no other effect.

use super::*;

/// Objects of the chart with `values`, including the hooks.
fn rendered(values: &[&str]) -> Vec<Value> {
    let words = ["template", "berth", CHART, "--kube-version", "1.36.0"];
    let values: Vec<&str> = values.iter().flat_map(|value| ["--set", value]).collect();
    objects(&done(&[&words[..], &values].concat()))
}

fn of<'a>(all: &'a [Value], wanted: &str) -> &'a Value {
    all.iter()
        .find(|object| name(object) == wanted)
        .unwrap_or_else(|| panic!("no {wanted}"))
}

/// A namespace that does not occur in the chart.
const ELSEWHERE: &str = "apart-from-all";

/// The Pods of the server and of the pre-delete Job.
fn pods(all: &[Value]) -> [&Value; 2] {
    [
        "Deployment berth-system/berth",
        "Job berth-system/berth-uninstall",
    ]
    .map(|name| &of(all, name)["spec"]["template"]["spec"])
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn both_pods_run_where_the_values_say_and_from_the_same_image() {
    let plain = rendered(&[]);
    for pod in pods(&plain) {
        let container = &pod["containers"][0];
        assert_eq!(
            container["image"],
            format!("berth:v{}", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(container["imagePullPolicy"], "IfNotPresent");
        for field in [
            "imagePullSecrets",
            "nodeSelector",
            "tolerations",
            "affinity",
            "priorityClassName",
        ] {
            assert_eq!(pod.get(field), None, "{field} is only there where it is set");
        }
    }
    let set = rendered(&[
        "image.repository=registry.example.com/berth,image.tag=v7,image.pullPolicy=Always",
        "imagePullSecrets[0].name=registry,nodeSelector.disk=ssd,priorityClassName=system-cluster-critical",
        "tolerations[0].key=dedicated,tolerations[0].operator=Exists",
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1",
    ]);
    for pod in pods(&set) {
        let container = &pod["containers"][0];
        assert_eq!(container["image"], "registry.example.com/berth:v7");
        assert_eq!(container["imagePullPolicy"], "Always");
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "registry"}]));
        assert_eq!(pod["nodeSelector"], json!({"disk": "ssd"}));
        assert_eq!(
            pod["tolerations"],
            json!([{"key": "dedicated", "operator": "Exists"}])
        );
        let preferred = &pod["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
        assert_eq!(preferred, &json!([{"weight": 1}]));
        assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    }
    let others = |all: &[Value]| -> Vec<Value> {
        let other = |object: &&Value| object["kind"] != "Deployment" && object["kind"] != "Job";
        all.iter().filter(other).cloned().collect()
    };
    assert_eq!(others(&plain), others(&set));
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn everything_is_in_the_namespace_of_the_release_whatever_its_name() {
    let words = [
        "template",
        "placement",
        CHART,
        "--kube-version",
        "1.36.0",
        "--include-crds",
    ];
    let values = [
        "--set",
        "mode=decide,certManager.enabled=true,serviceMonitor.enabled=true,sources.kcp=owned,replicas=1",
    ];
    let text = Helm::Three.done(ELSEWHERE, &[&words[..], &values].concat());
    assert!(!text.contains("berth-system"), "{text}");
    for object in objects(&text) {
        let namespace = &object["metadata"]["namespace"];
        let is_readers = object["metadata"]["name"] == "berth:authentication-reader";
        assert!(
            namespace.is_null() || namespace == ELSEWHERE || is_readers,
            "{object}"
        );
    }
    let default = rendered(&[
        "mode=decide,certManager.enabled=true,serviceMonitor.enabled=true,sources.kcp=owned,replicas=1",
    ]);
    let elsewhere: Vec<Value> = objects(&text.replace(ELSEWHERE, "berth-system"));
    for object in &default {
        assert_eq!(
            object,
            of(&elsewhere, &name(object)),
            "only the namespace is another"
        );
    }
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn the_servers_own_values_reach_its_deployment_and_its_claim() {
    let all = rendered(&[
        "mode=decide,sources.ocm=owned,replicas=1,persistence.size=20Gi,persistence.storageClassName=fast",
        "resources.limits.memory=4Gi,resources.requests=null,extraArgs={--event-ttl=2h,--v=4}",
    ]);
    let deployment = &of(&all, "Deployment berth-system/berth")["spec"];
    assert_eq!(deployment["replicas"], 1);
    assert_eq!(deployment["strategy"], json!({"type": "Recreate"}));
    let container = &deployment["template"]["spec"]["containers"][0];
    assert_eq!(
        container["resources"],
        json!({"limits": {"cpu": "2", "memory": "4Gi"}})
    );
    let arguments: Vec<&str> = container["args"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        arguments[arguments.len() - 2..],
        ["--event-ttl=2h", "--v=4"],
        "the user's are the last"
    );
    let claim = &of(&all, "PersistentVolumeClaim berth-system/berth-data");
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "20Gi");
    assert_eq!(claim["spec"]["storageClassName"], "fast");
    assert_eq!(
        claim["metadata"]["annotations"]["helm.sh/resource-policy"],
        "keep"
    );
    let plain = rendered(&[]);
    assert!(
        plain
            .iter()
            .all(|object| object["kind"] != "PersistentVolumeClaim")
    );
    let etcd = rendered(&[
        "mode=decide,sources.ocm=owned,storage=etcd,etcd.servers={https://a:2379,https://b:2379},etcd.secretName=tls",
    ]);
    let pod = &of(&etcd, "Deployment berth-system/berth")["spec"]["template"]["spec"];
    let arguments = &pod["containers"][0]["args"];
    assert!(
        arguments
            .to_string()
            .contains("--etcd-servers=https://a:2379,https://b:2379"),
        "{arguments}"
    );
    let volumes = pod["volumes"].as_array().expect("a list");
    assert!(
        volumes.contains(&json!({"name": "etcd", "secret": {"secretName": "tls"}})),
        "{volumes:?}"
    );
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn a_switch_adds_or_takes_away_one_kind() {
    let kinds = |all: &[Value]| -> Vec<String> { all.iter().map(name).collect() };
    let without = |all: &[Value], kind: &str| -> Vec<String> {
        let others = all.iter().filter(|object| object["kind"] != kind);
        others.map(name).collect()
    };
    let plain = rendered(&[]);
    let monitored = rendered(&["serviceMonitor.enabled=true"]);
    assert_eq!(without(&monitored, "ServiceMonitor"), kinds(&plain));
    assert_eq!(monitored.len(), plain.len() + 1);
    let open = rendered(&["networkPolicy.enabled=false"]);
    assert_eq!(without(&plain, "NetworkPolicy"), kinds(&open));
    assert_eq!(plain.len(), open.len() + 1);
    let defined = rendered(&["systemDefinitions=true"]);
    assert_eq!(without(&defined, "CustomResourceDefinition"), kinds(&plain));
    assert!(defined.len() > plain.len() + 10);
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn both_helms_find_nothing_to_mend() {
    for helm in [Helm::Three, Helm::Four] {
        let output = helm.done(
            NAMESPACE,
            &["lint", CHART, "--strict", "--kube-version", "1.36.0"],
        );
        assert!(!output.contains("[WARNING]"), "{output}");
    }
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn helm_4_renders_what_helm_3_does() {
    let rendered = [Helm::Three, Helm::Four].map(|helm| objects(&helm.done(NAMESPACE, &TEMPLATE)));
    let [three, four] = &rendered;
    assert_eq!(three.len(), four.len());
    for object in three {
        assert_eq!(object, of(four, &name(object)));
    }
}
