//! Writes that go into the store with a new object.

use async_trait::async_trait;
use berth_apimachinery::Revision;
use berth_apimachinery::write::CommitError;
use berth_apiserver::{CreateHook, CreatedObject, Warnings};
use berth_engine::{Commit, Committer};

use super::*;

/// Panics when it is asked anything, as a dialect with a bug would.
struct Broken;

#[async_trait]
impl Committer for Broken {
    async fn commit(&self, _: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        panic!("broken")
    }

    fn can_store_with_demand(&self) -> bool {
        panic!("broken")
    }
}

impl World {
    fn auto_bind(&self, committer: Arc<dyn Committer>) -> AutoBind {
        AutoBind::new(Arc::clone(&self.engine), committer, Arc::clone(&self.registry))
    }
}

fn creating(shoot: &Value) -> CreatedObject {
    CreatedObject {
        resource: SHOOTS,
        object: Arc::new(Object::new(shoot, Revision::default()).unwrap()),
        user: UserInfo::default(),
        now: SystemClock.now(),
        dry_run: false,
        warnings: Warnings::default(),
    }
}

#[tokio::test]
async fn a_shoot_is_made_with_its_seed_and_a_panic_on_the_way_leaves_it_alone() {
    let world = World::new().await;
    world.seed("one", 5).await;
    let shoot = creating(&shoot("web", None));
    world.engine.fresh("gardener").await.unwrap();
    let extension = world
        .auto_bind(Arc::clone(&world.committer) as Arc<_>)
        .extend(&shoot)
        .await;
    let extension = extension.expect("there is a seed for it");
    assert_eq!(extension.writes[0].object["spec"]["seedName"], "one");
    assert!(!extension.guards.is_empty(), "a seed takes only so many");
    drop(extension);
    assert!(world.auto_bind(Arc::new(Broken)).extend(&shoot).await.is_none());
}
