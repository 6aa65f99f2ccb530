//! Series and limits.

use super::*;
use crate::controllers::event::test_event;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn book() -> Book {
    Book::new("berth-1".to_owned())
}

#[test]
fn what_repeats_is_one_event_with_a_count() {
    let mut book = book();
    assert!(book.note(test_event("u1", "full"), at(0)));
    let first = book.take();
    assert_eq!(first.len(), 1);
    assert!(!first[0].is_stored && first[0].object["series"].is_null());
    book.wrote(&first[0].series, WriteResult::Stored);
    assert!(book.note(test_event("u1", "full"), at(60)) && book.note(test_event("u1", "full"), at(120)));
    let again = book.take();
    assert_eq!(again.len(), 1, "repeats that wait are written once");
    assert!(again[0].is_stored && again[0].name == first[0].name);
    assert_eq!(again[0].object["series"]["count"], 3);
    assert_eq!(
        again[0].object["series"]["lastObservedTime"],
        "1970-01-01T00:02:00.000000Z"
    );
    assert!(book.take().is_empty());
    // After a long silence it is news again.
    assert!(book.note(test_event("u1", "full"), at(120 + 600)));
    let news = book.take();
    assert!(!news[0].is_stored && news[0].name != first[0].name);
}

#[test]
fn other_words_and_other_objects_are_other_events() {
    let mut book = book();
    for told in [
        test_event("u1", "full"),
        test_event("u1", "tainted"),
        test_event("u2", "full"),
    ] {
        assert!(book.note(told, at(0)));
    }
    let mut names: Vec<String> = book.take().into_iter().map(|write| write.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn an_event_that_is_gone_is_made_anew_and_a_refused_one_forgotten() {
    let mut book = book();
    book.note(test_event("u1", "full"), at(0));
    let first = book.take().remove(0);
    book.wrote(&first.series, WriteResult::Stored);
    book.note(test_event("u1", "full"), at(1));
    book.take();
    book.wrote(&first.series, WriteResult::Gone);
    let anew = book.take().remove(0);
    assert!(!anew.is_stored && anew.name != first.name);
    book.wrote(&anew.series, WriteResult::Refused);
    assert!(book.series.is_empty() && book.take().is_empty());
}

#[test]
fn an_object_that_tells_too_much_is_cut_short() {
    let mut book = book();
    let told = (0..40)
        .filter(|n| book.note(test_event("u1", &format!("text {n}")), at(0)))
        .count();
    assert_eq!(told, 25);
    assert!(
        book.note(test_event("u2", "text"), at(0)),
        "others are not concerned"
    );
    assert!(!book.note(test_event("u1", "more"), at(299)));
    assert!(book.note(test_event("u1", "more"), at(600)));
}

#[test]
fn what_is_over_is_forgotten() {
    let mut book = book();
    for n in 0..100 {
        book.note(test_event(&format!("u{n}"), "full"), at(n));
        book.take();
    }
    book.note(test_event("u100", "full"), at(99 + 600));
    assert_eq!((book.series.len(), book.buckets.len()), (1, 1));
}

#[test]
fn the_memory_is_bounded() {
    let mut book = book();
    for n in 0..3 * MAX_ENTRIES {
        // All of them within the silence that ends a series.
        let second = i64::try_from(n).unwrap() / 100;
        book.note(test_event(&format!("u{n}"), "full"), at(second));
        book.take();
    }
    assert!(book.series.len() <= MAX_ENTRIES && book.buckets.len() <= MAX_ENTRIES);
}
