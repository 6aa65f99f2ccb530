//! Lists: all objects in one request over both versions of HTTP, compressed, in four parallel requests, in
//! pages, and one object by label.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use berth_tests::bench::middle::millis;
use bytes::Bytes;
use memchr::memmem;
use tokio::task::JoinSet;

use crate::contestant::Contestant;
use crate::figures::Figures;
use crate::settings::Settings;
use crate::work::{Until, repeat};
use berth_tests::bench::http::{Call, Connection, Protocol};
use berth_tests::bench::object::SERIAL;

/// Objects per page.
const PAGE: usize = 500;
/// Number of parallel lists in the measurement of memory.
const AT_ONCE: usize = 4;
/// The pause between two reads of the memory.
const LOOK: Duration = Duration::from_millis(5);

/// Measures all lists.
pub(crate) async fn lists(contestant: &Contestant, settings: &Settings, figures: &mut Figures) -> Result<()> {
    let all = Call::get(contestant.path.clone());
    let gzip = Call {
        gzip: true,
        ..all.clone()
    };
    for (name, protocol, call) in [
        ("list", Protocol::One, &all),
        ("list-h2", Protocol::Two, &all),
        ("list-gzip", Protocol::One, &gzip),
    ] {
        let mut connection = Connection::open(&contestant.target, protocol).await?;
        let size = connection.drained(call).await?;
        let least = if call.gzip {
            1
        } else {
            settings.objects * settings.bytes / 2
        };
        ensure!(size > least, "{}: the list has {size} bytes", contestant.key);
        #[expect(clippy::cast_precision_loss, reason = "megabytes")]
        figures.add(contestant.key, &format!("{name}.bytes"), size as f64);
        let call = call.clone();
        repeat(
            contestant,
            vec![connection],
            Until::Time(settings.time),
            move |_| call.clone(),
        )
        .await?
        .note(figures, contestant.key, name);
    }
    at_once(contestant, &all, figures).await?;
    pages(contestant, settings, figures).await?;
    by_label(contestant, settings, figures).await
}

/// Measures parallel lists: the time until all are complete, and the additional memory of the servers
/// meanwhile.
async fn at_once(contestant: &Contestant, all: &Call, figures: &mut Figures) -> Result<()> {
    let mut lists = JoinSet::new();
    let mut connections = Connection::several(&contestant.target, AT_ONCE).await?;
    let (before, begun) = (contestant.memory(), Instant::now());
    while let Some(mut connection) = connections.pop() {
        let call = all.clone();
        lists.spawn(async move { connection.drained(&call).await });
    }
    let mut most = before;
    let mut looks = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            done = lists.join_next() => match done {
                Some(done) => drop(done??),
                None => break,
            },
            _ = looks.tick() => most = most.max(contestant.memory()),
        }
    }
    figures.add(contestant.key, "list-four.p50", millis(begun.elapsed()));
    figures.add(contestant.key, "list-four.growth", most - before);
    Ok(())
}

/// Measures repeated lists of all objects in pages.
async fn pages(contestant: &Contestant, settings: &Settings, figures: &mut Figures) -> Result<()> {
    let mut connection = Connection::open(&contestant.target, Protocol::One).await?;
    let (used, begun) = (contestant.used(), Instant::now());
    let mut walks = 0;
    while walks == 0 || begun.elapsed() < settings.time {
        let mut more = String::new();
        let mut seen = 0;
        loop {
            let path = format!("{}?limit={PAGE}{more}", contestant.path);
            let page = connection.read(&Call::get(path)).await?;
            seen += memmem::find_iter(&page, SERIAL).count();
            match token(&page) {
                Some(token) => more = format!("&continue={token}"),
                None => break,
            }
        }
        // With managed fields, each object contains the label twice.
        ensure!(
            seen >= settings.objects,
            "{}: pages show {seen} objects",
            contestant.key
        );
        walks += 1;
    }
    let used = contestant.used().since(used);
    figures.add(
        contestant.key,
        "pages.p50",
        millis(begun.elapsed()) / walks as f64,
    );
    figures.add(
        contestant.key,
        "pages.cpu",
        millis(used.servers + used.database) / walks as f64,
    );
    Ok(())
}

/// The continue token of a page.
fn token(page: &Bytes) -> Option<&str> {
    const BEFORE: &[u8] = br#""continue":""#;
    let start = memmem::find(page, BEFORE)? + BEFORE.len();
    let length = page[start..].iter().position(|&byte| byte == b'"')?;
    let token = std::str::from_utf8(&page[start..start + length]).ok()?;
    (!token.is_empty()).then_some(token)
}

/// Measures a list of one object by label.
async fn by_label(contestant: &Contestant, settings: &Settings, figures: &mut Figures) -> Result<()> {
    let (path, objects) = (contestant.path.clone(), settings.objects);
    let select = move |number: usize| {
        let serial = number * 7 % objects;
        Call::get(format!(
            "{path}?labelSelector={}%3Ds{serial:05}",
            SERIAL.replace('/', "%2F")
        ))
    };
    let mut connection = Connection::open(&contestant.target, Protocol::One).await?;
    let answer = connection.read(&select(1)).await?;
    let list: serde_json::Value = serde_json::from_slice(&answer)?;
    let items = list["items"].as_array().context("a list has items")?;
    ensure!(
        items.len() == 1,
        "{}: the selector finds {}",
        contestant.key,
        items.len()
    );
    repeat(
        contestant,
        vec![connection],
        Until::Time(settings.time / 2),
        select,
    )
    .await?
    .note(figures, contestant.key, "select");
    Ok(())
}
