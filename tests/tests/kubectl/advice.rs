//! Advice through `kubectl`: it is true, its command applies it, and it contains no data that the user may
//! not read (docs/reference.md, "Advice").

use std::path::Path;
use std::process::Command;

use berth_tests::Server;
use serde_json::Value;

const DECISION: &str = "/apis/scheduling.berth.dev/v1alpha1/namespaces/garden-dev/decisions/web.gardener";

fn gardener() -> Server {
    let server = Server::start();
    server.bind_by_hand(&["gardener"]);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gardener");
    for file in ["fleet.yaml", "load.yaml", "same-region.yaml"] {
        server.load(&examples.join(file));
    }
    server
}

/// Advice about one target.
fn about<'a>(advice: &'a Value, cluster: &str) -> &'a Value {
    let targets = advice["targets"].as_array().unwrap();
    let found = targets.iter().find(|target| target["clusterName"] == cluster);
    found.unwrap_or_else(|| panic!("{cluster}: {advice:#}"))
}

/// Runs a shell command as the user of `kubeconfig`.
fn shell(line: &str, kubeconfig: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", line])
        .env("KUBECONFIG", kubeconfig)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn raw(server: &Server, kubeconfig: &Path, path: &str) -> Value {
    server.kubectl_as(kubeconfig, &["get", "--raw", path]).json()
}

#[test]
fn the_lines_that_are_told_make_the_target_fit() {
    let server = gardener();
    let admin = server.kubeconfig();
    let table = server
        .kubectl("-n garden-dev get decision web.gardener --subresource=advice")
        .succeeds();
    assert!(
        table.starts_with("TARGET") && table.contains("tolerate the taint seed.gardener.cloud/protected"),
        "{table}"
    );
    let advice = raw(&server, &admin, &format!("{DECISION}/advice"));
    assert_eq!(advice["kind"], "SchedulingAdvice");
    assert_eq!(advice["status"]["outcome"], "Scheduled");
    for cluster in ["aws-guarded", "aws-eu1"] {
        let sets = about(&advice["status"], cluster)["advice"].as_array().unwrap();
        assert!(!sets.is_empty(), "{cluster}");
        assert_eq!(sets[0]["allowed"], true, "{cluster}");
    }
    let guarded = &about(&advice["status"], "aws-guarded")["advice"][0];
    assert_eq!(guarded["changes"][0]["whose"], "Request");
    shell(guarded["patches"][0]["command"].as_str().unwrap(), &admin);
    let report = raw(&server, &admin, &format!("{DECISION}/scheduling"));
    let candidates = report["status"]["candidates"].as_array().unwrap();
    let guarded = candidates
        .iter()
        .find(|candidate| candidate["clusterName"] == "aws-guarded");
    assert_eq!(guarded.unwrap()["feasible"], true, "{report:#}");
    // A feasible cluster with a lower rank is selected by its name.
    let one = raw(
        &server,
        &admin,
        &format!("{DECISION}/advice?target=aws-eu1.gardener"),
    );
    let targets = one["status"]["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 1, "{one:#}");
    let bind = &targets[0]["advice"][0];
    assert_eq!(bind["then"], "Picked");
    shell(bind["patches"][0]["command"].as_str().unwrap(), &admin);
    let seed = server.kubectl("-n garden-dev get shoot web -o jsonpath={.spec.seedName}");
    assert_eq!(seed.succeeds(), "aws-eu1");
}

#[test]
fn a_scheduling_has_advice_where_it_is_asked_for() {
    let server = gardener();
    let admin = server.kubeconfig();
    let with = raw(
        &server,
        &admin,
        &format!("{DECISION}/scheduling?advice=true&reasons=none"),
    );
    assert!(
        !about(&with["status"]["advice"], "aws-guarded")["advice"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(with["status"]["picked"][0]["clusterName"], "aws-eu2");
    let without = raw(&server, &admin, &format!("{DECISION}/scheduling"));
    assert!(without["status"].get("advice").is_none(), "{without:#}");
}

#[test]
fn bad_questions_are_refused_with_what_to_write_instead() {
    let server = gardener();
    for (query, message) in [
        ("advice?limit=many", "invalid limit \"many\""),
        ("advice?cluster=nowhere", "no cluster named \"nowhere\""),
        (
            "advice?cluster=aws-eu1&target=aws-eu1.gardener",
            "may not be set together",
        ),
        (
            "scheduling?advice=please",
            "unrecognized advice value: \"please\"",
        ),
    ] {
        let refused = server
            .kubectl_args(&["get", "--raw", &format!("{DECISION}/{query}")])
            .fails();
        assert!(refused.contains(message), "{query}: {refused}");
    }
    let gone = server
        .kubectl("-n garden-dev get decision nobody.gardener --subresource=advice")
        .fails();
    assert!(gone.contains("NotFound"), "{gone}");
}

#[test]
fn advice_is_a_right_of_its_own_and_hides_what_its_reader_may_not_get() {
    let server = gardener();
    let eve = server.kubeconfig_for("eve", &[]);
    let words = ["get", "--raw", &format!("{DECISION}/advice")];
    let refused = server.kubectl_as(&eve, &words).fails();
    assert!(
        refused.contains("cannot get resource \"decisions/advice\""),
        "{refused}"
    );
    server
        .kubectl("-n garden-dev create rolebinding eve --clusterrole=berth:explainer --user=eve")
        .succeeds();
    let advice = raw(&server, &eve, &format!("{DECISION}/advice?cluster=aws-guarded"));
    let sets = about(&advice["status"], "aws-guarded")["advice"]
        .as_array()
        .unwrap();
    for set in sets {
        assert_eq!(set["allowed"], false, "{set:#}");
        for patch in set["patches"].as_array().unwrap() {
            assert_eq!(patch["type"], "hidden", "{patch:#}");
            assert!(patch.get("command").is_none(), "{patch:#}");
        }
        for change in set["changes"].as_array().unwrap() {
            let message = change["message"].as_str().unwrap();
            assert!(
                message.contains("would have to change; you may not read it: ask its owner"),
                "{message}"
            );
        }
    }
    assert_eq!(sets[0]["patches"][0]["patch"][0], "/spec/tolerations");
    // For a user with the right to change the Shoot, that edit is first, and the Seed's is missing.
    server
        .kubectl("-n garden-dev create rolebinding eve-edits --clusterrole=edit --user=eve")
        .succeeds();
    let advice = raw(&server, &eve, &format!("{DECISION}/advice?cluster=aws-guarded"));
    let sets = about(&advice["status"], "aws-guarded")["advice"]
        .as_array()
        .unwrap();
    assert_eq!(sets[0]["allowed"], true, "{advice:#}");
    assert_eq!(sets[0]["patches"][0]["type"], "json");
    assert_eq!(sets[1]["allowed"], false, "{advice:#}");
}
