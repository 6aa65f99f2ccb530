//! Consulted plugins, after our own admission: the time of the calls, their input, and their changes.

use std::sync::Mutex;

use berth_admission::client::{ObjectKind, Policies, PolicyNotes, PolicyObjections, Rounds, VersionedWrite};
use berth_apimachinery::write::{Verb, Write};
use berth_apimachinery::{Key, Object, Status};
use berth_storage::Limits;

use super::*;
use crate::registry::Author;

/// Records its calls, labels objects, tries to change protected fields, and refuses one color.
#[derive(Default)]
struct Others(Mutex<Vec<String>>);

impl Others {
    fn note(&self, pass: &str, write: &VersionedWrite<'_>, object: &Value) {
        let request = write.request;
        let kind = match write.object_kind {
            ObjectKind::Own { kind, .. } => kind.info().kind,
            ObjectKind::Unconverted { kind, .. } => kind,
        };
        let (resource, subresource) = (request.resource.resource, request.subresource);
        let (operation, version) = (request.operation.as_str(), write.version);
        let shape = &object["spec"]["shape"];
        let text = format!("{pass} {operation} {version} {resource}/{subresource} {kind} {shape}");
        self.0.lock().unwrap().push(text);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Policies for Others {
    fn concern(&self, write: &VersionedWrite<'_>) -> bool {
        write.request.resource.resource != "gadgets"
    }
    fn mutate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: &'a mut Value,
        _: &'a mut Rounds,
        recorded: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.note("mutate", write, object);
            if !object.is_null() {
                object["metadata"]["labels"]["policy"] = "seen".into();
                object["metadata"]["uid"] = "made-up".into();
                object["metadata"]["generation"] = 99.into();
                object["status"]["phase"] = "made-up".into();
            }
            recorded.warnings.push("they looked".to_owned());
            recorded
                .annotations
                .push(("theirs/key".to_owned(), "value".to_owned()));
            Ok(())
        })
    }
    fn validate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: Option<&'a Value>,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.note("validate", write, object.unwrap_or(&Value::Null));
            let judged = object.or(write.request.old);
            if judged.is_some_and(|object| object["spec"]["color"] == "grey") {
                return Err(Status::failure(403, "Forbidden", "they do not like grey"));
            }
            Ok(())
        })
    }
}

fn client() -> (Client, Arc<Others>) {
    let (toys, others) = (toys::Toys::new(Limits::default()), Arc::new(Others::default()));
    let chain = toys.chain().with_policies(Arc::clone(&others) as Arc<_>);
    (Client::over(toys, chain), others)
}

#[tokio::test]
async fn others_see_a_create_with_its_defaults_and_change_only_what_its_user_could() {
    let (client, others) = client();
    let answer = client.post(WIDGETS, &widget("a")).await;
    let made = answer.expect(201);
    assert_eq!(made["metadata"]["labels"]["policy"], "seen");
    assert_eq!(made["metadata"]["annotations"]["creator"], "alice");
    assert_ne!(made["metadata"]["uid"], "made-up");
    assert_eq!(
        (&made["metadata"]["generation"], &made["status"]["phase"]),
        (&json!(1), &json!("Pending"))
    );
    assert_eq!(answer.warnings, ["they looked"]);
    assert_eq!(
        others.take(),
        [
            "mutate CREATE v1 widgets/ Widget \"round\"",
            "validate CREATE v1 widgets/ Widget \"round\""
        ]
    );
}

#[tokio::test]
async fn a_refusal_of_others_keeps_the_write_out() {
    let (client, _) = client();
    let mut grey = widget("a");
    grey["spec"]["color"] = "grey".into();
    let message = client.post(WIDGETS, &grey).await.refusal(403, "Forbidden");
    assert_eq!(message, "they do not like grey");
    client.get(&at("a")).await.expect(404);
    // Our own rules come first, so plugins are not consulted about objects that we refuse.
    let (client, others) = self::client();
    client.post(WIDGETS, &widget("forbidden")).await.expect(403);
    assert_eq!(others.take(), ["mutate CREATE v1 widgets/ Widget \"round\""]);
}

#[tokio::test]
async fn updates_status_and_deletes_are_asked_about_and_reads_are_not() {
    let (client, others) = client();
    let made = client.widget("a").await;
    others.take();
    client.get(&at("a")).await.expect(200);
    client.get(WIDGETS).await.expect(200);
    assert_eq!(others.take(), Vec::<String>::new());
    let beta = "/apis/toys.example.com/v1beta1/namespaces/default/widgets/a";
    let patched = client
        .merge(beta, &json!({"spec": {"size": 3}}))
        .await
        .expect(200);
    assert_eq!(patched["status"]["phase"], "Pending", "no update of the status");
    assert_eq!(patched["metadata"]["uid"], made["metadata"]["uid"]);
    let path = format!("{}/status", at("a"));
    let ready = json!({"status": {"phase": "Ready"}});
    let reported = client.merge(&path, &ready).await.expect(200);
    assert_eq!(
        reported["status"]["phase"], "made-up",
        "the write is about the status"
    );
    for field in ["uid", "generation"] {
        assert_eq!(reported["metadata"][field], patched["metadata"][field]);
    }
    client.delete(&at("a")).await.expect(200);
    assert_eq!(
        others.take(),
        [
            "mutate UPDATE v1beta1 widgets/ Widget \"round\"",
            "validate UPDATE v1beta1 widgets/ Widget \"round\"",
            "mutate UPDATE v1 widgets/status Widget \"round\"",
            "validate UPDATE v1 widgets/status Widget \"round\"",
            "mutate DELETE v1 widgets/ Widget null",
            "validate DELETE v1 widgets/ Widget null",
        ]
    );
}

