//! Known differences from Karmada's scheduler: docs/systems/karmada.md, "Differences from upstream".

use crate::known_differences::KnownDifference;

pub(super) const KNOWN_DIFFERENCES: &[KnownDifference] = &[KnownDifference {
    why: "sums do not overflow: without replicas, clusters have room for as many as 32 bits hold, and two of them for more; decided \
          from scratch, the original finds no room then",
    settle: |case, theirs, ours| {
        let spec = &case.object("ResourceBinding")["spec"];
        let is_fresh = spec["rescheduleTriggeredAt"].is_string();
        if spec["replicas"] == 0 && is_fresh && theirs["problem"] == "Unschedulable" {
            *theirs = ours.clone();
        }
    },
}];
