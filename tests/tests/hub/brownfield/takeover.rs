//! A takeover of a hub from OCM and back, with leaders that are killed in between: no request is ever without
//! its clusters.

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

/// Further writes of a Berth with webhooks: their caBundle, and the status of configurations.
const REGISTRATION: [&str; 3] = [
    "mutatingwebhookconfigurations.admissionregistration.k8s.io /berth",
    "validatingwebhookconfigurations.admissionregistration.k8s.io /berth",
    "schedulerconfigurations/status.config.berth.dev /ocm",
];

/// Two Berths behind one port, as in the Deployment.
struct Replicas {
    both: [Option<Berth>; 2],
    _balancer: Balancer,
}

impl Replicas {
    /// Installs Berth with the rights to decide, and with a configuration by which it only observes.
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

/// The clusters of all decisions of one request.
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

/// Creates a request, and waits until it is decided.
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

/// Drains a cluster of a request, and waits until the request no longer has it.
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

/// Removes the taints of a cluster.
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

/// Whether an administrator's write of a decision is refused.
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

    // With all rights and webhooks, and a configuration by which it only observes.
    let witness = hub.witness();
    let replicas = Replicas::install(&hub);
    agrees(&hub);
    is_still(&hub);
    refused(&witness);
    witness.requires_observing(&REGISTRATION);

    // A takeover, and an uninstallation while Berth decides: no request moves, and no object is left.
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

    // Another takeover; Berth decides all changes meanwhile, whichever replica is killed.
    let mut replicas = Replicas::install(&hub);
    set_mode(&hub, "ocm", "Decide");
    another(&hub, "made-while-berth-decides");
    let cluster = drained(&hub);
    replicas.kill_the_leader(&hub);
    free(&hub, &cluster);
    another(&hub, "made-after-the-leader-died");
    let cluster = drained(&hub);
    healthy(&hub);

    // OCM's controller is started in spite of it: its decisions are refused, and both become idle.
    let controller = ocm::Controller::start(&hub);
    free(&hub, &cluster);
    ocm::settle(&hub);
    is_still(&hub);
    agrees(&hub);
    controller.stop();

    // After the return, OCM keeps the decisions.
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
