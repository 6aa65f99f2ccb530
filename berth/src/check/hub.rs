//! Findings about the objects of a hub that concern Berth: registrations, webhooks, definitions, Deployment
//! and leader.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use berth_deploy::{Installation, LABEL, Service, default_service};
use berth_dialect_contract::Dialect;
use berth_scheduling_api::{GROUP, VERSION};
use serde_json::Value;

use super::finding::{Finding, Verdict};
use super::started::ServerArguments;
use super::{Checker, ReadResult, items, judge, rights};
use crate::source::Place;

/// Path of the APIServices.
pub(super) const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
/// Path of the CustomResourceDefinitions.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Checker<'_> {
    /// All findings about a hub.
    pub(super) async fn hub_findings(&self) -> Result<Vec<Finding>> {
        let list = match self.read(API_SERVICES).await? {
            ReadResult::Object(list) => list,
            ReadResult::Absent => return Ok(Vec::new()),
            ReadResult::Refused(message) => {
                return Ok(vec![Finding::unknown("registration", "APIServices", message)]);
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
        let own_api_services: Vec<&Value> = all
            .iter()
            .filter(|object| judge::service(object).is_some_and(|other| is_same_service(&other, &service)))
            .collect();
        let mut findings: Vec<Finding> = own_api_services
            .iter()
            .flat_map(|object| judge::api_service(object, self.now))
            .collect();
        let groups = AggregatedGroups::new(all, &service);
        let (workload, arguments) = self.workload(&service).await?;
        let mode = arguments.mode;
        let (definitions, mut installation) = self.definitions(&service, &groups, &arguments).await?;
        // If the mode is unknown, the rights for deciding are checked. An observing server needs fewer
        // rights.
        installation.mode = mode.unwrap_or(installation.mode);
        if registered.is_none() {
            let mend = format!(
                "berth manifests apiservice{} | kubectl apply --server-side -f -",
                rights::flags(&installation)
            );
            let finding = Finding::ok("registration", format!("APIService {own}"), "it does not exist");
            findings.push(finding.with_verdict(Verdict::Wrong, mend));
        }
        findings.extend(self.webhooks(&service, &installation, mode).await?);
        findings.extend(definitions);
        // Without the Deployment, the user of Berth is unknown, so the rights are not checked. Berth itself
        // reports missing rights when it starts.
        let is_known = workload.verdict == Verdict::Ok || workload.verdict == Verdict::Wrong;
        findings.push(workload);
        if is_known {
            findings.extend(self.server_rights(&installation).await?);
        }
        findings.extend(self.leases(&service).await?);
        findings.extend(self.schedulers(&installation).await?);
        Ok(findings)
    }

    /// The Service through which the hub reaches Berth: the Service of Berth's APIService, or the default
    /// Service if the APIService does not exist or cannot be read.
    pub(crate) async fn service(&self) -> Result<Service> {
        let path = format!("{API_SERVICES}/{VERSION}.{GROUP}");
        let registered = match self.read(&path).await? {
            ReadResult::Object(object) => judge::service(&object),
            ReadResult::Absent | ReadResult::Refused(_) => None,
        };
        Ok(registered.unwrap_or_else(default_service))
    }

    /// The Deployment behind `service`: the Deployment of the same name, or the only Deployment with Berth's
    /// label in the namespace of `service`. If several have the label, the result is refused, too.
    pub(crate) async fn deployment(&self, service: &Service) -> Result<ReadResult> {
        let all = format!("/apis/apps/v1/namespaces/{}/deployments", service.namespace);
        let named = self.read(&format!("{all}/{}", service.name)).await?;
        if !matches!(named, ReadResult::Absent) {
            return Ok(named);
        }
        let (key, value) = LABEL;
        let labelled = format!("{all}?labelSelector={}%3D{value}", key.replace('/', "%2F"));
        Ok(match self.read(&labelled).await? {
            ReadResult::Object(list) => match items(&list) {
                [] => ReadResult::Absent,
                [only] => ReadResult::Object(only.clone()),
                several => ReadResult::Refused(format!(
                    "{} Deployments in the namespace {} have the label {key}={value}, and none has the name {}",
                    several.len(),
                    service.namespace,
                    service.name
                )),
            },
            other => other,
        })
    }

    /// The Deployment of a default installation of Berth. Such a Berth may not be registered.
    pub(super) async fn default_deployment(&self) -> Result<ReadResult> {
        let Service { name, namespace, .. } = default_service();
        self.read(&format!(
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
        ))
        .await
    }

    /// Findings about the CustomResourceDefinitions of configurations and of the systems, and the
    /// installation that the definitions and Berth's arguments describe.
    async fn definitions(
        &self,
        service: &Service,
        groups: &AggregatedGroups<'_>,
        arguments: &ServerArguments,
    ) -> Result<(Vec<Finding>, Installation)> {
        let mut installation = Installation {
            service: service.clone(),
            dialects: berth_dialect_registry::with(&arguments.actors.settings()),
            arguments: arguments.actors.arguments(),
            ..Installation::on_hub()
        };
        let definitions = match self.read(DEFINITIONS).await? {
            ReadResult::Object(list) => list,
            ReadResult::Absent => Value::Null,
            ReadResult::Refused(message) => {
                let finding = Finding::unknown("definitions", "CustomResourceDefinitions", message);
                return Ok((vec![finding], installation));
            }
        };
        let mut findings = vec![configuration_definition(&definitions)];
        for dialect in berth_dialect_registry::all() {
            let (place, system_findings) = system_sources(&*dialect, &definitions, groups, arguments);
            match place {
                Place::Owned => drop(installation.on_hub.remove(dialect.name())),
                Place::Off => installation = installation.without(dialect.name()),
                Place::Hub => {}
            }
            findings.extend(system_findings);
        }
        Ok((findings, installation))
    }

    /// The finding about the Deployment behind `service`, and the arguments of Berth in the Deployment.
    async fn workload(&self, service: &Service) -> Result<(Finding, ServerArguments)> {
        let Service { name, namespace, .. } = service;
        let subject = format!("Deployment {namespace}/{name}");
        let mut arguments = ServerArguments::default();
        let finding = match self.deployment(service).await? {
            ReadResult::Object(object) => {
                arguments = ServerArguments::of(&object);
                let number = |field: &Value| field.as_u64().unwrap_or_default();
                let ready = number(&object["status"]["readyReplicas"]);
                let wanted = object["spec"]["replicas"].as_u64().unwrap_or(1);
                let image = object["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
                let message = format!("{ready} of {wanted} ready, {}", image.unwrap_or("no image"));
                let finding = Finding::ok("versions", subject, message);
                match ready >= wanted && ready > 0 {
                    true => finding,
                    false => finding.with_verdict(
                        Verdict::Wrong,
                        format!(
                            "kubectl -n {namespace} describe pods; kubectl -n {namespace} logs deploy/{name}"
                        ),
                    ),
                }
            }
            ReadResult::Absent => Finding::unknown(
                "versions",
                subject,
                "it does not exist: Berth runs outside the hub, or under another name",
            ),
            ReadResult::Refused(message) => Finding::unknown("versions", subject, message),
        };
        Ok((finding, arguments))
    }

    /// Findings about the Leases of leader election in the namespace of `service`.
    async fn leases(&self, service: &Service) -> Result<Vec<Finding>> {
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
            service.namespace
        );
        Ok(match self.read(&path).await? {
            ReadResult::Object(list) => items(&list)
                .iter()
                .filter(|lease| lease["metadata"]["name"].as_str().is_some_and(is_election_lease))
                .filter_map(|lease| judge::lease(lease, &service.name, self.now))
                .collect(),
            ReadResult::Absent => Vec::new(),
            ReadResult::Refused(message) => {
                vec![Finding::unknown("leader", "leases", message)]
            }
        })
    }
}

/// API groups that the hub's aggregator sends to other servers, according to the APIServices.
pub(super) struct AggregatedGroups<'a> {
    /// Groups that Berth serves.
    pub(super) owned: BTreeSet<&'a str>,
    /// Groups of other servers, such as a system's own API server, each with the Service of the server.
    foreign: BTreeMap<&'a str, String>,
}

