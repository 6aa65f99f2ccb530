//! Admission as a user meets it: what is bound on create, what is refused and in which words, and the webhooks.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};
use tests::{Server, raw};

const BINDING_RIGHT: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: bind-shoots, namespace: garden-dev}\nrules: [{apiGroups: [core.gardener.cloud], resources: [shoots/binding], verbs: [update]}]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: bind-shoots, namespace: garden-dev}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: bind-shoots}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: operator}]\n";

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

fn shoot(name: &str, region: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {"name": name, "namespace": "garden-dev"},
        "spec": {
            "cloudProfileName": "aws",
            "region": region,
            "provider": {"type": "aws", "workers": [{"name": "w", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 2}]},
            "networking": {"nodes": "10.250.0.0/16"},
            "kubernetes": {"version": "1.34.1"},
        },
    })
}

fn placed(name: &str, seed: &str) -> Value {
    let mut shoot = shoot(name, "eu-west-1");
    shoot["spec"]["seedName"] = seed.into();
    shoot
}

fn gardener() -> Server {
    let server = Server::start();
    server.load(&example("gardener/fleet.yaml"));
    server
}

fn phase(server: &Server, decision: &str) -> String {
    server
        .kubectl(&format!(
            "-n garden-dev get decision {decision} -o jsonpath={{.status.phase}}"
        ))
        .ok()
}

#[test]
fn a_create_shows_where_it_went_and_the_decision_is_bound() {
    let server = gardener();
    let created = server
        .kubectl("create -o yaml -f -")
        .input(shoot("web", "eu-west-1").to_string())
        .run();
    assert!(created.success, "{}", created.err);
    assert!(created.out.contains("seedName: aws-eu1"), "{}", created.out);
    assert!(!created.err.contains("Warning"), "{}", created.err);
    assert_eq!(phase(&server, "web.gardener"), "Bound");
    let row = server.kubectl("-n garden-dev get decisions").ok();
    assert!(row.contains("Bound") && row.contains("aws-eu1"), "{row}");
    // The next one goes where there is less load.
    let next = server
        .kubectl("apply -o jsonpath={.spec.seedName} -f -")
        .input(shoot("next", "eu-west-1").to_string())
        .ok();
    assert_eq!(next, "aws-eu2");
}

#[test]
fn what_fits_nowhere_is_created_unbound_with_a_warning_that_says_why() {
    let server = gardener();
    let created = server
        .kubectl("create -f -")
        .input(shoot("lost", "nowhere-1").to_string())
        .run();
    assert!(created.success, "{}", created.err);
    assert!(
        created
            .err
            .contains("Warning: not bound (NoSuitableSeed): 0 of 5 seeds"),
        "{}",
        created.err
    );
    assert_eq!(phase(&server, "lost.gardener"), "Unschedulable");
}

#[test]
fn a_dry_run_is_a_forecast_and_keeps_nothing() {
    let server = gardener();
    let dry = |value: Value| {
        server
            .kubectl("create --dry-run=server -o json -f -")
            .input(value.to_string())
            .run()
    };
    let forecast = dry(shoot("web", "eu-west-1"));
    let object: Value = serde_json::from_str(&forecast.out).unwrap();
    assert_eq!(object["spec"]["seedName"], "aws-eu1");
    let lost = dry(shoot("lost", "nowhere-1"));
    assert!(
        lost.err.contains("Warning: would be not bound (NoSuitableSeed)"),
        "{}",
        lost.err
    );
    assert!(server.kubectl("-n garden-dev get shoots -o name").ok().is_empty());
    assert_eq!(
        server
            .kubectl("get target aws-eu1.gardener -o jsonpath={.status.capacity[0].used}")
            .ok(),
        "0"
    );
}

