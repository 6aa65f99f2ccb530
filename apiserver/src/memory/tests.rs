//! Limits of each holder, and requests beyond them.

use super::*;

#[test]
fn bytes_are_bounded_over_all_and_given_back() {
    let limiter = ByteLimiter::new(1000);
    let half = Share::OneIn(2);
    let one = limiter.charge("one", half, 500).unwrap();
    let mut two = limiter.charge("two", half, 400).unwrap();
    let refused = limiter.charge("three", half, 101).unwrap_err();
    assert_eq!((refused.code, refused.retry_after_seconds()), (429, Some(1)));
    two.shrink_to(100);
    assert_eq!((two.bytes(), limiter.held()), (100, 600));
    let three = limiter.charge("three", half, 400).unwrap();
    drop((one, two, three));
    assert_eq!(limiter.held(), 0);
    assert!(limiter.usage.lock().by_holder.is_empty(), "nobody is remembered");
}

#[test]
fn a_holder_gets_its_share_however_much_is_free() {
    let limiter = ByteLimiter::new(1000);
    let first = limiter.charge("one", Share::OneIn(4), 200).unwrap();
    let again = limiter.charge("one", Share::OneIn(4), 51).unwrap_err();
    assert_eq!(again.code, 429, "the first may be done soon");
    assert_eq!(
        limiter.charge("two", Share::OneIn(4), 251).unwrap_err().code,
        413,
        "there is never room"
    );
    drop(first);
    limiter.charge("one", Share::OneIn(4), 250).unwrap();
}

#[test]
fn administrators_get_in_when_all_is_taken_and_answers_are_never_refused() {
    let limiter = ByteLimiter::new(100);
    let mut answer = limiter.empty_charge("ann", Share::OneIn(1));
    answer.add(1000);
    assert_eq!(limiter.charge("bob", Share::OneIn(1), 1).unwrap_err().code, 429);
    limiter.charge("admin", Share::Exempt, 1000).unwrap();
}

#[test]
fn zero_is_no_bound() {
    let limiter = ByteLimiter::new(0);
    limiter.charge("one", Share::UNAUTHENTICATED, 1 << 40).unwrap();
}

#[test]
fn the_estimate_of_a_tree_is_not_below_what_it_takes() {
    let dense = format!("[{}1]", "1,".repeat(100_000));
    let values = 100_001 * size_of::<serde_json::Value>();
    assert!(
        tree_size(dense.as_bytes()) >= values,
        "{}",
        tree_size(dense.as_bytes())
    );
    assert!(tree_size(b"[1,1,1,1]") >= 4 * size_of::<serde_json::Value>());
    let text = format!("\"{}\"", "x".repeat(1 << 20));
    assert!(tree_size(text.as_bytes()) < 2 << 20, "text stays text");
}

#[test]
fn small_maps_and_nested_lists_are_estimated_with_room() {
    let value = size_of::<serde_json::Value>();
    let (map, list) = (11 * (size_of::<String>() + value), 4 * value);
    for (text, size) in [
        // Half of the room of a map is charged.
        (r#"{"a":1},"#, map / 2 + value),
        ("[1],", list + value),
        ("- - - - x\n", 3 * list + value),
    ] {
        let body = text.repeat(10_000);
        assert!(tree_size(body.as_bytes()) >= 10_000 * size, "{text}");
    }
}

#[test]
fn the_longest_body_with_texts_fits_into_the_share_of_a_user() {
    let text = "A sentence, as people write - or not. ".repeat(3);
    let field = format!("\"key\":\"{text}\",");
    let body = field.repeat(3 * 1024 * 1024 / field.len());
    let limiter = ByteLimiter::new(DEFAULT_BYTES);
    let bytes = body.len() + tree_size(body.as_bytes());
    limiter.charge("ann", Share::USER, bytes).unwrap();
}

#[test]
fn a_review_of_a_decision_of_twenty_thousand_clusters_fits_into_the_share_of_a_user() {
    let list = r#"{"name":"member-12345","replicas":12},"#.repeat(20_000);
    let review = format!(r#"{{"object":[{list}1],"oldObject":[{list}1]}}"#);
    let limiter = ByteLimiter::new(DEFAULT_BYTES);
    let bytes = review.len() + tree_size(review.as_bytes());
    limiter.charge("hub", Share::USER, bytes).unwrap();
}
