//! Compaction of etcd, which otherwise keeps every revision. Every replica tries once per interval. A key
//! elects one replica, so that history is kept for one to two intervals, for any number of replicas.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Revision;
use etcd_client::{Compare, CompareOp, Txn, TxnOp, TxnOpResponse};
use tokio::time::sleep;

use crate::etcd::layout::Layout;
use crate::etcd::link::{Failure, Link, header_revision, number};

/// State at the last interval.
#[derive(Clone, Copy, Default)]
struct IntervalState {
    /// Version of the key `compacted`.
    version: i64,
    /// Newest revision at the last interval: older revisions may be compacted now.
    revision: Revision,
}

/// Tries to compact etcd once per `interval`, until the future is dropped.
pub(crate) async fn run(link: Arc<Link>, layout: Layout, interval: Duration) {
    let mut state = IntervalState::default();
    loop {
        sleep(interval).await;
        match compact(&link, &layout, state).await {
            Ok(next) => state = next,
            Err(failure) => tracing::warn!(
                problem = failure.text(),
                "cannot compact etcd, so that it keeps old revisions; trying again after the compaction interval"
            ),
        }
    }
}

/// Claims the compaction of this interval and, if no other replica did, compacts etcd up to the revision in
/// `state`. Returns the state for the next interval.
async fn compact(link: &Link, layout: &Layout, state: IntervalState) -> Result<IntervalState, Failure> {
    let key = layout.compacted();
    let claim = Txn::new()
        .when([Compare::version(key, CompareOp::Equal, state.version)])
        .and_then([TxnOp::put(key, state.revision.to_string(), None)])
        .or_else([TxnOp::get(key, None)]);
    let answer = link.write(claim).await?;
    let revision = header_revision(answer.header());
    if !answer.succeeded() {
        let version = answer
            .op_responses()
            .first()
            .map_or(0, |response| match response {
                TxnOpResponse::Get(got) => got.kvs().first().map_or(0, etcd_client::KeyValue::version),
                _ => 0,
            });
        return Ok(IntervalState { version, revision });
    }
    let next = IntervalState {
        version: state.version + 1,
        revision,
    };
    if state.revision > Revision(0) {
        let compacting =
            |mut kv: etcd_client::KvClient| async move { kv.compact(number(state.revision), None).await };
        match link.read(compacting).await {
            // Another client, such as a kube-apiserver with the same etcd, was faster.
            Ok(_) | Err(Failure::Compacted) => {
                tracing::debug!(revision = %state.revision, "etcd is compacted")
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(next)
}
