//! `berth manifests`: what a hub must be told about Berth, rendered from the code that serves it, so that it
//! cannot say anything else than the program does.
//!
//! [`Installation`] says what is installed, [`Set`] which part of it is wanted. The files of `deploy/` are
//! the same objects for common installations.

mod api_services;
mod cert_manager;
mod definitions;
mod hub_sources;
mod installation;
mod krew;
mod own_changes;
mod preflight;
mod registration_rights;
mod server_rights;
mod text;
mod users;
mod webhooks;
mod workload;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Result, bail};
use berth_apimachinery::GroupResource;
use berth_commands::args::ServerArgs;
use berth_commands::terminal;
use berth_configuration::Mode;
use berth_syncer::rights::{SyncerRightsArgs, syncer_rights};
use clap::{Args, ValueEnum};
use serde_json::Value;

pub use api_services::{api_service, owned_api_services};
pub use berth_aggregation::registration::Service;
pub use cert_manager::{ANNOTATION, certificates};
pub use definitions::{publications, published_definitions, scheduler_configurations, system_definitions};
pub use hub_sources::hub_sources;
pub use installation::{Certificates, Installation, default_service};
pub use krew::{KrewArgs, krew};
pub use own_changes::own_changes;
pub use registration_rights::{ca_secret_name, registration_rights, self_registration_rights};
pub use server_rights::server_rights;
pub use text::yaml;
pub use users::{cluster_roles, owned_roles, reach};
pub use webhooks::{configuration_name, webhooks};
pub use workload::{LABEL, deployment, namespace, service_monitor, workload};

use crate::mode::ModeArg;
use crate::source::{NONE_NAMED, Place, Source, nothing_to_observe, only_named, place, source};
use crate::stores::Storage;
use berth_dialect_registry::ActorArgs;
use installation::REPLICAS;

/// Parts of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Set {
    /// CustomResourceDefinitions: SchedulerConfiguration and Publication, with --systems the kinds of systems
    /// on the hub, with --inventory those that Publications publish
    Crds,
    /// The service account, its rights, and the roles for users
    Rbac,
    /// The APIServices: Berth's own group, and those of the systems whose objects Berth stores
    Apiservice,
    /// The admission webhooks
    Webhooks,
    /// Deployment, Service, disruption budget, network policy, the Secret of the CA
    Workload,
    /// Everything, with the namespace, in the order of applying
    All,
    /// The manifest by which krew installs `kubectl berth` from a release
    Krew,
}

/// Arguments of `berth manifests`.
#[derive(Args, Clone, Debug)]
pub struct ManifestsArgs {
    /// Which part.
    #[arg(value_enum, default_value_t = Set::All)]
    pub set: Set,
    /// What is installed.
    #[command(flatten)]
    pub installation: InstallationArgs,
    /// Name the systems that the hub of the kubeconfig has: --source=SYSTEM=hub for each but kcp, =owned
    /// where Berth stores its objects there already. A --source that is given counts before what is found.
    #[arg(long)]
    pub detect: bool,
    /// The hub to look at, for --detect.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print the CustomResourceDefinitions of the systems whose objects are on the hub, too. Only for hubs
    /// without the systems: create them with `kubectl create`, which leaves existing ones alone, never with
    /// `kubectl apply`.
    #[arg(long)]
    pub systems: bool,
    /// Print the CustomResourceDefinitions of ClusterProfile and PlacementDecision, too. Only for hubs that
    /// do not have them: create them with `kubectl create`, as those of the systems.
    #[arg(long)]
    pub inventory: bool,
    /// Where the release is.
    #[command(flatten)]
    pub krew: KrewArgs,
}

