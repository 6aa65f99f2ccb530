//! Arguments of `berth takeover` and `berth handback`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use berth_apimachinery::duration::parse_unsigned;
use berth_apimachinery::selector::{Operator, Selector};
use berth_commands::args::ServerArgs;
use clap::Args;
use serde_json::{Value, json};

/// Help text of the argument SYSTEM, with the names of all systems.
fn system_help() -> String {
    let dialects = berth_dialect_registry::all();
    let names: Vec<&str> = dialects.iter().map(|dialect| dialect.name()).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("The system: {} or {last}", others.join(", ")),
        _ => format!("The system: {}", names.concat()),
    }
}

/// Arguments of `berth takeover`.
#[derive(Args, Clone, Debug)]
pub struct TakeoverArgs {
    /// Name of the system.
    #[arg(help = system_help())]
    pub system: String,
    /// Take over only requests whose labels match this selector, in the form of `kubectl -l` (spec.requests);
    /// by default all requests.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Compute the effects with this file: the system's own configuration file or SchedulerConfiguration with
    /// which Berth was started.
    #[arg(long, value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// Decide beside the system's own scheduler, which keeps running (spec.otherScheduler: Ignore).
    #[arg(long)]
    pub beside: bool,
    /// Take over: set the mode of the stored SchedulerConfiguration, and wait until Berth decides.
    #[arg(long)]
    pub yes: bool,
    /// Maximum time to wait until Berth decides.
    #[arg(long, default_value = "5m", value_parser = parse_unsigned, value_name = "DURATION")]
    pub timeout: Duration,
    /// Flags for the server and the user.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Arguments of `berth handback`.
#[derive(Args, Clone, Debug)]
pub struct HandbackArgs {
    /// Name of the system.
    #[arg(help = system_help())]
    pub system: String,
    /// Hand back: set Berth to observe, and wait until the system's own scheduler runs.
    #[arg(long)]
    pub yes: bool,
    /// Maximum time to wait until Berth observes, and again until the system's own scheduler runs.
    #[arg(long, default_value = "5m", value_parser = parse_unsigned, value_name = "DURATION")]
    pub timeout: Duration,
    /// Flags for the server and the user.
    #[command(flatten)]
    pub server: ServerArgs,
}

impl TakeoverArgs {
    /// The label selector of the requests.
    ///
    /// # Errors
    /// When the value of --selector is not a label selector.
    pub(super) fn selector(&self) -> Result<Selector> {
        let text = self.selector.as_deref().unwrap_or_default();
        Selector::parse(text).map_err(|problem| anyhow!("--selector: {problem}"))
    }

    /// The value of `spec.requests` for the selected requests; null for all requests.
    ///
    /// # Errors
    /// When the value of --selector is not a label selector, or compares numbers, which selectors in objects
    /// cannot express.
    pub(super) fn requests(&self) -> Result<Value> {
        let selector = self.selector()?;
        if selector.is_everything() {
            return Ok(Value::Null);
        }
        let mut expressions = Vec::new();
        for requirement in &selector.requirements {
            let operator = match requirement.operator {
                Operator::In => "In",
                Operator::NotIn => "NotIn",
                Operator::Exists => "Exists",
                Operator::DoesNotExist => "DoesNotExist",
                Operator::GreaterThan | Operator::LessThan => {
                    bail!(
                        "--selector: {}: spec.requests cannot compare numbers: use =, !=, in, notin or the existence of the label",
                        requirement.key
                    )
                }
            };
            let mut expression = json!({"key": requirement.key, "operator": operator});
            if !requirement.values.is_empty() {
                expression["values"] = json!(requirement.values);
            }
            expressions.push(expression);
        }
        Ok(json!({"selector": {"matchExpressions": expressions}}))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        args: TakeoverArgs,
    }

    fn requests(selector: &str) -> Result<Value> {
        Words::parse_from(["takeover", "ocm", "-l", selector])
            .args
            .requests()
    }

    #[test]
    fn a_selector_of_the_command_line_becomes_spec_requests() {
        assert_eq!(requests("").unwrap(), Value::Null);
        assert_eq!(
            requests("canary=yes,!old").unwrap(),
            json!({"selector": {"matchExpressions": [
                {"key": "canary", "operator": "In", "values": ["yes"]}, {"key": "old", "operator": "DoesNotExist"},
            ]}})
        );
        assert!(
            requests("a b")
                .unwrap_err()
                .to_string()
                .starts_with("--selector: ")
        );
        assert!(
            requests("size>3")
                .unwrap_err()
                .to_string()
                .contains("cannot compare numbers")
        );
    }
}