impl<'a> AggregatedGroups<'a> {
    /// The groups of `api_services`; those of the Service `ours` are Berth's.
    pub(super) fn new(api_services: &'a [Value], ours: &Service) -> Self {
        let (mut owned, mut foreign) = (BTreeSet::new(), BTreeMap::new());
        for object in api_services {
            let (Some(group), Some(service)) = (object["spec"]["group"].as_str(), judge::service(object))
            else {
                continue;
            };
            match is_same_service(&service, ours) {
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

/// Whether the Lease `name` is for leader election. Berth's other Leases detect concurrent decisions.
fn is_election_lease(name: &str) -> bool {
    name == crate::hub::CONTROLLERS_LEASE || name == berth_hub::store_lease::NAME
}

fn is_same_service(one: &Service, other: &Service) -> bool {
    one.name == other.name && one.namespace == other.namespace
}

/// The CustomResourceDefinition `name` in the list `definitions`.
fn find_definition<'a>(definitions: &'a Value, name: &str) -> Option<&'a Value> {
    let mut all = items(definitions).iter();
    all.find(|object| object["metadata"]["name"] == name)
}

/// Finding about the CustomResourceDefinition of SchedulerConfigurations.
fn configuration_definition(definitions: &Value) -> Finding {
    const NAME: &str = "schedulerconfigurations.config.berth.dev";
    match find_definition(definitions, NAME) {
        Some(object) => judge::definition(object),
        None => Finding::ok("definitions", NAME, "it does not exist").with_verdict(
            Verdict::Wrong,
            "berth manifests crds | kubectl apply --server-side -f -",
        ),
    }
}

/// The place of the objects of `dialect` according to the hub's definitions and groups and to Berth's
/// arguments, and the findings about the system's kinds.
fn system_sources(
    dialect: &dyn Dialect,
    definitions: &Value,
    groups: &AggregatedGroups<'_>,
    arguments: &ServerArguments,
) -> (Place, Vec<Finding>) {
    let system = dialect.name();
    let group = dialect.target().group;
    let one = |message: &str| vec![Finding::ok("sources", system, message)];
    if groups.owned.contains(group) {
        return (Place::Owned, one("Berth stores its objects"));
    }
    if arguments.is_off(system) {
        return (Place::Off, one("off: Berth was started without it"));
    }
    if let Some(server) = groups.foreign.get(group) {
        return (Place::Hub, one(&format!("on the hub, served by {server}")));
    }
    let kinds: Vec<String> = dialect
        .kinds()
        .iter()
        .map(|kind| kind.info())
        .filter(|info| info.group.contains('.') && !info.group.ends_with(".k8s.io"))
        .map(|info| format!("{}.{}", info.plural, info.group))
        .collect();
    let existing: Vec<&Value> = kinds
        .iter()
        .filter_map(|name| find_definition(definitions, name))
        .collect();
    if existing.is_empty() {
        return (Place::Off, one("off: the hub serves none of its kinds"));
    }
    let absent: Vec<&String> = kinds
        .iter()
        .filter(|name| find_definition(definitions, name).is_none())
        .collect();
    let mut findings = vec![hub_source(system, existing.len(), &absent)];
    let established = existing.iter().map(|object| judge::definition(object));
    findings.extend(established.filter(|finding| finding.verdict != Verdict::Ok));
    (Place::Hub, findings)
}

/// Finding about a system whose objects are on the hub: `count` kinds exist, and the kinds `absent` do not.
fn hub_source(system: &str, count: usize, absent: &[&String]) -> Finding {
    if absent.is_empty() {
        return Finding::ok("sources", system, format!("on the hub, {count} kinds"));
    }
    let names: Vec<&str> = absent.iter().map(|name| name.as_str()).collect();
    Finding::ok(
        "sources",
        system,
        format!("on the hub, without {}", names.join(", ")),
    )
    .with_verdict(
        Verdict::Note,
        format!("berth manifests crds --systems --source={system}=hub | kubectl create -f -"),
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
        let groups = AggregatedGroups::new(&all, &berth);
        assert_eq!(groups.owned, BTreeSet::from(["scheduling.berth.dev"]));
        let foreign = BTreeMap::from([(
            "core.gardener.cloud",
            "the Service garden/gardener-apiserver".to_owned(),
        )]);
        assert_eq!(groups.foreign, foreign);
    }

    #[test]
    fn the_command_for_absent_kinds_names_the_system_whose_kinds_it_prints() {
        let absent = "addonplacementscores.cluster.open-cluster-management.io".to_owned();
        let finding = hub_source("ocm", 5, &[&absent]);
        assert_eq!(finding.verdict, Verdict::Note);
        assert!(finding.message.contains(&absent), "{}", finding.message);
        assert_eq!(
            finding.mend,
            "berth manifests crds --systems --source=ocm=hub | kubectl create -f -"
        );
    }
}
