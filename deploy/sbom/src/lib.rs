//! The software bill of materials of a release: an SPDX 2.3 document of the crates that are linked into the
//! program, from the data of cargo. Equal commits have equal bytes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The value that SPDX prescribes for an unknown field.
const UNKNOWN: &str = "NOASSERTION";

/// Facts of a release.
pub struct Release<'a> {
    /// The version of the release.
    pub version: &'a str,
    /// The time of the release, as `2026-01-01T00:00:00Z`.
    pub time: &'a str,
    /// The name of the crate that is the program.
    pub program: &'a str,
}

/// The document of the crates in `linked` (as `name@version`), with their data from `metadata` (the output of
/// `cargo metadata`) and the checksums in `lock` (Cargo.lock).
///
/// # Errors
/// A message for people, when `metadata` lists no packages, or the program is not among the linked crates.
pub fn document(
    release: &Release<'_>,
    metadata: &Value,
    linked: &BTreeSet<String>,
    lock: &str,
) -> Result<Value, String> {
    let packages = metadata["packages"]
        .as_array()
        .ok_or("the output of cargo metadata lists no packages")?;
    let mut packages: Vec<&Value> = packages
        .iter()
        .filter(|package| linked.contains(&name_at_version(package)))
        .collect();
    packages.sort_by_key(|package| (text(package, "name"), text(package, "version")));
    let ids: BTreeMap<&str, String> = packages
        .iter()
        .map(|package| (text(package, "id"), id(package)))
        .collect();
    let program = packages
        .iter()
        .find(|package| text(package, "name") == release.program);
    let program =
        program.ok_or_else(|| format!("the crate {} is not among the linked crates", release.program))?;
    let sums = checksums(lock);
    let described: Vec<Value> = packages
        .iter()
        .map(|crate_data| package(crate_data, &sums))
        .collect();
    Ok(json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("{}-{}", release.program, release.version),
        "documentNamespace": format!("https://berth.dev/spdx/{}-{}", release.program, release.version),
        "creationInfo": {"created": release.time, "creators": ["Tool: deploy/release"]},
        "packages": described,
        "relationships": relationships(metadata, &ids, &id(program)),
    }))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn name_at_version(package: &Value) -> String {
    format!("{}@{}", text(package, "name"), text(package, "version"))
}

/// The identifier of a package, in the characters that SPDX allows.
fn id(package: &Value) -> String {
    let name = format!("{}-{}", text(package, "name"), text(package, "version"));
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    format!("SPDXRef-{}", name.replace(|letter| !is_allowed(letter), "-"))
}

/// The checksums in `lock`, by `name@version`. Only crates from registries have one.
fn checksums(lock: &str) -> BTreeMap<String, &str> {
    let field = |part: &'_ str, name: &str| -> Option<(usize, usize)> {
        let start = part.find(&format!("\n{name} = \""))? + name.len() + 5;
        Some((start, start + part[start..].find('"')?))
    };
    let sums = lock.split("[[package]]").filter_map(|part| {
        let value = |name: &str| field(part, name).map(|(start, end)| &part[start..end]);
        let sum = value("checksum")?;
        Some((format!("{}@{}", value("name")?, value("version")?), sum))
    });
    sums.collect()
}

/// The entry of one crate in the list of packages.
fn package(package: &Value, sums: &BTreeMap<String, &str>) -> Value {
    let (name, version) = (text(package, "name"), text(package, "version"));
    // Crates may also come from git.
    let source = text(package, "source");
    let is_from_registry = source.starts_with("registry+") || source.starts_with("sparse+");
    let licence = package["license"]
        .as_str()
        .unwrap_or(UNKNOWN)
        .replace('/', " OR ");
    let download = match is_from_registry {
        true => format!("https://crates.io/api/v1/crates/{name}/{version}/download"),
        false => UNKNOWN.to_owned(),
    };
    let references = is_from_registry.then(|| {
        json!({
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{name}@{version}"),
        })
    });
    let sum = sums.get(&name_at_version(package));
    let sum = sum.map(|sum| json!({"algorithm": "SHA256", "checksumValue": sum}));
    json!({
        "SPDXID": id(package),
        "name": name,
        "versionInfo": version,
        "downloadLocation": download,
        "filesAnalyzed": false,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": licence,
        "copyrightText": UNKNOWN,
        "externalRefs": Vec::from_iter(references),
        "checksums": Vec::from_iter(sum),
    })
}

/// The relationships of the document: the document describes the program, and each package depends on the
/// packages that are linked into it. The list is sorted and has no duplicates.
fn relationships(metadata: &Value, ids: &BTreeMap<&str, String>, program: &str) -> Vec<Value> {
    // Sorted by target, kind and source.
    let mut triples = BTreeSet::from([(program, "DESCRIBES", "SPDXRef-DOCUMENT")]);
    for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
        let Some(from) = ids.get(text(node, "id")) else {
            continue;
        };
        for dependency in node["deps"].as_array().into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            let is_linked = kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()));
            if let Some(to) = ids.get(text(dependency, "pkg")).filter(|_| is_linked) {
                triples.insert((to, "DEPENDS_ON", from));
            }
        }
    }
    let relationship = |(to, how, from): (&str, &str, &str)| json!({"spdxElementId": from, "relationshipType": how, "relatedSpdxElement": to});
    triples.into_iter().map(relationship).collect()
}
