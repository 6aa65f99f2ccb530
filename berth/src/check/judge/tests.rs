//! Judgement of objects.

use berth_apimachinery::time;
use serde_json::json;

use super::*;

fn now() -> Timestamp {
    time::parse("2026-01-01T00:00:00Z").unwrap()
}

fn one(findings: &[Finding]) -> &Finding {
    let [finding] = findings else {
        panic!("{findings:?}")
    };
    finding
}

/// A CA as a caBundle.
fn ca() -> String {
    let folder = tempfile::tempdir().unwrap();
    let authority = berth_certs::Authority::open(folder.path(), "ca", "ca", now()).unwrap();
    STANDARD.encode(authority.certificate_pem())
}

#[test]
fn an_api_service_is_available_and_trusts_somebody() {
    let object = |available: &str, bundle: &str| {
        json!({
            "metadata": {"name": "v1alpha1.scheduling.berth.dev"},
            "spec": {"service": {"name": "berth", "namespace": "berth-system"}, "caBundle": bundle},
            "status": {"conditions": [{"type": "Available", "status": available, "message": "no endpoints"}]},
        })
    };
    let fine = api_service(&object("True", &ca()), now());
    assert!(
        fine.iter().all(|finding| finding.verdict == Verdict::Ok),
        "{fine:?}"
    );
    let gone = api_service(&object("False", &ca()), now());
    assert_eq!(gone[0].verdict, Verdict::Wrong);
    assert_eq!(gone[0].message, "not Available: no endpoints");
    assert!(gone[0].mend.contains("berth-system"), "{}", gone[0].mend);
    for (bundle, problem) in [("", "no caBundle"), ("%", "caBundle"), ("QQ==", "caBundle")] {
        let untrusted = api_service(&object("True", bundle), now());
        assert_eq!(untrusted[1].verdict, Verdict::Wrong, "{bundle}");
        assert!(untrusted[1].message.contains(problem), "{}", untrusted[1].message);
    }
    let mut open = object("True", &ca());
    open["spec"]["insecureSkipTLSVerify"] = true.into();
    assert_eq!(api_service(&open, now())[1].verdict, Verdict::Wrong);
    assert_eq!(service(&object("True", "")).unwrap().port, 443);
}

#[test]
fn the_worst_of_our_webhooks_is_told_and_nobody_elses() {
    let berth = berth_deploy::default_service();
    let webhook = |name: &str, bundle: Value| json!({"clientConfig": {"service": {"name": name, "namespace": "berth-system"}, "caBundle": bundle}});
    let of = |webhooks: Vec<Value>| {
        let object = json!({"kind": "MutatingWebhookConfiguration", "metadata": {"name": "berth"}, "webhooks": webhooks});
        webhooks_of(&object, &berth)
    };
    let fine = of(vec![webhook("berth", ca().into()), webhook("other", Value::Null)]).unwrap();
    assert_eq!(fine.verdict, Verdict::Ok, "{fine:?}");
    assert!(fine.message.starts_with("1 webhooks"), "{}", fine.message);
    let wrong = of(vec![webhook("berth", ca().into()), webhook("berth", Value::Null)]).unwrap();
    assert_eq!(wrong.verdict, Verdict::Wrong);
    assert!(of(vec![webhook("other", Value::Null)]).is_none());
}

fn webhooks_of(object: &Value, service: &Service) -> Option<Finding> {
    webhooks(object, service, now())
}

#[test]
fn certificates_are_wrong_when_they_ran_out_and_told_of_before() {
    for (hours, verdict) in [
        (-1, Verdict::Wrong),
        (0, Verdict::Wrong),
        (24, Verdict::Note),
        (24 * 60, Verdict::Ok),
    ] {
        let until = now() + SignedDuration::from_hours(hours);
        assert_eq!(
            expiry("certificates", "x", until, now(), "").verdict,
            verdict,
            "{hours}"
        );
    }
    let at = now().as_second();
    let metrics = format!(
        "# HELP x\nberth_certificate_expiration_timestamp_seconds{{certificate=\"serving\"}} {}\n\
         berth_certificate_expiration_timestamp_seconds{{certificate=\"ca\"}} {}.0\nother 1\n",
        at - 5,
        at + 90 * 24 * 3600
    );
    let told: Vec<(String, Verdict)> = certificates(&metrics, now())
        .into_iter()
        .map(|finding| (finding.subject, finding.verdict))
        .collect();
    assert_eq!(
        told,
        [
            ("serving".to_owned(), Verdict::Wrong),
            ("ca".to_owned(), Verdict::Ok)
        ]
    );
}

