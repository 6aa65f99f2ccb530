//! The written report: tables, a plot, and all values.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use berth_tests::bench::chart::{Bar, Chart};
use berth_tests::bench::middle::shown;
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;

use crate::contestant::ALL;
use crate::figures::Figures;
use crate::forms;
use crate::settings::Settings;
use crate::verdict;

/// Writes `server.md`, `server.svg` and `server.json`, and prints the tables.
pub(crate) fn write(settings: &Settings, figures: &Figures, took: Duration, load: f64) -> Result<()> {
    let text = page(settings, figures, took, load);
    println!("\n{text}");
    fs::create_dir_all(&settings.output).with_context(|| settings.output.display().to_string())?;
    let put = |name: &str, content: String| {
        let path = settings.output.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())
    };
    put("server.md", text)?;
    put("server.svg", chart(settings, figures).svg())?;
    put("server.json", format!("{:#}\n", figures.json()))
}

/// Writes `forms.md`, and prints it.
pub(crate) fn write_forms(settings: &Settings, figures: &Figures, load: f64) -> Result<()> {
    let (measured, goals) = forms::tables(figures);
    let text = format!(
        "# JSON, protobuf and WebSockets\n\n\
         Made by `make bench-server` on {}, whose load average was {} at the start: {} ConfigMaps of {} bytes as JSON, listed \
         by one client, and changed 50 times a second while 100 clients watch them; medians of {} rounds in which the \
         contestants take turns, {:.1} s for each list. CPU is that of the servers and of etcd; delays are told from the \
         sending of the write until the event is there.\n\n{}\n\n{}",
        usage::machine(),
        shown(load),
        settings.objects,
        settings.bytes,
        settings.rounds,
        settings.time.as_secs_f64(),
        measured.markdown(),
        goals.markdown(),
    );
    println!("\n{text}");
    fs::create_dir_all(&settings.output).with_context(|| settings.output.display().to_string())?;
    let path = settings.output.join("forms.md");
    fs::write(&path, text).with_context(|| path.display().to_string())
}

fn page(settings: &Settings, figures: &Figures, took: Duration, load: f64) -> String {
    let parts = [
        format!(
            "# Berth beside kube-apiserver and sample-apiserver\n\n\
                          Made by `make bench-server` in {:.0} minutes on {}, whose load average was {} at the start.\n\n\
             - {} clients over TLS; objects of {} bytes as served, {} of them stored; etcd with fsync.\n\
             - Medians of {} rounds in which the contestants take turns, {:.1} s for each operation.\n\
             - kube-apiserver and sample-apiserver are of Kubernetes 1.36.3.\n\n\
             ![CPU per operation](server.svg)",
            took.as_secs_f64() / 60.0,
            usage::machine(),
            shown(load),
            settings.clients,
            settings.bytes,
            settings.objects,
            settings.rounds,
            settings.time.as_secs_f64(),
        ),
        format!(
            "## CPU per operation\n\nMilliseconds of processor time of the servers and, after the plus sign, of etcd; for \
             watches per thousand delivered events. On a shared machine these figures vary least.\n\n{}",
            processor_table(figures).markdown()
        ),
        format!(
            "## Throughput, latency, memory, start\n\n\
             - `four lists` are requested at once: the time until all four have arrived, and the growth of memory.\n\
             - The delay of a watch runs from the sending of the write to the arrival of the event.\n\
             - Memory is the servers' (of both where one is aggregated): after loading, at the end, and at most.\n\
             - `ready after` is the time of a start until `/readyz` succeeds, with all objects stored.\n\n{}",
            speed_table(settings, figures).markdown()
        ),
        format!("## Goals\n\n{}", verdict::table(figures).markdown()),
    ];
    parts.join("\n\n")
}

/// Contestants with figures, as heading cells after the `first` one.
fn heads(figures: &Figures, first: &str) -> (Vec<&'static str>, Table) {
    let part: Vec<_> = ALL
        .iter()
        .filter(|(key, _)| figures.median(key, "get.rate").is_some())
        .collect();
    let head = [first]
        .into_iter()
        .chain(part.iter().map(|(_, heading)| *heading));
    let table = Table::new(head);
    (part.iter().map(|(key, _)| *key).collect(), table)
}

