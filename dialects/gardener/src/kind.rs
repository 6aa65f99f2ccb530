//! The kinds of a garden (docs/systems/gardener.md, "API objects"): one file each, with their types,
//! defaults, rules and columns. The kinds whose objects are stored unchanged share the file `data`.
//!
//! The types have only the fields that decisions, rules and columns read. All other fields of an object are
//! stored unchanged.

pub mod cloud_profile;
pub mod common;
mod data;
pub mod exposure_class;
pub mod namespaced_cloud_profile;
pub mod project;
pub mod seed;
pub mod shoot;

use std::sync::Arc;

use berth_apimachinery::{Kind, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};

/// All kinds that decisions read in every installation, in the order of discovery.
#[must_use]
pub fn all() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(cloud_profile::CloudProfileKind),
        Arc::new(namespaced_cloud_profile::NamespacedCloudProfileKind),
        Arc::new(project::ProjectKind),
        Arc::new(seed::SeedKind),
        Arc::new(shoot::ShootKind),
    ]
}

/// All kinds that decisions do not read, or read only where Berth stores the objects itself.
#[must_use]
pub fn further() -> Vec<Arc<dyn Kind>> {
    let mut kinds: Vec<Arc<dyn Kind>> = vec![Arc::new(exposure_class::ExposureClassKind)];
    kinds.extend(data::all());
    kinds
}

/// Parses `value`.
///
/// # Errors
/// The error of the parser. The list is empty if `schema` refuses `value`, too, since the schema then reports
/// the problem.
fn view<'a, T: Deserialize<'a>>(
    schema: &Schema,
    value: &'a Value,
) -> Result<T, Vec<berth_apimachinery::FieldError>> {
    T::deserialize(value).map_err(|error| {
        if schema.validate(value).is_empty() {
            vec![berth_apimachinery::FieldError::invalid(
                "",
                Value::Null,
                error.to_string(),
            )]
        } else {
            Vec::new()
        }
    })
}

/// The map at `name` in `parent`. An absent or null value becomes an empty map. `None` if the value has
/// another type, which the schema then refuses.
pub(crate) fn child<'a>(
    parent: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    let entry = parent.entry(name).or_insert(Value::Null);
    if entry.is_null() {
        *entry = Value::Object(Map::new());
    }
    entry.as_object_mut()
}

/// Sets the field `name` of `parent` to `value` if the field is absent or null.
pub(crate) fn fill(parent: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    let entry = parent.entry(name).or_insert(Value::Null);
    if entry.is_null() {
        *entry = value.into();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_page_has_the_scope_and_the_status_of_every_kind() {
        const PAGE: &str = include_str!("../../../docs/systems/gardener.md");
        let rows = PAGE
            .lines()
            .skip_while(|line| !line.starts_with("| kind | scope |"));
        let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
        let mut documented = BTreeMap::new();
        for row in rows {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            for kind in cells[1].split(", ") {
                let name = kind.split(' ').next().unwrap_or_default();
                documented.insert(name.to_owned(), (cells[2].to_owned(), cells[4] == "yes"));
            }
        }
        let served = all().into_iter().chain(further()).map(|kind| {
            let info = kind.info();
            (
                info.kind.to_owned(),
                (format!("{:?}", info.scope), info.status_subresource),
            )
        });
        assert_eq!(documented, served.collect());
    }
}
