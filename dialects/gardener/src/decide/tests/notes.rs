//! Events and retries.

use std::time::Duration;

use berth_dialect_contract::{Control, NoteType};

use super::*;
use crate::notes::notes;

#[test]
fn success_and_failure_are_told_in_gardeners_words() {
    let demand = shoot("foo", "eu-west-1");
    let good = fleet(&[demand.clone(), seed("near", "aws", "eu-west-1")]);
    let decision = decide(&good, &demand);
    assert!(notes(&good, &decision, false).is_empty());
    let told = notes(&good, &decision, true);
    assert_eq!(
        (told[0].r#type, told[0].reason),
        (NoteType::Normal, "SchedulingSuccessful")
    );
    assert_eq!(told[0].text, "Scheduled to seed near");
    let bad = fleet(&[demand.clone(), seed("far", "aws", "us-east-1")]);
    let told = notes(&bad, &decide(&bad, &demand), false);
    assert_eq!(
        (told[0].r#type, told[0].reason),
        (NoteType::Warning, "SchedulingFailed")
    );
    assert_eq!(
        told[0].text,
        "Failed to schedule shoot foo: No Seed fits. Nearest: far: the seed's region is \"us-east-1\", the shoot's is \"eu-west-1\""
    );
}

#[test]
fn retries_begin_with_the_retry_sync_period_and_end_at_half_a_day() {
    let pace = fleet(&[]).pace();
    let backoff = pace.unplaced.unwrap();
    assert_eq!((pace.parallel, backoff.first), (5, Duration::from_secs(15)));
    assert_eq!(backoff.delay(100), Duration::from_hours(12));
    let mut slower = configuration("SameRegion");
    slower["spec"]["gardener"]["schedulers"]["shoot"]["retrySyncPeriod"] = json!("1m30s");
    slower["spec"]["gardener"]["schedulers"]["shoot"]["concurrentSyncs"] = json!(0);
    let pace = fleet(&[slower]).pace();
    let first = pace.unplaced.unwrap().first;
    assert_eq!((pace.parallel, first), (1, Duration::from_secs(90)));
}
