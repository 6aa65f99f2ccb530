//! Sensitivity of the comparison: two copies of Berth are equal, and a change in the worlds of one side is
//! found and reduced. This does not need the original.

use serde_json::Value;

use crate::compare::Pair;
use crate::side::{Ours, Side};
use crate::system::{Planted, System};
use crate::world::World;
use crate::{SYSTEMS, run};

/// Number of worlds, enough for all generated features.
const WORLDS: u64 = 40;

/// Most objects of a reduced world: a fixed number of clusters, a demand, and its related objects.
const SMALL: usize = 8;

/// Berth with changed worlds.
struct Planter(&'static System, &'static Planted);

impl Side for Planter {
    fn decide(&mut self, world: &World) -> Result<Value, String> {
        let mut world = world.clone();
        world.objects.iter_mut().for_each(self.1.change);
        Ours(self.0).decide(&world)
    }
}

#[test]
fn planted_differences_are_seen_and_made_small() {
    for system in SYSTEMS {
        let ours = || Box::new(Ours(system));
        let mut same = Pair::new(system, ours(), ours());
        let report = run(&mut same, 1, WORLDS);
        assert!(report.found.is_empty(), "{}", report.shown(&mut same));
        assert!(
            report.total.placed > 0 && report.total.refusals > 0,
            "{}",
            report.summary(system, 1)
        );
        for planted in system.planted {
            let mut pair = Pair::new(system, ours(), Box::new(Planter(system, planted)));
            check_detection(&mut pair, system, planted);
        }
    }
}

fn check_detection(pair: &mut Pair, system: &System, planted: &Planted) {
    let report = run(pair, 1, WORLDS);
    let name = planted.name;
    let (_, found) = report.found.first().unwrap_or_else(|| {
        panic!(
            "{}: nobody saw {name}: {}",
            system.name,
            report.summary(system, 1)
        )
    });
    let small = pair.reduce(found.clone());
    let objects = small.world.objects.len();
    assert!(
        objects <= SMALL,
        "{}, {name}: {objects} objects\n{}",
        system.name,
        small.shown()
    );
}
