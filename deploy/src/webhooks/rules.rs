//! All webhooks: for the dialects' own rules, for rules that every dialect has by the contract, and for
//! configurations.

use std::sync::Arc;

use berth_admission::{Operation, Phase};
use berth_apimachinery::GroupResource;
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, Dialect, HubRule, config};
use berth_placement_admission::{CONFIG_LABEL, CONFIG_MAPS};

use super::super::Installation;

/// The operations that write the content of an object.
const WRITES: &[Operation] = &[Operation::Create, Operation::Update];

/// A webhook, before it is rendered.
pub(super) struct Webhook {
    /// The second part of the webhook's name: the name of a dialect, or `config`.
    pub(super) dialect: &'static str,
    /// Writes for which the hub calls the webhook.
    pub(super) rule: HubRule,
    /// The label that an object must have so that the hub calls the webhook.
    pub(super) label: Option<&'static str>,
}

/// All webhooks, in a fixed order. Objects that Berth stores have no webhooks: Berth guards them in-process.
pub(super) fn webhooks(installation: &Installation) -> Vec<Webhook> {
    let owned = installation.owned_resources();
    let mut webhooks = configuration_webhooks();
    for dialect in &installation.dialects {
        let rules = [
            place_rules(dialect),
            dialect.on_hub().rules,
            reserved_rules(dialect),
            agreement_rules(dialect),
            protection_rules(dialect),
        ];
        webhooks.extend(rules.into_iter().flatten().map(|rule| Webhook {
            dialect: dialect.name(),
            rule,
            label: None,
        }));
    }
    for webhook in &mut webhooks {
        webhook
            .rule
            .resources
            .retain(|resource| !owned.contains(resource));
    }
    webhooks.retain(|webhook| !webhook.rule.resources.is_empty());
    webhooks
}

/// Webhooks for configurations: Berth checks rules that no schema can express. If an invalid configuration is
/// stored nevertheless, the last valid configuration stays in force.
fn configuration_webhooks() -> Vec<Webhook> {
    let webhook = |name, resource, label| Webhook {
        dialect: "config",
        rule: HubRule {
            name,
            resources: vec![resource],
            subresources: &[""],
            operations: WRITES,
            phase: Phase::Validate,
            conditions: Vec::new(),
        },
        label,
    };
    vec![
        webhook("configmaps", CONFIG_MAPS, Some(CONFIG_LABEL)),
        webhook("schedulerconfigurations", config::RESOURCE, None),
    ]
}

/// Rules for objects whose place is a field of their own: the creator gets a warning when no place is found,
/// and a given place is validated.
fn place_rules(dialect: &Arc<dyn Dialect>) -> Vec<HubRule> {
    let own = dialect.demands().iter().filter_map(|demand| demand.own_place);
    own.flat_map(|own| {
        let rule = |name, conditions| HubRule {
            name,
            resources: vec![own.resource],
            subresources: &[""],
            operations: &[Operation::Create],
            phase: Phase::Validate,
            conditions,
        };
        let has_place = cel::filled(&own.place);
        [
            // The webhook only warns. It does not write the place, since it could not reserve the capacity.
            rule(
                "forewarn",
                vec![Condition::new("has-no-place", format!("!({has_place})"))],
            ),
            rule(
                "place-on-create",
                vec![
                    Condition::not_by(dialect.actor()),
                    Condition::new("has-place", has_place),
                ],
            ),
        ]
    })
    .collect()
}

/// Rules for objects that contain decisions, which only the scheduler writes.
fn reserved_rules(dialect: &Arc<dyn Dialect>) -> Vec<HubRule> {
    let resources: Vec<GroupResource> = dialect.guarded().reserves.to_vec();
    if resources.is_empty() {
        return Vec::new();
    }
    vec![HubRule {
        name: "reserved",
        resources,
        subresources: &["", "status"],
        operations: &[Operation::Create, Operation::Update, Operation::Delete],
        phase: Phase::Validate,
        conditions: vec![Condition::not_by(dialect.actor()), Condition::not_collected()],
    }]
}

/// Rules for objects that are validated against other objects ([`berth_dialect_contract::Guards::judge`]).
/// The system itself checks these objects, too, even while Berth is unavailable.
fn agreement_rules(dialect: &Arc<dyn Dialect>) -> Vec<HubRule> {
    let resources: Vec<GroupResource> = dialect.guarded().judges.to_vec();
    if resources.is_empty() {
        return Vec::new();
    }
    vec![HubRule {
        name: "agreement",
        resources,
        subresources: &[""],
        operations: WRITES,
        phase: Phase::Validate,
        conditions: vec![
            Condition::not_by(dialect.actor()),
            Condition::new("spec", cel::differs(&["spec"])),
        ],
    }]
}

/// Rules for objects that must not be deleted while other objects use them. The system itself protects such
/// objects, too, even while Berth is unavailable.
fn protection_rules(dialect: &Arc<dyn Dialect>) -> Vec<HubRule> {
    let mut resources: Vec<GroupResource> = dialect
        .guarded()
        .protects
        .iter()
        .map(|rule| rule.resource)
        .collect();
    resources.dedup();
    if resources.is_empty() {
        return Vec::new();
    }
    vec![HubRule {
        name: "in-use",
        resources,
        subresources: &[""],
        operations: &[Operation::Delete],
        phase: Phase::Validate,
        conditions: Vec::new(),
    }]
}
