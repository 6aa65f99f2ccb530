//! One generated world, which is printed as YAML.

use std::fmt;

use berth_apimachinery::{Timestamp, time};
use serde_json::{Value, json};

/// One world for decisions.
#[derive(Clone)]
pub struct Case {
    /// All stored objects, including demands, with status. Each object passes the validation of its
    /// kind.
    pub objects: Vec<Value>,
    /// The dialect's part of a SchedulerConfiguration, where there is one.
    pub config: Option<Value>,
    /// The instant of decisions.
    pub now: Timestamp,
    /// A target that is infeasible for every demand here; `None` where an additional target may change a pick
    /// (Fleet with topology spread or a property sorter).
    pub infeasible: Option<Value>,
    /// Steps after the decisions on all demands and their writes; demands are decided again after each.
    pub later: Vec<Later>,
}

/// One later step in a world.
#[derive(Clone)]
pub enum Later {
    /// A merge patch (RFC 7386) over the stored object with this apiVersion, kind and name, so that the
    /// dialect's writes stay. Without such an object, it is created.
    Merge(Value),
    /// The object with this apiVersion, kind and name is deleted, if it exists; while it has
    /// finalizers, it is only marked.
    Delete(Value),
    /// This number of seconds passes.
    Wait(i64),
}

impl Case {
    /// A world of `objects` at `now`.
    #[must_use]
    pub fn new(now: Timestamp, objects: Vec<Value>) -> Self {
        Self {
            objects,
            config: None,
            now,
            infeasible: None,
            later: Vec::new(),
        }
    }
}

impl Later {
    fn value(&self) -> Value {
        match self {
            Self::Merge(object) => json!({"merge": object}),
            Self::Delete(object) => json!({"delete": object}),
            Self::Wait(seconds) => json!({"waitSeconds": seconds}),
        }
    }
}

/// One YAML document.
fn document(f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    let text = serde_saphyr::to_string(value).map_err(|_| fmt::Error)?;
    write!(f, "---\n{text}")
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# at {}", time::rfc3339(self.now))?;
        for object in &self.objects {
            document(f, object)?;
        }
        if let Some(config) = &self.config {
            document(f, &json!({"config": config}))?;
        }
        if let Some(infeasible) = &self.infeasible {
            document(f, &json!({"infeasible": infeasible}))?;
        }
        if !self.later.is_empty() {
            document(
                f,
                &json!({"later": self.later.iter().map(Later::value).collect::<Vec<_>>()}),
            )?;
        }
        Ok(())
    }
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        document(f, &self.value())
    }
}
