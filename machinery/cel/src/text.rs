//! Errors of the compiler, with their positions in the source.

use std::fmt;

/// An error of the parser or the checker, at a byte of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    /// Byte offset in the source.
    pub(crate) at: usize,
    /// Message of the issue.
    pub(crate) text: String,
}

impl Issue {
    pub(crate) fn new(at: usize, text: impl Into<String>) -> Self {
        Self {
            at,
            text: text.into(),
        }
    }
}

/// Reason why a source does not compile in an environment: its length, or the first issues with their lines,
/// in cel-go's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    text: String,
}

/// Highest number of issues in a message.
const MAX_ISSUES: usize = 20;
/// Highest length, in characters, of a line that is quoted in a message.
const MAX_LINE_LENGTH: usize = 1000;

impl CompileError {
    pub(crate) fn new(source: &str, mut issues: Vec<Issue>) -> Self {
        issues.sort_by_key(|issue| issue.at);
        issues.dedup();
        let more = issues.len().saturating_sub(MAX_ISSUES);
        let mut lines: Vec<String> = issues
            .iter()
            .take(MAX_ISSUES)
            .map(|issue| format_issue(source, issue))
            .collect();
        if more > 0 {
            lines.push(format!("and {more} more errors"));
        }
        Self {
            text: lines.join("\n"),
        }
    }

    /// Creates an error without a position in the source.
    pub(crate) fn without_position(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for CompileError {}

fn format_issue(source: &str, issue: &Issue) -> String {
    let before = source.get(..issue.at).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[start..].chars().count();
    let content = source[start..].split('\n').next().unwrap_or_default();
    let head = format!("ERROR: <input>:{line}:{}: {}", column + 1, issue.text);
    if content.chars().count() > MAX_LINE_LENGTH {
        return head;
    }
    format!("{head}\n | {content}\n | {}^", ".".repeat(column))
}
