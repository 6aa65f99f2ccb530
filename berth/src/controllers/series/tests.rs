//! Series and limits.

use super::*;
use crate::controllers::event::test_event;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn correlator() -> EventCorrelator {
    EventCorrelator::new("berth-1".to_owned())
}

#[test]
fn what_repeats_is_one_event_with_a_count() {
    let mut correlator = correlator();
    assert!(correlator.record(test_event("u1", "full"), at(0)));
    let first = correlator.take_writes();
    assert_eq!(first.len(), 1);
    assert!(!first[0].is_stored && first[0].object["series"].is_null());
    correlator.record_result(&first[0].series, WriteResult::Stored);
    assert!(
        correlator.record(test_event("u1", "full"), at(60))
            && correlator.record(test_event("u1", "full"), at(120))
    );
    let again = correlator.take_writes();
    assert_eq!(again.len(), 1, "repeats that wait are written once");
    assert!(again[0].is_stored && again[0].name == first[0].name);
    assert_eq!(again[0].object["series"]["count"], 3);
    assert_eq!(
        again[0].object["series"]["lastObservedTime"],
        "1970-01-01T00:02:00.000000Z"
    );
    assert!(correlator.take_writes().is_empty());
    // After a long silence it is news again.
    assert!(correlator.record(test_event("u1", "full"), at(120 + 600)));
    let news = correlator.take_writes();
    assert!(!news[0].is_stored && news[0].name != first[0].name);
}

#[test]
fn other_words_and_other_objects_are_other_events() {
    let mut correlator = correlator();
    for told in [
        test_event("u1", "full"),
        test_event("u1", "tainted"),
        test_event("u2", "full"),
    ] {
        assert!(correlator.record(told, at(0)));
    }
    let mut names: Vec<String> = correlator
        .take_writes()
        .into_iter()
        .map(|write| write.name)
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn an_event_that_is_gone_is_made_anew_and_a_refused_one_forgotten() {
    let mut correlator = correlator();
    correlator.record(test_event("u1", "full"), at(0));
    let first = correlator.take_writes().remove(0);
    correlator.record_result(&first.series, WriteResult::Stored);
    correlator.record(test_event("u1", "full"), at(1));
    correlator.take_writes();
    correlator.record_result(&first.series, WriteResult::Gone);
    let anew = correlator.take_writes().remove(0);
    assert!(!anew.is_stored && anew.name != first.name);
    correlator.record_result(&anew.series, WriteResult::Refused);
    assert!(correlator.series.is_empty() && correlator.take_writes().is_empty());
}

#[test]
fn an_object_that_tells_too_much_is_cut_short() {
    let mut correlator = correlator();
    let told = (0..40)
        .filter(|n| correlator.record(test_event("u1", &format!("text {n}")), at(0)))
        .count();
    assert_eq!(told, 25);
    assert!(
        correlator.record(test_event("u2", "text"), at(0)),
        "others are not concerned"
    );
    assert!(!correlator.record(test_event("u1", "more"), at(299)));
    assert!(correlator.record(test_event("u1", "more"), at(600)));
}

#[test]
fn what_is_over_is_forgotten() {
    let mut correlator = correlator();
    for n in 0..100 {
        correlator.record(test_event(&format!("u{n}"), "full"), at(n));
        correlator.take_writes();
    }
    correlator.record(test_event("u100", "full"), at(99 + 600));
    assert_eq!((correlator.series.len(), correlator.buckets.len()), (1, 1));
}

#[test]
fn the_memory_is_bounded() {
    let mut correlator = correlator();
    for n in 0..3 * MAX_ENTRIES {
        // All of them within the silence that ends a series.
        let second = i64::try_from(n).unwrap() / 100;
        correlator.record(test_event(&format!("u{n}"), "full"), at(second));
        correlator.take_writes();
    }
    assert!(correlator.series.len() <= MAX_ENTRIES && correlator.buckets.len() <= MAX_ENTRIES);
}
