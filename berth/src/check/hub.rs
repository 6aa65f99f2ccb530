//! The objects of a hub that concern Berth: registrations, webhooks, definitions, the workload, and the
//! leader.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use berth_deploy::{Installation, LABEL, Service, default_service};
use berth_scheduling_api::{GROUP, VERSION};
use serde_json::Value;

use super::finding::{Finding, Verdict};
use super::started::ServerArguments;
use super::{CheckSubject, Read, items, judge, rights};

pub(super) const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl CheckSubject<'_> {
    /// All findings about a hub.
    pub(super) async fn registered(&self) -> Result<Vec<Finding>> {
        let list = match self.read(API_SERVICES).await? {
            Read::Object(list) => list,
            Read::Absent => return Ok(Vec::new()),
            Read::Refused(message) => {
                let finding = Finding::ok("registration", "APIServices", message);
                return Ok(vec![finding.but(Verdict::Unknown, "")]);
            }
        };
        let own = format!("{VERSION}.{GROUP}");
        let all = items(&list);
        let registered = all
            .iter()
            .find(|object| object["metadata"]["name"] == own.as_str());
        let service = registered
            .and_then(judge::service)
            .unwrap_or_else(default_service);
        let own_services: Vec<&Value> = all
            .iter()
            .filter(|object| judge::service(object).is_some_and(|other| is_same(&other, &service)))
            .collect();
        let mut findings: Vec<Finding> = own_services
            .iter()
            .flat_map(|object| judge::api_service(object, self.now))
            .collect();
        let groups = Groups::of(all, &service);
        let (workload, arguments) = self.workload(&service).await?;
        let mode = arguments.mode;
        let (definitions, mut installation) = self.definitions(&service, &groups, &arguments).await?;
        // An observing server needs fewer rights. If the mode is unknown, the rights for deciding are
        // checked.
        installation.mode = mode.unwrap_or(installation.mode);
        if registered.is_none() {
            let mend = format!(
                "berth manifests apiservice{} | kubectl apply --server-side -f -",
                rights::flags(&installation)
            );
            let finding = Finding::ok("registration", format!("APIService {own}"), "it does not exist");
            findings.push(finding.but(Verdict::Wrong, mend));
        }
        findings.extend(self.webhooks(&service, &installation, mode).await?);
        findings.extend(definitions);
        // A Berth outside the hub may run as another user. It reports missing rights at its start.
        let known = workload.verdict == Verdict::Ok || workload.verdict == Verdict::Wrong;
        findings.push(workload);
        if known {
            findings.extend(self.server_rights(&installation).await?);
        }
        findings.extend(self.leases(&service).await?);
        findings.extend(self.schedulers(&installation).await?);
        Ok(findings)
    }

    /// The Service at which the hub reaches Berth: the Service of Berth's APIService, or the default Service
    /// if the APIService does not exist or cannot be read.
    pub(crate) async fn service(&self) -> Result<Service> {
        let path = format!("{API_SERVICES}/{VERSION}.{GROUP}");
        let registered = match self.read(&path).await? {
            Read::Object(object) => judge::service(&object),
            Read::Absent | Read::Refused(_) => None,
        };
        Ok(registered.unwrap_or_else(default_service))
    }

    /// The Deployment behind `service`: the Deployment of the same name, or the only Deployment in its
    /// namespace with Berth's label.
    pub(crate) async fn deployment(&self, service: &Service) -> Result<Read> {
        let all = format!("/apis/apps/v1/namespaces/{}/deployments", service.namespace);
        let named = self.read(&format!("{all}/{}", service.name)).await?;
        if !matches!(named, Read::Absent) {
            return Ok(named);
        }
        let (key, value) = LABEL;
        let labelled = format!("{all}?labelSelector={}%3D{value}", key.replace('/', "%2F"));
        Ok(match self.read(&labelled).await? {
            Read::Object(list) => match items(&list) {
                [only] => Read::Object(only.clone()),
                _ => Read::Absent,
            },
            Read::Absent | Read::Refused(_) => Read::Absent,
        })
    }

    /// Whether the Deployment of a default installation of Berth exists, even if Berth is not registered.
    pub(super) async fn has_deployment(&self) -> Result<bool> {
        let Service { name, namespace, .. } = default_service();
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
        Ok(matches!(self.read(&path).await?, Read::Object(_)))
    }

    /// Findings about the CustomResourceDefinitions of configurations and of the systems, and the
    /// installation that the definitions and Berth's arguments describe.
    async fn definitions(
        &self,
        service: &Service,
        groups: &Groups<'_>,
        arguments: &ServerArguments,
    ) -> Result<(Vec<Finding>, Installation)> {
        let list = match self.read(DEFINITIONS).await? {
            Read::Object(list) => list,
            Read::Absent => Value::Null,
            Read::Refused(message) => {
                let finding = Finding::ok("definitions", "CustomResourceDefinitions", message);
                return Ok((vec![finding.but(Verdict::Unknown, "")], Installation::on_hub()));
            }
        };
        let mut installation = Installation {
            service: service.clone(),
            ..Installation::on_hub()
        };
        let find_definition = |name: &str| {
            items(&list)
                .iter()
                .find(|object| object["metadata"]["name"] == name)
        };
        let mut findings = vec![
            match find_definition("schedulerconfigurations.config.berth.dev") {
                Some(object) => judge::definition(object),
                None => Finding::ok(
                    "definitions",
                    "schedulerconfigurations.config.berth.dev",
                    "it does not exist",
                )
                .but(
                    Verdict::Wrong,
                    "berth manifests crds | kubectl apply --server-side -f -",
                ),
            },
        ];
        for dialect in berth_dialect_registry::all() {
            let system = dialect.name();
            let kinds: Vec<String> = dialect
                .kinds()
                .iter()
                .map(|kind| kind.info())
                .filter(|info| info.group.contains('.') && !info.group.ends_with(".k8s.io"))
                .map(|info| format!("{}.{}", info.plural, info.group))
                .collect();
            let target = dialect.target();
            if groups.owned.contains(target.group) {
                installation.on_hub.remove(system);
                findings.push(Finding::ok("sources", system, "Berth stores its objects"));
                continue;
            }
            if arguments.is_off(system) {
                installation = installation.without(system);
                findings.push(Finding::ok(
                    "sources",
                    system,
                    "off: Berth was started without it",
                ));
                continue;
            }
            if let Some(server) = groups.foreign.get(target.group) {
                let message = format!("on the hub, served by {server}");
                findings.push(Finding::ok("sources", system, message));
                continue;
            }
            let existing: Vec<&Value> = kinds.iter().filter_map(|name| find_definition(name)).collect();
            if existing.is_empty() {
                installation = installation.without(system);
                findings.push(Finding::ok(
                    "sources",
                    system,
                    "off: the hub serves none of its kinds",
                ));
                continue;
            }
            let absent: Vec<&String> = kinds
                .iter()
                .filter(|name| find_definition(name).is_none())
                .collect();
            let broken: Vec<Finding> = existing
                .iter()
                .map(|object| judge::definition(object))
                .filter(|finding| finding.verdict != Verdict::Ok)
                .collect();
            findings.push(sources(system, existing.len(), &absent));
            findings.extend(broken);
        }
        Ok((findings, installation))
    }

    /// The finding about the Deployment behind `service`, and the arguments of Berth in the Deployment.
    async fn workload(&self, service: &Service) -> Result<(Finding, ServerArguments)> {
        let Service { name, namespace, .. } = service;
        let subject = format!("Deployment {namespace}/{name}");
        let mut arguments = ServerArguments::default();
        let finding = match self.deployment(service).await? {
            Read::Object(object) => {
                arguments = ServerArguments::of(&object);
                let number = |field: &Value| field.as_u64().unwrap_or_default();
                let ready = number(&object["status"]["readyReplicas"]);
                let wanted = object["spec"]["replicas"].as_u64().unwrap_or(1);
                let image = object["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
                let message = format!("{ready} of {wanted} ready, {}", image.unwrap_or("no image"));
                let finding = Finding::ok("versions", subject, message);
                match ready >= wanted && ready > 0 {
                    true => finding,
                    false => finding.but(
                        Verdict::Wrong,
                        format!(
                            "kubectl -n {namespace} describe pods; kubectl -n {namespace} logs deploy/{name}"
                        ),
                    ),
                }
            }
            Read::Absent => {
                Finding::ok("versions", subject, "Berth runs elsewhere").but(Verdict::Unknown, "")
            }
            Read::Refused(message) => Finding::ok("versions", subject, message).but(Verdict::Unknown, ""),
        };
        Ok((finding, arguments))
    }

    async fn leases(&self, service: &Service) -> Result<Vec<Finding>> {
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
            service.namespace
        );
        Ok(match self.read(&path).await? {
            Read::Object(list) => items(&list)
                .iter()
                .filter(|lease| lease["metadata"]["name"].as_str().is_some_and(is_election_lease))
                .filter_map(|lease| judge::lease(lease, self.now))
                .collect(),
            Read::Absent => Vec::new(),
            Read::Refused(message) => {
                vec![Finding::ok("leader", "leases", message).but(Verdict::Unknown, "")]
            }
        })
    }
}

