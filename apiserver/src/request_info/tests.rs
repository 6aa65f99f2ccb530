//! Paths as kube-apiserver parses them.

use super::*;

fn parse(method: &str, target: &str) -> RequestInfo {
    RequestInfo::parse(&method.parse().unwrap(), &target.parse().unwrap()).unwrap()
}

/// `verb group version namespace resource subresource name`, with `-` for empty parts.
fn summary(method: &str, target: &str) -> String {
    let info = parse(method, target);
    assert!(info.is_resource, "{target}");
    [
        info.verb,
        &info.group,
        &info.version,
        &info.namespace,
        &info.resource,
        &info.subresource,
        &info.name,
    ]
    .map(|part| if part.is_empty() { "-" } else { part })
    .join(" ")
}

#[test]
fn two_slashes_begin_no_resource() {
    for path in ["//api/v1/pods", "//apis/apps/v1/deployments"] {
        assert!(!parse("GET", path).is_resource, "{path}");
    }
}

#[test]
fn resource_paths_are_taken_apart() {
    for (method, target, expected) in [
        ("GET", "/api/v1/namespaces", "list - v1 - namespaces - -"),
        (
            "GET",
            "/api/v1/namespaces/other",
            "get - v1 other namespaces - other",
        ),
        (
            "PUT",
            "/api/v1/namespaces/other/status",
            "update - v1 other namespaces status other",
        ),
        (
            "PUT",
            "/api/v1/namespaces/other/finalize",
            "update - v1 other namespaces finalize other",
        ),
        ("GET", "/api/v1/namespaces/other/pods", "list - v1 other pods - -"),
        (
            "GET",
            "/api/v1/namespaces/other/namespaces",
            "get - v1 other namespaces namespaces other",
        ),
        (
            "GET",
            "/api/v1/namespaces/other/pods/foo",
            "get - v1 other pods - foo",
        ),
        (
            "HEAD",
            "/api/v1/namespaces/other/pods/foo",
            "get - v1 other pods - foo",
        ),
        ("GET", "/api/v1/pods", "list - v1 - pods - -"),
        ("HEAD", "/api/v1/pods", "list - v1 - pods - -"),
        (
            "POST",
            "/api/v1/namespaces/other/pods",
            "create - v1 other pods - -",
        ),
        (
            "PATCH",
            "/api/v1/namespaces/other/pods/foo",
            "patch - v1 other pods - foo",
        ),
        (
            "DELETE",
            "/api/v1/namespaces/other/pods/foo",
            "delete - v1 other pods - foo",
        ),
        (
            "DELETE",
            "/api/v1/namespaces/other/pods",
            "deletecollection - v1 other pods - -",
        ),
        (
            "GET",
            "/api/v1/namespaces/other/pods?watch=true",
            "watch - v1 other pods - -",
        ),
        (
            "GET",
            "/api/v1/namespaces/other/pods?watch=0",
            "list - v1 other pods - -",
        ),
        (
            "GET",
            "/api/v1/namespaces/other/pods/foo?watch=1",
            "get - v1 other pods - foo",
        ),
        ("GET", "/api/v1/watch/pods", "watch - v1 - pods - -"),
        (
            "GET",
            "/api/v1/watch/namespaces/other/pods",
            "watch - v1 other pods - -",
        ),
        (
            "GET",
            "/api/v1/watch/namespaces/other/pods/foo",
            "watch - v1 other pods - foo",
        ),
        ("GET", "/apis/g.io/v1/foos/", "list g.io v1 - foos - -"),
        (
            "GET",
            "/apis/g.io/v1/foos/a/status",
            "get g.io v1 - foos status a",
        ),
        (
            "POST",
            "/apis/g.io/v1/namespaces/n/foos/a/binding",
            "create g.io v1 n foos binding a",
        ),
        ("GET", "/apis/g.io/v1/foos/a%20b", "get g.io v1 - foos - a b"),
        ("OPTIONS", "/api/v1/pods", "- - v1 - pods - -"),
        ("FETCH", "/api/v1/pods", "- - v1 - pods - -"),
    ] {
        assert_eq!(summary(method, target), expected, "{method} {target}");
    }
}

#[test]
fn discovery_and_other_paths_are_no_resources() {
    for target in [
        "/",
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/apis",
        "/apis/g.io",
        "/apis/g.io/v1",
        "/apis/g.io/v1/",
        "/healthz",
        "/apix/v1/pods/a",
        "/openapi/v3/apis/g/v1",
    ] {
        let info = parse("GET", target);
        assert!(!info.is_resource, "{target}");
        assert_eq!((info.verb, info.path.as_str()), ("get", target));
    }
    assert_eq!(parse("POST", "/admission/mutate").verb, "post");
}

#[test]
fn a_name_in_the_field_selector_becomes_the_name() {
    let selected = "/api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Dfoo";
    assert_eq!(summary("GET", selected), "list - v1 n pods - foo");
    assert_eq!(
        summary("GET", &format!("{selected}&watch=1")),
        "watch - v1 n pods - foo"
    );
    assert_eq!(summary("DELETE", selected), "deletecollection - v1 n pods - foo");
    assert!(!parse("GET", selected).named_in_path);
    for other in [
        "metadata.name%21%3Dfoo",
        "metadata.namespace%3Dfoo",
        "metadata.name%3Da%2Fb",
        "%3D%3D%3D",
    ] {
        let info = parse("GET", &format!("/api/v1/namespaces/n/pods?fieldSelector={other}"));
        assert_eq!(info.name, "", "{other}");
    }
}

#[test]
fn the_path_below_a_proxy_is_kept() {
    let info = parse("PATCH", "/apis/g/v1/targets/x.kcp/proxy/apis/apps/v1/deployments");
    assert_eq!(
        (info.subresource.as_str(), info.rest.as_str()),
        ("proxy", "apis/apps/v1/deployments")
    );
    let inner = info.inner.as_ref().unwrap();
    assert_eq!(
        (inner.verb, inner.group.as_str(), inner.resource.as_str()),
        ("patch", "apps", "deployments")
    );
    assert!(parse("GET", "/api/v1/pods?watch=1").is_long_running());
    assert!(!parse("GET", "/api/v1/pods").is_long_running());
}

#[test]
fn a_request_below_a_proxy_stays_open_when_it_would_there() {
    let below = |path: &str| parse("GET", &format!("/apis/g/v1/targets/x.kcp/proxy{path}"));
    for (path, open) in [
        ("/api/v1/configmaps?watch=1", true),
        ("/api/v1/watch/configmaps", true),
        ("/api/v1/configmaps", false),
        ("/apis", false),
        ("", true),
        ("/api/v1/watch", true),
        ("/apis/g/v1/targets/y.kcp/proxy/api/v1/configmaps?watch=1", false),
    ] {
        assert_eq!(below(path).is_long_running(), open, "{path}");
    }
    let nested = below("/apis/g/v1/targets/y.kcp/proxy/api/v1/pods").inner.unwrap();
    assert!(nested.inner.is_none(), "one level is read");
}

#[test]
fn malformed_paths_are_400() {
    for target in ["/api/v1/watch", "/api/v1/proxy/", "/a%zz", "/a%2", "/%ff"] {
        let status = RequestInfo::parse(&Method::GET, &target.parse().unwrap()).unwrap_err();
        assert_eq!(status.code, 400, "{target}");
    }
}
