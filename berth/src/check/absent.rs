//! Findings about a hub without Berth (docs/try-on-your-hub.md). The findings name only commands that do not
//! change the hub.

use std::collections::BTreeSet;

use anyhow::Result;
use berth_deploy::{configuration_name, default_service};
use berth_scheduling_api::API_VERSION;
use serde_json::{Value, json};

use super::finding::{Finding, Verdict};
use super::rights::right_text;
use super::webhooks::{CONFIGURATIONS, WEBHOOKS};
use super::{Checker, ReadResult};

/// Commands for a hub without Berth, none of which changes the hub.
const READ_ONLY_COMMANDS: &str =
    "berth compare; berth why KIND/NAME -n NAMESPACE; berth console; berth export FOLDER (each only reads)";

impl Checker<'_> {
    /// Findings about a hub without Berth.
    pub(super) async fn not_installed_findings(&self) -> Result<Vec<Finding>> {
        let mut findings = vec![
            Finding::ok("registration", API_VERSION, "Berth is not installed here")
                .with_verdict(Verdict::Note, READ_ONLY_COMMANDS),
        ];
        findings.extend(self.remaining_webhooks().await?);
        let served = match self.read("/apis").await? {
            ReadResult::Object(list) => groups(&list),
            ReadResult::Absent => BTreeSet::new(),
            ReadResult::Refused(message) => {
                findings.push(Finding::unknown("sources", "API groups", message));
                return Ok(findings);
            }
        };
        for dialect in berth_dialect_registry::all() {
            let system = dialect.name();
            if !served.contains(dialect.target().group) {
                findings.push(Finding::ok("sources", system, "not on this hub"));
                continue;
            }
            findings.push(Finding::ok("sources", system, "its objects are on this hub"));
            let mut missing = Vec::new();
            let reads = dialect.reads().into_iter();
            for resource in reads.filter(|resource| *resource != berth_dialect_contract::config::RESOURCE) {
                let right = json!({"group": resource.group, "resource": resource.resource, "verb": "list"});
                match self
                    .review_access("selfsubjectaccessreviews", json!({"resourceAttributes": right}))
                    .await?
                {
                    Ok(true) => {}
                    Ok(false) => missing.push(right_text(&right)),
                    Err(message) => {
                        findings.push(Finding::unknown("rights", "yours", message));
                        return Ok(findings);
                    }
                }
            }
            findings.push(read_rights(system, &missing));
        }
        Ok(findings)
    }

    /// Findings about webhook configurations that remain from an earlier installation of Berth.
    async fn remaining_webhooks(&self) -> Result<Vec<Finding>> {
        let service = default_service();
        let name = configuration_name(&service);
        let mut findings = Vec::new();
        for (resource, kind) in CONFIGURATIONS {
            // If the configuration does not exist or may not be read, there is no finding.
            let ReadResult::Object(object) = self.read(&format!("{WEBHOOKS}/{resource}/{name}")).await?
            else {
                continue;
            };
            let count = object["webhooks"].as_array().map_or(0, Vec::len);
            let subject = format!("{kind} {name}");
            let remains = "it remains from an earlier installation";
            let (verdict, message) = match count {
                0 => (Verdict::Note, format!("{remains}, without webhooks")),
                count => (
                    Verdict::Wrong,
                    format!("{remains}: {count} webhooks call a server that is not registered"),
                ),
            };
            let finding = Finding::ok("registration", subject, message);
            findings.push(finding.with_verdict(verdict, "berth uninstall --dry-run"));
        }
        Ok(findings)
    }
}

/// Finding about the user's rights to read everything that the scheduler of `system` reads. `missing` are the
/// rights that the user does not have.
fn read_rights(system: &str, missing: &[String]) -> Finding {
    if missing.is_empty() {
        return Finding::ok(
            "rights",
            "yours",
            format!("{system}: all that its scheduler reads may be read"),
        );
    }
    let message = format!(
        "{system}: you may not {}; answers may differ from the scheduler's",
        missing.join(", ")
    );
    Finding::ok("rights", "yours", message).with_verdict(Verdict::Note, "kubectl auth can-i --list")
}

/// The names of the groups in an APIGroupList.
pub(super) fn groups(list: &Value) -> BTreeSet<String> {
    let groups = list["groups"].as_array().into_iter().flatten();
    let names = groups.filter_map(|group| group["name"].as_str());
    names.map(str::to_owned).collect()
}
