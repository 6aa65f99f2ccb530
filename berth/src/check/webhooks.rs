//! The webhook configurations of a hub: the configurations that an installation needs, and whether the
//! existing ones point to Berth.

use anyhow::Result;
use berth_configuration::Mode;
use berth_deploy::{Installation, Service, configuration_name};

use super::finding::{Finding, Verdict};
use super::{CheckSubject, Read, judge, rights};

/// Path of the API of webhook configurations.
pub(super) const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1";
/// The webhook configurations, as resources and as kinds; in the order of [`berth_deploy::webhooks`].
pub(super) const CONFIGURATIONS: [(&str, &str); 2] = [
    ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    (
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
    ),
];

/// State of a webhook configuration on a hub.
enum WebhookState {
    /// A configuration with webhooks that call Berth, with the finding about them.
    Asks(Finding),
    /// No webhook calls Berth.
    Not,
    /// The caller may not read the configuration.
    Refused(String),
}

impl CheckSubject<'_> {
    /// Findings about both webhook configurations.
    pub(super) async fn webhooks(
        &self,
        service: &Service,
        installation: &Installation,
        mode: Option<Mode>,
    ) -> Result<Vec<Finding>> {
        let name = configuration_name(service);
        let mut configured = Vec::new();
        for (resource, _) in CONFIGURATIONS {
            configured.push(match self.read(&format!("{WEBHOOKS}/{resource}/{name}")).await? {
                Read::Object(object) => {
                    judge::webhooks(&object, service, self.now).map_or(WebhookState::Not, WebhookState::Asks)
                }
                Read::Absent => WebhookState::Not,
                Read::Refused(message) => WebhookState::Refused(message),
            });
        }
        // The configurations that this installation needs. One without webhooks is absent: no system
        // needs that kind.
        let needed = berth_deploy::webhooks(installation).map(|needed| needed["webhooks"].is_array());
        let mend = format!(
            "berth manifests webhooks{} | kubectl apply --server-side -f -",
            rights::flags(installation)
        );
        Ok(judged(configured, needed, name, mode, &mend))
    }
}

fn judged(
    configured: Vec<WebhookState>,
    needed: [bool; 2],
    name: &str,
    mode: Option<Mode>,
    mend: &str,
) -> Vec<Finding> {
    let guards = configured.iter().any(|one| matches!(one, WebhookState::Asks(_)));
    let each = configured.into_iter().zip(CONFIGURATIONS).zip(needed);
    each.map(|((configured, (_, kind)), needed)| {
        let report = |message: &str| Finding::ok("registration", format!("{kind} {name}"), message);
        match (configured, mode) {
            (WebhookState::Asks(finding), _) => finding,
            (WebhookState::Refused(message), _) => report(&message).but(Verdict::Unknown, ""),
            (WebhookState::Not, _) if !needed => report("there is none, and no system here needs one"),
            (WebhookState::Not, Some(Mode::Observe)) => {
                report("there is none: Berth observes, and guards nothing")
            }
            (WebhookState::Not, None) if !guards => {
                report("there is none: right where Berth observes; where it decides, its guards do not hold")
                    .but(Verdict::Note, format!("where it decides: {mend}"))
            }
            (WebhookState::Not, _) => {
                report("it does not exist, or calls another server: the guards are not in force")
                    .but(Verdict::Wrong, mend)
            }
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks() -> WebhookState {
        WebhookState::Asks(Finding::ok("registration", "it", "1 webhooks"))
    }

    fn verdicts(configured: Vec<WebhookState>, needed: [bool; 2], mode: Option<Mode>) -> Vec<Verdict> {
        let findings = judged(configured, needed, "berth", mode, "mend");
        findings.iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn webhooks_that_nothing_here_needs_are_not_missed() {
        use Verdict::{Note, Ok, Unknown, Wrong};
        // OCM alone needs no mutating ones.
        assert_eq!(
            verdicts(vec![WebhookState::Not, asks()], [false, true], Some(Mode::Decide)),
            [Ok, Ok]
        );
        let none = || vec![WebhookState::Not, WebhookState::Not];
        assert_eq!(verdicts(none(), [true, true], Some(Mode::Observe)), [Ok, Ok]);
        assert_eq!(verdicts(none(), [true, true], None), [Note, Note]);
        assert_eq!(verdicts(none(), [true, true], Some(Mode::Decide)), [Wrong, Wrong]);
        // A hub with only one of the two configurations is in no mode.
        assert_eq!(
            verdicts(vec![asks(), WebhookState::Not], [true, true], None),
            [Ok, Wrong]
        );
        let refused = vec![WebhookState::Refused("forbidden".to_owned()), asks()];
        assert_eq!(verdicts(refused, [true, true], None), [Unknown, Ok]);
    }

    #[test]
    fn an_ocm_only_hub_needs_no_mutating_webhooks() {
        let mut installation = Installation::on_hub();
        for dialect in berth_dialect_registry::all()
            .iter()
            .filter(|dialect| dialect.name() != "ocm")
        {
            installation = installation.without(dialect.name());
        }
        let needed = berth_deploy::webhooks(&installation).map(|needed| needed["webhooks"].is_array());
        assert_eq!(needed, [false, true]);
    }
}
