//! `berth check`: checks the installation, and prints the remedies (docs/operate.md, "Checking"). The
//! command reads a standalone server or a hub as the user of the kubeconfig, and changes nothing.

mod absent;
mod args;
mod detect;
mod finding;
mod hub;
mod judge;
mod print;
mod rights;
mod schedulers;
mod started;
mod webhooks;

use std::process::ExitCode;

use anyhow::{Result, bail};
use berth_apimachinery::{Clock, Timestamp};
use berth_apiserver::SystemClock;
use berth_client::Client;
use berth_commands::args::ServerArgs;
use berth_commands::why::missing::cluster_role_binding_command;
use berth_scheduling_api::API_VERSION;
use http::Method;
use serde_json::Value;

pub use args::{CheckArgs, CheckOutput, CheckQuestion};
pub(crate) use detect::detect_sources;
use finding::{CheckResult, Finding, RequestCounts, Verdict};
pub(crate) use judge::condition;
pub(crate) use schedulers::{CONFIGURATIONS, SchedulerState};
pub(crate) use started::ServerArguments;

/// Highest number of objects in one page of a list.
const PAGE_SIZE: usize = 500;
/// Number of objects of one resource after which no further page is read.
const MAX_OBJECTS: usize = 20_000;
/// The exit code if Berth is not installed, and nothing is wrong.
const NOT_INSTALLED: u8 = 3;
/// Path of the metrics, which include the expiry of certificates.
const METRICS: &str = "/metrics";

/// Checks a server, prints the findings, and returns the exit code.
///
/// # Errors
/// When no server answers.
pub async fn run(question: &CheckQuestion, server: &ServerArgs) -> Result<ExitCode> {
    let client = server.client().await?;
    let result = Checker {
        client: &client,
        now: SystemClock.now(),
    }
    .check(server)
    .await?;
    print::print(&result, question.output)?;
    Ok(match (result.count(Verdict::Wrong), result.installed) {
        (0, true) => ExitCode::SUCCESS,
        (0, false) => ExitCode::from(NOT_INSTALLED),
        _ => ExitCode::FAILURE,
    })
}

/// Finding that only the first `count` objects were checked; `None` if there may not be more.
fn cut_note(area: &'static str, resource: &str, count: usize) -> Option<Finding> {
    let message = format!("only the first {count} were checked");
    (count >= MAX_OBJECTS).then(|| Finding::ok(area, resource, message).with_verdict(Verdict::Note, ""))
}

/// A check of the server of `client` at the time `now`.
pub(crate) struct Checker<'a> {
    pub(crate) client: &'a Client,
    pub(crate) now: Timestamp,
}

/// Result of reading an object or a list.
pub(crate) enum ReadResult {
    Object(Value),
    Absent,
    Refused(String),
}

