//! Writes of kcp's syncers, carried out on the hub as `berth:syncer:<identifier>` on the state that the syncer saw. The
//! hub judges them by that user's rights, and by Berth's own webhooks.

use std::collections::BTreeSet;
use std::sync::Arc;

use apiserver::lens::{Keeper, Kept};
use async_trait::async_trait;
use berth_hub::HubCommitter;
use meta::{CommitError, GroupResource, Object, Status, Verb, Write};

use crate::view::Home;

/// What a refusal for want of rights is ended with.
const REMEDY: &str = "; `berth syncer-rights --identifier` renders what is missing";

/// The hub as the home of what syncers see.
pub struct OnHub(pub Arc<HubCommitter>);

#[async_trait]
impl Keeper for OnHub {
    async fn keep(&self, write: Kept<'_>) -> Result<Arc<Object>, CommitError> {
        let made = Write {
            verb: Verb::Update,
            key: write.key.clone(),
            subresource: write.subresource,
            object: write.object,
            base: Some(write.current.revision()),
        };
        let kept = self.0.write_alone(&write.user.name, &made, write.dry_run).await;
        kept.map_err(told)
    }
}

/// The Status of what a syncer could not write; of a missing right, with the remedy.
fn told(mut error: CommitError) -> CommitError {
    // Kubernetes' own words for a missing right; what admission refuses is said otherwise.
    if error.status.code == 403 && error.status.message.contains(" cannot ") {
        error.status.message.push_str(REMEDY);
    }
    error
}

#[async_trait]
impl Home for OnHub {
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
    fn a_missing_right_is_told_with_the_remedy_and_a_refusal_of_admission_as_it_is() {
        for (said, has_remedy) in [
            (
                "users \"berth:syncer:u-1\" is forbidden: User \"berth\" cannot impersonate resource \"users\"",
                true,
            ),
            (
                "admission webhook \"namespaces.kcp.berth.dev\" denied the request: not yours",
                false,
            ),
        ] {
            let status = told(Status::failure(403, "Forbidden", said).into()).status;
            let expected = format!("{said}{}", if has_remedy { REMEDY } else { "" });
            assert_eq!((status.code, status.message), (403, expected));
        }
    }
}
