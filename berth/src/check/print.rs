//! Output of findings.

use std::io::{self, BufWriter, Write};

use anstyle::Style;
use anyhow::Result;
use berth_commands::terminal::{self, Cell, shown};
use serde_json::json;

use super::CheckOutput;
use super::finding::{Report, Requests, Verdict};

/// Prints the findings, and the verdict at the end.
///
/// # Errors
/// When standard output fails.
pub(super) fn print(report: &Report, form: CheckOutput) -> Result<()> {
    let mut out = BufWriter::new(anstream::AutoStream::auto(io::stdout().lock()));
    let text = match form {
        CheckOutput::Table => table(report, terminal::width()),
        CheckOutput::Json => {
            let object = json!({
                "installed": report.installed,
                "healthy": report.installed && report.count(Verdict::Wrong) == 0,
                "requests": report.requests,
                "findings": report.findings,
            });
            format!("{}\n", serde_json::to_string_pretty(&object)?)
        }
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn table(report: &Report, width: Option<usize>) -> String {
    let mut rows = Vec::new();
    for finding in &report.findings {
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
    text.push_str(&summary(report));
    if report.count(Verdict::Unknown) > 0 {
        text.push_str(&format!(
            " {} could not be checked.",
            report.count(Verdict::Unknown)
        ));
    }
    text.push('\n');
    text
}

/// The summary in one sentence.
fn summary(report: &Report) -> String {
    match (report.count(Verdict::Wrong), report.installed) {
        (0, false) => terminal::warning("Berth is not installed here."),
        (0, true) => match report.requests {
            None => terminal::good("Installation OK."),
            Some(Requests {
                total: 1,
                without_place: 0,
            }) => terminal::good("Installation OK; the one request has a place."),
            Some(Requests {
                total,
                without_place: 0,
            }) => terminal::good(&format!("Installation OK; all of {total} requests have a place.")),
            Some(requests) => {
                let Requests { total, without_place } = requests;
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

    fn plain(report: &Report) -> String {
        anstream::adapter::strip_str(&summary(report)).to_string()
    }

    #[test]
    fn every_line_fits_the_terminal() {
        let long = "the configuration was refused, since a field is not known; ".repeat(6);
        let report = Report {
            installed: true,
            findings: vec![
                Finding::ok("held", "placements.cluster.open-cluster-management.io", long).but(
                    Verdict::Wrong,
                    "berth manifests | kubectl apply --server-side -f -",
                ),
            ],
            requests: None,
        };
        for width in [80, 120, 200] {
            let text = anstream::adapter::strip_str(&table(&report, Some(width))).to_string();
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn the_last_line_tells_the_installation_from_what_has_no_place() {
        let mut report = Report {
            installed: true,
            findings: vec![Finding::ok("held", "a", "Unschedulable").but(Verdict::Note, "")],
            requests: Some(Requests {
                total: 900,
                without_place: 188,
            }),
        };
        assert_eq!(
            plain(&report),
            "Installation OK; 188 of 900 requests have no place, or too few."
        );
        report.requests = Some(Requests {
            total: 3,
            without_place: 0,
        });
        assert_eq!(plain(&report), "Installation OK; all of 3 requests have a place.");
        let of = |total, without_place| Some(Requests { total, without_place });
        for (requests, expected) in [
            (of(1, 0), "the one request has a place."),
            (of(1, 1), "the one request has no place, or too few."),
            (of(5, 1), "1 of 5 requests has no place, or too few."),
        ] {
            report.requests = requests;
            assert_eq!(plain(&report), format!("Installation OK; {expected}"));
        }
        report.requests = None;
        assert_eq!(plain(&report), "Installation OK.");
        report.installed = false;
        assert_eq!(plain(&report), "Berth is not installed here.");
        report
            .findings
            .push(Finding::ok("registration", "x", "gone").but(Verdict::Wrong, ""));
        assert_eq!(plain(&report), "1 thing is wrong.");
    }
}
