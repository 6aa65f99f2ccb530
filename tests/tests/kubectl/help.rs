//! Consistency of `berth serve --help` and the documentation.

use std::path::Path;
use std::process::Command;

use berth_tests::berth;

#[test]
fn the_lease_of_the_controllers_is_five_seconds_with_jitter_in_the_program_and_in_the_documents() {
    let help = Command::new(berth()).args(["serve", "--help"]).output();
    let help = String::from_utf8(help.expect("berth runs").stdout).expect("text");
    let default_of = |flag: &str| {
        let after = help.split(flag).nth(1).unwrap_or_default();
        let after = after.split("[default: ").nth(1).unwrap_or_default();
        after.split(']').next().unwrap_or_default().to_owned()
    };
    assert_eq!(default_of("--leader-elect-lease-duration"), "5s");
    assert_eq!(default_of("--leader-elect-renew-deadline"), "4s");
    assert_eq!(default_of("--leader-elect-retry-period"), "1s");
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("up to a fifth is added at random"));
    // The resulting wait: the lease, and the latest check of another replica.
    let stores =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/stores.md")).unwrap();
    let words: Vec<&str> = stores.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("`--leader-elect-lease-duration`, 5 seconds, from the last renewal"));
    assert!(text.contains("they look every 1 to 1.2 seconds"));
}
