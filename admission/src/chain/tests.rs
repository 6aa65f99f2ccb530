//! The chain: order, selection, guards that yield, what observers and the audit log hear.

use std::sync::{Arc, Mutex};

use meta::GroupResource;
use serde_json::{Value, json};

use super::*;
use crate::request::UserInfo;

struct Stamp(&'static str);

impl Plugin for Stamp {
    fn name(&self) -> &'static str {
        self.0
    }
    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
    }
    fn mutate(&self, _: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Denied> {
        if let Some(list) = object["seen"].as_array_mut() {
            list.push(self.0.into());
        }
        Ok(())
    }
    fn validate(&self, _: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denied> {
        Err(Denied::Forbidden("no".to_owned()))
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
    fn observed(&self, pass: &Observed) {
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
    chain().mutate(&request, &mut object, &mut Vec::new()).unwrap();
    assert_eq!(object["seen"], json!(["a", "b"]));
    let denied = chain()
        .validate(&request, Some(&object), &mut Vec::new())
        .unwrap_err();
    assert_eq!(denied.message, "foos.g \"x\" is forbidden: no");
    request.operation = Operation::Delete;
    assert!(chain().validate(&request, None, &mut Vec::new()).is_ok());
}

#[test]
fn guards_let_the_break_glass_group_pass_and_the_audit_log_says_so() {
    let chain = chain().with_break_glass(vec!["firefighters".to_owned()]);
    let somebody = UserInfo::default();
    assert!(
        chain
            .validate(&request(&somebody), None, &mut Vec::new())
            .is_err()
    );
    assert_eq!(
        chain.annotations(&request(&somebody), None),
        [("stamp", "a,b".to_owned())]
    );
    let firefighter = UserInfo {
        groups: vec!["firefighters".to_owned()],
        ..UserInfo::default()
    };
    assert!(
        chain
            .validate(&request(&firefighter), None, &mut Vec::new())
            .is_ok()
    );
    assert_eq!(
        chain.annotations(&request(&firefighter), None),
        [("break-glass", "a,b".to_owned())]
    );
}

#[test]
fn every_pass_is_observed_per_plugin_and_as_a_whole() {
    let notes = Arc::new(Notes::default());
    let chain = chain().observed_by(Arc::clone(&notes) as Arc<_>);
    let user = UserInfo::default();
    let mut object = json!({});
    chain
        .mutate(&request(&user), &mut object, &mut Vec::new())
        .unwrap();
    assert!(
        chain
            .validate(&request(&user), Some(&object), &mut Vec::new())
            .is_err()
    );
    let expected = [
        "a Mutate false",
        "b Mutate false",
        "chain Mutate false",
        "a Validate true",
        "chain Validate true",
    ];
    assert_eq!(*notes.0.lock().unwrap(), expected);
}
