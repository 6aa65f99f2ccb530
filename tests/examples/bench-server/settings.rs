//! Settings in environment variables, which `make` passes on.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

/// The size of a run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Number of rounds, whose medians are the results (`BENCH_ROUNDS`).
    pub(crate) rounds: usize,
    /// Time of one operation's repetitions in a round (`BENCH_SECONDS`).
    pub(crate) time: Duration,
    /// Number of permanent objects in each store (`BENCH_OBJECTS`).
    pub(crate) objects: usize,
    /// Number of parallel clients (`BENCH_CLIENTS`).
    pub(crate) clients: usize,
    /// Bytes of one served object (`BENCH_BYTES`).
    pub(crate) bytes: usize,
    /// Number of watchers in the second, larger group (`BENCH_WATCHERS`).
    pub(crate) watchers: usize,
    /// Keys of the contestants, or empty for all (`BENCH_ONLY`).
    pub(crate) only: Vec<String>,
    /// Measured parts, `server` and `forms`, or empty for both (`BENCH_PARTS`).
    pub(crate) parts: Vec<String>,
    /// Program of another Berth as a further embedded contestant (`BENCH_OTHER`).
    pub(crate) other: Option<PathBuf>,
    /// The folder of the table and the plot (`BENCH_OUTPUT`).
    pub(crate) output: PathBuf,
}

impl Settings {
    /// Reads the environment, with the settings of the published tables as defaults.
    ///
    /// # Errors
    /// When a variable is not a number.
    pub(crate) fn read() -> Result<Self> {
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks"));
        Ok(Self {
            rounds: number("BENCH_ROUNDS", 5)?,
            time: Duration::from_secs_f64(number("BENCH_SECONDS", 1.5)?),
            objects: number("BENCH_OBJECTS", 5_000)?,
            clients: number("BENCH_CLIENTS", 16)?,
            bytes: number("BENCH_BYTES", 2_400)?,
            watchers: number("BENCH_WATCHERS", 1_000)?,
            only: words("BENCH_ONLY"),
            parts: words("BENCH_PARTS"),
            other: std::env::var_os("BENCH_OTHER").map(PathBuf::from),
            output: std::env::var_os("BENCH_OUTPUT").map_or(folder, PathBuf::from),
        })
    }

    /// Whether a contestant is measured.
    pub(crate) fn wants(&self, key: &str) -> bool {
        if key == "berth-other" {
            return self.other.is_some();
        }
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == key)
    }
}

impl Settings {
    /// Whether a part is measured.
    pub(crate) fn has_part(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == part)
    }

    /// Whether a contestant needs a hub.
    pub(crate) fn needs_hub(&self) -> bool {
        self.only.is_empty() || self.only.iter().any(|key| key != "berth")
    }
}

/// The words of a variable, separated by commas.
fn words(name: &str) -> Vec<String> {
    let text = std::env::var(name).unwrap_or_default();
    let words = text.split(',').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn number<T: FromStr>(name: &str, usual: T) -> Result<T> {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .map_err(|_not_one| anyhow!("{text:?} is no number"))
            .context(name.to_owned()),
        Err(_unset) => Ok(usual),
    }
}
