//! Writes that are refused for all or most users, with their messages.

use super::*;

#[test]
fn what_is_used_is_not_deleted() {
    let server = gardener();
    let web = server
        .kubectl("create -o jsonpath={.spec.seedName} -f -")
        .input(shoot("web", "eu-west-1").to_string())
        .succeeds();
    assert_eq!(web, "aws-eu1");
    let refused = server.kubectl("delete seed aws-eu1").fails();
    assert!(
        refused.contains(
            "seeds.core.gardener.cloud \"aws-eu1\" is forbidden: it is used by 1 shoots.core.gardener.cloud: garden-dev/web"
        ),
        "{refused}"
    );
    let dry = server.kubectl("delete seed aws-eu1 --dry-run=server").fails();
    assert!(dry.contains("it is used by"), "{dry}");
    for number in 0..11 {
        let lost = shoot(&format!("lost-{number:02}"), "nowhere-1").to_string();
        server.kubectl("create -f -").input(lost).succeeds();
    }
    let refused = server.kubectl("delete cloudprofile aws").fails();
    assert!(
        refused.contains("it is used by 12 shoots.core.gardener.cloud: garden-dev/lost-00, ")
            && refused.contains("garden-dev/lost-09 and 2 more"),
        "{refused}"
    );
    server.kubectl("delete seed aws-us1").succeeds();
    server.kubectl("-n garden-dev delete shoots --all").succeeds();
    server.kubectl("delete seed aws-eu1").succeeds();
    server.kubectl("delete cloudprofile aws").succeeds();
}

#[test]
fn a_shoot_agrees_with_its_cloud_profile_and_with_the_seed_it_is_on() {
    let server = gardener();
    let mut other = shoot("other", "eu-west-1");
    other["spec"]["provider"]["type"] = "gcp".into();
    let refused = server.kubectl("create -f -").input(other.to_string()).fails();
    assert!(
        refused.contains(
            "The Shoot \"other\" is invalid: spec.provider.type: Invalid value: \"gcp\": must be the type of CloudProfile \
             \"aws\", which is \"aws\""
        ),
        "{refused}"
    );
    let mut web = shoot("web", "eu-west-1");
    web["spec"]["seedSelector"] = json!({"matchLabels": {"environment": "live"}});
    let seed = server
        .kubectl("create -o jsonpath={.spec.seedName} -f -")
        .input(web.to_string())
        .succeeds();
    assert_eq!(seed, "aws-eu1");
    let change = |spec: Value| {
        let patch = json!({"spec": spec}).to_string();
        server.kubectl_args(&[
            "-n",
            "garden-dev",
            "patch",
            "shoot",
            "web",
            "--type=merge",
            "-p",
            &patch,
        ])
    };
    let select = |selector: Value| change(json!({"seedSelector": selector}));
    let refused = select(json!({"matchLabels": {"environment": "test"}, "providerTypes": ["gcp"]})).fails();
    for text in [
        "The Shoot \"web\" is invalid",
        "spec.seedSelector: Forbidden: must match seed \"aws-eu1\", which the shoot is on: its labels do not match \
         environment=test",
        "spec.seedSelector.providerTypes: Forbidden: must admit seed \"aws-eu1\", which the shoot is on: its provider type \
         is \"aws\"",
    ] {
        assert!(refused.contains(text), "{text}: {refused}");
    }
    let refused = select(Value::Null).fails();
    assert!(
        refused.contains("cannot be removed while the shoot has a seed"),
        "{refused}"
    );
    select(
        json!({"matchLabels": {"seed.gardener.cloud/region": "eu-west-1"}, "providerTypes": ["aws", "gcp"]}),
    )
    .succeeds();
    // After a change of the seed's labels, users may still change the rest of the shoot.
    server.kubectl("label seed aws-eu1 environment-").succeeds();
    change(json!({"purpose": "testing"})).succeeds();
}

#[test]
fn nothing_is_made_in_namespaces_that_are_missing_or_going() {
    let server = Server::start();
    let map = |namespace: &str, name: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}, finalizers: [example.com/hold]}}\n"
        )
    };
    let missing = server.kubectl("create -f -").input(map("nowhere", "a")).fails();
    assert_eq!(
        missing.trim(),
        "Error from server (NotFound): error when creating \"STDIN\": namespaces \"nowhere\" not found"
    );
    server.kubectl("create namespace going").succeeds();
    server
        .kubectl("create -f -")
        .input(map("going", "held"))
        .succeeds();
    server.kubectl("delete namespace going --wait=false").succeeds();
    let going = server.kubectl("create -f -").input(map("going", "late")).fails();
    assert_eq!(
        going.trim(),
        "Error from server (Forbidden): error when creating \"STDIN\": configmaps \"late\" is forbidden: unable to create new content in namespace going because it is being terminated"
    );
    server
        .kubectl_args(&[
            "-n",
            "going",
            "patch",
            "configmap",
            "held",
            "--type=merge",
            "-p",
            r#"{"metadata":{"finalizers":null}}"#,
        ])
        .succeeds();
    server
        .kubectl("wait --for=delete namespace/going --timeout=20s")
        .succeeds();
}

