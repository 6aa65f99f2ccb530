//! All contestants: started, with the same objects, ready.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use berth_tests::bench::usage;
use berth_tests::hub::{Berth, Hub};
use berth_tests::ports;
use tokio::task::block_in_place;

use crate::contestant::Contestant;
use crate::programs::{self, Program, answers};
use crate::settings::Settings;
use berth_tests::bench::http::Target;
use berth_tests::bench::object::{Make, Template};

/// Berth's ManagedClusters.
const OURS: Make = Make::Cluster("cluster.open-cluster-management.io/v1");
/// The hub's own ManagedClusters.
const CRD: Make = Make::Cluster("crd.bench.berth.dev/v1");
/// Time limit until an APIService or a CRD answers.
const SERVED: Duration = Duration::from_secs(60);

/// All running processes. Fields are dropped in this order: clients of the hub before the hub.
pub(crate) struct Field {
    /// Contestants.
    pub(crate) contestants: Vec<Contestant>,
    aggregated: Option<Berth>,
    embedded: Option<Program>,
    other: Option<Program>,
    on_etcd: Option<Program>,
    sample: Option<Program>,
    hub: Option<Hub>,
    sample_program: PathBuf,
    folder: tempfile::TempDir,
}

impl Field {
    /// Starts the configured contestants.
    pub(crate) async fn start(settings: &Settings) -> Result<Self> {
        let own = std::env::current_exe()?;
        let target = own
            .ancestors()
            .nth(3)
            .context("examples are in <target>/<profile>/examples")?;
        let mut field = Self {
            contestants: Vec::new(),
            aggregated: None,
            embedded: None,
            other: None,
            on_etcd: None,
            sample: None,
            hub: None,
            sample_program: target.join("peers/sample-apiserver"),
            folder: tempfile::Builder::new()
                .prefix("bench-server-")
                .tempdir_in(target)?,
        };
        if settings.needs_hub() {
            println!("starting etcd and kube-apiserver");
            field.hub = Some(block_in_place(Hub::start_to_measure));
        }
        field.start_kube(settings).await?;
        field.start_sample(settings).await?;
        field.start_embedded(settings).await?;
        field.start_other(settings).await?;
        field.start_on_etcd(settings).await?;
        field.start_aggregated(settings).await?;
        // In the order of tables.
        let place = |key: &str| crate::contestant::ALL.iter().position(|(one, _)| *one == key);
        field.contestants.sort_by_key(|contestant| place(contestant.key));
        Ok(field)
    }

    fn hub(&self) -> Result<&Hub> {
        self.hub
            .as_ref()
            .context("the hub is started for everybody but Berth alone")
    }

    fn process(&self, name: &str) -> Result<u32> {
        let id = self.hub()?.process_id(name);
        id.with_context(|| format!("the hub runs {name}"))
    }

