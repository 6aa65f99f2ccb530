//! Objects as YAML.

use anyhow::{Context, Result};
use serde_json::Value;

/// The objects as YAML documents, each after `---`.
///
/// # Errors
/// When an object cannot be written as YAML.
pub fn yaml(objects: &[Value]) -> Result<String> {
    let mut text = String::new();
    for object in objects {
        let document = serde_saphyr::to_string(object).with_context(|| {
            format!(
                "cannot write {} {} as YAML",
                object["kind"], object["metadata"]["name"]
            )
        })?;
        text.push_str("---\n");
        text.push_str(document.trim_end());
        text.push('\n');
    }
    Ok(text)
}
