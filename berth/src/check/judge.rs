//! Findings about objects of the server. The functions read nothing: their findings depend only on the given
//! objects and the given time.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::{Timestamp, time};
use berth_deploy::{Service, default_service};
use berth_dialect_contract::names;
use jiff::SignedDuration;
use serde_json::Value;

use super::finding::{Finding, RequestCounts, Verdict};

/// Time before the expiry of a certificate at which a warning begins.
const EXPIRY_WARNING: SignedDuration = SignedDuration::from_hours(14 * 24);
/// Difference of clocks that is ignored: answers take time, and the `Date` header has whole seconds.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(5);
/// Difference of clocks from which certificates and heartbeats may count as expired.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);
/// Highest number of decisions, or of warnings, that are listed one by one.
const MAX_LISTED: usize = 10;

/// For each system, the path of one of its decisions, relative to `/apis/<group>/<version>` of Berth.
pub(super) fn decision_paths(decisions: &[Value]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for decision in decisions {
        let name = text(&decision["metadata"]["name"]);
        let Some((_, system)) = names::split(name) else {
            continue;
        };
        found
            .entry(system.to_owned())
            .or_insert_with(|| match decision["metadata"]["namespace"].as_str() {
                Some(namespace) => format!("namespaces/{namespace}/decisions/{name}"),
                None => format!("clusterdecisions/{name}"),
            });
    }
    found
}

/// Finding about the rules of `system`, if its `report` states that the stored objects are from a release
/// with other rules.
pub(super) fn rules(system: &str, report: &Value) -> Option<Finding> {
    let rules = &report["status"]["rules"];
    (rules["atOdds"] == true).then(|| {
        let message = format!(
            "decisions follow the rules {}: {}",
            text(&rules["name"]),
            text(&rules["message"])
        );
        Finding::ok("configuration", format!("rules of {system}"), message).with_verdict(
            Verdict::Note,
            format!("kubectl edit schedulerconfiguration {system} # set rules: Auto, or remove rules"),
        )
    })
}

/// The Service of an APIService, if it has one.
pub(super) fn service(api_service: &Value) -> Option<Service> {
    let service = &api_service["spec"]["service"];
    Some(Service {
        name: service["name"].as_str()?.to_owned(),
        namespace: service["namespace"].as_str()?.to_owned(),
        port: service["port"]
            .as_u64()
            .and_then(|port| u16::try_from(port).ok())
            .unwrap_or(443),
    })
}

/// Findings about the availability of an APIService and its caBundle, or its `insecureSkipTLSVerify`.
pub(super) fn api_service(object: &Value, now: Timestamp) -> Vec<Finding> {
    let name = text(&object["metadata"]["name"]);
    let mend = service(object).map_or_else(String::new, |service| {
        format!(
            "kubectl -n {} describe deployment {}",
            service.namespace, service.name
        )
    });
    let mut findings = Vec::new();
    let subject = format!("APIService {name}");
    match condition(object, "Available") {
        Some((true, _)) => findings.push(Finding::ok("registration", &subject, "Available")),
        Some((false, message)) => findings.push(
            Finding::ok("registration", &subject, format!("not Available: {message}"))
                .with_verdict(Verdict::Wrong, mend),
        ),
        None => findings.push(
            Finding::ok("registration", &subject, "the hub has not checked it yet")
                .with_verdict(Verdict::Wrong, format!("kubectl get apiservice {name} -o yaml")),
        ),
    }
    if object["spec"]["insecureSkipTLSVerify"] == true {
        findings.push(
            Finding::ok(
                "registration",
                &subject,
                "any server may answer for it: insecureSkipTLSVerify is set",
            )
            .with_verdict(
                Verdict::Wrong,
                format!(
                    "kubectl patch apiservice {name} --type=json -p '[{{\"op\": \"remove\", \"path\": \"/spec/insecureSkipTLSVerify\"}}]'"
                ),
            ),
        );
    } else {
        let service = service(object).unwrap_or_else(default_service);
        findings.push(bundle(&subject, &object["spec"]["caBundle"], &service, now));
    }
    findings
}