impl Checker<'_> {
    /// Carries out all checks of a standalone server or a hub.
    async fn check(self, server: &ServerArgs) -> Result<CheckResult> {
        let version = self.client.raw("/version").await?;
        if version.code != 200 {
            bail!("/version: {} {}", version.code, version.text.trim());
        }
        let server_version: Value = serde_json::from_str(&version.text).unwrap_or_default();
        let server_version = server_version["gitVersion"].as_str().unwrap_or("none").to_owned();
        let standalone = server_version.contains("+berth.");
        let mut findings = vec![versions(&server_version)];
        let server_time = version.date.as_deref().and_then(judge::server_time);
        findings.push(judge::clock(server_time, self.now));
        findings.extend(self.credentials(server));
        // Leases are renewed by the server's clock, from which the clock here may differ.
        let checker = Self {
            now: server_time.unwrap_or(self.now),
            ..self
        };
        checker.check_at_server_time(findings, standalone).await
    }

    /// Carries out the checks of a server whose clock and version are in `findings`.
    async fn check_at_server_time(&self, findings: Vec<Finding>, standalone: bool) -> Result<CheckResult> {
        let group = self.read(&format!("/apis/{API_VERSION}")).await?;
        let mut result = CheckResult {
            installed: true,
            findings,
            requests: None,
        };
        // A registered API that does not answer has another status than 404.
        if !standalone && matches!(group, ReadResult::Absent) {
            let deployment = self.default_deployment().await?;
            if let ReadResult::Refused(message) = &deployment {
                let message = format!("it is not known whether Berth runs here: {message}");
                result
                    .findings
                    .push(Finding::unknown("registration", API_VERSION, message));
            }
            if !matches!(deployment, ReadResult::Object(_)) {
                result.installed = false;
                result.findings.extend(self.not_installed_findings().await?);
                return Ok(result);
            }
        }
        let served = served(group);
        let is_served = served.verdict == Verdict::Ok;
        result.findings.push(served);
        result.findings.extend(match standalone {
            true => self.standalone_findings().await?,
            false => self.hub_findings().await?,
        });
        if is_served {
            result.findings.extend(self.own_rights().await?);
            result.findings.extend(self.configurations().await?);
            result.findings.extend(self.targets().await?);
            let (findings, requests) = self.decisions().await?;
            result.findings.extend(findings);
            result.requests = requests;
        }
        Ok(result)
    }

    /// Reads the object or list at `path`.
    pub(crate) async fn read(&self, path: &str) -> Result<ReadResult> {
        Ok(match self.client.send(Method::GET, path, None).await? {
            Ok(object) => ReadResult::Object(object),
            Err(status) if status.code == 404 => ReadResult::Absent,
            Err(status) => ReadResult::Refused(status.message),
        })
    }

    /// Finding about the client certificate of the kubeconfig; empty if there is no certificate, or it cannot
    /// be read.
    fn credentials(&self, server: &ServerArgs) -> Vec<Finding> {
        let mend = "a new kubeconfig (standalone: berth kubeconfig --user NAME)";
        let Ok(file) = berth_client::kubeconfig(server.kubeconfig.as_deref()) else {
            return Vec::new();
        };
        let name = server.context.as_ref().or(file.current_context.as_ref());
        let context = file
            .contexts
            .iter()
            .find(|context| Some(&context.name) == name)
            .and_then(|context| context.context.as_ref());
        let user = context.and_then(|context| context.user.as_ref());
        let auth = file.auth_infos.iter().find(|auth| Some(&auth.name) == user);
        let Some(auth) = auth.and_then(|auth| auth.auth_info.as_ref()) else {
            return Vec::new();
        };
        let pem = match (&auth.client_certificate_data, &auth.client_certificate) {
            (Some(data), _) => {
                use base64::Engine as _;
                base64::engine::general_purpose::STANDARD.decode(data).ok()
            }
            (None, Some(path)) => std::fs::read(path).ok(),
            (None, None) => None,
        };
        let until = pem.and_then(|pem| judge::last_expiry(&pem).ok());
        let finding = until.map(|until| judge::expiry("certificates", "kubeconfig", until, self.now, mend));
        finding.into_iter().collect()
    }

    /// Findings about the readiness and the certificates of a standalone server.
    async fn standalone_findings(&self) -> Result<Vec<Finding>> {
        let ready = self.client.raw("/readyz?verbose").await?;
        let mut findings = match ready.code {
            200 | 500 => judge::readiness(&ready.text),
            _ => vec![not_checked(
                "sources",
                "readiness",
                "/readyz",
                "kubectl get --raw /readyz",
            )],
        };
        let metrics = self.client.raw(METRICS).await?;
        findings.extend(match metrics.code {
            200 => judge::certificates(&metrics.text, self.now),
            _ => {
                const ROLE: &str = "berth:metrics-reader";
                let mend = format!(
                    "kubectl create clusterrole {ROLE} --verb=get --non-resource-url={METRICS}; {}",
                    cluster_role_binding_command(ROLE, &self.user().await?)
                );
                vec![not_checked("certificates", "serving certificate", METRICS, &mend)]
            }
        });
        Ok(findings)
    }

    /// Findings about the SchedulerConfigurations.
    async fn configurations(&self) -> Result<Vec<Finding>> {
        Ok(match self.read(schedulers::CONFIGURATIONS).await? {
            ReadResult::Object(list) => items(&list).iter().map(judge::configuration).collect(),
            ReadResult::Absent => vec![
                Finding::ok("configuration", "schedulerconfigurations", "they are not served").with_verdict(
                    Verdict::Wrong,
                    "berth manifests crds | kubectl apply --server-side -f -",
                ),
            ],
            ReadResult::Refused(message) => {
                vec![Finding::unknown(
                    "configuration",
                    "schedulerconfigurations",
                    message,
                )]
            }
        })
    }

    /// Findings about targets with problems other than readiness.
    async fn targets(&self) -> Result<Vec<Finding>> {
        let mut all = Vec::new();
        Ok(match self.pages("targets", &mut all).await? {
            None => {
                let mut findings = judge::targets(&all);
                findings.extend(cut_note("targets", "targets", all.len()));
                findings
            }
            Some(message) => {
                vec![Finding::unknown("targets", "targets", message)]
            }
        })
    }

    /// Findings about requests without a place and about rules, and the numbers of requests; `None` if the
    /// caller may not read decisions.
    async fn decisions(&self) -> Result<(Vec<Finding>, Option<RequestCounts>)> {
        let (mut all, mut cut) = (Vec::new(), Vec::new());
        for resource in ["decisions", "clusterdecisions"] {
            let mut some = Vec::new();
            if let Some(message) = self.pages(resource, &mut some).await? {
                let finding = Finding::unknown("held", resource, message);
                return Ok((vec![finding], None));
            }
            cut.extend(cut_note("held", resource, some.len()));
            all.append(&mut some);
        }
        let (mut findings, requests) = judge::unplaced_requests(&all);
        findings.extend(cut);
        findings.extend(self.rules(&all).await?);
        Ok((findings, Some(requests)))
    }

    /// Findings about rules that contradict the objects of a system. Every report of a system states the
    /// system's rules, so the report of one decision is read for each system.
    async fn rules(&self, decisions: &[Value]) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for (system, path) in judge::decision_paths(decisions) {
            let path = format!("/apis/{API_VERSION}/{path}/scheduling?limit=1");
            findings.extend(match self.read(&path).await? {
                ReadResult::Object(report) => judge::rules(&system, &report),
                // The request was deleted in the meantime.
                ReadResult::Absent => None,
                ReadResult::Refused(message) => Some(Finding::unknown(
                    "configuration",
                    format!("rules of {system}"),
                    message,
                )),
            });
        }
        Ok(findings)
    }

    /// Adds the objects of `resource`, a resource of Berth's own group, to `all`, page by page, until `all`
    /// has [`MAX_OBJECTS`] objects. Returns the message of a refusal, if the caller may not read the objects.
    async fn pages(&self, resource: &str, all: &mut Vec<Value>) -> Result<Option<String>> {
        let mut token = String::new();
        while all.len() < MAX_OBJECTS {
            let path = format!("/apis/{API_VERSION}/{resource}?limit={PAGE_SIZE}{token}");
            match self.read(&path).await? {
                ReadResult::Object(mut list) => {
                    if let Some(items) = list["items"].as_array_mut() {
                        all.append(items);
                    }
                    match list["metadata"]["continue"].as_str() {
                        Some(next) if !next.is_empty() => token = format!("&continue={next}"),
                        _ => break,
                    }
                }
                ReadResult::Absent => break,
                ReadResult::Refused(message) => return Ok(Some(message)),
            }
        }
        Ok(None)
    }
}

