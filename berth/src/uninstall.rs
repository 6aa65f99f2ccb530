//! `berth uninstall`: removes Berth from a hub, in an order that never leaves a namespace stuck.
//!
//! While a webhook with failurePolicy Fail is registered without a server, writes fail; while an APIService
//! is registered without a server, no namespace can be deleted. So the right to register again is removed
//! first, then the registrations, then the workload. Objects that no longer exist are skipped, so that the
//! command can be repeated.
//!
//! Some objects have finalizers that only Berth's controllers remove
//! ([`berth_dialect_contract::ResourceFinalizer`]). While there are such objects, the command changes nothing
//! unless a flag says how to treat them. With `--registration-only`, which keeps the controllers, this is not
//! checked.

mod holds;
mod removal;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use berth_client::root_cause;
use berth_deploy::{Certificates, Installation, Service, Set, default_service};
use berth_dialect_contract::ResourceFinalizer;
use berth_dialect_registry::Settings;
use clap::Args;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::hub::CONTROLLERS_LEASE;
use holds::HeldObjects;
use removal::{Removal, RemovalOutcome};

/// Time limit for the deletion of the APIServices.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Kind of the object that stores the embedded database.
const CLAIM: &str = "PersistentVolumeClaim";
/// Interval between two checks whether the APIServices are deleted.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Arguments of `berth uninstall`.
#[derive(Args, Clone, Debug)]
pub struct UninstallArgs {
    /// The kubeconfig; by default kubectl's, or in a Pod its service account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig; by default the current one.
    #[arg(long)]
    pub context: Option<String>,
    /// The namespace of Berth.
    #[arg(long, default_value = "berth-system")]
    pub namespace: String,
    /// The name of Berth's Service.
    #[arg(long, default_value = "berth")]
    pub service: String,
    /// Only delete Berth's APIServices and webhook configurations, and the permission to create them again;
    /// keep the workloads and their other permissions.
    #[arg(long)]
    pub registration_only: bool,
    /// Also delete the CustomResourceDefinitions of SchedulerConfiguration and Publication, with all objects
    /// of these kinds.
    #[arg(long, conflicts_with = "registration_only")]
    pub delete_configurations: bool,
    /// Also delete the namespace with everything in it, such as the embedded database with the objects that
    /// Berth stored.
    #[arg(long, conflicts_with = "registration_only")]
    pub delete_namespace: bool,
    /// After the deletion of Berth's controllers, remove their finalizers, so that no object or namespace
    /// waits for them: openMCP's finalizers on ClusterRequests and Clusters, and the finalizers of kcp's
    /// syncers.
    #[arg(long, conflicts_with_all = ["registration_only", "keep_finalizers"])]
    pub release_finalizers: bool,
    /// Keep the finalizers of Berth's controllers, for another controller of the same system.
    #[arg(long, conflicts_with = "registration_only")]
    pub keep_finalizers: bool,
    /// Only show what would be deleted, with a dry run on the hub.
    #[arg(long)]
    pub dry_run: bool,
}

/// Runs `berth uninstall`.
///
/// # Errors
/// When the hub cannot be reached, the server is a standalone Berth server, objects have finalizers that only
/// Berth removes, or the hub refuses a deletion. Earlier deletions remain done.
pub async fn run(args: &UninstallArgs) -> Result<()> {
    let (client, url) = connect(args).await?;
    let remover = Remover {
        client,
        url,
        dry_run: args.dry_run,
    };
    remover.check_not_standalone().await?;
    let service = Service {
        name: args.service.clone(),
        namespace: args.namespace.clone(),
        ..default_service()
    };
    let plan = RemovalPlan::of(&service);
    let checks_finalizers = !args.registration_only && !args.keep_finalizers;
    // Objects of these groups are stored by Berth, so their finalizers do not matter.
    let own = if checks_finalizers {
        remover.served_groups(&service).await?
    } else {
        BTreeSet::new()
    };
    if checks_finalizers {
        remover.check_held_objects(&own, args).await?;
    }
    remover.remove_all(&plan.self_registration).await?;
    for webhooks in &plan.webhooks {
        remover.remove_webhooks(webhooks, &service).await?;
    }
    remover.remove_api_services(&service).await?;
    if args.registration_only {
        return Ok(());
    }
    remover.remove_all(&plan.workload).await?;
    if args.release_finalizers && !args.dry_run {
        remover.release_held_objects(&own).await?;
    }
    if !args.delete_namespace {
        remover.remove_leases(&service).await?;
        remover.print_kept(&plan.kept).await?;
    }
    if args.delete_configurations {
        remover.remove_all(&plan.definitions).await?;
    }
    if args.delete_namespace {
        remover.remove_all(&plan.namespace).await?;
    }
    Ok(())
}

