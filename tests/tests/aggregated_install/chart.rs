//! The Helm chart, by Helm itself: it comes to what `berth manifests` prints for the same choice, a real kube-apiserver
//! takes it, and what does not go together is refused.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tests::helm::Helm;
use tests::hub::Hub;
use tests::hub::berth::NAMESPACE;

use crate::installation::{Installation, ON_HUB};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/helm/berth");

/// Runs Helm in the namespace of the manifests.
fn run(arguments: &[&str]) -> Output {
    Helm::Three.run(NAMESPACE, arguments)
}

/// The same, which must succeed.
fn done(arguments: &[&str]) -> String {
    Helm::Three.done(NAMESPACE, arguments)
}

const TEMPLATE: [&str; 7] = [
    "template",
    "berth",
    CHART,
    "--include-crds",
    "--no-hooks",
    "--kube-version",
    "1.36.0",
];

/// What the chart comes to with `values`.
fn template(values: &[&str]) -> String {
    done(&[&TEMPLATE[..], values].concat())
}

/// One way to install.
struct Choice {
    values: &'static str,
    /// What `berth manifests` is told for the same.
    flags: &'static [&'static str],
}

const CHOICES: [Choice; 5] = [
    Choice {
        values: "sources.kcp=hub",
        flags: &ON_HUB,
    },
    Choice {
        values: "certManager.enabled=true",
        flags: &[
            "--certificates=cert-manager",
            "--source=fleet=hub",
            "--source=gardener=hub",
            "--source=ocm=hub",
            "--source=openmcp=hub",
        ],
    },
    Choice {
        values: "sources.gardener=owned,sources.kcp=owned,sources.ocm=off,storage=etcd,etcd.servers={https://etcd:2379}",
        flags: &[
            "--source=fleet=hub",
            "--source=kcp=owned",
            "--source=ocm=off",
            "--source=openmcp=hub",
            "--etcd-servers=https://etcd:2379",
            "--serve-argument=--etcd-cafile=/etc/berth/etcd/ca.crt",
            "--serve-argument=--etcd-certfile=/etc/berth/etcd/tls.crt",
            "--serve-argument=--etcd-keyfile=/etc/berth/etcd/tls.key",
        ],
    },
    Choice {
        values: "sources.fleet=owned,sources.gardener=owned,sources.kcp=owned,sources.ocm=owned,sources.openmcp=owned,\
                 replicas=1",
        flags: &["--source=kcp=owned"],
    },
    Choice {
        values: "sources.fleet=off,sources.gardener=off,sources.kcp=off,sources.openmcp=off,replicas=3",
        flags: &[
            "--source=fleet=off",
            "--source=gardener=off",
            "--source=kcp=off",
            "--source=ocm=hub",
            "--source=openmcp=off",
            "--replicas=3",
        ],
    },
];

/// Objects by what they are, without what only the chart has.
fn by_name(text: &str) -> BTreeMap<String, Value> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).expect("it is YAML");
    let named = objects
        .into_iter()
        .filter(|object| !object.is_null())
        .map(|mut object| {
            if object["kind"] == "Deployment" {
                let pod = &mut object["spec"]["template"]["spec"];
                for list in ["/volumes", "/containers/0/volumeMounts"] {
                    let list = pod.pointer_mut(list).and_then(Value::as_array_mut);
                    // The Secret of etcd's certificates is the chart's own.
                    list.expect("a list").retain(|entry| entry["name"] != "etcd");
                }
                let container = pod["containers"][0].as_object_mut().expect("a container");
                // The chart says it, `berth manifests` leaves it to the cluster.
                container.remove("imagePullPolicy");
            }
            let annotations = object.pointer_mut("/metadata/annotations");
            if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
                annotations.remove("helm.sh/resource-policy");
                if annotations.is_empty() {
                    object["metadata"]
                        .as_object_mut()
                        .expect("an object")
                        .remove("annotations");
                }
            }
            let metadata = &object["metadata"];
            let name = format!(
                "{} {}/{}",
                object["kind"], metadata["namespace"], metadata["name"]
            );
            (name, object)
        });
    let mut all: BTreeMap<String, Value> = named.collect();
    // Helm makes it itself.
    all.remove("\"Namespace\" null/\"berth-system\"");
    all
}

