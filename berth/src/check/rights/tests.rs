//! Rights that Berth needs, by its manifests.

use berth_dialect_registry::ActorArgs;

use super::*;

#[test]
fn what_is_needed_is_what_the_manifests_give() {
    let installation = Installation::on_hub();
    let needed = required_rights(&installation);
    let of = |role: &str| needed.iter().find(|one| one.role == role).unwrap();
    let server = of("berth:server");
    assert_eq!(server.user, "system:serviceaccount:berth-system:berth");
    assert!(
        server
            .groups
            .contains(&"system:serviceaccounts:berth-system".to_owned())
    );
    assert!(!server.rights.is_empty());
    let locks = of("berth:locks");
    assert!(
        locks
            .rights
            .iter()
            .all(|right| right["namespace"] == "berth-system")
    );
    assert!(
        locks
            .rights
            .iter()
            .any(|right| right_text(right) == "update leases.coordination.k8s.io")
    );
    let reader = of("berth:reader");
    assert!(
        reader
            .rights
            .iter()
            .any(|right| right_text(right) == "list seeds.core.gardener.cloud")
    );
    let impersonated: Vec<String> = of("berth:impersonator").rights.iter().map(right_text).collect();
    let actors: Vec<&RequiredRights> = needed
        .iter()
        .filter(|one| one.user.starts_with("berth:"))
        .collect();
    assert!(actors.len() > 1, "{actors:?}");
    for actor in actors {
        let right = format!("impersonate users {}", actor.user);
        assert!(impersonated.contains(&right), "{right} of {impersonated:?}");
    }
}

#[test]
fn what_is_missing_is_named_with_the_manifests_that_give_it() {
    let installation = Installation::on_hub().without("kcp");
    let needed = &required_rights(&installation)[0];
    let fine = role_finding(needed, &[], &installation);
    assert_eq!(fine.verdict, Verdict::Ok);
    let missing: Vec<String> = (0..7).map(|number| format!("get a{number}")).collect();
    let wrong = role_finding(needed, &missing, &installation);
    assert_eq!(wrong.verdict, Verdict::Wrong);
    assert!(wrong.message.contains("get a4 and 2 more"), "{}", wrong.message);
    assert!(
        wrong.mend.contains("--source=gardener=hub") && !wrong.mend.contains("kcp"),
        "{}",
        wrong.mend
    );
}

#[test]
fn a_server_that_syncs_less_needs_less_and_the_command_keeps_its_flags() {
    let actors = ActorArgs::among(&[
        "--kcp-synced-resources=configmaps",
        "--kcp-namespace-selector=team in (a,b)",
    ]);
    let actors = actors.unwrap();
    let installation = Installation {
        dialects: berth_dialect_registry::with(&actors.settings()),
        arguments: actors.arguments(),
        ..Installation::on_hub()
    };
    let needed: Vec<String> = required_rights(&installation)
        .iter()
        .flat_map(|one| one.rights.iter().map(right_text))
        .collect();
    assert!(needed.contains(&"list configmaps".to_owned()));
    assert!(!needed.contains(&"list secrets".to_owned()), "{needed:?}");
    let flags = flags(&installation);
    let kept = " --kcp-synced-resources=configmaps '--kcp-namespace-selector=team in (a,b)'";
    assert!(flags.ends_with(kept), "{flags}");
}