/// Connects to the hub, and returns the client and the URL of the hub.
async fn connect(args: &UninstallArgs) -> Result<(Client, String)> {
    let config = match (&args.kubeconfig, &args.context) {
        (None, None) => berth_client::config_or_service_account().await?,
        (path, context) => berth_client::config(path.as_deref(), context.as_deref()).await?,
    };
    let url = config.cluster_url.to_string();
    let client = Client::try_from(config).context("creating a client for the hub")?;
    Ok((client, url.trim_end_matches('/').to_owned()))
}

/// Objects of an installation. Fields and lists are in the order of the removal.
struct RemovalPlan {
    /// Rights of the server to register itself again.
    self_registration: Vec<Removal>,
    /// The webhook configurations.
    webhooks: Vec<Removal>,
    /// The workload, then the rights of the workload.
    workload: Vec<Removal>,
    /// Objects with users' data, which are not removed by themselves, but only with the namespace.
    kept: Vec<Removal>,
    /// The CustomResourceDefinitions, removed on request.
    definitions: Vec<Removal>,
    /// The namespace, removed on request.
    namespace: Vec<Removal>,
}

impl RemovalPlan {
    /// The removal of all objects that any installation with the Service `service` may have created.
    fn of(service: &Service) -> Self {
        let installations = [
            (Installation::on_hub(), Certificates::Berth),
            (Installation::default(), Certificates::CertManager),
        ];
        let installations = installations.map(|(installation, certificates)| Installation {
            service: service.clone(),
            certificates,
            ..installation
        });
        let removals_of = |set: Set| -> Vec<Removal> {
            let mut unique = BTreeSet::new();
            let objects = installations
                .iter()
                .flat_map(|one| berth_deploy::objects(one, set));
            let removals = objects.filter_map(|object| Removal::of(&object));
            // Bindings are deleted before their roles, a Deployment before the objects that it needs.
            let mut removals: Vec<Removal> = removals
                .filter(|removal| unique.insert(removal.to_string()))
                .collect();
            removals.reverse();
            // Aggregated roles are deleted before their parts: after the deletion of a part, the hub's
            // controller applies the aggregated role, and could recreate it.
            removals.sort_by_key(|removal| !removal.is_aggregated());
            removals
        };
        let self_registration = berth_deploy::self_registration_rights(&installations[0]);
        let mut self_registration: Vec<Removal> = self_registration.iter().filter_map(Removal::of).collect();
        self_registration.reverse();
        let namespace = Removal::of(&berth_deploy::namespace(service));
        let (kept, work) = removals_of(Set::Workload)
            .into_iter()
            .partition(|removal| removal.kind() == CLAIM);
        Self {
            self_registration,
            webhooks: removals_of(Set::Webhooks),
            workload: [work, removals_of(Set::Rbac)].concat(),
            kept,
            definitions: removals_of(Set::Crds),
            namespace: namespace.into_iter().collect(),
        }
    }
}

/// Remover of objects from the hub, which prints each removal.
struct Remover {
    client: Client,
    url: String,
    dry_run: bool,
}

impl Remover {
    /// Checks that the server is not a standalone Berth server, which has no installation.
    async fn check_not_standalone(&self) -> Result<()> {
        let version = self.client.apiserver_version().await;
        let version = version
            .map_err(|problem| anyhow!("cannot reach the hub at {}: {}", self.url, root_cause(&problem)))?;
        if version.git_version.contains("+berth.") {
            bail!(
                "this is a standalone Berth server, which is on no hub: there is nothing to uninstall. Stop its process; \
                 its objects are in its data folder (--data-dir)"
            );
        }
        Ok(())
    }

    async fn remove_all(&self, removals: &[Removal]) -> Result<()> {
        for removal in removals {
            self.remove(removal).await?;
        }
        Ok(())
    }

    async fn remove(&self, removal: &Removal) -> Result<()> {
        match removal.delete(&self.client, self.dry_run).await? {
            RemovalOutcome::Deleted if self.dry_run => berth_commands::say!("would delete {removal}"),
            RemovalOutcome::Deleted => berth_commands::say!("deleted {removal}"),
            RemovalOutcome::Absent => {}
        }
        Ok(())
    }

    /// The API groups that Berth serves by its APIServices.
    async fn served_groups(&self, service: &Service) -> Result<BTreeSet<String>> {
        let found = removal::list(&self.client, "apiregistration.k8s.io", "APIService").await?;
        let own = found
            .iter()
            .filter(|object| is_for(&object["spec"]["service"], service));
        let groups = own.filter_map(|object| object["spec"]["group"].as_str());
        Ok(groups.map(str::to_owned).collect())
    }

