//! The chain: order, selection, guards that yield, and the input of observers and the audit log.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use berth_apimachinery::GroupResource;
use serde_json::{Value, json};

use super::*;
use crate::plugin::Requirements;
use crate::request::{Denial, UserInfo};
use crate::rights::{RequiredRight, Right, RightCheck, RightCheckError};

struct Stamp(&'static str);

impl Plugin for Stamp {
    fn name(&self) -> &'static str {
        self.0
    }
    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
    }
    fn mutate(&self, _: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Denial> {
        if let Some(list) = object["seen"].as_array_mut() {
            list.push(self.0.into());
        }
        Ok(())
    }
    fn validate(&self, _: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denial> {
        Err(Denial::Forbidden("no".to_owned()))
    }
    fn is_guard(&self) -> bool {
        true
    }
    fn annotate(&self, _: &Request<'_>, _: Option<&Value>) -> Vec<(&'static str, String)> {
        vec![("stamp", self.0.to_owned())]
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn observed(&self, pass: &PluginPass) {
        let text = format!(
            "{} {:?} {}",
            pass.plugin.unwrap_or("chain"),
            pass.phase,
            pass.rejected
        );
        self.0.lock().unwrap().push(text);
    }
}

fn request(user: &UserInfo) -> Request<'_> {
    Request {
        operation: Operation::Create,
        resource: GroupResource::new("g", "foos"),
        kind: "Foo",
        subresource: "",
        namespace: "",
        name: "x",
        user,
        old: None,
        dry_run: false,
    }
}

fn chain() -> Chain {
    Chain::new(vec![Arc::new(Stamp("a")), Arc::new(Stamp("b"))])
}

#[test]
fn plugins_run_in_order_and_only_where_they_handle() {
    let user = UserInfo::default();
    let mut request = request(&user);
    let mut object = json!({"seen": []});
    let chain = chain();
    let plugins = chain.plugins_for(&request);
    plugins.mutate(&mut object, &mut Vec::new()).unwrap();
    assert_eq!(object["seen"], json!(["a", "b"]));
    let denied = plugins.validate(Some(&object), &mut Vec::new()).unwrap_err();
    assert_eq!(denied.message, "foos.g \"x\" is forbidden: no");
    request.operation = Operation::Delete;
    assert!(
        chain
            .plugins_for(&request)
            .validate(None, &mut Vec::new())
            .is_ok()
    );
}

#[test]
fn guards_let_the_break_glass_group_pass_and_the_audit_log_says_so() {
    let chain = chain().with_break_glass(vec!["firefighters".to_owned()]);
    let somebody = UserInfo::default();
    let write = request(&somebody);
    let plugins = chain.plugins_for(&write);
    assert!(plugins.validate(None, &mut Vec::new()).is_err());
    assert_eq!(plugins.annotations(None), [("stamp", "a,b".to_owned())]);
    let firefighter = UserInfo {
        groups: vec!["firefighters".to_owned()],
        ..UserInfo::default()
    };
    let write = request(&firefighter);
    let plugins = chain.plugins_for(&write);
    assert!(plugins.validate(None, &mut Vec::new()).is_ok());
    assert_eq!(plugins.annotations(None), [("break-glass", "a,b".to_owned())]);
}

#[test]
fn every_pass_is_observed_per_plugin_and_as_a_whole() {
    let notes = Arc::new(Notes::default());
    let chain = chain().observed_by(Arc::clone(&notes) as Arc<_>);
    let user = UserInfo::default();
    let mut object = json!({});
    let request = request(&user);
    let plugins = chain.plugins_for(&request);
    plugins.mutate(&mut object, &mut Vec::new()).unwrap();
    assert!(plugins.validate(Some(&object), &mut Vec::new()).is_err());
    let expected = [
        "a Mutate false",
        "b Mutate false",
        "chain Mutate false",
        "a Validate true",
        "chain Validate true",
    ];
    assert_eq!(*notes.0.lock().unwrap(), expected);
}

/// Requires a right from every writer.
struct Doorman;

impl Plugin for Doorman {
    fn name(&self) -> &'static str {
        "doorman"
    }
    fn handles(&self, _: &Request<'_>) -> bool {
        true
    }
    fn needs(&self, _: &Request<'_>, _: Option<&Value>) -> Vec<RequiredRight> {
        ["read", "enter"]
            .map(|verb| {
                let right = Right {
                    verb: verb.to_owned(),
                    resource: "foos".to_owned(),
                    ..Right::default()
                };
                RequiredRight::or_forbidden(right, format!("you may not {verb}"))
            })
            .to_vec()
    }
}

