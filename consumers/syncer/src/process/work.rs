//! Work of a session: the known objects, due keys, and running steps.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use berth_dialect_kcp::syncer_view::registration::Owner;
use berth_dialect_kcp::syncer_view::step::Step;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::act::{CopyWrite, StepExecutor};
use super::ends::{Connections, Side};
use super::follow::{Observation, ObservationContent};
use super::identity::IdentityCheck;
use super::kinds::{SyncedKind, SyncedKinds};
use super::leftovers::{Leftover, SearchResult};
use super::list_check::ListCheck;
use super::mirrors::{Key, Mirrors, Plan};
use super::problems::Problems;
use super::queue::Queue;
use super::undone::{self, LastWrites};

/// Highest number of steps that run at once.
const PARALLEL: usize = 8;
/// The problem of an object whose downstream copy other clients change back or delete.
const UNDONE: &str =
    "another client of the workload cluster reverts the change; the syncer repeats it with growing delays";

/// The outcome of a step that was carried out.
pub(super) struct StepOutcome {
    /// The report that the step made.
    report: Option<Report>,
    /// The fingerprint of the step, if it writes a copy downstream.
    fingerprint: Option<(&'static str, String)>,
    /// The write of the copy.
    write: Option<CopyWrite>,
}

/// A report of an object's status.
#[derive(Debug, PartialEq)]
pub(super) struct Report {
    /// The uid of the object upstream. Another object with its name has another uid, and needs its own
    /// report.
    uid: Value,
    status: Value,
}

impl Report {
    /// The report that `step` makes; `None` for other steps.
    fn of(step: &Step) -> Option<Self> {
        let Step::Report(object) = step else {
            return None;
        };
        Some(Self {
            uid: object["metadata"]["uid"].clone(),
            status: object.get("status")?.clone(),
        })
    }
}

/// The work of a session: known objects, due keys and running steps.
pub(super) struct Work {
    mirrors: Mirrors,
    pub(super) queue: Queue,
    executor: Arc<StepExecutor>,
    /// Check of the lists of the view, before steps follow from them.
    pub(super) list_check: ListCheck,
    pub(super) running: JoinSet<(Key, Result<StepOutcome>)>,
    /// The last report of this syncer for each object. The status is reported again only after it has
    /// changed, so that the syncers of several clusters do not overwrite each other's reports in turn.
    reported: HashMap<Key, Report>,
    /// Problems that are reported to the hub.
    pub(super) problems: Arc<Mutex<Problems>>,
    last_writes: LastWrites,
    /// Objects that the hub does not show and that have a copy of an earlier registration, with the time at
    /// which the copy was first found.
    leftovers: HashMap<Key, Instant>,
    /// Time after which copies of earlier registrations are removed if the hub does not show their objects.
    remove_after: Duration,
    /// Copies of earlier registrations to remove.
    removals: HashMap<Key, Leftover>,
}

impl Work {
    /// The work of a new session whose copies belong to `owner`.
    pub(super) fn new(
        owner: &Owner,
        synced: &SyncedKinds,
        connections: &Connections,
        remove_after: Duration,
    ) -> Self {
        let executor = StepExecutor {
            owner: owner.clone(),
            identity: IdentityCheck::new(connections.hub.clone(), &connections.target, &owner.identifier),
            view: berth_client::Client::new(connections.view.clone()),
            cluster: berth_client::Client::new(connections.cluster.clone()),
        };
        let names = synced.kinds.iter().map(SyncedKind::name).collect();
        let problems = Problems::new(names, synced.unknown.clone());
        Self {
            mirrors: Mirrors::new(owner.clone(), &synced.kinds),
            queue: Queue::default(),
            executor: Arc::new(executor),
            list_check: ListCheck::default(),
            running: JoinSet::new(),
            reported: HashMap::new(),
            problems: Arc::new(Mutex::new(problems)),
            last_writes: LastWrites::default(),
            leftovers: HashMap::new(),
            remove_after,
            removals: HashMap::new(),
        }
    }

    /// Token that is cancelled once a step finds that the WorkloadCluster was replaced.
    pub(super) fn replaced(&self) -> CancellationToken {
        self.executor.identity.replaced()
    }

