//! `coordination.k8s.io/v1` Lease: the lock of controllers that elect a leader. With it, such controllers
//! also run against a standalone server.

use berth_apimachinery::{
    Column, Definition, FieldError, GroupResource, Kind, KindInfo, Schema, Write, described_by,
};
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::{micro_time, value};

/// API group of Leases.
pub const GROUP: &str = "coordination.k8s.io";
/// Resource of Leases.
pub const RESOURCE: GroupResource = GroupResource::new(GROUP, "leases");

/// The fields of a Lease.
#[derive(JsonSchema)]
pub struct LeaseFields {
    /// Holder of the lease, and its times.
    pub spec: Option<LeaseSpec>,
}

/// Holder of a lease, and its times.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseSpec {
    /// The identity of the holder.
    pub holder_identity: Option<String>,
    /// Seconds after renewTime during which no other holder may acquire the lease.
    pub lease_duration_seconds: Option<i32>,
    /// Time at which the holder acquired the lease, to the microsecond.
    #[schemars(extend("format" = "date-time"))]
    pub acquire_time: Option<String>,
    /// Time at which the holder last renewed the lease, to the microsecond.
    #[schemars(extend("format" = "date-time"))]
    pub renew_time: Option<String>,
    /// Number of changes of the holder.
    pub lease_transitions: Option<i32>,
    /// Strategy of coordinated leader election. Not supported: the value is dropped.
    pub strategy: Option<String>,
    /// Candidate that should become the holder. Has no effect without a strategy: the value is dropped.
    pub preferred_holder: Option<String>,
}

/// The kind Lease: a lock whose holder keeps it by renewing it.
#[derive(Clone, Copy, Debug)]
pub struct Lease;

static DEFINITION: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        KindInfo {
            singular: "lease",
            strategic_merge_patch: true,
            ..KindInfo::new(GROUP, &["v1"], "Lease", "leases")
        },
        Schema::of::<LeaseFields>,
    )
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Holder", "The identity of the holder").at(".spec.holderIdentity"),
    Column::AGE,
];

const TIMES: &[&[&str]] = &[&["spec", "acquireTime"], &["spec", "renewTime"]];

impl Kind for Lease {
    described_by!(DEFINITION);

    fn creates_on_update(&self) -> bool {
        true
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        // Values that are already stored stay, as in kube-apiserver without coordinated leader election.
        let stored = write.old.map_or(&Value::Null, |old| &old["spec"]["strategy"]);
        if stored.is_null()
            && let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut)
        {
            spec.remove("strategy");
            spec.remove("preferredHolder");
        }
        micro_time::to_utc(TIMES, new);
    }

    fn validate(&self, _: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = micro_time::problems(TIMES, new);
        let Some(spec) = value::object(new, &["spec"]) else {
            return errors;
        };
        let number = |field: &str| spec.get(field).and_then(Value::as_i64);
        if let Some(seconds) = number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
            let path = "spec.leaseDurationSeconds";
            errors.push(FieldError::invalid(path, seconds, "must be greater than 0"));
        }
        if let Some(count) = number("leaseTransitions").filter(|count| *count < 0) {
            let path = "spec.leaseTransitions";
            errors.push(FieldError::invalid(
                path,
                count,
                "must be greater than or equal to 0",
            ));
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Timestamp, WriteOperation};
    use serde_json::json;

    use super::*;

    const CREATE: Write<'_> = Write {
        operation: WriteOperation::Create,
        old: None,
        now: Timestamp::UNIX_EPOCH,
    };

    #[test]
    fn durations_transitions_and_times_are_validated_as_by_kube_apiserver() {
        let lease = json!({"spec": {
            "holderIdentity": "a", "leaseDurationSeconds": 0, "leaseTransitions": -1,
            "renewTime": "2026-11-21T12:00:00Z", "acquireTime": "2026-11-21T12:00:00.000000Z",
        }});
        let errors = Lease.validate(&CREATE, &lease);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(texts[0].starts_with("spec.renewTime: Invalid value"), "{texts:?}");
        assert_eq!(
            texts[1..],
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
        assert!(Lease.validate(&CREATE, &json!({})).is_empty());
    }

    #[test]
    fn times_are_kept_in_utc_and_fields_of_coordinated_election_are_dropped() {
        let mut lease = json!({"spec": {
            "strategy": "OldestEmulationVersion", "preferredHolder": "b",
            "renewTime": "2026-11-21T13:00:00.000001+01:00",
        }});
        Lease.prepare(&CREATE, &mut lease);
        assert_eq!(
            lease,
            json!({"spec": {"renewTime": "2026-11-21T12:00:00.000001Z"}})
        );
    }
}
