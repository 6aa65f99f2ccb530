//! How findings are printed.

use std::io::{self, BufWriter, Write};

use anstyle::Style;
use anyhow::Result;
use commands::terminal::{self, Cell, shown};
use serde_json::json;

use super::CheckOutput;
use super::finding::{Finding, Verdict};

/// Prints `findings`, the worst counted at the end.
///
/// # Errors
/// When standard output takes no more.
pub(super) fn print(findings: &[Finding], form: CheckOutput) -> Result<()> {
    let mut out = BufWriter::new(anstream::AutoStream::auto(io::stdout().lock()));
    let text = match form {
        CheckOutput::Table => table(findings),
        CheckOutput::Json => {
            let healthy = findings.iter().all(|finding| finding.verdict != Verdict::Wrong);
            let object = json!({"healthy": healthy, "findings": findings});
            format!("{}\n", serde_json::to_string_pretty(&object)?)
        }
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn table(findings: &[Finding]) -> String {
    let mut rows = Vec::new();
    for finding in findings {
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
    let mut text = terminal::styled_table(&["AREA", "SUBJECT", "RESULT", "MESSAGE"], &rows);
    let count = |verdict: Verdict| {
        findings
            .iter()
            .filter(|finding| finding.verdict == verdict)
            .count()
    };
    let summary = match count(Verdict::Wrong) {
        0 => terminal::good("Nothing is wrong."),
        1 => terminal::bad("1 thing is wrong."),
        some => terminal::bad(&format!("{some} things are wrong.")),
    };
    text.push('\n');
    text.push_str(&summary);
    if count(Verdict::Unknown) > 0 {
        text.push_str(&format!(" {} could not be looked at.", count(Verdict::Unknown)));
    }
    text.push('\n');
    text
}
