//! The chart's templates: what their conditions come to is what the program renders, for whatever is chosen.

use std::collections::BTreeSet;
use std::path::Path;

use berth::cli::Storage;
use berth::hub::args::Place;
use berth::manifests::Certificates;
use deploy::{Chosen, chart, chart_parts, systems};
use serde_json::Value;

const PLACES: [Place; 3] = [Place::Hub, Place::Owned, Place::Off];

/// Every way to place all systems, each with one of the other choices in turn.
fn every_choice() -> Vec<Chosen> {
    let names = systems();
    let count = PLACES
        .len()
        .pow(u32::try_from(names.len()).expect("a few systems"));
    let storages = [Storage::Memory, Storage::Embedded, Storage::Etcd];
    (0..count)
        .map(|number| {
            let mut rest = number;
            let sources = names.iter().map(|&name| {
                let place = PLACES[rest % PLACES.len()];
                rest /= PLACES.len();
                (name, place)
            });
            let sources = sources.collect();
            Chosen {
                sources,
                certificates: match number % 2 {
                    0 => Certificates::Berth,
                    _ => Certificates::CertManager,
                },
                // Not in step with the places of the first system.
                storage: storages[(number / PLACES.len()) % storages.len()],
            }
        })
        .collect()
}

#[test]
fn conditions_come_to_what_is_rendered_for_every_choice_of_places() {
    let choices = every_choice();
    for (file, part, objects) in chart_parts().expect("the renderings fit together") {
        for chosen in &choices {
            let wanted = Value::Array(objects(&chosen.installation()));
            let found = part
                .at(chosen)
                .unwrap_or_else(|problem| panic!("{file}: {chosen:?}: {problem:#}"));
            assert_eq!(found, wanted, "{file}: {chosen:?}");
        }
    }
}

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("helm/berth");
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

fn keys(value: &Value) -> BTreeSet<String> {
    let map = value
        .as_object()
        .unwrap_or_else(|| panic!("{value} is no object"));
    map.keys().cloned().collect()
}

#[test]
fn every_value_has_a_default_and_a_place_in_the_schema() {
    let values: Value = serde_saphyr::from_str(&file("values.yaml")).expect("it is YAML");
    let schema: Value = serde_json::from_str(&file("values.schema.json")).expect("it is JSON");
    let mut known = keys(&schema["properties"]);
    assert!(known.remove("global"), "Helm sets it");
    assert_eq!(keys(&values), known);
    for (name, part) in schema["properties"].as_object().expect("it has properties") {
        if part["properties"].is_object() {
            assert_eq!(keys(&values[name]), keys(&part["properties"]), "{name}");
        }
    }
    let names: BTreeSet<String> = systems().into_iter().map(str::to_owned).collect();
    assert_eq!(keys(&values["sources"]), names);
}

#[test]
fn definitions_are_of_the_systems_and_stay() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("helm/berth");
    let rendered = chart().expect("it renders");
    let mut found = 0;
    for system in std::fs::read_dir(folder.join("files/definitions")).expect("the folder is there") {
        let system = system.expect("entries can be read").path();
        for file in std::fs::read_dir(&system).expect("a system has a folder") {
            let path = file.expect("entries can be read").path();
            let name = path
                .strip_prefix(&folder)
                .expect("it is in the chart")
                .display()
                .to_string();
            let text = rendered.iter().find(|(known, _)| *known == name);
            let (_, text) = text.unwrap_or_else(|| panic!("{name}: nothing renders it, remove it"));
            assert!(text.contains("helm.sh/resource-policy: keep"), "{name}");
            found += 1;
        }
    }
    let all = rendered.iter().filter(|(name, _)| name.starts_with("files/"));
    assert_eq!(found, all.count());
}