/// Finding about the server's version, compared with the version of this program.
fn versions(server_version: &str) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    match server_version.split_once("+berth.") {
        Some((_, server)) if server == own => {
            Finding::ok("versions", "server", format!("berth {own}, as this program"))
        }
        Some((_, server)) => Finding::ok(
            "versions",
            "server",
            format!("berth {server}, this program is {own}"),
        )
        .with_verdict(
            Verdict::Note,
            format!("install berth {server} here, or berth {own} there (docs/install.md, \"Upgrade\")"),
        ),
        None => Finding::ok("versions", "hub", format!("Kubernetes {server_version}")),
    }
}

/// Finding about whether Berth's own group is served; `group` is the result of reading its resources.
fn served(group: ReadResult) -> Finding {
    match group {
        ReadResult::Object(list) => {
            let count = list["resources"].as_array().map_or(0, Vec::len);
            Finding::ok(
                "registration",
                API_VERSION,
                format!("{count} resources are served"),
            )
        }
        ReadResult::Absent => Finding::ok("registration", API_VERSION, "it is not served").with_verdict(
            Verdict::Wrong,
            "the server's log says why (docs/operate.md, \"Troubleshooting\")",
        ),
        ReadResult::Refused(message) => Finding::ok("registration", API_VERSION, message).with_verdict(
            Verdict::Wrong,
            "kubectl get apiservice v1alpha1.scheduling.berth.dev -o yaml",
        ),
    }
}

/// Finding that `subject` is not checked, since `path` cannot be read; `mend` is a command that helps.
fn not_checked(area: &'static str, subject: &str, path: &str, mend: &str) -> Finding {
    let message = format!("{subject} not checked: {path} cannot be read");
    Finding::ok(area, subject, message).with_verdict(Verdict::Unknown, mend)
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}
