//! Expired rules, and the watches that use them.

use std::sync::atomic::AtomicBool;

use berth_apimachinery::Revision;
use berth_storage::{Scope, Source, StoreError};
use tokio::sync::Notify;

use super::*;
use crate::view::ViewSource;

/// The view of a team with a limited lifetime.
struct ForAWhile {
    team: Team,
    since: Revision,
    holds: Arc<AtomicBool>,
    ended: Arc<Notify>,
}

#[async_trait]
impl ViewRules for ForAWhile {
    fn is_visible(&self, object: &Object) -> bool {
        self.team.is_visible(object)
    }

    fn show(&self, object: &Arc<Object>) -> Arc<Object> {
        self.team.show(object)
    }

    fn valid_from(&self) -> Revision {
        self.since
    }

    fn are_valid(&self) -> bool {
        self.holds.load(Ordering::SeqCst)
    }

    async fn wait_until_invalid(&self) {
        self.ended.notified().await;
    }

    fn user(&self) -> &UserInfo {
        self.team.user()
    }

    fn write(&self, key: &Key, stored: &Value, written: &Value, subresource: &str) -> Result<Value, Denial> {
        self.team.write(key, stored, written, subresource)
    }
}

#[tokio::test]
async fn a_watch_ends_when_its_rules_do_and_does_not_begin_before_them() {
    let client = Client::new();
    client.team_widget("a", "red").await;
    let registry = Arc::clone(client.api.registry());
    let served = Arc::clone(registry.index().preferred(WIDGET).unwrap());
    let (holds, ended) = (Arc::new(AtomicBool::new(true)), Arc::new(Notify::new()));
    let since = served.source().unwrap().revision();
    let rules: Arc<dyn ViewRules> = Arc::new(ForAWhile {
        team: Team {
            name: "red".to_owned(),
            user: UserInfo::default(),
            lender: None,
        },
        since,
        holds: Arc::clone(&holds),
        ended: Arc::clone(&ended),
    });
    let source = ViewSource::new(&registry, &rules, &served);
    let scope = || Scope::One(WIDGET);
    let is_over = |error: &StoreError| matches!(error, StoreError::Expired { .. });
    let early = source.watch(scope(), Revision(since.0 - 1)).err().unwrap();
    assert!(is_over(&early), "{early}");

    // An idle watch is woken.
    let mut idle = source.watch(scope(), since).unwrap();
    ended.notify_one();
    let over = idle.next(10).await.unwrap_err();
    assert!(is_over(&over), "{over}");

    // A watch with pending events does not return them under expired rules.
    let mut watch = source.watch(scope(), since).unwrap();
    client.team_widget("b", "red").await;
    assert_eq!(watch.next(10).await.unwrap().len(), 1);
    holds.store(false, Ordering::SeqCst);
    client.team_widget("c", "red").await;
    let over = watch.next(10).await.unwrap_err();
    assert!(is_over(&over), "{over}");
}
