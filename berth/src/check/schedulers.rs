//! Findings about the systems' own schedulers on a hub. Berth waits while such a scheduler runs.

use anyhow::Result;
use berth_configuration::{DECIDING, WAITING};
use berth_deploy::Installation;
use berth_dialect_contract::{LeaseName, OwnScheduler};
use berth_hub::own_schedulers::Renewals;
use serde_json::Value;

use super::finding::{Finding, Verdict};
use super::{Checker, ReadResult, items, judge};

/// Path of the SchedulerConfigurations.
pub(crate) const CONFIGURATIONS: &str = "/apis/config.berth.dev/v1alpha1/schedulerconfigurations";

/// State of the scheduler that a system brings along, as far as its Leases show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SchedulerState {
    /// The scheduler runs: the process with this identity holds this Lease.
    Runs(LeaseName, String),
    /// The scheduler is stopped: none of its Leases is held.
    Stopped,
    /// The state is unknown, since Berth knows no Lease of the scheduler.
    WithoutLease,
    /// The state is unknown, since a Lease cannot be read, with this message.
    Unreadable(String),
}

impl Checker<'_> {
    /// Findings about the own schedulers of the systems on the hub, one for each system that has one.
    pub(super) async fn schedulers(&self, installation: &Installation) -> Result<Vec<Finding>> {
        let stored = match self.read(CONFIGURATIONS).await? {
            ReadResult::Object(list) => items(&list).to_vec(),
            ReadResult::Absent => Vec::new(),
            // Who decides is in the status of the configurations.
            ReadResult::Refused(message) => {
                return Ok(vec![Finding::unknown(
                    "deciding",
                    "schedulerconfigurations",
                    message,
                )]);
            }
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

    /// Reads the Leases of `scheduler`, and returns the state that they show.
    pub(crate) async fn scheduler_state(&self, scheduler: &OwnScheduler) -> Result<SchedulerState> {
        let mut renewals = Renewals::default();
        let mut state = match scheduler.leases.is_empty() {
            true => SchedulerState::WithoutLease,
            false => SchedulerState::Stopped,
        };
        for name in scheduler.leases {
            let path = format!(
                "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}",
                name.namespace, name.name
            );
            match self.read(&path).await? {
                ReadResult::Object(lease) => {
                    if let Some(holder) = renewals.holder(*name, Some(&lease), self.now) {
                        return Ok(SchedulerState::Runs(*name, holder));
                    }
                }
                ReadResult::Absent => {}
                ReadResult::Refused(message) => state = SchedulerState::Unreadable(message),
            }
        }
        Ok(state)
    }
}

/// Finding about the scheduler of `system`, by its `state` and the stored `configuration`.
fn finding(
    system: &str,
    scheduler: &OwnScheduler,
    state: &SchedulerState,
    configuration: Option<&Value>,
) -> Finding {
    let deciding = configuration.and_then(|object| judge::condition(object, DECIDING));
    let name = scheduler.name;
    let ok = |message: String| Finding::ok("deciding", system, message);
    let takeover = format!("berth takeover {system}");
    match (state, deciding) {
        (SchedulerState::Runs(lease, holder), Some((false, message))) if is_waiting(configuration) => {
            ok(format!(
                "Berth is to decide and waits: {holder} renews {}/{}: {message}",
                lease.namespace, lease.name
            ))
            .with_verdict(Verdict::Wrong, takeover)
        }
        (SchedulerState::Runs(..), Some((true, _))) => ok(format!(
            "both decide: Berth, since spec.otherScheduler is Ignore, and {name}, which runs"
        ))
        .with_verdict(Verdict::Note, format!("berth handback {system}; {takeover}")),
        (SchedulerState::Runs(..), _) => ok(format!("{name} decides: it renews its Lease")),
        (SchedulerState::Stopped, Some((true, message))) => ok(format!("{message}; {name} is stopped")),
        (SchedulerState::Stopped, Some((false, message))) => ok(format!(
            "possibly no scheduler decides: {name} is stopped, or runs without its Lease, and {message}"
        ))
        .with_verdict(Verdict::Note, format!("{takeover}; berth handback {system}")),
        (SchedulerState::Stopped, None) => ok(format!("{name} is stopped, or runs without its Lease")),
        (SchedulerState::WithoutLease, Some((true, message))) => ok(format!(
            "{message}; {name} holds no Lease, so it is unknown whether it runs"
        )),
        (SchedulerState::WithoutLease, _) => {
            ok(format!("{name} holds no Lease, so it is unknown whether it runs"))
        }
        (SchedulerState::Unreadable(message), _) => ok(message.clone()).with_verdict(Verdict::Unknown, ""),
    }
}

/// Whether Berth waits for the system's own scheduler to stop, according to the conditions of
/// `configuration`. The field `mode` is not enough, since a server has a default for configurations without a
/// mode.
fn is_waiting(configuration: Option<&Value>) -> bool {
    let conditions = configuration.and_then(|object| object["status"]["conditions"].as_array());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == DECIDING && condition["reason"] == WAITING)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(state: &SchedulerState, mode: &str, deciding: Option<&str>) -> Finding {
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
        let runs = SchedulerState::Runs(lease, "pod-1".to_owned());
        let of = |state: &SchedulerState, mode: &str, deciding| judged(state, mode, deciding).verdict;
        assert_eq!(of(&runs, "Decide", Some("False")), Verdict::Wrong, "it waits");
        assert!(
            judged(&runs, "Decide", Some("False"))
                .mend
                .contains("berth takeover ocm")
        );
        assert_eq!(of(&runs, "Decide", Some("True")), Verdict::Note, "both decide");
        assert_eq!(of(&runs, "Observe", Some("False")), Verdict::Ok);
        assert_eq!(of(&SchedulerState::Stopped, "Decide", Some("True")), Verdict::Ok);
        assert_eq!(
            of(&SchedulerState::Stopped, "Observe", Some("False")),
            Verdict::Note,
            "nobody decides"
        );
        assert_eq!(
            of(&SchedulerState::Unreadable("no".to_owned()), "Decide", None),
            Verdict::Unknown
        );
        assert_eq!(
            of(&SchedulerState::WithoutLease, "Decide", Some("True")),
            Verdict::Ok
        );
    }
}
