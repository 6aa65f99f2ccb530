//! Two replicas over one store: one works, and the other takes over.

use super::*;
use crate::controller::{
    ElectionResult, LEASES, Leadership, LeaseDurations, LeaseElector, LockRecord, NoopObserver, ResourceLock,
};

fn lease_key() -> Key {
    Key::new(LEASES, "kube-system", "berth-controllers")
}

/// Those of Kubernetes' own controllers.
fn terms() -> LeaseDurations {
    let times = [15, 10, 2].map(Duration::from_secs);
    LeaseDurations::new(times[0], times[1], times[2]).unwrap()
}

fn lease(world: &World, identity: &str) -> Arc<LeaseElector> {
    let (source, writer) = (Arc::clone(&world.store), Arc::clone(&world.store));
    Arc::new(LeaseElector::new(
        source,
        writer,
        lease_key(),
        identity.to_owned(),
        terms(),
    ))
}

fn record(world: &World) -> Value {
    let list = world.store.cached(LEASES);
    list.get("kube-system", "berth-controllers").unwrap().parse()["spec"].clone()
}

#[tokio::test]
async fn a_lease_is_renewed_expires_and_is_given_up() {
    let world = World::default();
    let (first, second) = (lease(&world, "one"), lease(&world, "two"));
    let hold = |lease: &Arc<LeaseElector>| {
        let (lease, now) = (Arc::clone(lease), world.clock.now());
        async move { lease.hold(now).await.unwrap() }
    };
    let held = hold(&first).await;
    assert_eq!(held.until.unwrap().as_second(), 10);
    let again = held.again.as_millisecond();
    assert!(
        (2000..2400).contains(&again),
        "every two seconds, and up to a fifth later: {again}"
    );
    assert_eq!(hold(&second).await.until, None);
    assert_eq!(record(&world)["holderIdentity"], "one");
    assert_eq!(record(&world)["leaseTransitions"], 0);
    // Renewed, it holds again for its whole length.
    world.clock.advance(SignedDuration::from_secs(14));
    assert!(hold(&first).await.until.is_some());
    world.clock.advance(SignedDuration::from_secs(14));
    assert!(
        hold(&second).await.until.is_none(),
        "the second sees the renewal only now"
    );
    world.clock.advance(SignedDuration::from_secs(14));
    assert!(hold(&second).await.until.is_none());
    world.clock.advance(SignedDuration::from_secs(1));
    assert!(hold(&second).await.until.is_some());
    assert_eq!(record(&world)["holderIdentity"], "two");
    assert_eq!(record(&world)["leaseTransitions"], 1);
    assert!(hold(&first).await.until.is_none());
    // Who does not have it gives nothing up; who has it leaves it free at once.
    first.release(world.clock.now()).await.unwrap();
    assert!(hold(&first).await.until.is_none());
    second.release(world.clock.now()).await.unwrap();
    assert!(hold(&first).await.until.is_some());
    assert_eq!(record(&world)["leaseTransitions"], 2);
}

/// A record in memory that counts its reads.
#[derive(Default)]
struct CountedLock {
    record: parking_lot::Mutex<Option<LockRecord>>,
    reads: AtomicUsize,
}

#[async_trait::async_trait]
impl ResourceLock for CountedLock {
    fn place(&self) -> (&str, &str) {
        ("kube-system", "berth-controllers")
    }

    async fn read(&self) -> Result<Option<LockRecord>, berth_storage::StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.record.lock().clone())
    }

    async fn write(
        &self,
        over: Option<&LockRecord>,
        value: &Value,
    ) -> Result<Option<LockRecord>, berth_storage::StoreError> {
        let mut record = self.record.lock();
        let version = |record: Option<&LockRecord>| record.map(|record| record.version.clone());
        if version(record.as_ref()) != version(over) {
            return Ok(None);
        }
        let number: u64 = over.map_or(0, |record| record.version.parse().unwrap());
        *record = Some(LockRecord {
            version: (number + 1).to_string(),
            value: value.clone(),
        });
        Ok(record.clone())
    }
}

