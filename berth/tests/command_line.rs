//! The program as a shell sees it: help, versions, exit codes, and errors that say what to do.

use std::process::{Command, Output};

fn berth(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(arguments)
        .output()
        .expect("berth runs")
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn help_names_every_command() {
    let output = berth(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    for command in ["serve", "demo", "simulate", "load", "kubeconfig", "migrate"] {
        assert!(text.contains(command), "{text}");
    }
}

#[test]
fn wrong_arguments_end_with_2() {
    for arguments in [
        &["serve", "--secure-port", "seven"][..],
        &["load"],
        &["fly"],
        &["migrate", "--from", "memory:", "--to", "embedded:/tmp/x"],
        &["serve", "--log-level", "=="],
    ] {
        assert_eq!(berth(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

fn serve_with(arguments: &[&str]) -> std::process::Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().display().to_string();
    let serve = ["serve", "--secure-port", "0", "--data-dir", &data];
    berth(&[&serve, arguments].concat())
}

#[test]
#[cfg(not(feature = "etcd"))]
fn a_berth_without_etcd_says_in_one_sentence_how_to_get_one_with_it() {
    for output in [
        serve_with(&["--storage", "etcd", "--etcd-servers", "http://127.0.0.1:1"]),
        berth(&[
            "migrate",
            "--from",
            "embedded:/nowhere",
            "--to",
            "etcd:http://127.0.0.1:1",
        ]),
    ] {
        assert_eq!(output.status.code(), Some(1));
        assert!(error(&output).contains("--features etcd"), "{}", error(&output));
    }
}

#[test]
#[cfg(feature = "etcd")]
fn storage_in_etcd_needs_servers_and_a_migration_a_source() {
    for (output, problem) in [
        (serve_with(&["--storage", "etcd"]), "needs --etcd-servers"),
        (
            serve_with(&["--storage", "etcd", "--etcd-servers", "ftp://x"]),
            "http:// or https://",
        ),
        (
            berth(&[
                "migrate",
                "--from",
                "embedded:/nowhere",
                "--to",
                "etcd:http://127.0.0.1:1",
            ]),
            "/nowhere does not exist",
        ),
        (
            berth(&["migrate", "--from", "embedded:/a", "--to", "embedded:/b"]),
            "copied as a file",
        ),
    ] {
        assert_eq!(output.status.code(), Some(1));
        assert!(error(&output).contains(problem), "{}", error(&output));
    }
}

#[test]
fn etcd_servers_alone_are_refused() {
    let output = serve_with(&["--etcd-servers", "http://127.0.0.1:2379"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(error(&output).contains("--storage etcd"), "{}", error(&output));
}

#[test]
fn behind_a_hub_a_resource_that_cannot_be_copied_from_it_ends_the_start() {
    let synced = "--kcp-synced-resources=configmaps,ingresses.networking.k8s.io";
    for output in [
        serve_with(&["--kubeconfig", "/nowhere", synced]),
        berth(&["manifests", "rbac", "--mode=decide", "--source=kcp=hub", synced]),
    ] {
        assert_eq!(output.status.code(), Some(1));
        let said = error(&output);
        assert!(said.contains("cannot sync ingresses.networking.k8s.io"), "{said}");
    }
}

#[test]
fn manifests_of_nothing_that_was_chosen_print_the_choices_alone() {
    for (arguments, told, settled) in [
        (
            &["manifests"][..],
            &["--mode=observe", "--mode=decide", "--source=SYSTEM=hub"][..],
            "\0",
        ),
        (
            &["manifests", "--source=ocm=hub"],
            &["--mode=observe", "--mode=decide"],
            "--source=SYSTEM",
        ),
        (
            &["manifests", "rbac", "--mode=decide"],
            &["--source=SYSTEM=owned"],
            "--mode=decide ",
        ),
    ] {
        let output = berth(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let said = error(&output);
        assert!(told.iter().all(|part| said.contains(part)), "{said}");
        assert!(!said.contains(settled), "{said}");
    }
    assert!(
        berth(&["manifests", "crds"]).status.success(),
        "they are the same for all"
    );
}

#[test]
fn what_berth_would_store_itself_is_nothing_to_observe() {
    let observing = ["--mode=observe", "--source=ocm=owned"];
    for output in [
        berth(&[&["manifests"], &observing[..]].concat()),
        serve_with(&[&["--kubeconfig", "/nowhere"], &observing[..]].concat()),
    ] {
        assert_eq!(output.status.code(), Some(1));
        let said = error(&output);
        assert!(
            said.contains("use --source=ocm=hub or --source=ocm=off"),
            "{said}"
        );
    }
}

#[test]
fn a_kubeconfig_needs_a_server_s_folder_and_a_name_that_is_not_reserved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().display().to_string();
    let output = berth(&["kubeconfig", "--user", "ann", "--data-dir", &data]);
    assert!(
        error(&output).contains("berth serve --data-dir"),
        "{}",
        error(&output)
    );
}

#[test]
fn malformed_manifests_are_named_before_anything_is_sent() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("bad.yaml");
    std::fs::write(&file, "kind: A\n---\n- 1\n").expect("a file");
    let kubeconfig = folder.path().join("none.kubeconfig").display().to_string();
    let output = berth(&[
        "load",
        "--kubeconfig",
        &kubeconfig,
        "-f",
        &file.display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(error(&output).contains("none.kubeconfig"), "{}", error(&output));
}

#[test]
fn a_configuration_file_is_refused_with_every_error_before_anything_is_served() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data").display().to_string();
    let file = folder.path().join("gardener.yaml");
    std::fs::write(
        &file,
        "apiVersion: scheduler.config.gardener.cloud/v1alpha1\nkind: SchedulerConfiguration\nschedulers:\n  shoot: {candidateDeterminationStrategy: Nearest, retrySyncPeriod: -1s}\n",
    )
    .expect("a file");
    let file = file.display().to_string();
    let output = berth(&[
        "serve",
        "--secure-port",
        "0",
        "--data-dir",
        &data,
        "--config",
        &file,
    ]);
    assert_eq!(output.status.code(), Some(1));
    let text = error(&output);
    for path in [
        "schedulers.shoot.candidateDeterminationStrategy",
        "schedulers.shoot.retrySyncPeriod",
    ] {
        assert!(text.contains(path), "{text}");
    }
}
