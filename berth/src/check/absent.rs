//! Findings about a hub without Berth (docs/try-on-your-hub.md). The commands that the findings name do not
//! change the hub.

use std::collections::BTreeSet;

use anyhow::Result;
use berth_deploy::{configuration_name, default_service};
use berth_scheduling_api::API_VERSION;
use serde_json::{Value, json};

use super::finding::{Finding, Verdict};
use super::rights::right_text;
use super::webhooks::{CONFIGURATIONS, WEBHOOKS};
use super::{CheckSubject, Read};

/// Commands that read the hub and write nothing to it.
const LOOK: &str =
    "berth compare; berth why KIND/NAME -n NAMESPACE; berth console; berth export FOLDER (each only reads)";

impl CheckSubject<'_> {
    /// Findings about a hub without Berth.
    pub(super) async fn not_installed(&self) -> Result<Vec<Finding>> {
        let mut findings = vec![
            Finding::ok("registration", API_VERSION, "Berth is not installed here").but(Verdict::Note, LOOK),
        ];
        findings.extend(self.remaining_webhooks().await?);
        let served = match self.read("/apis").await? {
            Read::Object(list) => groups(&list),
            Read::Absent => BTreeSet::new(),
            Read::Refused(message) => {
                findings.push(Finding::ok("sources", "API groups", message).but(Verdict::Unknown, ""));
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
                    .may("selfsubjectaccessreviews", json!({"resourceAttributes": right}))
                    .await?
                {
                    Ok(true) => {}
                    Ok(false) => missing.push(right_text(&right)),
                    Err(message) => {
                        findings.push(Finding::ok("rights", "yours", message).but(Verdict::Unknown, ""));
                        return Ok(findings);
                    }
                }
            }
            findings.push(readable(system, &missing));
        }
        Ok(findings)
    }

    /// Findings about webhook configurations of an uninstalled Berth: a manual removal may forget them.
    async fn remaining_webhooks(&self) -> Result<Vec<Finding>> {
        let service = default_service();
        let name = configuration_name(&service);
        let mut findings = Vec::new();
        for (resource, kind) in CONFIGURATIONS {
            // If the configuration does not exist or may not be read, there is no finding.
            let Read::Object(object) = self.read(&format!("{WEBHOOKS}/{resource}/{name}")).await? else {
                continue;
            };
            let count = object["webhooks"].as_array().map_or(0, Vec::len);
            let subject = format!("{kind} {name}");
            findings.push(match count {
                0 => Finding::ok("registration", subject, "it is left from an installation, and empty")
                    .but(Verdict::Note, "berth uninstall --dry-run"),
                count => Finding::ok(
                    "registration",
                    subject,
                    format!("it is left from an installation: {count} webhooks call a server that is not registered"),
                )
                .but(Verdict::Wrong, "berth uninstall --dry-run"),
            });
        }
        Ok(findings)
    }
}

/// Finding about whether the user may read everything that the scheduler of `system` reads. `missing` are the
/// missing rights.
fn readable(system: &str, missing: &[String]) -> Finding {
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
    Finding::ok("rights", "yours", message).but(Verdict::Note, "kubectl auth can-i --list")
}

/// The names of the groups in an APIGroupList.
pub(super) fn groups(list: &Value) -> BTreeSet<String> {
    let groups = list["groups"].as_array().into_iter().flatten();
    let names = groups.filter_map(|group| group["name"].as_str());
    names.map(str::to_owned).collect()
}
