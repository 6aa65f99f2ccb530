//! `berth export`: writes a running server's inventory, as far as the caller may read it, as files that `berth simulate`
//! reads again and decides by as the server does (docs/api.md, "Exporting").

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use berth_client::Client;
use dialect_contract::Dialect;
use engine::Catalog;
use http::Method;
use meta::Kind;
use serde_json::Value;

use crate::args::{ConnectionArgs, ExportQuestion};
use crate::simulate::catalog;

/// The largest page of a list.
const PAGE: usize = 500;

/// Reads everything, then writes it.
///
/// # Errors
/// When no server answers, nothing may be read, or a file cannot be written.
pub async fn run(question: &ExportQuestion, connection: &ConnectionArgs) -> Result<()> {
    let client = connection.client().await?;
    let dialects = dialect_registry::all();
    let catalog = catalog(&dialects);
    let mut files: BTreeMap<PathBuf, Vec<Value>> = BTreeMap::new();
    let mut refused = Vec::new();
    for kind in kinds(&dialects, &catalog) {
        let info = kind.info();
        let name = match info.group {
            "" => info.plural.to_owned(),
            group => format!("{}.{group}", info.plural),
        };
        let objects = match read(&client, &**kind, connection.namespace.as_deref()).await? {
            Ok(objects) => objects,
            Err(message) => {
                refused.push(message);
                Vec::new()
            }
        };
        files.insert(question.folder.join(format!("{name}.yaml")), objects);
    }
    for message in &refused {
        anstream::eprintln!("note: left out: {message}");
    }
    let count: usize = files.values().map(Vec::len).sum();
    if count == 0 {
        bail!("no objects that a scheduler reads were found, or you may not list them");
    }
    let folder = question.folder.clone();
    tokio::task::spawn_blocking(move || write(&folder, files)).await??;
    anstream::println!(
        "{count} objects exported; berth simulate -f {} decides by them",
        question.folder.display()
    );
    Ok(())
}

/// The kinds that some scheduler reads, configurations among them.
fn kinds<'a>(dialects: &[Arc<dyn Dialect>], catalog: &'a Catalog) -> Vec<&'a Arc<dyn Kind>> {
    let mut kinds: BTreeMap<String, &Arc<dyn Kind>> = BTreeMap::new();
    for resource in dialects.iter().flat_map(|dialect| dialect.reads()) {
        let name = match resource.group {
            "" => resource.resource.to_owned(),
            group => format!("{}.{group}", resource.resource),
        };
        let mut named = catalog.named(&name);
        named.retain(|kind| kind.info().resource() == resource);
        if let [kind] = named.as_slice() {
            kinds.insert(name, kind);
        }
    }
    kinds.into_values().collect()
}

/// The objects of a kind, or why they may not be read. Of a kind that is not served there are none.
async fn read(
    client: &Client,
    kind: &dyn Kind,
    namespace: Option<&str>,
) -> Result<std::result::Result<Vec<Value>, String>> {
    let info = kind.info();
    let others = info.versions.iter().copied();
    let versions = std::iter::once(info.storage_version)
        .chain(others.filter(|version| *version != info.storage_version));
    for version in versions {
        let root = match info.group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let path = match namespace {
            Some(namespace) if info.namespaced() => format!("{root}/namespaces/{namespace}/{}", info.plural),
            _ => format!("{root}/{}", info.plural),
        };
        match list(client, &path).await? {
            Ok(Some(mut objects)) => {
                for object in &mut objects {
                    object["apiVersion"] = info.api_version(version).into();
                    object["kind"] = info.kind.into();
                    if let Some(metadata) = object["metadata"].as_object_mut() {
                        // What no scheduler reads, and every write changes.
                        metadata.remove("managedFields");
                        metadata.remove("resourceVersion");
                    }
                }
                return Ok(Ok(objects));
            }
            Ok(None) => {}
            Err(message) => return Ok(Err(message)),
        }
    }
    Ok(Ok(Vec::new()))
}

/// Every page of a list; nothing where there is no such list.
async fn list(client: &Client, path: &str) -> Result<std::result::Result<Option<Vec<Value>>, String>> {
    let (mut all, mut token) = (Vec::new(), String::new());
    loop {
        let page = format!("{path}?limit={PAGE}{token}");
        match client.send(Method::GET, &page, None).await? {
            Ok(mut list) => {
                if let Some(items) = list["items"].as_array_mut() {
                    all.append(items);
                }
                match list["metadata"]["continue"].as_str() {
                    Some(next) if !next.is_empty() => {
                        let next: String = form(next);
                        token = format!("&continue={next}");
                    }
                    _ => return Ok(Ok(Some(all))),
                }
            }
            // It took too long: what was read is of a moment that is gone.
            Err(status) if status.code == 410 && !token.is_empty() => {
                all.clear();
                token.clear();
            }
            Err(status) if status.code == 404 => return Ok(Ok(None)),
            Err(status) => return Ok(Err(status.message)),
        }
    }
}

/// A token of any server's as part of a query.
fn form(token: &str) -> String {
    let mut text = String::new();
    for byte in token.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

/// Writes a file for each kind that has objects; that of another, from before, goes.
fn write(folder: &Path, files: BTreeMap<PathBuf, Vec<Value>>) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (path, objects) in files {
        let named = || path.display().to_string();
        if objects.is_empty() {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(named);
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
        std::fs::write(&path, text).with_context(named)?;
    }
    Ok(())
}

/// An object as YAML, or as JSON, which is YAML too, where that would say something else.
fn document(object: &Value) -> Result<String> {
    let yaml = serde_saphyr::to_string(object);
    match yaml {
        Ok(text) if yaml::value(&text).is_ok_and(|read| read == *object) => Ok(text),
        _ => Ok(serde_json::to_string_pretty(object)?),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_object_is_read_again_as_it_was() {
        for object in [
            json!({"a": "yes", "b": "1e3", "c": "0x1f", "d": "~", "e": "null", "f": "2021-10-28", "g": "", "h": "on", "i": "017", "j": "1_000", "y": "n"}),
            json!({"text": "two\nlines\n", "tab": "\t", "colon": "a: b", "dash": "- a", "quote": "\"'", "#": "# no"}),
            json!({"number": 1.5, "large": 9_007_199_254_740_993_i64, "none": null, "list": [], "map": {}}),
            json!({"unicode": "é ✓ \u{85} \u{2028}", "control": "\u{7}"}),
        ] {
            let text = document(&object).unwrap();
            let read = yaml::value(&text).unwrap();
            assert_eq!(read, object, "{text}");
        }
    }

    #[test]
    fn what_every_scheduler_reads_is_exported_and_no_secret() {
        let dialects = dialect_registry::all();
        let catalog = catalog(&dialects);
        let names: Vec<&str> = kinds(&dialects, &catalog)
            .iter()
            .map(|kind| kind.info().plural)
            .collect();
        for plural in [
            "seeds",
            "shoots",
            "cloudprofiles",
            "managedclusters",
            "placements",
            "addonplacementscores",
            "memberclusters",
            "clusterresourceplacements",
            "clusterrequests",
            "locations",
            "workloadclusters",
            "namespaces",
            "schedulerconfigurations",
        ] {
            assert!(names.contains(&plural), "{plural}: {names:?}");
        }
        assert!(!names.contains(&"secrets"));
        let resources: usize = dialects
            .iter()
            .flat_map(|dialect| dialect.reads())
            .collect::<std::collections::BTreeSet<_>>()
            .len();
        assert_eq!(names.len(), resources, "{names:?}");
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