fn processor_table(figures: &Figures) -> Table {
    let (keys, mut table) = heads(figures, "ms of CPU");
    for (title, name) in [
        ("create", "create"),
        ("get", "get"),
        ("patch", "patch"),
        ("delete", "delete"),
        ("list of all, HTTP/1.1", "list"),
        ("list of all, HTTP/2", "list-h2"),
        ("list of all, gzip", "list-gzip"),
        ("list by label", "select"),
    ] {
        let cell = |key: &&str| {
            let figure = |part: &str| figures.median(key, &format!("{name}.{part}"));
            let (Some(server), Some(database)) = (figure("cpu-server"), figure("cpu-database")) else {
                return String::new();
            };
            if database > 0.000_5 {
                format!("{} + {}", shown(server), shown(database))
            } else {
                shown(server)
            }
        };
        table.row([title.to_owned()].into_iter().chain(keys.iter().map(cell)));
    }
    for (title, figure) in [
        ("list of all, in pages", "pages.cpu"),
        ("1,000 events, 100 watchers", "watch-few.cpu"),
        ("1,000 events, the crowd", "watch-many.cpu"),
    ] {
        plain(&mut table, figures, &keys, title, figure);
    }
    table
}

fn speed_table(settings: &Settings, figures: &Figures) -> Table {
    let (keys, mut table) = heads(figures, "");
    let crowd = format!("watch, {} watchers, 10 writes/s", settings.watchers);
    for (title, figure) in [
        ("create, 1/s", "create.rate"),
        ("create p50, ms", "create.p50"),
        ("create p99, ms", "create.p99"),
        ("get, 1/s", "get.rate"),
        ("get p50, ms", "get.p50"),
        ("get p99, ms", "get.p99"),
        ("patch, 1/s", "patch.rate"),
        ("patch p50, ms", "patch.p50"),
        ("delete, 1/s", "delete.rate"),
        ("list of all, HTTP/1.1, ms", "list.p50"),
        ("list of all, HTTP/2, ms", "list-h2.p50"),
        ("list of all, gzip, ms", "list-gzip.p50"),
        ("list of all, bytes", "list.bytes"),
        ("four lists, ms", "list-four.p50"),
        ("four lists, MiB more", "list-four.growth"),
        ("list in pages of 500, ms", "pages.p50"),
        ("list by label, one of all, ms", "select.p50"),
        ("watch, 100 watchers, 50 writes/s, p50, ms", "watch-few.p50"),
        ("watch, 100 watchers, p99, ms", "watch-few.p99"),
        (&format!("{crowd}, p50, ms"), "watch-many.p50"),
        (&format!("{crowd}, p99, ms"), "watch-many.p99"),
        ("memory loaded, MiB", "memory.loaded"),
        ("memory at the end, MiB", "memory.end"),
        ("memory at most, MiB", "memory.most"),
        ("memory of etcd, MiB", "memory.database"),
        ("ready after, ms", "start.p50"),
    ] {
        plain(&mut table, figures, &keys, title, figure);
    }
    table
}

fn plain(table: &mut Table, figures: &Figures, keys: &[&str], title: &str, figure: &str) {
    let cell = |key: &&str| {
        let value = figures.median(key, figure);
        value.filter(|value| *value > 0.0).map(shown).unwrap_or_default()
    };
    table.row([title.to_owned()].into_iter().chain(keys.iter().map(cell)));
}

fn chart(settings: &Settings, figures: &Figures) -> Chart {
    let note = format!(
        "ms of processor time, server and database together, logarithmic; medians of {} rounds; objects of {} bytes",
        settings.rounds, settings.bytes
    );
    let mut chart = Chart::new("CPU per operation", &note);
    let many = format!("list of {}", settings.objects);
    for (title, figure) in [
        ("create", "create.cpu"),
        ("get", "get.cpu"),
        ("patch", "patch.cpu"),
        (many.as_str(), "list.cpu"),
        ("list by label", "select.cpu"),
        ("1,000 watch events to 100 watchers", "watch-few.cpu"),
    ] {
        let bar = |(colour, (key, heading)): (usize, &(&str, &str))| Bar {
            name: (*heading).to_owned(),
            value: figures.median(key, figure).unwrap_or_default(),
            colour,
        };
        chart.group(title, ALL.iter().enumerate().map(bar).collect());
    }
    chart
}
