//! The overlays come to exactly what `berth manifests all` prints for the same installation: kustomize adds
//! nothing and loses nothing.

use std::collections::BTreeMap;
use std::path::Path;

use berth_deploy::Installation;
use serde_json::Value;

/// Output of `kubectl kustomize` for a folder below `deploy/`.
fn built(folder: &Path) -> Vec<Value> {
    let output = berth_house::program("kubectl")
        .arg("kustomize")
        .arg(folder)
        .output()
        .expect("kubectl can be run");
    assert!(
        output.status.success(),
        "kubectl kustomize {}: {}",
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("kustomize writes text");
    serde_saphyr::from_multiple(&text).expect("kustomize writes YAML")
}

fn overlay(name: &str) -> Vec<Value> {
    built(&Path::new(env!("CARGO_MANIFEST_DIR")).join("overlays").join(name))
}

/// The objects by what they are.
fn by_name(objects: &[Value]) -> BTreeMap<String, &Value> {
    let named = objects.iter().map(|object| {
        let metadata = &object["metadata"];
        let name = format!(
            "{} {}/{}",
            object["kind"], metadata["namespace"], metadata["name"]
        );
        (name, object)
    });
    let all: BTreeMap<String, &Value> = named.collect();
    assert_eq!(all.len(), objects.len(), "something is there twice");
    all
}

fn same(built: &[Value], installation: &Installation) {
    let rendered = berth_deploy::all_objects(installation);
    let (built, rendered) = (by_name(built), by_name(&rendered));
    let names = |all: &BTreeMap<String, &Value>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&built), names(&rendered));
    for (name, object) in &rendered {
        assert_eq!(&built[name], object, "{name}");
    }
}

#[test]
fn the_overlay_hub_is_the_installation_with_everything_on_the_hub() {
    same(&overlay("hub"), &berth_deploy::hub());
}

#[test]
fn the_overlay_observe_is_the_installation_that_only_looks() {
    same(&overlay("observe"), &berth_deploy::observe());
}

#[test]
fn the_overlay_cert_manager_has_certificates_and_no_secret_of_berths() {
    same(&overlay("cert-manager"), &berth_deploy::cert_manager());
}

#[test]
fn the_overlay_owned_etcd_has_etcds_certificates_beside() {
    let mut objects = overlay("owned-etcd");
    let deployment = objects
        .iter_mut()
        .find(|object| object["kind"] == "Deployment")
        .expect("there is one");
    let pod = &mut deployment["spec"]["template"]["spec"];
    for (list, name) in [("/volumes", "etcd"), ("/containers/0/volumeMounts", "etcd")] {
        let list = pod
            .pointer_mut(list)
            .and_then(Value::as_array_mut)
            .expect("a list");
        let last = list.pop().expect("it is not empty");
        assert_eq!(last["name"], name);
    }
    same(&objects, &berth_deploy::owned_etcd());
}

#[test]
fn components_go_with_an_overlay() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir_in(here).expect("a folder beside the overlays");
    let text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../overlays/hub]\n\
                components: [../components/self-register, ../components/monitoring]\n";
    std::fs::write(folder.path().join("kustomization.yaml"), text).expect("the folder is writable");
    let objects = built(folder.path());
    let all = by_name(&objects);
    let deployment = all["\"Deployment\" \"berth-system\"/\"berth\""];
    let arguments = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    assert!(
        arguments.to_string().contains("\"--self-register\""),
        "{arguments}"
    );
    assert!(all.contains_key("\"ServiceMonitor\" \"berth-system\"/\"berth\""));
    assert!(all.contains_key("\"ClusterRole\" null/\"berth:self-registration\""));
}