/// Kinds of others that the chart makes objects of.
fn define_others(hub: &Hub) {
    for (group, version, kind, plural) in [
        ("cert-manager.io", "v1", "Certificate", "certificates"),
        ("cert-manager.io", "v1", "Issuer", "issuers"),
        ("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"),
    ] {
        let schema =
            json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{"name": version, "served": true, "storage": true, "schema": schema}],
            },
        });
        hub.kubectl("create -f -").input(definition.to_string()).ok();
        hub.kubectl(&format!(
            "wait --for=condition=Established --timeout=60s crd/{plural}.{group}"
        ))
        .ok();
    }
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn the_chart_comes_to_what_berth_manifests_prints() {
    let hub = Hub::start();
    define_others(&hub);
    hub.kubectl("create namespace berth-system").ok();
    for choice in CHOICES {
        let installation = Installation {
            port: 443,
            sources: choice.flags.to_vec(),
        };
        let values = match choice.values {
            "" => Vec::new(),
            values => vec!["--set", values],
        };
        let chart = template(&values);
        assert!(
            chart.contains("imagePullPolicy: IfNotPresent"),
            "{}",
            choice.values
        );
        let (found, wanted) = (
            by_name(&chart),
            by_name(&installation.manifests_as_printed(&["all"])),
        );
        let names = |all: &BTreeMap<String, Value>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&wanted), "{}", choice.values);
        for (name, object) in &wanted {
            assert_eq!(&found[name], object, "{name} with {:?}", choice.values);
        }
        hub.kubectl("apply --dry-run=server --server-side -f -")
            .input(chart)
            .ok();
    }
    let more = template(&[
        "--set",
        "serviceMonitor.enabled=true,networkPolicy.enabled=false,extraArgs={--event-ttl=2h}",
    ]);
    assert!(more.contains("kind: ServiceMonitor") && !more.contains("kind: NetworkPolicy"));
    assert!(more.contains("\"--event-ttl=2h\""), "{more}");
    hub.kubectl("apply --dry-run=server -f -").input(more).ok();
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn what_does_not_go_together_is_refused_with_the_value_to_change() {
    for (values, wanted) in [
        ("sources.gardener=owned", "at '/storage': value must be 'etcd'"),
        (
            "sources.gardener=owned,storage=etcd",
            "at '/etcd/servers': minItems: got 0, want 1",
        ),
        ("sources.gardener=here", "at '/sources/gardener'"),
        ("sources.nomad=hub", "'nomad' not allowed"),
        ("mode=hub", "'mode' not allowed"),
        (
            "sources.fleet=off,sources.gardener=off,sources.kcp=off,sources.ocm=off,sources.openmcp=off",
            "value must be one of 'hub', 'owned'",
        ),
        ("replicas=two", "at '/replicas'"),
    ] {
        let output = run(&[&TEMPLATE[..], &["--set", values]].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && text.contains(wanted),
            "{values}: {wanted:?} is not in {text}"
        );
    }
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_release_brings_missing_definitions_and_leaves_them_when_it_goes() {
    let hub = Hub::start();
    let kubeconfig = hub.admin().display().to_string();
    let release = |words: &[&str], values: &[&str]| {
        done(&[words, &["--kubeconfig", &kubeconfig], values].concat());
    };
    let name = "seeds.core.gardener.cloud";
    let folder = Path::new(CHART).join("files/definitions/gardener");
    let file = folder.join(format!("{name}.yaml"));
    hub.kubectl(&format!("create -f {}", file.display())).ok();
    let owner = |name: &str| {
        let definition = hub.kubectl(&format!("get crd {name} -o json")).json();
        definition["metadata"]["annotations"]["meta.helm.sh/release-name"].clone()
    };
    let install = ["install", "berth", CHART, "--create-namespace"];
    release(
        &install,
        &["--set", "systemDefinitions=true,sources.ocm=off,sources.kcp=hub"],
    );
    assert_eq!(owner(name), Value::Null, "it was there before");
    assert_eq!(owner("shoots.core.gardener.cloud"), "berth");
    hub.kubectl("get crd placements.cluster.open-cluster-management.io")
        .fails();
    hub.kubectl("get deployment berth -n berth-system").ok();

    // Turned off, its definitions stay with their objects; the rights go.
    hub.kubectl("get clusterrole berth:placement-controller").ok();
    release(
        &["upgrade", "berth", CHART],
        &["--set", "systemDefinitions=true,sources.kcp=off"],
    );
    hub.kubectl("get crd locations.scheduling.kcp.dev").ok();
    hub.kubectl("get clusterrole berth:placement-controller").fails();
    hub.kubectl("get crd placements.cluster.open-cluster-management.io")
        .ok();
    release(&["uninstall", "berth", "--no-hooks"], &[]);
    hub.kubectl("get deployment berth -n berth-system").fails();
    hub.kubectl("get apiservice v1alpha1.scheduling.berth.dev")
        .fails();
    for left in [name, "shoots.core.gardener.cloud", "locations.scheduling.kcp.dev"] {
        hub.kubectl(&format!("get crd {left}")).ok();
    }
}
