//! The first matching rule, and the errors in policy files.

use super::*;

fn asked<'a>(user: &'a str, verb: &'a str, resource: &'a str) -> PolicyAttributes<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    PolicyAttributes {
        user,
        groups: &[],
        verb,
        is_resource: true,
        path: "",
        group: "",
        resource,
        subresource,
        namespace: "ns",
        name: "x",
    }
}

fn path(path: &str) -> PolicyAttributes<'_> {
    PolicyAttributes {
        is_resource: false,
        path,
        resource: "",
        namespace: "",
        name: "",
        ..asked("u", "get", "")
    }
}

fn policy(rules: &str) -> Policy {
    Policy::read(&format!(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n{rules}\n"
    ))
    .unwrap()
}

#[test]
fn the_first_rule_that_matches_all_it_names_says_the_level() {
    let policy = policy(
        "- {level: None, users: [\"system:kube-proxy\"], verbs: [watch], resources: [{group: \"\", resources: [endpoints, services]}]}
- {level: None, userGroups: [\"system:authenticated\"], nonResourceURLs: [\"/api*\", /version]}
- {level: Request, resources: [{group: \"\", resources: [configmaps], resourceNames: [x]}], namespaces: [kube-system]}
- {level: RequestResponse, resources: [{group: apps}]}
- {level: Metadata, resources: [{group: \"\", resources: [\"pods/*\", \"*/scale\", secrets]}]}",
    );
    let level = |asked| policy.judge(asked).level;
    assert_eq!(
        level(asked("system:kube-proxy", "watch", "services")),
        Level::None
    );
    let groups = ["system:authenticated".to_owned()];
    assert_eq!(
        level(PolicyAttributes {
            groups: &groups,
            ..path("/apis/apps")
        }),
        Level::None
    );
    let maps = PolicyAttributes {
        namespace: "kube-system",
        ..asked("u", "update", "configmaps")
    };
    assert_eq!(level(maps), Level::Request);
    assert_eq!(
        level(PolicyAttributes { name: "y", ..maps }),
        Level::None,
        "no rule matches"
    );
    assert_eq!(
        level(PolicyAttributes {
            group: "apps",
            ..asked("u", "get", "deployments/status")
        }),
        Level::RequestResponse
    );
    assert_eq!(level(asked("u", "get", "pods/log")), Level::Metadata);
    assert_eq!(
        level(asked("u", "get", "pods")),
        Level::Metadata,
        "pods/* are pods, too"
    );
    assert_eq!(level(asked("u", "get", "foos/scale")), Level::Metadata);
    assert_eq!(level(asked("u", "get", "secrets/status")), Level::None);
    assert_eq!(level(path("/metrics")), Level::None);
}

#[test]
fn stages_are_left_out_by_the_policy_and_by_the_rule() {
    let policy = Policy::read(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nomitManagedFields: true\n\
         rules: [{level: Metadata, verbs: [get], omitStages: [ResponseStarted], omitManagedFields: false}, {level: Request}]",
    )
    .unwrap();
    let get = policy.judge(asked("u", "get", "pods"));
    assert!(!get.writes(Stage::RequestReceived) && !get.writes(Stage::ResponseStarted));
    assert!(get.writes(Stage::ResponseComplete) && !get.omit_managed_fields);
    let other = policy.judge(asked("u", "watch", "pods"));
    assert!(other.writes(Stage::ResponseStarted) && other.omit_managed_fields);
    assert!(
        !Policy::metadata()
            .judge(path("/x"))
            .writes(Stage::RequestReceived)
    );
}

#[test]
fn a_policy_file_is_refused_with_every_error_and_its_path() {
    let text = "apiVersion: audit.k8s.io/v1beta1
kind: Policy
omitStages: [Never]
rule: []
rules:
- level: All
- users: [1]
- {level: None, resources: [{group: apps/v1, resourceNames: [a]}], nonResourceURLs: [healthz, \"/a*b\"]}
- {level: None, omitManagedFields: maybe, verbs: get, userGroup: [a]}
";
    let errors = Policy::read(text).unwrap_err();
    let told: Vec<&str> = errors.0.iter().map(|error| error.path.as_str()).collect();
    for path in [
        "apiVersion",
        "omitStages[0]",
        "rule",
        "rules[0].level",
        "rules[1].level",
        "rules[1].users[0]",
        "rules[2].resources[0].group",
        "rules[2].resources[0].resourceNames",
        "rules[2].nonResourceURLs",
        "rules[2].nonResourceURLs[0]",
        "rules[2].nonResourceURLs[1]",
        "rules[3].omitManagedFields",
        "rules[3].verbs",
        "rules[3].userGroup",
    ] {
        assert!(told.contains(&path), "{path} is not in {errors}");
    }
    assert_eq!(told.len(), 14, "{errors}");
    let empty = Policy::read("apiVersion: audit.k8s.io/v1\nkind: Policy\n").unwrap_err();
    assert_eq!(empty.0[0].path, "rules");
    assert!(Policy::read("a: [").is_err());
}
