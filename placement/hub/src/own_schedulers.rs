//! Check whether the systems' own schedulers run on a hub: a running scheduler renews its Lease.

use std::collections::BTreeMap;

use berth_apimachinery::{Status, Timestamp, time};
use berth_client::ObjectWatches;
use berth_dialect_contract::LeaseName;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;

use super::lease::LeaseLock;

/// Duration of a Lease without `leaseDurationSeconds`, in seconds: client-go's default.
const DEFAULT_DURATION: i64 = 15;

/// The Leases as of the last check. A Lease that was renewed between two checks is held, whatever its
/// renewTime says, since the clock of its holder may differ.
#[derive(Debug, Default)]
pub struct Renewals(BTreeMap<LeaseName, Renewal>);

/// The last renewal of one Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Renewal {
    holder: String,
    renew_time: String,
    /// Time of the check that first saw this renewal. If this was the first check of the Lease, the
    /// renewTime, or the time of the check if that is earlier.
    since: Timestamp,
}

impl Renewals {
    /// Records `lease`, the Lease `name` at the time `now`, and returns the holder; `None` where the Lease is
    /// absent, has no holder, or was not renewed in time.
    pub fn holder(&mut self, name: LeaseName, lease: Option<&Value>, now: Timestamp) -> Option<String> {
        let Some((holder, renew_time, duration)) = lease.and_then(read) else {
            self.0.remove(&name);
            return None;
        };
        let stated_time = time::parse(&renew_time).unwrap_or(now).min(now);
        // The first check has only the renewTime; later checks know when they saw a renewal.
        let since = match self.0.get(&name) {
            Some(before) if before.renew_time == renew_time && before.holder == holder => before.since,
            Some(_) => now,
            None => stated_time,
        };
        let renewal = Renewal {
            holder: holder.clone(),
            renew_time,
            since,
        };
        self.0.insert(name, renewal);
        (now.duration_since(since).as_secs() <= duration).then_some(holder)
    }
}

/// Holder, time of renewal and duration in seconds of a held Lease.
fn read(lease: &Value) -> Option<(String, String, i64)> {
    let spec = &lease["spec"];
    let holder = spec["holderIdentity"]
        .as_str()
        .filter(|holder| !holder.is_empty())?;
    let renew_time = spec["renewTime"].as_str()?;
    let seconds = spec["leaseDurationSeconds"].as_i64();
    Some((
        holder.to_owned(),
        renew_time.to_owned(),
        seconds.unwrap_or(DEFAULT_DURATION),
    ))
}

/// Reads the Lease `name` on the hub; `None` where it is absent.
///
/// # Errors
/// The hub's own answer where it refuses, or an error where the hub is unreachable.
pub async fn read_lease(client: &Client, name: LeaseName) -> Result<Option<Value>, Status> {
    let lock = LeaseLock::new(client.clone(), name.namespace, name.name);
    Ok(lock.get().await?.map(|record| record.value))
}

/// Seconds after which a watch of a Lease ends, and a new watch begins: a scheduler that starts must be
/// noticed soon, even if the connection to the hub is lost without a sign.
const WATCH_SECONDS: u32 = 20;

/// Begins to watch the Leases `names` on the hub.
pub fn watch_leases(client: &Client, names: impl IntoIterator<Item = LeaseName>) -> ObjectWatches {
    let kind = GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease");
    let resource = ApiResource::from_gvk(&kind);
    let objects = names.into_iter().map(|lease| {
        let api = Api::namespaced_with(client.clone(), lease.namespace, &resource);
        (api, lease.name.to_owned())
    });
    ObjectWatches::start_with(objects, WATCH_SECONDS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NAME: LeaseName = LeaseName {
        namespace: "ns",
        name: "lock",
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn lease(holder: &str, renew_time: i64) -> Value {
        json!({"spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": time::rfc3339_micro(at(renew_time)),
        }})
    }

    #[test]
    fn a_lease_is_held_while_it_is_renewed_in_time() {
        let mut renewals = Renewals::default();
        let mut holder = |lease: Option<&Value>, now| renewals.holder(NAME, lease, at(now));
        assert_eq!(holder(None, 0), None, "there is none");
        assert_eq!(holder(Some(&lease("a", 0)), 10).as_deref(), Some("a"));
        assert_eq!(holder(Some(&lease("a", 0)), 16), None, "it ran out");
        assert_eq!(
            holder(Some(&lease("b", 16)), 20).as_deref(),
            Some("b"),
            "another takes it"
        );
        assert_eq!(holder(Some(&lease("", 18)), 21), None, "it was released");
        assert_eq!(
            holder(Some(&lease("b", 0)), 40),
            None,
            "the first check trusts the renewTime"
        );
    }

    #[test]
    fn a_lease_that_is_renewed_is_held_whatever_the_clock_of_its_holder_says() {
        let mut renewals = Renewals::default();
        let mut holder = |renew_time, now| renewals.holder(NAME, Some(&lease("slow", renew_time)), at(now));
        assert_eq!(holder(-1000, 0), None, "the first check trusts the renewTime");
        assert_eq!(holder(-998, 2).as_deref(), Some("slow"), "it was renewed since");
        assert_eq!(holder(-998, 17).as_deref(), Some("slow"));
        assert_eq!(holder(-998, 18), None);
        let mut renewals = Renewals::default();
        let mut holder = |renew_time, now| renewals.holder(NAME, Some(&lease("fast", renew_time)), at(now));
        assert_eq!(holder(1000, 0).as_deref(), Some("fast"));
        assert_eq!(
            holder(1000, 16),
            None,
            "a renewTime in the future does not prolong the Lease"
        );
    }
}
