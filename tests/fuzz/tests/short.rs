//! A short run of every target, always with the same cases. `make fuzz` draws new ones.

use std::time::Duration;

use berth_fuzz::{TARGETS, fuzz};

const SEED: u64 = 20_211_028;
const EACH: Duration = Duration::from_secs(10);

fn run(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target {name}"));
    let cases = fuzz(target, EACH, SEED).unwrap_or_else(|failure| {
        let text = String::from_utf8_lossy(&failure.input);
        panic!("case {} of FUZZ_SEED={SEED}: {text:?}", failure.case)
    });
    assert!(cases > 100, "only {cases} cases");
}

#[test]
fn every_review_is_answered() {
    run("review");
}

#[test]
fn every_placement_is_read_or_refused() {
    run("placement");
}

#[test]
fn every_selector_is_read_or_refused() {
    run("selector");
}

#[test]
fn every_configuration_is_read_or_refused() {
    run("configuration");
}

#[test]
fn every_patch_is_applied_or_refused() {
    run("patch");
}

#[test]
fn managed_fields_are_read_or_refused_and_applying_again_settles() {
    run("managed fields");
}
