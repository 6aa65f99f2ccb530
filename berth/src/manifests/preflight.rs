//! Preflight hints for an installation that decides: the systems' own schedulers have to be stopped first.

use berth_deploy::Installation;
use berth_dialect_contract::OwnScheduler;

/// Lines about the systems on the hub whose own scheduler has to be stopped, one for each system; empty for
/// an observer.
pub(super) fn hints(installation: &Installation) -> Vec<String> {
    if installation.is_observer() {
        return Vec::new();
    }
    let dialects = installation.hub_dialects();
    let schedulers = dialects.filter_map(|dialect| Some((dialect.name(), dialect.on_hub().scheduler?)));
    schedulers
        .map(|(system, scheduler)| hint(system, &scheduler))
        .collect()
}

fn hint(system: &str, scheduler: &OwnScheduler) -> String {
    let leases = scheduler.leases.iter();
    let leases: Vec<String> = leases
        .map(|lease| format!("{}/{}", lease.namespace, lease.name))
        .collect();
    let lease_text = match leases.is_empty() {
        true => "it holds no Lease by which Berth could see that it runs, so stop it before Berth decides"
            .to_owned(),
        false => format!(
            "while it renews its Lease ({}) Berth only observes",
            leases.join(" or ")
        ),
    };
    let consequence_text = scheduler
        .stop_consequence
        .map_or_else(String::new, |consequence| {
            format!("; {consequence}; set spec.otherScheduler: Ignore to decide beside it, or observe")
        });
    format!(
        "note: {system}: stop {} ({lease_text}){consequence_text}: berth takeover {system} shows how",
        scheduler.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lets_berth_decide_is_told_what_has_to_be_stopped() {
        let lines = hints(&Installation::on_hub());
        let of = |system: &str| {
            let found = lines
                .iter()
                .find(|line| line.starts_with(&format!("note: {system}: ")));
            found
                .unwrap_or_else(|| panic!("{system} is not in {lines:?}"))
                .as_str()
        };
        assert!(of("ocm").contains("open-cluster-management-hub/placement-lock"));
        assert!(of("gardener").contains("garden/gardener-scheduler-leader-election or kube-system/"));
        assert!(of("openmcp").contains("no Lease by which Berth could see"));
        assert!(
            of("fleet").contains("is a part of the hub agent")
                && of("fleet").contains("otherScheduler: Ignore")
        );
        assert!(of("karmada").contains("karmada-system/karmada-scheduler"));
        assert_eq!(lines.len(), 5, "kcp brings none along: {lines:?}");
        assert!(
            hints(&Installation::on_hub().observing()).is_empty(),
            "who only looks stops nobody"
        );
    }
}
