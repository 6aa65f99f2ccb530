//! Cost of a first read of a hub without Berth: `berth why`, `compare` and the first view of `berth console`,
//! each in its own process, which reads a real kube-apiserver, on which OCM's placement controller has
//! decided.
//!
//! `make bench-look` writes `docs/benchmarks/look.md`, on an idle machine, and fails where a figure is above
//! its limit. `BERTH_PROGRAM` names an existing program to measure instead.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use berth_tests::bench::middle::median;
use berth_tests::bench::run::{Run, Serving, command, of_child};
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;
use berth_tests::hub::installation::{Installation, available};
use berth_tests::hub::{Hub, berth};
use berth_tests::looking::Looking;
use berth_tests::ocm;
use berth_tests::ocm::world::World;

/// Number of runs of each command.
const ROUNDS: usize = 5;
/// Limit of a command's resident memory in MiB.
const MEMORY: f64 = 200.0;

/// Number of clusters and requests of the hubs for commands.
const LOOKED_AT: (usize, usize) = (2_000, 500);
/// Number of clusters and requests of the hub that a server observes. These requests are undecided,
/// since OCM's controller would need too long.
const OBSERVED: (usize, usize) = (10_000, 1_000);

/// Runs of one command, and the limits of seconds and MiB of each, if there are any.
struct Row {
    name: &'static str,
    most: Option<(f64, f64)>,
    runs: Vec<Run>,
}