/// Finding about the caBundles of the webhooks in a webhook configuration that call `service`; `None` if no
/// webhook calls it.
pub(super) fn webhooks(object: &Value, service: &Service, now: Timestamp) -> Option<Finding> {
    let all = object["webhooks"].as_array()?.iter();
    let own: Vec<&Value> = all
        .filter(|webhook| {
            let target = &webhook["clientConfig"]["service"];
            target["name"] == service.name.as_str() && target["namespace"] == service.namespace.as_str()
        })
        .collect();
    let subject = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    let findings = own
        .iter()
        .map(|webhook| bundle(&subject, &webhook["clientConfig"]["caBundle"], service, now));
    // The webhooks normally have the same bundle, so only the worst finding is reported.
    let mut worst = findings.max_by_key(|finding| finding.verdict as u8)?;
    if worst.verdict == Verdict::Ok {
        worst.message = format!("{} webhooks; {}", own.len(), worst.message);
    }
    Some(worst)
}

/// Finding about the presence of a caBundle and its expiry.
fn bundle(subject: &str, bundle: &Value, service: &Service, now: Timestamp) -> Finding {
    let Service { name, namespace, .. } = service;
    // Berth or cert-manager sets the caBundle, and reports the reason of a failure.
    let renew =
        &format!("kubectl -n {namespace} logs deploy/{name}; kubectl -n {namespace} get certificates");
    let Some(encoded) = bundle.as_str().filter(|text| !text.is_empty()) else {
        return Finding::ok(
            "registration",
            subject,
            "it has no caBundle, so the hub does not trust the server",
        )
        .with_verdict(Verdict::Wrong, renew);
    };
    let until = STANDARD
        .decode(encoded)
        .map_err(|problem| format!("is not base64: {problem}"))
        .and_then(|pem| last_expiry(&pem));
    match until {
        Err(problem) => Finding::ok("registration", subject, format!("its caBundle {problem}"))
            .with_verdict(Verdict::Wrong, renew),
        Ok(until) => expiry(
            "certificates",
            &format!("caBundle of {subject}"),
            until,
            now,
            renew,
        ),
    }
}

/// The latest expiry of the certificates in `pem`.
///
/// # Errors
/// A predicate, such as "is not a certificate: …".
pub(super) fn last_expiry(pem: &[u8]) -> Result<Timestamp, String> {
    let list = berth_certs::pem::certificates(pem, Path::new("caBundle"))
        .map_err(|_| "is damaged, or has no certificate in PEM".to_owned())?;
    let mut last: Option<Timestamp> = None;
    for certificate in &list {
        let (_, until) = berth_certs::pem::validity(certificate)?;
        last = last.max(Some(until));
    }
    last.ok_or_else(|| "has no certificate".to_owned())
}

/// Finding about a certificate that expires at `until`.
pub(super) fn expiry(
    area: &'static str,
    subject: &str,
    until: Timestamp,
    now: Timestamp,
    mend: &str,
) -> Finding {
    let remaining = until.duration_since(now);
    let end = time::rfc3339(until);
    if remaining <= SignedDuration::ZERO {
        Finding::ok(area, subject, format!("expired at {end}")).with_verdict(Verdict::Wrong, mend)
    } else if remaining < EXPIRY_WARNING {
        let hours = remaining.as_hours();
        Finding::ok(area, subject, format!("expires at {end}, in {hours} hours"))
            .with_verdict(Verdict::Note, mend)
    } else {
        Finding::ok(area, subject, format!("valid until {end}"))
    }
}

/// Findings about the certificates in a server's metrics.
pub(super) fn certificates(metrics: &str, now: Timestamp) -> Vec<Finding> {
    const NAME: &str = "berth_certificate_expiration_timestamp_seconds";
    let lines = metrics.lines().filter_map(|line| line.strip_prefix(NAME));
    lines
        .filter_map(|rest| {
            let (labels, value) = rest.rsplit_once(' ')?;
            let subject = labels.split('"').nth(1).unwrap_or("certificate").to_owned();
            #[expect(clippy::cast_possible_truncation, reason = "seconds of this age fit")]
            let until = Timestamp::from_second(value.parse::<f64>().ok()? as i64).ok()?;
            let mend =
                "restart the server: it renews expired certificates (docs/operate.md, \"Certificates\")";
            Some(expiry("certificates", &subject, until, now, mend))
        })
        .collect()
}

/// The server's time in the header `Date` of an answer.
pub(super) fn server_time(date: &str) -> Option<Timestamp> {
    let date = jiff::fmt::rfc2822::parse(date).ok()?;
    Some(date.timestamp())
}

