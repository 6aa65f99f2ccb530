//! Known differences of Berth's messages from kube-apiserver's.

/// A known difference: the case, and the reason.
pub(crate) struct Meant {
    pub(crate) case: &'static str,
    pub(crate) why: &'static str,
}

/// All known differences.
pub(crate) const MEANT: &[Meant] = &[
    Meant {
        case: "dear",
        why: "ours says what the limit is",
    },
    Meant {
        case: "no-such-path",
        why: "the same refusal in the words of the library that applies the patch",
    },
    Meant {
        case: "param-selected",
        why: "parameters are taken by name here, and there in the order of a Go map: another one is named",
    },
    Meant {
        case: "wrong-type",
        why: "ours says the value that has the wrong type",
    },
];

/// The reason why the answers to a case may differ.
pub(crate) fn why(case: &str) -> Option<&'static str> {
    MEANT
        .iter()
        .find(|meant| meant.case == case)
        .map(|meant| meant.why)
}
