//! Selectors: a selector that is written and read again is equal, and matches the same objects.

use std::collections::BTreeMap;

use berth_apimachinery::selector::{FieldSelector, Selector};

use super::Target;

/// The target.
pub(super) const TARGET: Target = Target {
    name: "selector",
    seeds: &[
        "",
        "a=b,c!=d,e in (f,g),!h,i",
        "example.com/a==b, x notin (y, z ,)",
        "cores>4,cores<64",
        "metadata.name=a,status.phase!=Pending",
        "in in (in),notin notin (notin)",
        "a in (),b=",
    ],
    words: &[
        " in (", " notin (", "!=", "==", "=", ",", ")", "!", ">", "<", "a.b/c", "\\,", "\u{0}", "é",
    ],
    run,
};

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match Selector::parse(&text) {
        Ok(selector) => {
            let written = selector.to_string();
            let again = Selector::parse(&written);
            assert_eq!(again.as_ref(), Ok(&selector), "{written:?}");
            for labels in [&[][..], &[("a", "b"), ("i", "")], &[("cores", "8"), ("in", "in")]] {
                let labels: BTreeMap<String, String> = labels
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect();
                let matches = selector.matches(&labels);
                assert!(matches || !selector.is_everything());
                assert_eq!(again.as_ref().map(|again| again.matches(&labels)), Ok(matches));
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty(), "a refusal says why"),
    }
    if let Err(problem) = FieldSelector::parse(&text) {
        assert!(!problem.to_string().is_empty(), "a refusal says why");
    }
}