/// Finding about the server's clock; `now` is the time of this machine.
pub(super) fn clock(server_time: Option<Timestamp>, now: Timestamp) -> Finding {
    let Some(server_time) = server_time else {
        return Finding::unknown("clock", "server", "it does not send the time");
    };
    let skew = server_time.duration_since(now);
    let difference = skew.abs();
    let message = match (difference < CLOCK_TOLERANCE, skew.is_negative()) {
        (true, _) => "agrees with this machine's".to_owned(),
        (false, true) => format!("{difference:#} behind this machine's"),
        (false, false) => format!("{difference:#} ahead of this machine's"),
    };
    let finding = Finding::ok("clock", "server", message);
    let mend = "timedatectl status # on both machines";
    match difference {
        difference if difference < CLOCK_TOLERANCE => finding,
        difference if difference < MAX_CLOCK_SKEW => finding.with_verdict(Verdict::Note, mend),
        _ => finding.with_verdict(Verdict::Wrong, mend),
    }
}

/// Findings about the failed checks in `text`, the answer to `/readyz?verbose`, or one finding if no check
/// failed.
pub(super) fn readiness(text: &str) -> Vec<Finding> {
    let failing: Vec<Finding> = text
        .lines()
        .filter_map(|line| line.strip_prefix("[-]"))
        .map(|line| {
            let name = line.split_whitespace().next().unwrap_or(line);
            let mend = format!("kubectl get --raw '/readyz/{name}'; the server's log has the reason");
            Finding::ok("sources", name, line.to_owned()).with_verdict(Verdict::Wrong, mend)
        })
        .collect();
    if failing.is_empty() {
        let count = text.lines().filter(|line| line.starts_with("[+]")).count();
        return vec![Finding::ok(
            "sources",
            "readiness",
            format!("{count} checks pass"),
        )];
    }
    failing
}

/// Finding about the condition `Established` of a CustomResourceDefinition.
pub(super) fn definition(object: &Value) -> Finding {
    let name = text(&object["metadata"]["name"]);
    match condition(object, "Established") {
        Some((true, _)) => Finding::ok("definitions", name, "Established"),
        other => {
            let message = other.map_or_else(|| "no condition".to_owned(), |(_, message)| message);
            Finding::ok("definitions", name, format!("not Established: {message}"))
                .with_verdict(Verdict::Wrong, format!("kubectl describe crd {name}"))
        }
    }
}

/// Finding about the condition `Valid` of a SchedulerConfiguration.
pub(super) fn configuration(object: &Value) -> Finding {
    let name = text(&object["metadata"]["name"]);
    match condition(object, "Valid") {
        Some((false, message)) => Finding::ok("configuration", name, format!("not in force: {message}"))
            .with_verdict(
                Verdict::Wrong,
                format!("kubectl edit schedulerconfiguration {name}"),
            ),
        Some((true, _)) => Finding::ok("configuration", name, "in force"),
        None => Finding::ok("configuration", name, "stored"),
    }
}

/// Finding about the renewal of a Lease of the Berth behind the Service `service`; `None` if the Lease has no
/// holder or no time of renewal.
pub(super) fn lease(object: &Value, service: &str, now: Timestamp) -> Option<Finding> {
    let name = text(&object["metadata"]["name"]);
    let spec = &object["spec"];
    let holder = spec["holderIdentity"]
        .as_str()
        .filter(|holder| !holder.is_empty())?;
    let renewed = time::parse(spec["renewTime"].as_str()?)?;
    let duration = SignedDuration::from_secs(spec["leaseDurationSeconds"].as_i64().unwrap_or(15));
    let age = now.duration_since(renewed);
    let finding = Finding::ok("leader", name, format!("{holder} holds it"));
    // Another replica should take over an expired Lease within one more lease duration.
    let is_expired = age > duration + duration + CLOCK_TOLERANCE;
    let namespace = text(&object["metadata"]["namespace"]);
    if is_expired && name == berth_hub::store_lease::NAME {
        // No server releases this Lease, so it stays when objects move to another store.
        let message = format!(
            "{holder} held it until {}: no server behind this hub stores objects in an embedded database",
            time::rfc3339(renewed)
        );
        let mend = format!("kubectl -n {namespace} delete lease {name} # if that is intended");
        return Some(Finding::ok("leader", name, message).with_verdict(Verdict::Note, mend));
    }
    if is_expired {
        let message = format!(
            "{holder} held it until {}, and no replica has taken over",
            time::rfc3339(renewed)
        );
        return Some(Finding::ok("leader", name, message).with_verdict(
            Verdict::Wrong,
            format!("kubectl -n {namespace} get pods; kubectl -n {namespace} logs deploy/{service}"),
        ));
    }
    Some(finding)
}

