//! The guard of the placement annotation.

use super::*;
use crate::placement::State;

const BOUND: &str = r#"{"root:compute+east+x":"Bound"}"#;
const PLACEMENTS: &str = "berth:placement-controller";
const NAMESPACES_BY: &str = "berth:namespace-controller";

fn text(state: Option<State>) -> String {
    match state {
        Some(state) => format!(r#"{{"root:compute+east+x":"{state}","root:compute+west+y":"Bound"}}"#),
        None => r#"{"root:compute+west+y":"Bound"}"#.to_owned(),
    }
}

/// Rows are the state before, columns the state after: absent, Pending, Bound, Removing, Unbound. P and N
/// are the actors that may make the change, `=` is no change, and `.` is allowed for no actor.
const MATRIX: [&str; 5] = ["=P...", "P=N..", "..=P.", "...=N", "PP..="];

#[test]
fn every_transition_is_its_actors_alone() {
    let states = [
        None,
        Some(State::Pending),
        Some(State::Bound),
        Some(State::Removing),
        Some(State::Unbound),
    ];
    let users = [
        ("P", PLACEMENTS),
        ("N", NAMESPACES_BY),
        ("R", "berth:resource-controller"),
        ("C", "berth:coordination-controller"),
        ("S", SYNCER_X),
        ("U", ALICE),
        ("U", "system:serviceaccount:kube-system:namespace-controller"),
    ];
    for (row, &from) in states.iter().enumerate() {
        for (column, &to) in states.iter().enumerate() {
            let legal = &MATRIX[row][column..=column];
            for (letter, user) in users {
                let (old, new) = (placed(Some(&text(from))), placed(Some(&text(to))));
                let answer = update(user, &old, &new);
                let expected = legal == "=" || legal == letter;
                assert_eq!(answer.is_ok(), expected, "{user}: {from:?} to {to:?}: {answer:?}");
                if let Err((code, message)) = answer {
                    assert_eq!(code, 403, "{message}");
                    let word = |state: Option<State>| state.map_or("absent", State::as_str);
                    let entry = format!(
                        "entry \"root:compute+east+x\" from {} to {}: ",
                        word(from),
                        word(to)
                    );
                    assert!(message.contains(&entry), "{message}");
                    let who = match legal {
                        "P" => "only the placement controller (user berth:placement-controller) may do this",
                        "N" => "only the namespace controller (user berth:namespace-controller) may do this",
                        _ => "nobody may do this; from ",
                    };
                    assert!(message.contains(who), "{message}");
                }
            }
        }
    }
}

#[test]
fn users_get_the_whole_story() {
    let answer = update(ALICE, &placed(Some(BOUND)), &placed(None));
    assert_eq!(
        answer.unwrap_err().1,
        "namespaces \"app\" is forbidden: metadata.annotations[scheduling.kcp.dev/placement]: Forbidden: entry \
         \"root:compute+east+x\" from Bound to absent: nobody may do this; from Bound, an entry may only change to \
         Removing by the placement controller (user berth:placement-controller)"
    );
}

#[test]
fn a_namespace_is_not_made_with_a_placement() {
    let guard = PlacementGuard::default();
    let create = |user: &str, new: &Value| review(&guard, user, NAMESPACES, "", None, new);
    assert!(create(ALICE, &placed(None)).is_ok());
    let pending = placed(Some(r#"{"root:compute+east+x":"Pending"}"#));
    refused(
        create(ALICE, &pending),
        403,
        &["from absent to Pending", "only the placement controller"],
    );
    refused(
        create(ALICE, &placed(Some("{}"))),
        403,
        &["even if its entries stay the same"],
    );
    refused(
        create(ALICE, &placed(Some("{"))),
        403,
        &["even if its entries stay the same", "is not JSON"],
    );
    assert!(create(PLACEMENTS, &pending).is_ok());
}

#[test]
fn the_text_is_guarded_byte_for_byte() {
    let old = placed(Some(BOUND));
    let reformatted = placed(Some(r#"{ "root:compute+east+x": "Bound" }"#));
    refused(
        update(ALICE, &old, &reformatted),
        403,
        &["even if its entries stay the same"],
    );
    assert!(update(PLACEMENTS, &old, &reformatted).is_ok());
    assert!(update(NAMESPACES_BY, &old, &reformatted).is_ok());
    refused(
        update(ALICE, &placed(Some("{}")), &placed(None)),
        403,
        &["even if its entries stay the same"],
    );
    refused(
        update(ALICE, &placed(Some("{")), &placed(Some("{}"))),
        403,
        &["even if its entries stay the same"],
    );
}

#[test]
fn a_put_that_omits_it_and_every_side_door_are_refused() {
    let guard = PlacementGuard::default();
    let old = placed(Some(BOUND));
    let bare = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "app"}});
    let null =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "app", "annotations": null}});
    for subresource in ["", "status", "finalize"] {
        for new in [&bare, &null, &placed(Some("{}"))] {
            let answer = review(&guard, ALICE, NAMESPACES, subresource, Some(&old), new);
            refused(
                answer,
                403,
                &["entry \"root:compute+east+x\" from Bound to absent"],
            );
        }
    }
}