    /// Finds the objects with finalizers that only Berth removes, except objects of the groups `own`.
    async fn held_objects(&self, own: &BTreeSet<String>) -> Result<Vec<HeldObjects>> {
        holds::find(&self.client, &finalizers(), own).await
    }

    /// Prints the objects with finalizers that only Berth removes, unless this run releases them.
    ///
    /// # Errors
    /// When there are such objects, and neither `--release-finalizers` nor `--dry-run` is given.
    async fn check_held_objects(&self, own: &BTreeSet<String>, args: &UninstallArgs) -> Result<()> {
        let held_objects = self.held_objects(own).await?;
        for one in &held_objects {
            match (args.release_finalizers, args.dry_run) {
                (false, _) => berth_commands::say!("without Berth, nothing could delete {one}"),
                (true, true) => berth_commands::say!("would release {}: {one}", one.description()),
                (true, false) => {}
            }
        }
        if held_objects.is_empty() || args.release_finalizers {
            return Ok(());
        }
        let advice = "delete these objects while Berth runs; or remove the finalizers with --release-finalizers; or keep them for \
                      another controller of the same system with --keep-finalizers";
        if args.dry_run {
            berth_commands::say!("would change nothing until you choose: {advice}. After that:");
            return Ok(());
        }
        bail!("nothing was changed: {advice}")
    }

    /// Removes the finalizers that only Berth removes. The controllers that would add these finalizers again
    /// have to be deleted before.
    async fn release_held_objects(&self, own: &BTreeSet<String>) -> Result<()> {
        for held_objects in self.held_objects(own).await? {
            let count = held_objects.release(&self.client).await?;
            berth_commands::say!("released {count} {}", held_objects.description());
        }
        Ok(())
    }

    /// Deletes the Leases of Berth's servers: for fences, for leader election, and for the claim of the
    /// store.
    async fn remove_leases(&self, service: &Service) -> Result<()> {
        let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
            Api::namespaced(self.client.clone(), &service.namespace);
        let all = leases.list(&ListParams::default()).await;
        let all = all.map_err(|problem| {
            anyhow!(
                "listing the Leases of {}: {}",
                service.namespace,
                root_cause(&problem)
            )
        })?;
        for lease in all {
            let (name, annotations) = (
                lease.metadata.name.unwrap_or_default(),
                lease.metadata.annotations,
            );
            let is_fence = annotations.is_some_and(|annotations| berth_hub::is_fence(&annotations));
            if is_fence || [CONTROLLERS_LEASE, berth_hub::STORE_LEASE].contains(&name.as_str()) {
                let object = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"namespace": service.namespace, "name": name}});
                if let Some(removal) = Removal::of(&object) {
                    self.remove(&removal).await?;
                }
            }
        }
        Ok(())
    }

    /// Prints which of the objects in `removals` exist and are kept.
    async fn print_kept(&self, removals: &[Removal]) -> Result<()> {
        for removal in removals {
            if removal.read(&self.client).await?.is_some() {
                berth_commands::say!(
                    "kept {removal}, with the objects that Berth stored; delete it when these objects are no longer needed"
                );
            }
        }
        Ok(())
    }

    /// Deletes the webhook configuration of `removal`, if it calls Berth or has no webhooks.
    async fn remove_webhooks(&self, removal: &Removal, service: &Service) -> Result<()> {
        let Some(object) = removal.read(&self.client).await? else {
            return Ok(());
        };
        if is_ours(&object, service) {
            return self.remove(removal).await;
        }
        berth_commands::say!("kept {removal}, whose webhooks call other servers");
        Ok(())
    }

    /// Deletes every APIService of the Service `service`, and waits until no such APIService is left.
    async fn remove_api_services(&self, service: &Service) -> Result<()> {
        let start = Instant::now();
        let mut requested = BTreeSet::new();
        loop {
            let found = removal::list(&self.client, "apiregistration.k8s.io", "APIService").await?;
            let own: Vec<Removal> = found
                .iter()
                .filter(|object| is_for(&object["spec"]["service"], service))
                .filter_map(|object| Removal::of(&api_service(object)))
                .collect();
            for removal in &own {
                if requested.insert(removal.to_string()) {
                    self.remove(removal).await?;
                }
            }
            if own.is_empty() || self.dry_run {
                return Ok(());
            }
            if start.elapsed() > TIMEOUT {
                let names: Vec<String> = own.iter().map(ToString::to_string).collect();
                bail!(
                    "not deleted after {TIMEOUT:?}: {}; look for finalizers in their metadata, remove the cause, and repeat the command",
                    names.join(", ")
                );
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }
}

/// The metadata of the APIService `object` with apiVersion and kind, which objects in a list lack.
fn api_service(object: &Value) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": object["metadata"]["name"]},
    })
}

