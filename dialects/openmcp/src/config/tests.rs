//! Every error of a configuration, with its path.

use serde_json::{Value, json};

use super::*;
use crate::names::DELETE_LABEL;
use berth_dialect_contract::rules::RulesChoice;

fn read(scheduler: Value) -> Result<Config, Vec<String>> {
    let spec = json!({ "scheduler": scheduler });
    match Config::read(&spec, "spec.openmcp") {
        Ok(config) => Ok(config.unwrap()),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
    }
}

fn one(mapping: Value) -> Result<Mapping, Vec<String>> {
    let config = read(json!({"purposeMappings": {"p": mapping}}))?;
    Ok((*config.purposes["p"]).clone())
}

fn shared() -> Value {
    json!({"template": {"spec": {"profile": "gcp", "tenancy": "Shared"}}})
}

#[test]
fn defaults_are_namespaced_and_balanced() {
    let config = read(json!({})).unwrap();
    assert_eq!((config.scope, config.strategy), (None, Strategy::Balanced));
    assert!(config.clusters.is_everything() && config.requests.is_everything() && config.purposes.is_empty());
    let empty =
        read(json!({"scope": "", "strategy": "", "selectors": null, "purposeMappings": null})).unwrap();
    assert_eq!(empty, config);
    assert_eq!(Config::read(&Value::Null, "spec.openmcp"), Ok(None));
}

#[test]
fn a_configuration_without_a_scheduler_is_refused() {
    let spec = json!({"schedular": {}});
    let errors = Config::read(&spec, "").unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["scheduler: Required value"]);
    let told = warnings(&spec, RulesChoice::Auto);
    assert_eq!(told, ["schedular: unknown field: it is ignored, as by openMCP"]);
}

#[test]
fn a_field_of_a_newer_release_is_warned_of_and_otherwise_ignored() {
    let scheduler =
        json!({"scope": "Cluster", "preemption": {"after": "1h"}, "purposeMappings": {"p": shared()}});
    assert!(read(scheduler.clone()).is_ok());
    assert_eq!(
        warnings(&json!({"scheduler": scheduler}), RulesChoice::Auto),
        ["scheduler.preemption: unknown field: it is ignored, as by openMCP"]
    );
}

#[test]
fn a_scope_that_is_not_set_is_warned_of_by_the_name_of_the_effective_one() {
    let spec = json!({"scheduler": {"purposeMappings": {"p": shared()}}});
    for (rules, told) in [
        (
            RulesChoice::Documented,
            "scheduler.scope: is not set, and Namespaced is in force:",
        ),
        (
            RulesChoice::Current,
            "scheduler.scope: is not set, and Cluster is in force,",
        ),
        (
            RulesChoice::Auto,
            "scheduler.scope: is not set, and Cluster is in force for the requests of a hub,",
        ),
    ] {
        let warned = warnings(&spec, rules);
        assert!(warned[0].starts_with(told), "{warned:?}");
    }
}

#[test]
fn clusters_go_with_their_last_request_unless_the_template_says_otherwise() {
    assert_eq!(one(shared()).unwrap().template.labels[DELETE_LABEL], "true");
    for value in ["false", "", "True"] {
        let mut mapping = shared();
        mapping["template"]["metadata"] = json!({"labels": {DELETE_LABEL: value}});
        assert_eq!(one(mapping).unwrap().template.labels[DELETE_LABEL], value);
    }
}

#[test]
fn the_purpose_joins_the_purposes_of_the_template_at_the_end() {
    let mut mapping = shared();
    assert_eq!(
        one(mapping.clone()).unwrap().template.spec["purposes"],
        json!(["p"])
    );
    mapping["template"]["spec"]["purposes"] = json!(["z", "a"]);
    assert_eq!(
        one(mapping.clone()).unwrap().template.spec["purposes"],
        json!(["z", "a", "p"])
    );
    mapping["template"]["spec"]["purposes"] = json!(["p", "a"]);
    assert_eq!(
        one(mapping.clone()).unwrap().template.spec["purposes"],
        json!(["p", "a"])
    );
    mapping["template"]["spec"]["purposes"] = json!([]);
    assert_eq!(
        one(mapping.clone()).unwrap().template.spec["purposes"],
        json!(["p"]),
        "a list that is empty before its purpose joins"
    );
    mapping["template"]["spec"]["purposes"] = json!([""]);
    assert_eq!(one(mapping).unwrap_err().len(), 1);
}

