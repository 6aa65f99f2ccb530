//! Every system through the same API: targets, decisions, explanations, bindings, reviews and live
//! configuration, with real `kubectl` and the examples' fleets.

use berth_tests::example::example;
use berth_tests::systems::SYSTEMS;
use berth_tests::{Server, eventually};
use serde_json::{Value, json};

/// Starts a server with the fleets of every system, without automatic binding.
fn server() -> Server {
    let server = Server::start();
    server.bind_by_hand(&SYSTEMS);
    for path in [
        "openmcp/configuration.yaml",
        "openmcp/fleet.yaml",
        "fleet/fleet.yaml",
        "gardener/fleet.yaml",
        "karmada/fleet.yaml",
        "ocm/fleet.yaml",
        "kcp/fleet.yaml",
        "kcp/namespaces.yaml",
    ] {
        // The objects that a server creates by itself (a configuration without automatic binding)
        // already exist.
        let text = example(path);
        let text = text.replace(
            "  openmcp:\n    scheduler:",
            "  autoBind: \"Off\"\n  openmcp:\n    scheduler:",
        );
        server.load(&server.file(&path.replace('/', "-"), &text));
    }
    server
}

/// A decision of one system, with `kubectl`'s arguments.
struct Asked {
    /// The example with the demand.
    file: &'static str,
    /// `-n namespace` and the resource, or only the cluster-scoped resource.
    place: &'static str,
    /// The name of the Decision.
    name: &'static str,
    /// The target of the demand.
    goes_to: &'static str,
    /// A refused cluster, and the reason.
    refused: (&'static str, &'static str),
}

const ASKED: &[Asked] = &[
    Asked {
        file: "openmcp/shared.yaml",
        place: "-n project-a get decision",
        name: "batch.openmcp",
        goes_to: "workload-clusters/workload-b",
        refused: ("workload-a", "Full"),
    },
    Asked {
        file: "fleet/pick-n.yaml",
        place: "get clusterdecision",
        name: "two-regions.fleet",
        goes_to: "member-us-1",
        refused: ("member-asia-1", "HeartbeatStale"),
    },
    Asked {
        file: "gardener/same-region.yaml",
        place: "-n garden-dev get decision",
        name: "web.gardener",
        goes_to: "aws-eu1",
        refused: ("aws-guarded", "Untolerated"),
    },
    Asked {
        file: "karmada/groups.yaml",
        place: "-n retail get decision",
        name: "orders-deployment.karmada",
        goes_to: "oregon",
        refused: ("frankfurt", "NotNamed"),
    },
    Asked {
        file: "ocm/story-1.yaml",
        place: "-n story-1 get decision",
        name: "placement.ocm",
        goes_to: "cluster3",
        refused: ("cluster5", "Untolerated"),
    },
    Asked {
        file: "kcp/namespaces.yaml",
        place: "-n shop get decision",
        name: "shop.kcp",
        goes_to: "",
        refused: ("us-2", "Cordoned"),
    },
];

#[test]
fn every_system_is_read_explained_bound_and_shown() {
    let server = server();
    let targets = server.kubectl("get targets").succeeds();
    for target in [
        "workload-clusters.workload-a.openmcp",
        "member-eu-1.fleet",
        "aws-eu1.gardener",
        "frankfurt.karmada",
        "cluster1.ocm",
        "us-1.kcp",
    ] {
        assert!(targets.contains(target), "{target}:\n{targets}");
    }
    for asked in ASKED {
        if asked.file != "kcp/namespaces.yaml" {
            server.load(&server.file("request.yaml", &example(asked.file)));
        }
        is_explained(&server, asked);
        is_bound(&server, asked);
    }
    let everywhere = server.kubectl("get decisions -A").succeeds();
    let fleet_wide = server.kubectl("get clusterdecisions").succeeds();
    for asked in ASKED {
        let list = if asked.place.starts_with("get") {
            &fleet_wide
        } else {
            &everywhere
        };
        let line = list.lines().find(|line| line.contains(asked.name));
        let line = line.unwrap_or_else(|| panic!("{}:\n{list}", asked.name));
        assert!(line.contains("Bound"), "{line}");
    }
}

