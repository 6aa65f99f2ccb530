//! Defaults, refusals and columns.

use berth_apimachinery::{Cell, Object, Revision, Timestamp, WriteOperation};
use serde_json::json;

use super::*;

const CREATE: Write<'static> = Write {
    operation: WriteOperation::Create,
    old: None,
    now: Timestamp::UNIX_EPOCH,
};

fn settled(spec: Value) -> Value {
    let mut service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec});
    Service.schema("v1").default(&mut service);
    Service.prepare(&CREATE, &mut service);
    service
}

fn errors(spec: Value) -> Vec<String> {
    let service = settled(spec);
    let mut errors = Service.schema("v1").validate(&service);
    errors.extend(Service.validate(&CREATE, &service));
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn types_protocols_and_target_ports_are_filled_in() {
    let service =
        settled(json!({"ports": [{"port": 80}, {"port": 81, "targetPort": "web", "protocol": "UDP"}]}));
    assert_eq!(service["spec"]["type"], "ClusterIP");
    assert_eq!(service["spec"]["sessionAffinity"], "None");
    let first = json!({"port": 80, "protocol": "TCP", "targetPort": 80});
    assert_eq!(service["spec"]["ports"][0], first);
    assert_eq!(service["spec"]["ports"][1]["targetPort"], "web");
}

#[test]
fn what_no_cluster_would_take_is_refused_all_at_once() {
    for (spec, wanted) in [
        (json!({}), vec!["spec.ports: Required value"]),
        (json!({"clusterIP": "None"}), vec![]),
        (
            json!({"type": "Balancer", "ports": [{"port": 1}]}),
            vec!["spec.type: Unsupported value"],
        ),
        (
            json!({"type": "ExternalName"}),
            vec!["spec.externalName: Required value"],
        ),
        (
            json!({"type": "ExternalName", "externalName": "db.example.org"}),
            vec![],
        ),
        (
            json!({"type": "ExternalName", "externalName": "db.example.org", "ports": [{"port": 1, "targetPort": 1,
                "nodePort": 30000}]}),
            vec![],
        ),
        (
            json!({"ports": [{"port": 0}, {"name": "a", "port": 70000, "nodePort": 30000}]}),
            vec![
                "spec.ports[0].name: Required value",
                "spec.ports[0].port: Invalid value: 0",
                "spec.ports[0].targetPort: Invalid value: 0",
                "spec.ports[1].port: Invalid value: 70000",
                "spec.ports[1].targetPort: Invalid value: 70000",
                "spec.ports[1].nodePort: Forbidden",
            ],
        ),
        (
            json!({"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 1}]}),
            vec![
                "spec.ports[1]: Duplicate value",
                "spec.ports[1].name: Duplicate value",
            ],
        ),
        (
            json!({"ports": [{"port": 1, "targetPort": "0"}], "selector": {"a b": "c"}}),
            vec!["spec.ports[0].targetPort: Invalid value", "spec.selector"],
        ),
        (
            json!({"ports": [{"port": 1, "targetPort": "a--b"}]}),
            vec!["spec.ports[0].targetPort: Invalid value: \"a--b\": must not contain consecutive hyphens"],
        ),
    ] {
        let found = errors(spec.clone());
        assert_eq!(found.len(), wanted.len(), "{spec}: {found:?}");
        for (error, begin) in found.iter().zip(wanted) {
            assert!(error.starts_with(begin), "{spec}: {error}");
        }
    }
    assert!(Service.validate_name("web-1").is_ok());
    assert!(Service.validate_name("1web").is_err());
}

#[test]
fn the_row_says_where_the_service_is_reached() {
    let mut service = settled(
        json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1", "selector": {"app": "web"},
        "ports": [{"port": 80, "nodePort": 30080}]}),
    );
    let shown = |service: &Value| {
        let row = Service.row(&Object::new(service, Revision(1)).unwrap());
        row[1..5].to_vec()
    };
    let cells = ["LoadBalancer", "10.0.0.1", "<pending>", "80:30080/TCP"].map(Cell::from);
    assert_eq!(shown(&service), cells);
    service["status"] = json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "a.example"}]}});
    assert_eq!(shown(&service)[2], Cell::from("1.2.3.4,a.example"));
    let plain = settled(json!({"clusterIP": "None"}));
    assert_eq!(
        shown(&plain),
        ["ClusterIP", "None", "<none>", "<none>"].map(Cell::from)
    );
}

#[test]
fn a_field_beside_the_spec_that_nobody_knows_is_unknown() {
    let service = json!({"spec": {"newer": 1}, "nope": 1});
    assert_eq!(Service.schema("v1").unknown_fields(&service), ["nope"]);
}

#[test]
fn empty_lists_and_maps_of_the_spec_are_left_out() {
    let mut service = json!({"spec": {"ports": [], "selector": {}, "externalIPs": [], "type": "ClusterIP"}});
    Service.normalize_body(None, &mut service);
    assert_eq!(service, json!({"spec": {"type": "ClusterIP"}}));
}
