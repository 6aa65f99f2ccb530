//! The cost of decisions by several processes, each with a part of a million clusters, compared with one
//! process that has all clusters. Every number of processes must choose the same clusters. `cargo run
//! --release -p berth-dialect-ocm --example decide-in-parts`, with the environment variables `PARTS_CLUSTERS`
//! (1000000), `PARTS_PROCESSES` (1,4,10) and `PARTS_PLACEMENTS` (200).
//!
//! This program starts itself again for each part, sends questions as lines, and reads answers as lines. It
//! merges the outlines and the best clusters of the parts (`berth_dialect_ocm::parts`). Every choice is
//! written back to all parts, so that later decisions count earlier decisions. docs/scaling.md has the
//! results.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use berth_apimachinery::{GroupResource, Key, Timestamp};
use berth_dialect_contract::{Ask, Inventory};
use berth_dialect_ocm::parts::{self, Outline, Range, ScoredCluster};
use berth_dialect_testing::bench::{added, editable, middle, millis};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const GROUP: &str = "cluster.open-cluster-management.io";
const REGIONS: usize = 8;
const WANTED: usize = 3;
/// Clock ticks per second in `/proc`.
const TICKS: f64 = 100.0;

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|text| number(&text)).collect();
    if let [clusters, part, count] = arguments[..] {
        return serve(clusters, part, count);
    }
    let clusters = setting("PARTS_CLUSTERS", "1000000");
    let placements = setting("PARTS_PLACEMENTS", "200");
    let processes = std::env::var("PARTS_PROCESSES").unwrap_or_else(|_| "1,4,10".to_owned());
    println!("{clusters} clusters, {placements} Placements, each for {WANTED} of a region");
    println!(
        "| processes | ready after, s | memory of each, MiB | a decision, ms | CPU of all, ms | bytes between them |"
    );
    println!(
        "| --------: | -------------: | ------------------: | -------------: | -------------: | -----------------: |"
    );
    let mut first: Option<Vec<Vec<String>>> = None;
    for count in processes.split(',').map(number) {
        let chosen = measure(clusters, placements, count);
        match &first {
            None => first = Some(chosen),
            Some(first) => assert!(*first == chosen, "{count} processes choose otherwise"),
        }
    }
    println!("\nevery number of processes chose the same clusters");
}

fn number(text: &str) -> usize {
    text.trim().parse().expect("a number")
}

fn setting(name: &str, default: &str) -> usize {
    number(&std::env::var(name).unwrap_or_else(|_| default.to_owned()))
}

/// Measures decisions by `count` processes. Prints their cost, and returns the clusters of each Placement.
fn measure(clusters: usize, placements: usize, count: usize) -> Vec<Vec<String>> {
    let begun = Instant::now();
    let mut parts: Vec<Part> = (0..count)
        .map(|part| Part::start(clusters, part, count))
        .collect();
    parts.iter_mut().for_each(|part| assert_eq!(part.read(), "ready"));
    let ready = begun.elapsed();
    let mut chosen = Vec::new();
    let (mut times, mut bytes) = (Vec::new(), 0);
    let before: f64 = parts.iter().map(Part::processor_time).sum();
    for placement in 0..placements {
        let begun = Instant::now();
        let name = format!("p{placement}");
        let mut ask = |question: &str| -> Vec<String> {
            bytes += question.len() * parts.len();
            parts.iter_mut().for_each(|part| part.ask(question));
            let answers: Vec<String> = parts.iter_mut().map(Part::read).collect();
            bytes += answers.iter().map(String::len).sum::<usize>();
            answers
        };
        let outlines = ask(&format!("outline {name} {}", placement % REGIONS));
        let outline = outlines
            .iter()
            .map(|text| read_outline(text))
            .fold(Outline::NONE, Outline::merge);
        let best = ask(&format!("best {name} {}", write_outline(&outline)));
        let best = parts::merge(best.iter().map(|text| read_best(text)), Some(WANTED));
        times.push(begun.elapsed());
        let names: Vec<String> = best.iter().map(|scored| scored.cluster.to_string()).collect();
        ask(&format!("chosen {name} {}", names.join(" ")));
        chosen.push(names);
    }
    let used = parts.iter().map(Part::processor_time).sum::<f64>() - before;
    let memory = parts.iter().map(Part::memory).fold(0.0, f64::max);
    println!(
        "| {count} | {:.1} | {memory:.0} | {:.2} | {:.2} | {} |",
        ready.as_secs_f64(),
        millis(middle(times)),
        used * 1_000.0 / placements as f64,
        bytes / placements
    );
    chosen
}

/// A process with a part of the fleet.
struct Part {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Part {
    fn start(clusters: usize, part: usize, count: usize) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let arguments = [clusters, part, count].map(|number| number.to_string());
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program runs");
        Self {
            input: process.stdin.take().expect("its input is piped"),
            output: BufReader::new(process.stdout.take().expect("its output is piped")),
            process,
        }
    }

    fn ask(&mut self, question: &str) {
        writeln!(self.input, "{question}").expect("it reads");
    }

    fn read(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes");
        line.trim_end().to_owned()
    }

