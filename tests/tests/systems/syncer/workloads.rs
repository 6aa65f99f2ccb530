//! Services and deployments as `kubectl` users expect them, although no workloads run here.

use berth_tests::Server;

use crate::syncer::world::deployment;

#[test]
fn kubectl_works_with_services_and_deployments() {
    let server = Server::start();
    let kubectl = |arguments: &str| server.kubectl(arguments);
    assert_eq!(
        kubectl("create deployment web --image=web:1 --replicas=3 --port=80").succeeds(),
        "deployment.apps/web created\n"
    );
    let web = kubectl("get deploy web -o json").json();
    assert_eq!(web["spec"]["replicas"], 3);
    assert_eq!(web["spec"]["strategy"]["rollingUpdate"]["maxSurge"], "25%");
    assert_eq!(
        web["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"],
        80
    );
    assert_eq!(web["metadata"]["generation"], 1);
    let wide = kubectl("get deployments -o wide").succeeds();
    for text in [
        "READY",
        "UP-TO-DATE",
        "AVAILABLE",
        "CONTAINERS",
        "0/3",
        "web:1",
        "app=web",
    ] {
        assert!(wide.contains(text), "{text}: {wide}");
    }

    kubectl("scale deployment web --replicas=5").succeeds();
    let scale = kubectl("get deployment web --subresource=scale -o json").json();
    assert_eq!(
        (&scale["kind"], &scale["spec"]["replicas"]),
        (&"Scale".into(), &5.into())
    );
    assert_eq!(scale["status"]["selector"], "app=web");
    assert_eq!(
        kubectl("get deployment web -o jsonpath={.metadata.generation}").succeeds(),
        "2"
    );
    assert!(
        kubectl("scale deployment web --replicas=-1")
            .fails()
            .contains("must")
    );

    kubectl("expose deployment web --port=80 --target-port=8080").succeeds();
    let table = kubectl("get svc web").succeeds();
    assert!(table.contains("ClusterIP") && table.contains("80/TCP"), "{table}");
    let refused = kubectl("create service nodeport bad --tcp=80:80 --node-port=70000").fails();
    assert!(refused.contains("65535"), "{refused}");
    let all = kubectl("get all").succeeds();
    assert!(
        all.contains("service/web") && all.contains("deployment.apps/web"),
        "{all}"
    );
    assert!(
        kubectl("explain service.spec.ports")
            .succeeds()
            .contains("targetPort")
    );
}

#[test]
fn applying_a_deployment_again_merges_its_containers_by_name() {
    let server = Server::start();
    let first = deployment("web", 2);
    let apply = |text: &str| server.kubectl("apply -f -").input(text).succeeds();
    assert_eq!(apply(&first), "deployment.apps/web created\n");
    assert_eq!(apply(&first), "deployment.apps/web unchanged\n");
    let sidecar =
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1","tty":true}]}}}}"#;
    server
        .kubectl_args(&["patch", "deployment", "web", "-p", sidecar])
        .succeeds();
    assert_eq!(
        apply(&first.replace("web:1", "web:2")),
        "deployment.apps/web configured\n"
    );
    let images = server
        .kubectl("get deployment web -o jsonpath={.spec.template.spec.containers[*].image}")
        .succeeds();
    let mut images: Vec<&str> = images.split(' ').collect();
    images.sort_unstable();
    assert_eq!(images, ["side:1", "web:2"]);
    let refused = server
        .kubectl("apply -f -")
        .input(first.replace(r#""matchLabels":{"app":"web"}"#, r#""matchLabels":{"app":"x"}"#))
        .fails();
    assert!(
        refused.contains("`selector` does not match template `labels`")
            && refused.contains("field is immutable"),
        "{refused}"
    );
}

#[test]
fn editors_write_and_viewers_read_them() {
    let server = Server::start();
    server.kubectl("create namespace app").succeeds();
    for (user, role) in [("eve", "edit"), ("vic", "view")] {
        let binding = format!("-n app create rolebinding {user} --clusterrole={role} --user={user}");
        server.kubectl(&binding).succeeds();
    }
    for (user, verb, resource, may) in [
        ("eve", "create", "deployments.apps", true),
        ("eve", "update", "deployments.apps/scale", true),
        ("eve", "delete", "services", true),
        ("vic", "list", "deployments.apps", true),
        ("vic", "get", "services", true),
        ("vic", "create", "services", false),
    ] {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let subresource = format!("--subresource={subresource}");
        let words = [
            "-n",
            "app",
            "auth",
            "can-i",
            verb,
            resource,
            &subresource,
            "--as",
            user,
        ];
        let answer = server.kubectl_args(&words).run();
        assert_eq!(
            answer.out.trim() == "yes",
            may,
            "{user} {verb} {resource}: {}{}",
            answer.out,
            answer.err
        );
    }
}
