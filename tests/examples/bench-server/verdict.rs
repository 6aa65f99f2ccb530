//! The goals, and whether this run reaches them.

use berth_tests::bench::middle::shown;
use berth_tests::bench::table::Table;

use crate::figures::Figures;

/// The compared figures.
enum Measure {
    /// Ratio to a peer's value (`ours`, `theirs`, figure).
    Times(&'static str, &'static str, &'static str),
    /// A value of Berth.
    Value(&'static str, &'static str),
    /// Growth of memory during parallel lists, in multiples of their bodies' size.
    Bodies(&'static str),
}

/// Required relation.
#[derive(Clone, Copy)]
enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

struct Goal {
    what: &'static str,
    measure: Measure,
    wanted: Wanted,
}

use Measure::{Bodies, Times, Value};
use Wanted::{AtLeast, AtMost};

const GOALS: [Goal; 23] = [
    goal(
        "create: rate, times sample-apiserver's",
        Times("berth", "sample", "create.rate"),
        AtLeast(3.0),
    ),
    goal(
        "create: kube-apiserver's CPU, times ours",
        Times("kube", "berth", "create.cpu"),
        AtLeast(5.0),
    ),
    goal(
        "get: rate, times sample-apiserver's",
        Times("berth", "sample", "get.rate"),
        AtLeast(6.0),
    ),
    goal(
        "get: kube-apiserver's CPU, times ours",
        Times("kube", "berth", "get.cpu"),
        AtLeast(15.0),
    ),
    goal(
        "patch: rate, times sample-apiserver's",
        Times("berth", "sample", "patch.rate"),
        AtLeast(3.0),
    ),
    goal(
        "list, HTTP/1.1: sample-apiserver's time, times ours",
        Times("sample", "berth", "list.p50"),
        AtLeast(10.0),
    ),
    goal(
        "list, HTTP/2: sample-apiserver's time, times ours",
        Times("sample", "berth", "list-h2.p50"),
        AtLeast(8.0),
    ),
    goal(
        "list, gzip: sample-apiserver's time, times ours",
        Times("sample", "berth", "list-gzip.p50"),
        AtLeast(1.0),
    ),
    goal(
        "list, HTTP/1.1: sample-apiserver's CPU, times ours",
        Times("sample", "berth", "list.cpu"),
        AtLeast(10.0),
    ),
    goal(
        "four lists at once: memory grown, in bodies",
        Bodies("berth"),
        AtMost(4.0),
    ),
    goal(
        "list by label: kube-apiserver's time, times ours",
        Times("kube", "berth", "select.p50"),
        AtLeast(10.0),
    ),
    goal(
        "watch, 100: kube-apiserver's delay, times ours",
        Times("kube", "berth", "watch-few.p50"),
        AtLeast(2.0),
    ),
    goal(
        "watch, the crowd: delay, ms",
        Value("berth", "watch-many.p50"),
        AtMost(10.0),
    ),
    goal(
        "watch, the crowd: kube-apiserver's delay, times ours",
        Times("kube", "berth", "watch-many.p50"),
        AtLeast(1.0),
    ),
    goal(
        "memory at most: kube-apiserver's, times ours",
        Times("kube", "berth", "memory.most"),
        AtLeast(10.0),
    ),
    goal(
        "ready after start, ms",
        Value("berth", "start.p50"),
        AtMost(500.0),
    ),
    goal(
        "on etcd, create: rate, times sample-apiserver's",
        Times("berth-etcd", "sample", "create.rate"),
        AtLeast(1.0),
    ),
    goal(
        "on etcd, patch: rate, times sample-apiserver's",
        Times("berth-etcd", "sample", "patch.rate"),
        AtLeast(1.0),
    ),
    goal(
        "on etcd, get: rate, times embedded",
        Times("berth-etcd", "berth", "get.rate"),
        AtLeast(0.9),
    ),
    goal(
        "on etcd, list: embedded's time, times etcd's",
        Times("berth", "berth-etcd", "list.p50"),
        AtLeast(0.9),
    ),
    goal(
        "aggregated, get: sample-apiserver's own CPU, times ours",
        Times("sample-aggregated", "berth-aggregated", "get.cpu-own"),
        AtLeast(3.0),
    ),
    goal(
        "aggregated, create: sample-apiserver's own CPU, times ours",
        Times("sample-aggregated", "berth-aggregated", "create.cpu-own"),
        AtLeast(3.0),
    ),
    goal(
        "aggregated, create: rate, times sample-apiserver's",
        Times("berth-aggregated", "sample-aggregated", "create.rate"),
        AtLeast(1.0),
    ),
];

const fn goal(what: &'static str, measure: Measure, wanted: Wanted) -> Goal {
    Goal {
        what,
        measure,
        wanted,
    }
}

/// The goals of measured contestants.
pub(crate) fn table(figures: &Figures) -> Table {
    let mut table = Table::new(["goal", "wanted", "measured", "met"]);
    for goal in &GOALS {
        let measured = match goal.measure {
            Times(ours, theirs, figure) => figures.ratio(ours, theirs, figure),
            Value(ours, figure) => figures.median(ours, figure),
            Bodies(ours) => {
                let growth = figures.median(ours, "list-four.growth");
                let body = figures.median(ours, "list.bytes");
                growth
                    .zip(body)
                    .map(|(growth, body)| growth * 1024.0 * 1024.0 / body)
            }
        };
        let Some(measured) = measured else {
            continue;
        };
        let (wanted, met) = match goal.wanted {
            AtLeast(least) => (format!("at least {least}"), measured >= least),
            AtMost(most) => (format!("at most {most}"), measured <= most),
        };
        let met = if met { "yes" } else { "no" };
        table.row([goal.what, &wanted, &shown(measured), met]);
    }
    table
}