    /// Whether the objects of all kinds that can be watched are known. Before, the session sends no
    /// heartbeats.
    pub(super) fn is_under_way(&self) -> bool {
        let problems = self.problems.lock();
        self.mirrors
            .is_complete_except(|kind, side| problems.is_lost(kind, side))
    }

    /// Applies an observation, and all others that have arrived.
    pub(super) fn apply(&mut self, first: Observation, more: &mut mpsc::Receiver<Observation>) {
        let mut next = Some(first);
        while let Some(observation) = next {
            let (kind, side) = (observation.kind, observation.side);
            let problem = match &observation.content {
                ObservationContent::Failed(problem) => Some(problem.clone()),
                _ => None,
            };
            if side == Side::Up && matches!(observation.content, ObservationContent::End) {
                self.list_check.record_list();
            }
            for key in self.mirrors.apply(observation) {
                self.queue.add(key);
            }
            // A list that has only begun may still fail.
            if problem.is_some() || !self.mirrors.is_listing(kind, side) {
                self.problems.lock().record_watch(kind, side, problem);
            }
            next = more.try_recv().ok();
        }
        self.problems.lock().record_shown(self.mirrors.upstream_count());
    }

    /// Records copies of earlier registrations. Steps take over copies of objects that the hub shows; the
    /// other copies are removed after a while.
    pub(super) fn record_leftovers(&mut self, found: SearchResult) {
        let (names, now) = (found.unproven.keys().cloned().collect::<Vec<_>>(), Instant::now());
        if self.problems.lock().record_unproven(found.unproven) && !names.is_empty() {
            tracing::warn!(
                identifiers = names.join(","),
                "the cluster has namespaces that another WorkloadCluster's syncer created; --adopt takes over those of an earlier \
                 registration"
            );
        }
        // Copies of a kind that could not be listed this time may still exist.
        let mut since = self.leftovers.clone();
        since.retain(|key, _| found.unlisted.contains_key(&key.kind));
        for leftover in found.earlier {
            let key = leftover.key.clone();
            if self.mirrors.exists_upstream(&key) != Some(false) {
                continue;
            }
            let first = self.leftovers.get(&key).copied().unwrap_or(now);
            since.insert(key.clone(), first);
            if now - first >= self.remove_after {
                self.removals.insert(key.clone(), leftover);
                self.queue.add(key);
            }
        }
        self.leftovers = since;
    }

    /// Plans the step for `key`. A copy of an earlier registration gets the mark of this registration if the
    /// hub still does not show the object. The copy is then removed like every marked object that the hub
    /// does not show.
    fn plan(&mut self, key: &Key) -> Option<Plan> {
        let leftover = self.removals.remove(key);
        let Some(leftover) = leftover.filter(|_| self.mirrors.exists_upstream(key) == Some(false)) else {
            return self.mirrors.plan(key, Instant::now());
        };
        let (resource, namespace, name) = (self.mirrors.kind(key.kind).name(), &key.namespace, &key.name);
        tracing::info!(
            resource,
            namespace,
            name,
            "removes a copy of an earlier registration, which the hub does not show"
        );
        Some(Plan {
            step: Step::Update(self.executor.owner.marked(&leftover.object)),
            down: leftover.down,
        })
    }

    /// Starts steps that are due, as many as may run at once; none while a list of the view is not confirmed.
    pub(super) fn start_steps(&mut self) {
        if !self.list_check.is_confirmed(&self.executor) {
            return;
        }
        while self.running.len() < PARALLEL
            && let Some(key) = self.queue.take()
        {
            let Some(plan) = self.plan(&key) else {
                // The key is due again when more is known.
                self.queue.done(key);
                continue;
            };
            let forgets = match &plan.step {
                Step::Release(_) => true,
                Step::Rest => self.mirrors.is_gone(&key, &plan.down),
                _ => false,
            };
            if forgets {
                self.reported.remove(&key);
                self.last_writes.forget(&key);
                self.mirrors.record_form(&key, None, Instant::now());
                self.problems.lock().forget(&key);
            }
            let report = Report::of(&plan.step);
            if report.is_some() && self.reported.get(&key) == report.as_ref() {
                self.problems.lock().forget_lasting(&key);
                self.queue.done(key);
                continue;
            }
            if let Some(at) = self.last_writes.delay_end(&key, &plan.step, Instant::now()) {
                self.queue.retry_at(key, at);
                continue;
            }
            let (executor, kind) = (Arc::clone(&self.executor), self.mirrors.kind(key.kind).clone());
            tracing::debug!(
                resource = kind.name(),
                namespace = key.namespace,
                name = key.name,
                step = plan.step.name(),
                "carries out a step"
            );
            let fingerprint = undone::fingerprint(&plan.step);
            self.running.spawn(async move {
                let outcome = executor.execute(&kind, &key, plan).await;
                let outcome = outcome.map(|write| StepOutcome {
                    report,
                    fingerprint,
                    write,
                });
                (key, outcome)
            });
        }
    }