fn main() -> ExitCode {
    let before = usage::load();
    let (mut text, mut above) = (String::new(), false);
    for (clusters, requests) in [LOOKED_AT, OBSERVED] {
        let rows = measured(World {
            clusters,
            requests,
            are_small: false,
        });
        above |= rows.iter().any(Row::is_above);
        text.push_str(&format!(
            "\n## {clusters} ManagedClusters and {requests} Placements\n\n{}",
            table(&rows).markdown()
        ));
    }
    let text = format!(
        "# What looking at a hub costs\n\n\
         `make bench-look` writes this page, and fails above the bounds. It measures a kube-apiserver with etcd on the same machine, with a release\n\
         build on {}:\n\n\
         1. without Berth, each command as a process of its own that reads everything it needs;\n\
         2. with an observing server, which is started afterwards.\n\n\
         OCM's placement controller has decided the requests of the smaller hub; those of the larger one are undecided. Figures are the median of\n\
         {ROUNDS} runs, and the most memory of any run. The load average was {before:.1} before and {:.1} after. Where it is above the number of\n\
         processors, compare processor time and not seconds.\n{text}",
        usage::machine(),
        usage::load(),
    );
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/look.md");
    std::fs::write(&page, &text).expect("docs/benchmarks is writable");
    println!("{text}");
    match above {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// All measurements of a hub with the size of `world`.
fn measured(world: World) -> Vec<Row> {
    let hub = Hub::start_to_measure();
    ocm::define(&hub);
    world.load(&hub);
    let of = (world.clusters, world.requests);
    if of == LOOKED_AT {
        let controller = ocm::Controller::start(&hub);
        ocm::decided(&hub, world.requests);
        controller.stop();
    }
    let admin = hub.admin();
    let apiserver = hub.process_id("kube-apiserver").expect("it runs");
    let rest = || usage::quiet(apiserver);
    let run = |work: &dyn Fn() -> Run| -> Vec<Run> {
        let rounds = (0..ROUNDS).map(|_| {
            rest();
            of_child(work)
        });
        rounds.collect()
    };
    let looked = |seconds: f64| (of == LOOKED_AT).then_some((seconds, MEMORY));
    let row = |name, most, runs| Row { name, most, runs };
    const WHY: &str = "why placement/request-0011 -n team-1";
    let mut rows = vec![
        row(
            "`berth why` of one request",
            looked(1.5),
            run(&|| command(&admin, &format!("{WHY} --from=hub"))),
        ),
        row(
            "`berth compare` of all",
            looked(3.0),
            run(&|| command(&admin, "compare")),
        ),
        row(
            "the first view of `berth console`",
            looked(2.0),
            run(&|| console(&admin)),
        ),
    ];
    let (starts, answers) = observer(&hub, &rest, &|| command(&admin, &format!("{WHY} --from=server")));
    let observed = |seconds: f64, memory: f64| (of == OBSERVED).then_some((seconds, memory));
    rows.push(row(
        "an observing server, until it answers",
        observed(1.6, 244.0),
        starts,
    ));
    rows.push(row("`berth why` of that server", observed(0.2, MEMORY), answers));
    rows
}

impl Row {
    /// The median of the seconds, and the peak memory.
    fn summary(&self) -> (f64, f64) {
        let seconds: Vec<f64> = self.runs.iter().map(|run| run.seconds).collect();
        let memory = self.runs.iter().map(|run| run.memory).fold(0.0, f64::max);
        (median(&seconds), memory)
    }

    fn is_above(&self) -> bool {
        let (seconds, memory) = self.summary();
        self.most
            .is_some_and(|(most, bound)| seconds > most || memory > bound)
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(["", "s", "at most, s", "CPU, s", "MiB", "at most, MiB"]);
    for row in rows {
        let (seconds, memory) = row.summary();
        let processor: Vec<f64> = row.runs.iter().map(|run| run.processor).collect();
        let processor = format!("{:.2}", median(&processor));
        let (most, bound) = match row.most {
            Some((most, bound)) => (format!("{most:.1}"), format!("{bound:.0}")),
            None => (String::new(), String::new()),
        };
        table.row([
            row.name.to_owned(),
            format!("{seconds:.2}"),
            most,
            processor,
            format!("{memory:.0}"),
            bound,
        ]);
    }
    table
}

/// Installs an observing Berth, starts it in every round, and calls `ask` repeatedly with the last one.
fn observer(hub: &Hub, rest: &dyn Fn(), ask: &dyn Fn() -> Run) -> (Vec<Run>, Vec<Run>) {
    let installation = Installation::new(&["--source=ocm=hub"]).observing();
    let manifests = installation.manifests(&["all"]);
    hub.kubectl("apply --server-side -f -")
        .input(manifests)
        .succeeds();
    let kubeconfig = hub.kubeconfig_for_service_account(berth::BERTH.namespace, berth::BERTH.name);
    let port = installation.port.to_string();
    let service_port = format!("--service-port={port}");
    let (mut starts, mut last) = (Vec::new(), None);
    for round in 0..ROUNDS {
        drop(last.take());
        rest();
        let mut arguments = vec!["--secure-port", &port, &service_port];
        arguments.extend([
            "--ca-secret=berth-ca",
            "--source=ocm=hub",
            "--storage=memory",
            "--mode=observe",
        ]);
        let data = hub.folder().join(format!("observer-{round}"));
        let (serving, start) = Serving::start(&kubeconfig, &data, &arguments);
        starts.push(start);
        last = Some(serving);
    }
    available(hub);
    let answers = (0..ROUNDS).map(|_| {
        rest();
        of_child(ask)
    });
    let answers = answers.collect();
    if let (Some(serving), Some(start)) = (&last, starts.last_mut()) {
        start.memory = usage::most_resident(serving.id());
    }
    (starts, answers)
}

/// Starts the console, sends the requests of its first view, and ends it.
fn console(kubeconfig: &Path) -> Run {
    let begun = Instant::now();
    let console = Looking::start(kubeconfig, &[]);
    for path in ["targets?limit=500", "decisions?limit=500"] {
        assert!(!console.items(path).is_empty(), "{path}");
    }
    Run {
        seconds: begun.elapsed().as_secs_f64(),
        processor: 0.0,
        memory: usage::most_resident(console.id()),
    }
}
