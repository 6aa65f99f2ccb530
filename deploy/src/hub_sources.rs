//! Rights on a hub with objects that decisions read. Berth reads the objects as its own user, and
//! impersonates the systems' scheduler to write its decisions (docs/concepts.md, "Actors"). With
//! `--source=<system>=hub` the objects are all objects of the system. For a system whose objects Berth
//! stores, they are only the objects that stay on the hub: kcp's namespaces and the objects in the
//! namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::GroupResource;
use berth_dialect_contract::{Dialect, OwnScheduler};
use berth_hub::roles::{granted, rules};
use berth_syncer::{DIALECT, rights};
use serde_json::{Value, json};

use super::Installation;

/// Role for the check whether the systems' own schedulers run, before Berth decides.
const PREFLIGHT: &str = "berth:preflight";

/// The cluster roles by purpose, and their bindings.
#[must_use]
pub fn hub_sources(installation: &Installation) -> Vec<Value> {
    let service = &installation.service;
    let sources: Vec<Source> = installation
        .dialects
        .iter()
        .map(|dialect| Source::of(installation, dialect))
        .collect();
    let observes = installation.is_observer();
    let read: Vec<Value> = sources.iter().flat_map(|source| source.read(observes)).collect();
    if read.is_empty() {
        return Vec::new();
    }
    let account = json!({"kind": "ServiceAccount", "name": service.name, "namespace": service.namespace});
    let mut objects = Vec::new();
    objects.extend(granted("berth:reader", &read, &account));
    if observes {
        return objects;
    }
    let leases: Vec<Value> = installation
        .hub_dialects()
        .filter_map(|dialect| leases(dialect.on_hub().scheduler?))
        .collect();
    if !leases.is_empty() {
        objects.extend(granted(PREFLIGHT, &leases, &account));
    }
    let mut acting: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (actor, written) in sources.iter().flat_map(Source::written) {
        acting.entry(actor).or_default().extend(written);
    }
    let actors: Vec<&str> = acting.keys().copied().collect();
    let impersonate = json!({
        "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": actors,
    });
    objects.extend(granted("berth:impersonator", &[impersonate], &account));
    let deciders: BTreeSet<&str> = sources.iter().map(|source| source.dialect.actor()).collect();
    for (actor, mut written) in acting {
        let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": actor});
        // An actor that decides reports its decisions as events.
        if deciders.contains(actor) {
            written.push(
                json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}),
            );
        }
        objects.extend(granted(actor, &written, &user));
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
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": names, "verbs": ["get"],
        })
    })
}

/// The part of one system that is on the hub.
struct Source<'a> {
    dialect: &'a Arc<dyn Dialect>,
    /// Resources that Berth stores itself.
    own: BTreeSet<GroupResource>,
}

impl<'a> Source<'a> {
    fn of(installation: &Installation, dialect: &'a Arc<dyn Dialect>) -> Self {
        let own = match installation.on_hub.contains(dialect.name()) {
            true => BTreeSet::new(),
            false => kinds(dialect).collect(),
        };
        Self { dialect, own }
    }

    /// Those of `resources` whose objects are on the hub.
    fn on_hub(&self, mut resources: Vec<GroupResource>) -> Vec<GroupResource> {
        resources.retain(|resource| !self.own.contains(resource));
        resources
    }

    /// Rules for Berth's reads. A server that `observes` runs no reconcilers, and reads nothing for
    /// them.
    fn read(&self, observes: bool) -> Vec<Value> {
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

    /// Rules for written resources, by the user of the writes.
    fn written(&self) -> Vec<(&'static str, Vec<Value>)> {
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
