//! Namespaces: defaults, deletion, finalizers.

use std::sync::Mutex;

use berth_admission::Chain;
use berth_admission::client::{ObjectKind, Policies, PolicyNotes, PolicyObjections, Rounds, VersionedWrite};
use berth_apimachinery::Clock;
use berth_storage::{MemoryStore, Store};
use serde_json::json;

use super::*;
use crate::core::{add_registry_subresources, groups};

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn stored(value: &Value) -> (Arc<dyn Store>, Arc<Object>) {
    let store = MemoryStore::default();
    let step = Step {
        verb: Verb::Create,
        key: Key::new(RESOURCE, "", "x"),
        subresource: "",
        object: Some(Draft::new(value).unwrap()),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    let applied = store.commit(&[step]).unwrap();
    (Arc::new(store), Arc::clone(&applied[0].object))
}

struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// The handler of `finalize` for the namespaces in `store`, with the admission by `chain`.
fn handler(store: &Arc<dyn Store>, chain: Chain) -> FinalizeHandler {
    let builder = Registry::builder(chain, Arc::new(Now));
    let mut groups = groups(store);
    add_registry_subresources(&mut groups, builder.handle());
    FinalizeHandler(builder.build(&groups).unwrap())
}

#[test]
fn a_new_one_is_active_with_its_finalizer_and_label() {
    let write = Write {
        operation: WriteOperation::Create,
        old: None,
        now: now(),
    };
    let mut new = json!({"metadata": {"name": "x"}, "status": {"phase": "Terminating"}});
    Namespace.prepare(&write, &mut new);
    assert_eq!(
        new,
        json!({"metadata": {"name": "x", "labels": {"kubernetes.io/metadata.name": "x"}},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
    );
    assert!(Namespace.validate(&write, &new).is_empty());
}

#[test]
fn an_update_cannot_touch_the_finalizers_of_the_spec() {
    let old = super::new("x", now());
    let write = Write {
        operation: WriteOperation::Update,
        old: Some(&old),
        now: now(),
    };
    let mut new = old.clone();
    new["spec"] = json!({"finalizers": ["example.com/mine"]});
    Namespace.prepare(&write, &mut new);
    assert_eq!(new["spec"], old["spec"]);
}

#[test]
fn deleting_marks_it_and_waits_for_the_finalizers() {
    let mut object = super::new("x", now());
    assert!(Namespace.hold_deletion(&mut object, now()));
    assert_eq!(object["status"]["phase"], "Terminating");
    set_finalizers(&mut object, Vec::new());
    assert!(!Namespace.hold_deletion(&mut object, now()));
}

#[test]
fn the_phase_fits_the_deletion() {
    let old = super::new("x", now());
    let write = Write {
        operation: WriteOperation::Subresource("status"),
        old: Some(&old),
        now: now(),
    };
    let mut new = old.clone();
    new["status"]["phase"] = "Terminating".into();
    let errors = Namespace.validate(&write, &new);
    let words =
        "status.phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty";
    assert_eq!(errors[0].to_string(), words);
}

#[test]
fn finalizers_are_qualified_or_the_one_known() {
    let errors = |finalizer: &str| finalizer_errors(&json!({"spec": {"finalizers": [finalizer]}}));
    assert!(errors("kubernetes").is_empty() && errors("example.com/x").is_empty());
    assert_eq!(errors("mine")[0].path, "spec.finalizers[0]");
    assert!(!errors("UPPER.com/x").is_empty() && !errors("example.com/").is_empty());
}

#[tokio::test]
async fn finalize_changes_the_finalizers_and_removes_what_is_free() {
    let mut value = super::new("x", now());
    value["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z".into();
    value["spec"]["finalizers"] = json!(["kubernetes", "example.com/x"]);
    let (store, current) = stored(&value);
    let finalize = handler(&store, Chain::default());
    let call = call("x");
    let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {}});
    assert_eq!(finalize.update(&call, stale).await.unwrap_err().code, 409);

    let body = json!({"metadata": {"resourceVersion": current.revision().to_string()},
        "spec": {"finalizers": ["example.com/x"]}});
    finalize.update(&call, body).await.unwrap();
    assert!(store.cached(RESOURCE).get("", "x").is_some());
    finalize
        .update(
            &Call {
                dry_run: true,
                ..call.clone()
            },
            json!({"spec": {}}),
        )
        .await
        .unwrap();
    assert!(store.cached(RESOURCE).get("", "x").is_some());
    finalize.update(&call, json!({"spec": {}})).await.unwrap();
    assert!(store.cached(RESOURCE).get("", "x").is_none());
    assert_eq!(
        finalize
            .update(&call, json!({"spec": {}}))
            .await
            .unwrap_err()
            .code,
        404
    );
}

#[tokio::test]
async fn finalize_refuses_the_uid_of_an_earlier_namespace() {
    let (store, current) = stored(&super::new("x", now()));
    let finalize = handler(&store, Chain::default());
    let call = call("x");
    let body = |uid: &str| json!({"metadata": {"uid": uid}, "spec": {}});
    let status = finalize.update(&call, body("earlier")).await.unwrap_err();
    let uid = current.meta().uid();
    let text = format!("Precondition failed: UID in precondition: earlier, UID in object meta: {uid}");
    assert_eq!(status.code, 409);
    assert!(status.message.ends_with(&text), "{}", status.message);
    finalize.update(&call, body(uid)).await.unwrap();
}

/// Policies that record their calls, add a finalizer, and keep the finalizer `example.com/kept`.
#[derive(Default)]
struct Keeper(Mutex<Vec<String>>);

impl Keeper {
    fn record(&self, pass: &str, write: &VersionedWrite<'_>) {
        let request = write.request;
        let ObjectKind::Own { kind, .. } = write.object_kind else {
            panic!("a body of another kind");
        };
        let (operation, kind) = (request.operation.as_str(), kind.info().kind);
        let (resource, subresource) = (request.resource.resource, request.subresource);
        let call = format!("{pass} {operation} {resource}/{subresource} {kind}");
        self.0.lock().unwrap().push(call);
    }
}

impl Policies for Keeper {
    fn concern(&self, write: &VersionedWrite<'_>) -> bool {
        write.request.resource == RESOURCE
    }

    fn mutate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: &'a mut Value,
        _: &'a mut Rounds,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        self.record("mutate", write);
        let mut finalizers = value::list(object, &["spec", "finalizers"]).to_vec();
        finalizers.push("example.com/added".into());
        set_finalizers(object, finalizers);
        Box::pin(async { Ok(()) })
    }

    fn validate<'a>(
        &'a self,
        write: &'a VersionedWrite<'a>,
        object: Option<&'a Value>,
        _: &'a mut PolicyNotes,
    ) -> PolicyObjections<'a> {
        self.record("validate", write);
        let is_kept = object.is_some_and(|object| {
            value::texts(object, &["spec", "finalizers"]).contains(&"example.com/kept")
        });
        Box::pin(async move {
            match is_kept {
                true => Ok(()),
                false => Err(Status::failure(403, "Forbidden", "it is kept")),
            }
        })
    }
}

