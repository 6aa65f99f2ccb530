//! Missing kubeconfigs, and kubeconfigs with missing references.

use std::fs;

use super::*;

const TWO: &str = "apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: u, user: {}}, {name: k, user: {client-certificate: /nowhere/a.crt, client-key: /nowhere/a.key}}]
contexts: [{name: one, context: {cluster: c, user: u}}, {name: two, context: {cluster: c, user: k}}]
";

async fn of(text: &str, context: Option<&str>) -> (String, Result<(Config, Option<String>), String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    fs::write(&path, text).unwrap();
    let read = config_with_context(Some(&path), context).await;
    let read = read.map_err(|problem| format!("{problem:#}"));
    (path.display().to_string(), read)
}

async fn refused(text: &str, context: Option<&str>) -> (String, String) {
    let (path, read) = of(text, context).await;
    (path, read.err().unwrap())
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named_once_with_what_to_pass() {
    let problem = kubeconfig(Some("/nonexistent".as_ref())).unwrap_err().to_string();
    assert_eq!(
        problem,
        "kubeconfig /nonexistent not found; pass --kubeconfig FILE"
    );
    let of = |origin: Origin| {
        let missing = KubeconfigError::ReadConfig(io::ErrorKind::NotFound.into(), "/a".into());
        read_error(&origin, missing).to_string()
    };
    assert_eq!(
        of(Origin::Variable("/nonexistent".into())),
        "kubeconfig /nonexistent (from $KUBECONFIG) not found; pass --kubeconfig FILE"
    );
    assert_eq!(
        of(Origin::Home),
        "kubeconfig ~/.kube/config not found; pass --kubeconfig FILE, or set KUBECONFIG"
    );
}

#[tokio::test]
async fn a_context_that_is_missing_is_told_with_those_that_are_there() {
    let (path, none) = refused(TWO, None).await;
    assert_eq!(
        none,
        format!("kubeconfig {path} has no current context; pass --context with one of one, two")
    );
    let (path, other) = refused(TWO, Some("tow")).await;
    assert_eq!(
        other,
        format!("kubeconfig {path} has no context \"tow\"; it has one, two")
    );
    let (_, empty) = refused("apiVersion: v1\nkind: Config\n", None).await;
    assert!(empty.ends_with(" has no contexts"), "{empty}");
    let (config, context) = of(TWO, Some("one")).await.1.unwrap();
    assert_eq!(
        (config.cluster_url.port_u16(), context.as_deref()),
        (Some(1), Some("one"))
    );
}

#[tokio::test]
async fn a_file_of_a_kubeconfig_that_cannot_be_read_is_named_with_its_field() {
    let (path, problem) = refused(TWO, Some("two")).await;
    let start = format!("kubeconfig {path}: client-certificate: /nowhere/a.crt cannot be read: ");
    assert!(problem.starts_with(&start), "{problem}");
}

#[test]
fn of_several_files_in_the_variable_those_that_are_there_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    fs::write(&path, TWO).unwrap();
    let joined = std::env::join_paths([folder.path().join("missing"), path]).unwrap();
    let read = Origin::Variable(joined).read().unwrap();
    assert_eq!(read.contexts.len(), 2);
}

#[tokio::test]
async fn a_command_that_also_runs_in_a_pod_reads_the_files_that_kubectl_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    fs::write(&path, format!("{TWO}current-context: one\n")).unwrap();
    let joined = std::env::join_paths([folder.path().join("missing"), path]).unwrap();
    let config = or_service_account(&Origin::Variable(joined)).await.unwrap();
    assert_eq!(config.cluster_url.port_u16(), Some(1));
}

#[test]
fn only_without_a_kubeconfig_a_pods_service_account_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let problem = |origin: Origin| origin.read().unwrap_err();
    assert!(is_not_found(&problem(Origin::File(path.clone()))));
    fs::write(&path, "no kubeconfig").unwrap();
    assert!(!is_not_found(&problem(Origin::File(path))));
}

#[tokio::test]
async fn a_context_without_a_namespace_or_with_an_empty_one_has_the_namespace_default() {
    for (namespace, wanted) in [
        ("", "default"),
        (", namespace: ''", "default"),
        (", namespace: a", "a"),
    ] {
        let text = TWO.replace("user: u}", &format!("user: u{namespace}}}"));
        let (config, _) = of(&text, Some("one")).await.1.unwrap();
        assert_eq!(config.default_namespace, wanted);
    }
}
