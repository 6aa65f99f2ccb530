//! The engine's writes through the server's registry, with the validation and admission of a client's writes.

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::Object;
use berth_apimachinery::write::CommitError;
use berth_apiserver::{Author, Registry};
use berth_engine::{Commit, Committer};

use super::faults;

/// Committer through a registry, as the actor of each commit.
pub struct RegistryCommitter(pub Arc<Registry>);

#[async_trait]
impl Committer for RegistryCommitter {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        let user = actor_user(commit.actor);
        let author = Author {
            user: &user,
            manager: &commit.manager,
            cause: Some(&commit.cause),
        };
        let Commit {
            writes,
            guards,
            dry_run,
            ..
        } = commit;
        match faults::in_force() {
            Some(faults) if !dry_run => faults.commit(&self.0, author, writes, guards).await,
            _ => self.0.commit(author, writes, guards, dry_run).await,
        }
    }

    fn can_store_with_demand(&self) -> bool {
        // Faults apply to separate commits only: a commit that is part of a create would be missed.
        faults::in_force().is_none()
    }
}

/// The user of `actor` for admission.
#[must_use]
pub fn actor_user(actor: &str) -> UserInfo {
    UserInfo {
        name: actor.to_owned(),
        groups: vec!["system:authenticated".to_owned()],
        ..UserInfo::default()
    }
}
