//! The engine's writes, through the server's registry: the same validation and admission as any client's.

use std::sync::Arc;

use admission::UserInfo;
use apiserver::registry::{Author, InternalWrite, Registry};
use async_trait::async_trait;
use dialect_contract::{Write, WriteVerb};
use engine::{Commit, CommitError, Committer};
use meta::Object;
use storage::Verb;

use super::faults;

/// Commits through a registry as the dialect's own user.
pub struct RegistryCommitter(pub Arc<Registry>);

#[async_trait]
impl Committer for RegistryCommitter {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        let user = UserInfo {
            name: commit.actor.to_owned(),
            groups: vec!["system:authenticated".to_owned()],
            ..UserInfo::default()
        };
        let author = Author {
            user: &user,
            manager: &commit.manager,
            cause: Some(&commit.cause),
        };
        let writes = commit.writes.into_iter().map(internal).collect();
        let written = match faults::in_force() {
            Some(faults) if !commit.dry_run => faults.commit(&self.0, author, writes, commit.guards).await,
            _ => self.0.commit(author, writes, commit.guards, commit.dry_run).await,
        };
        written.map_err(|status| match (status.code, status.reason.as_str()) {
            // Something was made, changed or deleted by others meanwhile.
            (409, _) | (404, "NotFound") => CommitError::Moved(status),
            _ => CommitError::Refused(status),
        })
    }
}

fn internal(write: Write) -> InternalWrite {
    let verb = match write.verb {
        WriteVerb::Create => Verb::Create,
        WriteVerb::Update => Verb::Update,
        WriteVerb::Delete => Verb::Delete,
    };
    let Write {
        key,
        subresource,
        object,
        base,
        ..
    } = write;
    InternalWrite {
        verb,
        key,
        subresource,
        object,
        base,
    }
}
