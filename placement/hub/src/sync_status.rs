//! State of the copies from the hub, by system. While copies of a system are missing, the engine decides
//! nothing for this system. People can read the reason in [`SyncStatus::sentences`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::GroupResource;
use berth_dialect_contract::config;
use berth_engine::Engine;
use parking_lot::RwLock;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::mirror::{CopyProgress, Progress};

/// Resources of the hub that one system needs.
#[derive(Clone, Debug)]
pub struct Requirements {
    /// The dialect.
    pub dialect: &'static str,
    /// All resources of the hub on which the dialect's decisions depend.
    pub reads: BTreeSet<GroupResource>,
    /// Resources without which nothing can be decided: the first kind of demands, and the targets.
    pub essential: BTreeSet<GroupResource>,
}

/// The reason why nothing is decided for a system, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncObstacle {
    /// Some objects of the system are not copied yet.
    Waiting(String),
    /// The hub serves no kind that is essential for the system. Decisions are not held then, since there is
    /// nothing to decide.
    NotServed(String),
    /// The hub serves only some of the kinds that are essential for the system. Decisions are not held, since
    /// there is nothing to decide, or nothing to choose from.
    PartlyServed(String),
}

impl SyncObstacle {
    fn text(&self) -> &str {
        match self {
            Self::Waiting(text) | Self::NotServed(text) | Self::PartlyServed(text) => text,
        }
    }
}

/// The reason why nothing is decided for the system of `requirements`; `None` if its resources are copied,
/// and the essential ones are served. `progress` is the state of all copies.
fn find_obstacle(requirements: &Requirements, progress: &Progress) -> Option<SyncObstacle> {
    let mut problems = BTreeSet::new();
    let mut waiting = Vec::new();
    for resource in &requirements.reads {
        if let Some(CopyProgress::Waiting(problem)) = progress.get(resource) {
            waiting.push(resource.to_string());
            problems.extend(problem.clone());
        }
    }
    if !waiting.is_empty() {
        let mut text = format!("still waiting for the hub's {}", waiting.join(", "));
        for problem in problems {
            text = format!("{text}: {problem}");
        }
        return Some(SyncObstacle::Waiting(text));
    }
    let is_absent = |resource: &&GroupResource| progress.get(*resource) == Some(&CopyProgress::Absent);
    let (absent, served): (Vec<&GroupResource>, Vec<&GroupResource>) =
        requirements.essential.iter().partition(is_absent);
    if absent.is_empty() {
        return None;
    }
    let names: Vec<String> = absent.iter().map(ToString::to_string).collect();
    let text = format!("idle, since the hub does not have {}", names.join(", "));
    // Every hub has Kubernetes' own kinds, such as the namespaces that kcp places.
    match served.iter().all(|resource| resource.group.is_empty()) {
        true => Some(SyncObstacle::NotServed(text)),
        false => Some(SyncObstacle::PartlyServed(text)),
    }
}

/// Whether the configuration of a system on the hub is unknown, since the SchedulerConfigurations are not
/// copied yet. Another scheduler may then decide for the system.
fn is_unconfigured(requirements: &Requirements, progress: &Progress) -> bool {
    let configurations = progress.get(&config::RESOURCE);
    !requirements.essential.is_empty() && matches!(configurations, Some(CopyProgress::Waiting(_)))
}

/// The obstacles to decisions of all systems.
pub struct SyncStatus {
    obstacles: RwLock<Vec<(&'static str, SyncObstacle)>>,
    requirements: Vec<Requirements>,
}

impl SyncStatus {
    /// Starts to report the state of each system in `requirements` to `engine`, whenever `progress` changes.
    pub fn follow(
        requirements: Vec<Requirements>,
        engine: &Arc<Engine>,
        mut progress: watch::Receiver<Progress>,
    ) -> (Arc<Self>, JoinHandle<()>) {
        let sync_status = Arc::new(Self {
            obstacles: RwLock::default(),
            requirements,
        });
        // The first state is reported at once, so that no decision comes before it.
        sync_status.update(engine, &progress.borrow_and_update());
        let (status, engine) = (Arc::clone(&sync_status), Arc::clone(engine));
        let task = tokio::spawn(async move {
            while progress.changed().await.is_ok() {
                let now = progress.borrow_and_update().clone();
                status.update(&engine, &now);
            }
        });
        (sync_status, task)
    }

    fn update(&self, engine: &Engine, progress: &Progress) {
        let mut obstacles = Vec::new();
        for requirements in &self.requirements {
            let obstacle = find_obstacle(requirements, progress);
            let why = match &obstacle {
                Some(SyncObstacle::Waiting(text)) => Some(text.clone()),
                _ => None,
            };
            // The configuration is marked as unknown before the dialect is released.
            engine.set_unconfigured(requirements.dialect, is_unconfigured(requirements, progress));
            let is_held = engine.complete(requirements.dialect).is_err();
            if is_held != why.is_some() || why.is_some() {
                engine.hold(requirements.dialect, why);
            }
            obstacles.extend(obstacle.map(|obstacle| (requirements.dialect, obstacle)));
        }
        *self.obstacles.write() = obstacles;
    }

    /// One sentence for each system for which nothing is decided.
    pub fn sentences(&self) -> Vec<String> {
        let obstacles = self.obstacles.read();
        let sentences = obstacles
            .iter()
            .map(|(dialect, obstacle)| format!("{dialect}: {}", obstacle.text()));
        sentences.collect()
    }