    /// Records the outcome of a step.
    pub(super) fn record_outcome(&mut self, (key, outcome): (Key, Result<StepOutcome>)) {
        let problem = match outcome {
            Ok(StepOutcome {
                report,
                fingerprint,
                write,
            }) => {
                // An update without an effect repeats nothing that another client has undone.
                let is_effective = write.as_ref().is_none_or(|write| write.is_effective);
                let now = Instant::now();
                let is_news = write.is_some_and(|write| self.mirrors.record_form(&key, write.form, now));
                let written = fingerprint.filter(|_| is_effective);
                let writes = written.is_some();
                let repetitions = self.last_writes.record(&key, written, now);
                if let Some(report) = report {
                    self.reported.insert(key.clone(), report);
                }
                self.queue.done(key.clone());
                // No watch shows an update without an effect. What follows from its form, such as a report,
                // is the next step.
                if is_news && !is_effective {
                    self.queue.add(key.clone());
                }
                match repetitions {
                    Some(_) => (UNDONE.to_owned(), Some(undone::KEPT_AFTER)),
                    None => {
                        let mut problems = self.problems.lock();
                        // Steps that do not write downstream say nothing about whether the last write
                        // stays.
                        match writes {
                            true => problems.forget(&key),
                            false => problems.forget_lasting(&key),
                        }
                        return;
                    }
                }
            }
            Err(problem) => {
                let failures = self.queue.retry_failed(key.clone(), Instant::now());
                // A first failure is mostly due to another write in between.
                if failures < 2 {
                    return;
                }
                (format!("{problem:#}"), None)
            }
        };
        self.record_problem(&key, problem);
    }

