//! The page and the plot.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use berth_tests::bench::chart::{Bar, Chart};
use berth_tests::bench::middle::shown;
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;

use crate::measure::Column;
use crate::model::Line;

/// Factor from the smallest store to the largest one above which a figure counts as growing.
const GROWS: f64 = 1.5;

/// Writes `growth.md` and `growth.svg`.
pub(crate) fn write(folder: &Path, objects: &[Column], targets: &[Column]) -> Result<()> {
    let count = |value: usize, of: &str| format!("{} {of}", shown_count(value));
    let object_heads: Vec<String> = objects
        .iter()
        .map(|column| count(column.size.objects, "objects"))
        .collect();
    let target_heads: Vec<String> = targets
        .iter()
        .map(|column| count(column.size.targets, "targets"))
        .collect();
    let text = format!(
        "# How cost grows with the store\n\n\
                  Made by `make bench-growth` with a release build on {}, whose load average was {} at the end.\n\n\
         - Objects are ConfigMaps of 2.2 KB in 20 namespaces. Targets are ManagedClusters in 8 regions. {} Placements are stored, each for three\n  \
         clusters of its region.\n\
         - CPU is the server's own processor time for one request and all work that follows from it. A page has 500 objects.\n\
         - The last column is the figure of the largest store, divided by that of the smallest.\n\
         - A start reads all objects and keeps them in memory, so its time, the memory and the file may grow. Another figure that grows by more than\n  \
         half is marked (!).\n\n\
         ![What each costs, by size](growth.svg)\n\n\
         ## With more objects\n\nBeside 10 targets.\n\n{}\n\n\
         ## With more targets\n\nBeside 1,000 objects. A decision looks at every target.\n\n{}\n\n\
         ## As a model\n\nThe line through the figures of each row: what is always there, what each thousand more objects, or \
         targets, adds, how far the line misses the farthest figure, and what it says of a million.\n\n### Objects\n\n{}\n\n\
         ### Targets\n\n{}",
        usage::machine(),
        shown(usage::load()),
        crate::store::PLACEMENTS,
        table(objects, &object_heads).markdown(),
        table(targets, &target_heads).markdown(),
        model(objects, |column| column.size.objects).markdown(),
        model(targets, |column| column.size.targets).markdown(),
    );
    println!("\n{text}");
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let put = |name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())
    };
    put("growth.md", &text)?;
    let mut chart = Chart::new(
        "What each costs, by size",
        "bars of the same length: it does not grow; logarithmic",
    );
    groups(&mut chart, objects, &object_heads);
    groups(&mut chart, targets, &target_heads);
    put("growth.svg", &chart.svg())
}

#[expect(clippy::cast_precision_loss, reason = "a count of objects")]
fn shown_count(value: usize) -> String {
    if value < 100 {
        value.to_string()
    } else {
        shown(value as f64)
    }
}

fn table(columns: &[Column], heads: &[String]) -> Table {
    let head = [String::new()].into_iter().chain(heads.iter().cloned());
    let mut table = Table::new(head.chain(["grows".to_owned()]));
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
        return table;
    };
    for (row, figure) in first.figures.iter().enumerate() {
        let values = columns.iter().map(|column| shown(column.figures[row].value));
        let growth = last.figures[row].value / figure.value.max(f64::MIN_POSITIVE);
        let mark = if growth > GROWS && !figure.may_grow {
            " (!)"
        } else {
            ""
        };
        let growth = format!("{}x{mark}", shown(growth));
        table.row([figure.name.to_owned()].into_iter().chain(values).chain([growth]));
    }
    table
}

/// The line through each row's figures.
#[expect(clippy::cast_precision_loss, reason = "a count of objects")]
fn model(columns: &[Column], size: impl Fn(&Column) -> usize) -> Table {
    let heads = ["", "fixed", "each thousand", "missed by", "a million"];
    let mut table = Table::new(heads.map(str::to_owned));
    let Some(first) = columns.first() else {
        return table;
    };
    for (row, figure) in first.figures.iter().enumerate() {
        // The least value is a tick of the clock of processor time.
        let figure_of = |column: &Column| column.figures[row].value.max(0.001);
        let points: Vec<(f64, f64)> = columns
            .iter()
            .map(|column| (size(column) as f64, figure_of(column)))
            .collect();
        let line = Line::through(&points);
        table.row([
            figure.name.to_owned(),
            shown(line.fixed),
            shown(line.each * 1_000.0),
            format!("{:.0} %", line.missed(&points) * 100.0),
            shown(line.at(1e6)),
        ]);
    }
    table
}

fn groups(chart: &mut Chart, columns: &[Column], heads: &[String]) {
    let Some(first) = columns.first() else { return };
    for (row, figure) in first.figures.iter().enumerate() {
        let bars = columns
            .iter()
            .zip(heads)
            .enumerate()
            .map(|(colour, (column, head))| Bar {
                name: head.clone(),
                value: column.figures[row].value,
                colour,
            });
        chart.group(figure.name, bars.collect());
    }
}
