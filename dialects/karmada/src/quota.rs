//! FederatedResourceQuotas: limits on the requests of all bindings of a namespace on all clusters together
//! (docs/systems/karmada.md, "Quotas"). Decisions only respect them if the configuration enables this.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::{Key, Object};

use crate::kind::binding::BindingSpec;
use crate::room::Request;

/// Amounts of resources, by the name of the resource.
pub(crate) type Usage = BTreeMap<Arc<str>, i128>;

/// A parsed FederatedResourceQuota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    /// The limit of each resource. Keys such as `requests.cpu` have no effect, since no request has such a
    /// resource.
    overall: Usage,
}

impl Quota {
    /// Parses the FederatedResourceQuota `object` at `key`.
    ///
    /// # Errors
    /// An amount in `spec.overall` is not a quantity.
    pub(crate) fn read(key: &Key, object: &Object) -> Result<Self, String> {
        let spec = &object.value()["spec"];
        let overall = spec["overall"].as_object().into_iter().flatten();
        let overall = overall.map(|(resource, value)| -> Result<_, String> {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let quantity = Quantity::parse(&text)
                .map_err(|error| format!("{key} is left out: spec.overall[{resource}]: {error}"))?;
            Ok((Arc::from(resource.as_str()), quantity.0))
        });
        Ok(Self {
            overall: overall.collect::<Result<_, String>>()?,
        })
    }
}

/// A quota that would be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    /// The name of the quota.
    quota: Arc<str>,
    /// The resource of which there would be too much.
    resource: Arc<str>,
    /// The limit of the resource in the quota.
    limit: i128,
    /// The amount that the bindings of the namespace request now.
    used: i128,
    /// The amount that the decision would add.
    growth: i128,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quota, resource, .. } = self;
        let [limit, used, growth] = [self.limit, self.used, self.growth].map(Quantity);
        write!(
            f,
            "the quota is exceeded: FederatedResourceQuota {quota} allows {resource}: {limit} in the namespace, {used} is used, and {growth} more is asked for"
        )
    }
}

/// The resources that `replicas` replicas with `request` use together.
pub(crate) fn usage(request: Option<&Request>, replicas: i64) -> Usage {
    let amounts = request.map(Request::exact).into_iter().flatten();
    amounts
        .map(|(resource, quantity)| {
            (
                Arc::clone(resource),
                quantity.0.saturating_mul(i128::from(replicas)),
            )
        })
        .collect()
}

/// The number of replicas on all clusters that `spec` lists.
pub(crate) fn listed_replicas(spec: &BindingSpec) -> i64 {
    spec.clusters
        .iter()
        .map(|cluster| i64::from(cluster.replicas))
        .sum()
}

/// The first of `quotas` that would be exceeded if a binding used `after` instead of `before`. `used` is the
/// usage of the namespace, which includes `before`. An amount that does not grow never exceeds a quota.
pub(crate) fn excess<'a>(
    quotas: impl Iterator<Item = (&'a Arc<str>, &'a Quota)>,
    used: &Usage,
    before: &Usage,
    after: &Usage,
) -> Option<Excess> {
    let amount = |usage: &Usage, resource: &str| usage.get(resource).copied().unwrap_or_default();
    let mut limits = quotas.flat_map(|(name, quota)| quota.overall.iter().map(move |limit| (name, limit)));
    limits.find_map(|(quota, (resource, limit))| {
        let growth = amount(after, resource) - amount(before, resource);
        let used = amount(used, resource);
        (growth > 0 && used.saturating_add(growth) > *limit).then(|| Excess {
            quota: Arc::clone(quota),
            resource: Arc::clone(resource),
            limit: *limit,
            used,
            growth,
        })
    })
}

/// Adds `more` to `used` if `is_added`, and subtracts it otherwise.
pub(crate) fn count(used: &mut Usage, more: &Usage, is_added: bool) {
    for (resource, amount) in more {
        let sum = used.entry(Arc::clone(resource)).or_default();
        *sum = match is_added {
            true => sum.saturating_add(*amount),
            false => sum.saturating_sub(*amount),
        };
    }
    used.retain(|_, sum| *sum != 0);
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Change;
    use berth_dialect_contract::{Inventory as _, Outcome};
    use serde_json::{Value, json};

    use super::*;
    use crate::fleet::Fleet;
    use crate::names::{BINDINGS, CLUSTERS, QUOTAS};
    use crate::testing::{binding_value, cluster_value, object};

    fn fold(fleet: &mut Fleet, key: &Key, value: &Value) {
        fleet.fold(&Change::added(key.clone(), object(value)));
    }

    fn key() -> Key {
        Key::new(BINDINGS, "team", "web-deployment")
    }

    fn binding(replicas: i64, held: &str) -> Value {
        let divided = json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}});
        let mut value = binding_value(&divided, replicas, held);
        value["spec"]["replicaRequirements"] = json!({"resourceRequest": {"cpu": "500m"}});
        value
    }

    /// A fleet with a namespace that may use four CPUs and uses one.
    fn fleet(enforced: bool) -> Fleet {
        let mut fleet = Fleet::default();
        fleet.settings.enforces_quotas = enforced;
        let mut cluster = cluster_value("a", 100);
        cluster["status"]["resourceSummary"]["allocatable"]["cpu"] = "100".into();
        fold(&mut fleet, &Key::new(CLUSTERS, "", "a"), &cluster);
        let quota = json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
            "metadata": {"name": "all", "namespace": "team"}, "spec": {"overall": {"cpu": "4", "requests.cpu": "0"}},
        });
        fold(&mut fleet, &Key::new(QUOTAS, "team", "all"), &quota);
        fold(
            &mut fleet,
            &Key::new(BINDINGS, "team", "other"),
            &binding(2, "a2"),
        );
        fleet
    }

    fn decide_with(fleet: &mut Fleet, replicas: i64) -> (Outcome, String) {
        fold(fleet, &key(), &binding(replicas, ""));
        let demand = key();
        let ask = berth_dialect_contract::Ask {
            demand: &demand,
            now: berth_apimachinery::Timestamp::UNIX_EPOCH,
            seed: 1,
            chosen: None,
        };
        let decision = fleet
            .decide(&ask)
            .expect("it is there")
            .expect("nothing was chosen");
        let message = crate::words::message(fleet, &decision);
        (decision.outcome, message)
    }

    #[test]
    fn a_decision_over_the_quota_is_not_made_and_says_which() {
        assert_eq!(decide_with(&mut fleet(true), 6).0, Outcome::Scheduled);
        let (outcome, message) = decide_with(&mut fleet(true), 7);
        assert_eq!(outcome, Outcome::Unschedulable);
        assert!(
            message.contains("FederatedResourceQuota all allows cpu: 4 in the namespace, 1 is used, and 3500m more is asked for"),
            "{message}"
        );
        assert_eq!(decide_with(&mut fleet(false), 7).0, Outcome::Scheduled);
    }

    #[test]
    fn a_deleted_binding_is_not_counted() {
        let mut fleet = fleet(true);
        let other = Key::new(BINDINGS, "team", "other");
        let deletion = Change {
            old: None,
            new: None,
            ..Change::added(other, object(&binding(2, "a2")))
        };
        fleet.fold(&deletion);
        assert_eq!(decide_with(&mut fleet, 8).0, Outcome::Scheduled);
    }
}
