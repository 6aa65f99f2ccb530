//! `meta.k8s.io` Tables: the rows of `kubectl get`.

use berth_apimachinery::{Cell, Column, Object, Status, Timestamp};
use serde_json::Value;

use crate::call::Rows;
use crate::list_body::Chunks;
use crate::negotiation::MetaVersion;
use crate::render::ObjectForm;
use crate::request_info::Query;
use crate::served::{ServedVersion, column_definitions};

/// Content of the field `object` of a row, as the parameter `includeObject` selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IncludeObjectPolicy {
    Nothing,
    Metadata,
    Object,
}

impl IncludeObjectPolicy {
    /// Parses the parameter `includeObject`; if it is missing or empty, the rows contain metadata.
    ///
    /// # Errors
    /// 400 for any value except `None`, `Metadata`, `Object` and the empty value.
    pub(crate) fn parse(query: &Query) -> Result<Self, Status> {
        match query.first("includeObject") {
            None | Some("" | "Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::Nothing),
            Some("Object") => Ok(Self::Object),
            Some(other) => Err(Status::bad_request(format!(
                "unrecognized includeObject value: {other:?}: it must be one of None, Metadata, Object"
            ))),
        }
    }
}

/// Bytes before the cells of a row.
const CELLS: &[u8] = br#"{"cells":["#;
/// Bytes between the cells and the object of a row.
const OBJECT: &[u8] = br#"],"object":"#;

/// Form of the rows of one request.
#[derive(Clone, Copy)]
pub(crate) struct TableForm {
    pub(crate) version: MetaVersion,
    pub(crate) include: IncludeObjectPolicy,
    pub(crate) now: Timestamp,
}

impl TableForm {
    /// Renders the table up to its first row. `metadata` is the JSON of the list metadata.
    pub(crate) fn head(&self, columns: &[u8], metadata: &str) -> Vec<u8> {
        let mut out = format!(
            r#"{{"kind":"Table","apiVersion":"{}","metadata":{metadata},"columnDefinitions":"#,
            self.version.api_version()
        )
        .into_bytes();
        out.extend_from_slice(columns);
        out.extend_from_slice(br#","rows":["#);
        out
    }

    /// Renders one row.
    pub(crate) fn row(&self, served: &ServedVersion, object: &Object, out: &mut Vec<u8>) {
        if served.name == served.stored {
            out.extend_from_slice(CELLS);
            object.cells(served.kind()).write(self.now, out);
            out.extend_from_slice(OBJECT);
        } else {
            // The cached cells of the object are cells of the kind under which it is stored.
            self.cells(&object.row(served.kind()), out);
        }
        match self.include {
            IncludeObjectPolicy::Nothing => out.extend_from_slice(b"null"),
            IncludeObjectPolicy::Metadata => ObjectForm::Partial(self.version)
                .render(served, object)
                .write(out),
            IncludeObjectPolicy::Object => ObjectForm::Full.render(served, object).write(out),
        }
        out.push(b'}');
    }

    /// Renders the beginning of a row: `cells`, and the name of the field `object`.
    pub(crate) fn cells(&self, cells: &[Cell], out: &mut Vec<u8>) {
        out.extend_from_slice(CELLS);
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            cell.write(self.now, out);
        }
        out.extend_from_slice(OBJECT);
    }

    /// Renders a whole table of `objects`.
    pub(crate) fn of_objects<'a>(
        &self,
        served: &ServedVersion,
        metadata: &str,
        objects: impl Iterator<Item = &'a Object>,
    ) -> Chunks {
        let mut chunks = Chunks::new(self.head(&served.columns, metadata));
        for (index, object) in objects.enumerate() {
            if index > 0 {
                chunks.push(b",");
            }
            self.row(served, object, chunks.buffer());
            chunks.cut();
        }
        chunks.push(b"]}");
        chunks
    }

    /// Renders a whole table of `rows`, which all describe one object, with the JSON `object` in each row.
    pub(crate) fn of_rows(&self, rows: &Rows, object: &[u8]) -> Chunks {
        let mut chunks = Chunks::new(self.head(&column_definitions(&rows.columns), "{}"));
        for (index, row) in rows.rows.iter().enumerate() {
            if index > 0 {
                chunks.push(b",");
            }
            self.cells(row, chunks.buffer());
            chunks.push(object);
            chunks.push(b"}");
            chunks.cut();
        }
        chunks.push(b"]}");
        chunks
    }
}

/// Returns a table with one row, the name and age of `value`: for objects whose kind has no columns.
pub(crate) fn name_and_age(value: &Value) -> Rows {
    let metadata = &value["metadata"];
    let age = metadata["creationTimestamp"]
        .as_str()
        .and_then(berth_apimachinery::time::parse);
    let name = metadata["name"].as_str().unwrap_or_default();
    Rows {
        columns: vec![Column::NAME, Column::AGE],
        rows: vec![vec![name.into(), Cell::Age(age)]],
    }
}
