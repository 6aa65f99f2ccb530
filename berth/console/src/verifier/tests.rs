//! Every rule about who is answered.

use http::Request;

use super::*;

const TARGETS: &str = "/cluster/apis/scheduling.berth.dev/v1alpha1/targets";

fn verifier() -> RequestVerifier {
    RequestVerifier::new(4711, &["console.example:80".to_owned()]).unwrap()
}

fn admit(
    verifier: &RequestVerifier,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<AdmittedRequest, u16> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    verifier.admit(&parts).map_err(|refusal| refusal.code.as_u16())
}

const HERE: (&str, &str) = ("host", "127.0.0.1:4711");

#[test]
fn only_our_own_hosts_with_our_port_are_answered() {
    let verifier = verifier();
    for host in [
        "localhost:4711",
        "127.0.0.1:4711",
        "[::1]:4711",
        "LOCALHOST:4711",
        "console.example:80",
    ] {
        assert_eq!(
            admit(&verifier, "GET", "/", &[("host", host)]),
            Ok(AdmittedRequest::Asset),
            "{host}"
        );
    }
    for host in [
        "evil.example:4711",
        "localhost",
        "127.0.0.1:4712",
        "127.0.0.1:4711.evil.example",
        "localhost.evil.example:4711",
        "localhost:4711@evil.example",
        "",
        "0.0.0.0:4711",
    ] {
        assert_eq!(
            admit(&verifier, "GET", "/", &[("host", host)]),
            Err(403),
            "{host}"
        );
    }
    assert_eq!(admit(&verifier, "GET", "/", &[]), Err(403), "none");
    assert_eq!(admit(&verifier, "GET", "/", &[HERE, HERE]), Err(403), "two");
    assert_eq!(
        admit(&verifier, "GET", "http://evil.example/", &[HERE]),
        Err(403),
        "absolute"
    );
}

#[test]
fn a_refused_host_is_named_with_the_flag_that_allows_it() {
    let request = Request::builder()
        .uri("/")
        .header("host", "box.corp:4711")
        .body(())
        .unwrap();
    let refusal = verifier().admit(&request.into_parts().0).unwrap_err();
    assert!(
        refusal.message.contains("--allow-host box.corp:4711"),
        "{}",
        refusal.message
    );
}

#[test]
fn api_requests_need_the_token_of_this_run() {
    let verifier = verifier();
    let token = (TOKEN_HEADER, verifier.token());
    assert!(matches!(
        admit(&verifier, "GET", TARGETS, &[HERE, token]),
        Ok(AdmittedRequest::Api(_))
    ));
    assert_eq!(
        admit(&verifier, "GET", "/-/about", &[HERE, token]),
        Ok(AdmittedRequest::About)
    );
    for path in [TARGETS, "/-/about"] {
        assert_eq!(admit(&verifier, "GET", path, &[HERE]), Err(401), "none");
        assert_eq!(
            admit(&verifier, "GET", path, &[HERE, (TOKEN_HEADER, "x")]),
            Err(401),
            "wrong"
        );
        assert_eq!(
            admit(&verifier, "GET", path, &[HERE, token, token]),
            Err(401),
            "two"
        );
        let almost = format!("{}x", &verifier.token()[..63]);
        assert_eq!(
            admit(&verifier, "GET", path, &[HERE, (TOKEN_HEADER, &almost)]),
            Err(401),
            "almost"
        );
    }
    let elsewhere = format!("{TARGETS}?token={}", verifier.token());
    assert_eq!(
        admit(&verifier, "GET", &elsewhere, &[HERE]),
        Err(401),
        "never in a request line"
    );
}

#[test]
fn every_run_has_a_token_of_256_bits() {
    let (one, other) = (verifier(), verifier());
    assert_eq!(one.token().len(), 64);
    assert_ne!(one.token(), other.token());
}

#[test]
fn other_origins_are_refused_even_with_the_token() {
    let verifier = verifier();
    let token = (TOKEN_HEADER, verifier.token());
    for origin in ["http://127.0.0.1:4711", "http://localhost:4711"] {
        assert!(
            admit(&verifier, "GET", TARGETS, &[HERE, token, ("origin", origin)]).is_ok(),
            "{origin}"
        );
    }
    for origin in [
        "http://evil.example",
        "http://127.0.0.1:4712",
        "null",
        "http://evil.example:4711",
        "file://",
    ] {
        assert_eq!(
            admit(&verifier, "GET", TARGETS, &[HERE, token, ("origin", origin)]),
            Err(403),
            "{origin}"
        );
    }
    // After rebinding both name the attacker's host: that they are equal means nothing.
    let rebound = [
        ("host", "evil.example:4711"),
        ("origin", "http://evil.example:4711"),
        token,
    ];
    assert_eq!(admit(&verifier, "GET", TARGETS, &rebound), Err(403));
}

#[test]
fn sec_fetch_site_must_be_our_own_page() {
    let verifier = verifier();
    let token = (TOKEN_HEADER, verifier.token());
    for (site, page, api) in [
        ("same-origin", true, true),
        ("none", true, false),
        ("same-site", false, false),
        ("cross-site", false, false),
    ] {
        let from = ("sec-fetch-site", site);
        assert_eq!(
            admit(&verifier, "GET", "/", &[HERE, from]).is_ok(),
            page,
            "{site}"
        );
        assert_eq!(
            admit(&verifier, "GET", TARGETS, &[HERE, token, from]).is_ok(),
            api,
            "{site}"
        );
    }
}

#[test]
fn a_link_from_elsewhere_leads_to_the_page_and_to_nothing_else() {
    let verifier = verifier();
    let token = (TOKEN_HEADER, verifier.token());
    let link = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    let [site, mode, document] = link;
    assert!(admit(&verifier, "GET", "/", &[HERE, site, mode, document]).is_ok());
    assert!(admit(&verifier, "GET", TARGETS, &[HERE, token, site, mode, document]).is_err());
    let frame = ("sec-fetch-dest", "iframe");
    assert!(admit(&verifier, "GET", "/", &[HERE, site, mode, frame]).is_err());
}

#[test]
fn preflights_are_refused() {
    let verifier = verifier();
    let token = (TOKEN_HEADER, verifier.token());
    for path in ["/", TARGETS] {
        assert_eq!(
            admit(&verifier, "OPTIONS", path, &[HERE, token]),
            Err(403),
            "{path}"
        );
    }
}

#[test]
fn what_is_posted_is_json_and_says_so() {
    let verifier = verifier();
    let token = (TOKEN_HEADER, verifier.token());
    let post = |kinds: &[(&'static str, &'static str)]| {
        admit(&verifier, "POST", TARGETS, &[&[HERE, token], kinds].concat()).err()
    };
    assert_eq!(post(&[("content-type", "application/json")]), None);
    assert_eq!(post(&[("content-type", "text/plain")]), Some(415));
    assert_eq!(post(&[]), Some(415));
    assert_eq!(admit(&verifier, "POST", "/", &[HERE, token]), Err(405));
}
