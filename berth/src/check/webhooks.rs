//! Findings about the webhook configurations of a hub: whether those that an installation needs exist and
//! call Berth.

use anyhow::Result;
use berth_configuration::Mode;
use berth_deploy::{Installation, Service, configuration_name};

use super::finding::{Finding, Verdict};
use super::{Checker, ReadResult, judge, rights};

/// Path of the API of webhook configurations.
pub(super) const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1";
/// Resource and kind of each webhook configuration, in the order of [`berth_deploy::webhooks`].
pub(super) const CONFIGURATIONS: [(&str, &str); 2] = [
    ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    (
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
    ),
];

/// State of a webhook configuration on a hub.
enum WebhookState {
    /// The configuration has webhooks that call Berth; the finding is about these webhooks.
    Calls(Finding),
    /// The configuration does not exist, or none of its webhooks calls Berth.
    Missing,
    /// The configuration cannot be read, with this message.
    Refused(String),
}

impl Checker<'_> {
    /// Findings about the mutating and the validating webhook configuration.
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
                ReadResult::Object(object) => judge::webhooks(&object, service, self.now)
                    .map_or(WebhookState::Missing, WebhookState::Calls),
                ReadResult::Absent => WebhookState::Missing,
                ReadResult::Refused(message) => WebhookState::Refused(message),
            });
        }
        // The installation does not need a configuration that would have no webhooks.
        let needed = berth_deploy::webhooks(installation).map(|needed| needed["webhooks"].is_array());
        let mend = format!(
            "berth manifests webhooks{} | kubectl apply --server-side -f -",
            rights::flags(installation)
        );
        Ok(findings(configured, needed, name, mode, &mend))
    }
}

/// Findings about the state of each webhook configuration. `needed` tells which of them the systems of the
/// installation need if Berth decides.
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
        let ok = |message: &str| Finding::ok("registration", format!("{kind} {name}"), message);
        match (configured, mode) {
            (WebhookState::Calls(finding), _) => finding,
            (WebhookState::Refused(message), _) => ok(&message).with_verdict(Verdict::Unknown, ""),
            (WebhookState::Missing, _) if !needed => ok("there is none, and no system here needs one"),
            (WebhookState::Missing, Some(Mode::Observe)) => {
                ok("there is none, and none is needed: Berth only observes")
            }
            (WebhookState::Missing, None) if !any_calls => {
                ok("there is none: correct if Berth observes; if Berth decides, the guards are not in force")
                    .with_verdict(Verdict::Note, format!("if Berth decides: {mend}"))
            }
            (WebhookState::Missing, _) => {
                ok("it does not exist, or calls another server: the guards are not in force")
                    .with_verdict(Verdict::Wrong, mend)
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