/// API groups that other servers than the hub itself serve, according to the APIServices.
pub(super) struct Groups<'a> {
    /// Berth's groups.
    pub(super) owned: BTreeSet<&'a str>,
    /// Groups of other servers, such as a system's own API server, with the Service of each.
    foreign: BTreeMap<&'a str, String>,
}

impl<'a> Groups<'a> {
    pub(super) fn of(all: &'a [Value], ours: &Service) -> Self {
        let (mut owned, mut foreign) = (BTreeSet::new(), BTreeMap::new());
        for object in all {
            let (Some(group), Some(service)) = (object["spec"]["group"].as_str(), judge::service(object))
            else {
                continue;
            };
            match is_same(&service, ours) {
                true => drop(owned.insert(group)),
                false => {
                    let Service { namespace, name, .. } = service;
                    foreign.insert(group, format!("the Service {namespace}/{name}"));
                }
            }
        }
        Self { owned, foreign }
    }
}

/// Whether the Lease `name` is for leader election; other Leases fence capacity.
fn is_election_lease(name: &str) -> bool {
    name == crate::hub::CONTROLLERS_LEASE || name == berth_hub::store_lease::NAME
}

fn is_same(one: &Service, other: &Service) -> bool {
    one.name == other.name && one.namespace == other.namespace
}

