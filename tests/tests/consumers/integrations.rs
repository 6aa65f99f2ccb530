//! Decisions over plain HTTP, for Argo CD's plugin generator and Flux's ExternalService.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_certs::Authority;
use berth_tests::{Server, raw};
use http::Method;
use serde_json::{Value, json};

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

const TOKEN: &str = "a-token-of-at-least-16";
const ARGO_CD: &str = "/integrations/argocd/api/v1/getparams.execute";
const FLUX: &str = "/integrations/flux/decisions/story-1/placement.ocm";

/// A client without an identity, with the server's address and CA.
async fn stranger(server: &Server) -> kube::Client {
    client(server, None).await
}

/// A client with a certificate and its key.
async fn client(server: &Server, issued: Option<&berth_certs::IssuedCertificate>) -> kube::Client {
    let mut file = kube::config::Kubeconfig::read_from(server.kubeconfig()).unwrap();
    for user in &mut file.auth_infos {
        user.auth_info = issued.map(|issued| {
            let identity = json!({
                "client-certificate-data": STANDARD.encode(&issued.certificate),
                "client-key-data": STANDARD.encode(&issued.key),
            });
            serde_json::from_value(identity).unwrap()
        });
    }
    let path = server.file("stranger.kubeconfig", &serde_json::to_string(&file).unwrap());
    raw::client(&path).await
}

/// Starts a server with the endpoints for tools, and returns the folder of the token, which it reads at
/// each request.
fn with_integrations() -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let server = Server::start_with(&["--integrations-token-file", file.to_str().unwrap()]);
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    (server, folder)
}

fn bound(server: &Server) -> BTreeSet<String> {
    let decision = server
        .kubectl("get decision placement.ocm -n story-1 -o json")
        .json();
    let list = decision["status"]["decisions"].as_array().unwrap();
    list.iter()
        .map(|entry| entry["clusterName"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn argo_cds_plugin_generator_gets_the_clusters_of_a_decision() {
    let (server, _folder) = with_integrations();
    let client = stranger(&server).await;
    let ask = async |token: &str, parameters: Value| {
        let body = json!({"applicationSetName": "web", "input": {"parameters": parameters}}).to_string();
        let headers = [("content-type", "application/json"), ("authorization", token)];
        let headers = if token.is_empty() {
            &headers[..1]
        } else {
            &headers[..]
        };
        raw::send(&client, Method::POST, ARGO_CD, headers, body.as_bytes()).await
    };
    let wanted = json!({"namespace": "story-1", "name": "placement.ocm"});
    let bearer = format!("Bearer {TOKEN}");
    let answer = ask(&bearer, wanted.clone()).await;
    assert_eq!(answer.code, 200, "{:?}", answer.json());
    let parameters = answer.json()["output"]["parameters"].as_array().unwrap().clone();
    let clusters: BTreeSet<String> = parameters
        .iter()
        .map(|one| one["cluster"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(clusters, bound(&server));
    assert!(!clusters.is_empty());
    assert_eq!(parameters[0]["system"], "ocm");
    assert!(parameters[0]["target"].as_str().unwrap().ends_with(".ocm"));
    assert!(parameters[0]["labels"].is_object());
    for (token, parameters, code, word) in [
        ("", wanted.clone(), 401, "Unauthorized"),
        ("Bearer another-token-of-16", wanted, 403, "bearer token"),
        (
            &bearer,
            json!({"namespace": "story-1", "name": "other.ocm"}),
            404,
            "other.ocm",
        ),
        (
            &bearer,
            json!({"namespace": "story-1", "name": "placement.nope"}),
            404,
            "placement.nope",
        ),
        (&bearer, json!({"selector": "a=b"}), 400, "selector"),
    ] {
        let answer = ask(token, parameters).await;
        assert_eq!(answer.code, code, "{:?}", answer.json());
        assert!(answer.json().to_string().contains(word), "{:?}", answer.json());
    }
}

#[tokio::test]
async fn flux_gets_the_clusters_of_a_decision_as_inputs() {
    let (server, _folder) = with_integrations();
    let client = stranger(&server).await;
    let bearer = format!("Bearer {TOKEN}");
    let ask = async |path: &str, headers: &[(&str, &str)]| {
        raw::send(&client, Method::GET, path, headers, b"").await
    };
    let answer = ask(FLUX, &[("authorization", &bearer)]).await;
    assert_eq!(answer.code, 200, "{:?}", answer.json());
    let inputs = answer.json()["inputs"].as_array().unwrap().clone();
    let ids: BTreeSet<String> = inputs
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, bound(&server));
    assert_eq!(ids.len(), inputs.len());
    assert_eq!(ask(FLUX, &[]).await.code, 401);
    let missing = ask(
        "/integrations/flux/clusterdecisions/nothing.fleet",
        &[("authorization", &bearer)],
    )
    .await;
    assert_eq!(missing.code, 404);
}

#[tokio::test]
async fn without_a_token_file_nobody_is_answered() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    assert_eq!(raw::get(&client, FLUX).await.code, 404);
}

#[tokio::test]
async fn a_client_certificate_is_as_good_as_a_token_and_no_other_ca_is() {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemClock.now();
    let [ours, theirs] =
        ["tools", "others"].map(|name| Authority::open(folder.path(), name, name, now).unwrap());
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, ours.certificate_pem()).unwrap();
    let server = Server::start_with(&["--integrations-client-ca-file", file.to_str().unwrap()]);
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    let ask = async |client: &kube::Client| raw::send(client, Method::GET, FLUX, &[], b"").await;
    let issued = ours.issue_client("flux", &[], now).unwrap();
    let known = client(&server, Some(&issued)).await;
    let answer = ask(&known).await;
    assert_eq!(answer.code, 200, "{:?}", answer.json());
    assert_eq!(
        answer.json()["inputs"].as_array().unwrap().len(),
        bound(&server).len()
    );
    // A tool is not a user with rights on the server.
    assert_eq!(raw::get(&known, "/api/v1/namespaces").await.code, 401);
    assert_eq!(ask(&stranger(&server).await).await.code, 401);
    let other = theirs.issue_client("flux", &[], now).unwrap();
    assert_eq!(ask(&client(&server, Some(&other)).await).await.code, 401);
    // A user of the server is not a tool.
    assert_eq!(ask(&raw::client(&server.kubeconfig()).await).await.code, 401);
}
