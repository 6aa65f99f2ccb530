//! Output of findings.

use std::io::{self, BufWriter, Write};

use anstyle::Style;
use anyhow::Result;
use berth_commands::terminal::{self, Cell, shown};
use serde_json::json;

use super::CheckOutput;
use super::finding::{CheckResult, RequestCounts, Verdict};

/// Prints `result` as a table with a summary in the last line, or as JSON.
///
/// # Errors
/// When standard output cannot be written. A closed pipe is not an error.
pub(super) fn print(result: &CheckResult, form: CheckOutput) -> Result<()> {
    let mut out = BufWriter::new(anstream::AutoStream::auto(io::stdout().lock()));
    let text = match form {
        CheckOutput::Table => table(result, terminal::width()),
        CheckOutput::Json => {
            let object = json!({
                "installed": result.installed,
                "healthy": result.installed && result.count(Verdict::Wrong) == 0,
                "requests": result.requests,
                "findings": result.findings,
            });
            format!("{}\n", serde_json::to_string_pretty(&object)?)
        }
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn table(result: &CheckResult, width: Option<usize>) -> String {
    let mut rows = Vec::new();
    for finding in &result.findings {
        let style = match finding.verdict {
            Verdict::Ok => terminal::GOOD,
            Verdict::Note | Verdict::Unknown => terminal::WARNING,
            Verdict::Wrong => terminal::BAD,
        };
        rows.push(vec![
            Cell::plain(finding.area),
            Cell::plain(shown(&finding.subject)),
            Cell::new(finding.verdict.as_str(), style),
            Cell::plain(shown(&finding.message)),
        ]);
        if !finding.mend.is_empty() {
            let blank = || Cell::new("", Style::new());
            let mend = Cell::new(format!("→ {}", shown(&finding.mend)), terminal::DIM);
            rows.push(vec![blank(), blank(), blank(), mend]);
        }
    }
    let headings = ["AREA", "SUBJECT", "RESULT", "MESSAGE"];
    let mut text = terminal::fitted_table(&headings, &rows, width);
    text.push('\n');
    text.push_str(&summary(result));
    if result.count(Verdict::Unknown) > 0 {
        text.push_str(&format!(
            " {} could not be checked.",
            result.count(Verdict::Unknown)
        ));
    }
    text.push('\n');
    text
}

/// Summary of `result` in one sentence.
fn summary(result: &CheckResult) -> String {
    match (result.count(Verdict::Wrong), result.installed) {
        (0, false) => terminal::warning("Berth is not installed here."),
        (0, true) => match result.requests {
            None => terminal::good("Installation OK."),
            Some(RequestCounts {
                total: 1,
                without_place: 0,
            }) => terminal::good("Installation OK; the one request has a place."),
            Some(RequestCounts {
                total,
                without_place: 0,
            }) => terminal::good(&format!("Installation OK; all of {total} requests have a place.")),
            Some(requests) => {
                let RequestCounts { total, without_place } = requests;
                let unplaced = match (without_place, total) {
                    (_, 1) => "the one request has no place, or too few.".to_owned(),
                    (1, _) => format!("1 of {total} requests has no place, or too few."),
                    _ => format!("{without_place} of {total} requests have no place, or too few."),
                };
                format!(
                    "{} {}",
                    terminal::good("Installation OK;"),
                    terminal::warning(&unplaced)
                )
            }
        },
        (1, _) => terminal::bad("1 thing is wrong."),
        (some, _) => terminal::bad(&format!("{some} things are wrong.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::Finding;

    fn plain(result: &CheckResult) -> String {
        anstream::adapter::strip_str(&summary(result)).to_string()
    }

    #[test]
    fn every_line_fits_the_terminal() {
        let long = "the configuration was refused, since a field is not known; ".repeat(6);
        let result = CheckResult {
            installed: true,
            findings: vec![
                Finding::ok("held", "placements.cluster.open-cluster-management.io", long).with_verdict(
                    Verdict::Wrong,
                    "berth manifests | kubectl apply --server-side -f -",
                ),
            ],
            requests: None,
        };
        for width in [80, 120, 200] {
            let text = anstream::adapter::strip_str(&table(&result, Some(width))).to_string();
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn the_last_line_tells_the_installation_from_what_has_no_place() {
        let mut result = CheckResult {
            installed: true,
            findings: vec![Finding::ok("held", "a", "Unschedulable").with_verdict(Verdict::Note, "")],
            requests: Some(RequestCounts {
                total: 900,
                without_place: 188,
            }),
        };
        assert_eq!(
            plain(&result),
            "Installation OK; 188 of 900 requests have no place, or too few."
        );
        result.requests = Some(RequestCounts {
            total: 3,
            without_place: 0,
        });
        assert_eq!(plain(&result), "Installation OK; all of 3 requests have a place.");
        let of = |total, without_place| Some(RequestCounts { total, without_place });
        for (requests, expected) in [
            (of(1, 0), "the one request has a place."),
            (of(1, 1), "the one request has no place, or too few."),
            (of(5, 1), "1 of 5 requests has no place, or too few."),
        ] {
            result.requests = requests;
            assert_eq!(plain(&result), format!("Installation OK; {expected}"));
        }
        result.requests = None;
        assert_eq!(plain(&result), "Installation OK.");
        result.installed = false;
        assert_eq!(plain(&result), "Berth is not installed here.");
        result
            .findings
            .push(Finding::ok("registration", "x", "gone").with_verdict(Verdict::Wrong, ""));
        assert_eq!(plain(&result), "1 thing is wrong.");
    }
}
