//! Writes of kcp's syncers, carried out on the hub as `berth:syncer:<identifier>` on the state that the syncer saw. The
//! hub judges them by that user's rights, and by Berth's own webhooks.

use std::collections::BTreeSet;
use std::sync::Arc;

use apiserver::lens::{Keeper, Kept};
use async_trait::async_trait;
use dialect_contract::{Write, WriteVerb};
use engine::CommitError;
use meta::{GroupResource, Object, Status};
use serde_json::Value;

use super::commits::HubCommitter;
use super::wire;
use crate::syncer_view::Home;

/// What a refusal for want of rights is ended with.
const REMEDY: &str = "; `berth syncer-rights --identifier` renders what is missing";

#[async_trait]
impl Keeper for HubCommitter {
    async fn keep(&self, write: Kept<'_>) -> Result<Arc<Object>, Status> {
        let made = Write {
            verb: WriteVerb::Update,
            key: write.key.clone(),
            subresource: write.subresource,
            object: write.object,
            base: Some(write.current.revision()),
        };
        let kept = self.write_alone(&write.user.name, &made, write.dry_run).await;
        kept.map_err(|error| match error {
            CommitError::Moved(status) => status,
            CommitError::Refused(mut status) => {
                // Kubernetes' own words for a missing right; what admission refuses is said otherwise.
                if status.code == 403 && status.message.contains(" cannot ") {
                    status.message.push_str(REMEDY);
                }
                status
            }
        })
    }
}

#[async_trait]
impl Home for HubCommitter {
    async fn labelled(
        &self,
        api_version: &str,
        resource: GroupResource,
        namespace: &str,
        label: &str,
    ) -> Result<BTreeSet<String>, Status> {
        let all = wire::collection(api_version, resource, namespace);
        // A label key has `/`, which may stand in a query as it is.
        let list = self.read(&format!("{all}?labelSelector={label}")).await?;
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name = |item: &Value| item["metadata"]["name"].as_str().map(str::to_owned);
        Ok(items.iter().filter_map(name).collect())
    }
}
