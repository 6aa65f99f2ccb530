//! Publications that are in force, and the objects that each may publish. Of several valid Publications for
//! one namespace, the oldest is in force. A system whose clusters another producer publishes there is left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{Object, field};
use berth_dialect_contract::{Dialect, Producer};
use berth_kubernetes::core::namespace;
use berth_multicluster::CLUSTER_PROFILES;
use berth_storage::Source;

use super::PUBLICATIONS;
use super::object_writer::Obstacle;
use super::spec::{self, Rules};
use super::task;

/// A Publication in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicationInForce {
    /// The Publication's name.
    pub(super) name: String,
    /// Rules of the Publication.
    pub(super) rules: Arc<Rules>,
    /// Reason why no object is written in the namespace of the Publication; `None` if objects are written.
    obstacle_to_all: Option<Obstacle>,
    /// The systems whose objects another producer publishes, with the name of that producer.
    skipped: BTreeMap<&'static str, &'static str>,
}

impl PublicationInForce {
    /// Whether the published objects of `system` are left unchanged.
    pub(super) fn is_frozen(&self, system: &str) -> bool {
        self.obstacle_to_all.is_some() || self.skipped.contains_key(system)
    }

    /// Reason why all or some objects are not published; `None` if all may be published.
    pub(super) fn obstacle(&self) -> Option<Obstacle> {
        if self.obstacle_to_all.is_some() {
            return self.obstacle_to_all.clone();
        }
        let (system, producer) = self.skipped.first_key_value()?;
        let namespace = &self.rules.settings.namespace;
        let text =
            format!("{system} is left to {producer}, which publishes its clusters in namespace {namespace}");
        Some(("OwnProducer", text))
    }
}

/// Verdict about a Publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The Publication's name.
    pub(super) name: String,
    /// The Publication's uid and generation. They are a part of the verdict, so that a verdict on another
    /// object or generation is reported although it is equal otherwise: the conditions name the generation.
    pub(super) version: (String, i64),
    /// Reason why the Publication is not in force; `None` if it is in force.
    pub(super) problem: Option<Obstacle>,
    /// Whether all objects are published, or the reason why not; `None` if the Publication is not in force.
    pub(super) published: Option<Result<(), Obstacle>>,
}

/// Verdicts on all Publications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PublicationVerdicts {
    /// The Publications in force.
    pub(super) in_force: Vec<PublicationInForce>,
    /// The verdict on each Publication.
    pub(super) verdicts: Vec<Verdict>,
    /// The namespaces of all Publications, in force or not. Only a Publication in force deletes objects in
    /// its namespace.
    pub(super) namespaces: BTreeSet<String>,
}

/// Judges the Publications in `source`, on a server with `dialects`.
pub(super) fn judge(source: &dyn Source, dialects: &[Arc<dyn Dialect>]) -> PublicationVerdicts {
    let mut judgement = read(&stored(source), &systems(dialects));
    for publication in &mut judgement.in_force {
        let target = publication.rules.settings.namespace.clone();
        publication.obstacle_to_all = namespace_obstacle(source, &target);
        // Objects that are computed at each read cannot overwrite objects of another producer.
        if publication.obstacle_to_all.is_some() || !publication.rules.is_written() {
            continue;
        }
        let managers = other_managers(source, &target);
        for dialect in dialects {
            let Some(Producer {
                manager,
                is_exclusive,
            }) = dialect.shown().producer
            else {
                continue;
            };
            if !managers.contains(manager) {
                continue;
            }
            if is_exclusive {
                let text = format!(
                    "{manager} publishes in namespace {target}, and deletes or overwrites other objects there: publish in another \
                     namespace"
                );
                publication.obstacle_to_all = Some(("NamespaceOfAnother", text));
            }
            publication.skipped.insert(dialect.name(), manager);
        }
    }
    judgement
}

