//! The documents of a small server: two groups, the core group, subresources of three kinds.

mod crd;
mod discovery;
mod sample;
mod v2;
mod v3;

use serde_json::Value;

use crate::{Document, Documents};

fn documents() -> Documents {
    Documents::new("Sample", "v1.2.3", &sample::resources())
}

fn value(document: &Document) -> Value {
    serde_json::from_slice(&document.body).unwrap()
}
