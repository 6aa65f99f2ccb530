//! Meanings of the words of a question.

use super::*;

fn asked(words: &[&str]) -> Result<Vec<String>, String> {
    let dialects = berth_dialect_registry::all();
    let catalog = crate::catalog::catalog(&dialects);
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let places = places(&words, "team", &dialects, &catalog)?;
    Ok(places
        .into_iter()
        .map(|place| format!("{}/{}", place.namespace, place.name))
        .collect())
}

#[test]
fn a_decision_is_named_itself_or_by_its_object_as_kubectl_users_write_it() {
    for (words, place) in [
        (&["web.gardener"][..], "team/web.gardener"),
        (&["a.b.ocm"], "team/a.b.ocm"),
        (&["team-a/web.fleet"], "team-a/web.fleet"),
        (&["decision/web.fleet"], "team/web.fleet"),
        // The decision about a namespace is in that namespace.
        (&["shop.kcp"], "shop/shop.kcp"),
        (&["decision/web.gardener"], "team/web.gardener"),
        (&["clusterdecisions.scheduling.berth.dev/x.fleet"], "/x.fleet"),
        (&["bdec", "web.gardener"], "team/web.gardener"),
        (&["shoot/web"], "team/web.gardener"),
        (&["Shoots", "web"], "team/web.gardener"),
        (&["shoots.core.gardener.cloud/web"], "team/web.gardener"),
        (&["placement", "a.b"], "team/a.b.ocm"),
        (&["crp/x"], "/x.fleet"),
        (&["ns/shop"], "shop/shop.kcp"),
        // Karmada decides about the binding that comes of it.
        (&["deployment/web"], "team/web-deployment.karmada"),
        (&["deploy", "web"], "team/web-deployment.karmada"),
        (&["shoot/garden-dev/web"], "garden-dev/web.gardener"),
        (&["garden-dev/web.gardener"], "garden-dev/web.gardener"),
    ] {
        assert_eq!(asked(words), Ok(vec![place.to_owned()]), "{words:?}");
    }
    // KubeFleet has requests of the cluster and of namespaces.
    let both = Ok(vec!["/crp.fleet".to_owned(), "team/crp.fleet".to_owned()]);
    assert_eq!(asked(&["crp.fleet"]), both);
}

#[test]
fn a_name_alone_may_be_of_any_system() {
    let found = asked(&["web"]).unwrap();
    for place in [
        "team/web.gardener",
        "team/web.ocm",
        "team/web.openmcp",
        "/web.fleet",
        "team/web.fleet",
        "/web.karmada",
        "team/web.karmada",
        "web/web.kcp",
    ] {
        assert!(found.iter().any(|found| found == place), "{place}: {found:?}");
    }
    assert_eq!(found.len(), 8);
    // What follows the last dot is no system.
    assert_eq!(asked(&["web.shop"]).unwrap().len(), 8);
}

#[test]
fn what_wants_no_place_is_told_what_does() {
    for words in [&["seed/a"][..], &["pod", "a"], &["placemnt/web"]] {
        let problem = asked(words).unwrap_err();
        assert!(
            problem.contains("Shoot") && problem.contains("ClusterResourcePlacement"),
            "{problem}"
        );
    }
    for words in [&["shoot/"][..], &["/web"], &["shoot//b"], &[""]] {
        assert!(
            asked(words).unwrap_err().starts_with("say what to explain: "),
            "{words:?}"
        );
    }
}

#[test]
fn a_namespace_may_stand_before_the_name() {
    let found = asked(&["garden-dev/web"]).unwrap();
    assert!(found.contains(&"garden-dev/web.gardener".to_owned()), "{found:?}");
    assert!(found.contains(&"garden-dev/web.ocm".to_owned()), "{found:?}");
}
