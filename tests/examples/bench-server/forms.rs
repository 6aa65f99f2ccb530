//! ConfigMaps in all forms: lists in JSON and protobuf, watches in both and as a WebSocket.
//!
//! A separate part with its own objects, which are deleted at its end, so that the other figures stay
//! comparable with earlier runs.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use berth_tests::bench::http::{Call, Connection, Protocol};
use berth_tests::bench::middle::shown;
use berth_tests::bench::table::Table;
use http::Method;

use crate::contestant::{ALL, Contestant};
use crate::feed::{Form, PROTOBUF};
use crate::figures::Figures;
use crate::settings::Settings;
use crate::watches::{self, Crowd};
use crate::work::{self, Until, repeat};

/// Watches, with their names in figures.
const WATCHES: [(&str, Form); 3] = [
    ("watch-json", Form::Json),
    ("watch-protobuf", Form::Protobuf),
    ("watch-websocket", Form::WebSocket),
];

/// Largest allowed ratio of a figure to the same figure in JSON over plain HTTP.
const GOALS: [(&str, &str, &str, f64); 4] = [
    ("list, protobuf: CPU", "list-protobuf.cpu", "list-json.cpu", 1.0),
    (
        "watch, protobuf: CPU",
        "watch-protobuf.cpu",
        "watch-json.cpu",
        1.0,
    ),
    (
        "watch, WebSocket: CPU",
        "watch-websocket.cpu",
        "watch-json.cpu",
        1.2,
    ),
    (
        "watch, WebSocket: delay",
        "watch-websocket.p50",
        "watch-json.p50",
        1.2,
    ),
];

/// Measures all contestants with ConfigMaps in turns.
pub(crate) async fn measure(
    contestants: &[Contestant],
    settings: &Settings,
    figures: &mut Figures,
    base: Instant,
) -> Result<()> {
    let mut part = Vec::new();
    for contestant in contestants {
        if let Some(core) = contestant.core(settings).await? {
            println!("{}: {} ConfigMaps", core.key, settings.objects);
            work::fill(&core, settings).await?;
            part.push(core);
        }
    }
    for number in 1..=settings.rounds {
        for contestant in &part {
            round(contestant, settings, figures, base)
                .await
                .with_context(|| contestant.key)?;
        }
        println!("forms, round {number} of {}", settings.rounds);
    }
    for contestant in &part {
        let mut connection = Connection::open(&contestant.target, Protocol::One).await?;
        let all = Call::new(Method::DELETE, contestant.path.clone(), "");
        connection.drained(&all).await?;
    }
    Ok(())
}

async fn round(
    contestant: &Contestant,
    settings: &Settings,
    figures: &mut Figures,
    base: Instant,
) -> Result<()> {
    for (name, accept) in [("list-json", None), ("list-protobuf", Some(PROTOBUF))] {
        let call = Call {
            accept,
            ..Call::get(contestant.path.clone())
        };
        let mut connection = Connection::open(&contestant.target, Protocol::One).await?;
        let size = connection.drained(&call).await?;
        ensure!(
            size > settings.objects * settings.bytes / 2,
            "{}: {name} has {size} bytes",
            contestant.key
        );
        #[expect(clippy::cast_precision_loss, reason = "megabytes")]
        figures.add(contestant.key, &format!("{name}.bytes"), size as f64);
        repeat(
            contestant,
            vec![connection],
            Until::Time(settings.time),
            move |_| call.clone(),
        )
        .await?
        .note(figures, contestant.key, name);
    }
    for (name, form) in WATCHES {
        let crowd = Crowd {
            name,
            watchers: 100,
            rate: 50,
            writes: 100,
            form,
        };
        watches::watch(contestant, crowd, figures, base).await?;
    }
    Ok(())
}

/// The tables of the measurements, and of Berth's goals.
pub(crate) fn tables(figures: &Figures) -> (Table, Table) {
    let part: Vec<_> = ALL
        .iter()
        .filter(|(key, _)| figures.median(key, "list-json.p50").is_some())
        .collect();
    let mut measured = Table::new([""].into_iter().chain(part.iter().map(|(_, heading)| *heading)));
    for (title, figure) in [
        ("list of all, JSON, ms of CPU", "list-json.cpu"),
        ("list of all, protobuf, ms of CPU", "list-protobuf.cpu"),
        ("list of all, JSON, ms", "list-json.p50"),
        ("list of all, protobuf, ms", "list-protobuf.p50"),
        ("list of all, JSON, bytes", "list-json.bytes"),
        ("list of all, protobuf, bytes", "list-protobuf.bytes"),
        ("1,000 events, JSON, ms of CPU", "watch-json.cpu"),
        ("1,000 events, protobuf, ms of CPU", "watch-protobuf.cpu"),
        ("1,000 events, WebSocket, ms of CPU", "watch-websocket.cpu"),
        ("watch, JSON, p50, ms", "watch-json.p50"),
        ("watch, protobuf, p50, ms", "watch-protobuf.p50"),
        ("watch, WebSocket, p50, ms", "watch-websocket.p50"),
    ] {
        let cell = |(key, _): &&(&str, &str)| figures.median(key, figure).map(shown).unwrap_or_default();
        measured.row([title.to_owned()].into_iter().chain(part.iter().map(cell)));
    }
    let mut goals = Table::new([
        "goal, in times of JSON over plain HTTP",
        "wanted",
        "measured",
        "met",
    ]);
    for (key, heading) in part.iter().filter(|(key, _)| key.starts_with("berth")) {
        for (what, figure, plain, most) in GOALS {
            let Some(times) = figures.quotient(key, figure, plain) else {
                continue;
            };
            let met = if times <= most { "yes" } else { "no" };
            let what = format!("{heading}: {what}");
            goals.row([what.as_str(), &format!("at most {most}"), &shown(times), met]);
        }
    }
    (measured, goals)
}