#[test]
fn placements_are_decided_before_their_create_is_answered() {
    let server = Server::start();
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    let placement = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: fresh, namespace: story-1}\nspec: {numberOfClusters: 2}\n";
    let created = server.kubectl("create -o json -f -").input(placement).json();
    assert_eq!(created["status"]["numberOfSelectedClusters"], 2);
    let decisions = server
        .kubectl(
            "-n story-1 get placementdecisions -l cluster.open-cluster-management.io/placement=fresh -o json",
        )
        .json();
    assert_eq!(
        decisions["items"][0]["status"]["decisions"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let many = placement.replace("fresh", "greedy").replace(": 2}", ": 99}");
    let partly = server.kubectl("create -f -").input(many).run();
    assert!(
        partly.success && partly.err.contains("Warning: bound in part"),
        "{}",
        partly.err
    );
}

#[test]
fn auto_bind_off_leaves_new_objects_unbound() {
    let server = gardener();
    server.bind_by_hand(&["gardener"]);
    let created = server
        .kubectl("create -o json -f -")
        .input(shoot("web", "eu-west-1").to_string())
        .json();
    assert!(created["spec"].get("seedName").is_none());
    assert_eq!(phase(&server, "web.gardener"), "Pending");
    let listed = server.kubectl("get schedulerconfigurations").ok();
    assert!(listed.contains("Off"), "{listed}");
    let wrong = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: ocm}\nspec: {autoBind: Sometimes}\n";
    let refused = server.kubectl("create -f -").input(wrong).fails();
    assert!(
        refused.contains(
            "spec.autoBind: Unsupported value: \"Sometimes\": supported values: \"OnCreate\", \"Off\""
        ),
        "{refused}"
    );
}

#[test]
fn what_is_used_is_not_deleted() {
    let server = gardener();
    let web = server
        .kubectl("create -o jsonpath={.spec.seedName} -f -")
        .input(shoot("web", "eu-west-1").to_string())
        .ok();
    assert_eq!(web, "aws-eu1");
    let refused = server.kubectl("delete seed aws-eu1").fails();
    assert!(
        refused.contains(
            "seeds.core.gardener.cloud \"aws-eu1\" is forbidden: it is used by 1 shoots.core.gardener.cloud: garden-dev/web"
        ),
        "{refused}"
    );
    let dry = server.kubectl("delete seed aws-eu1 --dry-run=server").fails();
    assert!(dry.contains("it is used by"), "{dry}");
    for number in 0..11 {
        let lost = shoot(&format!("lost-{number:02}"), "nowhere-1").to_string();
        server.kubectl("create -f -").input(lost).ok();
    }
    let refused = server.kubectl("delete cloudprofile aws").fails();
    assert!(
        refused.contains("it is used by 12 shoots.core.gardener.cloud: garden-dev/lost-00, ")
            && refused.contains("garden-dev/lost-09 and 2 more"),
        "{refused}"
    );
    server.kubectl("delete seed aws-us1").ok();
    server.kubectl("-n garden-dev delete shoots --all").ok();
    server.kubectl("delete seed aws-eu1").ok();
    server.kubectl("delete cloudprofile aws").ok();
}

#[test]
fn a_place_given_on_create_is_judged_by_feasibility() {
    let server = gardener();
    server.kubectl("apply -f -").input(BINDING_RIGHT).ok();
    let edit = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: editors, namespace: garden-dev}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: operator}]\n";
    server.kubectl("apply -f -").input(edit).ok();
    let (alice, operator) = (
        server.kubeconfig_for("alice", &[]),
        server.kubeconfig_for("operator", &[]),
    );
    let create = |user: &Path, object: &Value| {
        server
            .kubectl_as(user, &["create", "-f", "-"])
            .input(object.to_string())
    };
    create(&alice, &placed("good", "aws-eu2")).ok();
    let given = server.kubectl("-n garden-dev get shoot good -o json").json();
    assert_eq!(given["spec"]["networking"]["pods"], "100.96.0.0/11");
    let far = create(&alice, &placed("far", "aws-us1")).fails();
    assert!(
        far.contains("is forbidden: spec.seedName \"aws-us1\" is not feasible (NotSameRegion")
            && far.contains("user \"alice\" may not update shoots/binding"),
        "{far}"
    );
    create(&operator, &placed("far", "aws-us1")).ok();
    let guarded = create(&operator, &placed("guarded", "aws-guarded")).fails();
    assert!(
        guarded.contains("spec.seedName: Invalid value: \"aws-guarded\""),
        "{guarded}"
    );
    let unknown = create(&operator, &placed("unknown", "mars")).fails();
    assert!(
        unknown.contains("spec.seedName: Not found: \"mars\""),
        "{unknown}"
    );
    // Capacity counts: three shoots fit, and `good` is one of them.
    for name in ["b", "c"] {
        create(&alice, &placed(name, "aws-eu2")).ok();
    }
    let full = create(&operator, &placed("d", "aws-eu2")).fails();
    assert!(full.contains("spec.seedName: Invalid value"), "{full}");
}