    /// Records the problem of `key`, and logs it if it is new.
    fn record_problem(&self, key: &Key, (text, duration): (String, Option<Duration>)) {
        if self.problems.lock().record(key, text.clone(), duration) {
            let resource = self.mirrors.kind(key.kind).name();
            let (namespace, name) = (&key.namespace, &key.name);
            tracing::warn!(
                resource,
                namespace,
                name,
                problem = text,
                "cannot sync an object; retrying"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Timestamp;
    use berth_client::Client;
    use berth_dialect_kcp::syncer_view::copy::copy;
    use berth_dialect_kcp::syncer_view::downstream_namespace;
    use http::Method;
    use serde_json::json;

    use super::super::testing::{config_maps, key, owner_of_copies, server};
    use super::*;

    fn connections(hub: Client, cluster: kube::Client) -> Connections {
        Connections {
            target: "east".to_owned(),
            view: hub.connection(),
            cluster,
            hub,
        }
    }

    /// Namespaces, for which ConfigMaps stand, and `kind`.
    fn synced(kind: SyncedKind) -> SyncedKinds {
        SyncedKinds {
            kinds: vec![config_maps(), kind],
            unknown: Vec::new(),
        }
    }

    #[tokio::test]
    async fn an_update_without_an_effect_is_none_that_another_client_reverts() {
        let (hub, _) = server(200, &json!({}));
        let cluster = hub.connection();
        let connections = connections(hub, cluster);
        let synced = synced(config_maps());
        for is_effective in [false, true] {
            let mut work = Work::new(&owner_of_copies(), &synced, &connections, Duration::ZERO);
            for _ in 0..5 {
                let outcome = StepOutcome {
                    report: None,
                    fingerprint: Some(("Update", "hash".to_owned())),
                    write: Some(CopyWrite {
                        is_effective,
                        form: None,
                    }),
                };
                work.record_outcome((key(), Ok(outcome)));
            }
            let condition = work.problems.lock().condition();
            let conditions = condition.set_in(&Value::Null, Timestamp::UNIX_EPOCH).unwrap();
            let expected = if is_effective { "False" } else { "True" };
            assert_eq!(conditions[0]["status"], expected);
        }
    }

    /// Applies a list with one object.
    fn list(work: &mut Work, side: Side, kind: usize, object: Value) {
        let (_, mut more) = mpsc::channel(1);
        for content in [
            ObservationContent::Begin,
            ObservationContent::Object(Arc::new(object)),
            ObservationContent::End,
        ] {
            work.apply(Observation { side, kind, content }, &mut more);
        }
    }

    /// Waits for the check of the lists, and starts steps.
    async fn check_lists(work: &mut Work) {
        work.start_steps();
        assert!(work.running.is_empty(), "the lists are not confirmed");
        let end = work.list_check.ended().await.unwrap().unwrap();
        work.list_check.record(end);
        work.start_steps();
    }

    #[tokio::test]
    async fn no_step_follows_from_a_list_before_the_hub_confirms_the_workload_cluster() {
        for (code, uid, is_confirmed, is_replaced) in [
            (200, "u-1", true, false),
            (200, "u-2", false, true),
            (403, "", false, false),
        ] {
            let (hub, _) = server(code, &json!({"metadata": {"name": "east", "uid": uid}}));
            let cluster = hub.connection();
            let connections = connections(hub, cluster);
            let synced = synced(config_maps());
            let owner = owner_of_copies();
            let mut work = Work::new(&owner, &synced, &connections, Duration::ZERO);
            list(&mut work, Side::Down, 0, owner.namespace_copy("app"));
            list(&mut work, Side::Up, 0, json!({"metadata": {"name": "app"}}));
            check_lists(&mut work).await;
            assert_eq!(!work.running.is_empty(), is_confirmed, "{code} {uid}");
            assert_eq!(work.replaced().is_cancelled(), is_replaced, "{code} {uid}");
            list(&mut work, Side::Up, 0, json!({"metadata": {"name": "app"}}));
            assert!(
                !work.list_check.is_confirmed(&work.executor),
                "each list is confirmed"
            );
        }
    }

    #[tokio::test]
    async fn an_update_without_an_effect_is_followed_by_the_report_that_its_form_allows() {
        let up = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"cpu": 0.5}, "metadata": {
            "name": "a", "namespace": "app", "uid": "u", "resourceVersion": "2", "finalizers": ["workloads.kcp.dev/syncer-u-1"]}});
        let mut stored = copy("u-1", &up, &downstream_namespace("root", "app"));
        stored["spec"]["cpu"] = "500m".into();
        stored["metadata"]["resourceVersion"] = "3".into();
        stored["status"] = json!({"readyReplicas": 1});
        let (hub, at_hub) = server(200, &json!({"metadata": {"name": "east", "uid": "u-1"}}));
        let (cluster, at_cluster) = server(200, &stored);
        let connections = connections(hub, cluster.connection());
        let reporting = SyncedKind {
            reports: true,
            ..config_maps()
        };
        let synced = synced(reporting);
        let owner = owner_of_copies();
        let mut work = Work::new(&owner, &synced, &connections, Duration::ZERO);
        list(&mut work, Side::Up, 0, json!({"metadata": {"name": "app"}}));
        list(&mut work, Side::Down, 0, owner.namespace_copy("app"));
        list(&mut work, Side::Up, 1, up);
        list(&mut work, Side::Down, 1, stored);
        check_lists(&mut work).await;
        while let Some(ended) = work.running.join_next().await {
            work.record_outcome(ended.unwrap());
            work.start_steps();
        }
        assert_eq!(*at_cluster.lock(), [Method::PUT], "one write tells the form");
        assert_eq!(
            *at_hub.lock(),
            [Method::GET, Method::PUT],
            "the check and the report"
        );
    }

    #[test]
    fn a_report_for_a_recreated_object_is_another_report() {
        let report = |uid: &str, status: &str| {
            let object = json!({"metadata": {"name": "a", "uid": uid}, "status": {"phase": status}});
            Report::of(&Step::Report(object)).unwrap()
        };
        assert_eq!(report("u-1", "Ready"), report("u-1", "Ready"));
        assert_ne!(report("u-1", "Ready"), report("u-1", "Failed"));
        assert_ne!(report("u-1", "Ready"), report("u-2", "Ready"));
        assert_eq!(Report::of(&Step::Rest), None);
    }
}
