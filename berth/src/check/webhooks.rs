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
    Calls(Finding),
    /// There is no configuration, or none of its webhooks calls Berth.
    Missing,
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
                Read::Object(object) => judge::webhooks(&object, service, self.now)
                    .map_or(WebhookState::Missing, WebhookState::Calls),
                Read::Absent => WebhookState::Missing,
                Read::Refused(message) => WebhookState::Refused(message),
            });
        }
        // Whether the installation needs each configuration. It needs no configuration without webhooks.
        let needed = berth_deploy::webhooks(installation).map(|needed| needed["webhooks"].is_array());
        let mend = format!(
            "berth manifests webhooks{} | kubectl apply --server-side -f -",
            rights::flags(installation)
        );
        Ok(findings(configured, needed, name, mode, &mend))
    }
}

fn findings(
    configured: Vec<WebhookState>,
    needed: [bool; 2],
    name: &str,
    mode: Option<Mode>,
    mend: &str,
) -> Vec<Finding> {
    let any_calls = configured
        .iter()
        .any(|state| matches!(state, WebhookState::Calls(_)));
    let each = configured.into_iter().zip(CONFIGURATIONS).zip(needed);
    each.map(|((configured, (_, kind)), needed)| {
        let report = |message: &str| Finding::ok("registration", format!("{kind} {name}"), message);
        match (configured, mode) {
            (WebhookState::Calls(finding), _) => finding,
            (WebhookState::Refused(message), _) => report(&message).but(Verdict::Unknown, ""),
            (WebhookState::Missing, _) if !needed => report("there is none, and no system here needs one"),
            (WebhookState::Missing, Some(Mode::Observe)) => {
                report("there is none: Berth observes, and guards nothing")
            }
            (WebhookState::Missing, None) if !any_calls => {
                report("there is none: right where Berth observes; where it decides, its guards do not hold")
                    .but(Verdict::Note, format!("where it decides: {mend}"))
            }
            (WebhookState::Missing, _) => {
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
        WebhookState::Calls(Finding::ok("registration", "it", "1 webhooks"))
    }

    fn verdicts(configured: Vec<WebhookState>, needed: [bool; 2], mode: Option<Mode>) -> Vec<Verdict> {
        let all = findings(configured, needed, "berth", mode, "mend");
        all.iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn webhooks_that_nothing_here_needs_are_not_missed() {
        use Verdict::{Note, Ok, Unknown, Wrong};
        // OCM alone needs no mutating webhooks.
        assert_eq!(
            verdicts(
                vec![WebhookState::Missing, asks()],
                [false, true],
                Some(Mode::Decide)
            ),
            [Ok, Ok]
        );
        let none = || vec![WebhookState::Missing, WebhookState::Missing];
        assert_eq!(verdicts(none(), [true, true], Some(Mode::Observe)), [Ok, Ok]);
        assert_eq!(verdicts(none(), [true, true], None), [Note, Note]);
        assert_eq!(verdicts(none(), [true, true], Some(Mode::Decide)), [Wrong, Wrong]);
        // If one configuration calls Berth, a missing configuration is wrong even if the mode is unknown.
        assert_eq!(
            verdicts(vec![asks(), WebhookState::Missing], [true, true], None),
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
