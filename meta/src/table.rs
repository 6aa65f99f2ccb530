//! `meta.k8s.io` Table: columns, rows, and ages as `kubectl` prints them.

use crate::time::Timestamp;

/// An age the way Kubernetes' tables print it: `45s`, `5m30s`, `3h12m`, `2d4h`, `45d`, `2y10d`, `3y`.
#[must_use]
pub fn human_duration(_from: Timestamp, _now: Timestamp) -> String {
    todo!()
}
