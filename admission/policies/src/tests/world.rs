//! The world of the tests, and its kind.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use berth_admission::client::{ObjectKind, Policies, PolicyNotes, Rounds, VersionedWrite};
use berth_admission::{Operation, Request, UserInfo};
use berth_apimachinery::{GroupResource, Kind, KindInfo, Schema, Status};
use berth_cel::{Decision, Review};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::surroundings::{AccessReviewer, Catalog, Check, Params, PendingReview, Surroundings};
use crate::{Enforcer, ParamError, ParamKind, StoredSet};

static INFO: KindInfo = KindInfo {
    singular: "foo",
    ..KindInfo::new("g.example", &["v1", "v1beta1"], "Foo", "foos")
};

/// The fields of a Foo.
#[derive(JsonSchema)]
struct Fields {
    #[expect(dead_code, reason = "the schema alone is used")]
    spec: Option<Spec>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema alone is used")]
struct Spec {
    replicas: Option<i64>,
    color: Option<String>,
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    args: Option<Vec<String>>,
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    parts: Option<Vec<Part>>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema alone is used")]
struct Part {
    name: String,
    size: Option<i64>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Fields>);

struct Foo;

impl Kind for Foo {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _: &str) -> &Schema {
        &SCHEMA
    }
}

/// The toy world.
#[derive(Default)]
pub(super) struct Toys {
    pub(super) stored: Arc<StoredSet>,
    pub(super) params: BTreeMap<String, Params>,
    /// The verbs that are allowed.
    pub(super) allowed: BTreeSet<String>,
    pub(super) reviews: Mutex<Vec<Review>>,
    pub(super) checks: Mutex<Vec<String>>,
    /// Number of times that work was offloaded.
    pub(super) asides: AtomicUsize,
}

impl AccessReviewer for Toys {
    fn decide<'a>(&'a self, _: &'a UserInfo, review: &'a Review) -> PendingReview<'a> {
        self.reviews.lock().push(review.clone());
        let allowed = self.allowed.contains(&*review.verb);
        Box::pin(std::future::ready(Decision {
            allowed,
            ..Decision::default()
        }))
    }
}

impl Catalog for Toys {
    fn stored(&self) -> Arc<StoredSet> {
        Arc::clone(&self.stored)
    }

    fn find(&self, kind: &ParamKind) -> Result<(), ParamError> {
        self.params
            .get(&kind.kind)
            .map(|_| ())
            .ok_or_else(|| kind.unknown_error())
    }

    fn params(&self, kind: &ParamKind, namespace: &str, name: Option<&str>) -> Result<Params, ParamError> {
        let known = self.params.get(&kind.kind);
        let known = known.ok_or_else(|| kind.unknown_error())?;
        let wanted = |object: &&Arc<Value>| {
            let metadata = &object["metadata"];
            (!known.namespaced || metadata["namespace"] == namespace)
                && name.is_none_or(|name| metadata["name"] == name)
        };
        Ok(Params {
            namespaced: known.namespaced,
            objects: known.objects.iter().filter(wanted).cloned().collect(),
        })
    }

    fn count(&self, kind: &ParamKind, namespace: &str, most: usize) -> usize {
        let found = self.params(kind, namespace, None);
        found.map_or(0, |found| found.objects.len().min(most))
    }
}

impl Surroundings for Toys {
    fn namespace(&self, name: &str) -> Option<Arc<Value>> {
        let found = json!({"metadata": {"name": name, "labels": {"tier": "gold"}}});
        (name == "team").then(|| Arc::new(found))
    }

    fn run_blocking(&self, work: &mut dyn FnMut()) {
        self.asides.fetch_add(1, Ordering::Relaxed);
        work();
    }

    fn checked(&self, check: &Check<'_>) {
        self.checks.lock().push(format!(
            "{}/{} {} {}",
            check.policy,
            check.binding,
            check.error.label(),
            check.enforcement.label()
        ));
    }
}

/// A policy with `spec`; unless `spec` has constraints, it matches every Foo.
pub(super) fn policy(name: &str, spec: &Value) -> Arc<Value> {
    let rule = json!({"apiGroups": ["g.example"], "apiVersions": ["v1"], "resources": ["foos"], "operations": ["*"]});
    let mut all = json!({"matchConstraints": {"resourceRules": [rule]}});
    for (field, value) in spec.as_object().expect("fields") {
        all[field] = value.clone();
    }
    Arc::new(json!({"metadata": {"name": name}, "spec": all}))
}