/// Finding about a system whose objects are on the hub: `count` kinds exist, and the kinds `absent` do not.
fn sources(system: &str, count: usize, absent: &[&String]) -> Finding {
    if absent.is_empty() {
        return Finding::ok("sources", system, format!("on the hub, {count} kinds"));
    }
    let names: Vec<&str> = absent.iter().map(|name| name.as_str()).collect();
    Finding::ok(
        "sources",
        system,
        format!("on the hub, without {}", names.join(", ")),
    )
    .but(
        Verdict::Note,
        "berth manifests crds --systems | kubectl create -f -",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_group_of_another_api_server_is_neither_berths_nor_a_definition() {
        let service = |group: &str, service: Value| json!({"spec": {"group": group, "service": service}});
        let berth = default_service();
        let all = [
            service(
                "scheduling.berth.dev",
                json!({"namespace": "berth-system", "name": "berth"}),
            ),
            service(
                "core.gardener.cloud",
                json!({"namespace": "garden", "name": "gardener-apiserver"}),
            ),
            service("placement.kubernetes-fleet.io", Value::Null),
        ];
        let groups = Groups::of(&all, &berth);
        assert_eq!(groups.owned, BTreeSet::from(["scheduling.berth.dev"]));
        let foreign = BTreeMap::from([(
            "core.gardener.cloud",
            "the Service garden/gardener-apiserver".to_owned(),
        )]);
        assert_eq!(groups.foreign, foreign);
    }
}
