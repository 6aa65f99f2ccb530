//! Runs a program with its flags until a termination signal.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_apimachinery::Clock;
use berth_apiserver::authn::Authentication;
use berth_apiserver::authz::Union;
use berth_apiserver::health::Probe;
use berth_apiserver::{Authorizer, BindError, ChainConfig, InstallError, Server, ServerConfig, SystemClock};
use berth_certs::{CertsError, Folder, ServingCertificate};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinError, JoinHandle};

use super::{AuditArgsError, Options, Program, TrustArgsError, standalone};
use crate::registration::{self, Issuer, Registration, Service, Sources};
use crate::{Clients, Delegation, HubError};

/// Prefix of the audit annotations that only this library adds.
const DOMAIN: &str = "berth.dev";

/// Reason why a server could not start, or ended with an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The hub cannot be reached, or its kubeconfig or the CAs that it trusts cannot be used.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// Flags about trusted CAs and headers cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustArgsError),
    /// Auditing cannot start with the flags.
    #[error(transparent)]
    Audit(#[from] AuditArgsError),
    /// The folder of certificates, or the serving certificate, cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertsError),
    /// Two API groups of the program conflict.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The port cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Handlers of termination signals cannot be installed.
    #[error("cannot handle SIGTERM and SIGINT: {0}")]
    Signals(io::Error),
    /// The server's task failed.
    #[error("the server's task failed: {0}")]
    Task(#[from] JoinError),
    /// A second signal arrived before the shutdown was complete.
    #[error("second signal received: exiting without waiting for requests in flight")]
    Interrupted,
}

/// A running server, with its background tasks.
pub struct RunningServer {
    server: berth_apiserver::RunningServer,
    kubeconfig: Option<PathBuf>,
    tasks: Vec<JoinHandle<()>>,
}

/// Authentication and authorization of users, and the hub that does both; a standalone server has no hub.
struct Access {
    authentication: Authentication,
    authorizer: Arc<dyn Authorizer>,
    always_allowed: Vec<String>,
    hub: Option<Delegation>,
}

impl Options {
    /// Serves `program` until SIGTERM or SIGINT, then shuts down gracefully. A second signal ends the server
    /// immediately.
    ///
    /// # Errors
    /// When the server cannot start, or its shutdown fails.
    pub async fn run(self, program: Program) -> Result<(), RunError> {
        let name = program.name.clone();
        // A caller may send a signal as soon as the server serves.
        let mut signals = Signals::listen().map_err(RunError::Signals)?;
        let running = self.start(program).await?;
        tracing::info!(%name, address = %running.address(), "serving");
        signals.received().await;
        tokio::select! {
            result = running.stop() => result,
            () = signals.received() => Err(RunError::Interrupted),
        }
    }

    /// Starts to serve `program`. When this function returns, the server answers requests.
    ///
    /// # Errors
    /// When the hub, a file or the port cannot be used, or two API groups of the program conflict.
    pub async fn start(self, program: Program) -> Result<RunningServer, RunError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let folder = Arc::new(Folder::open(&self.serving.cert_dir, clock.now())?);
        let service = self.registration.service(&program.name);
        let objects = program.api_services(&service);
        let access = self.access(&folder, &clock).await?;
        let names = self.certificate_names(&service);
        let certificate = self.serving.certificate(&folder, &names, &clock)?;
        let registration = access.hub.as_ref().map(|hub| {
            let options = registration::Options {
                service,
                objects,
                create: self.registration.self_register,
                issuer: match self.serving.files() {
                    Some(_) => Issuer::External,
                    None => Issuer::Own,
                },
                manager: program.name.clone(),
                sources: Sources {
                    api_services: "create it, or start the server with --self-register=true".to_owned(),
                    ..Sources::default()
                },
            };
            Arc::new(Registration::new(hub.client(), options, &folder, &clock))
        });
        let chain = self
            .chain(program, &access, registration.as_ref(), &clock)
            .await?;
        let server = self.bind(&certificate, chain).await?;
        let kubeconfig = match &access.hub {
            Some(_) => None,
            None => Some(standalone::write_kubeconfig(
                &folder,
                server.address(),
                self.serving.files().is_none(),
                clock.now(),
            )?),
        };
        let mut tasks = vec![tokio::spawn(Arc::clone(&certificate).keep_fresh())];
        tasks.extend(access.hub.as_ref().and_then(Delegation::follow));
        tasks.extend(registration.map(|registration| registration.follow(certificate)));
        Ok(RunningServer {
            server: server.start(),
            kubeconfig,
            tasks,
        })
    }

    /// Returns the names of a serving certificate of the server's own CA: the host name of `service`, and the
    /// address to listen on, which the administrator's kubeconfig names.
    fn certificate_names(&self, service: &Service) -> Vec<String> {
        let mut names = vec![service.host()];
        if !self.serving.bind_address.is_unspecified() {
            names.push(self.serving.bind_address.to_string());
        }
        names
    }

    /// Connects to the hub. A standalone server instead trusts the CAs of `folder` and of the flags, and
    /// authorizes only members of `system:masters`, except for the paths that need no authorization.
    async fn access(&self, folder: &Folder, clock: &Arc<dyn Clock>) -> Result<Access, RunError> {
        let anonymous = self.trust.anonymous_auth;
        let always_allowed = self.delegation.authorization_always_allow_paths.clone();
        if self.standalone {
            return Ok(Access {
                authentication: Authentication {
                    trust: Arc::new(self.trust.standalone_trust(folder)?),
                    tokens: None,
                    anonymous,
                },
                authorizer: Arc::new(Union::new(Vec::new())),
                always_allowed,
                hub: None,
            });
        }
        let clients = Clients::connect(&self.delegation.kubeconfigs()).await?;
        let (lookup, times) = (self.delegation.lookup(), self.delegation.cache_times());
        let hub = Delegation::new(clients, self.trust.static_trust()?, lookup, times).await?;
        Ok(Access {
            authentication: hub.authentication(anonymous, clock),
            authorizer: hub.authorizer(clock),
            always_allowed,
            hub: Some(hub),
        })
    }

    async fn chain(
        &self,
        program: Program,
        access: &Access,
        registration: Option<&Arc<Registration>>,
        clock: &Arc<dyn Clock>,
    ) -> Result<ChainConfig, RunError> {
        let mut chain = ChainConfig::of(program.groups)
            .title(&program.name, program.version)
            .plugins(program.plugins)
            .authentication(access.authentication.clone())
            .authorizer(Arc::clone(&access.authorizer))
            .clock(Arc::clone(clock))
            .build()?;
        chain.limits = self.serving.limits();
        chain.always_allowed.clone_from(&access.always_allowed);
        chain.audit = self.audit.open(DOMAIN, &chain.metrics, clock).await?;
        if let Some(registration) = registration.cloned() {
            // The registration does not affect readiness: the hub sends no requests to an unready server.
            let state = move || registration.state();
            chain
                .health
                .add_informative("registration", &[Probe::Readyz], state);
        }
        Ok(chain)
    }

    async fn bind(
        &self,
        certificate: &Arc<ServingCertificate>,
        chain: ChainConfig,
    ) -> Result<Server, BindError> {
        let certificate = Arc::clone(certificate);
        let mut config = ServerConfig::new(self.serving.address(), certificate, chain);
        config.shutdown_delay = self.serving.shutdown_delay_duration;
        Server::bind(config).await
    }
}

impl RunningServer {
    /// Returns the address on which the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Returns the administrator's kubeconfig; only a standalone server has one.
    #[must_use]
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.kubeconfig.as_deref()
    }

    /// Shuts down gracefully: the server becomes unready, accepts no new connections, ends watches, completes
    /// requests, and then ends the background tasks.
    ///
    /// # Errors
    /// When the server's task failed.
    pub async fn stop(self) -> Result<(), RunError> {
        let result = self.server.stop().await;
        for task in self.tasks {
            task.abort();
        }
        Ok(result?)
    }
}

/// Handlers of SIGTERM and SIGINT. Once they are installed, these signals no longer kill the process, even
/// after the value is dropped.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn the_serving_certificate_is_also_for_the_one_address_that_is_listened_on() {
        for (address, wanted) in [
            ("10.0.0.7", vec!["wardle.garden.svc", "10.0.0.7"]),
            ("0.0.0.0", vec!["wardle.garden.svc"]),
            ("::", vec!["wardle.garden.svc"]),
        ] {
            let flags = ["wardle", "--service-namespace=garden", "--bind-address", address];
            let options = Options::parse_from(flags);
            let service = options.registration.service("wardle");
            assert_eq!(options.certificate_names(&service), wanted);
        }
    }
}
