//! A hub that OCM decides is taken over by Berth and given back, with leaders that die in between: no request
//! is ever without its clusters.

use berth_tests::hub::audit::Witness;
use berth_tests::hub::balancer::Balancer;
use berth_tests::hub::berth::{NAMESPACE, available};
use berth_tests::hub::installation::trusted;
use berth_tests::hub::{Berth, Hub};
use berth_tests::ocm::world::USUAL;
use berth_tests::{eventually, ocm, ports};
use serde_json::{Value, json};

use crate::brownfield::dump::Dump;
use crate::brownfield::observe::{churn, is_still, uninstalled};
use crate::brownfield::watch::Watch;
use crate::brownfield::{agrees, for_ocm, healthy, set_mode};

/// Further writes of Berth where it has webhooks: their caBundle, and whether configurations are valid.
const REGISTRATION: [&str; 3] = [
    "mutatingwebhookconfigurations.admissionregistration.k8s.io /berth",
    "validatingwebhookconfigurations.admissionregistration.k8s.io /berth",
    "schedulerconfigurations/status.config.berth.dev /ocm",
];

/// Two Berths behind one port, as the Deployment has them.
struct Replicas {
    both: [Option<Berth>; 2],
    _balancer: Balancer,
}

impl Replicas {
    /// Installs Berth with the rights to decide, and with a configuration that says that it observes all the
    /// same.
    fn install(hub: &Hub) -> Self {
        let ports = [ports::free(), ports::free()];
        let balancer = Balancer::start(ports.to_vec());
        let mut installation = for_ocm();
        installation.port = balancer.port();
        let apply = |set: &str| {
            let manifests = installation.manifests(&[set]);
            hub.kubectl("apply --server-side -f -")
                .input(manifests)
                .succeeds();
        };
        apply("crds");
        hub.kubectl(
            "wait --for=condition=Established crd schedulerconfigurations.config.berth.dev --timeout=60s",
        )
        .succeeds();
        set_mode(hub, "ocm", "Observe");
        apply("all");
        let names = ["one", "two"].into_iter().zip(ports);
        let mut started = names.map(|(name, port)| Some(installation.start(hub, name, port, &[])));
        let both = [started.next().flatten(), started.next().flatten()];
        available(hub);
        trusted(hub);
        healthy(hub);
        Self {
            both,
            _balancer: balancer,
        }
    }

    /// Kills the leader without warning, and waits until the other one leads.
    fn kill_the_leader(&mut self, hub: &Hub) {
        let leads = |holder: &str| usize::from(!holder.starts_with("one_"));
        let leader = eventually("a leader", || {
            Some(leader(hub)).filter(|holder| !holder.is_empty())
        });
        let killed = self.both[leads(&leader)].take();
        drop(killed.expect("the leader runs"));
        eventually("the other one to lead", || {
            Some(self::leader(hub)).filter(|holder| !holder.is_empty() && leads(holder) != leads(&leader))
        });
    }
}

fn leader(hub: &Hub) -> String {
    let output = hub
        .kubectl(&format!("get lease berth-controllers -n {NAMESPACE} -o json"))
        .run();
    let lease: Value = serde_json::from_str(&output.out).unwrap_or_default();
    lease["spec"]["holderIdentity"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The clusters of one request, by all its decisions.
fn clusters(hub: &Hub, namespace: &str, request: &str) -> Vec<String> {
    let words = format!(
        "get {} -n {namespace} -l cluster.open-cluster-management.io/placement={request} -o json",
        ocm::DECISIONS
    );
    let list = hub.kubectl(&words).json();
    let decisions = list["items"].as_array().into_iter().flatten();
    let listed = decisions
        .filter_map(|decision| decision["status"]["decisions"].as_array())
        .flatten();
    listed
        .filter_map(|one| one["clusterName"].as_str().map(str::to_owned))
        .collect()
}

/// Creates a request, and waits until somebody has decided it.
fn another(hub: &Hub, name: &str) {
    let request = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": name, "namespace": "team-0"}, "spec": {"numberOfClusters": 2},
    });
    hub.kubectl("create -f -").input(request.to_string()).succeeds();
    eventually("the new request to be decided", || {
        (clusters(hub, "team-0", name).len() == 2).then_some(())
    });
}