fn is_explained(server: &Server, asked: &Asked) {
    let Asked { place, name, .. } = asked;
    let table = server
        .kubectl(&format!("{place} {name} --subresource=scheduling"))
        .succeeds();
    let (cluster, why) = asked.refused;
    let line = table.lines().find(|line| line.contains(cluster));
    let line = line.unwrap_or_else(|| panic!("{cluster}:\n{table}"));
    assert!(line.contains(why), "{table}");
    let report = server
        .kubectl(&format!("{place} {name} --subresource=scheduling -o json"))
        .json();
    assert_eq!(report["status"]["outcome"], "Scheduled", "{report}");
    let namespace = place
        .split_whitespace()
        .nth(1)
        .filter(|_| place.starts_with("-n"));
    let candidates = match namespace {
        Some(namespace) => format!("-n {namespace} get candidates"),
        None => "get clustercandidates".to_owned(),
    };
    let listed = server
        .kubectl(&format!("{candidates} --field-selector decision={name}"))
        .succeeds();
    assert!(listed.contains(cluster) && listed.contains(why), "{listed}");
}

fn is_bound(server: &Server, asked: &Asked) {
    let Asked { place, name, .. } = asked;
    let namespace = place
        .split_whitespace()
        .nth(1)
        .filter(|_| place.starts_with("-n"));
    let binding = match namespace {
        Some(namespace) => format!("kind: Binding\nmetadata: {{name: {name}, namespace: {namespace}}}"),
        None => format!("kind: ClusterBinding\nmetadata: {{name: {name}}}"),
    };
    let binding = format!("apiVersion: scheduling.berth.dev/v1alpha1\n{binding}\n");
    let dry = server
        .kubectl("create -f - --dry-run=server")
        .input(binding.as_str())
        .succeeds();
    assert!(dry.contains("dry run"), "{dry}");
    let before = server.kubectl(&format!("{place} {name} -o json")).json();
    assert_ne!(before["status"]["phase"], "Bound", "{before}");
    server.kubectl("create -f -").input(binding.as_str()).succeeds();
    let bound = server.kubectl(&format!("{place} {name} -o json")).json();
    assert_eq!(bound["status"]["phase"], "Bound", "{bound}");
    let clusters = bound["status"]["decisions"].as_array().expect("a list");
    assert!(
        asked.goes_to.is_empty() || clusters.iter().any(|at| at["clusterName"] == asked.goes_to),
        "{bound}"
    );
    // Another decision has no effect.
    let again = server
        .kubectl(&format!("{place} {name} --subresource=scheduling -o json"))
        .json();
    assert_eq!(again["status"]["outcome"], "Unchanged", "{again}");
    assert_eq!(again["status"]["writes"], json!([]), "{again}");
}

