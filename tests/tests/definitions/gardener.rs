//! Gardener, whose API server has no definitions: its published schemas are compared.

use std::process::Command;

use serde_json::Value;

use crate::{KnownDifference, compare, judge, kinds};

const VERSION: &str = "v1beta1";

/// Reason why a spec is required.
const SPEC: &str = "Gardener's validation refuses an object without a spec, for want of what is in it";
/// Reason why fields that Gardener requires may be missing.
const UNREAD: &str =
    "no scheduler reads it: manifests from other releases, and those of the proposal, are taken";
/// Reason why a kind may be missing.
const DEFAULTED: &str = "Gardener fills it in before it looks";
/// Reason why only some values are allowed.
const WORDS: &str = "Gardener's validation refuses other words";
/// Reason why a field is required by a rule, not by the schema.
const RULES: &str = "the kind's own rule tells it, with the field's path";
/// Reason why statuses may be incomplete.
const STATUS: &str = "a status is written by others, and is taken as it is";
/// Reason why a quantity may be a number.
const QUANTITY: &str =
    "a quantity, which is read from a number as well; the published schema says string of every quantity";

const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        line: "CloudProfile: required",
        why: SPEC,
    },
    KnownDifference {
        line: "CloudProfile.spec: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "NamespacedCloudProfile: required",
        why: SPEC,
    },
    KnownDifference {
        line: "NamespacedCloudProfile.spec.parent: required",
        why: DEFAULTED,
    },
    KnownDifference {
        line: "NamespacedCloudProfile.spec.parent.kind: enum",
        why: WORDS,
    },
    KnownDifference {
        line: "NamespacedCloudProfile.status.cloudProfileSpec: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Project.spec.createdBy: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Project.spec.owner: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Project.spec.tolerations.defaults[]: required",
        why: RULES,
    },
    KnownDifference {
        line: "Project.spec.tolerations.whitelist[]: required",
        why: RULES,
    },
    KnownDifference {
        line: "ExposureClass.scheduling.tolerations[]: required",
        why: "it is judged in the Shoot that it is merged into, by the Shoot's own rule",
    },
    KnownDifference {
        line: "SecretBinding: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Seed: required",
        why: SPEC,
    },
    KnownDifference {
        line: "Seed.spec: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Seed.spec.backup: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Seed.spec.dns.defaults[]: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Seed.spec.dns.internal: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Seed.spec.settings.scheduling: required",
        why: "an absent visible is the default, true",
    },
    KnownDifference {
        line: "Seed.spec.settings.shootDNS: is not known there",
        why: "the proposal has it; Gardener has had none since v1.63",
    },
    KnownDifference {
        line: "Seed.spec.settings.zoneSelection.mode: enum",
        why: WORDS,
    },
    KnownDifference {
        line: "Seed.spec.taints[]: required",
        why: RULES,
    },
    KnownDifference {
        line: "Seed.status.allocatable.*: x-kubernetes-int-or-string",
        why: QUANTITY,
    },
    KnownDifference {
        line: "Seed.status.capacity.*: x-kubernetes-int-or-string",
        why: QUANTITY,
    },
    KnownDifference {
        line: "Seed.status.conditions[]: required",
        why: STATUS,
    },
    KnownDifference {
        line: "Seed.status.gardener: required",
        why: STATUS,
    },
    KnownDifference {
        line: "Seed.status.lastOperation: required",
        why: STATUS,
    },
    KnownDifference {
        line: "Shoot: required",
        why: SPEC,
    },
    KnownDifference {
        line: "Shoot.spec: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Shoot.spec.cloudProfile: required",
        why: DEFAULTED,
    },
    KnownDifference {
        line: "Shoot.spec.controlPlane.highAvailability: required",
        why: RULES,
    },
    KnownDifference {
        line: "Shoot.spec.controlPlane.highAvailability.failureTolerance.type: enum",
        why: WORDS,
    },
    KnownDifference {
        line: "Shoot.spec.dns.providers[].credentialsRef: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Shoot.spec.provider.workers[]: required",
        why: UNREAD,
    },
    KnownDifference {
        line: "Shoot.spec.purpose: enum",
        why: WORDS,
    },
    KnownDifference {
        line: "Shoot.spec.tolerations[]: required",
        why: RULES,
    },
    KnownDifference {
        line: "Shoot.status: required",
        why: STATUS,
    },
    KnownDifference {
        line: "Shoot.status.conditions[]: required",
        why: STATUS,
    },
    KnownDifference {
        line: "Shoot.status.gardener: required",
        why: STATUS,
    },
    KnownDifference {
        line: "Shoot.status.lastOperation: required",
        why: STATUS,
    },
];

#[test]
#[ignore = "builds Gardener's schemas in Go: make e2e"]
fn the_kinds_of_gardener_are_as_lax_and_as_strict_as_its_api_server() {
    let program = berth_tests::go::build("peers/gardener", "./openapi", "openapi");
    // The other groups' kinds are stored unchanged, and the program has no schemas of them.
    let mut kinds = kinds("gardener");
    kinds.retain(|kind| kind.info().group == "core.gardener.cloud");
    let names = kinds.iter().map(|kind| kind.info().kind);
    let output = Command::new(program).args(names).output().expect("it was built");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let mut lines = Vec::new();
    for kind in &kinds {
        let name = kind.info().kind;
        compare::walk(kind.schema(VERSION).openapi(), &theirs[name], name, &mut lines);
    }
    judge(lines, KNOWN_DIFFERENCES);
}
