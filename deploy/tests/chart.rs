//! The chart, as far as it can be judged without Helm: its templates know no system, what they read is there,
//! and every value has a default, a place in the schema and a row in the README. What Helm makes of it is in
//! `tests/tests/hub/install/chart.rs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use berth_deploy::default_service;
use berth_deploy::{chart, systems};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("helm/berth")
}

fn file(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

fn yaml(name: &str) -> Value {
    serde_saphyr::from_str(&file(name)).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

fn keys(value: &Value) -> BTreeSet<String> {
    let map = value
        .as_object()
        .unwrap_or_else(|| panic!("{value} is not an object"));
    map.keys().cloned().collect()
}

/// The files below a folder of the chart, as the chart names them.
fn below(name: &str) -> BTreeSet<String> {
    let entries =
        std::fs::read_dir(folder().join(name)).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    entries
        .flat_map(|entry| {
            let entry = entry.expect("entries can be read");
            let name = format!("{name}/{}", entry.file_name().display());
            match entry.path().is_dir() {
                true => below(&name),
                false => BTreeSet::from([name]),
            }
        })
        .collect()
}

#[test]
fn templates_name_no_system_and_no_namespace() {
    for name in below("templates") {
        let text = file(&name);
        for word in systems()
            .into_iter()
            .chain([default_service().namespace.as_str()])
        {
            let code = text
                .lines()
                .filter(|line| !line.starts_with("{{- /*") && !line.contains("*/}}"));
            let named = code.filter(|line| {
                line.split(|c: char| !c.is_alphanumeric() && c != '-')
                    .any(|part| part == word)
            });
            assert_eq!(
                named.collect::<Vec<_>>(),
                Vec::<&str>::new(),
                "{name} names {word}"
            );
        }
    }
}

#[test]
fn what_templates_read_is_rendered_and_nothing_else_is_there() {
    let rendered = chart().expect("it renders");
    let rendered: BTreeSet<String> = rendered.into_iter().map(|(name, _)| name).collect();
    let mut there: BTreeSet<String> = ["files", "crds"].into_iter().flat_map(below).collect();
    assert!(there.remove("crds/kustomization.yaml"), "the overlays read it");
    assert!(
        file(".helmignore").contains("\ncrds/kustomization.yaml\n"),
        "Helm does not"
    );
    assert_eq!(there, rendered);
    let sorts: BTreeSet<String> = rendered
        .iter()
        .filter(|name| name.starts_with("files/systems/"))
        .flat_map(|name| keys(&yaml(name)))
        .collect();
    let templates: String = below("templates").iter().map(|name| file(name)).collect();
    // Those by whom Berth acts have a role each, and the template goes through their names.
    let actors: BTreeSet<String> = rendered
        .iter()
        .filter(|name| name.starts_with("files/systems/"))
        .filter_map(|name| yaml(name)["impersonates"].as_array().cloned())
        .flatten()
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect();
    for sort in sorts.difference(&actors) {
        assert!(
            templates.contains(&format!("\"{sort}\"")),
            "no template reads {sort}"
        );
    }
    assert!(actors.is_subset(&sorts), "{actors:?} have rules");
}

#[test]
fn what_is_rendered_holds_in_every_namespace() {
    for (name, text) in chart().expect("it renders") {
        assert!(!text.contains(&default_service().namespace), "{name}");
    }
}

#[test]
fn definitions_stay_when_the_release_goes() {
    for name in below("files/definitions") {
        assert!(file(&name).contains("helm.sh/resource-policy: keep"), "{name}");
    }
}

/// The properties of a part of the schema, which may be a reference.
fn properties<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    match part["$ref"].as_str() {
        Some(path) => &schema
            .pointer(path.trim_start_matches('#'))
            .expect("it is defined")["properties"],
        None => &part["properties"],
    }
}

/// The values, lists and maps that are the user's own being one each: `image.tag`, `resources`.
fn values() -> BTreeSet<String> {
    let schema: Value = serde_json::from_str(&file("values.schema.json")).expect("it is JSON");
    let mut found = BTreeSet::new();
    for (name, part) in schema["properties"].as_object().expect("it has properties") {
        match properties(&schema, part) {
            Value::Object(all) => found.extend(all.keys().map(|key| format!("{name}.{key}"))),
            _ => drop(found.insert(name.clone())),
        }
    }
    assert!(found.remove("global"), "Helm sets it");
    found
}

#[test]
fn every_value_has_a_default_and_a_place_in_the_schema() {
    let defaults = yaml("values.yaml");
    let known = values();
    for value in &known {
        let path = format!("/{}", value.replace('.', "/"));
        assert!(defaults.pointer(&path).is_some(), "values.yaml has no {value}");
    }
    let parts: BTreeSet<String> = known
        .iter()
        .map(|value| value.split('.').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(keys(&defaults), parts);
    for part in parts {
        let prefix = format!("{part}.");
        let inner: BTreeSet<String> = known
            .iter()
            .filter_map(|value| value.strip_prefix(&prefix))
            .map(str::to_owned)
            .collect();
        if !inner.is_empty() {
            assert_eq!(keys(&defaults[&part]), inner, "{part}");
        }
    }
    let names: BTreeSet<String> = systems().into_iter().map(str::to_owned).collect();
    assert_eq!(keys(&defaults["sources"]), names);
}

#[test]
fn every_value_is_read_by_a_template() {
    let templates: String = below("templates").iter().map(|name| file(name)).collect();
    for value in values() {
        let read = match value.strip_prefix("sources.") {
            Some(_) => ".Values.sources".to_owned(),
            None => format!(".Values.{value}"),
        };
        assert!(templates.contains(&read), "{value}");
    }
}

#[test]
fn the_charts_readme_has_a_row_for_every_value() {
    let readme = file("README.md");
    let named = readme.lines().filter_map(|line| line.strip_prefix("| `"));
    let named = named.filter_map(|line| line.split(" |").next());
    let named: BTreeSet<String> = named
        .flat_map(|names| names.split(", "))
        .map(|name| name.trim_matches('`').to_owned())
        .collect();
    assert_eq!(named, values());
}

#[test]
fn artifact_hub_is_told_every_definition_the_chart_brings() {
    let about = yaml("Chart.yaml");
    let annotations = &about["annotations"];
    let text = annotations["artifacthub.io/crds"].as_str().expect("a text");
    let told: Vec<Value> = serde_saphyr::from_str(text).expect("it is YAML");
    let files = ["schedulerconfigurations", "publications"];
    assert_eq!(told.len(), files.len(), "the folder crds/ has as many files");
    for (told, name) in told.iter().zip(files) {
        let definition = yaml(&format!("crds/{name}.yaml"));
        assert_eq!(told["name"], definition["metadata"]["name"]);
        assert_eq!(told["kind"], definition["spec"]["names"]["kind"]);
        assert_eq!(told["version"], definition["spec"]["versions"][0]["name"]);
    }
    assert_eq!(annotations["artifacthub.io/license"], "Apache-2.0");
}