/// What an installation is, on the command line.
#[derive(Args, Clone, Debug)]
pub struct InstallationArgs {
    /// The namespace Berth runs in.
    #[arg(long, default_value = "berth-system")]
    pub namespace: String,
    /// The name of its Service, service account and Deployment.
    #[arg(long, default_value = "berth")]
    pub service: String,
    /// The port of the Service.
    #[arg(long, default_value_t = 443)]
    pub port: u16,
    /// Whether it decides or only looks: `observe` prints no webhooks, and no right to write anything of a
    /// system's.
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeArg>,
    /// Where the objects of a system are, as for `berth serve`: `gardener=hub` on the hub, `gardener=owned`
    /// in Berth's own store. A system that is not named is off. Repeatable.
    #[arg(long, value_parser = source, value_name = "SYSTEM=owned|hub|off")]
    pub source: Vec<Source>,
    /// The container image.
    #[arg(long, default_value = installation::IMAGE)]
    pub image: String,
    /// How many servers run: by default 2, and 1 where Berth stores objects without etcd, in a database on a
    /// PersistentVolumeClaim.
    #[arg(long)]
    pub replicas: Option<u16>,
    /// The client URLs of etcd, for the systems whose objects Berth stores.
    #[arg(long, value_delimiter = ',', value_name = "URL")]
    pub etcd_servers: Vec<String>,
    /// Let Berth create its APIServices and webhook configurations by itself (`berth serve --self-register`).
    #[arg(long)]
    pub self_register: bool,
    /// Who issues the serving certificate and fills in the caBundles.
    #[arg(long, value_enum, default_value_t = Certificates::Berth)]
    pub certificates: Certificates,
    /// A further argument of `berth serve`; repeatable.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub serve_argument: Vec<String>,
    /// Who acts for whom.
    #[command(flatten)]
    pub actors: ActorArgs,
}

impl InstallationArgs {
    /// What is installed.
    ///
    /// # Errors
    /// When every system is off, kcp is to sync what cannot be copied from a hub, or several servers would
    /// each have a store of their own.
    pub fn installation(&self) -> Result<Installation> {
        self.actors.check_on_hub(berth_kubernetes::core::namespaced())?;
        let all = berth_dialect_registry::with(&self.actors.settings()).into_iter();
        let sources = only_named(self.source.clone());
        let (off, dialects): (Vec<_>, Vec<_>) =
            all.partition(|dialect| place(&sources, dialect.name()) == Place::Off);
        if dialects.is_empty() {
            bail!(NONE_NAMED);
        }
        let mode = self.mode.map_or(Mode::Decide, Mode::from);
        let names = dialects.iter().map(|dialect| dialect.name());
        let on_hub: BTreeSet<_> = names.filter(|name| place(&sources, name) == Place::Hub).collect();
        if let Some(owned) = dialects.iter().find(|dialect| !on_hub.contains(dialect.name()))
            && mode == Mode::Observe
        {
            bail!(nothing_to_observe(owned.name()));
        }
        let storage = match (self.etcd_servers.is_empty(), on_hub.len() < dialects.len()) {
            (false, _) => Storage::Etcd,
            (true, true) => Storage::Embedded,
            (true, false) => Storage::Memory,
        };
        let most = if storage == Storage::Embedded { 1 } else { REPLICAS };
        let replicas = self.replicas.unwrap_or(most);
        if storage == Storage::Embedded && replicas > most {
            bail!(
                "--replicas {replicas}: several servers need one store for all (--etcd-servers says where etcd is), or \
                 every system's objects on the hub (--source=<system>=hub)"
            );
        }
        Ok(Installation {
            service: Service {
                name: self.service.clone(),
                namespace: self.namespace.clone(),
                port: self.port,
            },
            on_hub,
            off: off.iter().map(|dialect| dialect.name()).collect(),
            dialects,
            image: self.image.clone(),
            replicas,
            storage,
            etcd_servers: self.etcd_servers.clone(),
            mode,
            self_register: self.self_register,
            certificates: self.certificates,
            arguments: self.serve_argument.clone(),
        })
    }
}

