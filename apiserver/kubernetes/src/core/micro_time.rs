//! Fields of `metav1.MicroTime`.

use berth_apimachinery::{FieldError, time};
use serde_json::Value;

use crate::core::value::text;

/// Returns an error for each time at `paths` that does not have exactly six digits after the second. Typed
/// clients parse only this form: one other time would break every typed list and watch with the object. The
/// schema rejects values that are not times.
pub(crate) fn problems(paths: &[&[&str]], new: &Value) -> Vec<FieldError> {
    let is_micro = |time: &str| {
        let fraction = time.get(19..).unwrap_or_default().as_bytes();
        fraction.first() == Some(&b'.')
            && fraction.len() > 7
            && fraction[1..7].iter().all(u8::is_ascii_digit)
            && !fraction[7].is_ascii_digit()
    };
    let invalid = paths.iter().filter(|path| {
        let time = text(new, path);
        time::parse(time).is_some() && !is_micro(time)
    });
    invalid
        .map(|path| {
            let detail = "must be a time with microseconds, such as 2006-01-02T15:04:05.000000Z";
            FieldError::invalid(path.join("."), text(new, path), detail)
        })
        .collect()
}

/// Converts the times at `paths` to UTC, the served form, unless one of them has a problem.
pub(crate) fn to_utc(paths: &[&[&str]], new: &mut Value) {
    if !problems(paths, new).is_empty() {
        return;
    }
    for path in paths {
        if let Some(instant) = time::parse(text(new, path))
            && let Some(slot) = new.pointer_mut(&format!("/{}", path.join("/")))
        {
            *slot = time::rfc3339_micro(instant).into();
        }
    }
}
