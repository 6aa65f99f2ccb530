//! An original, in a process that answers on its standard output.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A running original, which ends with this value.
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    name: String,
}

/// A decision of the original.
pub(crate) struct Decided {
    /// Time of each decision, in nanoseconds.
    pub(crate) nanoseconds: Vec<f64>,
    /// Processor time of each decision on all processors, in nanoseconds.
    pub(crate) processor: Vec<f64>,
    /// The clusters, in the original's order, with their shares where the system divides one.
    pub(crate) picked: Vec<String>,
    /// The total scores of the clusters, where the original adds scores.
    pub(crate) scores: BTreeMap<String, i64>,
}

impl Peer {
    /// Starts `program` on a fleet and waits until it has read it.
    pub(crate) fn start(program: &Path, fleet: &Path) -> Result<Self> {
        let name = program.display().to_string();
        let mut child = Command::new(program)
            .arg(fleet)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name} does not start"))?;
        let input = child.stdin.take().context("the input is piped")?;
        let output = child.stdout.take().context("the output is piped")?;
        let mut peer = Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            name,
        };
        let line = peer.line()?;
        ensure!(line == "ready", "{}: {line}", peer.name);
        Ok(peer)
    }

    fn line(&mut self) -> Result<String> {
        let line = self.output.next();
        line.with_context(|| format!("{} ended: see above", self.name))?
            .with_context(|| self.name.clone())
    }

    /// Requests `count` decisions of `placement`.
    pub(crate) fn decide(&mut self, placement: &str, count: usize) -> Result<Decided> {
        writeln!(self.input, "{placement} {count}").with_context(|| self.name.clone())?;
        let answer: Value = serde_json::from_str(&self.line()?)?;
        let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
        let decided = Decided {
            nanoseconds: list("nanoseconds").iter().filter_map(Value::as_f64).collect(),
            processor: list("processor").iter().filter_map(Value::as_f64).collect(),
            picked: list("picked")
                .iter()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
            scores: answer["scores"]
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(name, score)| Some((name.clone(), score.as_i64()?)))
                .collect(),
        };
        ensure!(decided.nanoseconds.len() == count, "{}: {answer}", self.name);
        Ok(decided)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Both fail only when it has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