#[tokio::test]
async fn a_delete_can_be_refused_by_others() {
    let (first, _) = client();
    let plain = Client::over(first.toys, Chain::default());
    let mut grey = widget("a");
    grey["spec"]["color"] = "grey".into();
    plain.post(WIDGETS, &grey).await.expect(201);
    let chain = Chain::default().with_policies(Arc::new(Others::default()));
    let second = Client::over(plain.toys, chain);
    let message = second.delete(&at("a")).await.refusal(403, "Forbidden");
    assert_eq!(message, "they do not like grey");
    second.get(&at("a")).await.expect(200);
}

#[tokio::test]
async fn what_does_not_concern_them_passes_unseen_and_the_audit_log_hears_the_rest() {
    let (client, others) = client();
    let gadget = json!({"apiVersion": "toys.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}});
    client.post(GADGETS, &gadget).await.expect(201);
    assert_eq!(others.take(), Vec::<String>::new());
    let body = widget("a").to_string();
    let request = Client::request(
        "POST",
        WIDGETS,
        &[("content-type", "application/json")],
        body.as_bytes(),
    );
    let annotations = request.annotations.clone();
    client.api.answer(&request).await.unwrap();
    assert_eq!(annotations.all()["theirs/key"], "value");
}

/// Records the managed fields, and corrupts them if the color is brown.
#[derive(Default)]
struct Curious(Mutex<Vec<Value>>);

impl Policies for Curious {
    fn concern(&self, _: &VersionedWrite<'_>) -> bool {
        true
    }
    fn mutate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: &'a mut Value,
        _: &'a mut Rounds,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async move {
            let old = write.request.old.map_or(Value::Null, managed);
            self.0.lock().unwrap().extend([old, managed(object)]);
            object["spec"]["size"] = 7.into();
            if object["spec"]["color"] == "brown" {
                object["metadata"]["managedFields"][0]["operation"] = "Foo".into();
            }
            Ok(())
        })
    }
    fn validate<'a>(
        &'a self,
        _: &'a VersionedWrite<'a>,
        object: Option<&'a Value>,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async move {
            self.0
                .lock()
                .unwrap()
                .push(managed(object.unwrap_or(&Value::Null)));
            Ok(())
        })
    }
}

fn managed(object: &Value) -> Value {
    object["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].clone()
}

#[tokio::test]
async fn others_see_managed_fields_and_what_they_change_is_nobodys() {
    let (toys, others) = (toys::Toys::new(Limits::default()), Arc::new(Curious::default()));
    let chain = toys.chain().with_policies(Arc::clone(&others) as Arc<_>);
    let client = Client::over(toys, chain);
    let path = format!("{}?fieldManager=a", at("a"));
    let apply = async |color: &str| {
        let body = json!({"apiVersion": "toys.example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
            "spec": {"color": color}});
        client.patch(&path, "apply-patch+yaml", &body.to_string()).await
    };
    let made = apply("red").await.expect(201);
    assert_eq!(made["spec"]["size"], 7);
    let own = json!({"f:color": {}});
    assert_eq!(managed(&made), own);
    assert_eq!(
        std::mem::take(&mut *others.0.lock().unwrap()),
        [Value::Null, own.clone(), own.clone()]
    );
    assert_eq!(apply("red").await.expect(200), made, "nothing is written");
    assert_eq!(
        std::mem::take(&mut *others.0.lock().unwrap()),
        vec![own.clone(); 3]
    );
    let broken = apply("brown").await;
    assert_eq!(managed(&broken.expect(200)), own);
    assert!(
        broken.warnings[0].starts_with(".metadata.managedFields was in an invalid state after admission"),
        "{:?}",
        broken.warnings
    );
}

/// Records connections, and refuses those to blue widgets.
#[derive(Default)]
struct Door(Mutex<Vec<String>>);

impl Policies for Door {
    fn concern(&self, write: &VersionedWrite<'_>) -> bool {
        write.request.operation == berth_admission::Operation::Connect
    }
    fn mutate<'a>(
        &'a self,
        _: &'a VersionedWrite<'a>,
        _: &'a mut Value,
        _: &'a mut Rounds,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async { Ok(()) })
    }
    fn validate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: Option<&'a Value>,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async move {
            let request = write.request;
            let (name, subresource, user) = (request.name, request.subresource, &request.user.name);
            let options = object.map(Value::to_string).unwrap_or_default();
            let text = format!("{user} to {name}/{subresource}: {options}");
            self.0.lock().unwrap().push(text);
            match name {
                "blue" => Err(Status::failure(403, "Forbidden", "the door is shut")),
                _ => Ok(()),
            }
        })
    }
}

