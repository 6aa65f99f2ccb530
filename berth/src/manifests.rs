//! `berth manifests`: prints the objects of an installation of Berth on a hub (`berth_deploy`), as flags
//! describe it.

mod krew;
mod preflight;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Result, bail};
use berth_commands::args::ServerArgs;
use berth_commands::terminal;
use berth_configuration::Mode;
use berth_deploy::{
    Certificates, IMAGE, Installation, REPLICAS, Service, Set, Storage, objects, published_definitions,
    system_definitions, yaml,
};
use berth_dialect_registry::ActorArgs;
use berth_syncer::rights::{SyncerRightsArgs, syncer_rights};
use clap::{Args, ValueEnum};

pub use krew::{KrewArgs, krew};

use crate::mode::ModeArg;
use crate::source::{NONE_NAMED, Place, Source, nothing_to_observe, only_named, place, source};

/// Arguments of `berth manifests`.
#[derive(Args, Clone, Debug)]
pub struct ManifestsArgs {
    /// The set of manifests.
    #[arg(value_enum, default_value_t = Set::All)]
    pub set: Set,
    /// The installation.
    #[command(flatten)]
    pub installation: InstallationArgs,
    /// Detect the systems of the kubeconfig's hub: add --source=SYSTEM=owned for each system whose objects
    /// Berth already stores, and --source=SYSTEM=hub for each other system on the hub, except kcp, which has
    /// to be named. A --source flag takes precedence over the detected value.
    #[arg(long)]
    pub detect: bool,
    /// The hub, for --detect.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Also print the CustomResourceDefinitions of the systems whose objects are on the hub. Only for hubs
    /// without the systems: create them with `kubectl create`, which does not change existing ones, never
    /// with `kubectl apply`.
    #[arg(long)]
    pub systems: bool,
    /// Also print the CustomResourceDefinitions of ClusterProfile and PlacementDecision. Only for hubs
    /// without these definitions: create them with `kubectl create`, which does not change existing ones.
    #[arg(long)]
    pub inventory: bool,
    /// Address of the release, for the manifest of krew.
    #[command(flatten)]
    pub krew: KrewArgs,
}

/// Arguments about an installation.
#[derive(Args, Clone, Debug)]
pub struct InstallationArgs {
    /// The namespace of Berth.
    #[arg(long, default_value = "berth-system")]
    pub namespace: String,
    /// The name of Berth's Service, service account and Deployment.
    #[arg(long, default_value = "berth")]
    pub service: String,
    /// The port of the Service.
    #[arg(long, default_value_t = 443)]
    pub port: u16,
    /// Whether Berth decides or only observes: `observe` prints no webhooks, and no permission to write a
    /// system's objects.
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeArg>,
    /// Store of a system's objects, as for `berth serve`: `gardener=hub` on the hub, `gardener=owned` in
    /// Berth's own store. An unnamed system is off. Repeatable.
    #[arg(long, value_parser = source, value_name = "SYSTEM=owned|hub|off")]
    pub source: Vec<Source>,
    /// The container image.
    #[arg(long, default_value = IMAGE)]
    pub image: String,
    /// Number of servers: by default 2, or 1 if Berth stores objects without etcd, in a database on a
    /// PersistentVolumeClaim.
    #[arg(long)]
    pub replicas: Option<u16>,
    /// The client URLs of etcd, for the systems whose objects Berth stores.
    #[arg(long, value_delimiter = ',', value_name = "URL")]
    pub etcd_servers: Vec<String>,
    /// Permit Berth to create its APIServices and webhook configurations (`berth serve --self-register`). No
    /// effect with --mode=observe: an observer's APIServices are printed.
    #[arg(long)]
    pub self_register: bool,
    /// Issuer of the serving certificate and of the caBundles.
    #[arg(long, value_enum, default_value_t = Certificates::Berth)]
    pub certificates: Certificates,
    /// A further argument of `berth serve`; repeatable.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub serve_argument: Vec<String>,
    /// Actors of the systems.
    #[command(flatten)]
    pub actors: ActorArgs,
}

impl InstallationArgs {
    /// The installation that the flags describe.
    ///
    /// # Errors
    /// When every system is off, an observer would store objects, kcp would sync resources that cannot be
    /// copied from a hub, or several servers would have separate stores.
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
        let default_replicas = if storage == Storage::Embedded { 1 } else { REPLICAS };
        let replicas = self.replicas.unwrap_or(default_replicas);
        if storage == Storage::Embedded && replicas > default_replicas {
            bail!(
                "--replicas {replicas}: several servers need a shared store (--etcd-servers), or the objects of every system \
                 on the hub (--source=<system>=hub)"
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
            arguments: self.server_arguments(),
        })
    }

    /// Returns the further arguments of the server: the flags by which its rights and webhooks are printed, and
    /// those of `--serve-argument`, which replace a flag of the same name, since the server refuses most flags
    /// that are given twice.
    fn server_arguments(&self) -> Vec<String> {
        let name = |argument: &str| argument.split('=').next().unwrap_or_default().to_owned();
        let given: Vec<String> = self
            .serve_argument
            .iter()
            .map(|argument| name(argument))
            .collect();
        let mut arguments = self.actors.arguments();
        arguments.retain(|argument| !given.contains(&name(argument)));
        arguments.extend(self.serve_argument.iter().cloned());
        arguments
    }
}

