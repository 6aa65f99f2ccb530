//! Users whose short parallel requests cause much work, and who disconnect before it is done.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use berth_tests::Server;
use berth_tests::raw::{attempt, get, write};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::Over;
use super::attacks::Answers;

/// Number of one user's parallel requests.
const AT_ONCE: usize = 60;
/// ConfigMaps in the namespace of the users who list them and use them as parameters.
const MAPS: usize = 1_500;

const DECISIONS: &str = "/apis/scheduling.berth.dev/v1alpha1/namespaces/team-gil/decisions";

/// Creates many ConfigMaps with labels, and a policy whose cheap expression is evaluated with each of
/// them.
pub(super) fn prepare(server: &Server) {
    let labels: serde_json::Map<_, _> = (0..40).map(|n| (format!("k{n}"), "v".into())).collect();
    let mut maps = String::new();
    for number in 0..MAPS {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("m{number}"), "namespace": "team-dan", "labels": labels}});
        write!(maps, "{map}\n---\n").expect("text grows");
    }
    let api = "admissionregistration.k8s.io/v1";
    let rule =
        json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["CREATE"]});
    let policy = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "limits"},
        "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "lists.range(50).all(x, lists.range(10).all(y, x + y >= 0))"}],
        },
    });
    let binding = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "limits"},
        "spec": {
            "policyName": "limits", "validationActions": ["Deny"],
            "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team-dan"}}},
        },
    });
    write!(maps, "{policy}\n---\n{binding}\n").expect("text grows");
    server.load(&server.file("maps.yaml", &maps));
}

/// Sends the requests of `request` in parallel, and drops each after `patience`.
async fn abandoned<F>(who: &'static str, patience: Duration, over: Over, request: F) -> String
where
    F: AsyncFn(usize) -> Option<u16>,
{
    let (asked, answered) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let one = async |turn: usize| {
        let mut number = turn;
        while !over.load(Ordering::Relaxed) {
            number += AT_ONCE;
            asked.set(asked.get() + 1);
            if let Ok(Some(code)) = tokio::time::timeout(patience, request(number)).await {
                assert!([200, 201, 422, 429, 504].contains(&code), "{who}: {code}");
                answered.set(answered.get() + usize::from(code < 400));
            }
        }
    };
    futures::future::join_all((0..AT_ONCE).map(one)).await;
    format!("{who}: {} asked, {} answered", asked.get(), answered.get())
}

async fn read(client: &Client, path: &str) -> Option<u16> {
    let answer = attempt(client, Method::GET, path, &[], b"").await.ok()?;
    Some(answer.code)
}

/// `berth:explainer`: abandoned advice about a large fleet.
pub(super) async fn advice(client: Client, over: Over) -> String {
    let path = format!("{DECISIONS}/narrow.ocm/advice?limit=0&timeout=5s");
    abandoned("advice", Duration::from_secs(2), over, async |_| {
        read(&client, &path).await
    })
    .await
}

/// `view` in a namespace: lists of objects with many labels by selectors of many terms.
pub(super) async fn selectors(client: Client, over: Over) -> String {
    let terms: Vec<String> = (0..1_000).map(|n| format!("k{}%3Dv", n % 40)).collect();
    let path = format!(
        "/api/v1/namespaces/team-dan/configmaps?labelSelector={}",
        terms.join(",")
    );
    let watch = format!("{path}&watch=1&timeoutSeconds=1");
    let patience = Duration::from_secs(3);
    abandoned("long selectors", patience, over, async |number| {
        read(&client, if number % 8 == 0 { &watch } else { &path }).await
    })
    .await
}

/// `edit` in a namespace: small writes, which a policy checks with each of its ConfigMaps.
pub(super) async fn policies(client: Client, over: Over) -> String {
    let path = "/api/v1/namespaces/team-dan/secrets?dryRun=All";
    let first = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "first"}});
    let answer = write(&client, Method::POST, path, &first).await;
    assert!(
        [201, 504].contains(&answer.code),
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    abandoned("policies", Duration::from_secs(3), over, async |number| {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("s{number}")}});
        let body = secret.to_string();
        let headers = [("content-type", "application/json")];
        let answer = attempt(&client, Method::POST, path, &headers, body.as_bytes())
            .await
            .ok()?;
        Some(answer.code)
    })
    .await
}

/// `berth:explainer` in a namespace: as many reviews as possible, with their own objects.
pub(super) async fn reviews(client: Client, over: Over) -> String {
    let path = "/apis/scheduling.berth.dev/v1alpha1/namespaces/team-gil/localschedulingreviews";
    let review: Value = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "LocalSchedulingReview",
        "metadata": {"name": "r", "namespace": "team-gil"},
        "spec": {"object": {
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": "other", "namespace": "team-gil"}, "spec": {},
        }},
    });
    let mut answers = Answers::by("reviews in a namespace");
    let answer = write(&client, Method::POST, path, &review).await;
    answers.note(&answer, &[201]);
    let body = review.to_string();
    let headers = [("content-type", "application/json")];
    abandoned(
        "reviews in a namespace",
        Duration::from_secs(10),
        over,
        async |_| {
            let answer = attempt(&client, Method::POST, path, &headers, body.as_bytes())
                .await
                .ok()?;
            Some(answer.code)
        },
    )
    .await
}

/// `view`: all computed and recorded resources, as tables and with selectors.
pub(super) async fn computed(client: Client, over: Over) -> String {
    let group = "/apis/scheduling.berth.dev/v1alpha1";
    let terms = vec!["!a"; 500].join(",");
    let paths = [
        format!("{group}/publisheddecisions?labelSelector={terms}"),
        format!("{group}/decisionrecords?labelSelector={terms}"),
        format!("{group}/targets?labelSelector={terms}"),
        format!("{group}/namespaces/team-gil/candidates"),
        format!("{DECISIONS}/wide.ocm/history"),
    ];
    for path in &paths {
        let answer = get(&client, path).await;
        assert_eq!(
            answer.code,
            200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
    abandoned("computed lists", Duration::from_secs(3), over, async |number| {
        read(&client, &paths[number % paths.len()]).await
    })
    .await
}
