//! `berth check`: is what is installed as it should be, and if not, what mends it (docs/operate.md, "Checking")? It asks a
//! standalone server or a hub as the person of the kubeconfig, and changes nothing.

mod args;
mod finding;
mod hub;
mod judge;
mod print;
mod rights;

use std::process::ExitCode;

use anyhow::Result;
use apiserver::SystemClock;
use berth_client::Client;
use commands::args::ServerArgs;
use http::Method;
use meta::{Clock, Timestamp};
use serde_json::Value;
use virtual_api::API_VERSION;

pub use args::{CheckArgs, CheckOutput, CheckQuestion};
use finding::{Finding, Verdict};

/// The largest page of a list.
const PAGE: usize = 500;
/// How many decisions are looked at.
const MOST: usize = 20_000;

/// Checks and prints.
///
/// # Errors
/// When no server answers.
pub async fn run(question: &CheckQuestion, server: &ServerArgs) -> Result<ExitCode> {
    let client = server.client().await?;
    let findings = Asked {
        client: &client,
        now: SystemClock.now(),
    }
    .all(server)
    .await?;
    print::print(&findings, question.output)?;
    let wrong = findings.iter().any(|finding| finding.verdict == Verdict::Wrong);
    Ok(if wrong {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The server, and the instant it is asked at.
struct Asked<'a> {
    client: &'a Client,
    now: Timestamp,
}

/// What was read, or why not.
enum Read {
    Object(Value),
    Absent,
    Refused(String),
}

impl Asked<'_> {
    async fn all(&self, server: &ServerArgs) -> Result<Vec<Finding>> {
        let version = self.client.raw("/version").await?;
        let stated: Value = serde_json::from_str(&version.text).unwrap_or_default();
        let stated = stated["gitVersion"].as_str().unwrap_or("none").to_owned();
        let standalone = stated.contains("+berth.");
        let mut findings = vec![versions(&stated)];
        findings.push(judge::clock(version.date.as_deref(), self.now));
        findings.extend(self.credentials(server));
        let served = self.group().await?;
        let is_served = served.verdict == Verdict::Ok;
        findings.push(served);
        if standalone {
            findings.extend(self.standalone().await?);
        } else {
            findings.extend(self.registered().await?);
        }
        if is_served {
            findings.extend(self.own_rights().await?);
            findings.extend(self.configurations().await?);
            findings.extend(self.decisions().await?);
        }
        Ok(findings)
    }

    async fn read(&self, path: &str) -> Result<Read> {
        Ok(match self.client.send(Method::GET, path, None).await? {
            Ok(object) => Read::Object(object),
            Err(status) if status.code == 404 => Read::Absent,
            Err(status) => Read::Refused(status.message),
        })
    }

    /// The certificates of the kubeconfig.
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
        let until = pem.and_then(|pem| judge::last_day(&pem).ok());
        let finding = until.map(|until| judge::expiry("certificates", "kubeconfig", until, self.now, mend));
        finding.into_iter().collect()
    }

    /// Whether Berth's own group answers.
    async fn group(&self) -> Result<Finding> {
        let path = format!("/apis/{API_VERSION}");
        Ok(match self.read(&path).await? {
            Read::Object(list) => {
                let count = list["resources"].as_array().map_or(0, Vec::len);
                Finding::ok(
                    "registration",
                    API_VERSION,
                    format!("{count} resources are served"),
                )
            }
            Read::Absent => Finding::ok("registration", API_VERSION, "it is not served").but(
                Verdict::Wrong,
                "berth manifests | kubectl apply --server-side -f -",
            ),
            Read::Refused(message) => Finding::ok("registration", API_VERSION, message).but(
                Verdict::Wrong,
                "kubectl get apiservice v1alpha1.scheduling.berth.dev -o yaml",
            ),
        })
    }

    /// What only a server itself tells: its checks and its certificates.
    async fn standalone(&self) -> Result<Vec<Finding>> {
        let ready = self.client.raw("/readyz?verbose").await?;
        let mut findings = match ready.code {
            200 | 500 => judge::readiness(&ready.text),
            _ => vec![unread("sources", "readiness", "/readyz", ready.code)],
        };
        let metrics = self.client.raw("/metrics").await?;
        findings.extend(match metrics.code {
            200 => judge::certificates(&metrics.text, self.now),
            code => vec![unread("certificates", "server", "/metrics", code)],
        });
        Ok(findings)
    }

    async fn configurations(&self) -> Result<Vec<Finding>> {
        let path = "/apis/config.berth.dev/v1alpha1/schedulerconfigurations";
        Ok(match self.read(path).await? {
            Read::Object(list) => items(&list).iter().map(judge::configuration).collect(),
            Read::Absent => vec![
                Finding::ok("configuration", "schedulerconfigurations", "they are not served").but(
                    Verdict::Wrong,
                    "berth manifests crds | kubectl apply --server-side -f -",
                ),
            ],
            Read::Refused(message) => {
                vec![
                    Finding::ok("configuration", "schedulerconfigurations", message)
                        .but(Verdict::Unknown, ""),
                ]
            }
        })
    }

    async fn decisions(&self) -> Result<Vec<Finding>> {
        let mut all = Vec::new();
        for resource in ["decisions", "clusterdecisions"] {
            let mut token = String::new();
            while all.len() < MOST {
                let path = format!("/apis/{API_VERSION}/{resource}?limit={PAGE}{token}");
                match self.read(&path).await? {
                    Read::Object(mut list) => {
                        if let Some(items) = list["items"].as_array_mut() {
                            all.append(items);
                        }
                        match list["metadata"]["continue"].as_str() {
                            Some(next) if !next.is_empty() => token = format!("&continue={next}"),
                            _ => break,
                        }
                    }
                    Read::Absent => break,
                    Read::Refused(message) => {
                        return Ok(vec![
                            Finding::ok("held", resource, message).but(Verdict::Unknown, ""),
                        ]);
                    }
                }
            }
        }
        Ok(judge::held(&all))
    }
}

/// The server's version beside this program's.
fn versions(stated: &str) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    match stated.split_once("+berth.") {
        Some((_, theirs)) if theirs == own => {
            Finding::ok("versions", "server", format!("berth {own}, as this program"))
        }
        Some((_, theirs)) => Finding::ok(
            "versions",
            "server",
            format!("berth {theirs}, this program is {own}"),
        )
        .but(
            Verdict::Note,
            format!("take berth {theirs} here, or {own} there (docs/install.md, \"Upgrade\")"),
        ),
        None => Finding::ok("versions", "hub", format!("Kubernetes {stated}")),
    }
}

/// What may not be read.
fn unread(area: &'static str, subject: &str, path: &str, code: u16) -> Finding {
    let mend = format!("kubectl get --raw {path}");
    Finding::ok(area, subject, format!("{path} answers {code}")).but(Verdict::Unknown, mend)
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}
