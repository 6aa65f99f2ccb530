//! The Helm chart, rendered by Helm itself: it equals the output of `berth manifests` for the same options, a
//! real kube-apiserver stores it unchanged, and contradictory values are refused.

mod choices;
mod drift;
mod values;

use std::path::Path;
use std::process::Output;

use berth_tests::helm::Helm;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::NAMESPACE;
use serde_json::{Value, json};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/helm/berth");

/// Runs Helm in the namespace of the manifests.
fn run(arguments: &[&str]) -> Output {
    Helm::Three.run(NAMESPACE, arguments)
}

/// Runs Helm, which must succeed.
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

/// Objects of the chart with `values`, without Helm's hooks.
fn template(values: &str) -> String {
    match values {
        "" => done(&TEMPLATE),
        values => done(&[&TEMPLATE[..], &["--set", values]].concat()),
    }
}

/// All objects in `text`.
fn objects(text: &str) -> Vec<Value> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).expect("it is YAML");
    objects.into_iter().filter(|object| !object.is_null()).collect()
}

/// Kind and name of an object.
fn name(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!(
        "{} {}/{}",
        object["kind"].as_str().unwrap_or_default(),
        metadata["namespace"].as_str().unwrap_or_default(),
        metadata["name"].as_str().unwrap_or_default()
    )
}

#[test]
#[ignore = "builds Helm from its Go module: `make e2e`"]
fn what_does_not_go_together_is_refused_with_the_value_to_change() {
    for (values, wanted) in [
        (
            "mode=decide,sources.gardener=owned,sources.kcp=owned",
            "- sources.gardener, sources.kcp: owned, and storage embedded is for one server, but replicas is 2: set storage to \
             etcd, or replicas to 1",
        ),
        (
            "mode=decide,sources.gardener=owned,storage=etcd",
            "- storage is etcd: set etcd.servers to its client URLs",
        ),
        ("sources.gardener=here", "at '/sources/gardener'"),
        ("sources.nomad=hub", "'nomad' not allowed"),
        ("sources.fleet=null", "missing property 'fleet'"),
        ("modes=hub", "'modes' not allowed"),
        ("mode=hub", "at '/mode'"),
        (
            "sources.gardener=owned,replicas=1",
            "- sources.gardener: owned, and mode observe looks at what is on the hub: set mode to decide",
        ),
        (
            "sources.fleet=off,sources.gardener=off,sources.karmada=off,sources.kcp=off,sources.ocm=off,sources.openmcp=off,storage=etcd",
            "- every system is off: set one of sources to hub or owned\n- storage is etcd",
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
    hub.kubectl(&format!("create -f {}", file.display())).succeeds();
    let owner = |name: &str| {
        let definition = hub.kubectl(&format!("get crd {name} -o json")).json();
        definition["metadata"]["annotations"]["meta.helm.sh/release-name"].clone()
    };
    let install = ["install", "berth", CHART, "--create-namespace"];
    release(
        &install,
        &[
            "--set",
            "mode=decide,systemDefinitions=true,sources.ocm=off,sources.kcp=hub",
        ],
    );
    assert_eq!(owner(name), Value::Null, "it was there before");
    assert_eq!(owner("shoots.core.gardener.cloud"), "berth");
    hub.kubectl("get crd placements.cluster.open-cluster-management.io")
        .fails();
    hub.kubectl("get deployment berth -n berth-system").succeeds();

    // When it is turned off, its definitions remain with their objects; the rights are deleted.
    hub.kubectl("get clusterrole berth:placement-controller")
        .succeeds();
    release(
        &["upgrade", "berth", CHART],
        &["--set", "mode=decide,systemDefinitions=true,sources.kcp=off"],
    );
    hub.kubectl("get crd locations.scheduling.kcp.dev").succeeds();
    hub.kubectl("get clusterrole berth:placement-controller").fails();
    hub.kubectl("get crd placements.cluster.open-cluster-management.io")
        .succeeds();
    release(&["uninstall", "berth", "--no-hooks"], &[]);
    hub.kubectl("get deployment berth -n berth-system").fails();
    hub.kubectl("get apiservice v1alpha1.scheduling.berth.dev")
        .fails();
    for left in [name, "shoots.core.gardener.cloud", "locations.scheduling.kcp.dev"] {
        hub.kubectl(&format!("get crd {left}")).succeeds();
    }
}
