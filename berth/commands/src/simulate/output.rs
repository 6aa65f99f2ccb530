//! `-o json` and `-o yaml`: a SchedulingList. The items are written one by one, so that a large fleet needs
//! no memory for all items at once.

use std::io::{self, Write};

use berth_apimachinery::{Timestamp, time};
use berth_dialect_contract::Outcome;
use berth_engine::simulate::{DemandOutcome, InvalidDemand};
use berth_scheduling_api::API_VERSION;
use berth_scheduling_rest::{scheduling_of, summary_of};
use serde_json::{Value, json};

use crate::args::{Reasons, SimulateOutput};

/// Reason in the Scheduling of an object that is not decided, since no server would accept the object.
pub(super) const SET_ASIDE: &str = "SetAside";

/// Writer of a SchedulingList.
pub(super) struct ListWriter {
    form: SimulateOutput,
    reasons: Reasons,
    count: usize,
}

impl ListWriter {
    pub(super) fn new(form: SimulateOutput, reasons: Reasons) -> Self {
        Self {
            form,
            reasons,
            count: 0,
        }
    }

    /// Writes the Scheduling of one decision, with `advice` if it was requested.
    pub(super) fn write(
        &mut self,
        out: &mut impl Write,
        outcome: &DemandOutcome<'_>,
        advice: Option<Value>,
    ) -> io::Result<()> {
        let (snapshot, decision) = (outcome.snapshot, outcome.decision);
        let scheduling = match self.reasons {
            Reasons::All => scheduling_of(snapshot, decision),
            reasons => summary_of(snapshot, decision, reasons == Reasons::Counts),
        };
        let mut item = scheduling.map_err(|status| io::Error::other(status.message))?;
        if let Some(advice) = advice {
            item["status"]["advice"] = advice;
        }
        self.write_item(out, &item)
    }

    /// Writes the Scheduling of one object that was set aside.
    pub(super) fn write_aside(
        &mut self,
        out: &mut impl Write,
        aside: &InvalidDemand,
        now: Timestamp,
    ) -> io::Result<()> {
        let (namespace, name) = aside.place();
        let demand = &aside.demand;
        let mut metadata = json!({"name": name});
        if !namespace.is_empty() {
            metadata["namespace"] = namespace.into();
        }
        let mut source = json!({"apiVersion": aside.api_version, "kind": aside.kind, "name": *demand.name});
        if !demand.namespace.is_empty() {
            source["namespace"] = (*demand.namespace).into();
        }
        let item = json!({
            "apiVersion": API_VERSION,
            "kind": "Scheduling",
            "metadata": metadata,
            "spec": {"dialect": aside.dialect.name(), "sourceRef": source},
            "status": {
                "outcome": Outcome::Invalid.as_str(),
                "reason": SET_ASIDE,
                "message": aside.message(),
                "evaluatedAt": time::rfc3339(now),
                "inventoryRevision": "0",
                "picked": [], "current": [], "changes": [], "candidates": [], "conditions": [], "writes": [],
            },
        });
        self.write_item(out, &item)
    }

    fn write_item(&mut self, out: &mut impl Write, item: &Value) -> io::Result<()> {
        if self.count == 0 {
            self.write_head(out)?;
        }
        match self.form {
            SimulateOutput::Yaml => yaml_item(out, item)?,
            _ => {
                let text = serde_json::to_string_pretty(item)?;
                let separator = if self.count == 0 { "\n    " } else { ",\n    " };
                write!(out, "{separator}{}", text.replace('\n', "\n    "))?;
            }
        }
        self.count += 1;
        Ok(())
    }

    fn write_head(&self, out: &mut impl Write) -> io::Result<()> {
        match self.form {
            SimulateOutput::Yaml => write!(out, "apiVersion: {API_VERSION}\nkind: SchedulingList\nitems:\n"),
            _ => write!(
                out,
                "{{\n  \"apiVersion\": \"{API_VERSION}\",\n  \"kind\": \"SchedulingList\",\n  \"items\": ["
            ),
        }
    }

    /// Writes the end of the list; without items, the whole empty list.
    pub(super) fn end(self, out: &mut impl Write) -> io::Result<()> {
        match (&self.form, self.count) {
            (SimulateOutput::Yaml, 0) => {
                write!(
                    out,
                    "apiVersion: {API_VERSION}\nkind: SchedulingList\nitems: []\n"
                )
            }
            (SimulateOutput::Yaml, _) => Ok(()),
            (_, 0) => {
                self.write_head(out)?;
                out.write_all(b"]\n}\n")
            }
            _ => out.write_all(b"\n  ]\n}\n"),
        }
    }
}

/// Writes `item` as one element of a YAML list.
fn yaml_item(out: &mut impl Write, item: &Value) -> io::Result<()> {
    let text = serde_saphyr::to_string(item).map_err(io::Error::other)?;
    for (index, line) in text.trim_end().lines().enumerate() {
        let indent = match (index, line.is_empty()) {
            (0, _) => "- ",
            (_, true) => "",
            (_, false) => "  ",
        };
        writeln!(out, "{indent}{line}")?;
    }
    Ok(())
}
