//! Requests of discovery and OpenAPI clients, and the answers.

use http_body_util::BodyExt;

use super::*;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn documents() -> Documents {
    let apis = Document {
        path: "/apis".to_owned(),
        forms: vec![
            Form::new("application/json", None, false, Bytes::from_static(b"legacy")),
            Form::new(AGGREGATED, Some("\"E\""), true, Bytes::from_static(b"aggregated")),
        ],
        hash: None,
    };
    let openapi = Document {
        path: "/openapi/v3/apis/g/v1".to_owned(),
        forms: vec![Form::new(
            "application/json",
            Some("\"H\""),
            false,
            Bytes::from(vec![b' '; 200_000]),
        )],
        hash: Some("H".to_owned()),
    };
    Documents::new(vec![apis, openapi])
}

fn ask(target: &str, headers: &[(&'static str, &str)]) -> Result<Response<Body>, Status> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
        .collect();
    documents().answer(path, true, &headers, &Query::parse(query))
}

async fn body(accept: &str) -> String {
    let response = ask("/apis", &[("accept", accept)]).unwrap();
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn the_first_clause_that_can_be_served_wins() {
    assert_eq!(body(AGGREGATED).await, "aggregated");
    assert_eq!(
        body(&format!("{AGGREGATED};profile=nopeer,application/json")).await,
        "aggregated"
    );
    let beta = AGGREGATED.replace("v=v2", "v=v2beta1");
    assert_eq!(body(&format!("{beta},application/json")).await, "legacy");
    assert_eq!(
        body(&format!("application/json;q=0.5,{AGGREGATED}")).await,
        "aggregated"
    );
    assert_eq!(body("*/*").await, "legacy");
    assert_eq!(
        body("application/vnd.kubernetes.protobuf, application/*").await,
        "legacy"
    );
    let refused = ask("/apis", &[("accept", "text/csv")]).unwrap_err();
    assert_eq!(refused.code, 406);
    assert!(refused.message.contains(AGGREGATED), "{}", refused.message);
}

#[tokio::test]
async fn a_client_that_only_says_what_it_does_not_accept_is_not_served() {
    for accept in ["*/*;q=0", "text/csv;q=0, application/json;q=0.0"] {
        let refused = ask("/apis", &[("accept", accept)]).unwrap_err();
        assert_eq!(refused.code, 406, "{accept}");
    }
    assert_eq!(body("text/csv;q=0, */*;q=0.1").await, "legacy");
    assert_eq!(body("").await, "legacy");
}

#[test]
fn aggregated_discovery_is_revalidated() {
    let response = ask("/apis", &[("accept", AGGREGATED)]).unwrap();
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    assert_eq!(header(ETAG), Some("\"E\""));
    assert_eq!(
        (header(VARY), header(CACHE_CONTROL)),
        (Some("Accept"), Some("public"))
    );
    assert_eq!(header(CONTENT_TYPE), Some(AGGREGATED));
    let again = ask(
        "/apis",
        &[("accept", AGGREGATED), ("if-none-match", "\"x\", \"E\"")],
    )
    .unwrap();
    assert_eq!(again.status(), 304);
    assert!(again.headers().get(CONTENT_TYPE).is_none());
}

#[test]
fn hashed_documents_never_change_and_stale_hashes_lead_to_the_current_one() {
    let path = "/openapi/v3/apis/g/v1";
    let current = ask(&format!("{path}?hash=H"), &[]).unwrap();
    assert_eq!(current.headers()[CACHE_CONTROL], "public, immutable");
    assert!(current.headers().contains_key(EXPIRES));
    let stale = ask(&format!("{path}?hash=00"), &[]).unwrap();
    assert_eq!(
        (stale.status().as_u16(), &stale.headers()[LOCATION]),
        (301, &HeaderValue::from_static("/openapi/v3/apis/g/v1?hash=H"))
    );
    let plain = ask(path, &[]).unwrap();
    assert_eq!(plain.status(), 200);
    assert!(plain.headers().get(CACHE_CONTROL).is_none());
}

#[tokio::test]
async fn large_documents_are_compressed_when_asked() {
    let response = ask("/openapi/v3/apis/g/v1", &[("accept-encoding", "deflate, gzip")]).unwrap();
    assert_eq!(response.headers()[CONTENT_ENCODING], "gzip");
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut plain).unwrap();
    assert_eq!(plain.len(), 200_000);
    let refused = ask("/openapi/v3/apis/g/v1", &[("accept-encoding", "gzip;q=0")]).unwrap();
    assert!(refused.headers().get(CONTENT_ENCODING).is_none());
    let (head, body) = refused.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    assert_eq!(head.headers[CONTENT_LENGTH], "200000");
    assert_eq!(bytes, plain);
}

#[tokio::test]
async fn discovery_is_yaml_where_that_was_asked_for_and_openapi_is_not() {
    let documents = Documents::of_groups("Toy", "v1.2.3", &[]);
    let ask = |path: &str, accept: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("accept", accept.parse().unwrap());
        documents.answer(path, true, &headers, &Query::default())
    };
    let mut tags = std::collections::BTreeSet::new();
    let in_yaml = AGGREGATED.replace("json", "yaml");
    for accept in ["application/json", "application/yaml", AGGREGATED, &in_yaml] {
        let response = ask("/apis", accept).unwrap();
        assert_eq!(response.headers()[CONTENT_TYPE], *accept);
        assert!(tags.insert(response.headers()[ETAG].clone()), "{accept}");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let kind = if accept.contains("as=") {
            "APIGroupDiscoveryList"
        } else {
            "APIGroupList"
        };
        assert_eq!(
            crate::decode::read_yaml(&body).unwrap().value["kind"],
            kind,
            "{accept}"
        );
        assert_eq!(body.starts_with(b"{"), accept.contains("json"), "{accept}");
    }
    for path in ["/openapi/v2", "/openapi/v3"] {
        assert_eq!(ask(path, "application/yaml").unwrap_err().code, 406, "{path}");
    }
}

#[test]
fn unknown_paths_and_methods_are_refused() {
    assert_eq!(ask("/apis/nope", &[]).unwrap_err().code, 404);
    let refused = documents().answer("/apis", false, &HeaderMap::new(), &Query::default());
    assert_eq!(refused.unwrap_err().code, 405);
}

#[test]
fn the_documents_of_a_server_without_groups_are_all_there() {
    let documents = Documents::of_groups("Toy", "v1.2.3", &[]);
    let paths: Vec<&str> = documents.paths().collect();
    for path in ["/apis", "/openapi/v2", "/openapi/v3", "/openapi/v3/version"] {
        assert!(paths.contains(&path), "{path} is missing in {paths:?}");
    }
    let answer = |path: &str, accept: &str, query: &str| {
        let headers = HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]);
        documents
            .answer(path, true, &headers, &Query::parse(query))
            .unwrap()
    };
    for name in berth_openapi::OPENAPI_V2_PROTOBUF {
        let accept = format!("{name}, application/json;q=0.5");
        assert_eq!(
            answer("/openapi/v2", &accept, "").headers()[CONTENT_TYPE],
            berth_openapi::OPENAPI_V2_PROTOBUF[1]
        );
    }
    assert_eq!(
        answer("/openapi/v2", "application/json", "").headers()[CONTENT_TYPE],
        "application/json"
    );
    assert_eq!(
        answer("/apis", berth_openapi::AGGREGATED_DISCOVERY, "").headers()[CACHE_CONTROL],
        "public"
    );
    assert_eq!(
        answer("/openapi/v3/version", "application/json", "hash=00").status(),
        301
    );
}
