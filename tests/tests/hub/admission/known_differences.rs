//! Known differences of Berth's messages from kube-apiserver's.

/// A known difference: the case, and the reason.
pub(crate) struct KnownDifference {
    pub(crate) case: &'static str,
    pub(crate) why: &'static str,
}

/// All known differences.
pub(crate) const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        case: "dear",
        why: "ours says what the limit is",
    },
    KnownDifference {
        case: "no-such-path",
        why: "the same refusal in the words of the library that applies the patch",
    },
    KnownDifference {
        case: "param-selected",
        why: "parameters are taken by name here, and there in the order of a Go map: another one is named",
    },
    KnownDifference {
        case: "wrong-type",
        why: "ours says the value that has the wrong type",
    },
];

/// The reason why the answers to a case may differ.
pub(crate) fn why(case: &str) -> Option<&'static str> {
    KNOWN_DIFFERENCES
        .iter()
        .find(|known| known.case == case)
        .map(|known| known.why)
}
