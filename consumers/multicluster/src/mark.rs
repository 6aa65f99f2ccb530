//! The annotations of published objects.
//!
//! One annotation has the name of the Publication: only objects with this annotation are updated or deleted.
//! The other annotation has a digest of the wanted object. It shows that a field is no longer wanted, which a
//! comparison of only the wanted fields with the published object would not show.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The annotation with the name of the Publication.
pub const PUBLICATION: &str = "config.berth.dev/publication";
/// The annotation with the digest of the wanted object.
pub const DIGEST: &str = "config.berth.dev/digest";
/// Number of bytes of the hash in a digest. Each byte is written as two hexadecimal digits.
const BYTES: usize = 8;

/// Annotates `object` with the name of the Publication and with the digest of `object`.
pub(crate) fn annotate(object: &mut Value, publication: &str) {
    object["metadata"]["annotations"] = serde_json::json!({PUBLICATION: publication});
    let digest = digest(object);
    object["metadata"]["annotations"][DIGEST] = digest.into();
}

/// The digest of `object`. Of the status, the digest covers only the names of fields and list entries, since
/// values of the status change often.
fn digest(object: &Value) -> String {
    let mut object = object.clone();
    let status = object["status"].take();
    let names: Vec<String> = names(&status).collect();
    let text = format!("{object} {names:?}");
    let hash = Sha256::digest(text.as_bytes());
    hash.iter()
        .take(BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The names of the fields of `status` and of the entries in its lists.
fn names(status: &Value) -> impl Iterator<Item = String> {
    let fields = status.as_object().into_iter().flatten();
    fields.flat_map(|(field, value)| {
        let entries = value.as_array().into_iter().flatten();
        let named = entries.map(move |entry| format!("{field}/{}{}", entry["type"], entry["name"]));
        std::iter::once(field.clone()).chain(named)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest_of(labels: Value, status: Value) -> String {
        digest(&json!({"metadata": {"labels": labels}, "status": status}))
    }

    #[test]
    fn the_digest_covers_the_object_and_the_names_of_its_status_fields() {
        let property = |name: &str, value: &str| json!({"properties": [{"name": name, "value": value}]});
        let first = digest_of(json!({"a": "b"}), property("id", "1"));
        assert_eq!(first, digest_of(json!({"a": "b"}), property("id", "2")));
        assert_ne!(first, digest_of(json!({"a": "b"}), property("other", "1")));
        assert_ne!(first, digest_of(json!({"a": "c"}), property("id", "1")));
    }
}