#[tokio::test]
async fn a_leader_renews_without_reads() {
    let lock = Arc::new(CountedLock::default());
    let lease = |identity: &str| {
        let lock = Arc::clone(&lock) as Arc<dyn ResourceLock>;
        LeaseElector::with_lock(lock, identity.to_owned(), terms())
    };
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let reads = || lock.reads.load(Ordering::Relaxed);
    let (first, second) = (lease("one"), lease("two"));
    for time in [0, 2, 4, 6] {
        assert!(first.hold(at(time)).await.unwrap().until.is_some());
    }
    assert_eq!(reads(), 1);
    // A candidate reads at each attempt.
    assert!(second.hold(at(6)).await.unwrap().until.is_none());
    assert!(second.hold(at(8)).await.unwrap().until.is_none());
    assert_eq!(reads(), 3);
    // Where the record was removed or taken over, the leader learns it from its write.
    *lock.record.lock() = None;
    assert!(first.hold(at(8)).await.unwrap().until.is_some());
    assert_eq!(reads(), 4);
    assert!(second.hold(at(8)).await.unwrap().until.is_none());
    assert!(second.hold(at(23)).await.unwrap().until.is_some());
    assert!(first.hold(at(24)).await.unwrap().until.is_none());
    assert!(first.hold(at(25)).await.unwrap().until.is_none());
    second.release(at(26)).await.unwrap();
    assert!(first.hold(at(27)).await.unwrap().until.is_some());
    assert!(second.hold(at(28)).await.unwrap().until.is_none());
}

#[tokio::test]
async fn one_of_two_replicas_works_and_the_other_takes_over() {
    let world = World::default();
    world.shelf("a", 100);
    let first = world.replica_with(lease(&world, "one"));
    first
        .counter
        .until("the first leads", |counter| {
            counter.leading.load(Ordering::Relaxed) == 1
        })
        .await;
    let second = world.replica_with(lease(&world, "two"));
    for n in 0..5 {
        first.barrier(&world, &format!("t{n}")).await;
    }
    second.engine.caught_up(world.store.revision()).await.unwrap();
    assert_eq!((first.counter.all(), second.counter.all()), (5, 0));
    assert!(first.controllers.is_leading() && !second.controllers.is_leading());
    first.controllers.stop().await;
    // The lease is given up: the second gets it the next time it looks.
    second.advance(&world, 3);
    second.barrier(&world, "later").await;
    assert!(second.controllers.is_leading());
    assert_eq!(world.inside("a"), 6);
}

/// A store that can be cut off.
struct CutOff {
    inner: Arc<LeaseElector>,
    is_cut: AtomicBool,
}

#[async_trait::async_trait]
impl LeaderElector for CutOff {
    async fn hold(&self, now: Timestamp) -> Result<ElectionResult, berth_storage::StoreError> {
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(berth_storage::StoreError::Unavailable("cut off".to_owned()));
        }
        self.inner.hold(now).await
    }
    async fn release(&self, now: Timestamp) -> Result<(), berth_storage::StoreError> {
        self.inner.release(now).await
    }
}

#[tokio::test]
async fn who_cannot_renew_stops_before_another_may_begin() {
    let world = World::default();
    world.shelf("a", 100);
    let elector = Arc::new(CutOff {
        inner: lease(&world, "one"),
        is_cut: AtomicBool::new(false),
    });
    let first = world.replica_with(Arc::clone(&elector) as Arc<dyn LeaderElector>);
    first.barrier(&world, "before").await;
    elector.is_cut.store(true, Ordering::Relaxed);
    first.advance(&world, 9);
    first.barrier(&world, "still").await;
    assert!(first.controllers.is_leading());
    first.advance(&world, 1);
    let mut leading = first.controllers.leading.clone();
    tokio::time::timeout(DEADLINE, leading.wait_for(|leads| !leads))
        .await
        .expect("it stops in time")
        .unwrap();
}

#[test]
fn the_times_of_a_lease_must_fit_together() {
    let seconds = Duration::from_secs;
    for (duration, renew, retry, said) in [
        (seconds(0), seconds(4), seconds(1), "whole seconds"),
        (
            Duration::from_millis(5500),
            seconds(4),
            seconds(1),
            "whole seconds",
        ),
        (
            seconds(5),
            seconds(5),
            seconds(1),
            "shorter than the lease duration",
        ),
        (seconds(5), seconds(4), seconds(0), "above zero"),
        (seconds(5), seconds(2), seconds(2), "with a fifth added"),
    ] {
        let problem = LeaseDurations::new(duration, renew, retry)
            .unwrap_err()
            .to_string();
        assert!(problem.contains(said), "{problem}");
    }
    assert_eq!(
        LeaseDurations::new(seconds(5), seconds(4), seconds(1)),
        Ok(LeaseDurations::default())
    );
}

