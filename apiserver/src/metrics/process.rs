//! The `process_*` metrics, which are read from `/proc` at each scrape. Without `/proc`, they are absent.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Unit of processor times in `/proc`: Linux reports hundredths of a second, independent of the timer
/// frequency of the kernel.
const TICKS_PER_SECOND: f64 = 100.0;

/// Collector of the metrics of this process.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Some(usage) = Usage::read() else {
            return Ok(());
        };
        let cpu = encoder.encode_descriptor(
            "process_cpu_seconds",
            "Processor time used, in seconds",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(usage.cpu_seconds).encode(cpu)?;
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Resident memory in bytes",
                usage.resident_bytes,
            ),
            (
                "process_virtual_memory_bytes",
                "Virtual memory in bytes",
                usage.virtual_bytes,
            ),
            ("process_open_fds", "Open file descriptors", usage.open_files),
            (
                "process_max_fds",
                "Highest allowed number of open file descriptors",
                usage.max_files,
            ),
            (
                "process_start_time_seconds",
                "Start time of the process, in seconds since 1970",
                usage.start_time,
            ),
        ] {
            let gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(gauge)?;
        }
        Ok(())
    }
}

struct Usage {
    cpu_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    open_files: f64,
    max_files: f64,
    start_time: f64,
}

impl Usage {
    fn read() -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The second field is the program's name in parentheses and may contain spaces; the numbers begin
        // after it.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
        let system = std::fs::read_to_string("/proc/stat").ok()?;
        let files = u32::try_from(std::fs::read_dir("/proc/self/fd").ok()?.count()).ok()?;
        Some(Self {
            cpu_seconds: (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND,
            resident_bytes: number_after(&status, "VmRSS:")? * 1024.0,
            virtual_bytes: number_after(&status, "VmSize:")? * 1024.0,
            open_files: f64::from(files),
            max_files: number_after(&limits, "Max open files").unwrap_or(f64::INFINITY),
            start_time: number_after(&system, "btime")? + ticks(19)? / TICKS_PER_SECOND,
        })
    }
}

/// Returns the first number of the line that starts with `label`.
fn number_after(text: &str, label: &str) -> Option<f64> {
    text.lines()
        .find_map(|line| line.strip_prefix(label))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}
