//! Output of a comparison: the counts first, then a row for each request.

use std::io::{self, BufWriter, Write};

use berth_engine::agreement::Agreement;
use berth_scheduling_api::decision::ContestedCluster;

use super::{Comparison, Counts, Entry};
use crate::args::CompareOutput;
use crate::plan::print::escaped;
use crate::terminal::{self, Cell, indented, shown};

/// Highest number of clusters that a row names from each list.
const NAMES_LIMIT: usize = 3;

const HEADINGS: [&str; 6] = [
    "DECISION",
    "KIND",
    "VERDICT",
    "ONLY PLACED",
    "ONLY DECIDED",
    "WHY",
];

/// Prints `comparison` on standard output; returns whether the reader read it to the end.
///
/// # Errors
/// When standard output fails for another reason than a closed reader.
pub(super) fn to_stdout(comparison: &Comparison, form: CompareOutput) -> io::Result<bool> {
    let mut out = BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(io::stdout().lock()));
    match print(&mut out, comparison, form, terminal::width()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        result => result.map(|()| true),
    }
}

/// Prints `comparison` in `form`.
///
/// # Errors
/// When `out` fails.
pub(super) fn print(
    out: &mut impl Write,
    comparison: &Comparison,
    form: CompareOutput,
    width: Option<usize>,
) -> io::Result<()> {
    match form {
        CompareOutput::Table => table(out, comparison, width),
        CompareOutput::Markdown => markdown(out, comparison),
        CompareOutput::Json => writeln!(out, "{}", serde_json::to_string_pretty(comparison)?),
        CompareOutput::Yaml => {
            let text = serde_saphyr::to_string(comparison).map_err(io::Error::other)?;
            writeln!(out, "{}", text.trim_end())
        }
    }
}

/// Returns a summary of `counts`, such as `400 requests: 389 decided the same, 11 differently`.
pub(super) fn summary(counts: Counts) -> String {
    let Counts {
        same,
        different,
        unknown,
    } = counts;
    let total = same + different + unknown;
    let noun = if total == 1 { "request" } else { "requests" };
    let mut text = format!("{total} {noun}: {same} decided the same, {different} differently");
    if unknown > 0 {
        text.push_str(&format!(", {unknown} unknown"));
    }
    text
}

/// Returns the summary of all requests, and of each system if there are several.
fn summary_lines(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![format!("{}.", summary(comparison.counts))];
    if comparison.systems.len() > 1 {
        let systems = comparison.systems.iter();
        lines.extend(systems.map(|(system, counts)| format!("{system}: {}", summary(*counts))));
    }
    lines
}

fn table(out: &mut impl Write, comparison: &Comparison, width: Option<usize>) -> io::Result<()> {
    for (index, line) in summary_lines(comparison).iter().enumerate() {
        match index {
            0 => writeln!(out, "{}", terminal::heading(&indented(line, 0, width)))?,
            _ => writeln!(out, "{}", indented(line, 2, width))?,
        }
    }
    if comparison.items.is_empty() {
        return Ok(());
    }
    let rows: Vec<Vec<Cell>> = comparison
        .items
        .iter()
        .map(|entry| {
            let style = match entry.agreement {
                Agreement::Same => terminal::GOOD,
                Agreement::Unknown(_) => terminal::DIM,
                Agreement::Different(_) => terminal::WARNING,
            };
            let texts = cells(entry).into_iter().enumerate();
            texts
                .map(|(column, text)| match column {
                    2 => Cell::new(text, style),
                    _ => Cell::plain(shown(&text)),
                })
                .collect()
        })
        .collect();
    let table = terminal::fitted_table(&HEADINGS, &rows, width);
    write!(out, "\n{table}")
}

fn markdown(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    for (index, line) in summary_lines(comparison).iter().enumerate() {
        match index {
            0 => writeln!(out, "**{line}**\n")?,
            _ => writeln!(out, "- {line}")?,
        }
    }
    if comparison.items.is_empty() {
        return Ok(());
    }
    let headings = HEADINGS.map(str::to_lowercase).join(" | ");
    writeln!(out, "\n| {headings} |\n|{}", "---|".repeat(HEADINGS.len()))?;
    for entry in &comparison.items {
        let texts = cells(entry).map(|text| escaped(&text));
        writeln!(out, "| {} |", texts.join(" | "))?;
    }
    Ok(())
}

fn cells(entry: &Entry) -> [String; 6] {
    let name = match entry.namespace.as_str() {
        "" => entry.name.clone(),
        namespace => format!("{namespace}/{}", entry.name),
    };
    [
        name,
        entry.kind.to_owned(),
        entry.verdict.to_owned(),
        first_names(&entry.losses, entry.loss_count),
        first_names(&entry.gains, entry.gain_count),
        explanation(entry),
    ]
}

/// The names of the first clusters, and the number of the rest.
fn first_names(clusters: &[ContestedCluster], count: usize) -> String {
    let names: Vec<&str> = clusters
        .iter()
        .take(NAMES_LIMIT)
        .map(|cluster| cluster.cluster_name.as_str())
        .collect();
    match count.saturating_sub(names.len()) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// The reasons of the first lost and the first gained cluster, the first resizes and the known difference;
/// empty if the decisions are the same, and the entry's message if they cannot be compared.
fn explanation(entry: &Entry) -> String {
    match entry.agreement {
        Agreement::Same => String::new(),
        Agreement::Unknown(_) => entry.message.clone(),
        Agreement::Different(_) => {
            let clusters = [entry.losses.first(), entry.gains.first()];
            let known = entry
                .known_difference
                .map(|known| format!("a known difference: {known}"));
            let resizes = entry.resizes.iter().take(NAMES_LIMIT).map(ToString::to_string);
            let texts = clusters
                .into_iter()
                .flatten()
                .map(cluster_reasons)
                .chain(resizes)
                .chain(known);
            texts.collect::<Vec<_>>().join("; ")
        }
    }
}

/// The reasons for and against a cluster, with the score, and with the other scheduler's recorded reason.
fn cluster_reasons(cluster: &ContestedCluster) -> String {
    let mut text = format!("{}: {}", cluster.cluster_name, cluster.reasons.join(", "));
    if let Some(score) = cluster.score {
        text.push_str(&format!(", score {score}"));
    }
    if let Some(recorded) = &cluster.recorded {
        let score = recorded.score.map(|score| format!("score {score}"));
        let parts = [recorded.reason.clone(), score];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        text.push_str(&format!(" (recorded: {})", parts.join(", ")));
    }
    text
}
