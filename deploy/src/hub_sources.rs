//! Rights to the objects on a hub from which Berth decides. Berth reads the objects as its own user, and
//! writes decisions as the user of the system's scheduler, which it impersonates (docs/concepts.md,
//! "Actors"). With `--source=<system>=hub`, all objects of the system are on the hub. For a system whose
//! objects Berth stores, only some stay on the hub: kcp's namespaces and the objects in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::GroupResource;
use berth_dialect_contract::{Dialect, OwnScheduler};
use berth_hub::roles::{role_with_binding, rules};
use berth_syncer::{DIALECT, rights};
use serde_json::{Value, json};

use super::Installation;

/// The role for reading Leases: before Berth decides, it checks that the systems' own schedulers do not run.
const PREFLIGHT: &str = "berth:preflight";

/// The cluster roles and bindings of an installation, one pair for each purpose.
#[must_use]
pub fn hub_sources(installation: &Installation) -> Vec<Value> {
    let service = &installation.service;
    let sources: Vec<Source> = installation
        .dialects
        .iter()
        .map(|dialect| Source::of(installation, dialect))
        .collect();
    let observes = installation.is_observer();
    let read: Vec<Value> = sources
        .iter()
        .flat_map(|source| source.read_rules(observes))
        .collect();
    if read.is_empty() {
        return Vec::new();
    }
    let account = json!({"kind": "ServiceAccount", "name": service.name, "namespace": service.namespace});
    let mut objects = Vec::new();
    objects.extend(role_with_binding("berth:reader", &read, &account));
    if observes {
        return objects;
    }
    let leases: Vec<Value> = installation
        .hub_dialects()
        .filter_map(|dialect| leases(dialect.on_hub().scheduler?))
        .collect();
    if !leases.is_empty() {
        objects.extend(role_with_binding(PREFLIGHT, &leases, &account));
    }
    let mut rules_by_actor: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (actor, written) in sources.iter().flat_map(Source::write_rules) {
        rules_by_actor.entry(actor).or_default().extend(written);
    }
    let actors: Vec<&str> = rules_by_actor.keys().copied().collect();
    // A rule with an empty list of names would permit impersonating everybody.
    if !actors.is_empty() {
        let impersonate = json!({
            "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": actors,
        });
        objects.extend(role_with_binding("berth:impersonator", &[impersonate], &account));
    }
    let deciders: BTreeSet<&str> = sources.iter().map(|source| source.dialect.actor()).collect();
    for (actor, mut written) in rules_by_actor {
        let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": actor});
        // An actor that decides reports its decisions as events.
        if deciders.contains(actor) {
            written.push(
                json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}),
            );
        }
        objects.extend(role_with_binding(actor, &written, &user));
    }
    let synced = sources.iter().filter(|source| source.dialect.name() == DIALECT);
    objects.extend(synced.map(|source| rights::on_hub(source.dialect.configuration().guards(None))));
    objects
}

/// Rule for reading the Leases of `scheduler`, by name and in any namespace, since a Role could not be
/// created in a namespace that does not exist yet. `None` where the scheduler has no Leases.
fn leases(scheduler: OwnScheduler) -> Option<Value> {
    let names: BTreeSet<&str> = scheduler.leases.iter().map(|lease| lease.name).collect();
    (!names.is_empty()).then(|| {
        json!({
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": names,
            "verbs": ["get", "list", "watch"],
        })
    })
}

/// Source of the objects of one system: the hub, apart from resources that Berth stores itself.
struct Source<'a> {
    dialect: &'a Arc<dyn Dialect>,
    /// Resources of the system that Berth stores itself.
    owned: BTreeSet<GroupResource>,
}

impl<'a> Source<'a> {
    fn of(installation: &Installation, dialect: &'a Arc<dyn Dialect>) -> Self {
        let owned = match installation.on_hub.contains(dialect.name()) {
            true => BTreeSet::new(),
            false => kinds(dialect).collect(),
        };
        Self { dialect, owned }
    }

    /// Those of `resources` whose objects are on the hub.
    fn on_hub(&self, mut resources: Vec<GroupResource>) -> Vec<GroupResource> {
        resources.retain(|resource| !self.owned.contains(resource));
        resources
    }

    /// Rules for Berth's reads. A server that `observes` runs no reconcilers, and does not read the resources
    /// that only they watch.
    fn read_rules(&self, observes: bool) -> Vec<Value> {
        let reconcilers = self.dialect.controllers().hub_reconcilers();
        let active = reconcilers.iter().filter(|_| !observes);
        let watched = active.flat_map(|reconciler| reconciler.watches());
        let all: BTreeSet<GroupResource> = kinds(self.dialect).chain(watched).collect();
        rules(
            self.on_hub(all.into_iter().collect()),
            &[],
            &["get", "list", "watch"],
        )
    }

    /// Rules for the writes of each actor.
    fn write_rules(&self) -> Vec<(&'static str, Vec<Value>)> {
        let reconcilers = self.dialect.controllers().hub_reconcilers();
        let by_reconcilers = reconcilers.iter().map(|reconciler| {
            let written = rules(self.on_hub(reconciler.writes()), &["status"], &["update"]);
            (reconciler.actor(), written)
        });
        let mut all = vec![(self.dialect.actor(), self.scheduler_rules())];
        all.extend(by_reconcilers);
        all.retain(|(_, written)| !written.is_empty());
        all
    }

    /// Rules for the writes of a scheduler: to its demands, and to its records.
    fn scheduler_rules(&self) -> Vec<Value> {
        let demands = self.dialect.demands().iter().map(|demand| demand.resource);
        let mut all = rules(
            self.on_hub(demands.collect()),
            &["status", "binding"],
            &["get", "update", "patch"],
        );
        let records = [self.dialect.on_hub().records, self.dialect.guarded().reserves].concat();
        all.extend(rules(
            self.on_hub(records),
            &["status"],
            &["get", "create", "update", "patch", "delete"],
        ));
        all
    }
}

fn kinds(dialect: &Arc<dyn Dialect>) -> impl Iterator<Item = GroupResource> {
    dialect.kinds().into_iter().map(|kind| kind.info().resource())
}

#[cfg(test)]
mod tests;