/// Whether the webhook configuration calls Berth, or has no webhooks. An empty configuration was created for
/// systems without webhooks, and no other server needs it.
fn is_ours(configuration: &Value, service: &Service) -> bool {
    let webhooks = configuration["webhooks"].as_array();
    let mut references = webhooks
        .into_iter()
        .flatten()
        .map(|webhook| &webhook["clientConfig"]["service"]);
    webhooks.is_none_or(Vec::is_empty) || references.any(|reference| is_for(reference, service))
}

/// Whether the reference to a Service names `service`.
fn is_for(reference: &Value, service: &Service) -> bool {
    reference["namespace"] == service.namespace.as_str() && reference["name"] == service.name.as_str()
}

/// The finalizers that Berth's controllers may have set on a hub. The flags of the removed server are not
/// known here, so syncers count with every resource that they can sync behind a hub.
fn finalizers() -> Vec<ResourceFinalizer> {
    let settings = Settings::syncing(berth_kubernetes::core::namespaced());
    let dialects = berth_dialect_registry::with(&settings);
    let all = dialects.iter().flat_map(|dialect| dialect.on_hub().finalizers);
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(removals: &[Removal]) -> Vec<String> {
        removals.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn everything_that_can_be_installed_is_removed() {
        let plan = RemovalPlan::of(&default_service());
        let removed: BTreeSet<String> = [
            &plan.self_registration,
            &plan.webhooks,
            &plan.workload,
            &plan.kept,
            &plan.definitions,
            &plan.namespace,
        ]
        .into_iter()
        .flat_map(|removals| names(removals))
        .collect();
        let installations = [
            Installation::default(),
            Installation::on_hub(),
            Installation {
                certificates: Certificates::CertManager,
                ..Installation::on_hub()
            },
        ];
        for object in installations
            .iter()
            .flat_map(|one| berth_deploy::objects(one, Set::All))
        {
            let name = Removal::of(&object).unwrap().to_string();
            // APIServices are found by their Service, and need no fixed list.
            assert!(
                name.starts_with("APIService ") || removed.contains(&name),
                "{name} is left behind"
            );
        }
    }

    #[test]
    fn a_webhook_configuration_is_removed_unless_it_calls_only_others() {
        let berth = default_service();
        let of = |services: &[&str]| {
            let webhook = |name: &&str| json!({"clientConfig": {"service": {"namespace": "berth-system", "name": name}}});
            json!({"webhooks": services.iter().map(webhook).collect::<Vec<_>>()})
        };
        assert!(
            is_ours(&json!({}), &berth),
            "an empty list is left out by the hub"
        );
        assert!(is_ours(&of(&[]), &berth));
        assert!(is_ours(&of(&["other", "berth"]), &berth));
        assert!(!is_ours(&of(&["other"]), &berth));
    }

    #[test]
    fn finalizers_of_syncers_are_searched_on_everything_that_can_be_synced() {
        let searched: Vec<_> = finalizers().iter().map(|finalizer| finalizer.resource).collect();
        for resource in berth_kubernetes::core::namespaced() {
            assert!(searched.contains(&resource), "{resource}");
        }
    }

    #[test]
    fn a_database_is_kept() {
        let plan = RemovalPlan::of(&default_service());
        assert_eq!(
            names(&plan.kept),
            ["PersistentVolumeClaim berth-system/berth-data"]
        );
        assert!(names(&plan.workload).iter().all(|name| !name.starts_with(CLAIM)));
    }

    #[test]
    fn the_workload_is_removed_before_its_rights_and_bindings_before_roles() {
        let plan = RemovalPlan::of(&default_service());
        let rest = names(&plan.workload);
        let place = |name: &str| rest.iter().position(|other| other == name).unwrap();
        assert!(place("Deployment berth-system/berth") < place("ClusterRoleBinding berth:server"));
        assert!(place("ClusterRoleBinding berth:server") < place("ClusterRole berth:server"));
        assert!(place("ClusterRole berth:server") < place("ServiceAccount berth-system/berth"));
        let whole = place("ClusterRole berth:policy-params");
        assert!(whole < place("ClusterRole berth:policy-params-configmaps"));
        assert_eq!(
            names(&plan.self_registration)[0],
            "ClusterRoleBinding berth:self-registration"
        );
    }
}
