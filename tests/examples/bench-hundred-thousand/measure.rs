//! Measurements of one world.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use berth_tests::bench::middle::median;
use berth_tests::bench::usage;
use berth_tests::{Server, berth, raw};
use http::Method;
use kube::Client;
use serde_json::Value;

use crate::worlds::{Patch, World};

/// Number of creates and of patches.
pub(crate) const TIMES: u32 = 200;
/// Reads of a report in each of three rounds, since processor time has a resolution of a hundredth of a
/// second.
const READS: u32 = 20;
/// Pause between two checks of readiness.
const LOOK: Duration = Duration::from_millis(5);

/// One figure.
pub(crate) struct Row {
    /// Name, with its unit.
    pub(crate) name: &'static str,
    /// The formatted value; a dash where it does not apply to the system.
    pub(crate) value: String,
}

/// The rows so far.
#[derive(Default)]
struct Rows(Vec<Row>);

impl Rows {
    fn add(&mut self, name: &'static str, value: String) {
        println!("  {name:<70} {value}");
        self.0.push(Row { name, value });
    }
}

/// All figures of `world`, in the order of the table, which is the same for each.
pub(crate) async fn rows(world: &World) -> Result<Vec<Row>> {
    let mut rows = Rows::default();
    let mut server = Server::start();
    let file = server.file("world.yaml", &world.file);
    load(&server, world, &file, &mut rows);
    start(&mut server, &mut rows).await;
    let client = raw::client(&server.kubeconfig()).await;
    reads(&server, &client, world, &mut rows).await?;
    writes(&server, &client, world, &mut rows).await?;
    plan(&server, world, &mut rows)?;
    let most = usage::most_resident(server.id());
    rows.add("memory at most, MiB", format!("{most:.0}"));
    Ok(rows.0)
}

fn load(server: &Server, world: &World, file: &Path, rows: &mut Rows) {
    let (begun, before) = (Instant::now(), usage::processor_time(server.id()));
    let own = usage::ended_children();
    server.load(file);
    let (took, own) = (begun.elapsed(), usage::ended_children() - own);
    let used = usage::quiet_since(server.id(), before);
    #[expect(clippy::cast_precision_loss, reason = "a count of objects")]
    let objects = world.objects as f64;
    rows.add(
        "`berth load`, objects a second",
        format!("{:.0}", objects / took.as_secs_f64()),
    );
    let each = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1_000.0 / objects);
    rows.add(
        "of that, the server's CPU ms an object, until all is decided",
        each(used),
    );
    rows.add("of that, the client's CPU ms an object", each(own));
    rows.add(
        "memory fresh after loading, MiB",
        format!("{:.0}", usage::resident(server.id())),
    );
}

/// Kills the server and starts it again.
async fn start(server: &mut Server, rows: &mut Rows) {
    server.crash();
    let begun = Instant::now();
    server.restart();
    let client = raw::client(&server.kubeconfig()).await;
    while raw::get(&client, "/readyz").await.code != 200 {
        tokio::time::sleep(LOOK).await;
    }
    let took = begun.elapsed();
    rows.add("start until ready, s", format!("{:.2}", took.as_secs_f64()));
    let used = usage::processor_time(server.id());
    rows.add("start until ready, CPU s", format!("{:.2}", used.as_secs_f64()));
    let used = usage::quiet_since(server.id(), used);
    rows.add(
        "of that start, CPU s behind it",
        format!("{:.2}", used.as_secs_f64()),
    );
    rows.add(
        "memory after a start, MiB",
        format!("{:.0}", usage::resident(server.id())),
    );
}

