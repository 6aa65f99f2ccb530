//! Requests of which some are another scheduler's (`spec.requests`): guards hold for Berth's alone, in what
//! is placed and in the records of decisions, of every system.

use std::collections::BTreeSet;

use berth_admission::{Operation, Request};
use berth_apimachinery::Draft;
use berth_configuration::Modes;
use berth_dialect_contract::config;
use berth_storage::{Expect, Step};

use super::*;

/// A kind of object that holds decisions, with a write of one that guards refuse.
struct Record {
    system: &'static str,
    /// The request, without labels, and its resource.
    demand: (GroupResource, Value),
    resource: GroupResource,
    kind: &'static str,
    subresource: &'static str,
    old: Value,
    new: Value,
}

fn records() -> Vec<Record> {
    let ocm = |resource| GroupResource::new("cluster.open-cluster-management.io", resource);
    let fleet = |resource| GroupResource::new("placement.kubernetes-fleet.io", resource);
    let openmcp = |resource| GroupResource::new("clusters.openmcp.cloud", resource);
    let decision = |clusters: Value| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
            "metadata": {
                "name": "p-decision-1", "namespace": "team",
                "labels": {"cluster.open-cluster-management.io/placement": "p"},
            },
            "status": {"decisions": clusters},
        })
    };
    let binding = |state: &str| {
        json!({
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
            "metadata": {"name": "p-x", "labels": {"kubernetes-fleet.io/parent-CRP": "p"}},
            "spec": {"state": state},
        })
    };
    let cluster = |finalizers: Value| {
        json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "team", "finalizers": finalizers},
            "spec": {"profile": "small", "tenancy": "Shared", "purposes": ["test"]},
        })
    };
    let placement = |version: &str, kind: &str, spec: Value| json!({"apiVersion": version, "kind": kind, "metadata": {"name": "p", "namespace": "team", "uid": "u-p"}, "spec": spec});
    let mut crp = placement(
        "placement.kubernetes-fleet.io/v1beta1",
        "ClusterResourcePlacement",
        json!({"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "a"}]}),
    );
    crp["metadata"].as_object_mut().unwrap().remove("namespace");
    vec![
        Record {
            system: "ocm",
            demand: (
                ocm("placements"),
                placement(
                    "cluster.open-cluster-management.io/v1beta1",
                    "Placement",
                    json!({}),
                ),
            ),
            resource: ocm("placementdecisions"),
            kind: "PlacementDecision",
            subresource: "status",
            old: decision(json!([])),
            new: decision(json!([{"clusterName": "a", "reason": ""}])),
        },
        Record {
            system: "fleet",
            demand: (fleet("clusterresourceplacements"), crp),
            resource: fleet("clusterresourcebindings"),
            kind: "ClusterResourceBinding",
            subresource: "",
            old: binding("Scheduled"),
            new: binding("Unscheduled"),
        },
        Record {
            system: "openmcp",
            demand: (
                openmcp("clusterrequests"),
                placement(
                    "clusters.openmcp.cloud/v1alpha1",
                    "ClusterRequest",
                    json!({"purpose": "test"}),
                ),
            ),
            resource: openmcp("clusters"),
            kind: "Cluster",
            subresource: "",
            old: cluster(json!([])),
            new: cluster(json!(["request.clusters.openmcp.cloud/u-p"])),
        },
    ]
}

/// The webhooks of a server that has every system, over a store that tests write past every rule.
struct Webhooks {
    store: Arc<MemoryStore>,
    engine: Arc<Engine>,
    chain: Chain,
}

impl Webhooks {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let source = Arc::clone(&store) as Arc<dyn Source>;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let engine = Engine::new(
            berth_dialect_registry::all(),
            Arc::clone(&source),
            Arc::clone(&clock),
        );
        engine.spawn();
        let modes = Modes::new(&engine, None, BTreeSet::new());
        engine.set_mandate(Arc::new(modes)).unwrap();
        let rbac = Rbac::new(Arc::clone(&source));
        let parts = Parts {
            engine: Arc::clone(&engine),
            rbac: Arc::clone(&rbac),
            authorizer: rbac,
            break_glass: Vec::new(),
            observer: Arc::new(Silent),
            owners: Vec::new(),
            policies: None,
        };
        let registry = Registry::builder(Chain::default(), clock).build(&[]).unwrap();
        let api = VirtualApi::new(Arc::clone(&engine), registry, Vec::new());
        let chain = parts.webhooks(api.catalog(), Audience::Known);
        Self { store, engine, chain }
    }

    async fn put(&self, resource: GroupResource, value: &Value) {
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default();
        let key = Key::new(resource, text("namespace"), text("name"));
        let is_there = self
            .store
            .cached(resource)
            .get(&key.namespace, &key.name)
            .is_some();
        let (verb, expect) = match is_there {
            true => (Verb::Update, Expect::Present),
            false => (Verb::Create, Expect::Absent),
        };
        let step = Step {
            verb,
            key,
            subresource: "",
            object: Some(Draft::new(value).unwrap()),
            expect,
            guards: Vec::new(),
        };
        self.store.commit(&[step]).unwrap();
        self.engine.caught_up(self.store.revision()).await.unwrap();
    }

    async fn configure(&self, system: &str, spec: &Value) {
        let value = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": system}, "spec": spec,
        });
        self.put(config::RESOURCE, &value).await;
    }

    /// Whether somebody may write `new` over `old`.
    async fn pass(
        &self,
        resource: GroupResource,
        kind: &str,
        subresource: &str,
        old: &Value,
        new: &Value,
    ) -> bool {
        let text = |field: &str| new["metadata"][field].as_str().unwrap_or_default();
        let user = UserInfo {
            name: "other-scheduler".to_owned(),
            ..UserInfo::default()
        };
        let request = Request {
            operation: Operation::Update,
            resource,
            kind,
            subresource,
            namespace: text("namespace"),
            name: text("name"),
            user: &user,
            old: Some(old),
            dry_run: false,
        };
        let plugins = self.chain.plugins_for(&request);
        plugins.ready().await.unwrap();
        let mutated = plugins.mutate(&mut new.clone(), &mut Vec::new());
        let entitled = plugins.check_rights(Some(new)).await;
        mutated.is_ok() && entitled.is_ok() && plugins.validate(Some(new), &mut Vec::new()).is_ok()
    }
}

