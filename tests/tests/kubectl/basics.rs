//! Daily work of every `kubectl` user, against Berth's own kinds: namespaces, config maps, labels, events.

use std::io::{BufRead, BufReader};

use berth_tests::{Server, eventually};

#[test]
fn namespaces_and_config_maps_are_created_read_and_deleted() {
    let server = Server::start();
    assert_eq!(
        server.kubectl("create namespace app").succeeds(),
        "namespace/app created\n"
    );
    let created = server
        .kubectl("-n app create configmap settings --from-literal=color=blue")
        .succeeds();
    assert_eq!(created, "configmap/settings created\n");
    let table = server.kubectl("-n app get configmaps").succeeds();
    assert!(
        table.contains("NAME") && table.contains("DATA") && table.contains("settings"),
        "{table}"
    );
    let map = server.kubectl("-n app get cm settings -o json").json();
    assert_eq!(map["data"]["color"], "blue");
    assert!(server.kubectl("get ns").succeeds().contains("Active"));
    assert!(
        server
            .kubectl("-n app describe configmap settings")
            .succeeds()
            .contains("blue")
    );
    assert_eq!(
        server.kubectl("delete namespace app").succeeds(),
        "namespace \"app\" deleted\n"
    );
    assert!(server.kubectl("-n app get configmaps").succeeds().is_empty());
    assert!(server.kubectl("get namespace app").fails().contains("(NotFound)"));
}

#[test]
fn the_default_namespace_cannot_be_deleted_and_missing_ones_are_named() {
    let server = Server::start();
    assert!(
        server
            .kubectl("delete namespace default")
            .fails()
            .contains("forbidden")
    );
    let refused = server.kubectl("-n nowhere create configmap a").fails();
    assert!(refused.contains("namespaces \"nowhere\" not found"), "{refused}");
}

#[test]
fn applying_twice_changes_nothing_and_a_third_time_what_was_edited() {
    let server = Server::start();
    let manifest = |color: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: default}}\ndata: {{color: {color}}}\n"
        )
    };
    let apply = |text: String| server.kubectl("apply -f -").input(text).succeeds();
    assert_eq!(apply(manifest("blue")), "configmap/a created\n");
    let revision = || {
        server
            .kubectl("get cm a -o jsonpath={.metadata.resourceVersion}")
            .succeeds()
    };
    let before = revision();
    assert_eq!(apply(manifest("blue")), "configmap/a unchanged\n");
    assert_eq!(revision(), before);
    let diff = server.kubectl("diff -f -").input(manifest("red")).run();
    assert!(
        !diff.success && diff.out.contains("+  color: red"),
        "{}{}",
        diff.out,
        diff.err
    );
    assert_eq!(apply(manifest("red")), "configmap/a configured\n");
    let dry = server
        .kubectl("create configmap b --dry-run=server -o name")
        .succeeds();
    assert_eq!(dry, "configmap/b\n");
    assert!(server.kubectl("get cm b").fails().contains("NotFound"));
}