async fn reads(server: &Server, client: &Client, world: &World, rows: &mut Rows) -> Result<()> {
    let report = format!("{}/scheduling", world.decision);
    let size = raw::get(client, &report).await.body.len();
    rows.add("`scheduling`, CPU ms", read(server, client, &report).await?);
    #[expect(clippy::cast_precision_loss, reason = "megabytes")]
    rows.add("`scheduling`, MB", format!("{:.2}", size as f64 / 1e6));
    let counts = format!("{report}?reasons=counts&limit=10");
    rows.add(
        "`scheduling?reasons=counts&limit=10`, CPU ms",
        read(server, client, &counts).await?,
    );
    Ok(())
}

/// The median of the server's processor time for one read of `path`.
async fn read(server: &Server, client: &Client, path: &str) -> Result<String> {
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let before = usage::processor_time(server.id());
        for _ in 0..READS {
            let answer = raw::get(client, path).await;
            ensure!(
                answer.code == 200,
                "{path}: {}",
                String::from_utf8_lossy(&answer.body)
            );
        }
        let used = usage::processor_time(server.id()) - before;
        rounds.push(used.as_secs_f64() * 1_000.0 / f64::from(READS));
    }
    Ok(format!("{:.1}", median(&rounds)))
}

async fn writes(server: &Server, client: &Client, world: &World, rows: &mut Rows) -> Result<()> {
    let before = usage::processor_time(server.id());
    for number in 0..TIMES {
        let (path, object) = (world.create)(number as usize);
        let answer = raw::write(client, Method::POST, &path, &object).await;
        ensure!(
            answer.code == 201,
            "{path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
    let used = usage::quiet_since(server.id(), before);
    rows.add("create and bind one, CPU ms", each(used));
    let idle = patches(server, client, world.idle).await?;
    rows.add("a cluster's label patched that concerns nobody, CPU ms", idle);
    let some = match world.some {
        Some(patch) => patches(server, client, patch).await?,
        None => "-".to_owned(),
    };
    rows.add(
        "a cluster's label patched that concerns 20, until all is decided again, CPU ms",
        some,
    );
    Ok(())
}

fn each(used: Duration) -> String {
    format!("{:.1}", used.as_secs_f64() * 1_000.0 / f64::from(TIMES))
}

async fn patches(server: &Server, client: &Client, patch: Patch) -> Result<String> {
    let before = usage::processor_time(server.id());
    for number in 0..TIMES {
        let (path, body): (String, Value) = patch(number as usize);
        let headers = [("content-type", "application/merge-patch+json")];
        let answer = raw::send(
            client,
            Method::PATCH,
            &path,
            &headers,
            body.to_string().as_bytes(),
        )
        .await;
        ensure!(
            answer.code == 200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
    Ok(each(usage::quiet_since(server.id(), before)))
}

fn plan(server: &Server, world: &World, rows: &mut Rows) -> Result<()> {
    let drains: Vec<Value> = world
        .drained
        .iter()
        .map(|target| serde_json::json!({"drain": target}))
        .collect();
    let review = serde_json::json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "SchedulingReview",
        "metadata": {"name": "drain"}, "spec": {"changes": drains},
    });
    let file = server.file("drain.json", &review.to_string());
    let (begun, before) = (Instant::now(), usage::processor_time(server.id()));
    let output = Command::new(berth())
        .args(["plan", "-o", "json", "--kubeconfig"])
        .arg(server.kubeconfig())
        .arg("-f")
        .arg(file)
        .output()
        .context("berth runs")?;
    let took = begun.elapsed();
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let used = usage::processor_time(server.id()) - before;
    let plan: Value = serde_json::from_slice(&output.stdout)?;
    rows.add(
        "a plan that drains one cluster in twenty, s",
        format!("{:.1}", took.as_secs_f64()),
    );
    rows.add(
        "of that, the server's CPU s",
        format!("{:.1}", used.as_secs_f64()),
    );
    let plan = plan["status"].get("plan").unwrap_or(&plan);
    rows.add("decisions that it made", plan["decided"].to_string());
    let moved = plan["entries"].as_array().map_or(0, Vec::len);
    rows.add("decisions that it tells of", moved.to_string());
    Ok(())
}
