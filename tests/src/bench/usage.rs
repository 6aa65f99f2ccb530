//! Usage of a process, from `/proc` on Linux.

use std::fs;
use std::time::Duration;

/// Clock ticks a second in `/proc/<pid>/stat`: equal on every Linux that Rust and Go programs run on.
const TICKS: f64 = 100.0;

/// Processor time that `process` has used so far, in user mode and in the kernel.
///
/// # Panics
/// When there is no such process.
#[must_use]
pub fn processor_time(process: u32) -> Duration {
    ticks(&process.to_string(), [11, 12])
}

/// Processor time of all ended child processes.
///
/// # Panics
/// Where there is no `/proc`.
#[must_use]
pub fn ended_children() -> Duration {
    ticks("self", [13, 14])
}

/// The sum of these fields after the name in a process's `stat`.
fn ticks(process: &str, fields: [usize; 2]) -> Duration {
    let file = format!("/proc/{process}/stat");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    // The program's name is in parentheses, and may contain any character.
    let (_, after) = text.rsplit_once(')').expect("stat has a name in parentheses");
    let all: Vec<&str> = after.split_whitespace().collect();
    let ticks = |index: usize| -> f64 { all[index].parse().expect("ticks are a number") };
    Duration::from_secs_f64(fields.into_iter().map(ticks).sum::<f64>() / TICKS)
}

/// Highest processor time between two checks of a process that has nothing left to do.
const IDLE: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_millis(500);

/// Waits until `process` has nothing left to do, and returns its processor time since `before`.
///
/// # Panics
/// When there is no such process.
#[must_use]
pub fn quiet_since(process: u32, before: Duration) -> Duration {
    let mut last = processor_time(process);
    loop {
        std::thread::sleep(LOOK);
        let now = processor_time(process);
        if now.saturating_sub(last) <= IDLE {
            return now.saturating_sub(before);
        }
        last = now;
    }
}

/// Waits until `process` has nothing left to do.
///
/// # Panics
/// When there is no such process.
pub fn quiet(process: u32) {
    let _used = quiet_since(process, Duration::ZERO);
}

/// The present resident memory of `process`, in MiB.
///
/// # Panics
/// When there is no such process.
#[must_use]
pub fn resident(process: u32) -> f64 {
    status(process, "VmRSS:")
}

/// The peak resident memory of `process`, in MiB.
///
/// # Panics
/// When there is no such process.
#[must_use]
pub fn most_resident(process: u32) -> f64 {
    status(process, "VmHWM:")
}

fn status(process: u32, field: &str) -> f64 {
    let file = format!("/proc/{process}/status");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next());
    let kibibytes: f64 = kibibytes
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("{file} has {field} in kB"));
    kibibytes / 1024.0
}

/// The process whose first arguments, after the program's name, are `first`, and that has `other` among the
/// rest.
#[must_use]
pub fn running(first: &str, other: &str) -> Option<u32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .find(|process| {
            // A process may end while it is read.
            let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let mut arguments = line.split('\0').skip(1);
            arguments.next() == Some(first) && arguments.any(|argument| argument == other)
        })
}

/// Load of the machine in the last minute: the load average.
#[must_use]
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|load| load.parse().ok()).unwrap_or_default()
}

/// Description of the machine: processors, their model, memory.
#[must_use]
pub fn machine() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let (processors, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let after = |text: &str, name: &str| -> Option<String> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let count = processors
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let model = after(&processors, "model name").unwrap_or_else(|| "unknown model".to_owned());
    let memory = after(&memory, "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .unwrap_or_default();
    format!(
        "{count} processors ({model}), {:.0} GiB of memory",
        memory / 1024.0 / 1024.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_sees_what_it_uses() {
        let own = std::process::id();
        let before = processor_time(own);
        let mut sum = 0u64;
        while processor_time(own) < before + Duration::from_millis(20) {
            sum = (0..100_000u64).fold(sum, |sum, next| sum ^ next.wrapping_mul(sum | 1));
        }
        assert!(processor_time(own) > before, "{sum}");
        assert!(resident(own) > 0.5 && load() >= 0.0);
        assert!(most_resident(own) >= resident(own) * 0.5);
        assert_eq!(running("no such first argument", ""), None);
    }
}