#[test]
fn labelled_config_maps_are_checked_with_every_error() {
    let server = Server::start();
    let map = |label: &str, data: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: scheduler, labels: {{scheduling.berth.dev/config: {label}}}}}\ndata:\n{data}"
        )
    };
    let good = "  config.yaml: |\n    apiVersion: scheduler.config.gardener.cloud/v1alpha1\n    kind: SchedulerConfiguration\n    schedulers: {shoot: {retrySyncPeriod: 1m}}\n";
    let bad = "  config.yaml: |\n    apiVersion: scheduler.config.gardener.cloud/v1alpha1\n    schedulers:\n      shoot: {retrySyncPeriod: -1s, candidateDeterminationStrategy: Nearest}\n";
    let broken = "  broken.yaml: |\n    a: 1\n    b: [\n";
    let errors = server
        .kubectl("create -f -")
        .input(map("gardener", &format!("{bad}{broken}")))
        .fails();
    for text in [
        "data[config.yaml]: Invalid value: schedulers.shoot.retrySyncPeriod: Invalid value: \"-1s\"",
        "data[config.yaml]: Invalid value: schedulers.shoot.candidateDeterminationStrategy: Unsupported value: \"Nearest\"",
        "data[broken.yaml]: Invalid value: is not YAML: line ",
    ] {
        assert!(errors.contains(text), "{text}: {errors}");
    }
    let unknown = server.kubectl("create -f -").input(map("nomad", good)).fails();
    assert!(
        unknown.contains("metadata.labels[scheduling.berth.dev/config]: Unsupported value: \"nomad\""),
        "{unknown}"
    );
    let foreign = server.kubectl("create -f -").input(map("ocm", good)).fails();
    assert!(foreign.contains("data[config.yaml]"), "{foreign}");
    let note = server
        .kubectl("create -f -")
        .input(map("gardener", "  note: just words\n"))
        .run();
    assert!(
        note.success
            && note
                .err
                .contains("Warning: data[note] is not a configuration file"),
        "{}",
        note.err
    );
    server
        .kubectl("apply -f -")
        .input(map("gardener", good))
        .succeeds();
    let refused = server.kubectl("apply -f -").input(map("gardener", bad)).fails();
    assert!(refused.contains("retrySyncPeriod"), "{refused}");
}

#[test]
fn decisions_are_written_by_their_scheduler_only() {
    let server = Server::start_with(&["--break-glass-group", "firefighters"]);
    server.load(&example("ocm/fleet.yaml"));
    server.load(&example("ocm/story-1.yaml"));
    let name = server
        .kubectl("-n story-1 get placementdecisions -o jsonpath={.items[0].metadata.name}")
        .succeeds();
    let patch = |user: &Path, subresource: &str| {
        let change = r#"{"status":{"decisions":[]},"metadata":{"labels":{"a":"b"}}}"#;
        let fixed = [
            "-n",
            "story-1",
            "patch",
            "placementdecision",
            &name,
            "--type=merge",
            "-p",
            change,
        ];
        let mut arguments = fixed.to_vec();
        if !subresource.is_empty() {
            arguments.push(subresource);
        }
        server.kubectl_as(user, &arguments).run()
    };
    let admin = server.kubeconfig();
    for subresource in ["", "--subresource=status"] {
        let refused = patch(&admin, subresource);
        assert!(
            !refused.success
                && refused.err.contains(
                    "it holds the decision of Placement \"placement\", which only berth:scheduler writes"
                ),
            "{}",
            refused.err
        );
    }
    let refused = server
        .kubectl(&format!("-n story-1 delete placementdecision {name}"))
        .fails();
    assert!(refused.contains("berth:scheduler"), "{refused}");
    let firefighter = server.kubeconfig_for("fred", &["system:masters", "firefighters"]);
    assert!(patch(&firefighter, "").success);
    // The deletion of the placement deletes its dependents.
    server.kubectl("-n story-1 delete placement placement").succeeds();
    berth_tests::eventually("the decisions to go with their placement", || {
        server
            .kubectl("-n story-1 get placementdecisions -o name")
            .succeeds()
            .is_empty()
            .then_some(())
    });
}
