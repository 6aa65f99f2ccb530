//! Common parts of the differential tests: drawing, comparing and making smaller.

use std::collections::BTreeSet;

use berth_scheduling::Random;
use serde_json::Value;

/// Source of generated input, which is equal for equal seeds.
pub struct Draw(Random);

impl Draw {
    /// Source of the `number`th sequence of a run.
    #[must_use]
    pub const fn new(seed: u64, number: u64) -> Self {
        Self(Random::new(seed.wrapping_add(number.wrapping_mul(0x9E37_79B9))))
    }

    /// A random element.
    pub fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// A number from 0 to below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.below(bound as u64)).unwrap_or_default()
    }

    /// True in three of four calls.
    pub fn often(&mut self) -> bool {
        self.below(4) > 0
    }

    /// True once in `times` calls.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// The integer in the environment variable `name`, or `otherwise`.
///
/// # Panics
/// When it is not an integer.
#[must_use]
pub fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} must be a whole number"))
    })
}

/// Differences of two values, as lines of `path: reference | other`.
#[must_use]
pub fn differences(reference: &Value, other: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", reference, other, &mut lines);
    lines
}

fn compare(path: &str, reference: &Value, other: &Value, lines: &mut Vec<String>) {
    match (reference, other) {
        (Value::Object(one), Value::Object(two)) => {
            let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for key in keys {
                let (one, two) = (one.get(key), two.get(key));
                match (one, two) {
                    (Some(one), Some(two)) => compare(&format!("{path}.{key}"), one, two, lines),
                    _ => lines.push(format!("{path}.{key}: {} | {}", shown(one), shown(two))),
                }
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                compare(&format!("{path}[{index}]"), one, two, lines);
            }
        }
        _ if reference == other => {}
        _ => lines.push(format!(
            "{path}: {} | {}",
            shown(Some(reference)),
            shown(Some(other))
        )),
    }
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "absent".to_owned(), Value::to_string);
    text.chars().take(300).collect()
}

/// Every member of an object at any depth, as the JSON pointer of the object and the member's name,
/// without `apiVersion` and `kind`.
#[must_use]
pub fn members(value: &Value) -> Vec<(String, String)> {
    let mut into = Vec::new();
    pointers(value, "", &mut into);
    into
}

fn pointers(value: &Value, path: &str, into: &mut Vec<(String, String)>) {
    if let Value::Object(map) = value {
        for (key, value) in map {
            if key != "kind" && key != "apiVersion" {
                into.push((path.to_owned(), key.clone()));
            }
            let escaped = key.replace('~', "~0").replace('/', "~1");
            pointers(value, &format!("{path}/{escaped}"), into);
        }
    }
    if let Value::Array(items) = value {
        for (index, item) in items.iter().enumerate() {
            pointers(item, &format!("{path}/{index}"), into);
        }
    }
}

/// The value without one of its [`members`].
#[must_use]
pub fn without(mut value: Value, (path, key): &(String, String)) -> Value {
    if let Some(Value::Object(map)) = value.pointer_mut(path) {
        map.remove(key);
    }
    value
}
