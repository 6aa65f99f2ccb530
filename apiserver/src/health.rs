//! `/healthz`, `/livez` and `/readyz`: named checks, in the form that kubelets, load balancers and people
//! read (docs/reference.md, "Health, metrics, stopping").

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use berth_apimachinery::Status;
use http::{Response, StatusCode};
use parking_lot::{Mutex, RwLock};

use crate::metrics::Metrics;
use crate::request_info::Query;
use crate::respond;

/// One of the three endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// `/healthz`, the deprecated endpoint.
    Healthz,
    /// `/livez`: the server needs a restart when this fails.
    Livez,
    /// `/readyz`: the server receives no requests while this fails.
    Readyz,
}

impl Probe {
    /// All endpoints.
    pub const ALL: [Self; 3] = [Self::Healthz, Self::Livez, Self::Readyz];

    /// Name of the endpoint: `healthz`, `livez` or `readyz`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthz => "healthz",
            Self::Livez => "livez",
            Self::Readyz => "readyz",
        }
    }

    /// Parses a path into the endpoint and the rest: `/readyz/ping` is (`Readyz`, `ping`).
    #[must_use]
    pub fn of_path(path: &str) -> Option<(Self, &str)> {
        let path = path.strip_prefix('/')?;
        Self::ALL
            .into_iter()
            .find_map(|probe| match path.strip_prefix(probe.name())? {
                "" => Some((probe, "")),
                rest => rest.strip_prefix('/').map(|check| (probe, check)),
            })
    }
}

/// Problem that a check found: an error of the check's own type, or a text.
pub type Problem = Box<dyn std::error::Error + Send + Sync>;

type CheckFunction = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

struct Check {
    name: String,
    probes: Vec<Probe>,
    /// Whether the endpoints fail when the check fails.
    decisive: bool,
    run: CheckFunction,
    /// Last logged problem. Probes come every few seconds, so each problem is logged once.
    logged: Mutex<Option<String>>,
}

/// Health checks of a server.
pub struct Health {
    checks: RwLock<Vec<Arc<Check>>>,
    stopping: Arc<AtomicBool>,
}

impl Default for Health {
    fn default() -> Self {
        Self::new()
    }
}

impl Health {
    /// Creates the checks `ping`, for all endpoints, and `shutdown`, which makes readiness fail when the
    /// server begins to stop.
    #[must_use]
    pub fn new() -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let health = Self {
            checks: RwLock::default(),
            stopping: stopping.clone(),
        };
        health.add("ping", &Probe::ALL, || Ok::<(), Infallible>(()));
        health.add("shutdown", &[Probe::Readyz], move || {
            if stopping.load(Ordering::Acquire) {
                Err("the server is shutting down")
            } else {
                Ok(())
            }
        });
        health
    }

    /// Adds a check whose failure makes `probes` fail. The check must be fast and must not block. Its error
    /// is logged, and returned at `/<probe>/<name>`; the answer of the whole endpoint contains only "reason
    /// withheld".
    pub fn add<E: Into<Problem>>(
        &self,
        name: &str,
        probes: &[Probe],
        run: impl Fn() -> Result<(), E> + Send + Sync + 'static,
    ) {
        self.push(name, probes, true, with_text(run));
    }

    /// Adds a check that is reported, and answers at `/<probe>/<name>`, but does not make `probes` fail.
    pub fn add_informative<E: Into<Problem>>(
        &self,
        name: &str,
        probes: &[Probe],
        run: impl Fn() -> Result<(), E> + Send + Sync + 'static,
    ) {
        self.push(name, probes, false, with_text(run));
    }

    fn push(&self, name: &str, probes: &[Probe], decisive: bool, run: CheckFunction) {
        let check = Check {
            name: name.to_owned(),
            probes: probes.to_vec(),
            decisive,
            run,
            logged: Mutex::default(),
        };
        self.checks.write().push(Arc::new(check));
    }

    /// Makes readiness fail permanently.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    fn checks_of(&self, probe: Probe) -> Vec<Arc<Check>> {
        self.checks
            .read()
            .iter()
            .filter(|check| check.probes.contains(&probe))
            .cloned()
            .collect()
    }

    /// Answers `/<probe>` or `/<probe>/<only>`.
    pub(crate) fn answer(
        &self,
        probe: Probe,
        only: &str,
        query: &Query,
        metrics: &Metrics,
    ) -> Result<Response<Body>, Status> {
        let checks = self.checks_of(probe);
        if !only.is_empty() {
            let check = checks
                .iter()
                .find(|check| check.name == only)
                .ok_or_else(Status::no_such_path)?;
            return Ok(match run(check, probe, metrics) {
                Ok(()) => respond::text(StatusCode::OK, "ok"),
                Err(problem) => respond::text(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!("internal server error: {problem}\n"),
                ),
            });
        }
        Ok(answer_all(&checks, probe, query, metrics))
    }
}

/// Returns `run` with the problem as a text, for the log and the answer.
fn with_text<E: Into<Problem>>(run: impl Fn() -> Result<(), E> + Send + Sync + 'static) -> CheckFunction {
    Box::new(move || run().map_err(|problem| problem.into().to_string()))
}

fn run(check: &Check, probe: Probe, metrics: &Metrics) -> Result<(), String> {
    let result = (check.run)();
    metrics.health_check(&check.name, probe.name(), result.is_ok());
    let problem = result.as_ref().err();
    let mut logged = check.logged.lock();
    if logged.as_ref() != problem {
        match problem {
            Some(problem) => {
                tracing::warn!(
                    check = check.name,
                    probe = probe.name(),
                    problem,
                    answers = if check.decisive {
                        "500 until it passes"
                    } else {
                        "200 nevertheless"
                    },
                    "health check failed"
                );
            }
            None => tracing::info!(check = check.name, "health check passes again"),
        }
        *logged = problem.cloned();
    }
    drop(logged);
    result
}

fn answer_all(checks: &[Arc<Check>], probe: Probe, query: &Query, metrics: &Metrics) -> Response<Body> {
    let excluded: Vec<&str> = query.all("exclude").collect();
    let mut lines = String::new();
    let mut healthy = true;
    for check in checks {
        let name = &check.name;
        // Writing to a string cannot fail.
        let _: Result<(), std::fmt::Error> = if excluded.contains(&name.as_str()) {
            writeln!(lines, "[+]{name} excluded: ok")
        } else if run(check, probe, metrics).is_ok() {
            writeln!(lines, "[+]{name} ok")
        } else {
            healthy &= !check.decisive;
            writeln!(lines, "[-]{name} failed: reason withheld")
        };
    }
    let unknown: Vec<String> = excluded
        .iter()
        .filter(|name| !checks.iter().any(|check| check.name == **name))
        .map(|name| format!("{name:?}"))
        .collect();
    if !unknown.is_empty() {
        let list = unknown.join(",");
        lines.push_str(&format!(
            "warn: some health checks cannot be excluded: no matches for {list}\n"
        ));
    }
    if !healthy {
        return respond::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("{lines}{} check failed\n", probe.name()),
        );
    }
    if query.first("verbose").is_none() {
        return respond::text(StatusCode::OK, "ok");
    }
    respond::text(StatusCode::OK, format!("{lines}{} check passed\n", probe.name()))
}

#[cfg(test)]
mod tests;
