//! `/admission/mutate` and `/admission/validate`, with requests as of a kube-apiserver.

use berth_tests::{ports, raw};
use http::Method;

use super::*;

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

fn warnings(answer: &Value) -> Vec<String> {
    let list = answer["response"]["warnings"].as_array();
    let texts = list
        .into_iter()
        .flatten()
        .map(|text| text.as_str().unwrap().to_owned());
    texts.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhooks_warn_guard_and_answer_in_the_protocols_words() {
    let server = gardener_with(&["--admission-webhooks"]);
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
    assert_eq!(answer["response"]["allowed"], true, "{answer}");
    assert!(
        answer["response"].get("patch").is_none(),
        "the controller binds, which can reserve: {answer}"
    );
    assert!(warnings(&ask(validate, &fresh).await.json()).is_empty());
    let mut dry = fresh.clone();
    dry["request"]["dryRun"] = true.into();
    let forecast = ask(validate, &dry).await.json();
    assert!(
        warnings(&forecast).is_empty(),
        "places are not told without a certificate: {forecast}"
    );

    // A named target is not reserved either: that requires the right to bind.
    let near = review(
        "CREATE",
        "shoots",
        "Shoot",
        placed("near", "aws-eu1"),
        Value::Null,
    );
    let refused = ask(validate, &near).await.json();
    let message = refused["response"]["status"]["message"]
        .as_str()
        .unwrap_or_default();
    assert!(
        message.contains("spec.seedName \"aws-eu1\" cannot be reserved for a create")
            && message.contains("may not update shoots.core.gardener.cloud/binding"),
        "{refused}"
    );
    let mut by_root = near;
    by_root["request"]["userInfo"] = json!({"username": "root", "groups": ["system:masters"]});
    let taken = ask(validate, &by_root).await.json();
    assert_eq!(taken["response"]["allowed"], true, "{taken}");
    assert!(
        server
            .kubectl("-n garden-dev get shoots -o name")
            .succeeds()
            .is_empty()
    );
    let lost = ask(
        validate,
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
    assert_eq!(
        warnings(&lost),
        ["not bound: create a SchedulingReview of the object to see why"],
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

    let mut alien = shoot("web", "eu-west-1");
    alien["spec"]["provider"]["type"] = "gcp".into();
    let alien = ask(validate, &review("CREATE", "shoots", "Shoot", alien, Value::Null)).await;
    let status = &alien.json()["response"]["status"];
    assert_eq!(
        (&status["code"], &status["details"]["causes"][0]["field"]),
        (&json!(422), &json!("spec.provider.type")),
        "{status}"
    );
    let choosing = |environment: &str| {
        let mut shoot = placed("web", "aws-eu1");
        shoot["spec"]["seedSelector"] = json!({"matchLabels": {"environment": environment}});
        shoot
    };
    let update = |old: Value, new: Value| review("UPDATE", "shoots", "Shoot", new, old);
    let away = ask(validate, &update(choosing("live"), choosing("test")))
        .await
        .json();
    assert_eq!(
        away["response"]["status"]["details"]["causes"][0]["field"], "spec.seedSelector",
        "{away}"
    );
    let back = ask(validate, &update(choosing("test"), choosing("live")))
        .await
        .json();
    assert_eq!(back["response"]["allowed"], true, "{back}");

    server.load(&example("gardener/load.yaml"));
    let seed = server.kubectl("get seed aws-eu1 -o json").json();
    let used = ask(
        validate,
        &review("DELETE", "seeds", "Seed", Value::Null, seed.clone()),
    )
    .await
    .json();
    assert_eq!(used["response"]["allowed"], false);
    let status = used["response"]["status"].to_string();
    assert!(
        status.contains("it is used by shoots.core.gardener.cloud") && !status.contains("running-1"),
        "who asks has shown no certificate: {status}"
    );
    // For the deletion of a collection, kube-apiserver names each object only in oldObject.
    let mut one_of_all = review("DELETE", "seeds", "Seed", Value::Null, seed);
    one_of_all["request"]["name"] = "".into();
    let used = ask(validate, &one_of_all).await.json();
    assert_eq!(used["response"]["allowed"], false, "{used}");
    let message = used["response"]["status"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("\"aws-eu1\" is forbidden"), "{message}");
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
        "apiserver_admission_controller_admission_duration_seconds_count{name=\"InUseProtection\",type=\"validate\",operation=\"DELETE\",rejected=\"true\"} 2",
        "apiserver_admission_step_admission_duration_seconds_count{type=\"validate\",operation=\"DELETE\",rejected=\"true\"} 2",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_review_is_refused_as_such() {
    let server = Server::start_with(&["--admission-webhooks"]);
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
    large["request"]["object"]["metadata"]["annotations"] = json!({"x": "y".repeat(6 * 1024 * 1024)});
    let answer = send("application/json; charset=utf-8", large.to_string().as_bytes()).await;
    assert_eq!(answer.code, 200, "six MiB fit");
    large["request"]["object"]["metadata"]["annotations"] = json!({"x": "y".repeat(7 * 1024 * 1024)});
    let answer = send("application/json", large.to_string().as_bytes()).await;
    assert_eq!((answer.code, answer.json()["code"].as_u64()), (413, Some(413)));
    assert_eq!(raw::get(&client, "/admission/validate").await.code, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhooks_can_have_a_port_and_a_ca_of_their_own() {
    let callers = Server::start();
    let port = ports::free();
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

#[tokio::test(flavor = "multi_thread")]
async fn a_server_alone_answers_no_reviews_unless_it_is_told_to() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let body = review("CREATE", "shoots", "Shoot", shoot("a", "r"), Value::Null);
    let answer = raw::write(&client, Method::POST, "/admission/validate", &body).await;
    assert_eq!(answer.code, 404, "{}", String::from_utf8_lossy(&answer.body));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_callers_with_a_certificate_hear_what_other_objects_are_like() {
    let callers = Server::start();
    let ca = callers.data_dir().join("ca.crt").display().to_string();
    let code_of = async |server: &Server, kubeconfig: &Path| {
        let own = server.data_dir().join("ca.crt");
        let client = raw::client_at(kubeconfig, server.url(), &own).await;
        let mut dry = review(
            "CREATE",
            "shoots",
            "Shoot",
            shoot("web", "eu-west-1"),
            Value::Null,
        );
        dry["request"]["dryRun"] = true.into();
        let forecast = raw::write(&client, Method::POST, "/admission/validate", &dry).await;
        let mut answers = vec![warnings(&forecast.json()).join("; ")];
        server.load(&example("gardener/load.yaml"));
        let seed = server.kubectl("get seed aws-eu1 -o json").json();
        for question in [
            review("DELETE", "seeds", "Seed", Value::Null, seed),
            review("CREATE", "shoots", "Shoot", placed("far", "aws-us1"), Value::Null),
        ] {
            let answer = raw::write(&client, Method::POST, "/admission/validate", &question).await;
            assert_eq!(answer.json()["response"]["allowed"], false, "{}", answer.json());
            answers.push(answer.json()["response"]["status"].to_string());
        }
        answers
    };
    let known = gardener_with(&["--admission-client-ca-file", &ca]);
    let known = code_of(&known, &callers.kubeconfig()).await;
    assert!(known[0].starts_with("would be bound to aws-eu"), "{}", known[0]);
    assert!(known[1].contains("garden-dev/running-1"), "{}", known[1]);
    assert!(known[2].contains("region"), "{}", known[2]);
    let open = gardener_with(&["--admission-webhooks"]);
    let strangers = code_of(&open, &open.kubeconfig()).await;
    assert_eq!(strangers[0], "");
    assert!(!strangers[1].contains("running"), "{}", strangers[1]);
    assert!(
        strangers[2].contains("create a SchedulingReview of the object to see why")
            && !strangers[2].contains("region"),
        "{}",
        strangers[2]
    );
}