#[test]
fn nothing_is_made_in_namespaces_that_are_missing_or_going() {
    let server = Server::start();
    let map = |namespace: &str, name: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}, finalizers: [example.com/hold]}}\n"
        )
    };
    let missing = server.kubectl("create -f -").input(map("nowhere", "a")).fails();
    assert_eq!(
        missing.trim(),
        "Error from server (NotFound): error when creating \"STDIN\": namespaces \"nowhere\" not found"
    );
    server.kubectl("create namespace going").ok();
    server.kubectl("create -f -").input(map("going", "held")).ok();
    server.kubectl("delete namespace going --wait=false").ok();
    let going = server.kubectl("create -f -").input(map("going", "late")).fails();
    assert_eq!(
        going.trim(),
        "Error from server (Forbidden): error when creating \"STDIN\": configmaps \"late\" is forbidden: unable to create new content in namespace going because it is being terminated"
    );
    server
        .kubectl_args(&[
            "-n",
            "going",
            "patch",
            "configmap",
            "held",
            "--type=merge",
            "-p",
            r#"{"metadata":{"finalizers":null}}"#,
        ])
        .ok();
    server
        .kubectl("wait --for=delete namespace/going --timeout=20s")
        .ok();
}

#[test]
fn labelled_config_maps_are_checked_with_every_error() {
    let server = Server::start();
    let map = |label: &str, data: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: scheduler, labels: {{scheduling.berth.dev/config: {label}}}}}\ndata:\n{data}"
        )
    };
    let good = "  config.yaml: |\n    apiVersion: scheduler.config.gardener.cloud/v1alpha1\n    kind: SchedulerConfiguration\n    schedulers: {shoot: {retrySyncPeriod: 1m}}\n";
    let bad = "  config.yaml: |\n    apiVersion: scheduler.config.gardener.cloud/v1alpha1\n    schedulers:\n      shoot: {retrySyncPeriod: -1s, candidateDeterminationStrategy: Nearest}\n";
    let broken = "  broken.yaml: |\n    a: 1\n    b: [\n";
    let errors = server
        .kubectl("create -f -")
        .input(map("gardener", &format!("{bad}{broken}")))
        .fails();
    for text in [
        "data[config.yaml]: Invalid value: schedulers.shoot.retrySyncPeriod: Invalid value: \"-1s\"",
        "data[config.yaml]: Invalid value: schedulers.shoot.candidateDeterminationStrategy: Unsupported value: \"Nearest\"",
        "data[broken.yaml]: Invalid value: is not YAML: line ",
    ] {
        assert!(errors.contains(text), "{text}: {errors}");
    }
    let unknown = server.kubectl("create -f -").input(map("nomad", good)).fails();
    assert!(
        unknown.contains("metadata.labels[scheduling.berth.dev/config]: Unsupported value: \"nomad\""),
        "{unknown}"
    );
    let foreign = server.kubectl("create -f -").input(map("ocm", good)).fails();
    assert!(foreign.contains("data[config.yaml]"), "{foreign}");
    let note = server
        .kubectl("create -f -")
        .input(map("gardener", "  note: just words\n"))
        .run();
    assert!(
        note.success && note.err.contains("Warning: data[note] is no configuration file"),
        "{}",
        note.err
    );
    server.kubectl("apply -f -").input(map("gardener", good)).ok();
    let refused = server.kubectl("apply -f -").input(map("gardener", bad)).fails();
    assert!(refused.contains("retrySyncPeriod"), "{refused}");
}

#[test]
fn decisions_are_written_by_their_scheduler_only() {
    let server = Server::start_with(&["--break-glass-group", "firefighters"]);
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    let name = server
        .kubectl("-n story-1 get placementdecisions -o jsonpath={.items[0].metadata.name}")
        .ok();
    let patch = |user: &Path, subresource: &str| {
        let change = r#"{"status":{"decisions":[]},"metadata":{"labels":{"a":"b"}}}"#;
        let fixed = [
            "-n",
            "story-1",
            "patch",
            "placementdecision",
            &name,
            "--type=merge",
            "-p",
            change,
        ];
        let mut arguments = fixed.to_vec();
        if !subresource.is_empty() {
            arguments.push(subresource);
        }
        server.kubectl_as(user, &arguments).run()
    };
    let admin = server.kubeconfig();
    for subresource in ["", "--subresource=status"] {
        let refused = patch(&admin, subresource);
        assert!(
            !refused.success
                && refused.err.contains(
                    "it holds the decision of Placement \"placement\", which only berth:scheduler writes"
                ),
            "{}",
            refused.err
        );
    }
    let refused = server
        .kubectl(&format!("-n story-1 delete placementdecision {name}"))
        .fails();
    assert!(refused.contains("berth:scheduler"), "{refused}");
    let firefighter = server.kubeconfig_for("fred", &["system:masters", "firefighters"]);
    assert!(patch(&firefighter, "").success);
    // With the placement, everything of it goes.
    server.kubectl("-n story-1 delete placement placement").ok();
    tests::eventually("the decisions to go with their placement", || {
        server
            .kubectl("-n story-1 get placementdecisions -o name")
            .ok()
            .is_empty()
            .then_some(())
    });
}

