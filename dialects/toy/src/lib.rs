//! A toy system, whole and small: the template of a dialect (docs/adding-a-system.md), and the system
//! of the engine's tests.
//!
//! Toys go into the emptiest box that has room and no lid. The place of a toy is its field `spec.box`. A file
//! has the same role in every dialect that has it: copy the folder, and change the files. Start reading at
//! [`dialect`].
//!
//! ```
//! use berth_dialect_contract::{Dialect, Targets};
//! use berth_apimachinery::{Change, Key, Object, Revision};
//!
//! let mut fleet = berth_dialect_toy::Toys.inventory();
//! let shelf = berth_dialect_toy::object("Box", "", "shelf", serde_json::json!({"capacity": 1}));
//! let shelf = std::sync::Arc::new(Object::new(&shelf, Revision(1)).unwrap());
//! let change = Change::added(Key::new(berth_dialect_toy::BOXES, "", "shelf"), shelf);
//! std::sync::Arc::get_mut(&mut fleet).unwrap().fold(&change);
//! assert_eq!(fleet.candidate("shelf"), Some(0));
//! ```

mod admission;
mod code;
mod config;
mod decide;
mod detail;
pub mod dialect;
mod filters;
mod fleet;
mod inventory;
mod kind;
mod names;
mod painter;
mod remedies;
mod words;
mod writes;

use serde_json::{Value, json};

pub use dialect::Toys;
pub use names::{BOXES, COLORS, TOYS};

/// An object of the system as JSON: a `Toy`, or a `Box` without a namespace.
#[must_use]
pub fn object(kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    let mut metadata = json!({"name": name, "uid": format!("uid-{name}")});
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    json!({"apiVersion": names::API_VERSION, "kind": kind, "metadata": metadata, "spec": spec})
}
