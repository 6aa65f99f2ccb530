//! The page.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use berth_tests::bench::middle::shown;
use berth_tests::bench::table::Table;
use berth_tests::bench::usage;

use crate::fast::Fast;
use crate::fleet::{MEMBERS, Size};
use crate::world::{Published, Row};

/// All measurements.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) size: Size,
    pub(crate) time: Duration,
    /// The machine's load average before the run.
    pub(crate) load: f64,
    pub(crate) published: Published,
    pub(crate) rows: Vec<Row>,
    pub(crate) fast: Fast,
    /// The peak memory, in MiB.
    pub(crate) memory: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts")]
impl Report {
    /// Prints the report, and writes `publications.md`.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let text = self.text();
        println!("{text}");
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let page = folder.join("publications.md");
        std::fs::write(&page, &text).with_context(|| page.display().to_string())
    }

    fn text(&self) -> String {
        let (published, fast) = (self.published, self.fast);
        let mut table = Table::new([
            "one change of",
            "changes",
            "events of ClusterProfiles",
            "events of PlacementDecisions",
            "CPU ms",
        ]);
        for row in &self.rows {
            let each = |count: usize| shown(count as f64 / row.changes.max(1) as f64);
            table.row([
                row.name.to_owned(),
                row.changes.to_string(),
                each(row.profiles),
                each(row.slices),
                shown(row.used / row.changes.max(1) as f64),
            ]);
        }
        format!(
            "# What a change costs the watchers of publications\n\n\
             Made by `make bench-publications`, standalone, with a {} build on {}, whose load average was {} before.\n\n\
             - The world: {} decisions of OCM, each for three clusters of its group of sixteen, over {} ManagedClusters; {MEMBERS} MemberClusters of\n  \
             KubeFleet, all in one decision. A Publication shows all of them in one namespace.\n\
             - Events are those that a watcher of each kind received, one for each write.\n\
             - CPU is the server's own processor time for the change and everything that follows: deciding, binding, publishing, sending.\n\
             - The run fails when an object is written that the change does not concern.\n\n{}\n\
             Draining a cluster changes the decisions that had it: they get other clusters instead. A ClusterProfile has neither free memory nor \
             the time of a heartbeat.\n\n\
             **First publication.** {} ClusterProfiles and {} PlacementDecisions were published in {} s, {} s of it the server's processor time, \
             with {} events: a profile is created, then its status is written.\n\n\
             **Data that move fast.** A claim of {} clusters changed every second for {} s: {} changes. They caused {} events, {} for each cluster. \
             Two events of one cluster were at least {} s apart, and the last value was published. No decision was written. A change took {} ms of \
             processor time.\n\n\
             The most memory was {} MiB.\n",
            if cfg!(debug_assertions) {
                "development"
            } else {
                "release"
            },
            usage::machine(),
            shown(self.load),
            count(self.size.decisions),
            count(self.size.targets),
            table.markdown(),
            count(published.profiles),
            count(published.slices),
            shown(published.seconds),
            shown(published.used),
            count(published.events),
            fast.clusters,
            self.time.as_secs(),
            count(fast.changes),
            fast.events,
            shown(fast.events as f64 / fast.clusters.max(1) as f64),
            shown(fast.shortest),
            shown(fast.used / fast.changes.max(1) as f64),
            shown(self.memory),
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count")]
fn count(value: usize) -> String {
    if value < 100 {
        value.to_string()
    } else {
        shown(value as f64)
    }
}
