//! All webhooks: the dialects' own rules, the rules that follow from their contract, and the rules for
//! configurations.

use std::sync::Arc;

use berth_admission::{Operation, Phase};
use berth_apimachinery::GroupResource;
use berth_dialect_contract::hub_rule::cel;
use berth_dialect_contract::{Condition, Dialect, HubRule, config};
use berth_placement_admission::{CONFIG_LABEL, CONFIG_MAPS};

use super::super::Installation;

const WRITTEN: &[Operation] = &[Operation::Create, Operation::Update];

/// One webhook.
pub(super) struct Entry {
    /// System of the rule: a dialect, or `config`.
    pub(super) dialect: &'static str,
    /// Writes for which the hub calls the webhook.
    pub(super) rule: HubRule,
    /// The label that objects must have.
    pub(super) label: Option<&'static str>,
}

/// All webhooks, in a fixed order. Objects that Berth stores have no webhooks: Berth guards them in-process.
pub(super) fn of(installation: &Installation) -> Vec<Entry> {
    let owned = installation.owned_resources();
    let mut entries = configuration();
    for dialect in &installation.dialects {
        let rules = [
            place_rules(dialect),
            dialect.on_hub().rules,
            reserved(dialect),
            agreement_rules(dialect),
            protected(dialect),
        ];
        entries.extend(rules.into_iter().flatten().map(|rule| Entry {
            dialect: dialect.name(),
            rule,
            label: None,
        }));
    }
    for entry in &mut entries {
        entry.rule.resources.retain(|resource| !owned.contains(resource));
    }
    entries.retain(|entry| !entry.rule.resources.is_empty());
    entries
}

/// Webhooks for configurations, which Berth validates beyond their schema. If an invalid configuration is
/// stored nevertheless, the last valid configuration stays in force.
fn configuration() -> Vec<Entry> {
    let entry = |name, resource, label| Entry {
        dialect: "config",
        rule: HubRule {
            name,
            resources: vec![resource],
            subresources: &[""],
            operations: WRITTEN,
            phase: Phase::Validate,
            conditions: Vec::new(),
        },
        label,
    };
    vec![
        entry("configmaps", CONFIG_MAPS, Some(CONFIG_LABEL)),
        entry("schedulerconfigurations", config::RESOURCE, None),
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

/// Rules for records of decisions, which only the scheduler writes.
fn reserved(dialect: &Arc<dyn Dialect>) -> Vec<HubRule> {
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

/// Rules for objects that must agree with others. Their own system checks this, too, also for writes that pass
/// while Berth is unavailable.
fn agreement_rules(dialect: &Arc<dyn Dialect>) -> Vec<HubRule> {
    let resources: Vec<GroupResource> = dialect.guarded().judges.to_vec();
    if resources.is_empty() {
        return Vec::new();
    }
    vec![HubRule {
        name: "agreement",
        resources,
        subresources: &[""],
        operations: WRITTEN,
        phase: Phase::Validate,
        conditions: vec![
            Condition::not_by(dialect.actor()),
            Condition::new("spec", cel::differs(&["spec"])),
        ],
    }]
}

/// Rules for objects that are not deleted while they are used. Their own system protects them, too, also while
/// Berth is unavailable.
fn protected(dialect: &Arc<dyn Dialect>) -> Vec<HubRule> {
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
