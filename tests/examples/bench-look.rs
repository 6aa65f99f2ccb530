//! Cost of looking at a hub without Berth, from cold: `berth why`, `compare` and the first view of `berth console`, each as a
//! process of its own that reads a real kube-apiserver, on which OCM's placement controller has decided.
//!
//! `make bench-look` prints a table, on a machine with nothing else to do, and fails where a figure is above its
//! bound. `LOOK_CLUSTERS` and `LOOK_REQUESTS` are the size, `BERTH_PROGRAM` a program to measure as it is.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use berth_tests::bench::middle::median;
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;
use berth_tests::differential::variable;
use berth_tests::hub::Hub;
use berth_tests::ocm::world::World;
use berth_tests::{ocm, raw};

/// How often each command is run.
const ROUNDS: usize = 5;
/// The most memory that a command may have resident.
const MEMORY: f64 = 200.0;
/// How often a command's memory is looked at.
const LOOK: Duration = Duration::from_millis(5);
const GROUP: &str = "/cluster/apis/scheduling.berth.dev/v1alpha1";

/// Seconds and MiB of one run.
struct Run {
    seconds: f64,
    memory: f64,
}

fn main() -> ExitCode {
    let size = |name: &str, usual: u64| usize::try_from(variable(name, usual)).expect("it is a size");
    let world = World {
        clusters: size("LOOK_CLUSTERS", 2000),
        requests: size("LOOK_REQUESTS", 500),
    };
    let before = usage::load();
    let hub = Hub::start_to_measure();
    ocm::define(&hub);
    world.load(&hub);
    let controller = ocm::Controller::start(&hub);
    ocm::decided(&hub, world.requests);
    controller.stop();
    let admin = hub.admin();
    let apiserver = hub.process_id("kube-apiserver").expect("it runs");
    let run = |what: &dyn Fn() -> Run| -> Vec<Run> {
        (0..ROUNDS)
            .map(|_| {
                usage::quiet(apiserver);
                what()
            })
            .collect()
    };
    let rows = [
        (
            "`berth why` of one request",
            1.5,
            run(&|| command(&admin, "why placement/request-0011 -n team-1")),
        ),
        ("`berth compare` of all", 3.0, run(&|| command(&admin, "compare"))),
        ("the first view of `berth console`", 2.0, run(&|| console(&admin))),
    ];
    let mut table = Table::new(["", "s", "at most, s", "MiB", "at most, MiB"]);
    let mut above = false;
    for (name, bound, runs) in rows {
        let seconds = median(&runs.iter().map(|run| run.seconds).collect::<Vec<_>>());
        let memory = runs.iter().map(|run| run.memory).fold(0.0, f64::max);
        above |= seconds > bound || memory > MEMORY;
        table.row([
            name.to_owned(),
            format!("{seconds:.2}"),
            format!("{bound:.1}"),
            format!("{memory:.0}"),
            format!("{MEMORY:.0}"),
        ]);
    }
    let text = format!(
        "# What looking at a hub costs\n\nA release build on {}; a kube-apiserver with {} ManagedClusters and {} Placements, which OCM's placement\n\
         controller has decided, and no Berth. Each command is a process of its own that reads all it needs: the middle of {ROUNDS} runs, and\n\
         the most memory of any. The load average was {before:.1} before and {:.1} after. Made by `make bench-look`.\n\n{}",
        usage::machine(),
        world.clusters,
        world.requests,
        usage::load(),
        table.markdown()
    );
    println!("{text}");
    match above {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn start(kubeconfig: &PathBuf, words: &str) -> Child {
    Command::new(berth_tests::berth())
        .args(words.split(' '))
        .env("KUBECONFIG", kubeconfig)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("berth runs")
}

/// Runs a command to its end, which must be a good one.
fn command(kubeconfig: &PathBuf, words: &str) -> Run {
    let begun = Instant::now();
    let mut child = start(kubeconfig, words);
    let mut output = child.stdout.take().expect("the output is piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let mut memory = 0.0;
    let status = loop {
        if let Some(status) = child.try_wait().expect("the process is ours") {
            break status;
        }
        memory = f64::max(memory, most_resident(child.id()));
        std::thread::park_timeout(LOOK);
    };
    let seconds = begun.elapsed().as_secs_f64();
    let text = reader
        .join()
        .expect("the reader does not panic")
        .expect("the output is text");
    assert!(status.success() && !text.is_empty(), "berth {words}: {status}");
    Run { seconds, memory }
}

/// Opens the console, reads what its first view reads, and ends it.
fn console(kubeconfig: &PathBuf) -> Run {
    let begun = Instant::now();
    let mut child = start(kubeconfig, "console --from=hub --no-open");
    let mut lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
    let url = lines.next().expect("it tells its address").expect("it is text");
    let (address, token) = url.split_once("/#token=").expect("it has a token");
    for path in ["targets?limit=500", "decisions?limit=500"] {
        let (code, list) = raw::plain(
            address,
            &format!("{GROUP}/{path}"),
            &[("x-berth-console-token", token)],
        );
        assert!(code == 200 && list["items"].is_array(), "{code} {list}");
    }
    let seconds = begun.elapsed().as_secs_f64();
    let memory = most_resident(child.id());
    // Both fail only when it has ended already.
    drop(child.kill());
    drop(child.wait());
    Run { seconds, memory }
}

/// The most memory a process had so far in MiB; 0 where it has just ended.
fn most_resident(process: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or_default() / 1024.0
}