#[tokio::test]
async fn finalize_passes_the_policies_as_an_update_of_its_subresource() {
    let mut value = super::new("x", now());
    value["spec"]["finalizers"] = json!(["kubernetes", "example.com/kept"]);
    let (store, _) = stored(&value);
    let keeper = Arc::new(Keeper::default());
    let chain = Chain::default().with_policies(Arc::clone(&keeper) as Arc<dyn Policies>);
    let finalize = handler(&store, chain);
    let finalizers = || {
        let namespace = Arc::clone(store.cached(RESOURCE).get("", "x").unwrap());
        namespace.value()["spec"]["finalizers"].clone()
    };
    let refused = finalize
        .update(&call("x"), json!({"spec": {}}))
        .await
        .unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (403, "it is kept"));
    assert_eq!(finalizers(), json!(["kubernetes", "example.com/kept"]));
    let body = json!({"spec": {"finalizers": ["example.com/kept"]}});
    finalize.update(&call("x"), body).await.unwrap();
    assert_eq!(finalizers(), json!(["example.com/kept", "example.com/added"]));
    let calls = [
        "mutate UPDATE namespaces/finalize Namespace",
        "validate UPDATE namespaces/finalize Namespace",
    ];
    assert_eq!(*keeper.0.lock().unwrap(), [calls, calls].concat());
}

#[tokio::test]
async fn finalize_refuses_an_invalid_finalizer() {
    let (store, _) = stored(&super::new("x", now()));
    let finalize = handler(&store, Chain::default());
    let body = json!({"spec": {"finalizers": ["mine"]}});
    let refused = finalize.update(&call("x"), body).await.unwrap_err();
    assert_eq!(refused.code, 422);
    assert!(
        refused.message.contains("spec.finalizers[0]"),
        "{}",
        refused.message
    );
}

struct Nobody;

#[async_trait]
impl berth_apiserver::Authorizer for Nobody {
    async fn authorize(
        &self,
        _: &berth_apiserver::Attributes,
    ) -> Result<berth_apiserver::Access, berth_apiserver::DelegationError> {
        Ok(berth_apiserver::Access::NoOpinion(String::new()))
    }
}

fn call(name: &str) -> Call {
    Call {
        manager: "test".to_owned(),
        user: berth_admission::UserInfo::default(),
        version: "v1".to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
        now: now(),
        query: berth_apiserver::Query::default(),
        dry_run: false,
        warnings: berth_apiserver::Warnings::default(),
        annotations: berth_apiserver::Annotations::default(),
        authorizer: Arc::new(Nobody),
    }
}
