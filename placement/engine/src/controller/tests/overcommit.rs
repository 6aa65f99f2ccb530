//! However many decide at once, no target is given more than it takes.

use super::*;
use crate::{Bind, BindError, UnplacedTreatment};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replicas_bindings_and_creates_at_once_never_overcommit() {
    let world = Arc::new(World::default());
    for name in ["a", "b", "c"] {
        world.shelf(name, 10);
    }
    let replicas = [world.replica(), world.replica()];
    let makers: Vec<_> = (0..4)
        .map(|maker| {
            let (world, engine) = (Arc::clone(&world), Arc::clone(&replicas[maker % 2].engine));
            tokio::spawn(async move {
                for n in 0..10 {
                    let demand = world.toy(&format!("t{maker}-{n}"));
                    let wish = Bind {
                        dialect: "toy",
                        demand: &demand,
                        chosen: None,
                        dry_run: false,
                        unplaced: UnplacedTreatment::Refuse,
                        by: None,
                    };
                    let committer = StoreCommitter(Arc::clone(&world.store));
                    match engine.bind(&committer, wish).await {
                        Ok(_) | Err(BindError::Unplaced(_) | BindError::Conflict(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    for maker in makers {
        maker.await.unwrap();
    }
    for replica in &replicas {
        let full = |_: &Counter| {
            ["a", "b", "c"]
                .iter()
                .map(|name| world.inside(name))
                .sum::<usize>()
                == 30
        };
        if !full(&replica.counter) {
            replica.counter.until("the boxes are full", full).await;
        }
    }
    for replica in replicas {
        replica.controllers.stop().await;
    }
    assert_eq!(["a", "b", "c"].map(|name| world.inside(name)), [10, 10, 10]);
}
