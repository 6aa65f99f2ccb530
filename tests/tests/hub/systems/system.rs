//! The systems' fleets, and one demand of each.

use berth_tests::eventually;
use berth_tests::example::example;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::load_text;
use serde_json::{Value, json};

/// One demand.
pub(crate) struct Asked {
    /// The system.
    pub(crate) system: &'static str,
    /// The example with the demand.
    pub(crate) file: &'static str,
    /// The namespace of the demand, or empty.
    pub(crate) namespace: &'static str,
    /// The name of the Decision.
    pub(crate) name: &'static str,
    /// The target, or empty where several are possible.
    pub(crate) goes_to: &'static str,
    /// A refused cluster, and the reason.
    pub(crate) refused: (&'static str, &'static str),
    /// The user who writes decisions, and the written resource of the hub.
    pub(crate) written: (&'static str, &'static str),
}

/// One demand of each system.
pub(crate) const ASKED: &[Asked] = &[
    Asked {
        system: "openmcp",
        file: "openmcp/shared.yaml",
        namespace: "project-a",
        name: "batch.openmcp",
        goes_to: "workload-clusters/workload-b",
        refused: ("workload-a", "Full"),
        written: ("berth:scheduler", "clusters"),
    },
    Asked {
        system: "fleet",
        file: "fleet/pick-n.yaml",
        namespace: "",
        name: "two-regions.fleet",
        goes_to: "member-us-1",
        refused: ("member-asia-1", "HeartbeatStale"),
        written: ("berth:scheduler", "clusterresourcebindings"),
    },
    Asked {
        system: "gardener",
        file: "gardener/same-region.yaml",
        namespace: "garden-dev",
        name: "web.gardener",
        goes_to: "aws-eu1",
        refused: ("aws-guarded", "Untolerated"),
        written: ("berth:scheduler", "shoots"),
    },
    Asked {
        system: "karmada",
        file: "karmada/groups.yaml",
        namespace: "retail",
        name: "orders-deployment.karmada",
        goes_to: "oregon",
        refused: ("frankfurt", "NotNamed"),
        written: ("berth:scheduler", "resourcebindings"),
    },
    Asked {
        system: "ocm",
        file: "ocm/story-1.yaml",
        namespace: "story-1",
        name: "placement.ocm",
        goes_to: "cluster3",
        refused: ("cluster5", "Untolerated"),
        written: ("berth:scheduler", "placementdecisions"),
    },
    Asked {
        system: "kcp",
        file: "kcp/namespaces.yaml",
        namespace: "shop",
        name: "shop.kcp",
        goes_to: "",
        refused: ("us-2", "Cordoned"),
        written: ("berth:placement-controller", "namespaces"),
    },
];

impl Asked {
    /// `kubectl`'s arguments for the Decision.
    pub(crate) fn decision(&self) -> String {
        match self.namespace {
            "" => format!("get clusterdecision {}", self.name),
            namespace => format!("-n {namespace} get decision {}", self.name),
        }
    }

    /// `kubectl`'s arguments for the candidates.
    pub(crate) fn candidates(&self) -> String {
        let list = match self.namespace {
            "" => "get clustercandidates".to_owned(),
            namespace => format!("-n {namespace} get candidates"),
        };
        format!("{list} --field-selector decision={}", self.name)
    }

    /// A Binding that leaves the choice to the scheduler.
    pub(crate) fn binding(&self) -> Value {
        let kind = if self.namespace.is_empty() {
            "ClusterBinding"
        } else {
            "Binding"
        };
        let mut metadata = json!({"name": self.name});
        if !self.namespace.is_empty() {
            metadata["namespace"] = json!(self.namespace);
        }
        json!({"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": kind, "metadata": metadata})
    }

    /// Writes the demand to the hub.
    pub(crate) fn load(&self, hub: &Hub) {
        if ["fleet", "kcp"].contains(&self.system) {
            // Heartbeats become stale while other systems are tested.
            let fleet = format!("{}/fleet.yaml", self.system);
            load_text(hub, &fleet.replace('/', "-"), &example(&fleet));
        }
        load_text(hub, &self.file.replace('/', "-"), &example(self.file));
        if self.system == "karmada" {
            let made = include_str!("../../../data/karmada/orders-deployment.yaml");
            load_text(hub, "karmada-binding.yaml", made);
        }
        if self.system == "kcp" {
            let enabled = "scheduling.berth.dev/kcp=enabled";
            hub.kubectl(&format!(
                "label namespace {} {enabled} --overwrite",
                self.namespace
            ))
            .succeeds();
        }
    }

    /// Waits until the Decision satisfies `test`.
    pub(crate) fn until(&self, hub: &Hub, what: &str, test: impl Fn(&Value) -> bool) -> Value {
        let words = format!("{} -o json", self.decision());
        eventually(&format!("{}: {what}", self.name), || {
            let output = hub.kubectl(&words).run();
            let decision = output
                .success
                .then(|| serde_json::from_str(&output.out).expect("kubectl prints JSON"))?;
            test(&decision).then_some(decision)
        })
    }
}

/// Writes every fleet to the hub and waits for the targets.
pub(crate) fn load_fleets(hub: &Hub) {
    for path in [
        "openmcp/fleet.yaml",
        "karmada/fleet.yaml",
        "fleet/fleet.yaml",
        "gardener/fleet.yaml",
        "ocm/fleet.yaml",
        "kcp/fleet.yaml",
    ] {
        load_text(hub, &path.replace('/', "-"), &example(path));
    }
    let configuration = example("openmcp/configuration.yaml");
    let configuration = configuration.replace(
        "  openmcp:\n    scheduler:",
        "  autoBind: \"Off\"\n  openmcp:\n    scheduler:",
    );
    load_text(hub, "openmcp-configuration.yaml", &configuration);
    eventually("the fleets' targets", || {
        let table = hub.kubectl("get targets").succeeds();
        let all = [
            "workload-clusters.workload-a.openmcp",
            "member-eu-1.fleet",
            "aws-eu1.gardener",
            "cluster1.ocm",
            "us-1.kcp",
        ];
        all.iter().all(|target| table.contains(target)).then_some(())
    });
}
