//! The compared servers.

use std::time::Duration;

use anyhow::Result;
use berth_tests::bench::usage;

use crate::settings::Settings;
use berth_tests::bench::http::Target;
use berth_tests::bench::object::{Make, Template};

/// Contestants, in the order of tables: key, heading.
pub(crate) const ALL: [(&str, &str); 7] = [
    ("kube", "kube-apiserver + CRD"),
    ("sample", "sample-apiserver"),
    ("sample-aggregated", "sample-apiserver, aggregated"),
    ("berth", "Berth, embedded"),
    ("berth-etcd", "Berth on etcd"),
    ("berth-aggregated", "Berth, aggregated"),
    ("berth-other", "Berth, BENCH_OTHER"),
];

/// One server with its store.
pub(crate) struct Contestant {
    /// Short and unique: one of [`ALL`].
    pub(crate) key: &'static str,
    /// Target of requests.
    pub(crate) target: Target,
    /// The path of the objects.
    pub(crate) path: String,
    /// Template of objects.
    pub(crate) template: Template,
    /// The server processes: the one with the objects, then the aggregator if there is one.
    servers: Vec<u32>,
    /// The process of the store, if it is another one.
    database: Option<u32>,
}

/// Processor time of a contestant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    /// Of the servers, including the aggregator.
    pub(crate) servers: Duration,
    /// Of the server with the objects.
    pub(crate) own: Duration,
    /// Of the database.
    pub(crate) database: Duration,
}

impl Contestant {
    /// A contestant whose objects have the configured size.
    pub(crate) async fn new(
        key: &'static str,
        target: Target,
        make: Make,
        processes: (Vec<u32>, Option<u32>),
        settings: &Settings,
    ) -> Result<Self> {
        Ok(Self {
            key,
            template: Template::fitted(make, &target, settings.bytes).await?,
            target,
            path: Template::path(make),
            servers: processes.0,
            database: processes.1,
        })
    }

    /// A copy of this contestant with ConfigMaps, which are served in protobuf as well; `None` where the hub has
    /// the ConfigMaps, and for another release of Berth, which may not have protobuf.
    pub(crate) async fn core(&self, settings: &Settings) -> Result<Option<Self>> {
        if !["kube", "berth", "berth-etcd"].contains(&self.key) {
            return Ok(None);
        }
        let processes = (self.servers.clone(), self.database);
        let make = Make::ConfigMap;
        Self::new(self.key, self.target.clone(), make, processes, settings)
            .await
            .map(Some)
    }

    /// Processor time of the processes so far.
    pub(crate) fn used(&self) -> Used {
        Used {
            servers: self.servers.iter().copied().map(usage::processor_time).sum(),
            own: self
                .servers
                .first()
                .copied()
                .map(usage::processor_time)
                .unwrap_or_default(),
            database: self.database.map(usage::processor_time).unwrap_or_default(),
        }
    }

    /// Present memory of the servers, in MiB.
    pub(crate) fn memory(&self) -> f64 {
        self.servers.iter().copied().map(usage::resident).sum()
    }

    /// Peak memory of the servers, in MiB.
    pub(crate) fn most_memory(&self) -> f64 {
        self.servers.iter().copied().map(usage::most_resident).sum()
    }

    /// Present memory of the database, in MiB.
    pub(crate) fn database_memory(&self) -> f64 {
        self.database.map(usage::resident).unwrap_or_default()
    }
}

impl Used {
    /// Processor time since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            servers: self.servers.saturating_sub(before.servers),
            own: self.own.saturating_sub(before.own),
            database: self.database.saturating_sub(before.database),
        }
    }
}
