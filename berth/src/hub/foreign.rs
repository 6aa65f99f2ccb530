//! Check that no other server has an API group that Berth is to serve (docs/concepts.md, "Where objects
//! are"), since a group cannot be divided between servers: Berth serves every version of a group, or none.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail};
use berth_aggregation::registration::{Service, service_text};
use berth_client::root_cause;
use berth_deploy::Installation;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;

/// Checks that every APIService with a group that Berth stores is for Berth's own Service. A kube-apiserver
/// creates APIServices for CustomResourceDefinitions, too.
///
/// # Errors
/// When APIServices of such groups are for another Service; the message lists all of them, each with the
/// remedy. Also when APIServices cannot be listed; without `strict`, a missing right to list them is only
/// logged.
pub(super) async fn check(client: &Client, installation: &Installation, strict: bool) -> Result<()> {
    let kind = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
    let services: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let list = match services.list(&ListParams::default()).await {
        Ok(list) => list,
        Err(kube::Error::Api(status)) if status.code == 403 && !strict => {
            tracing::warn!(
                "cannot check whether another server serves the systems' API groups: {} (the ClusterRole berth:registration of `berth manifests rbac` allows it)",
                status.message
            );
            return Ok(());
        }
        Err(problem) => return Err(anyhow!("listing APIServices: {}", root_cause(&problem))),
    };
    let objects = list.items.iter().map(serde_json::to_value);
    let objects: Vec<Value> = objects.collect::<Result<_, _>>()?;
    let problems = problems(&objects, installation);
    if problems.is_empty() {
        return Ok(());
    }
    bail!(
        "other servers on the hub already serve API groups that Berth is configured to serve:\n- {}",
        problems.join("\n- ")
    )
}

fn problems(services: &[Value], installation: &Installation) -> Vec<String> {
    let mut problems = Vec::new();
    for dialect in installation.owned_dialects() {
        let groups: BTreeSet<&str> = dialect.kinds().iter().map(|kind| kind.info().group).collect();
        let of_dialect = services.iter().filter(|service| {
            let group = service["spec"]["group"].as_str().unwrap_or_default();
            groups.contains(group) && !is_own_service(service, &installation.service)
        });
        problems.extend(of_dialect.map(|service| {
            let name = service["metadata"]["name"].as_str().unwrap_or_default();
            let hint = match service["spec"]["service"].is_object() {
                true => String::new(),
                false => format!(
                    "; kubectl get crd -o name | grep '\\.{}$' lists its definitions",
                    service["spec"]["group"].as_str().unwrap_or_default()
                ),
            };
            format!(
                "APIService {name} is for {}{hint}. Use --source={}=hub to decide about those objects, or remove the APIService",
                service_text(&service["spec"]["service"]),
                dialect.name()
            )
        }));
    }
    problems
}

fn is_own_service(service: &Value, ours: &Service) -> bool {
    let reference = &service["spec"]["service"];
    reference["namespace"] == ours.namespace.as_str() && reference["name"] == ours.name.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(name: &str, group: &str, reference: &Value) -> Value {
        json!({"metadata": {"name": name}, "spec": {"group": group, "service": reference}})
    }

    #[test]
    fn definitions_and_foreign_services_are_named_with_the_way_out() {
        let gardener = json!({"namespace": "garden", "name": "gardener-apiserver"});
        let berth = json!({"namespace": "berth-system", "name": "berth"});
        let services = [
            service("v1beta1.core.gardener.cloud", "core.gardener.cloud", &gardener),
            service(
                "v1alpha1.clusters.openmcp.cloud",
                "clusters.openmcp.cloud",
                &berth,
            ),
            service("v9.scheduling.kcp.dev", "scheduling.kcp.dev", &Value::Null),
            service("v1.apps", "apps", &Value::Null),
        ];
        let found = problems(&services, &Installation::default());
        assert_eq!(
            found,
            [
                "APIService v1beta1.core.gardener.cloud is for the Service garden/gardener-apiserver. Use \
                 --source=gardener=hub to decide about those objects, or remove the APIService",
                "APIService v9.scheduling.kcp.dev is for kube-apiserver itself (a CustomResourceDefinition); kubectl get \
                 crd -o name | grep '\\.scheduling.kcp.dev$' lists its definitions. Use --source=kcp=hub to \
                 decide about those objects, or remove the APIService",
            ]
        );
        assert!(problems(&services, &Installation::on_hub()).is_empty());
    }
}