#[test]
fn the_systems_own_objects_say_where_it_went() {
    let server = server();
    for file in [
        "openmcp/shared.yaml",
        "openmcp/exclusive.yaml",
        "fleet/pick-all.yaml",
    ] {
        server.load(&server.file("request.yaml", &example(file)));
    }
    for (kind, name) in [
        ("Binding", "batch.openmcp, namespace: project-a"),
        ("Binding", "control-plane.openmcp, namespace: project-a"),
        ("ClusterBinding", "everywhere.fleet"),
        ("Binding", "shop.kcp, namespace: shop"),
    ] {
        let binding =
            format!("apiVersion: scheduling.berth.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\n");
        server.kubectl("create -f -").input(binding).succeeds();
    }
    let request = server
        .kubectl("-n project-a get clusterrequest batch -o json")
        .json();
    assert_eq!(request["status"]["phase"], "Granted");
    assert_eq!(
        request["status"]["cluster"],
        json!({"name": "workload-b", "namespace": "workload-clusters"})
    );
    let own = server
        .kubectl("-n project-a get clusterrequest control-plane -o json")
        .json();
    let made = own["status"]["cluster"]["name"]
        .as_str()
        .expect("a cluster was made");
    let cluster = server
        .kubectl(&format!("-n mcp-clusters get cluster {made} -o json"))
        .json();
    assert_eq!(cluster["spec"]["tenancy"], "Exclusive");
    assert_eq!(
        cluster["metadata"]["labels"]["clusters.openmcp.cloud/delete-without-requests"],
        "true"
    );
    let bindings = server
        .kubectl("get clusterresourcebindings -l kubernetes-fleet.io/parent-CRP=everywhere -o json")
        .json();
    let states: Vec<&Value> = bindings["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| &item["spec"]["state"])
        .collect();
    assert_eq!(states, ["Scheduled"; 3]);
    let snapshot = server
        .kubectl("get clusterschedulingpolicysnapshots everywhere-0 -o json")
        .json();
    assert_eq!(
        snapshot["metadata"]["labels"]["kubernetes-fleet.io/is-latest-snapshot"],
        "true"
    );
    // The namespace controller adopts a manually bound namespace.
    eventually("the namespace to be adopted", || {
        let namespace = server.kubectl("get namespace shop -o json").json();
        let placement = namespace["metadata"]["annotations"]["scheduling.kcp.dev/placement"]
            .as_str()
            .expect("a placement");
        assert!(placement.starts_with("{\"root:compute+"), "{placement}");
        placement.ends_with("\":\"Bound\"}").then_some(())
    });
}

#[test]
fn a_review_answers_what_if_for_every_system() {
    let server = server();
    let requests: [(&str, &str, &str); 5] = [
        ("openmcp/exclusive.yaml", "ClusterRequest", "Provision"),
        ("fleet/pick-fixed.yaml", "ClusterResourcePlacement", "Partial"),
        ("gardener/same-region.yaml", "Shoot", "Scheduled"),
        ("ocm/story-1.yaml", "Placement", "Scheduled"),
        ("kcp/namespaces.yaml", "Namespace", "Scheduled"),
    ];
    for (file, kind, outcome) in requests {
        let text = example(file);
        let of_kind = format!("\nkind: {kind}\n");
        let document = text
            .split("\n---\n")
            .find(|part| part.contains(&of_kind))
            .expect("a placeable object");
        // The decision of a namespace that does not exist yet.
        let document = document.replace("name: shop", "name: shop-2");
        let indented: String = document.lines().map(|line| format!("    {line}\n")).collect();
        let inventory = if file.starts_with("ocm") {
            "Live"
        } else {
            "Overlay"
        };
        let review = format!(
            "apiVersion: scheduling.berth.dev/v1alpha1\nkind: SchedulingReview\nspec:\n  inventory: {inventory}\n  object:\n{indented}"
        );
        if file.starts_with("ocm") {
            // The example contains its set binding.
            server.load(&server.file("request.yaml", &text));
        }
        let answer = server.kubectl("create -o json -f -").input(review).json();
        assert_eq!(answer["status"]["outcome"], outcome, "{file}: {answer}");
    }
}

#[test]
fn configuration_changes_take_effect_at_once_and_bad_ones_are_refused_whole() {
    let server = server();
    server.load(&server.file("request.yaml", &example("openmcp/unknown-purpose.yaml")));
    let outcome = |server: &Server| {
        let path = "-n project-a get decision gpu.openmcp --subresource=scheduling -o json";
        server.kubectl(path).json()["status"]["outcome"].clone()
    };
    assert_eq!(outcome(&server), "Invalid");
    let change = r#"{"spec":{"openmcp":{"scheduler":{"purposeMappings":{"training":{"template":{"spec":{"profile":"gpu","tenancy":"Exclusive"}}}}}}}}"#;
    server
        .kubectl_args(&[
            "patch",
            "schedulerconfiguration",
            "openmcp",
            "--type=merge",
            "-p",
            change,
        ])
        .succeeds();
    eventually("the purpose is known", || {
        (outcome(&server) == "Provision").then_some(())
    });
    let bad = r#"{"spec":{"openmcp":{"scheduler":{"scope":"World","strategy":"Best","purposeMappings":{"x":{"tenancyCount":-1,"template":{"spec":{"profile":"","tenancy":"Shared"}}}}}}}}"#;
    let refused = server
        .kubectl_args(&[
            "patch",
            "schedulerconfiguration",
            "openmcp",
            "--type=merge",
            "-p",
            bad,
        ])
        .fails();
    for part in [
        "spec.openmcp.scheduler.scope: Unsupported value: \"World\"",
        "spec.openmcp.scheduler.strategy: Unsupported value: \"Best\"",
        "spec.openmcp.scheduler.purposeMappings.x.tenancyCount",
        "spec.openmcp.scheduler.purposeMappings.x.template.spec.profile: Required value",
    ] {
        assert!(refused.contains(part), "{part}:\n{refused}");
    }
    assert_eq!(outcome(&server), "Provision");
}