    /// The reason why the health check of `dialect` fails: the decisions are held, or a part of the system is
    /// missing. A system that the hub does not have is idle, and healthy.
    pub fn problem(&self, dialect: &str) -> Option<String> {
        let obstacles = self.obstacles.read();
        obstacles.iter().find_map(|(name, obstacle)| match obstacle {
            SyncObstacle::Waiting(text) | SyncObstacle::PartlyServed(text) if *name == dialect => {
                Some(text.clone())
            }
            _ => None,
        })
    }
}

/// Waits, at most `limit`, until each resource in `progress` is copied, absent, or delayed by a problem, so
/// that the first answers are complete where the hub answers quickly.
pub async fn settled(mut progress: watch::Receiver<Progress>, limit: Duration) {
    let is_settled = |progress: &Progress| {
        let mut all = progress.values();
        all.all(|copy_progress| !matches!(copy_progress, CopyProgress::Waiting(None)))
    };
    // A missing copy is reported later, by the requests that need it.
    drop(tokio::time::timeout(limit, progress.wait_for(is_settled)).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: GroupResource = GroupResource::new("core.gardener.cloud", "seeds");
    const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");

    fn gardener() -> Requirements {
        Requirements {
            dialect: "gardener",
            reads: [SEEDS, NAMESPACES].into(),
            essential: [SEEDS].into(),
        }
    }

    fn obstacle(seeds: CopyProgress, namespaces: CopyProgress) -> Option<SyncObstacle> {
        find_obstacle(&gardener(), &[(SEEDS, seeds), (NAMESPACES, namespaces)].into())
    }

    #[test]
    fn a_system_is_waited_for_with_the_reason() {
        let forbidden = CopyProgress::Waiting(Some("forbidden".to_owned()));
        let text = "still waiting for the hub's seeds.core.gardener.cloud: forbidden".to_owned();
        assert_eq!(
            obstacle(forbidden, CopyProgress::Complete),
            Some(SyncObstacle::Waiting(text))
        );
    }

    #[test]
    fn a_system_of_the_hub_is_in_doubt_until_the_configurations_are_copied() {
        let doubted = |requirements: &Requirements, copy_progress: CopyProgress| {
            is_unconfigured(
                requirements,
                &[(SEEDS, CopyProgress::Complete), (config::RESOURCE, copy_progress)].into(),
            )
        };
        assert!(doubted(&gardener(), CopyProgress::Waiting(None)));
        assert!(doubted(
            &gardener(),
            CopyProgress::Waiting(Some("forbidden".to_owned()))
        ));
        assert!(!doubted(&gardener(), CopyProgress::Complete) && !doubted(&gardener(), CopyProgress::Absent));
        let owned = Requirements {
            essential: BTreeSet::new(),
            ..gardener()
        };
        assert!(
            !doubted(&owned, CopyProgress::Waiting(None)),
            "nobody else decides it"
        );
    }

    #[test]
    fn a_system_the_hub_does_not_have_is_idle() {
        let text = "idle, since the hub does not have seeds.core.gardener.cloud".to_owned();
        assert_eq!(
            obstacle(CopyProgress::Absent, CopyProgress::Complete),
            Some(SyncObstacle::NotServed(text))
        );
        assert_eq!(obstacle(CopyProgress::Complete, CopyProgress::Absent), None);
        assert_eq!(obstacle(CopyProgress::Complete, CopyProgress::Complete), None);
    }

    #[test]
    fn an_idle_system_is_named_and_healthy_and_one_with_a_missing_part_is_not() {
        let idle = SyncObstacle::NotServed("idle".to_owned());
        let waiting = SyncObstacle::Waiting("still waiting".to_owned());
        let partly = SyncObstacle::PartlyServed("no clusters".to_owned());
        let status = SyncStatus {
            obstacles: RwLock::new(vec![("fleet", idle), ("gardener", waiting), ("karmada", partly)]),
            requirements: Vec::new(),
        };
        assert_eq!(status.problem("fleet"), None);
        assert_eq!(status.problem("gardener").as_deref(), Some("still waiting"));
        assert_eq!(status.problem("karmada").as_deref(), Some("no clusters"));
        assert_eq!(status.problem("ocm"), None);
        let sentences = ["fleet: idle", "gardener: still waiting", "karmada: no clusters"];
        assert_eq!(status.sentences(), sentences);
    }

    #[test]
    fn a_system_is_partly_served_if_the_hub_has_one_of_its_own_essential_kinds() {
        const SHOOTS: GroupResource = GroupResource::new("core.gardener.cloud", "shoots");
        let obstacle = |essential: [GroupResource; 2], other: GroupResource| {
            let requirements = Requirements {
                dialect: "gardener",
                reads: essential.into(),
                essential: essential.into(),
            };
            let progress = [(SEEDS, CopyProgress::Absent), (other, CopyProgress::Complete)];
            find_obstacle(&requirements, &progress.into())
        };
        assert!(matches!(
            obstacle([SEEDS, SHOOTS], SHOOTS),
            Some(SyncObstacle::PartlyServed(_))
        ));
        assert!(matches!(
            obstacle([SEEDS, NAMESPACES], NAMESPACES),
            Some(SyncObstacle::NotServed(_))
        ));
    }
}
