//! Gauges whose values are read from a component of the program at each scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::Metrics;

/// Labels and value of one series.
pub type Series = (Vec<(&'static str, String)>, f64);

/// Collector of the series of one gauge.
struct Gauges {
    name: &'static str,
    help: &'static str,
    read: Box<dyn Fn() -> Vec<Series> + Send + Sync>,
}

impl fmt::Debug for Gauges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Gauges").field(&self.name).finish()
    }
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let all = (self.read)();
        if all.is_empty() {
            return Ok(());
        }
        let mut family = encoder.encode_descriptor(self.name, self.help, None, MetricType::Gauge)?;
        for (labels, value) in all {
            let labels: Vec<(&str, &str)> = labels
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl Metrics {
    /// Adds a gauge. `read` returns the series at each scrape, and must be fast.
    pub fn read_at_scrape(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> Vec<Series> + Send + Sync + 'static,
    ) {
        let gauges = Gauges {
            name,
            help,
            read: Box::new(read),
        };
        self.register(|registry| registry.register_collector(Box::new(gauges)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_the_moment_are_exposed() {
        let metrics = Metrics::new();
        let labels = || vec![("a", "x".to_owned()), ("b", "y \"z\"".to_owned())];
        metrics.read_at_scrape("some_seconds", "Some", move || vec![(labels(), 1.5)]);
        metrics.read_at_scrape("no_seconds", "None", Vec::new);
        let text = metrics.render().unwrap();
        assert!(text.contains("# TYPE some_seconds gauge"), "{text}");
        assert!(
            text.contains("some_seconds{a=\"x\",b=\"y \\\"z\\\"\"} 1.5"),
            "{text}"
        );
        assert!(!text.contains("no_seconds"), "{text}");
    }
}
