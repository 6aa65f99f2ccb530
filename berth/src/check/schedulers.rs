//! Whether the systems' own schedulers run on a hub, and so whether Berth decides there or waits.

use anyhow::Result;
use berth_configuration::{DECIDING, WAITING};
use berth_deploy::Installation;
use berth_dialect_contract::{LeaseName, OwnScheduler};
use berth_hub::own_schedulers::Renewals;
use serde_json::Value;

use super::finding::{Finding, Verdict};
use super::{CheckSubject, Read, items, judge};

/// Path of the SchedulerConfigurations.
pub(crate) const CONFIGURATIONS: &str = "/apis/config.berth.dev/v1alpha1/schedulerconfigurations";

/// The known state of the scheduler that a system brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SchedulerKnowledge {
    /// The scheduler runs: it holds this Lease, with this identity.
    Runs(LeaseName, String),
    /// The scheduler is stopped: none of its Leases is held.
    Stopped,
    /// The scheduler has no known Lease.
    Invisible,
    /// The caller may not read the scheduler's Leases, for this reason.
    Unread(String),
}

impl CheckSubject<'_> {
    /// A finding for each system on the hub that brings a scheduler along.
    pub(super) async fn schedulers(&self, installation: &Installation) -> Result<Vec<Finding>> {
        let stored = match self.read(CONFIGURATIONS).await? {
            Read::Object(list) => items(&list).to_vec(),
            Read::Absent | Read::Refused(_) => Vec::new(),
        };
        let mut findings = Vec::new();
        for dialect in installation.hub_dialects() {
            let Some(scheduler) = dialect.on_hub().scheduler else {
                continue;
            };
            let state = self.scheduler_state(&scheduler).await?;
            let mut configurations = stored.iter();
            let configuration = configurations.find(|object| object["metadata"]["name"] == dialect.name());
            findings.push(finding(dialect.name(), &scheduler, &state, configuration));
        }
        Ok(findings)
    }

    /// Reads the Leases of `scheduler`, and judges by them whether it runs.
    pub(crate) async fn scheduler_state(&self, scheduler: &OwnScheduler) -> Result<SchedulerKnowledge> {
        let mut renewals = Renewals::default();
        let mut state = match scheduler.leases.is_empty() {
            true => SchedulerKnowledge::Invisible,
            false => SchedulerKnowledge::Stopped,
        };
        for name in scheduler.leases {
            let path = format!(
                "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}",
                name.namespace, name.name
            );
            match self.read(&path).await? {
                Read::Object(lease) => {
                    if let Some(holder) = renewals.holder(*name, Some(&lease), self.now) {
                        return Ok(SchedulerKnowledge::Runs(*name, holder));
                    }
                }
                Read::Absent => {}
                Read::Refused(message) => state = SchedulerKnowledge::Unread(message),
            }
        }
        Ok(state)
    }
}

/// Finding about the scheduler of `system`, by its `state` and the stored `configuration`.
fn finding(
    system: &str,
    scheduler: &OwnScheduler,
    state: &SchedulerKnowledge,
    configuration: Option<&Value>,
) -> Finding {
    let deciding = configuration.and_then(|object| judge::condition(object, DECIDING));
    let name = scheduler.name;
    let report = |message: String| Finding::ok("deciding", system, message);
    let takeover = format!("berth takeover {system}");
    match (state, deciding) {
        (SchedulerKnowledge::Runs(lease, holder), Some((false, message))) if is_waiting(configuration) => {
            report(format!(
                "Berth is to decide and waits: {holder} renews {}/{}: {message}",
                lease.namespace, lease.name
            ))
            .but(Verdict::Wrong, takeover)
        }
        (SchedulerKnowledge::Runs(..), Some((true, _))) => report(format!(
            "both decide: Berth, since spec.otherScheduler is Ignore, and {name}, which runs"
        ))
        .but(Verdict::Note, format!("berth handback {system}; {takeover}")),
        (SchedulerKnowledge::Runs(..), _) => report(format!("{name} decides: it renews its Lease")),
        (SchedulerKnowledge::Stopped, Some((true, message))) => {
            report(format!("{message}; {name} is stopped"))
        }
        (SchedulerKnowledge::Stopped, Some((false, message))) => report(format!(
            "possibly no scheduler decides: {name} is stopped, or runs without its Lease, and {message}"
        ))
        .but(Verdict::Note, format!("{takeover}; berth handback {system}")),
        (SchedulerKnowledge::Stopped, None) => {
            report(format!("{name} is stopped, or runs without its Lease"))
        }
        (SchedulerKnowledge::Invisible, Some((true, message))) => report(format!(
            "{message}; {name} holds no Lease, so that it is unknown whether it runs"
        )),
        (SchedulerKnowledge::Invisible, _) => report(format!(
            "{name} holds no Lease, so that it is unknown whether it runs"
        )),
        (SchedulerKnowledge::Unread(message), _) => report(message.clone()).but(Verdict::Unknown, ""),
    }
}

/// Whether Berth would decide if the system's own scheduler did not run. By the stored mode alone this is unknown:
/// a server has a mode of its own for configurations without one.
fn is_waiting(configuration: Option<&Value>) -> bool {
    let conditions = configuration.and_then(|object| object["status"]["conditions"].as_array());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == DECIDING && condition["reason"] == WAITING)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(state: &SchedulerKnowledge, mode: &str, deciding: Option<&str>) -> Finding {
        let dialect = berth_dialect_registry::by_name("ocm").unwrap();
        let scheduler = dialect.on_hub().scheduler.unwrap();
        let reason = if mode == "Observe" { "Observing" } else { WAITING };
        let conditions = deciding.map(
            |status| json!([{"type": DECIDING, "status": status, "reason": reason, "message": "so it is"}]),
        );
        let configuration = json!({"spec": {"mode": mode}, "status": {"conditions": conditions}});
        finding("ocm", &scheduler, state, Some(&configuration))
    }

    #[test]
    fn a_system_that_nobody_or_two_decide_is_told_with_what_mends_it() {
        let dialect = berth_dialect_registry::by_name("ocm").unwrap();
        let lease = dialect.on_hub().scheduler.unwrap().leases[0];
        let runs = SchedulerKnowledge::Runs(lease, "pod-1".to_owned());
        let of = |state: &SchedulerKnowledge, mode: &str, deciding| judged(state, mode, deciding).verdict;
        assert_eq!(of(&runs, "Decide", Some("False")), Verdict::Wrong, "it waits");
        assert!(
            judged(&runs, "Decide", Some("False"))
                .mend
                .contains("berth takeover ocm")
        );
        assert_eq!(of(&runs, "Decide", Some("True")), Verdict::Note, "both decide");
        assert_eq!(of(&runs, "Observe", Some("False")), Verdict::Ok);
        assert_eq!(
            of(&SchedulerKnowledge::Stopped, "Decide", Some("True")),
            Verdict::Ok
        );
        assert_eq!(
            of(&SchedulerKnowledge::Stopped, "Observe", Some("False")),
            Verdict::Note,
            "nobody decides"
        );
        assert_eq!(
            of(&SchedulerKnowledge::Unread("no".to_owned()), "Decide", None),
            Verdict::Unknown
        );
        assert_eq!(
            of(&SchedulerKnowledge::Invisible, "Decide", Some("True")),
            Verdict::Ok
        );
    }
}