#[test]
fn clocks_that_differ_by_a_minute_are_wrong() {
    for (date, verdict, words) in [
        (Some("Thu, 01 Jan 2026 00:00:02 GMT"), Verdict::Ok, "agrees"),
        (Some("Thu, 01 Jan 2026 00:00:30 GMT"), Verdict::Note, "ahead"),
        (Some("Wed, 31 Dec 2025 23:00:00 GMT"), Verdict::Wrong, "behind"),
        (Some("soon"), Verdict::Unknown, "does not send"),
        (None, Verdict::Unknown, "does not send"),
    ] {
        let finding = clock(date.and_then(server_time), now());
        assert_eq!(finding.verdict, verdict, "{date:?}");
        assert!(finding.message.contains(words), "{}", finding.message);
    }
}

#[test]
fn checks_of_readiness_that_fail_are_named() {
    let fine = readiness("[+]ping ok\n[+]shutdown ok\nreadyz check passed\n");
    assert_eq!(one(&fine).message, "2 checks pass");
    let failing = readiness("[+]ping ok\n[-]gardener failed: reason withheld\nreadyz check failed\n");
    assert_eq!(one(&failing).subject, "gardener");
    assert_eq!(one(&failing).verdict, Verdict::Wrong);
}

#[test]
fn definitions_and_configurations_say_themselves_what_is_wrong() {
    let with = |r#type: &str, status: &str| {
        json!({
            "metadata": {"name": "gardener"},
            "status": {"conditions": [{"type": r#type, "status": status, "message": "bad field"}]},
        })
    };
    assert_eq!(definition(&with("Established", "True")).verdict, Verdict::Ok);
    assert_eq!(definition(&with("Established", "False")).verdict, Verdict::Wrong);
    assert_eq!(definition(&json!({})).verdict, Verdict::Wrong);
    assert_eq!(configuration(&with("Valid", "True")).verdict, Verdict::Ok);
    assert_eq!(configuration(&json!({})).verdict, Verdict::Ok);
    let invalid = configuration(&with("Valid", "False"));
    assert_eq!(invalid.verdict, Verdict::Wrong);
    assert!(invalid.message.contains("bad field"), "{}", invalid.message);
}

#[test]
fn a_lease_that_nobody_renews_is_wrong() {
    let renewed = |time: &str| {
        json!({
            "metadata": {"name": "berth", "namespace": "berth-system"},
            "spec": {"holderIdentity": "a", "renewTime": time, "leaseDurationSeconds": 5},
        })
    };
    assert_eq!(
        lease(&renewed("2025-12-31T23:59:58.000000Z"), "berth", now())
            .unwrap()
            .verdict,
        Verdict::Ok
    );
    let expired = renewed("2025-12-31T23:59:00.000000Z");
    let finding = lease(&expired, "placer", now()).unwrap();
    assert_eq!(finding.verdict, Verdict::Wrong);
    assert!(finding.mend.ends_with("logs deploy/placer"), "{}", finding.mend);
    assert!(lease(&json!({"spec": {"holderIdentity": ""}}), "berth", now()).is_none());
}

#[test]
fn a_lease_of_a_store_that_has_moved_away_is_only_noted() {
    let left = json!({
        "metadata": {"name": "berth-store", "namespace": "berth-system"},
        "spec": {"holderIdentity": "a", "renewTime": "2025-12-01T00:00:00.000000Z", "leaseDurationSeconds": 15},
    });
    assert_eq!(lease(&left, "berth", now()).unwrap().verdict, Verdict::Note);
}

#[test]
fn what_is_held_is_named_with_its_reason_and_the_rest_counted() {
    let decision = |number: usize, phase: &str| {
        json!({
            "metadata": {"name": format!("web-{number}.gardener"), "namespace": "dev"},
            "status": {"phase": phase, "reason": "NoSuitableSeed", "message": "0 of 5"},
        })
    };
    let all: Vec<Value> = (0..13).map(|number| decision(number, "Unschedulable")).collect();
    let (findings, requests) = unplaced_requests(&all);
    assert_eq!(findings.len(), MAX_LISTED + 1);
    assert_eq!((requests.without_place, requests.total), (13, 13));
    assert_eq!(findings[0].message, "Unschedulable, NoSuitableSeed: 0 of 5");
    assert_eq!(findings[0].mend, "berth why web-0.gardener -n dev");
    assert_eq!(findings[MAX_LISTED].message, "3 Unschedulable, NoSuitableSeed");
    assert!(findings.iter().all(|finding| finding.verdict == Verdict::Note));
    let (misspelt, _) = unplaced_requests(&[decision(1, "Invalid")]);
    assert_eq!(misspelt[0].verdict, Verdict::Note);
    let cluster = json!({"metadata": {"name": "p.fleet"}, "status": {"phase": "Partial"}});
    assert_eq!(one(&unplaced_requests(&[cluster]).0).mend, "berth why p.fleet");
    let (fine, requests) = unplaced_requests(&[decision(0, "Bound"), decision(1, "Ignored")]);
    assert_eq!(one(&fine).message, "none of 1");
    assert_eq!((requests.without_place, requests.total), (0, 1));
    let (releasing, requests) = unplaced_requests(&[decision(0, "Bound"), decision(1, "Releasing")]);
    assert_eq!(one(&releasing).verdict, Verdict::Note);
    assert_eq!(
        (requests.without_place, requests.total),
        (0, 2),
        "it still has its place"
    );
}

#[test]
fn what_is_wrong_with_targets_is_named_up_to_a_number() {
    let target = |name: String, warnings: &[&str]| json!({"metadata": {"name": name}, "status": {"warnings": warnings}});
    let fine = targets(&[json!({"metadata": {"name": "a.ocm"}, "status": {}})]);
    assert_eq!((fine.len(), fine[0].verdict), (1, Verdict::Ok));
    let wrong = targets(&[target("east.kcp".to_owned(), &["not everything is synced: x"])]);
    assert_eq!((wrong.len(), wrong[0].verdict), (1, Verdict::Note));
    assert_eq!(
        (wrong[0].subject.as_str(), wrong[0].message.as_str()),
        ("east.kcp", "not everything is synced: x")
    );
    let many: Vec<Value> = (0..MAX_LISTED + 3)
        .map(|number| target(format!("c{number}"), &["w"]))
        .collect();
    let many = targets(&many);
    assert_eq!(
        (many.len(), many[MAX_LISTED].subject.as_str()),
        (MAX_LISTED + 1, "3 more")
    );
}

#[test]
fn rules_that_do_not_go_with_what_the_objects_say_are_noted() {
    let of = |rules: Value| rules_of(&rules);
    assert_eq!(
        of(json!({"name": "Current", "message": "the objects are those of a hub"})),
        None
    );
    assert_eq!(of(Value::Null), None);
    let at_odds = json!({
        "name": "Documented", "message": "spec.rules is Documented, although 1 of 1 Seeds is of Gardener 1.49 or newer",
        "atOdds": true,
    });
    let found = of(at_odds).unwrap();
    assert_eq!(
        (found.verdict, found.subject.as_str()),
        (Verdict::Note, "rules of gardener")
    );
    assert!(
        found
            .message
            .starts_with("decisions follow the rules Documented: spec.rules is Documented, although")
    );
}

fn rules_of(rules: &Value) -> Option<Finding> {
    super::rules("gardener", &json!({"status": {"rules": rules}}))
}

#[test]
fn one_decision_of_each_system_is_asked() {
    let decision =
        |namespace: Option<&str>, name: &str| json!({"metadata": {"namespace": namespace, "name": name}});
    let found = decision_paths(&[
        decision(Some("garden-p"), "a.b.gardener"),
        decision(Some("garden-p"), "c.gardener"),
        decision(None, "web.fleet"),
    ]);
    let found: Vec<(&str, &str)> = found.iter().map(|(system, path)| (&**system, &**path)).collect();
    assert_eq!(
        found,
        [
            ("fleet", "clusterdecisions/web.fleet"),
            ("gardener", "namespaces/garden-p/decisions/a.b.gardener"),
        ]
    );
}
