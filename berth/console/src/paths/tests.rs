//! Every rule about methods and paths.

use super::*;

fn allowed(writes: bool) -> Allowlist {
    Allowlist {
        groups: [BERTH_GROUP, "core.gardener.cloud"]
            .into_iter()
            .map(str::to_owned)
            .collect(),
        writes,
    }
}

fn code(writes: bool, method: Method, path: &str) -> Option<u16> {
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    allowed(writes)
        .check(&method, path, query)
        .err()
        .map(|refusal| refusal.code.as_u16())
}

#[test]
fn what_explains_decisions_may_be_read() {
    for path in [
        "/version",
        "/apis",
        "/openapi/v3",
        "/apis/scheduling.berth.dev/v1alpha1",
        "/openapi/v3/apis/scheduling.berth.dev/v1alpha1",
        "/apis/scheduling.berth.dev/v1alpha1/targets?limit=500",
        "/apis/scheduling.berth.dev/v1alpha1/namespaces/a/decisions/b.ocm/scheduling",
        "/apis/scheduling.berth.dev/v1alpha1/namespaces/a/candidates/b.ocm:c.ocm",
        "/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots/web",
        "/apis/events.k8s.io/v1/namespaces/garden-dev/events",
        "/api/v1/events",
    ] {
        assert_eq!(code(false, Method::GET, path), None, "{path}");
        assert_eq!(code(false, Method::HEAD, path), None, "{path}");
    }
}

#[test]
fn nothing_beside_the_list_is_read() {
    for path in [
        "/",
        "/api/v1/secrets",
        "/apis/core.gardener.cloud/v1beta1/watch/secrets",
        "/api/v1/namespaces/a/secrets/b",
        "/api/v1/namespaces/a/pods/b/exec",
        "/api/v1/nodes/a/proxy/x",
        "/apis/apps/v1/deployments",
        "/apis/core.gardener.cloud/v1beta1/secrets",
        "/apis/core.gardener.cloud/v1beta1/namespaces/a/secrets/b",
        "/apis/core.gardener.cloud/v1beta1/namespaces/a/shoots/b/adminkubeconfig",
        "/apis/scheduling.berth.dev/v1alpha1/targets/a.kcp/proxy",
        "/apis/scheduling.berth.dev/v1alpha1/targets/a.kcp/proxy/api/v1/secrets",
        "/metrics",
        "/logs/x",
    ] {
        assert_eq!(code(true, Method::GET, path), Some(403), "{path}");
    }
}

#[test]
fn paths_that_are_not_normal_are_refused() {
    for path in [
        "apis",
        "//apis",
        "/apis/",
        "/apis/../api/v1/secrets",
        "/apis/./x",
        "/apis/%2e%2e/api",
        "/apis/scheduling.berth.dev%2Fv1alpha1",
        "/apis\\x",
        "/apis/scheduling.berth.dev//v1alpha1",
        "/apis/ä",
    ] {
        assert_eq!(code(true, Method::GET, path), Some(403), "{path}");
    }
}

#[test]
fn a_review_is_a_question_and_bindings_need_allow_writes() {
    let below = |path: &str| format!("/apis/scheduling.berth.dev/v1alpha1/{path}");
    for path in ["schedulingreviews", "namespaces/a/localschedulingreviews"] {
        assert_eq!(code(false, Method::POST, &below(path)), None, "{path}");
    }
    for path in [
        "clusterbindings",
        "namespaces/a/bindings",
        "clusterdecisions/a.fleet/binding",
        "namespaces/a/decisions/b.ocm/binding",
    ] {
        assert_eq!(code(false, Method::POST, &below(path)), Some(403), "{path}");
        assert_eq!(code(true, Method::POST, &below(path)), None, "{path}");
    }
    for path in [
        &below("targets"),
        &below("namespaces/a/decisions"),
        "/apis/core.gardener.cloud/v1beta1/namespaces/a/shoots",
        "/apis/scheduling.berth.dev/v2/schedulingreviews",
    ] {
        assert_eq!(code(true, Method::POST, path), Some(403), "{path}");
    }
}

#[test]
fn no_other_method_is_ever_sent_on() {
    for method in [
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::CONNECT,
        Method::TRACE,
    ] {
        assert_eq!(
            code(
                true,
                method.clone(),
                "/apis/scheduling.berth.dev/v1alpha1/targets"
            ),
            Some(405),
            "{method}"
        );
    }
}

#[test]
fn pages_and_paths_are_bounded() {
    let targets = "/apis/scheduling.berth.dev/v1alpha1/targets";
    for limit in ["0", "501", "-1", "x", ""] {
        assert_eq!(
            code(false, Method::GET, &format!("{targets}?limit={limit}")),
            Some(400),
            "{limit}"
        );
    }
    for encoded in ["%6cimit=501", "limit=%35%30%31", "a=b&l%69mit=0"] {
        let path = format!("{targets}?{encoded}");
        assert_eq!(code(false, Method::GET, &path), Some(400), "{encoded}");
    }
    let long = format!("{targets}?continue={}", "x".repeat(MAX_PATH_LENGTH));
    assert_eq!(code(false, Method::GET, &long), Some(414));
}
