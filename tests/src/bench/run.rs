//! Runs of `berth` beside a hub, each as a process of its own, with seconds, processor time and memory.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::usage;

/// Interval of reads of a command's memory.
const LOOK: Duration = Duration::from_millis(5);

/// Seconds, processor seconds and MiB of one run.
pub struct Run {
    /// The duration.
    pub seconds: f64,
    /// The processor time of the process.
    pub processor: f64,
    /// The peak resident memory.
    pub memory: f64,
}

/// Runs `work`, which starts one process and waits for its end, and adds the processor time of the
/// process.
///
/// # Panics
/// Where there is no `/proc`.
pub fn of_child(work: impl FnOnce() -> Run) -> Run {
    let before = usage::ended_children();
    let run = work();
    let processor = usage::ended_children().saturating_sub(before).as_secs_f64();
    Run { processor, ..run }
}

/// Runs `berth` with the arguments in `words` to its end.
///
/// # Panics
/// When the command fails or prints nothing.
#[must_use]
pub fn command(kubeconfig: &Path, words: &str) -> Run {
    let begun = Instant::now();
    let mut child = Command::new(crate::berth())
        .args(words.split(' '))
        .env("KUBECONFIG", kubeconfig)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("berth runs");
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
    Run {
        seconds,
        processor: 0.0,
        memory,
    }
}

/// The peak memory of a process so far in MiB, or 0 where it has just ended.
fn most_resident(process: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or_default() / 1024.0
}

/// A running `berth serve`, which is terminated when it is dropped, so that the next server gets its Lease.
pub struct Serving(Child);

impl Serving {
    /// Starts `berth serve` with the identity of `kubeconfig` on a hub and waits until it serves. The run is that
    /// of the start.
    ///
    /// # Panics
    /// When it ends before it serves.
    #[must_use]
    pub fn start(kubeconfig: &Path, data: &Path, arguments: &[&str]) -> (Self, Run) {
        let log = data.with_extension("log");
        let file = File::create(&log).expect("the folder of the data is writable");
        let begun = Instant::now();
        let child = Command::new(crate::berth())
            .args(["serve", "--data-dir"])
            .arg(data)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--tls-san", "berth.berth-system.svc"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn();
        let mut serving = Self(child.expect("berth runs"));
        let output = serving.0.stdout.take().expect("the output is piped");
        let mut lines = BufReader::new(output).lines();
        let line = lines.next().and_then(Result::ok).unwrap_or_default();
        let text = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(line.contains("https://"), "{line}\n{}", text());
        let run = Run {
            seconds: begun.elapsed().as_secs_f64(),
            processor: usage::processor_time(serving.id()).as_secs_f64(),
            memory: usage::most_resident(serving.id()),
        };
        (serving, run)
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let id = self.0.id().to_string();
        // Each fails only when it has already ended.
        drop(Command::new("kill").args(["-TERM", &id]).status());
        drop(self.0.wait());
    }
}