    async fn add(
        &mut self,
        key: &'static str,
        target: &Target,
        make: Make,
        processes: (Vec<u32>, Option<u32>),
        settings: &Settings,
    ) -> Result<()> {
        if !settings.wants(key) {
            return Ok(());
        }
        let begun = Instant::now();
        while let Err(problem) = answers(target, &Template::path(make)).await {
            if begun.elapsed() > SERVED {
                return Err(problem.context(format!("{key} is not served")));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let contestant = Contestant::new(key, target.clone(), make, processes, settings).await?;
        self.contestants.push(contestant);
        Ok(())
    }

    async fn start_kube(&mut self, settings: &Settings) -> Result<()> {
        if !settings.wants("kube") {
            return Ok(());
        }
        block_in_place(|| programs::install_crd(self.hub()?))?;
        let target = Target::of(&self.hub()?.admin()).await?;
        let processes = (vec![self.process("kube-apiserver")?], Some(self.process("etcd")?));
        self.add("kube", &target, CRD, processes, settings).await
    }

    async fn start_sample(&mut self, settings: &Settings) -> Result<()> {
        if !settings.wants("sample") && !settings.wants("sample-aggregated") {
            return Ok(());
        }
        println!("starting sample-apiserver");
        let (hub, port) = (self.hub()?, ports::free());
        let through = Target::of(&hub.admin()).await?;
        let direct = through.at_port(port);
        let command = programs::sample(hub, &self.sample_program, port)?;
        let mut program = Program::start(command, &self.folder.path().join("sample.log"))?;
        program.wait(&direct, "/readyz").await?;
        block_in_place(|| programs::register_sample(hub, port));
        let (own, etcd) = (program.id(), Some(self.process("etcd")?));
        let both = vec![own, self.process("kube-apiserver")?];
        self.sample = Some(program);
        self.add("sample", &direct, Make::Flunder, (vec![own], etcd), settings)
            .await?;
        self.add(
            "sample-aggregated",
            &through,
            Make::Flunder,
            (both, etcd),
            settings,
        )
        .await
    }

    async fn start_embedded(&mut self, settings: &Settings) -> Result<()> {
        if !settings.wants("berth") {
            return Ok(());
        }
        println!("starting Berth, embedded");
        let (program, target) = self.alone(berth_tests::berth(), "embedded", None).await?;
        let processes = (vec![program.id()], None);
        self.embedded = Some(program);
        self.add("berth", &target, OURS, processes, settings).await
    }

    async fn start_other(&mut self, settings: &Settings) -> Result<()> {
        let Some(other) = &settings.other else {
            return Ok(());
        };
        println!("starting {}", other.display());
        let (program, target) = self.alone(other, "other", None).await?;
        let processes = (vec![program.id()], None);
        self.other = Some(program);
        self.add("berth-other", &target, OURS, processes, settings).await
    }

    async fn start_on_etcd(&mut self, settings: &Settings) -> Result<()> {
        if !settings.wants("berth-etcd") {
            return Ok(());
        }
        println!("starting Berth on etcd");
        let etcd = self.hub()?.etcd().to_owned();
        let (program, target) = self.alone(berth_tests::berth(), "on-etcd", Some(&etcd)).await?;
        let processes = (vec![program.id()], Some(self.process("etcd")?));
        self.on_etcd = Some(program);
        self.add("berth-etcd", &target, OURS, processes, settings).await
    }

    async fn alone(&self, berth: &Path, name: &str, etcd: Option<&str>) -> Result<(Program, Target)> {
        let (data, port) = (self.folder.path().join(name), ports::free());
        let log = data.with_extension("log");
        let mut program = Program::start(programs::berth(berth, &data, port, etcd), &log)?;
        let kubeconfig = data.join("admin.kubeconfig");
        program.wait_for_file(&kubeconfig).await?;
        let target = Target::of(&kubeconfig).await?;
        program.wait(&target, "/readyz").await?;
        Ok((program, target))
    }

    async fn start_aggregated(&mut self, settings: &Settings) -> Result<()> {
        if !settings.wants("berth-aggregated") {
            return Ok(());
        }
        println!("starting Berth behind the aggregator");
        let hub = self.hub()?;
        let program = block_in_place(|| Berth::install(hub, &[]));
        let target = Target::of(&hub.admin()).await?;
        let data = program.data_dir().display().to_string();
        let own = usage::running("serve", &data).context("berth serves from its folder")?;
        // Berth's store is a file: the hub's etcd is not used.
        let processes = (vec![own, self.process("kube-apiserver")?], None);
        self.aggregated = Some(program);
        self.add("berth-aggregated", &target, OURS, processes, settings)
            .await
    }

    /// Times of a program's starts until it is ready, with the objects in its store. The embedded one locks
    /// its store, and is therefore ended first; later measurements are not possible.
    pub(crate) async fn start_times(&mut self, key: &'static str) -> Result<Option<Duration>> {
        let port = ports::free();
        let data = |name: &str| self.folder.path().join(name);
        let command = match key {
            "kube" => self.hub()?.another_apiserver(port),
            "sample" => programs::sample(self.hub()?, &self.sample_program, port)?,
            "berth" => {
                self.embedded = None;
                programs::berth(berth_tests::berth(), &data("embedded"), port, None)
            }
            "berth-etcd" => programs::berth(
                berth_tests::berth(),
                &data("on-etcd"),
                port,
                Some(self.hub()?.etcd()),
            ),
            _ => return Ok(None),
        };
        let contestant = self.contestants.iter().find(|contestant| contestant.key == key);
        let target = contestant.context("it takes part")?.target.at_port(port);
        let begun = Instant::now();
        let mut program = Program::start(command, &data("start.log"))?;
        program.wait(&target, "/readyz").await?;
        Ok(Some(begun.elapsed()))
    }
}
