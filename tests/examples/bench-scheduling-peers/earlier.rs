//! Measurements of earlier runs, which are kept where a system is not measured again at that size.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::Measured;
use crate::fleets;

/// `measured` with the other cases of `file`, if it exists, in the order of tables.
pub(crate) fn beside(mut measured: Vec<Measured>, file: &Path) -> Result<Vec<Measured>> {
    let known: Value = match std::fs::read(file) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| file.display().to_string())?,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Value::Null,
        Err(problem) => return Err(problem).with_context(|| file.display().to_string()),
    };
    let titles = fleets::titles();
    for value in known.as_array().into_iter().flatten() {
        let earlier = read(value).with_context(|| format!("{}: {value}", file.display()))?;
        let is_again = |new: &Measured| new.title == earlier.title && new.clusters == earlier.clusters;
        if !measured.iter().any(is_again) && titles.contains(&earlier.title.as_str()) {
            measured.push(earlier);
        }
    }
    let place = |title: &str| titles.iter().position(|known| *known == title);
    measured.sort_by_key(|one| (one.clusters, place(&one.title)));
    Ok(measured)
}

/// Parses a case of the file.
fn read(value: &Value) -> Option<Measured> {
    let count = |name: &str| usize::try_from(value[name].as_u64()?).ok();
    let list =
        |name: &str| -> Option<Vec<f64>> { value[name].as_array()?.iter().map(Value::as_f64).collect() };
    Some(Measured {
        title: value["case"].as_str()?.to_owned(),
        clusters: count("clusters")?,
        picked: count("picked")?,
        theirs: list("original")?,
        processor: list("originalProcessor")?,
        ours: list("berth")?,
        changed: list("berthAfterAChange")?,
    })
}
