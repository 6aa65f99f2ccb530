//! Writes of kcp's syncers to objects of the hub, as the user `berth:syncer:<identifier>` and with the
//! revision of the object on which the write is based. The hub checks the rights of this user, and calls
//! Berth's own webhooks.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::write::{CommitError, Verb, Write, WriteRefusal};
use berth_apimachinery::{GroupResource, Object, Status};
use berth_apiserver::view::{Origin, OriginWrite};
use berth_hub::HubCommitter;

use crate::view::HubOrigin;

/// Text at the end of a refusal because of missing rights.
const REMEDY: &str =
    "; `berth syncer-rights --target NAME --user USER --identifier UID` prints the rights of a syncer";

/// The hub as the store of the objects that syncers see.
pub struct OnHub(pub Arc<HubCommitter>);

#[async_trait]
impl Origin for OnHub {
    async fn write(&self, write: OriginWrite<'_>) -> Result<Arc<Object>, CommitError> {
        let update = Write {
            verb: Verb::Update,
            key: write.key.clone(),
            subresource: write.subresource,
            object: write.object,
            base: Some(write.current.revision()),
        };
        let result = self.0.write_alone(&write.user.name, &update, write.dry_run).await;
        result.map_err(with_remedy)
    }
}

/// Adds the remedy to the message of `error` if a right is missing.
fn with_remedy(mut error: CommitError) -> CommitError {
    if error.reason == WriteRefusal::Forbidden {
        error.status.message.push_str(REMEDY);
    }
    error
}

#[async_trait]
impl HubOrigin for OnHub {
    async fn labelled(
        &self,
        api_version: &str,
        resource: GroupResource,
        namespace: &str,
        label: &str,
    ) -> Result<BTreeSet<String>, Status> {
        self.0.labelled(api_version, resource, namespace, label).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_refusal_for_a_missing_right_has_the_remedy() {
        let message = "users \"berth:syncer:u-1\" is forbidden: as the hub says";
        for (why, remedy) in [(WriteRefusal::Forbidden, REMEDY), (WriteRefusal::Refused, "")] {
            let status =
                with_remedy(CommitError::new(why, Status::failure(403, "Forbidden", message))).status;
            assert_eq!((status.code, status.message), (403, format!("{message}{remedy}")));
        }
    }
}