#[test]
fn selectors_are_merged() {
    let config = read(json!({
        "selectors": {"clusters": {"matchLabels": {"a": "1"}}},
        "purposeMappings": {"p": {
            "selector": {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]},
            "template": {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"profile": "x", "tenancy": "Shared"}},
        }},
    }));
    let selector = &config.unwrap().purposes["p"].selector;
    assert_eq!(selector.to_string(), "a=1,b");
}

#[test]
fn labels_are_judged_as_they_will_be_on_the_cluster() {
    let asking = |operator: &str| {
        read(json!({
            "selectors": {"clusters": {"matchExpressions": [{"key": DELETE_LABEL, "operator": operator}]}},
            "purposeMappings": {"p": shared()},
        }))
    };
    assert!(asking("Exists").is_ok());
    let errors = asking("DoesNotExist").unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with(
        "spec.openmcp.scheduler.purposeMappings.p.template.metadata.labels: Invalid value: \
         {\"clusters.openmcp.cloud/delete-without-requests\":\"true\"}: do not match selectors.clusters"
    ));
}

#[test]
fn every_mistake_is_told_with_its_path() {
    let errors = read(json!({
        "scope": "namespaced", "strategy": "Best",
        "selectors": {
            "clusters": {"matchExpressions": [{"key": "a", "operator": "Near"}]},
            "requests": {"matchExpressions": [
                {"key": "a", "operator": "In"}, {"key": "b", "operator": "Exists", "values": ["x"]},
            ], "matchLabels": {"-x": "y", "z": "a b"}},
        },
        "purposeMappings": {
            "": shared(),
            "both": {"tenancyCount": -1, "template": {"spec": {"profile": "x", "tenancy": "Exclusive"}}},
            "count": {"tenancyCount": 2, "template": {"spec": {"profile": "x", "tenancy": "Exclusive"}}},
            "empty": {},
            "kind": {"template": {"spec": {"profile": "", "tenancy": "shared"}}},
            "names": {"template": {
                "metadata": {"namespace": "A", "name": "b_c", "generateName": "-d", "labels": {"e": "f g"}},
                "spec": {"profile": "x", "tenancy": "Shared", "purposes": [""], "kubernetes": {"version": 1.32}},
            }},
            "null": null,
            "own": {"selector": {"matchLabels": {"a": "b"}}, "template": shared()["template"]},
            "syntax": {"selector": {"matchLabels": []}, "template": shared()["template"]},
        },
    }))
    .unwrap_err();
    let expected = [
        "purposeMappings.both.tenancyCount: Invalid value: -1: spec.openmcp.scheduler.purposeMappings.both.tenancyCount in \
         body should be greater than or equal to 0",
        "purposeMappings.kind.template.spec.tenancy: Unsupported value: \"shared\"",
        "purposeMappings.names.template.spec.kubernetes.version: Invalid value: \"number\"",
        "purposeMappings.syntax.selector.matchLabels: Invalid value: \"array\"",
        "scope: Unsupported value: \"namespaced\": supported values: \"Cluster\", \"Namespaced\"",
        "strategy: Unsupported value: \"Best\": supported values: \"Balanced\", \"Random\", \"Simple\"",
        "selectors.clusters.matchExpressions[0].operator: Invalid value: \"Near\"",
        "selectors.requests.matchLabels: Invalid value: \"-x\"",
        "selectors.requests.matchLabels: Invalid value: \"a b\"",
        "selectors.requests.matchExpressions[0].values: Required value",
        "selectors.requests.matchExpressions[1].values: Forbidden",
        "purposeMappings: Invalid value: \"\": a purpose may not be empty",
        "purposeMappings.count.tenancyCount: Invalid value: 2: must be 0 when",
        "purposeMappings.empty.template.spec.profile: Required value",
        "purposeMappings.empty.template.spec.tenancy: Required value",
        "purposeMappings.kind.template.spec.profile: Required value",
        "purposeMappings.names.template.spec.purposes[0]: Invalid value: \"\"",
        "purposeMappings.names.template.metadata.name: Invalid value: \"b_c\"",
        "purposeMappings.names.template.metadata.generateName: Invalid value: \"-d\"",
        "purposeMappings.names.template.metadata.namespace: Invalid value: \"A\"",
        "purposeMappings.names.template.metadata.labels: Invalid value: \"f g\"",
        "purposeMappings.null: Required value",
        "purposeMappings.own.template.metadata.labels: Invalid value",
    ];
    let errors: Vec<&str> = errors
        .iter()
        .map(|error| error.strip_prefix("spec.openmcp.scheduler.").unwrap_or(error))
        .collect();
    assert_eq!(errors.len(), expected.len(), "{errors:#?}");
    for (error, expected) in errors.iter().zip(expected) {
        assert!(
            error.starts_with(expected),
            "{error} does not start with {expected}"
        );
    }
}

