//! `berth export`: writes a running server's inventory, as far as the caller may read it, as files from
//! which `berth simulate` decides like the server (docs/concepts.md, "Exporting").

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::args::{ConnectionArgs, ExportQuestion};
use crate::reading::{ReadResult, Scope};
use crate::terminal::shown;

/// Reads the objects that schedulers read, and writes one file for each kind.
///
/// # Errors
/// When no server answers, the caller may read no objects, or a file cannot be written.
pub async fn run(question: &ExportQuestion, connection: &ConnectionArgs) -> Result<()> {
    let client = connection.client().await?;
    let scope = Scope {
        systems: None,
        namespace: connection.namespace.clone(),
    };
    let reading = ReadResult::of(&client, &scope).await?;
    for gap in &reading.gaps {
        crate::say_error!("note: left out: {}", shown(&gap.to_string()));
    }
    let (count, systems) = (reading.count(), reading.named_systems());
    if count == 0 {
        bail!("no objects that a scheduler of {systems} reads were found, or you may not list them");
    }
    let folder = question.folder.clone();
    let files = files(&folder, reading);
    tokio::task::spawn_blocking(move || write(&folder, files)).await??;
    crate::say!(
        "{count} objects of {systems} exported; berth simulate -f {} --independent decides by them",
        question.folder.display()
    );
    Ok(())
}

/// Returns the files to write into `folder`, with their objects. A file without objects is an earlier one to
/// delete.
fn files(folder: &Path, reading: ReadResult) -> BTreeMap<PathBuf, Vec<Value>> {
    let path = |name: &str| folder.join(format!("{name}.yaml"));
    // Files of an earlier export for a system that is no longer on the server would affect decisions.
    let empty_files = known_names().into_iter().map(|name| (path(&name), Vec::new()));
    let mut files: BTreeMap<PathBuf, Vec<Value>> = empty_files.collect();
    let kinds = reading.kinds.into_iter();
    files.extend(kinds.map(|kind| (path(&kind.name), kind.objects.into_values().collect())));
    // A kind that could not be read may have objects: the file of an earlier export stays.
    let unread: BTreeSet<PathBuf> = reading.gaps.iter().map(|gap| path(&gap.name)).collect();
    files.retain(|file, objects| !objects.is_empty() || !unread.contains(file));
    files
}

/// Names of all resources that schedulers read, which are also the names of their files.
fn known_names() -> BTreeSet<String> {
    let dialects = berth_dialect_registry::all();
    let resources = dialects.iter().flat_map(|dialect| dialect.reads());
    resources.map(|resource| resource.to_string()).collect()
}

/// Writes a file for each kind that has objects, and deletes the earlier file of a kind without any.
fn write(folder: &Path, files: BTreeMap<PathBuf, Vec<Value>>) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (path, objects) in files {
        let path_text = || path.display().to_string();
        if objects.is_empty() {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(path_text);
                }
                _ => continue,
            }
        }
        let mut text = String::new();
        for object in &objects {
            text.push_str("---\n");
            text.push_str(document(object)?.trim_end());
            text.push('\n');
        }
        std::fs::write(&path, text).with_context(path_text)?;
    }
    Ok(())
}

/// Serializes an object as YAML; as JSON, which is valid YAML, if the YAML would be parsed to another value.
fn document(object: &Value) -> Result<String> {
    let yaml = serde_saphyr::to_string(object);
    match yaml {
        Ok(text) if berth_yaml::value(&text).is_ok_and(|read| read == *object) => Ok(text),
        _ => Ok(serde_json::to_string_pretty(object)?),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::reading::{Gap, KindObjects, Objects};

    #[test]
    fn every_object_is_read_again_as_it_was() {
        for object in [
            json!({"a": "yes", "b": "1e3", "c": "0x1f", "d": "~", "e": "null", "f": "2021-10-28", "g": "", "h": "on", "i": "017", "j": "1_000", "y": "n"}),
            json!({"text": "two\nlines\n", "tab": "\t", "colon": "a: b", "dash": "- a", "quote": "\"'", "#": "# no"}),
            json!({"number": 1.5, "large": 9_007_199_254_740_993_i64, "none": null, "list": [], "map": {}}),
            json!({"unicode": "é ✓ \u{85} \u{2028}", "control": "\u{7}"}),
        ] {
            let text = document(&object).unwrap();
            let read = berth_yaml::value(&text).unwrap();
            assert_eq!(read, object, "{text}");
        }
    }

    #[test]
    fn a_kind_that_could_not_be_read_keeps_its_file() {
        const SEEDS: &str = "seeds.core.gardener.cloud";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{SEEDS}.yaml"));
        std::fs::write(&path, "---\nkind: Seed\n").unwrap();
        let gap = Gap {
            name: SEEDS.to_owned(),
            only_namespace: None,
            message: "seeds is forbidden".to_owned(),
            consequence: "there are no clusters",
        };
        let export = |gaps: Vec<Gap>| {
            let seeds = KindObjects {
                name: SEEDS.to_owned(),
                objects: Objects::default(),
            };
            let reading = ReadResult {
                systems: vec!["gardener"],
                kinds: vec![seeds],
                gaps,
            };
            write(folder.path(), files(folder.path(), reading)).unwrap();
        };
        export(vec![gap]);
        assert!(path.exists());
        export(Vec::new());
        assert!(!path.exists());
    }

    #[test]
    fn a_kind_without_objects_leaves_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seeds.yaml");
        let files = |objects: Vec<Value>| BTreeMap::from([(path.clone(), objects)]);
        write(folder.path(), files(vec![json!({"kind": "Seed"})])).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "---\nkind: Seed\n");
        write(folder.path(), files(Vec::new())).unwrap();
        assert!(!path.exists());
        write(folder.path(), files(Vec::new())).unwrap();
    }
}
