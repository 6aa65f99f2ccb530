//! Every object that is served of the examples fits its schema, and its type holds all of it.

use std::path::{Path, PathBuf};

use berth_apimachinery::{Kind, Schema};
use berth_dialect_registry::all;
use berth_scheduling_api::advice::{self, SchedulingAdvice};
use berth_scheduling_api::binding::{self, Binding};
use berth_scheduling_api::candidate::{self, Candidate};
use berth_scheduling_api::decision::{self, Decision};
use berth_scheduling_api::review::{self, SchedulingReview};
use berth_scheduling_api::scheduling::{self, Scheduling};
use berth_scheduling_api::shared::Manifest;
use berth_scheduling_api::target::{self, Target};
use berth_scheduling_rest::projection::CLUSTER_DECISIONS;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;

/// Checks that `object` fits `schema`, and that it is the same when it was read into `T` and written again.
fn check<T: Serialize + DeserializeOwned>(schema: &Schema, object: &Value) {
    let errors = schema.validate(object);
    assert!(errors.is_empty(), "{errors:?} of {object:#}");
    let unknown = schema.unknown_fields(object);
    assert!(unknown.is_empty(), "unknown are {unknown:?} of {object:#}");
    let read: Manifest<T> =
        serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object:#}"));
    assert_eq!(serde_json::to_value(read).unwrap(), *object);
}

impl World {
    /// Checks everything that is served of the decisions of `resource`.
    async fn check_decisions(&self, resource: GroupResource, kind: &dyn Kind) -> usize {
        let list = self.api.projection().list(resource, At::Latest).await.unwrap();
        let mut count = 0;
        for (name, object) in list.iter(None, None) {
            count += 1;
            check::<Decision>(kind.schema(""), object.value());
            let call = self.call(&name.namespace, &name.name);
            let read = async |subresource: &str| {
                let reply = self.sub(resource, subresource, &call, "get", Value::Null).await;
                value(reply.unwrap())
            };
            check::<Scheduling>(&scheduling::schema(), &read("scheduling").await);
            check::<SchedulingAdvice>(&advice::schema(), &read("advice").await);
            check::<Binding>(&binding::schema(), &read("binding").await);
            let mut reference = object.value()["spec"]["sourceRef"].clone();
            reference.as_object_mut().unwrap().remove("uid");
            let reviewed = self.review(json!({"reference": reference})).await.unwrap();
            let kind = review::kind();
            check::<SchedulingReview>(kind.schema(""), &with_metadata(reviewed));
        }
        count
    }

    async fn check_targets(&self) -> usize {
        let list = self.api.projection().list(TARGETS, At::Latest).await.unwrap();
        let kind = target::kind();
        for (name, object) in list.iter(None, None) {
            check::<Target>(kind.schema(""), object.value());
            let drained = self
                .review(json!({"changes": [{"drain": *name.name}]}))
                .await
                .unwrap();
            check::<SchedulingReview>(review::kind().schema(""), &with_metadata(drained));
        }
        list.iter(None, None).count()
    }

    async fn check_candidates(&self) -> usize {
        let listed = self.candidates("", &ListQuery::default()).await.unwrap();
        let kind = candidate::namespaced();
        for candidate in &listed {
            check::<Candidate>(kind.schema(""), candidate.value());
        }
        listed.len()
    }

    /// Binds what can be bound, and checks the answers.
    async fn bind_all(&self) {
        let list = self.api.projection().list(DECISIONS, At::Latest).await.unwrap();
        for (name, _) in list.iter(None, None) {
            let call = self.call(&name.namespace, &name.name);
            if let Ok(bound) = self.bind(&call, &[]).await {
                check::<Binding>(&binding::schema(), &bound);
            }
        }
    }
}

/// A review as a client sends it has metadata, if empty ones.
fn with_metadata(mut review: Value) -> Value {
    if review["metadata"].is_null() {
        review["metadata"] = json!({});
    }
    review
}

/// The examples of a system, and what its controllers make of them, which do not run here.
fn files(system: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<_> = ["examples", "tests/data"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(root.join(folder).join(system)).ok())
        .flatten()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn every_object_of_the_examples_fits_its_schema_and_its_type_holds_all_of_it() {
    for dialect in all() {
        let world = World::new(Arc::clone(&dialect));
        for file in files(dialect.name()) {
            world.load(&std::fs::read_to_string(file).unwrap());
        }
        for _ in ["unbound", "bound"] {
            let targets = world.check_targets().await;
            let decisions = world.check_decisions(DECISIONS, &decision::namespaced()).await
                + world
                    .check_decisions(CLUSTER_DECISIONS, &decision::cluster())
                    .await;
            // Namespaces are no kind of a system's own, so none is stored here.
            let has_own = dialect
                .demands()
                .iter()
                .any(|demand| !demand.resource.group.is_empty());
            assert!(targets > 0 && (decisions > 0 || !has_own), "{}", dialect.name());
            world.check_candidates().await;
            world.bind_all().await;
        }
    }
}
