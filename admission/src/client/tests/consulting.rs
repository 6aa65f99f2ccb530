//! Rounds, and the chain that consults webhooks.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use berth_apimachinery::Status;
use serde_json::{Value, json};

use super::*;
use crate::chain::Chain;
use crate::plugin::Plugin;
use crate::request::Denial;

fn id(index: usize) -> HookId {
    (Arc::from("c"), index)
}

#[test]
fn who_is_willing_is_called_again_when_somebody_later_changed_the_object() {
    let mut rounds = Rounds::default();
    rounds.record_call(id(0), true, true);
    rounds.record_call(id(1), false, false);
    rounds.record_call(id(2), true, true);
    let object = json!({"a": 1});
    rounds.end_round(&object);
    assert!(rounds.begin_second_round(&object));
    assert_eq!(rounds.number(), 1);
    let called: Vec<usize> = (0..3).filter(|index| rounds.includes(&id(*index))).collect();
    assert_eq!(called, [0], "not who is unwilling, and not who changed it last");
}

#[test]
fn our_own_later_changes_concern_everyone_who_is_willing() {
    let mut rounds = Rounds::default();
    rounds.record_call(id(0), true, true);
    rounds.record_call(id(1), false, false);
    rounds.end_round(&json!({"a": 1}));
    assert!(rounds.begin_second_round(&json!({"a": 2})));
    assert!(rounds.includes(&id(0)) && !rounds.includes(&id(1)));
}

#[test]
fn nobody_is_called_again_when_nobody_has_to() {
    let mut rounds = Rounds::default();
    rounds.record_call(id(0), true, true);
    rounds.record_call(id(1), true, false);
    let object = json!({});
    rounds.end_round(&object);
    assert!(rounds.changed() && !rounds.begin_second_round(&object));
}

/// Records who reads an object.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

struct Ours(Log);

impl Plugin for Ours {
    fn name(&self) -> &'static str {
        "Ours"
    }
    fn handles(&self, _: &Request<'_>) -> bool {
        true
    }
    fn mutate(&self, _: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Denial> {
        self.0.note("ours");
        object["ours"] = true.into();
        Ok(())
    }
}

/// Changes the object once, and requests a second round.
struct Theirs(Log);

impl Policies for Theirs {
    fn concern(&self, write: &VersionedWrite<'_>) -> bool {
        write.request.subresource != "quiet"
    }
    fn mutate<'a>(
        &'a self,
        _: &'a VersionedWrite<'a>,
        object: &'a mut Value,
        rounds: &'a mut Rounds,
        recorded: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async move {
            self.0
                .note(&format!("theirs {} {}", rounds.number(), object["ours"]));
            recorded.warnings.push("w".to_owned());
            let changed = object["theirs"].is_null();
            object["theirs"] = true.into();
            if let Some(fields) = object.as_object_mut() {
                fields.remove("ours");
            }
            rounds.record_call(id(0), true, changed);
            rounds.end_round(object);
            Ok(())
        })
    }
    fn validate<'a>(
        &'a self,
        _: &'a VersionedWrite<'a>,
        object: Option<&'a Value>,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        let status = denied(
            "t",
            &Answer {
                allowed: false,
                status: None,
                patch: None,
                warnings: vec![],
                annotations: vec![],
            },
        );
        Box::pin(async move { object.map_or(Ok(()), |_| Err(status)) })
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("nothing here waits"),
    }
}

#[test]
fn what_others_change_is_seen_again_by_us_and_then_by_them() {
    let (user, foo, log) = (UserInfo::default(), Foo::new(), Log::default());
    let chain = Chain::new(vec![Arc::new(Ours(log.clone()))]).with_policies(Arc::new(Theirs(log.clone())));
    let asked = create(&user);
    let write = about(&asked, &foo, "v1");
    let (mut object, mut recorded) = (json!({}), PolicyNotes::default());
    let plugins = chain.plugins_for(&asked);
    plugins.mutate(&mut object, &mut recorded.warnings).unwrap();
    now(chain.mutate_by_policies(&write, &mut object, &mut recorded)).unwrap();
    assert_eq!(
        *log.0.lock().unwrap(),
        ["ours", "theirs 0 true", "ours", "theirs 1 true"]
    );
    assert_eq!(recorded.warnings, ["w", "w"]);
    let refused: Result<(), Status> = now(chain.validate_by_policies(&write, Some(&object), &mut recorded));
    assert_eq!(refused.unwrap_err().code, 400);
    assert!(chain.consults(&write));
    let quiet = Request {
        subresource: "quiet",
        ..create(&user)
    };
    let quiet = about(&quiet, &foo, "v1");
    assert!(!chain.consults(&quiet));
    now(chain.validate_by_policies(&quiet, Some(&object), &mut recorded)).unwrap();
}

#[test]
fn a_chain_without_others_asks_nobody() {
    let (user, foo) = (UserInfo::default(), Foo::new());
    let asked = create(&user);
    let write = about(&asked, &foo, "v1");
    let (mut object, mut recorded) = (json!({}), PolicyNotes::default());
    now(Chain::default().mutate_by_policies(&write, &mut object, &mut recorded)).unwrap();
    assert_eq!((object, recorded), (json!({}), PolicyNotes::default()));
}