#[tokio::test]
async fn others_are_asked_about_every_request_to_a_proxy_and_may_refuse_it() {
    let (toys, door) = (toys::Toys::new(Limits::default()), Arc::new(Door::default()));
    let chain = toys.chain().with_policies(Arc::clone(&door) as Arc<_>);
    let client = Client::over(toys, chain);
    let proxy = |name: &str, below: &str| format!("/apis/toys.example.com/v1/gadgets/{name}/proxy{below}");
    let below = "/apis/toys.example.com/v1/widgets";
    client.get(&proxy("red", below)).await.expect(200);
    client.get(&proxy("red", "/version")).await.expect(200);
    let refused = client.get(&proxy("blue", below)).await;
    assert_eq!(refused.refusal(403, "Forbidden"), "the door is shut");
    let options = |path: &str| {
        format!(r#"{{"apiVersion":"toys.example.com/v1","kind":"GadgetProxyOptions","path":"{path}"}}"#)
    };
    assert_eq!(
        *door.0.lock().unwrap(),
        [
            format!("alice to red/proxy: {}", options(below)),
            format!("alice to red/proxy: {}", options("/version")),
            format!("alice to blue/proxy: {}", options(below)),
        ]
    );
}

/// Labels every widget, and changes its size and its status if configured.
struct Bending {
    everything: bool,
}

impl Policies for Bending {
    fn concern(&self, _: &VersionedWrite<'_>) -> bool {
        true
    }
    fn mutate<'a>(
        &'a self,
        _: &'a VersionedWrite<'a>,
        object: &'a mut Value,
        rounds: &'a mut Rounds,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async move {
            object["metadata"]["labels"]["policy"] = "seen".into();
            if self.everything {
                object["spec"]["size"] = 9.into();
                object["status"]["phase"] = "bent".into();
            }
            rounds.record_call(("bend".into(), 0), false, true);
            Ok(())
        })
    }
    fn validate<'a>(
        &'a self,
        _: &'a VersionedWrite<'a>,
        _: Option<&'a Value>,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        Box::pin(async { Ok(()) })
    }
}

/// Commits a write of the process to the widget `a`.
async fn commit(
    client: &Client,
    verb: Verb,
    subresource: &'static str,
    object: &Value,
) -> Result<Vec<Arc<Object>>, Status> {
    let robot = UserInfo {
        name: "robot".to_owned(),
        ..UserInfo::default()
    };
    let author = Author {
        user: &robot,
        manager: "robots",
        cause: Some("a test"),
    };
    let write = Write {
        verb,
        key: Key::new(GroupResource::new(toys::GROUP, "widgets"), "default", "a"),
        subresource,
        object: object.clone(),
        base: None,
    };
    let registry = client.api.registry();
    let result = registry.commit(author, vec![write], Vec::new(), false).await;
    result.map_err(|error| error.status)
}

#[tokio::test]
async fn a_write_of_the_process_is_stored_as_it_was_decided_or_not_at_all() {
    for everything in [false, true] {
        let toys = toys::Toys::new(Limits::default());
        let chain = toys.chain().with_policies(Arc::new(Bending { everything }));
        let client = Client::over(toys, chain);
        let mut object = widget("a");
        object["spec"]["size"] = 3.into();
        let result = commit(&client, Verb::Create, "", &object).await;
        if !everything {
            assert_eq!(result.unwrap()[0].parse()["metadata"]["labels"]["policy"], "seen");
            continue;
        }
        let status = result.unwrap_err();
        assert_eq!(status.code, 403);
        assert!(
            status.message.contains("spec.size")
                && status.message.contains("bend")
                && status.message.contains("robot"),
            "{}",
            status.message
        );
        client.get(&at("a")).await.expect(404);
        // The plugin may change a user's own write, since it is not decided yet.
        let made = client.post(WIDGETS, &object).await.expect(201);
        assert_eq!(made["spec"]["size"], 9);
    }
}

#[tokio::test]
async fn a_status_that_the_process_decided_is_stored_as_it_was_decided_or_not_at_all() {
    for everything in [false, true] {
        let plain = Client::new();
        plain.widget("a").await;
        let chain = plain.toys.chain().with_policies(Arc::new(Bending { everything }));
        let client = Client::over(plain.toys, chain);
        let mut ready = widget("a");
        ready["status"] = json!({"phase": "Ready"});
        let result = commit(&client, Verb::Update, "status", &ready).await;
        if everything {
            let status = result.unwrap_err();
            assert_eq!(status.code, 403);
            assert!(status.message.contains("status.phase"), "{}", status.message);
        } else {
            assert_eq!(result.unwrap()[0].parse()["status"]["phase"], "Ready");
        }
        let stored = client.get(&at("a")).await.expect(200);
        let expected = if everything { "Pending" } else { "Ready" };
        assert_eq!(stored["status"]["phase"], expected);
    }
}