/// Prints a part of an installation as YAML documents; where it is not said what is to be installed, which
/// choices there are.
///
/// # Errors
/// When there can be no such installation, or an object has no form in YAML.
pub fn run(args: &ManifestsArgs) -> Result<ExitCode> {
    if args.set == Set::Krew {
        terminal::print(&yaml(&[krew(&args.krew)?])?);
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = &args.installation;
    let mut objects = match args.set {
        // They are the same for all, and of systems only where those are named.
        Set::Crds if chosen.source.is_empty() && !args.systems => {
            objects(&Installation::default(), Set::Crds)
        }
        Set::Crds => objects(&chosen.installation()?, Set::Crds),
        set if chosen.mode.is_none() || chosen.source.is_empty() => {
            berth_commands::say_error!("{}", choices(chosen, set));
            return Ok(ExitCode::from(2));
        }
        set => {
            let installation = chosen.installation()?;
            for line in preflight::notes(&installation) {
                berth_commands::say_error!("{line}");
            }
            objects(&installation, set)
        }
    };
    if args.systems && matches!(args.set, Set::Crds | Set::All) {
        objects.extend(system_definitions(chosen.installation()?.hub_dialects()));
    }
    if args.inventory && matches!(args.set, Set::Crds | Set::All) {
        objects.extend(published_definitions());
    }
    terminal::print(&yaml(&objects)?);
    Ok(ExitCode::SUCCESS)
}

/// The choices that are missing and have to be made before anything is installed on a hub: a wrong
/// guess would stop what runs there already.
fn choices(chosen: &InstallationArgs, set: Set) -> String {
    let mut text = "error: say what to install; nothing is printed until then".to_owned();
    if chosen.mode.is_none() {
        text.push_str(
            "\n  --mode=observe   look, explain and plan; write nothing of a system's, refuse nothing\n  \
             --mode=decide    decide in the place of the systems' own schedulers, which have to be stopped",
        );
    }
    let all = berth_dialect_registry::all();
    let names: Vec<&str> = all.iter().map(|dialect| dialect.name()).collect();
    if chosen.source.is_empty() {
        text.push_str(&format!(
            "\n  --detect                for every system that the hub of the kubeconfig has\n  \
             --source=SYSTEM=hub     the system is on the hub\n  \
             --source=SYSTEM=owned   Berth is the system's API server, on a hub that does not have it\n  \
             where SYSTEM is {}; systems that are not named are left alone",
            names.join(", ")
        ));
    }
    let part = set.to_possible_value().map(|value| value.get_name().to_owned());
    let part = part
        .filter(|_| set != Set::All)
        .map_or_else(String::new, |part| format!(" {part}"));
    let system = names.first().unwrap_or(&"SYSTEM");
    text.push_str(&format!(
        "\nfor example: berth manifests{part} --mode=observe --source={system}=hub"
    ));
    text
}

/// `berth syncer-rights`: prints them as YAML documents.
///
/// # Errors
/// When an object has no form in YAML.
pub fn print_syncer_rights(args: &SyncerRightsArgs) -> Result<()> {
    terminal::print(&yaml(&syncer_rights(args))?);
    Ok(())
}

/// The objects of a part, in the order of applying.
#[must_use]
pub fn objects(installation: &Installation, set: Set) -> Vec<Value> {
    match set {
        Set::Crds => vec![scheduler_configurations(), publications()],
        Set::Rbac => rbac(installation),
        Set::Apiservice => {
            let service = &installation.service;
            let mut all = vec![api_service(service)];
            all.extend(owned_api_services(service, installation.owned_dialects()));
            trusted(installation, all)
        }
        Set::Webhooks if installation.is_observer() => Vec::new(),
        Set::Webhooks => trusted(installation, webhooks(installation).to_vec()),
        Set::Workload => workload(installation),
        Set::Krew => Vec::new(),
        Set::All => {
            let mut sets = vec![Set::Crds, Set::Rbac, Set::Workload];
            // Berth creates these itself where it is told to.
            if !installation.self_register {
                sets.extend([Set::Apiservice, Set::Webhooks]);
            }
            let mut all = vec![namespace(&installation.service)];
            all.extend(sets.into_iter().flat_map(|set| objects(installation, set)));
            all
        }
    }
}

/// The objects, with the annotation by which cert-manager fills in their caBundle, where it does.
#[must_use]
pub fn trusted(installation: &Installation, mut objects: Vec<Value>) -> Vec<Value> {
    if installation.certificates == Certificates::CertManager {
        for object in &mut objects {
            object["metadata"]["annotations"] = cert_manager::annotation(&installation.service);
        }
    }
    objects
}

fn rbac(installation: &Installation) -> Vec<Value> {
    let mut all = server_rights(installation);
    all.extend(registration_rights(installation));
    if installation.self_register && !installation.is_observer() {
        all.extend(self_registration_rights(installation));
    }
    all.extend(hub_sources(installation));
    all.extend(cluster_roles(installation));
    all.extend(owned_roles(installation.owned_dialects()));
    all
}

/// The resources of the kinds Berth stores itself.
fn owned_resources(installation: &Installation) -> Vec<GroupResource> {
    let kinds = installation.owned_dialects().flat_map(|dialect| dialect.kinds());
    kinds.map(|kind| kind.info().resource()).collect()
}
