//! `docs/configuration.md` is what the schemas say.

use std::fmt::Write as _;
use std::path::Path;

use berth_apimachinery::{Kind, Schema};
use berth_configuration::SchedulerConfiguration;
use berth_dialect_registry::all;
use berth_publications::Publication;
use serde_json::Value;

const HEAD: &str = "\
# Configuration

<!-- Rendered from the schemas: UPDATE_EXPECT=1 cargo test -p berth-deploy --test configuration -->

Every field of a SchedulerConfiguration and of a Publication. [concepts.md](concepts.md#configuration) says how a
SchedulerConfiguration is found and when it is in force, [consumers.md](consumers.md#publications) what a Publication is
for. `kubectl explain schedulerconfiguration.spec.gardener` says the same of a running server, and `--validate` (strict
unless it is given) refuses fields that are not here.

Defaults apply when the object is read: what is stored is what was written, and a default that changes in a newer release
holds for it. `spec.<system>: {}` means the same as no such field, except that openMCP's needs `scheduler`; an empty label
selector selects everything. Durations are written as Kubernetes writes them, such as `90s` or `1h30m`.
";

/// The rows of the fields below `schema`, which is at `path`.
fn rows(schema: &Value, path: &str, table: &mut String) {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let description = field["description"].as_str().unwrap_or_default();
        assert!(!description.is_empty(), "{path} has no description");
        let default = match &field["default"] {
            Value::Null if required.contains(&name.as_str()) => "required".to_owned(),
            Value::Null => String::new(),
            Value::String(text) => format!("`{text}`"),
            other => format!("`{other}`"),
        };
        let text = description
            .replace('\n', " ")
            .replace('|', "\\|")
            .replace('<', "\\<");
        writeln!(table, "| `{path}` | {} | {default} | {text} |", type_of(field)).expect("a text takes more");
        below(field, &path, table);
    }
}

/// The rows of what is inside a field.
fn below(field: &Value, path: &str, table: &mut String) {
    if is_selector(field) {
        return;
    }
    rows(field, path, table);
    if field["additionalProperties"].is_object() {
        below(&field["additionalProperties"], &format!("{path}.*"), table);
    }
    if field["items"].is_object() {
        below(&field["items"], &format!("{path}[]"), table);
    }
}

/// A label selector: its form is known.
fn is_selector(field: &Value) -> bool {
    field["properties"]["matchLabels"].is_object()
}

fn type_of(field: &Value) -> String {
    let choices: Vec<String> = field["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|choice| !choice.is_empty())
        .map(|choice| format!("`{choice}`"))
        .collect();
    if !choices.is_empty() {
        return choices.join(", ");
    }
    if is_selector(field) {
        return "label selector".to_owned();
    }
    let bound = |name: &str, word: &str| {
        let limit = field[name].as_number();
        limit.map(|limit| format!(", {word} {limit}")).unwrap_or_default()
    };
    match field["type"].as_str() {
        Some("array") => format!("list of {}", type_of(&field["items"])),
        Some("object") if field["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&field["additionalProperties"]))
        }
        Some(name) => format!(
            "{name}{}{}",
            bound("minimum", "at least"),
            bound("maximum", "at most")
        ),
        None => "any".to_owned(),
    }
}

fn section(heading: &str, intro: &str, schema: &Value) -> String {
    let mut table = String::new();
    rows(schema, "", &mut table);
    let mut text = format!("\n## {heading}\n\n{intro}\n");
    if !table.is_empty() {
        text.push_str("\n| field | type | default | meaning |\n|---|---|---|---|\n");
        text.push_str(&table);
    }
    text
}

fn spec(schema: &Schema) -> Value {
    schema.openapi()["properties"]["spec"].clone()
}

fn page() -> String {
    let mut text = HEAD.to_owned();
    let kind = SchedulerConfiguration::new(all());
    let mut common = spec(kind.schema("v1alpha1"));
    if let Some(fields) = common["properties"].as_object_mut() {
        fields.retain(|name, _| all().iter().all(|dialect| dialect.name() != name));
        if let Some(bind) = fields.get_mut("autoBind") {
            bind["default"] = "OnCreate".into();
        }
    }
    text.push_str(&section(
        "Every system",
        "`spec` of every SchedulerConfiguration, beside the field named after the system.",
        &common,
    ));
    for dialect in all() {
        let name = dialect.name();
        let form = dialect.configuration().schema().openapi();
        let own = form["description"].as_str().unwrap_or_default();
        let intro = format!(
            "`spec.{name}` of the SchedulerConfiguration named `{name}`; see [systems/{name}.md](systems/{name}.md#configuration). {own}"
        );
        text.push_str(&section(name, &intro, form));
    }
    let publication = spec(Publication::new(&all()).schema("v1alpha1"));
    let intro = "`spec` of a Publication: what of the targets and decisions other tools read.";
    text.push_str(&section("Publication", intro, &publication));
    text
}

#[test]
fn the_page_of_the_configuration_is_what_the_schemas_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let text = page();
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(&file, &text).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(&file).expect("the page is there");
    assert!(
        committed == text,
        "docs/configuration.md is stale; if the change is meant, render it anew:\n  UPDATE_EXPECT=1 cargo test -p berth-deploy \
         --test configuration"
    );
}
