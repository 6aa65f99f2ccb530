//! Flags of the program that concern a single system: users with a role in it (docs/concepts.md, "Actors"),
//! and settings of kcp.

use berth_apimachinery::GroupResource;
use berth_apimachinery::selector::Selector;
use clap::{Args, Command, FromArgMatches as _};

use crate::settings::{Settings, location_cluster, synced_resource};

/// Flags for users with a role in a system, and for settings of kcp.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ActorArgs {
    /// A user that rolls out Fleet's bindings: it moves them from Scheduled to Bound and deletes Unscheduled
    /// ones; repeatable.
    #[arg(long, value_name = "USER")]
    pub fleet_rollout_user: Vec<String>,
    /// A user that acts as a coordination controller of kcp; repeatable.
    #[arg(long, value_name = "USER")]
    pub kcp_coordination_user: Vec<String>,
    /// The resources that follow their namespace in kcp, unless its SchedulerConfiguration sets them
    /// [default: configmaps,secrets,serviceaccounts,services,deployments.apps]. Behind a kube-apiserver, the
    /// SchedulerConfiguration cannot name other resources.
    #[arg(long, value_name = "RESOURCE", value_delimiter = ',', value_parser = synced_resource)]
    pub kcp_synced_resources: Option<Vec<GroupResource>>,
    /// The namespaces that kcp places, unless its SchedulerConfiguration sets them, as a label selector
    /// [default: behind a kube-apiserver scheduling.berth.dev/kcp=enabled, elsewhere all].
    #[arg(long, value_name = "SELECTOR", value_parser = Selector::parse)]
    pub kcp_namespace_selector: Option<Selector>,
    /// Cluster of kcp's Locations, the first segment of location strings, unless its SchedulerConfiguration
    /// sets it [default: root:compute].
    #[arg(long, value_name = "PATH", value_parser = location_cluster)]
    pub kcp_location_cluster: Option<String>,
}

/// The advice not to copy Secrets that are not needed.
pub const LEAVE_OUT_SECRETS: &str = "leave them out of what kcp syncs \
                                     (--kcp-synced-resources=configmaps,serviceaccounts,services,deployments.apps)";

/// The error about resources that cannot be synced behind a hub. It lists the resources that can be synced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--kcp-synced-resources: behind a kube-apiserver Berth cannot sync {unknown}, but only {known}")]
pub struct SyncedResourcesError {
    unknown: String,
    known: String,
}

/// The default selector of the namespaces that kcp places, on a hub and in the demo.
const HUB_NAMESPACE_SELECTOR: &str = "scheduling.berth.dev/kcp=enabled";

