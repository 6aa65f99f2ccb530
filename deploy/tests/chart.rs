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

/// The paths of all values, lists and maps without properties of their own being values.
fn paths(values: &Value, schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, part) in schema["properties"].as_object().expect("it has properties") {
        match part["properties"].is_object() {
            true => found.extend(keys(&values[name]).into_iter().map(|key| format!("{name}.{key}"))),
            false => drop(found.insert(name.clone())),
        }
    }
    found.remove("global");
    found
}

#[test]
fn the_charts_readme_has_a_row_for_every_value() {
    let values: Value = serde_saphyr::from_str(&file("values.yaml")).expect("it is YAML");
    let schema: Value = serde_json::from_str(&file("values.schema.json")).expect("it is JSON");
    let readme = file("README.md");
    let named = readme.lines().filter_map(|line| line.strip_prefix("| `"));
    let named = named.filter_map(|line| line.split(" |").next());
    let named: BTreeSet<String> = named
        .flat_map(|names| names.split(", "))
        .map(|name| name.trim_matches('`').to_owned())
        .collect();
    assert_eq!(named, paths(&values, &schema));
}

#[test]
fn the_job_before_the_release_goes_runs_where_the_server_does_and_from_the_same_image() {
    let (job, server) = (file("templates/uninstall.yaml"), file("templates/workload.yaml"));
    for value in [
        "image.repository",
        "image.tag",
        "image.pullPolicy",
        "imagePullSecrets",
        "nodeSelector",
        "tolerations",
        "affinity",
        "priorityClassName",
    ] {
        let uses = |text: &str| {
            let of_value = |line: &&str| line.contains(&format!(".Values.{value} "));
            text.lines()
                .filter(of_value)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert!(!uses(&job).is_empty(), "{value}");
        assert_eq!(uses(&job), uses(&server), "{value}");
    }
}

/// Fields whose `false` says something: they are required, or true by default, or a default themselves.
const FALSE: [&str; 3] = ["allowPrivilegeEscalation", "default", "storage"];

/// Where `value` says what a server leaves out: nulls, flags that are off, empty annotations and labels.
fn left_out(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Null => found.push(path.to_owned()),
        Value::Bool(false) if !FALSE.iter().any(|name| path.ends_with(&format!(".{name}"))) => {
            found.push(path.to_owned());
        }
        Value::Object(entries) => {
            let named = |name: &str| path.ends_with(&format!("metadata.{name}"));
            if entries.is_empty() && (named("annotations") || named("labels")) {
                found.push(path.to_owned());
            }
            for (key, value) in entries {
                left_out(value, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                left_out(item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn nothing_is_rendered_that_a_server_would_leave_out_again() {
    let mut found = Vec::new();
    for (name, part, _) in chart_parts().expect("the renderings fit together") {
        for chosen in every_choice().iter().step_by(7) {
            let objects = part.at(chosen).expect("the conditions decide it");
            left_out(&objects, name, &mut found);
        }
    }
    for (name, text) in chart().expect("it renders") {
        if name.starts_with("files/") || name.starts_with("crds/") {
            let object: Value = serde_saphyr::from_str(&text).expect("it is YAML");
            left_out(&object, &name, &mut found);
        }
    }
    assert_eq!(
        found,
        Vec::<String>::new(),
        "Argo CD would show these as drift for ever"
    );
}

#[test]
fn artifact_hub_is_told_every_definition_the_chart_brings() {
    let about: Value = serde_saphyr::from_str(&file("Chart.yaml")).expect("it is YAML");
    let annotations = &about["annotations"];
    let text = annotations["artifacthub.io/crds"].as_str().expect("a text");
    let told: Vec<Value> = serde_saphyr::from_str(text).expect("it is YAML");
    let files = ["schedulerconfigurations", "publications"];
    assert_eq!(told.len(), files.len(), "the folder crds/ has as many files");
    for (told, name) in told.iter().zip(files) {
        let definition: Value =
            serde_saphyr::from_str(&file(&format!("crds/{name}.yaml"))).expect("it is YAML");
        assert_eq!(told["name"], definition["metadata"]["name"]);
        assert_eq!(told["kind"], definition["spec"]["names"]["kind"]);
        assert_eq!(told["version"], definition["spec"]["versions"][0]["name"]);
    }
    assert_eq!(annotations["artifacthub.io/license"], "Apache-2.0");
}