#[test]
fn edits_that_leave_it_alone_are_everybodys() {
    let old = placed(Some(BOUND));
    let mut new = old.clone();
    new["metadata"]["annotations"]["note"] = "b".into();
    new["metadata"]["labels"] =
        json!({"experimental.workloads.kcp.dev/scheduling-disabled": "true", "team": "a"});
    new["spec"]["finalizers"] = json!([]);
    assert!(update(ALICE, &old, &new).is_ok());
    let broken = placed(Some("{"));
    let mut edited = broken.clone();
    edited["metadata"]["labels"] = json!({"team": "a"});
    assert!(
        update(ALICE, &broken, &edited).is_ok(),
        "what is malformed already may stay"
    );
    let user = UserInfo::default();
    let request = Request {
        operation: Operation::Delete,
        resource: NAMESPACES,
        kind: "Namespace",
        subresource: "",
        namespace: "",
        name: "app",
        user: &user,
        old: Some(&old),
        dry_run: false,
    };
    assert!(
        PlacementGuard::default()
            .validate(&request, None, &mut Vec::new())
            .is_ok()
    );
}

#[test]
fn malformed_values_are_refused_whoever_writes_them() {
    for (text, part) in [
        ("", "is not JSON"),
        ("null", "is null; it must be a JSON object"),
        ("[]", "is an array"),
        (r#"{"root:compute+east+x":1}"#, "every state must be a string"),
        (
            r#"{"root:compute+east+x":"Pending","root:compute+east+x":"Pending"}"#,
            "is repeated",
        ),
        (
            r#"{"root:compute+east+x":"pending"}"#,
            "has the unknown state \"pending\"",
        ),
        (r#"{"root:compute+east":"Pending"}"#, "has 2 segments"),
        (
            r#"{"compute+east+x":"Pending"}"#,
            "location cluster \"compute\" must be",
        ),
        (
            r#"{"root:compute+east+x":"Pending","root:compute+west+x":"Pending"}"#,
            "workload cluster \"x\" already has the entry",
        ),
    ] {
        let (old, new) = (placed(Some("{}")), placed(Some(text)));
        for user in [PLACEMENTS, NAMESPACES_BY] {
            refused(update(user, &old, &new), 422, &[part]);
        }
        refused(update(ALICE, &old, &new), 403, &[part]);
    }
}

#[test]
fn one_illegal_entry_denies_the_whole_write() {
    let old = placed(Some(
        r#"{"root:compute+a+x":"Bound","root:compute+a+y":"Pending"}"#,
    ));
    let new = placed(Some(
        r#"{"root:compute+a+x":"Removing","root:compute+a+y":"Bound"}"#,
    ));
    let answer = update(PLACEMENTS, &old, &new);
    refused(
        answer,
        403,
        &["entry \"root:compute+a+y\" from Pending to Bound: only the namespace controller"],
    );
    let legal = placed(Some(
        r#"{"root:compute+a+x":"Removing","root:compute+a+z":"Pending"}"#,
    ));
    assert!(update(PLACEMENTS, &old, &legal).is_ok());
}

#[test]
fn a_stored_value_that_is_malformed_counts_as_none() {
    let new = placed(Some(r#"{"root:compute+a+x":"Pending"}"#));
    assert!(update(PLACEMENTS, &placed(Some("{")), &new).is_ok());
    // In a map with invalid entries, the other entries count.
    let littered = placed(Some(r#"{"root:compute+a+x":"Bound","odd":"Bound"}"#));
    assert!(
        update(
            PLACEMENTS,
            &littered,
            &placed(Some(r#"{"root:compute+a+x":"Bound"}"#))
        )
        .is_ok()
    );
    refused(
        update(PLACEMENTS, &littered, &placed(Some("{}"))),
        403,
        &["from Bound to absent"],
    );
}

#[test]
fn a_role_can_be_given_to_another_user() {
    let placer = "system:serviceaccount:kcp:placer";
    let guard = PlacementGuard::new(Settings {
        users: BTreeMap::from([(placer.to_owned(), Role::Placement)]),
        ..Settings::default()
    });
    let (old, new) = (
        placed(Some(BOUND)),
        placed(Some(r#"{"root:compute+east+x":"Removing"}"#)),
    );
    assert!(review(&guard, placer, NAMESPACES, "", Some(&old), &new).is_ok());
    refused(
        review(&guard, ALICE, NAMESPACES, "", Some(&old), &new),
        403,
        &["only the placement controller"],
    );
}

#[test]
fn breaking_the_glass_allows_every_change_to_something_that_can_be_understood() {
    let plugins: Vec<Arc<dyn Plugin>> = vec![
        Arc::new(PlacementGuard::default()),
        Arc::new(PlacementValues::default()),
    ];
    let chain = Chain::new(plugins).with_break_glass(vec!["oncall".to_owned()]);
    let old = placed(Some(BOUND));
    let by = |group: &str, new: &Value| {
        let user = UserInfo {
            name: ALICE.to_owned(),
            groups: vec![group.to_owned()],
            ..UserInfo::default()
        };
        let request = Request {
            operation: Operation::Update,
            resource: NAMESPACES,
            kind: "Namespace",
            subresource: "",
            namespace: "",
            name: "app",
            user: &user,
            old: Some(&old),
            dry_run: false,
        };
        let plugins = chain.plugins_for(&request);
        plugins.mutate(&mut new.clone(), &mut Vec::new())?;
        plugins.validate(Some(new), &mut Vec::new())
    };
    assert!(by("oncall", &placed(None)).is_ok());
    let status = by("oncall", &placed(Some("{"))).unwrap_err();
    assert_eq!(status.code, 422);
    assert_eq!(by("system:masters", &placed(None)).unwrap_err().code, 403);
}

#[test]
fn the_audit_log_tells_the_transitions() {
    let (old, new) = (
        placed(Some(BOUND)),
        placed(Some(
            r#"{"root:compute+east+x":"Removing","root:compute+east+y":"Pending"}"#,
        )),
    );
    let user = UserInfo::default();
    let request = Request {
        operation: Operation::Update,
        resource: NAMESPACES,
        kind: "Namespace",
        subresource: "",
        namespace: "",
        name: "app",
        user: &user,
        old: Some(&old),
        dry_run: false,
    };
    let said = PlacementGuard::default().annotate(&request, Some(&new));
    let text = "entry \"root:compute+east+x\" from Bound to Removing, entry \"root:compute+east+y\" from absent to Pending";
    assert_eq!(said, [("placement-transition", text.to_owned())]);
    assert!(
        PlacementGuard::default()
            .annotate(&request, Some(&old))
            .is_empty()
    );
}