#[test]
fn what_new_clusters_do_not_take_over_may_stand_there_and_is_warned_of() {
    let metadata = SCHEMA.openapi().pointer(
        "/properties/scheduler/properties/purposeMappings/additionalProperties/properties/template/properties/metadata/properties",
    );
    for field in warn::IGNORED_METADATA {
        assert_eq!(metadata.unwrap()[*field]["description"], "Ignored.", "{field}");
    }
}

#[test]
fn fields_of_newer_clusters_may_stand_in_a_template() {
    let mut mapping = shared();
    mapping["template"]["spec"]["kubernetes"] = json!({"version": "1.33", "flavor": "x"});
    mapping["template"]["spec"]["region"] = json!("eu");
    mapping["template"]["spec"]["clusterConfigs"] = json!([{}]);
    let spec = one(mapping).unwrap().template.spec;
    assert_eq!(
        (&spec["region"], &spec["kubernetes"]["flavor"]),
        (&json!("eu"), &json!("x"))
    );
    assert_eq!(
        spec["clusterConfigs"],
        json!([{}]),
        "defaults are the Cluster's own"
    );
}

#[test]
fn a_purpose_with_dots_can_begin_the_name_of_a_cluster() {
    for tenancy in ["Exclusive", "Shared"] {
        let template = json!({"spec": {"profile": "x", "tenancy": tenancy}});
        let purposes = json!({"team.mcp": {"template": template}});
        let spec = json!({"scheduler": {"scope": "Cluster", "purposeMappings": purposes}});
        assert_eq!(warnings(&spec, RulesChoice::Auto), [""; 0], "{tenancy}");
    }
}

#[test]
fn what_is_surely_not_meant_draws_a_warning() {
    let spec = json!({"scheduler": {"purposeMappings": {
        "My Purpose": {"template": {"spec": {"profile": "x", "tenancy": "Exclusive"}}},
        "both": {"template": {
            "metadata": {"name": "a", "generateName": "b-"}, "spec": {"profile": "x", "tenancy": "Shared"},
        }},
        "fine": {"template": {"metadata": {"name": "a"}, "spec": {"profile": "x", "tenancy": "Shared"}}},
        "long": {"template": {
            "metadata": {"generateName": "x".repeat(56)}, "spec": {"profile": "x", "tenancy": "Exclusive"},
        }},
        "named": {"template": {
            "metadata": {"name": "a", "finalizers": ["x/y"]}, "spec": {"profile": "x", "tenancy": "Exclusive"},
        }},
    }}});
    assert!(Config::read(&spec, "").is_ok());
    let expected = [
        "scheduler.scope: is not set, and Cluster is in force for the requests of a hub",
        "scheduler.purposeMappings.My Purpose: the purpose cannot be a name",
        "scheduler.purposeMappings.both.template.metadata.name: is ignored: generateName takes precedence",
        "scheduler.purposeMappings.long.template.metadata.generateName: the name prefix",
        "scheduler.purposeMappings.named.template.metadata.name: is ignored: only a cluster",
        "scheduler.purposeMappings.named.template.metadata.finalizers: is ignored",
    ];
    let warnings = |spec: &Value| warnings(spec, RulesChoice::Auto);
    let list = warnings(&spec);
    assert_eq!(list.len(), expected.len(), "{list:#?}");
    for (warning, expected) in list.iter().zip(expected) {
        assert!(warning.starts_with(expected), "{warning}");
    }
    assert!(warnings(&Value::Null).is_empty());
    for scope in ["Cluster", "Namespaced"] {
        let said = json!({"scheduler": {"scope": scope, "purposeMappings": {}}});
        assert!(warnings(&said).is_empty(), "{scope}");
    }
}
