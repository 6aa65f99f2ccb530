//! Words for the outcomes, verdicts and actions of reports, as in the console and in the documentation
//! (docs/glossary.md). Fields of JSON keep their names.

use anstyle::Style;
use berth_scheduling_api::scheduling::verdict;

use crate::terminal::{self, Cell};

/// State of a request, as a phrase with a colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestState {
    /// The phrase, such as `placed on 3 of 3`.
    pub phrase: String,
    /// The colour of the phrase.
    pub style: Style,
}

/// Returns the state of a request whose report has this `outcome`. The phrase of a placed request contains
/// the number of `picked` clusters, and the `wanted` number if there is one.
#[must_use]
pub fn request_state(outcome: &str, picked: usize, wanted: Option<i64>) -> RequestState {
    let number = match wanted {
        Some(wanted) => format!("{picked} of {wanted}"),
        None if picked == 1 => "1 cluster".to_owned(),
        None => format!("{picked} clusters"),
    };
    let is_short = wanted.is_some_and(|wanted| i64::try_from(picked).is_ok_and(|picked| picked < wanted));
    let (phrase, style) = match outcome {
        "Unchanged" if picked == 0 => ("left as it is".to_owned(), terminal::DIM),
        "Unchanged" if is_short => (format!("placed on {number}"), terminal::WARNING),
        "Unchanged" => (format!("placed on {number}"), terminal::GOOD),
        "Scheduled" => (format!("would be placed on {number}"), terminal::GOOD),
        "Partial" => (format!("would be placed on {number}"), terminal::WARNING),
        "Provision" => ("gets a cluster of its own".to_owned(), terminal::GOOD),
        "Unschedulable" => ("no place".to_owned(), terminal::BAD),
        "Invalid" => ("not understood".to_owned(), terminal::BAD),
        "Ignored" => ("left alone".to_owned(), terminal::DIM),
        "Released" => ("being deleted".to_owned(), terminal::DIM),
        other => (other.to_owned(), terminal::DIM),
    };
    RequestState { phrase, style }
}

/// Returns the phrase after the number of requests with this `outcome`, as in `12 no place`.
#[must_use]
pub fn outcome(outcome: &str) -> &str {
    match outcome {
        "Unchanged" => "placed",
        "Scheduled" => "would be placed",
        "Partial" => "placed in part",
        "Provision" => "get a cluster of their own",
        "Unschedulable" => "no place",
        "Invalid" => "not understood",
        "Ignored" => "left alone",
        "Released" => "being deleted",
        other => other,
    }
}

/// Returns the words for the change of a cluster: `would be placed`, or, where the system's bindings have
/// states, `would come back (Unscheduled → Bound)`.
#[must_use]
pub fn action(action: &str, from: &str, to: &str) -> String {
    let word = match action {
        "Bind" => "would be placed",
        "Keep" => "placed",
        "Unbind" => "would leave",
        "Create" => "would be made",
        "Restore" => "would come back",
        other => other,
    };
    match (from, to) {
        ("", "") => word.to_owned(),
        (from, to) if from == to || from.is_empty() => format!("{word} ({to})"),
        (from, "") => format!("{word} ({from})"),
        (from, to) => format!("{word} ({from} → {to})"),
    }
}

/// Words for a picked cluster that the decision does not change.
pub const PICKED: &str = "picked";
/// Words for a cluster that fits and is not picked.
pub const NOT_PICKED: &str = "not picked";

/// Returns the result of a cluster that a filter refuses. Of a cluster that is `out_of_scope`, no other reason
/// counts.
#[must_use]
pub fn refusal(out_of_scope: bool) -> Cell {
    let style = match out_of_scope {
        true => terminal::DIM,
        false => terminal::BAD,
    };
    Cell::new(verdict(false, false, out_of_scope), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_says_how_many_of_those_asked_for() {
        let phrase = |outcome, picked, wanted| request_state(outcome, picked, wanted).phrase;
        assert_eq!(phrase("Unchanged", 13, Some(40)), "placed on 13 of 40");
        assert_eq!(request_state("Unchanged", 13, Some(40)).style, terminal::WARNING);
        assert_eq!(phrase("Scheduled", 1, None), "would be placed on 1 cluster");
        assert_eq!(phrase("Partial", 2, Some(3)), "would be placed on 2 of 3");
        assert_eq!(phrase("Unschedulable", 0, Some(1)), "no place");
    }

    #[test]
    fn an_action_names_the_states_where_there_are_some() {
        assert_eq!(action("Bind", "", ""), "would be placed");
        assert_eq!(action("Keep", "Bound", "Bound"), "placed (Bound)");
        assert_eq!(
            action("Restore", "Unscheduled", "Bound"),
            "would come back (Unscheduled → Bound)"
        );
    }
}
