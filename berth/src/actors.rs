//! Flags that give the roles of the systems' own actors to other identities (CONTRACT.md section 5).

use clap::Args;
use dialect_registry::{Settings, location_cluster, synced_resource};
use meta::GroupResource;
use meta::selector::Selector;

/// Who acts for whom, and what is guarded for them.
#[derive(Args, Clone, Debug, Default)]
pub struct ActorArgs {
    /// A user that rolls out Fleet's bindings: it moves them from Scheduled to Bound and deletes Unscheduled ones;
    /// repeatable.
    #[arg(long, value_name = "USER")]
    pub fleet_rollout_user: Vec<String>,
    /// A user that acts as a coordination controller of kcp; repeatable.
    #[arg(long, value_name = "USER")]
    pub kcp_coordination_user: Vec<String>,
    /// The resources that follow their namespace in kcp, where its SchedulerConfiguration says nothing [default:
    /// configmaps,secrets,serviceaccounts,services,deployments.apps].
    #[arg(long, value_name = "RESOURCE", value_delimiter = ',', value_parser = synced_resource)]
    pub kcp_synced_resources: Option<Vec<GroupResource>>,
    /// The namespaces kcp places, where its SchedulerConfiguration says nothing, as a label selector [default: behind a
    /// kube-apiserver scheduling.berth.dev/kcp=enabled, elsewhere all].
    #[arg(long, value_name = "SELECTOR", value_parser = Selector::parse)]
    pub kcp_namespace_selector: Option<Selector>,
    /// Where kcp's Locations live, the first segment of location strings, where its SchedulerConfiguration says nothing
    /// [default: root:compute].
    #[arg(long, value_name = "PATH", value_parser = location_cluster)]
    pub kcp_location_cluster: Option<String>,
}

/// The namespaces of a hub that kcp places, where nothing else is said (CONTRACT.md section 5).
const ON_A_HUB: &str = "scheduling.berth.dev/kcp=enabled";

impl ActorArgs {
    /// What the dialects are told.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            fleet_rollout_users: self.fleet_rollout_user.clone(),
            kcp_coordination_users: self.kcp_coordination_user.clone(),
            kcp_synced_resources: self.kcp_synced_resources.clone(),
            kcp_namespace_selector: self.kcp_namespace_selector.clone(),
            kcp_location_cluster: self.kcp_location_cluster.clone(),
            targets_url: None,
        }
    }

    /// The same behind a hub, whose namespaces are not all there to be placed.
    #[must_use]
    pub fn settings_on_hub(&self) -> Settings {
        let mut settings = self.settings();
        if settings.kcp_namespace_selector.is_none() {
            settings.kcp_namespace_selector = Selector::parse(ON_A_HUB).ok();
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_hub_only_namespaces_that_say_so_are_placed() {
        let usual = ActorArgs::default().settings_on_hub().kcp_namespace_selector;
        assert_eq!(
            usual.map(|selector| selector.to_string()),
            Some(ON_A_HUB.to_owned())
        );
        assert_eq!(ActorArgs::default().settings().kcp_namespace_selector, None);
        let said = ActorArgs {
            kcp_namespace_selector: Selector::parse("team=a").ok(),
            ..ActorArgs::default()
        };
        assert_eq!(said.settings_on_hub(), said.settings());
    }
}