    fn file(&self, name: &str) -> String {
        let path = format!("/proc/{}/{name}", self.process.id());
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Processor time in user mode and in the kernel, in seconds.
    fn processor_time(&self) -> f64 {
        let text = self.file("stat");
        let (_, after) = text.rsplit_once(')').expect("stat has a name in parentheses");
        let fields: Vec<&str> = after.split_whitespace().collect();
        [11, 12]
            .map(|place| fields[place].parse::<f64>().expect("ticks"))
            .iter()
            .sum::<f64>()
            / TICKS
    }

    /// Resident memory in MiB.
    fn memory(&self) -> f64 {
        let text = self.file("status");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .expect("VmRSS");
        line.split_whitespace()
            .next()
            .expect("kB")
            .parse::<f64>()
            .expect("kB")
            / 1024.0
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Both calls fail only if the process has ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Answers questions about every `count`th cluster, beginning with number `part`, until the input ends.
fn serve(clusters: usize, part: usize, count: usize) {
    let mut fleet = berth_dialect_ocm::dialect().inventory();
    let inventory = editable(&mut fleet);
    let version = format!("{GROUP}/v1beta2");
    put(
        inventory,
        &json!({"apiVersion": version, "kind": "ManagedClusterSet", "metadata": {"name": "fleet", "uid": "1"},
        "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
    );
    put(
        inventory,
        &json!({"apiVersion": version, "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "fleet", "namespace": "ns", "uid": "2"}, "spec": {"clusterSet": "fleet"}}),
    );
    (part..clusters)
        .step_by(count)
        .for_each(|number| put(inventory, &cluster(number)));
    inventory.derive();
    say("ready");
    for line in std::io::stdin().lines() {
        let line = line.expect("questions are text");
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["outline", name, region] => {
                put(editable(&mut fleet), &placement(name, region));
                let outline = with_ask(name, |ask| parts::outline(&*fleet, ask));
                say(&write_outline(&outline));
            }
            ["best", name, ref outline @ ..] => {
                let outline = read_outline(&outline.join(" "));
                let best = with_ask(name, |ask| parts::best(&*fleet, ask, &outline));
                say(&best.iter().fold(String::new(), |mut text, scored| {
                    write!(text, "{}={} ", scored.cluster, scored.total.0)
                        .expect("a String takes everything");
                    text
                }));
            }
            ["chosen", name, ref clusters @ ..] => {
                put(editable(&mut fleet), &decision(name, clusters));
                say("");
            }
            _ => panic!("{line} is no question"),
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .expect("somebody reads");
}

fn with_ask<T>(name: &str, answer: impl FnOnce(&Ask<'_>) -> Option<T>) -> T {
    let demand = Key::new(GroupResource::new(GROUP, "placements"), "ns", name);
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("an instant");
    let ask = Ask {
        demand: &demand,
        now,
        seed: 0,
        chosen: None,
    };
    answer(&ask).expect("the Placement is there")
}

/// The outline as text, with the bits of each number, so that no number is rounded.
fn write_outline(outline: &Outline) -> String {
    let Outline { fitting, cpu, memory } = outline;
    let bits = [cpu.least, cpu.most, memory.least, memory.most].map(|number| number.to_bits().to_string());
    format!("{fitting} {}", bits.join(" "))
}

fn read_outline(text: &str) -> Outline {
    let numbers: Vec<u64> = text
        .split(' ')
        .map(|word| word.parse().expect("a number"))
        .collect();
    let range = |place: usize| Range {
        least: f64::from_bits(numbers[place]),
        most: f64::from_bits(numbers[place + 1]),
    };
    Outline {
        fitting: usize::try_from(numbers[0]).expect("a count"),
        cpu: range(1),
        memory: range(3),
    }
}

fn read_best(text: &str) -> Vec<ScoredCluster> {
    let read = |word: &str| {
        let (cluster, total) = word.split_once('=').expect("a cluster and its total");
        ScoredCluster {
            total: Reverse(total.parse().expect("a number")),
            cluster: cluster.into(),
        }
    };
    text.split_whitespace().map(read).collect()
}

fn put(fleet: &mut dyn Inventory, value: &Value) {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let resource = match text("/kind") {
        "ManagedCluster" => "managedclusters",
        "ManagedClusterSet" => "managedclustersets",
        "ManagedClusterSetBinding" => "managedclustersetbindings",
        "Placement" => "placements",
        _ => "placementdecisions",
    };
    let resource = GroupResource::new(GROUP, resource);
    fleet.fold(&added(
        resource,
        text("/metadata/namespace"),
        text("/metadata/name"),
        value,
    ));
}

fn cluster(number: usize) -> Value {
    let taints = if number % 10 == 9 {
        json!([{"key": "maintenance", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ManagedCluster",
        "metadata": {"name": format!("cluster{number}"), "uid": format!("c{number}"), "labels": {
            format!("{GROUP}/clusterset"): "fleet", "region": format!("region-{}", number % REGIONS),
        }},
        "spec": {"hubAcceptsClient": true, "taints": taints},
        "status": {
            "capacity": {"cpu": "64", "memory": "256Gi"},
            "allocatable": {"cpu": (8 + number % 50).to_string(), "memory": format!("{}Gi", 16 + number % 200)},
        },
    })
}

fn placement(name: &str, region: &str) -> Value {
    let labels = json!({"region": format!("region-{region}")});
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {
            "numberOfClusters": WANTED,
            "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}],
            "prioritizerPolicy": {"configurations": [
                {"scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"}, "weight": 2},
            ]},
        },
    })
}

fn decision(name: &str, clusters: &[&str]) -> Value {
    let listed: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "PlacementDecision",
        "metadata": {"name": format!("{name}-decision-1"), "namespace": "ns", "uid": format!("{name}-d"), "labels": {
            format!("{GROUP}/placement"): name,
        }},
        "status": {"decisions": listed},
    })
}
