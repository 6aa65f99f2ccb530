//! SchedulerConfiguration as a kind: one per dialect, judged by its dialect.

use berth_apimachinery::{Kind, Object, Revision, Timestamp, Write, WriteOperation};
use berth_configuration::SchedulerConfiguration;
use serde_json::{Value, json};

fn errors(name: &str, spec: Value) -> Vec<String> {
    let kind = SchedulerConfiguration::new(berth_dialect_registry::all());
    let value = json!({"spec": spec});
    assert!(kind.schema("v1alpha1").unknown_fields(&value).is_empty());
    refused(name, &spec)
}

/// Errors of a configuration with unknown fields, as nobody would have validated them.
fn refused(name: &str, spec: &Value) -> Vec<String> {
    let kind = SchedulerConfiguration::new(berth_dialect_registry::all());
    let value = json!({
        "apiVersion": "config.berth.dev/v1alpha1",
        "kind": "SchedulerConfiguration",
        "metadata": {"name": name},
        "spec": spec,
    });
    let mut errors = kind.schema("v1alpha1").validate(&value);
    let write = Write {
        operation: WriteOperation::Create,
        old: None,
        now: Timestamp::UNIX_EPOCH,
    };
    errors.extend(kind.validate(&write, &value));
    errors.into_iter().map(|error| error.to_string()).collect()
}

fn strategy(name: &str) -> Value {
    json!({"schedulers": {"shoot": {"candidateDeterminationStrategy": name}}})
}

#[test]
fn a_configuration_is_judged_by_its_dialect() {
    assert!(
        errors(
            "gardener",
            json!({"gardener": strategy("MinimalDistance"), "autoBind": "Off"})
        )
        .is_empty()
    );
    assert!(errors("ocm", json!({})).is_empty());
    let wrong = errors("gardener", json!({"gardener": strategy("Nearest")}));
    assert_eq!(wrong.len(), 1);
    assert!(
        wrong[0]
            .starts_with("spec.gardener.schedulers.shoot.candidateDeterminationStrategy: Unsupported value"),
        "{wrong:?}"
    );
}

#[test]
fn every_mistake_is_told_once() {
    let spec = json!({"gardener": {
        "logLevel": 1,
        "schedulers": {"shoot": {"concurrentSyncs": -1, "retrySyncPeriod": "-1s"}},
    }});
    let wrong = errors("gardener", spec);
    assert_eq!(wrong.len(), 3, "{wrong:?}");
    let spec = json!({"gardener": {"schedulers": {"shoots": {}}}});
    assert_eq!(
        refused("gardener", &spec),
        ["spec.gardener.schedulers.shoots: Forbidden: unknown field"]
    );
}

#[test]
fn a_configuration_is_named_after_its_dialect_and_holds_no_other() {
    let unknown = errors("nomad", json!({}));
    assert_eq!(
        unknown,
        [
            "metadata.name: Unsupported value: \"nomad\": supported values: \"fleet\", \"gardener\", \"karmada\", \"kcp\", \"ocm\", \"openmcp\""
        ]
    );
    let other = errors("ocm", json!({"gardener": strategy("SameRegion")}));
    assert!(
        other[0].starts_with("spec.gardener: Forbidden: belongs in"),
        "{other:?}"
    );
    assert!(
        errors("ocm", json!({"autoBind": "Sometimes"}))[0].starts_with("spec.autoBind: Unsupported value")
    );
}

#[test]
fn a_row_shows_whether_it_is_in_force() {
    let kind = SchedulerConfiguration::new(berth_dialect_registry::all());
    let value = json!({
        "apiVersion": "config.berth.dev/v1alpha1",
        "kind": "SchedulerConfiguration",
        "metadata": {"name": "ocm"},
        "spec": {"autoBind": "Disabled"},
        "status": {"conditions": [{"type": "Valid", "status": "False"}]},
    });
    let object = Object::new(&value, Revision(1)).unwrap();
    let row = kind.row(&object);
    assert_eq!(row.len(), kind.columns().len());
    assert_eq!(
        row[1..5],
        [
            "<none>".into(),
            "Disabled".into(),
            "<none>".into(),
            "False".into()
        ]
    );
}

#[test]
fn an_off_without_quotes_is_told_to_be_quoted() {
    let wrong = refused("ocm", &json!({"autoBind": false}));
    assert!(
        wrong
            .iter()
            .any(|error| error.starts_with("spec.autoBind: Invalid value: false")
                && error.contains("write autoBind: \"Off\", with the quotes")),
        "{wrong:?}"
    );
    assert!(
        errors(
            "ocm",
            json!({"autoBind": "Off", "mode": "Observe", "systemUsers": ["a", "b:*"]})
        )
        .is_empty()
    );
    assert!(errors("ocm", json!({"mode": "Look"}))[0].starts_with("spec.mode: Unsupported value"));
}

#[test]
fn a_selection_of_requests_is_told_everything_that_is_wrong_with_it() {
    let selector = json!({"matchLabels": {"canary": "yes"}});
    for (name, requests) in [
        (
            "ocm",
            json!({"selector": selector, "namespaceSelector": selector}),
        ),
        ("fleet", json!({"selector": selector})),
        ("gardener", json!({})),
    ] {
        let found = errors(name, json!({"requests": requests, "otherScheduler": "Ignore"}));
        assert!(found.is_empty(), "{name}: {found:?}");
    }
    for (name, requests, expected) in [
        (
            "ocm",
            json!({
                "selector": {"matchLabels": {"a b": "c"}},
                "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
            }),
            vec![
                "spec.requests.selector.matchLabels: Invalid value: \"a b\"",
                "spec.requests.namespaceSelector.matchExpressions[0].values: Required value",
            ],
        ),
        (
            "fleet",
            json!({"namespaceSelector": selector}),
            vec![
                "spec.requests.namespaceSelector: Forbidden: a ClusterResourcePlacement has no namespace: use selector",
            ],
        ),
        (
            "kcp",
            json!({"selector": selector}),
            vec!["spec.requests: Forbidden: kcp selects its requests by spec.kcp.namespaceSelector"],
        ),
    ] {
        let found = errors(name, json!({"requests": requests}));
        assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{name}: {found}");
        }
    }
    assert!(
        errors("ocm", json!({"otherScheduler": "Stop"}))[0]
            .starts_with("spec.otherScheduler: Unsupported value")
    );
}