#[tokio::test]
async fn who_waits_for_a_dead_holder_looks_when_the_lease_ends() {
    let world = World::default();
    let (first, second) = (lease(&world, "one"), lease(&world, "two"));
    first.hold(world.clock.now()).await.unwrap();
    let seen = second.hold(world.clock.now()).await.unwrap();
    assert!(seen.until.is_none());
    // The holder dies. Between two looks the lease ends.
    world.clock.advance(SignedDuration::from_secs(14));
    let waiting = second.hold(world.clock.now()).await.unwrap();
    assert_eq!((waiting.until, waiting.again.as_millisecond()), (None, 15_000));
    assert!(second.hold(waiting.again).await.unwrap().until.is_some());
}

#[tokio::test]
async fn a_lease_lasts_as_long_as_its_holder_states_whatever_the_settings_of_the_other_replica() {
    let lock = Arc::new(CountedLock::default());
    let lease = |identity: &str, durations| {
        let lock = Arc::clone(&lock) as Arc<dyn ResourceLock>;
        LeaseElector::with_lock(lock, identity.to_owned(), durations)
    };
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let first = lease("one", terms());
    let second = lease("two", LeaseDurations::default());
    assert!(first.hold(at(0)).await.unwrap().until.is_some());
    for time in [0, 5, 14] {
        let held = second.hold(at(time)).await.unwrap();
        assert_eq!(held.until, None, "after {time} of 15 seconds");
    }
    assert!(second.hold(at(15)).await.unwrap().until.is_some());
    assert!(first.hold(at(19)).await.unwrap().until.is_none());
    assert!(
        first.hold(at(24)).await.unwrap().until.is_some(),
        "a lease of 5 seconds"
    );
}

#[tokio::test]
async fn the_lease_of_a_dead_holder_expires_even_if_the_clock_of_the_other_replica_is_set_back() {
    let world = World::default();
    let (first, second) = (lease(&world, "one"), lease(&world, "two"));
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    first.hold(at(7200)).await.unwrap();
    for time in [7200, 3600, 3614] {
        assert_eq!(second.hold(at(time)).await.unwrap().until, None, "at {time}");
    }
    assert!(second.hold(at(3615)).await.unwrap().until.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_clock_is_set_back_renews_as_before_and_stops_in_time_if_it_cannot() {
    let world = World::default();
    world.clock.advance(SignedDuration::from_hours(2));
    let elector = Arc::new(CutOff {
        inner: lease(&world, "one"),
        is_cut: AtomicBool::new(false),
    });
    let leadership = Leadership::spawn(
        Arc::clone(&elector) as Arc<dyn LeaderElector>,
        Arc::clone(&world.clock) as Arc<dyn Clock>,
        Arc::new(NoopObserver),
    );
    let mut leading = leadership.leading();
    leading.wait_for(|leads| *leads).await.unwrap();
    world.clock.advance(SignedDuration::from_hours(-1));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(record(&world)["renewTime"], "1970-01-01T01:00:00.000000Z");
    elector.is_cut.store(true, Ordering::Relaxed);
    let start = tokio::time::Instant::now();
    tokio::time::timeout(DEADLINE, leading.wait_for(|leads| !leads))
        .await
        .expect("the clock does not move, but the time of the leadership is over")
        .unwrap();
    assert!(
        start.elapsed() <= Duration::from_millis(10_001),
        "the renew deadline is 10 s"
    );
}

/// An elector that answers once and then never.
struct Stuck(Arc<LeaseElector>, AtomicBool);

#[async_trait::async_trait]
impl LeaderElector for Stuck {
    async fn hold(&self, now: Timestamp) -> Result<ElectionResult, berth_storage::StoreError> {
        if self.1.swap(true, Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.0.hold(now).await
    }
    async fn release(&self, _: Timestamp) -> Result<(), berth_storage::StoreError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn who_hears_nothing_while_renewing_stops_when_its_own_time_is_over() {
    struct Ticking(tokio::time::Instant);
    impl Clock for Ticking {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH.checked_add(self.0.elapsed()).unwrap()
        }
    }
    let world = World::default();
    let elector = Arc::new(Stuck(lease(&world, "one"), AtomicBool::default()));
    let start = tokio::time::Instant::now();
    let leadership = Leadership::spawn(elector, Arc::new(Ticking(start)), Arc::new(NoopObserver));
    let mut leading = leadership.leading();
    leading.wait_for(|leads| *leads).await.unwrap();
    leading.wait_for(|leads| !leads).await.unwrap();
    let held = start.elapsed();
    assert!(
        held <= Duration::from_millis(10_001),
        "the renew deadline is 10 s: {held:?}"
    );
}
