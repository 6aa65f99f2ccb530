//! etcd killed, stopped, restarted, and without its leader, while clients and watchers of two stores are at
//! work: every acknowledged write is available, every watcher received every change once and in order, and
//! the history is linearizable. Every etcd here syncs to disk, as in production.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_storage::etcd::{EtcdConfig, EtcdStore};
use berth_storage::{Limits, Store};
use etcd_client::Client;
use etcd_process::Etcd;
use workload::Workload;

#[expect(dead_code, unreachable_pub, reason = "shared with tests that need more of it")]
#[path = "../../tests/src/etcd.rs"]
mod etcd_process;
#[expect(unreachable_pub, reason = "shared with other tests")]
#[path = "support/linear.rs"]
mod linear;
#[expect(unreachable_pub, reason = "shared with other tests")]
#[path = "support/workload.rs"]
mod workload;

const CLIENTS: usize = 6;

async fn stores(members: &[Etcd]) -> Vec<Arc<dyn Store>> {
    let config = EtcdConfig::new(members.iter().map(Etcd::url));
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..2 {
        let store = EtcdStore::open(&config, Limits::default()).await;
        stores.push(Arc::new(store.expect("the store opens")));
    }
    stores
}

/// Waits until the readiness of the store is `ready`.
async fn until(store: &Arc<dyn Store>, ready: bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while store.ready().is_ok() != ready {
        assert!(Instant::now() < end, "{:?}", store.ready());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_may_be_killed_and_started_again() {
    let mut members = vec![Etcd::start_durable()];
    let stores = stores(&members).await;
    let work = Workload::start(&stores, CLIENTS);
    for _ in 0..3 {
        work.answers(150).await;
        members[0].kill();
        until(&stores[0], false).await;
        members[0].restart();
        until(&stores[0], true).await;
    }
    work.answers(150).await;
    let summary = work.finish().await;
    assert!(summary.acknowledged > 100 && summary.unknown < 200, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_may_stop_and_go_on() {
    let members = [Etcd::start_durable()];
    let stores = stores(&members).await;
    let work = Workload::start(&stores, CLIENTS);
    work.answers(150).await;
    members[0].pause();
    // Long enough that calls time out.
    until(&stores[0], false).await;
    members[0].resume();
    until(&stores[0], true).await;
    work.answers(150).await;
    let summary = work.finish().await;
    assert!(summary.acknowledged > 50, "{summary:?}");
}

/// Leader among `members`.
async fn leader(members: &[Etcd]) -> usize {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        for (index, member) in members.iter().enumerate() {
            let Ok(mut client) = Client::connect([member.url()], None).await else {
                continue;
            };
            let Ok(status) = client.status().await else {
                continue;
            };
            let own = status.header().map(etcd_client::ResponseHeader::member_id);
            if own == Some(status.leader()) {
                return index;
            }
        }
        assert!(Instant::now() < end, "nobody leads");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_members_may_lose_their_leader() {
    let mut members = Etcd::start_three();
    let stores = stores(&members).await;
    let work = Workload::start(&stores, CLIENTS);
    work.answers(150).await;
    let first = leader(&members).await;
    members[first].kill();
    work.answers(150).await;
    members[first].restart();
    let second = leader(&members).await;
    members[second].pause();
    work.answers(150).await;
    members[second].resume();
    work.answers(50).await;
    let summary = work.finish().await;
    assert!(summary.acknowledged > 100, "{summary:?}");
}
