//! The hub stores the rendered chart unchanged: a part that kube-apiserver drops or changes would be a
//! permanent difference in comparing tools (Argo CD, `helm diff`).

use super::*;

/// Defines other projects' kinds that the chart uses.
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
        hub.kubectl("create -f -")
            .input(definition.to_string())
            .succeeds();
        hub.kubectl(&format!(
            "wait --for=condition=Established --timeout=60s crd/{plural}.{group}"
        ))
        .succeeds();
    }
}

/// Collects paths at which `live` differs from `rendered` or lacks a value. Additional values of the
/// hub are ignored.
fn changed(rendered: &Value, live: &Value, path: &str, found: &mut Vec<String>) {
    match (rendered, live) {
        (Value::Object(fields), Value::Object(there)) => {
            for (key, value) in fields {
                let live = there.get(key).unwrap_or(&Value::Null);
                changed(value, live, &format!("{path}.{key}"), found);
            }
        }
        (Value::Array(items), Value::Array(there)) if items.len() == there.len() => {
            for (index, (item, live)) in items.iter().zip(there).enumerate() {
                changed(item, live, &format!("{path}[{index}]"), found);
            }
        }
        // A null has no meaning, and servers drop it.
        (rendered, live) if rendered == live && !rendered.is_null() => {}
        (rendered, live) => found.push(format!("{path}: {rendered}, and on the hub {live}")),
    }
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_hub_keeps_everything_as_it_is_rendered() {
    let hub = Hub::start();
    define_others(&hub);
    hub.kubectl("create namespace berth-system").succeeds();
    for values in [
        "sources.kcp=hub,systemDefinitions=true,serviceMonitor.enabled=true",
        "mode=decide,sources.kcp=hub",
        "mode=decide,certManager.enabled=true,serviceMonitor.enabled=true,sources.gardener=off",
        "mode=decide,sources.fleet=owned,sources.gardener=owned,sources.karmada=owned,sources.kcp=owned,sources.ocm=owned,sources.openmcp=owned,replicas=1,\
         persistence.storageClassName=fast,nodeSelector.disk=ssd,tolerations[0].key=a,tolerations[0].operator=Exists,\
         imagePullSecrets[0].name=registry,extraArgs={--event-ttl=2h}",
        // No mutating webhook, and no rules for the role edit.
        "mode=decide,sources.fleet=owned,sources.gardener=off,sources.karmada=off,sources.ocm=off,sources.openmcp=off,storage=etcd,\
         etcd.servers={https://etcd:2379}",
    ] {
        let rendered = template(values);
        let live = hub
            .kubectl("apply --dry-run=server --server-side -o json -f -")
            .input(rendered.clone())
            .succeeds();
        let live: Vec<Value> = objects(&live)
            .into_iter()
            .flat_map(|object| match object["items"].as_array() {
                Some(items) => items.clone(),
                None => vec![object],
            })
            .collect();
        let mut found = Vec::new();
        for object in objects(&rendered) {
            let name = name(&object);
            let on_hub = live.iter().find(|live| super::name(live) == name);
            let on_hub = on_hub.unwrap_or_else(|| panic!("{name} is not on the hub"));
            changed(&object, on_hub, &name, &mut found);
        }
        assert_eq!(found, Vec::<String>::new(), "{values}");
    }
}