/// Findings about targets with problems other than readiness: one for each of the first [`MAX_LISTED`]
/// warnings, and one with the number of further warnings.
pub(super) fn targets(targets: &[Value]) -> Vec<Finding> {
    let warnings = targets.iter().flat_map(|target| {
        let warnings = target["status"]["warnings"].as_array().into_iter().flatten();
        warnings.map(|warning| (text(&target["metadata"]["name"]), text(warning)))
    });
    let all: Vec<(&str, &str)> = warnings.collect();
    if all.is_empty() {
        let message = format!("nothing is wrong on any of {}", targets.len());
        return vec![Finding::ok("targets", "targets", message)];
    }
    let mut findings: Vec<Finding> = all
        .iter()
        .take(MAX_LISTED)
        .map(|&(name, warning)| {
            let mend = format!("kubectl get target {name} -o yaml");
            Finding::ok("targets", name, warning).with_verdict(Verdict::Note, mend)
        })
        .collect();
    if all.len() > MAX_LISTED {
        let subject = format!("{} more", all.len() - MAX_LISTED);
        let message = "kubectl get targets -o yaml lists them (status.warnings)";
        findings.push(Finding::ok("targets", subject, message).with_verdict(Verdict::Note, ""));
    }
    findings
}

/// Findings about the `decisions` that are not placed, or only in part, with the reasons: one for each of the
/// first [`MAX_LISTED`] decisions, and one with the number of further decisions by reason. Also returns the
/// numbers of requests.
pub(super) fn unplaced_requests(decisions: &[Value]) -> (Vec<Finding>, RequestCounts) {
    let mut findings = Vec::new();
    let mut rest: BTreeMap<String, usize> = BTreeMap::new();
    let (mut placed, mut ignored, mut releasing) = (0, 0, 0);
    for decision in decisions {
        let phase = text(&decision["status"]["phase"]);
        ignored += usize::from(phase == "Ignored");
        releasing += usize::from(phase == "Releasing");
        if !matches!(
            phase,
            "Unschedulable" | "Invalid" | "Partial" | "Pending" | "Releasing"
        ) {
            placed += 1;
            continue;
        }
        let (name, namespace) = (&decision["metadata"]["name"], &decision["metadata"]["namespace"]);
        let reason = match text(&decision["status"]["reason"]) {
            "" => phase.to_owned(),
            reason => format!("{phase}, {reason}"),
        };
        if findings.len() == MAX_LISTED {
            *rest.entry(reason).or_default() += 1;
            continue;
        }
        let (subject, mend) = match text(namespace) {
            "" => (text(name).to_owned(), format!("berth why {}", text(name))),
            namespace => (
                format!("{namespace}/{}", text(name)),
                format!("berth why {} -n {namespace}", text(name)),
            ),
        };
        let message = match text(&decision["status"]["message"]) {
            "" => reason,
            message => format!("{reason}: {message}"),
        };
        findings.push(Finding::ok("held", subject, message).with_verdict(Verdict::Note, mend));
    }
    let more: usize = rest.values().sum();
    if more > 0 {
        let counts: Vec<String> = rest
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        findings.push(
            Finding::ok("held", format!("{more} more"), counts.join("; ")).with_verdict(
                Verdict::Note,
                "kubectl get decisions -A; kubectl get clusterdecisions",
            ),
        );
    }
    if findings.is_empty() {
        findings.push(Finding::ok(
            "held",
            "decisions",
            format!("none of {}", placed - ignored),
        ));
    }
    let requests = RequestCounts {
        // Requests for other schedulers are not counted: Berth does not place them.
        total: decisions.len() - ignored,
        // A request that is being deleted still has its place.
        without_place: decisions.len() - placed - releasing,
    };
    (findings, requests)
}

/// The condition of `object` with this type: whether it is True, and its message (or its reason, if the
/// message is empty). `None` if the object does not have the condition.
pub(crate) fn condition(object: &Value, r#type: &str) -> Option<(bool, String)> {
    let conditions = object["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|condition| condition["type"] == r#type)?;
    let message = match (text(&condition["message"]), text(&condition["reason"])) {
        ("", reason) => reason,
        (message, _) => message,
    };
    Some((condition["status"] == "True", message.to_owned()))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
