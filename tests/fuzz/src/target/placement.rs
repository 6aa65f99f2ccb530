//! The placement annotation: strictly read values are written back in the canonical form, and lenient reading
//! gives the same values.

use berth_dialect_kcp::placement::{Placement, StoredPlacement};

use super::Target;

/// The target.
pub(super) const TARGET: Target = Target {
    name: "placement",
    seeds: &[
        "{}",
        "null",
        "",
        r#"{"root:compute+east+x":"Bound"}"#,
        r#"{"root:compute+east+x":"Pending","root:compute+west+y":"Removing","root+a+z":"Unbound"}"#,
        r#"{"root:compute+east+x":"Pending","root:compute+east+x":"Pending"}"#,
        r#"{"compute+east":"Bound","root:compute+east+":1}"#,
    ],
    words: &[
        "\"root:compute+east+x\":\"Pending\"",
        "\"Removing\"",
        "root:org:team+",
        "\\u0041",
        "\\ud800",
        "+",
        "::",
        "{\"a\":{}}",
        "é",
        "\u{0}",
    ],
    run,
};

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let reading = StoredPlacement::of(Some(&text));
    match Placement::parse(&text) {
        Ok(placement) => {
            let canonical = placement.to_text();
            assert_eq!(Placement::parse(&canonical), Ok(placement.clone()), "{canonical}");
            assert_eq!(reading.placement, placement);
            assert!(reading.dropped.is_empty());
        }
        Err(problems) => assert!(
            !problems.is_empty() && problems.iter().all(|problem| !problem.to_string().is_empty()),
            "a refusal says why"
        ),
    }
}