impl ActorArgs {
    /// The settings of the dialects.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            fleet_rollout_users: self.fleet_rollout_user.clone(),
            kcp_coordination_users: self.kcp_coordination_user.clone(),
            kcp_synced_resources: self.kcp_synced_resources.clone(),
            kcp_synced_only: false,
            kcp_namespace_selector: self.kcp_namespace_selector.clone(),
            kcp_location_cluster: self.kcp_location_cluster.clone(),
            targets_url: None,
        }
    }

    /// The flags as arguments of `berth serve`.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let rollout = self.fleet_rollout_user.iter();
        let coordination = self.kcp_coordination_user.iter();
        let synced = self.kcp_synced_resources.iter().map(|resources| {
            let names: Vec<String> = resources.iter().map(ToString::to_string).collect();
            format!("--kcp-synced-resources={}", names.join(","))
        });
        let selector = self.kcp_namespace_selector.iter();
        let cluster = self.kcp_location_cluster.iter();
        rollout
            .map(|user| format!("--fleet-rollout-user={user}"))
            .chain(coordination.map(|user| format!("--kcp-coordination-user={user}")))
            .chain(synced)
            .chain(selector.map(|selector| format!("--kcp-namespace-selector={selector}")))
            .chain(cluster.map(|path| format!("--kcp-location-cluster={path}")))
            .collect()
    }

    /// Those of these flags that are in `words`, the arguments of `berth serve`, each written as `--flag=value`
    /// or as `--flag value`. `None` if a value is invalid, so that the server itself refuses it.
    #[must_use]
    pub fn among(words: &[&str]) -> Option<Self> {
        let command = Self::augment_args(Command::new("berth").no_binary_name(true));
        let is_known = |name: &str| {
            let mut known = command.get_arguments();
            known.any(|argument| argument.get_long() == Some(name))
        };
        let mut found = Vec::new();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--") else {
                continue;
            };
            match flag.split_once('=') {
                Some((name, _)) if is_known(name) => found.push(word),
                None if is_known(flag) => found.extend(std::iter::once(word).chain(words.next())),
                _ => {}
            }
        }
        let matches = command.try_get_matches_from(found).ok()?;
        Self::from_arg_matches(&matches).ok()
    }

    /// The default flags, except that kcp only places namespaces with a label, and so ignores the namespaces
    /// of other systems.
    #[must_use]
    pub fn placing_labelled_namespaces() -> Self {
        Self {
            kcp_namespace_selector: Selector::parse(HUB_NAMESPACE_SELECTOR).ok(),
            ..Self::default()
        }
    }

    /// Checks that these flags work behind a hub. Synced objects are copied from the hub, so their resources
    /// must be in `known`.
    ///
    /// # Errors
    /// When a resource to be synced is not in `known`.
    pub fn check_on_hub(&self, mut known: Vec<GroupResource>) -> Result<(), SyncedResourcesError> {
        known.sort_unstable();
        let resources = self.kcp_synced_resources.iter().flatten();
        let unknown: Vec<String> = resources
            .filter(|resource| !known.contains(resource))
            .map(ToString::to_string)
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        Err(SyncedResourcesError {
            unknown: unknown.join(", "),
            known: known.join(", "),
        })
    }

    /// Settings behind a hub. kcp's configuration can then only sync resources for which Berth has
    /// permissions, and by default kcp places only namespaces with a label.
    #[must_use]
    pub fn settings_on_hub(&self) -> Settings {
        let mut settings = self.settings();
        settings.kcp_synced_only = true;
        if settings.kcp_namespace_selector.is_none() {
            settings.kcp_namespace_selector = Self::placing_labelled_namespaces().kcp_namespace_selector;
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// A program with only these flags.
    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        actors: ActorArgs,
    }

    #[test]
    fn the_arguments_are_read_as_the_same_flags() {
        assert!(ActorArgs::default().arguments().is_empty());
        let arguments = [
            "--fleet-rollout-user=roller",
            "--fleet-rollout-user=other",
            "--kcp-coordination-user=ingress",
            "--kcp-synced-resources=configmaps,deployments.apps",
            "--kcp-namespace-selector=team in (a,b),stage=prod",
            "--kcp-location-cluster=root:places",
        ];
        let read = |arguments: Vec<String>| {
            let words = std::iter::once("berth".to_owned()).chain(arguments);
            Program::parse_from(words).actors
        };
        let actors = read(arguments.map(str::to_owned).to_vec());
        let written = actors.arguments();
        assert_eq!(written.len(), arguments.len(), "{written:?}");
        assert_eq!(read(written).settings(), actors.settings());
    }

    #[test]
    fn the_flags_are_found_among_others() {
        let words = [
            "serve",
            "--aggregated",
            "--kcp-synced-resources",
            "configmaps",
            "--event-ttl=2h",
            "--fleet-rollout-user=roller",
        ];
        let found = ActorArgs::among(&words).unwrap();
        assert_eq!(
            found.arguments(),
            ["--fleet-rollout-user=roller", "--kcp-synced-resources=configmaps"]
        );
        assert_eq!(ActorArgs::among(&words[..2]), Some(ActorArgs::default()));
        assert_eq!(ActorArgs::among(&["--kcp-synced-resources=*"]), None);
    }

    #[test]
    fn behind_a_hub_only_namespaces_that_say_so_are_placed() {
        let usual = ActorArgs::default().settings_on_hub().kcp_namespace_selector;
        assert_eq!(
            usual.map(|selector| selector.to_string()),
            Some(HUB_NAMESPACE_SELECTOR.to_owned())
        );
        assert_eq!(ActorArgs::default().settings().kcp_namespace_selector, None);
        let configured = ActorArgs {
            kcp_namespace_selector: Selector::parse("team=a").ok(),
            ..ActorArgs::default()
        };
        assert_eq!(
            configured.settings_on_hub().kcp_namespace_selector,
            configured.kcp_namespace_selector
        );
    }

    #[test]
    fn behind_a_hub_only_resources_of_known_kinds_can_be_synced() {
        let known = || {
            let names = ["secrets", "configmaps", "deployments.apps"];
            names.map(|name| synced_resource(name).unwrap()).to_vec()
        };
        let syncing = |names: &[&str]| ActorArgs {
            kcp_synced_resources: Some(names.iter().map(|name| synced_resource(name).unwrap()).collect()),
            ..ActorArgs::default()
        };
        assert!(ActorArgs::default().check_on_hub(known()).is_ok());
        assert!(
            syncing(&["configmaps", "deployments.apps"])
                .check_on_hub(known())
                .is_ok()
        );
        let unknown = syncing(&["configmaps", "ingresses.networking.k8s.io", "namespaces"]);
        let error = unknown.check_on_hub(known()).unwrap_err().to_string();
        assert!(
            error.contains("cannot sync ingresses.networking.k8s.io, namespaces, but only configmaps, "),
            "{error}"
        );
    }
}
