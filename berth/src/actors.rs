//! Flags that give the roles of the systems' own actors to other identities (CONTRACT.md section 5).

use clap::Args;
use dialect_registry::{Settings, synced_resource};
use meta::GroupResource;

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
}

impl ActorArgs {
    /// What the dialects are told.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            fleet_rollout_users: self.fleet_rollout_user.clone(),
            kcp_coordination_users: self.kcp_coordination_user.clone(),
            kcp_synced_resources: self.kcp_synced_resources.clone(),
        }
    }
}
