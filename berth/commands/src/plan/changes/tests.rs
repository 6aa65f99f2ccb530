//! Changes in files and flags.

use super::*;

fn catalog() -> Catalog {
    crate::catalog::catalog(&berth_dialect_registry::all())
}

#[test]
fn objects_are_named_by_kind_as_kubectl_users_write_it() {
    let catalog = catalog();
    for (text, kind, namespace) in [
        ("seed/a", "Seed", None),
        ("Seeds/a", "Seed", None),
        ("seeds.core.gardener.cloud/a", "Seed", None),
        ("shoot/ns/a", "Shoot", Some("ns")),
    ] {
        let reference = reference(text, &catalog, None).unwrap();
        assert_eq!(reference["kind"], kind, "{text}");
        assert_eq!(reference["name"], "a", "{text}");
        assert_eq!(reference["namespace"].as_str(), namespace, "{text}");
    }
    for (text, problem) in [
        ("seed", "KIND/NAME or KIND/NAMESPACE/NAME is expected"),
        ("seed/ns/a", "a Seed has no namespace"),
        (
            "shoot/a",
            "a Shoot has a namespace: KIND/NAMESPACE/NAME is expected",
        ),
        ("whale/a", "there is no kind \"whale\""),
    ] {
        assert_eq!(reference(text, &catalog, None).unwrap_err(), problem, "{text}");
    }
}

#[test]
fn a_review_stands_for_its_changes_and_an_object_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("change.yaml");
    let text = "kind: SchedulingReview\napiVersion: scheduling.berth.dev/v1alpha1\nspec:\n  changes:\n  - drain: a.ocm\n  - {}\n\
         ---\napiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: b}\nspce: {}\n\
         ---\napiVersion: example.com/v1\nkind: Whale\nmetadata: {name: w}\n";
    std::fs::write(&file, text).unwrap();
    let args = ChangeArgs {
        change: vec![file],
        drain: vec!["c".to_owned()],
        delete: vec!["managedcluster/d".to_owned()],
    };
    let changes = read(&args, &catalog(), None);
    assert_eq!(changes.problems, Vec::<String>::new());
    let ([unknown], [unread]) = (changes.doubtful.as_slice(), changes.notes.as_slice()) else {
        panic!("{:?} {:?}", changes.doubtful, changes.notes);
    };
    assert!(
        unknown.ends_with("change.yaml: document 2: unknown field \"spce\""),
        "{unknown}"
    );
    assert!(unread.contains("no scheduler reads Whale"), "{unread}");
    let fields: Vec<&String> = changes
        .entries
        .iter()
        .filter_map(|entry| entry.value.as_object()?.keys().next())
        .collect();
    assert_eq!(fields, ["drain", "object", "drain", "delete"]);
    let problems = changes.steps().unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].contains("change.yaml: document 1: spec.changes[1]: Required value"),
        "{problems:?}"
    );
}

#[test]
fn mistakes_that_strict_refuses_are_told_apart_from_notes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("change.yaml");
    let cluster = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: a, name: b}\n";
    let misspelt =
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluter\nmetadata: {name: c}\n";
    let review = "apiVersion: scheduling.berth.dev/v1alpha1\nkind: SchedulingReview\nspec:\n  changes:\n  - object:\n      \
         apiVersion: cluster.open-cluster-management.io/v1\n      kind: ManagedCluster\n      metadata: {name: d}\n      \
         spce: {}\n";
    std::fs::write(&file, [cluster, misspelt, review].join("---\n")).unwrap();
    let args = ChangeArgs {
        change: vec![file],
        ..ChangeArgs::default()
    };
    let changes = read(&args, &catalog(), None);
    assert_eq!(changes.notes, Vec::<String>::new());
    let [duplicate, kind, unknown] = changes.doubtful.as_slice() else {
        panic!("{:?}", changes.doubtful);
    };
    assert!(
        duplicate.ends_with("document 1: duplicate field \"metadata.name\""),
        "{duplicate}"
    );
    assert!(kind.starts_with("no scheduler reads ManagedCluter: "), "{kind}");
    assert!(
        unknown.ends_with("document 3: unknown field \"spec.changes[0].object.spce\""),
        "{unknown}"
    );
}

#[test]
fn changes_that_no_scheduler_looks_at_are_no_plan() {
    assert_eq!(read(&ChangeArgs::default(), &catalog(), None).problems.len(), 1);
}

#[test]
fn a_cluster_that_is_not_there_is_told_as_one() {
    for (problem, told) in [
        (
            "--drain: Not found: \"aws-eu11\": did you mean aws-eu1.gardener?",
            "--drain: no cluster named \"aws-eu11\"; did you mean aws-eu1.gardener?",
        ),
        (
            "--drain: drain: Not found: \"b\"",
            "--drain: no cluster named \"b\"",
        ),
        ("--delete: Not found: \"b\"", "--delete: Not found: \"b\""),
    ] {
        assert_eq!(super::sentence(problem), told);
    }
}