#[tokio::test]
async fn records_of_decisions_are_guarded_for_the_selected_requests_alone() {
    let webhooks = Webhooks::new();
    let selected = json!({"requests": {"selector": {"matchLabels": {"scheduler": "berth"}}}});
    for record in records() {
        let Record {
            system,
            demand: (demands, mut demand),
            resource,
            kind,
            subresource,
            old,
            new,
        } = record;
        let passes = async || webhooks.pass(resource, kind, subresource, &old, &new).await;
        webhooks.put(demands, &demand).await;
        assert!(!passes().await, "{system}: all are Berth's");
        webhooks.configure(system, &selected).await;
        assert!(passes().await, "{system}: it is another scheduler's");
        demand["metadata"]["labels"] = json!({"scheduler": "berth"});
        webhooks.put(demands, &demand).await;
        assert!(!passes().await, "{system}: it is Berth's");
        demand["metadata"]["labels"] = json!({"scheduler": "other"});
        webhooks.put(demands, &demand).await;
        assert!(passes().await, "{system}: it is another scheduler's again");
        webhooks.configure(system, &json!({})).await;
        assert!(!passes().await, "{system}: all are Berth's again");
    }
}

#[tokio::test]
async fn a_request_is_guarded_by_what_it_is_before_the_write() {
    let webhooks = Webhooks::new();
    let selected = json!({"requests": {"selector": {"matchLabels": {"scheduler": "berth"}}}});
    webhooks.configure("gardener", &selected).await;
    let passes = async |old: &Value, new: &Value| webhooks.pass(SHOOTS, "Shoot", "", old, new).await;
    let labelled = |seed: &str| {
        let mut shoot = shoot("s", Some(seed));
        shoot["metadata"]["labels"] = json!({"scheduler": "berth"});
        shoot
    };
    let (plain, plainly_moved) = (shoot("s", Some("a")), shoot("s", Some("b")));
    assert!(passes(&plain, &plainly_moved).await, "another scheduler's");
    assert!(!passes(&labelled("a"), &labelled("b")).await, "Berth's");
    assert!(
        !passes(&labelled("a"), &plainly_moved).await,
        "Berth's until it is written"
    );
}

#[tokio::test]
async fn a_namespace_says_whose_its_requests_are() {
    let webhooks = Webhooks::new();
    let selected = json!({"requests": {"namespaceSelector": {"matchLabels": {"scheduler": "berth"}}}});
    webhooks.configure("gardener", &selected).await;
    let namespaces = GroupResource::new("", "namespaces");
    let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "garden-dev"}});
    webhooks.put(namespaces, &namespace).await;
    let (old, new) = (shoot("s", Some("a")), shoot("s", Some("b")));
    let passes = async || webhooks.pass(SHOOTS, "Shoot", "", &old, &new).await;
    assert!(passes().await);
    namespace["metadata"]["labels"] = json!({"scheduler": "berth"});
    webhooks.put(namespaces, &namespace).await;
    assert!(!passes().await);
}