#[test]
fn labels_annotations_patches_and_edits_change_one_object() {
    let server = Server::start();
    server.kubectl("create configmap a --from-literal=x=1").succeeds();
    assert_eq!(
        server.kubectl("label cm a team=red").succeeds(),
        "configmap/a labeled\n"
    );
    assert_eq!(
        server.kubectl("annotate cm a note=hi").succeeds(),
        "configmap/a annotated\n"
    );
    assert!(
        server
            .kubectl("get cm -l team=red -o name")
            .succeeds()
            .contains("configmap/a")
    );
    assert_eq!(server.kubectl("get cm -l team!=red,team -o name").succeeds(), "");
    server
        .kubectl_args(&[
            "patch",
            "cm",
            "a",
            "--type=json",
            "-p",
            r#"[{"op":"add","path":"/data/y","value":"2"}]"#,
        ])
        .succeeds();
    server
        .kubectl_args(&["patch", "cm", "a", "--type=merge", "-p", r#"{"data":{"x":null}}"#])
        .succeeds();
    server
        .kubectl_args(&["patch", "cm", "a", "-p", r#"{"data":{"z":"3"}}"#])
        .succeeds();
    let map = server.kubectl("get cm a -o json").json();
    assert_eq!(map["data"], serde_json::json!({"y": "2", "z": "3"}));
    let edited = server
        .kubectl("edit cm a")
        .env("KUBE_EDITOR", "sed -i s/hi/ho/")
        .succeeds();
    assert_eq!(edited, "configmap/a edited\n");
    assert_eq!(
        server
            .kubectl("get cm a -o jsonpath={.metadata.annotations.note}")
            .succeeds(),
        "ho"
    );
    assert_eq!(
        server
            .kubectl("get cm --field-selector metadata.name=a -o name")
            .succeeds(),
        "configmap/a\n"
    );
    assert!(
        server
            .kubectl("get cm --field-selector spec.nope=1")
            .fails()
            .contains("is not a known field selector")
    );
}

#[test]
fn finalizers_hold_a_delete_back_until_they_go() {
    let server = Server::start();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, finalizers: [example.com/hold]}\n";
    server.kubectl("create -f -").input(text).succeeds();
    server.kubectl("delete cm a --wait=false").succeeds();
    assert!(
        !server
            .kubectl("get cm a -o jsonpath={.metadata.deletionTimestamp}")
            .succeeds()
            .is_empty()
    );
    server
        .kubectl_args(&[
            "patch",
            "cm",
            "a",
            "--type=merge",
            "-p",
            r#"{"metadata":{"finalizers":null}}"#,
        ])
        .succeeds();
    assert!(server.kubectl("get cm a").fails().contains("NotFound"));
}

#[test]
fn children_go_with_their_owner_unless_orphaned() {
    let server = Server::start();
    for (owner, child, cascade) in [
        ("a", "a1", "background"),
        ("b", "b1", "foreground"),
        ("c", "c1", "orphan"),
    ] {
        server.kubectl_args(&["create", "configmap", owner]).succeeds();
        let uid = server
            .kubectl(&format!("get cm {owner} -o jsonpath={{.metadata.uid}}"))
            .succeeds();
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {child}\n  namespace: default\n  ownerReferences:\n  - {{apiVersion: v1, kind: ConfigMap, name: {owner}, uid: {uid}, blockOwnerDeletion: true}}\n"
        );
        server.kubectl("create -f -").input(text).succeeds();
        server
            .kubectl(&format!("delete cm {owner} --cascade={cascade}"))
            .succeeds();
        if cascade == "orphan" {
            eventually("the child to be let go", || {
                let child = server.kubectl("get cm c1 -o json").json();
                child["metadata"].get("ownerReferences").is_none().then_some(())
            });
        } else {
            eventually("the child to go", || {
                server
                    .kubectl(&format!("get cm {child}"))
                    .run()
                    .err
                    .contains("NotFound")
                    .then_some(())
            });
        }
    }
}

#[test]
fn a_watch_prints_each_change_once_below_one_heading() {
    let server = Server::start();
    server.kubectl("create configmap a").succeeds();
    let mut watch = server.kubectl("get cm -w").spawn();
    let mut lines = BufReader::new(watch.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("NAME"));
    assert!(lines.next().unwrap().starts_with("a "));
    server.kubectl("create configmap b --from-literal=x=1").succeeds();
    let line = lines.next().unwrap();
    assert!(
        line.starts_with("b ") && line.split_whitespace().nth(1) == Some("1"),
        "{line}"
    );
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn discovery_explains_itself() {
    let server = Server::start();
    let resources = server.kubectl("api-resources").succeeds();
    for line in [
        "configmaps",
        "placements",
        "shoots",
        "decisions",
        "targets",
        "schedulingreviews",
        "roles",
    ] {
        assert!(resources.contains(line), "{line} is missing:\n{resources}");
    }
    let ours = server
        .kubectl("api-resources --api-group=scheduling.berth.dev -o wide")
        .succeeds();
    assert!(ours.contains("btg") && ours.contains("bdec"), "{ours}");
    assert!(
        server
            .kubectl("api-versions")
            .succeeds()
            .contains("cluster.open-cluster-management.io/v1beta1")
    );
    let explained = server
        .kubectl("explain placements.spec.prioritizerPolicy")
        .succeeds();
    assert!(
        explained.contains("configurations") && explained.contains("DESCRIPTION"),
        "{explained}"
    );
    assert!(
        server
            .kubectl("explain shoots.spec --recursive")
            .succeeds()
            .contains("seedSelector")
    );
    assert!(
        server
            .kubectl("explain placements.spec.nope")
            .fails()
            .contains("does not exist")
    );
}

#[test]
fn rights_are_those_of_roles_and_bindings() {
    let server = Server::start();
    let viewer = server.kubeconfig_for("ann", &["viewers"]);
    let can = |arguments: &[&str]| server.kubectl_as(&viewer, arguments).run().out.trim().to_owned();
    assert_eq!(can(&["auth", "can-i", "list", "placements", "-A"]), "no");
    let refused = server.kubectl_as(&viewer, &["get", "configmaps"]).fails();
    assert!(
        refused.contains("configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\""),
        "{refused}"
    );
    server
        .kubectl("create role reader --verb=get,list --resource=configmaps")
        .succeeds();
    server
        .kubectl("create rolebinding ann --role=reader --user=ann")
        .succeeds();
    assert_eq!(can(&["auth", "can-i", "list", "configmaps"]), "yes");
    assert_eq!(can(&["auth", "can-i", "create", "configmaps"]), "no");
    assert!(server.kubectl_as(&viewer, &["get", "configmaps"]).run().success);
    assert_eq!(
        can(&["auth", "can-i", "create", "decisions", "--subresource=binding"]),
        "no"
    );
    server
        .kubectl("create clusterrole bind --verb=create --resource=decisions.scheduling.berth.dev/binding")
        .succeeds();
    server
        .kubectl("create clusterrolebinding bind --clusterrole=bind --group=viewers")
        .succeeds();
    assert_eq!(
        can(&[
            "auth",
            "can-i",
            "create",
            "decisions.scheduling.berth.dev",
            "--subresource=binding"
        ]),
        "yes"
    );
    assert!(can(&["auth", "whoami"]).contains("ann"));
    assert!(
        server
            .kubectl("auth can-i --list --as=ann")
            .succeeds()
            .contains("configmaps")
    );
    assert_eq!(
        server
            .kubectl("auth can-i get configmaps --as=bob")
            .run()
            .out
            .trim(),
        "no"
    );
}

#[test]
fn events_are_shown_for_the_object_they_regard() {
    let server = Server::start();
    server.kubectl("create configmap a").succeeds();
    let event = |name: &str, regarding: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: {name}, namespace: default}}\ninvolvedObject: {{apiVersion: v1, kind: ConfigMap, name: {regarding}, namespace: default}}\nreason: Tested\nmessage: about {regarding}\ntype: Normal\n"
        )
    };
    server
        .kubectl("create -f -")
        .input(format!("{}---\n{}", event("e1", "a"), event("e2", "b")))
        .succeeds();
    let shown = server.kubectl("events --for configmap/a").succeeds();
    assert!(shown.contains("about a") && !shown.contains("about b"), "{shown}");
    let other = server.kubectl("get events.v1.events.k8s.io -o json").json();
    assert_eq!(other["items"][0]["apiVersion"], "events.k8s.io/v1");
    assert_eq!(other["items"][0]["regarding"]["name"], "a");
    let normal = server
        .kubectl("get events --field-selector involvedObject.name=b,type=Normal -o name")
        .succeeds();
    assert_eq!(normal, "event/e2\n");
}

#[test]
fn one_data_folder_is_served_by_one_process() {
    let server = Server::start();
    let second = std::process::Command::new(berth_tests::berth())
        .args(["serve", "--secure-port", "0", "--data-dir"])
        .arg(server.data_dir())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let error = String::from_utf8_lossy(&second.stderr);
    assert!(error.contains("is in use"), "{error}");
}

#[test]
fn kubectl_takes_the_server_for_a_kubernetes_of_its_own_age() {
    let server = Server::start();
    let output = server.kubectl("version -o json").run();
    assert!(output.success, "{}", output.err);
    let versions: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let answered = &versions["serverVersion"];
    assert_eq!(
        (&answered["major"], &answered["minor"]),
        (&"1".into(), &"34".into())
    );
    let version = answered["gitVersion"].as_str().unwrap();
    assert!(version.starts_with("v1.34.0+berth."), "{version}");
    // It warns when the server's minor version differs by more than one, as 1.34 does for an older
    // kubectl.
    let minor = versions["clientVersion"]["minor"].as_str().unwrap();
    let minor: i32 = minor.trim_end_matches('+').parse().unwrap();
    assert_eq!(output.err.is_empty(), (minor - 34).abs() <= 1, "{}", output.err);
}