/// Allows everyone to read, and ada to enter; fails for bob.
struct Registry;

impl RightChecker for Registry {
    fn has<'a>(&'a self, user: &'a UserInfo, right: &'a Right) -> RightCheck<'a> {
        let answer = match user.name.as_str() {
            "bob" => Err(RightCheckError("who is bob?".to_owned())),
            name => Ok(right.verb == "read" || name == "ada"),
        };
        Box::pin(async { answer })
    }
}

/// Result of `future`, which is ready at once.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn a_write_that_needs_a_right_passes_with_it_only() {
    let notes = Arc::new(Notes::default());
    let chain = Chain::new(vec![Arc::new(Doorman)])
        .with_right_checker(Arc::new(Registry))
        .observed_by(Arc::clone(&notes) as Arc<_>);
    let ask = |chain: &Chain, name: &str| {
        let user = UserInfo {
            name: name.to_owned(),
            ..UserInfo::default()
        };
        let request = request(&user);
        let plugins = chain.plugins_for(&request);
        at_once(plugins.check_rights(None)).map_err(|status| (status.code, status.message))
    };
    assert_eq!(ask(&chain, "ada"), Ok(()));
    assert_eq!(
        ask(&chain, "eve"),
        Err((403, "foos.g \"x\" is forbidden: you may not enter".to_owned()))
    );
    let (code, text) = ask(&chain, "bob").unwrap_err();
    assert_eq!(code, 500, "{text}");
    assert!(
        text.contains("cannot check whether user \"bob\" may read foos: who is bob?"),
        "{text}"
    );
    assert_eq!(
        *notes.0.lock().unwrap(),
        [
            "doorman Validate false",
            "doorman Validate true",
            "doorman Validate true"
        ]
    );
    let nobody = Chain::new(vec![Arc::new(Doorman)]);
    assert_eq!(
        ask(&nobody, "ada").unwrap_err().0,
        500,
        "nothing passes for want of somebody to ask"
    );
}

/// Judges each write anew. By the first verdict a write needs the right to enter, by later verdicts none.
#[derive(Default)]
struct Fickle(AtomicUsize);

impl Plugin for Fickle {
    fn name(&self) -> &'static str {
        "fickle"
    }
    fn handles(&self, _: &Request<'_>) -> bool {
        true
    }
    fn needs(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<RequiredRight> {
        self.requirements(request, object).rights
    }
    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        self.requirements(request, object).guards
    }
    fn requirements(&self, request: &Request<'_>, object: Option<&Value>) -> Requirements {
        let verdict = self.0.fetch_add(1, Ordering::Relaxed);
        let mut rights = Doorman.needs(request, object);
        rights.retain(|needed| verdict == 0 && needed.right.verb == "enter");
        let guards = vec![Guard::pass(format!("verdict-{verdict}").into())];
        Requirements { rights, guards }
    }
}

#[test]
fn rights_and_guards_of_a_stored_write_come_from_one_verdict() {
    let ask = |name: &str| {
        let fickle = Arc::new(Fickle::default());
        let plugins = vec![Arc::clone(&fickle) as Arc<dyn Plugin>];
        let chain = Chain::new(plugins).with_right_checker(Arc::new(Registry));
        let user = UserInfo {
            name: name.to_owned(),
            ..UserInfo::default()
        };
        let request = request(&user);
        let result = at_once(chain.plugins_for(&request).check_rights_to_store(None));
        assert_eq!(fickle.0.load(Ordering::Relaxed), 1, "verdicts");
        result.map_err(|status| status.code)
    };
    assert_eq!(ask("ada"), Ok(vec![Guard::pass("verdict-0".into())]));
    assert_eq!(ask("eve"), Err(403));
}