/// A binding of `policy`; unless `spec` has actions, it denies.
pub(super) fn binding(policy: &str, spec: &Value) -> Arc<Value> {
    let mut all = json!({"policyName": policy, "validationActions": ["Deny"]});
    for (field, value) in spec.as_object().expect("fields") {
        all[field] = value.clone();
    }
    Arc::new(json!({"metadata": {"name": "b"}, "spec": all}))
}

/// One ValidatingAdmissionPolicy `p` with one binding `b`.
pub(super) fn validating(spec: &Value, bound: &Value) -> Toys {
    Toys {
        stored: Arc::new(StoredSet {
            validating: vec![policy("p", spec)],
            validating_bindings: vec![binding("p", bound)],
            ..StoredSet::default()
        }),
        ..Toys::default()
    }
}

/// MutatingAdmissionPolicies, each with one binding `b`.
pub(super) fn mutating(specs: &[(&str, Value)]) -> Toys {
    Toys {
        stored: Arc::new(StoredSet {
            mutating: specs.iter().map(|(name, spec)| policy(name, spec)).collect(),
            mutating_bindings: specs.iter().map(|(name, _)| binding(name, &json!({}))).collect(),
            ..StoredSet::default()
        }),
        ..Toys::default()
    }
}

/// A write by alice.
pub(super) struct Write {
    pub(super) operation: Operation,
    pub(super) namespace: &'static str,
    pub(super) name: &'static str,
    pub(super) subresource: &'static str,
    pub(super) version: &'static str,
    pub(super) old: Option<Value>,
}

impl Default for Write {
    fn default() -> Self {
        Self {
            operation: Operation::Create,
            namespace: "team",
            name: "f",
            subresource: "",
            version: "v1",
            old: None,
        }
    }
}

impl Write {
    pub(super) fn with<T>(&self, run: impl FnOnce(&VersionedWrite<'_>) -> T) -> T {
        let user = UserInfo {
            name: "alice".to_owned(),
            groups: vec!["dev".to_owned()],
            ..UserInfo::default()
        };
        let request = Request {
            operation: self.operation,
            resource: GroupResource::new("g.example", "foos"),
            kind: "Foo",
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            user: &user,
            old: self.old.as_ref(),
            dry_run: false,
        };
        run(&VersionedWrite {
            request: &request,
            version: self.version,
            versions: INFO.versions,
            object_kind: ObjectKind::Own {
                kind: &Foo,
                object_version: "v1",
            },
        })
    }

    /// Verdicts of a round.
    pub(super) fn judged(
        &self,
        enforcer: &Enforcer,
        object: Option<&Value>,
    ) -> (Result<(), Status>, PolicyNotes) {
        self.with(|write| {
            let mut recorded = PolicyNotes::default();
            let result = now(enforcer.validate(write, object, &mut recorded));
            (result, recorded)
        })
    }

    /// Changes `object` in two rounds and calls `between` after the first.
    pub(super) fn changed(
        &self,
        enforcer: &Enforcer,
        mut object: Value,
        between: impl FnOnce(&mut Value),
    ) -> (Result<(), Status>, Value) {
        self.with(|write| {
            let (mut rounds, mut recorded) = (Rounds::default(), PolicyNotes::default());
            let result = now(enforcer.mutate(write, &mut object, &mut rounds, &mut recorded));
            rounds.end_round(&object);
            between(&mut object);
            let result = result.and_then(|()| {
                if rounds.begin_second_round(&object) {
                    now(enforcer.mutate(write, &mut object, &mut rounds, &mut recorded))
                } else {
                    Ok(())
                }
            });
            (result, object)
        })
    }
}

/// A Foo.
pub(super) fn foo(spec: &Value) -> Value {
    json!({"apiVersion": "g.example/v1", "kind": "Foo",
        "metadata": {"name": "f", "namespace": "team", "labels": {"app": "web"}}, "spec": spec})
}

/// Result of a future that is ready at once.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}
