//! The example manifests, which are built into the program. The times in the examples are moved to the
//! present.

use anyhow::{Result, bail};
use berth_apimachinery::{Timestamp, time};
use berth_commands::manifest::{self, Document};
use serde_json::Value;

/// The time for which the examples were written (docs/concepts.md, "Settled questions").
const WRITTEN_FOR: &str = "2021-10-28T09:00:00Z";

macro_rules! example {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../examples/", $path)))
    };
}

/// Every built-in example by its path below `examples/`.
pub(super) const ALL: &[(&str, &str)] = &[
    example!("consumers/publication.yaml"),
    example!("fleet/fleet.yaml"),
    example!("fleet/pick-all.yaml"),
    example!("fleet/pick-fixed.yaml"),
    example!("fleet/pick-n.yaml"),
    example!("gardener/fleet.yaml"),
    example!("gardener/load.yaml"),
    example!("gardener/minimal-distance-configuration.yaml"),
    example!("gardener/minimal-distance.yaml"),
    example!("gardener/same-region.yaml"),
    example!("gardener/testing.yaml"),
    example!("gardener/unschedulable.yaml"),
    example!("karmada/divided.yaml"),
    example!("karmada/fleet.yaml"),
    example!("karmada/groups.yaml"),
    example!("karmada/ledger.yaml"),
    example!("kcp/fleet.yaml"),
    example!("kcp/namespaces.yaml"),
    example!("ocm/fleet.yaml"),
    example!("ocm/story-1.yaml"),
    example!("ocm/story-2.yaml"),
    example!("ocm/story-3.yaml"),
    example!("ocm/story-4.yaml"),
    example!("openmcp/configuration.yaml"),
    example!("openmcp/exclusive.yaml"),
    example!("openmcp/fleet.yaml"),
    example!("openmcp/shared.yaml"),
    example!("openmcp/unknown-purpose.yaml"),
];

/// The objects of the example at `path`, with times as if the example was written for `now`.
///
/// # Errors
/// When there is no such example, or it cannot be read.
pub(super) fn read(path: &str, now: Timestamp) -> Result<Vec<Document>> {
    let Some((_, text)) = ALL.iter().find(|(name, _)| *name == path) else {
        bail!("there is no example {path}");
    };
    let (mut documents, mut problems) = (Vec::new(), Vec::new());
    manifest::parse(path, text, &mut documents, &mut problems);
    if let Some(problem) = problems.first() {
        bail!("{problem}");
    }
    let base = time::parse(WRITTEN_FOR).expect("the constant is a time");
    for document in &mut documents {
        shift(&mut document.object, now.duration_since(base));
    }
    Ok(documents)
}

/// Moves every RFC 3339 time in `value` by `offset`.
fn shift(value: &mut Value, offset: jiff::SignedDuration) {
    match value {
        Value::String(text) if text.len() >= 20 && text.as_bytes()[10] == b'T' => {
            if let Some(moved) = time::parse(text).and_then(|at| at.checked_add(offset).ok()) {
                *text = time::rfc3339(moved);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| shift(value, offset)),
        Value::Object(map) => map.values_mut().for_each(|value| shift(value, offset)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_reads_and_its_times_move() {
        let now = time::parse("2031-10-28T09:00:00Z").unwrap();
        for (path, _) in ALL {
            assert!(!read(path, now).unwrap().is_empty(), "{path}");
        }
        let fleet = read("ocm/fleet.yaml", now).unwrap();
        let score = fleet
            .iter()
            .find(|document| document.kind() == "AddOnPlacementScore")
            .unwrap();
        assert_eq!(score.object["status"]["validUntil"], "2031-10-29T18:31:39Z");
    }

    #[test]
    fn every_example_file_is_built_in() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        let mut found = Vec::new();
        for folder in std::fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            for file in std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path())
            {
                found.push(file.strip_prefix(&root).unwrap().display().to_string());
            }
        }
        found.sort();
        assert_eq!(found, ALL.iter().map(|(path, _)| *path).collect::<Vec<_>>());
    }
}