/// The Publications in `source` whose PublishedDecisions can be read on a server with `dialects`: they are in
/// force, and their namespace exists and is not being deleted.
pub(super) fn readable(source: &dyn Source, dialects: &[Arc<dyn Dialect>]) -> Vec<PublicationInForce> {
    let mut in_force = read(&stored(source), &systems(dialects)).in_force;
    in_force
        .retain(|publication| namespace_obstacle(source, &publication.rules.settings.namespace).is_none());
    in_force
}

fn stored(source: &dyn Source) -> Vec<Arc<Object>> {
    source.cached(PUBLICATIONS).items.values().cloned().collect()
}

fn systems(dialects: &[Arc<dyn Dialect>]) -> Vec<&'static str> {
    dialects.iter().map(|dialect| dialect.name()).collect()
}

/// Decides which of `publications` are in force: the valid ones, except where an older valid Publication has
/// the same namespace.
fn read(publications: &[Arc<Object>], systems: &[&'static str]) -> PublicationVerdicts {
    let mut sorted: Vec<&Arc<Object>> = publications.iter().collect();
    sorted.sort_by_key(|object| {
        (
            object.meta().creation_timestamp(),
            object.meta().name().to_owned(),
        )
    });
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut judgement = PublicationVerdicts::default();
    for object in sorted {
        let name = object.meta().name().to_owned();
        let value = object.value();
        judgement
            .namespaces
            .extend(value["spec"]["namespace"].as_str().map(str::to_owned));
        let problem = match spec::read(value, systems) {
            Err(errors) => Some(("Invalid", field::aggregate(&errors))),
            Ok(rules) => match owners.get(&rules.settings.namespace) {
                Some(other) => Some((
                    "NamespaceTaken",
                    format!(
                        "Publication {other}, which is older, publishes in namespace {}: use another namespace",
                        rules.settings.namespace
                    ),
                )),
                None => {
                    owners.insert(rules.settings.namespace.clone(), name.clone());
                    judgement.in_force.push(PublicationInForce {
                        name: name.clone(),
                        rules: Arc::new(rules),
                        obstacle_to_all: None,
                        skipped: BTreeMap::new(),
                    });
                    None
                }
            },
        };
        judgement.verdicts.push(Verdict {
            name,
            version: (object.meta().uid().to_owned(), object.meta().generation()),
            problem,
            published: None,
        });
    }
    judgement
}

/// Reason why objects cannot be created in the namespace `name`; `None` if they can.
fn namespace_obstacle(source: &dyn Source, name: &str) -> Option<Obstacle> {
    let namespaces = source.cached(namespace::RESOURCE);
    match namespaces.get("", name) {
        None => Some((
            "NamespaceMissing",
            format!("namespace {name} does not exist: create it"),
        )),
        Some(namespace) if namespace.meta().deletion_timestamp().is_some() => Some((
            "NamespaceTerminating",
            format!("namespace {name} is being deleted"),
        )),
        Some(_) => None,
    }
}

/// The cluster managers of the ClusterProfiles in `namespace` that Berth did not publish.
fn other_managers(source: &dyn Source, namespace: &str) -> BTreeSet<String> {
    let profiles = source.cached(CLUSTER_PROFILES);
    let foreign_profiles = profiles
        .iter(Some(namespace), None)
        .filter(|(_, profile)| !task::is_ours(profile));
    let managers = foreign_profiles.filter_map(|(_, profile)| {
        let value = profile.value();
        value["spec"]["clusterManager"]["name"]
            .as_str()
            .map(str::to_owned)
    });
    managers.collect()
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::write::Verb;
    use berth_apimachinery::{Draft, Key, Revision};
    use berth_storage::{Expect, MemoryStore, Step, Writer};
    use serde_json::{Value, json};

    use super::*;

    fn publication(name: &str, second: u8, namespace: &str) -> Value {
        json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication",
            "metadata": {"name": name, "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z")},
            "spec": {"namespace": namespace},
        })
    }

    #[test]
    fn of_two_publications_into_one_namespace_the_older_is_in_force() {
        let all = [
            publication("a", 2, "argocd"),
            publication("b", 1, "argocd"),
            publication("c", 3, "kueue"),
            publication("d", 0, "Bad_"),
        ]
        .map(|value| Arc::new(Object::new(&value, Revision(1)).unwrap()));
        let judgement = read(&all, &["ocm"]);
        let namespaces = judgement
            .in_force
            .iter()
            .map(|one| one.rules.settings.namespace.as_str());
        assert_eq!(namespaces.collect::<Vec<_>>(), ["argocd", "kueue"]);
        let problems: Vec<(&str, Option<&str>)> = judgement
            .verdicts
            .iter()
            .map(|verdict| {
                let reason = verdict.problem.as_ref().map(|(reason, _)| *reason);
                (verdict.name.as_str(), reason)
            })
            .collect();
        assert_eq!(
            problems,
            [
                ("d", Some("Invalid")),
                ("b", None),
                ("a", Some("NamespaceTaken")),
                ("c", None)
            ]
        );
        assert!(
            judgement.namespaces.contains("Bad_"),
            "{:?}",
            judgement.namespaces
        );
    }

    #[test]
    fn verdicts_on_another_generation_and_on_another_object_of_the_name_differ() {
        let verdicts = |uid: &str, generation: i64| {
            let mut value = publication("a", 1, "argocd");
            value["metadata"]["uid"] = uid.into();
            value["metadata"]["generation"] = generation.into();
            read(&[Arc::new(Object::new(&value, Revision(1)).unwrap())], &["ocm"])
        };
        assert_eq!(verdicts("u", 1), verdicts("u", 1));
        assert_ne!(verdicts("u", 1), verdicts("u", 2));
        assert_ne!(verdicts("u", 1), verdicts("v", 1));
    }

    async fn put(store: &MemoryStore, resource: berth_apimachinery::GroupResource, value: &Value) {
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
        let step = Step {
            verb: Verb::Create,
            key: Key::new(resource, &text("namespace"), &text("name")),
            subresource: "",
            object: Some(Draft::new(value).unwrap()),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        store.apply(vec![step]).await.unwrap();
    }

    async fn profile(store: &MemoryStore, namespace: &str, manager: &str) {
        let value = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "member-1", "namespace": namespace},
            "spec": {"clusterManager": {"name": manager}},
        });
        put(store, CLUSTER_PROFILES, &value).await;
    }

    #[tokio::test]
    async fn another_producer_keeps_its_system_or_its_namespace() {
        let store = MemoryStore::default();
        let dialects = berth_dialect_registry::all();
        for namespace in ["fleet-system", "bound", "shared"] {
            let value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            put(&store, namespace::RESOURCE, &value).await;
            put(&store, PUBLICATIONS, &publication(namespace, 1, namespace)).await;
        }
        put(&store, PUBLICATIONS, &publication("nowhere", 1, "nowhere")).await;
        profile(&store, "fleet-system", "KubeFleet").await;
        profile(&store, "bound", "open-cluster-management").await;
        profile(&store, "shared", "gke-fleet").await;
        let judgement = judge(&store, &dialects);
        let of = |name: &str| judgement.in_force.iter().find(|one| one.name == name).unwrap();
        let reason = |name: &str| of(name).obstacle().map(|(reason, _)| reason);
        assert_eq!(reason("fleet-system"), Some("NamespaceOfAnother"));
        assert!(of("fleet-system").is_frozen("gardener"));
        assert_eq!(reason("bound"), Some("OwnProducer"));
        assert!(of("bound").is_frozen("ocm") && !of("bound").is_frozen("gardener"));
        assert_eq!(reason("shared"), None);
        assert_eq!(reason("nowhere"), Some("NamespaceMissing"));
    }
}
