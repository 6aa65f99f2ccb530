//! `berth demo` tells its stories live: what moves in them is moved by the controllers.

use std::process::Command;

use tests::berth;

#[test]
fn the_demo_shows_a_disaster_and_an_eviction_that_mend_themselves() {
    let output = Command::new(berth()).args(["demo", "--exit"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (_, disaster) = told.split_once("Live: a disaster").expect("the disaster is told");
    let (disaster, eviction) = disaster
        .split_once("Live: an eviction")
        .expect("the eviction is told");
    // What a user would type, what moves, and what kubectl shows of it, in this order.
    let mut rest = disaster;
    for part in [
        "$ kubectl -n story-3 get decision placement.ocm",
        "primary",
        "$ kubectl patch managedcluster primary --type=merge -p '{\"spec\":{\"taints\":[{",
        "managedcluster/primary patched",
        "It moved to backup within",
        "placement.ocm",
        "backup",
        "-p '{\"spec\":{\"taints\":null}}'",
        "It moved to primary within",
        "--field-selector reason=DecisionUpdate",
        "DecisionUpdate",
    ] {
        let (_, after) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part:?} is missing in\n{rest}"));
        rest = after;
    }
    let mut rest = eviction;
    for part in [
        "joins the location",
        "$ kubectl -n shop get decision shop.kcp",
        "$ kubectl patch workloadcluster",
        "evictAfter",
        "Namespaces that left",
        "$ kubectl get namespace shop",
        "\"Bound\"",
    ] {
        let (_, after) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part:?} is missing in\n{rest}"));
        rest = after;
    }
}