/// Drains a cluster that a request has, and waits until the request has left it.
fn drained(hub: &Hub) -> String {
    let cluster = clusters(hub, "team-0", "request-0010").pop().expect("it has one");
    let taint = json!({"spec": {"taints": [{"key": "drain", "effect": "NoSelect", "timeAdded": "2026-01-02T03:04:05Z"}]}});
    hub.kubectl_args(&[
        "patch",
        "managedcluster",
        &cluster,
        "--type=merge",
        "-p",
        &taint.to_string(),
    ])
    .succeeds();
    eventually("the request to leave the cluster", || {
        let now = clusters(hub, "team-0", "request-0010");
        (now.len() == 1 && !now.contains(&cluster)).then_some(())
    });
    cluster
}

/// Takes the taints off a cluster.
fn free(hub: &Hub, cluster: &str) {
    hub.kubectl_args(&[
        "patch",
        "managedcluster",
        cluster,
        "--type=merge",
        "-p",
        r#"{"spec": {"taints": null}}"#,
    ])
    .succeeds();
}

/// Whether a decision may not be written by an administrator.
fn guarded(hub: &Hub) -> bool {
    let object = [
        "patch",
        ocm::DECISIONS,
        "request-0000-decision-1",
        "-n",
        "team-0",
        "--subresource=status",
    ];
    let change = [
        "--type=merge",
        "--dry-run=server",
        "-p",
        r#"{"status": {"decisions": []}}"#,
    ];
    let output = hub.kubectl_args(&[&object[..], &change].concat()).run();
    assert!(
        output.success || output.err.contains("berth.dev"),
        "{}",
        output.err
    );
    !output.success
}

fn refused(witness: &Witness<'_>) {
    let refused = witness.refused_by_berth();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_hub_is_taken_over_from_ocm_and_given_back_and_no_request_is_ever_without_its_clusters() {
    let mut hub = Hub::start();
    hub.start_controllers();
    ocm::define(&hub);
    USUAL.load(&hub);
    let controller = ocm::Controller::start(&hub);
    ocm::settle(&hub);
    let before = Dump::of(&hub);
    let decided = hub.versions(ocm::DECISIONS);
    let watch = Watch::start(&hub);

    // With all rights and webhooks, and a configuration that says it observes.
    let witness = hub.witness();
    let replicas = Replicas::install(&hub);
    agrees(&hub);
    is_still(&hub);
    refused(&witness);
    witness.requires_observing(&REGISTRATION);

    // Taken over, and taken off while it decides: nothing has moved, nothing is left.
    controller.stop();
    set_mode(&hub, "ocm", "Decide");
    eventually("the guards to hold", || guarded(&hub).then_some(()));
    is_still(&hub);
    agrees(&hub);
    healthy(&hub);
    assert_eq!(
        hub.versions(ocm::DECISIONS),
        decided,
        "the take-over moved something"
    );
    uninstalled(&hub, replicas);
    before.requires_the_same(&hub);

    // Again; what happens meanwhile is Berth's to decide, whoever of it dies.
    let mut replicas = Replicas::install(&hub);
    set_mode(&hub, "ocm", "Decide");
    another(&hub, "made-while-berth-decides");
    let cluster = drained(&hub);
    replicas.kill_the_leader(&hub);
    free(&hub, &cluster);
    another(&hub, "made-after-the-leader-died");
    let cluster = drained(&hub);
    healthy(&hub);

    // Somebody starts OCM's controller all the same: it is refused what it would decide, and both come to
    // rest.
    let controller = ocm::Controller::start(&hub);
    free(&hub, &cluster);
    ocm::settle(&hub);
    is_still(&hub);
    agrees(&hub);
    controller.stop();

    // Given back: OCM takes it as it is.
    set_mode(&hub, "ocm", "Observe");
    eventually("the guards to let go", || (!guarded(&hub)).then_some(()));
    let witness = hub.witness();
    let controller = ocm::Controller::start(&hub);
    ocm::settle(&hub);
    another(&hub, "made-after-it-was-given-back");
    churn(&hub);
    ocm::settle(&hub);
    agrees(&hub);
    is_still(&hub);
    refused(&witness);
    witness.requires_observing(&REGISTRATION);
    healthy(&hub);
    watch.end(&hub);
    uninstalled(&hub, replicas);
    controller.stop();
}