/// Prints a set of manifests as YAML documents. If the mode or the sources are missing, which the sets `crds`
/// and `krew` do not need, prints the missing choices on standard error, and returns exit code 2.
///
/// # Errors
/// When the installation is invalid, or an object cannot be written as YAML.
pub fn run(args: &ManifestsArgs) -> Result<ExitCode> {
    if args.set == Set::Krew {
        terminal::print(&yaml(&[krew(&args.krew)?])?);
        return Ok(ExitCode::SUCCESS);
    }
    let installation_args = &args.installation;
    let mut objects = match args.set {
        // CustomResourceDefinitions are the same for all installations. The definitions of systems are
        // printed only if systems are named.
        Set::Crds if installation_args.source.is_empty() && !args.systems => {
            objects(&Installation::default(), Set::Crds)
        }
        Set::Crds => objects(&installation_args.installation()?, Set::Crds),
        set if installation_args.mode.is_none() || installation_args.source.is_empty() => {
            berth_commands::say_error!("{}", missing_choices(installation_args, set));
            return Ok(ExitCode::from(2));
        }
        set => {
            let installation = installation_args.installation()?;
            for line in preflight::hints(&installation) {
                berth_commands::say_error!("{line}");
            }
            objects(&installation, set)
        }
    };
    if args.systems && matches!(args.set, Set::Crds | Set::All) {
        objects.extend(system_definitions(
            installation_args.installation()?.hub_dialects(),
        ));
    }
    if args.inventory && matches!(args.set, Set::Crds | Set::All) {
        objects.extend(published_definitions());
    }
    terminal::print(&yaml(&objects)?);
    Ok(ExitCode::SUCCESS)
}

/// Error message with the missing choices. The flags have no defaults, since a wrong default would stop
/// programs that run on the hub.
fn missing_choices(installation_args: &InstallationArgs, set: Set) -> String {
    let mut text = "error: choose what to install with these flags".to_owned();
    if installation_args.mode.is_none() {
        text.push_str(
            "\n  --mode=observe   look, explain and plan; write nothing of a system's, refuse nothing\n  \
             --mode=decide    decide in the place of the systems' own schedulers, which have to be stopped",
        );
    }
    let all = berth_dialect_registry::all();
    let names: Vec<&str> = all.iter().map(|dialect| dialect.name()).collect();
    if installation_args.source.is_empty() {
        text.push_str(&format!(
            "\n  --detect                for every system that the hub of the kubeconfig has\n  \
             --source=SYSTEM=hub     the system is on the hub\n  \
             --source=SYSTEM=owned   Berth is the system's API server, on a hub that does not have it\n  \
             where SYSTEM is {}; systems that are not named are not touched",
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

/// Runs `berth syncer-rights`: prints the rights of a syncer as YAML documents.
///
/// # Errors
/// When an object cannot be written as YAML.
pub fn print_syncer_rights(args: &SyncerRightsArgs) -> Result<()> {
    terminal::print(&yaml(&syncer_rights(args))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// A program with only these flags.
    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        installation: InstallationArgs,
    }

    #[test]
    fn the_server_gets_the_flags_by_which_its_rights_are_printed() {
        let flags = [
            "--fleet-rollout-user=roller",
            "--kcp-synced-resources=configmaps",
            "--serve-argument=--event-ttl=2h",
        ];
        let words = ["berth", "--mode=decide", "--source=kcp=hub"];
        let program = Program::parse_from(words.into_iter().chain(flags));
        let installation = program.installation.installation().unwrap();
        let deployment = berth_deploy::deployment(&installation);
        let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
        for argument in [flags[0], flags[1], "--event-ttl=2h"] {
            assert!(arguments.contains(&format!("{argument:?}")), "{arguments}");
        }
    }
    #[test]
    fn a_flag_that_the_server_is_given_expressly_is_given_once() {
        let flags = [
            "--kcp-namespace-selector=a=b",
            "--serve-argument=--kcp-namespace-selector=c=d",
        ];
        let words = ["berth", "--mode=decide", "--source=kcp=hub"];
        let program = Program::parse_from(words.into_iter().chain(flags));
        let arguments = program.installation.server_arguments();
        assert_eq!(arguments, ["--kcp-namespace-selector=c=d"]);
    }
}