fn review(operation: &str, resource: &str, kind: &str, object: Value, old: Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816",
            "kind": {"group": "core.gardener.cloud", "version": "v1beta1", "kind": kind},
            "resource": {"group": "core.gardener.cloud", "version": "v1beta1", "resource": resource},
            "name": object["metadata"]["name"].as_str().or(old["metadata"]["name"].as_str()),
            "namespace": object["metadata"]["namespace"],
            "operation": operation,
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": object, "oldObject": old, "dryRun": false,
        },
    })
}

fn patched(mut object: Value, answer: &Value) -> Value {
    let text = answer["response"]["patch"].as_str().unwrap_or_default();
    let patch = STANDARD.decode(text).unwrap();
    let operations: Value = serde_json::from_slice(&patch).unwrap_or_else(|_| json!([]));
    for operation in operations.as_array().unwrap() {
        assert_eq!(operation["op"], "add", "binding only adds: {operation}");
        let path = operation["path"].as_str().unwrap();
        let (parent, field) = path.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[field.replace("~1", "/")] = operation["value"].clone();
    }
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhooks_bind_guard_and_answer_in_the_protocols_words() {
    let server = gardener();
    let client = raw::client(&server.kubeconfig()).await;
    let ask = async |path: &str, value: &Value| raw::write(&client, Method::POST, path, value).await;
    let (mutate, validate) = ("/admission/mutate", "/admission/validate");

    let fresh = review(
        "CREATE",
        "shoots",
        "Shoot",
        shoot("web", "eu-west-1"),
        Value::Null,
    );
    let answer = ask(mutate, &fresh).await;
    assert_eq!(answer.code, 200);
    let answer = answer.json();
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer["response"]["uid"], fresh["request"]["uid"]);
    assert_eq!(answer["response"]["patchType"], "JSONPatch", "{answer}");
    let bound = patched(shoot("web", "eu-west-1"), &answer);
    assert_eq!(bound["spec"]["seedName"], "aws-eu1");
    assert_eq!(bound["spec"]["networking"]["pods"], "100.96.0.0/11");
    // Asked again about its own result, it has nothing to add; and nothing was kept.
    let again = ask(
        mutate,
        &review("CREATE", "shoots", "Shoot", bound.clone(), Value::Null),
    )
    .await;
    assert!(
        again.json()["response"].get("patch").is_none(),
        "{}",
        again.json()
    );
    assert_eq!(
        ask(validate, &review("CREATE", "shoots", "Shoot", bound, Value::Null))
            .await
            .json()["response"]["allowed"],
        true
    );
    assert!(server.kubectl("-n garden-dev get shoots -o name").ok().is_empty());
    let lost = ask(
        mutate,
        &review(
            "CREATE",
            "shoots",
            "Shoot",
            shoot("lost", "nowhere-1"),
            Value::Null,
        ),
    )
    .await
    .json();
    assert!(
        lost["response"]["warnings"][0]
            .as_str()
            .unwrap()
            .contains("NoSuitableSeed"),
        "{lost}"
    );
    let far = ask(
        validate,
        &review("CREATE", "shoots", "Shoot", placed("far", "aws-us1"), Value::Null),
    )
    .await
    .json();
    assert_eq!(
        (&far["response"]["allowed"], &far["response"]["status"]["code"]),
        (&json!(false), &json!(403)),
        "{far}"
    );
    let moved = review(
        "UPDATE",
        "shoots",
        "Shoot",
        placed("web", "aws-eu2"),
        placed("web", "aws-eu1"),
    );
    let moved = ask(mutate, &moved).await.json();
    assert!(
        moved["response"]["status"]["message"]
            .as_str()
            .unwrap()
            .contains("shoots/binding"),
        "{moved}"
    );

    server.load(&example("gardener/load.yaml"));
    let seed = server.kubectl("get seed aws-eu1 -o json").json();
    let used = ask(validate, &review("DELETE", "seeds", "Seed", Value::Null, seed))
        .await
        .json();
    assert_eq!(used["response"]["allowed"], false);
    assert_eq!(
        used["response"]["status"]["details"]["causes"][0],
        json!({"reason": "InUse", "message": "used by shoots garden-dev/running-1"})
    );
    let unknown = review(
        "CREATE",
        "pods",
        "Pod",
        json!({"metadata": {"name": "p"}}),
        Value::Null,
    );
    assert_eq!(ask(validate, &unknown).await.json()["response"]["allowed"], true);

    let metrics = String::from_utf8(raw::get(&client, "/metrics").await.body).unwrap();
    for line in [
        "apiserver_admission_controller_admission_duration_seconds_count{name=\"InUseProtection\",type=\"validate\",operation=\"DELETE\",rejected=\"true\"} 1",
        "apiserver_admission_step_admission_duration_seconds_count{type=\"validate\",operation=\"DELETE\",rejected=\"true\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_review_is_refused_as_such() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let send = async |kind: &str, body: &[u8]| {
        raw::send(
            &client,
            Method::POST,
            "/admission/validate",
            &[("content-type", kind)],
            body,
        )
        .await
    };
    for (kind, body, code) in [
        ("application/json", &b"{"[..], 400),
        (
            "application/json",
            b"{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}",
            400,
        ),
        ("application/yaml", b"kind: AdmissionReview", 415),
        ("text/plain", b"", 415),
    ] {
        let answer = send(kind, body).await;
        assert_eq!(answer.code, code, "{}", String::from_utf8_lossy(&answer.body));
        assert_eq!(answer.json()["kind"], "Status");
    }
    let mut old = review("CREATE", "shoots", "Shoot", shoot("a", "r"), Value::Null);
    old["apiVersion"] = "admission.k8s.io/v1beta1".into();
    let answer = send("application/json", old.to_string().as_bytes()).await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.json()["apiVersion"], "admission.k8s.io/v1beta1");
    assert_eq!(answer.json()["response"]["allowed"], false);

    let mut large = review("CREATE", "shoots", "Shoot", shoot("a", "r"), Value::Null);
    large["request"]["object"]["metadata"]["annotations"] = json!({"x": "y".repeat(7 * 1024 * 1024)});
    let answer = send("application/json; charset=utf-8", large.to_string().as_bytes()).await;
    assert_eq!(answer.code, 200, "eight MiB fit");
    large["request"]["object"]["metadata"]["annotations"] = json!({"x": "y".repeat(9 * 1024 * 1024)});
    let answer = send("application/json", large.to_string().as_bytes()).await;
    assert_eq!((answer.code, answer.json()["code"].as_u64()), (413, Some(413)));
    assert_eq!(raw::get(&client, "/admission/validate").await.code, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhooks_can_have_a_port_and_a_ca_of_their_own() {
    let callers = Server::start();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let ca = callers.data_dir().join("ca.crt").display().to_string();
    let server = Server::start_with(&[
        "--admission-bind-port",
        &port.to_string(),
        "--admission-client-ca-file",
        &ca,
    ]);
    let body = review("CREATE", "shoots", "Shoot", shoot("a", "r"), Value::Null);
    let ask = async |kubeconfig: &Path, url: &str| {
        let client = raw::client_at(kubeconfig, url, &server.data_dir().join("ca.crt")).await;
        raw::write(&client, Method::POST, "/admission/validate", &body).await
    };
    let url = format!("https://127.0.0.1:{port}");
    let taken = ask(&callers.kubeconfig(), &url).await;
    assert_eq!(taken.code, 200, "{}", String::from_utf8_lossy(&taken.body));
    let refused = ask(&server.kubeconfig(), &url).await;
    assert_eq!(refused.code, 401);
    assert!(
        refused.json()["message"]
            .as_str()
            .unwrap()
            .contains("certificate"),
        "{}",
        refused.json()
    );
    assert_eq!(
        ask(&server.kubeconfig(), server.url()).await.code,
        404,
        "not on the API's own port"
    );
}
