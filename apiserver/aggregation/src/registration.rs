//! A server's registration on a hub: the caBundles of its APIServices and webhook configurations, filled in
//! and kept current when the CA of the serving certificate changes. The server needs the rights to get and
//! patch these objects by name; with [`Options::create`] it also creates missing ones.
//!
//! Servers behind one Service may share one CA ([`SharedCaOptions`]). During a rotation, the old and the new
//! CA are in every caBundle before any server signs with the new one.

mod objects;
mod shared_ca;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Clock;
use berth_certs::{Folder, ServingCertificate};
use kube::Client;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::error::RegistrationError;
use objects::{ObjectState, RegisteredObject};
use shared_ca::SharedCa;

pub use objects::whose;
pub use shared_ca::SharedCaOptions;

/// The Service through which a hub reaches a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Name of the Service.
    pub name: String,
    /// Namespace of the Service.
    pub namespace: String,
    /// Port of the Service.
    pub port: u16,
}

impl Service {
    /// The host name that a hub expects in the certificate.
    #[must_use]
    pub fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

/// Sentences that name the source of a missing object or right, for logs and readiness.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Source of APIServices.
    pub api_services: String,
    /// Source of webhook configurations.
    pub webhooks: String,
    /// Source of the Secret of a shared CA.
    pub ca_secret: String,
}

/// Issuer of the serving certificate.
#[derive(Clone, Debug)]
pub enum Issuer {
    /// The CA of the server's own data folder, which never changes.
    Own,
    /// The CA that all servers behind the Service share.
    Shared(SharedCaOptions),
    /// The CA in a file, which every check reads.
    File(PathBuf),
    /// Another program, which also fills in the caBundles (such as cert-manager).
    External,
}

/// Objects to register, and the way of registering them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The Service.
    pub service: Service,
    /// The APIServices and webhook configurations, in their desired form; objects of other kinds are ignored.
    pub objects: Vec<Value>,
    /// Whether missing objects are created.
    pub create: bool,
    /// Issuer of the serving certificate.
    pub issuer: Issuer,
    /// Field manager of the writes.
    pub manager: String,
    /// Sources of missing objects.
    pub sources: Sources,
}

impl Options {
    /// Options for `service` that create missing `objects` as the field manager `manager`; the serving
    /// certificate is issued by the data folder's own CA.
    #[must_use]
    pub fn own(service: Service, objects: Vec<Value>, manager: impl Into<String>) -> Self {
        Self {
            service,
            objects,
            create: true,
            issuer: Issuer::Own,
            manager: manager.into(),
            sources: Sources::default(),
        }
    }
}

/// Longest interval of the checks.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// Longest interval of the checks while the registration is unsettled.
const LOOK_SOON: Duration = Duration::from_secs(10);

/// A server's registration on a hub.
pub struct Registration {
    client: Client,
    service: Service,
    registered: Vec<RegisteredObject>,
    issuer: CertificateIssuer,
    create: bool,
    /// Interval of the checks while the registration is settled.
    interval: Duration,
    clock: Arc<dyn Clock>,
    /// Result of the last check: an error is the reason why the hub does not find or trust this server.
    /// `None` before the first check.
    state: Mutex<Option<Result<(), String>>>,
}

/// Reason why the hub may not find or trust this server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRegistered {
    /// The registration is not checked yet.
    #[error("the registration has not been checked yet")]
    Unknown,
    /// Missing objects and problems, in sentences joined by `; `.
    #[error("{0}")]
    Wrong(String),
}

/// Issuer of the serving certificate, with its CA.
enum CertificateIssuer {
    /// The data folder's CA, which never changes.
    Own(String),
    /// The CA that all servers share.
    Shared(Box<SharedCa>),
    /// The CA in a file.
    File(PathBuf),
    /// Another program, which also fills in the caBundles.
    External,
}

/// Observations of one check.
struct Observations {
    standing: RegistrationState,
    /// Problems.
    problems: Vec<String>,
    /// Objects that are missing, just created, for another Service, or without a caBundle, in sentences.
    missing: Vec<String>,
}

/// State of the registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegistrationState {
    /// No object is missing. A shared CA does not rotate, and is in every caBundle that this server sets.
    Settled,
    /// An object is missing, a shared CA rotates or may not be in every caBundle, or the check failed: the
    /// next check is soon.
    Unsettled,
}

impl Registration {
    /// Creates a registration without sending anything yet: [`follow`](Self::follow) registers. `folder` has
    /// the server's own CA.
    #[must_use]
    pub fn new(client: &Client, options: Options, folder: &Folder, clock: &Arc<dyn Clock>) -> Self {
        let Options {
            service,
            objects,
            create,
            issuer,
            manager,
            sources,
        } = options;
        let mut interval = LOOK_EVERY;
        let issuer = match issuer {
            Issuer::Own => CertificateIssuer::Own(folder.ca().certificate_pem().to_owned()),
            Issuer::Shared(options) => {
                // Four checks per step, so that each server has seen a step before the next step begins.
                interval = interval.min(options.step.unsigned_abs() / 4);
                let ca = SharedCa::new(client.clone(), &service.namespace, options, &sources.ca_secret);
                CertificateIssuer::Shared(Box::new(ca))
            }
            Issuer::File(file) => CertificateIssuer::File(file),
            Issuer::External => CertificateIssuer::External,
        };
        let registered = objects
            .into_iter()
            .filter_map(|object| RegisteredObject::of(object, &manager, &sources));
        Self {
            client: client.clone(),
            registered: registered.collect(),
            service,
            issuer,
            create,
            interval,
            clock: Arc::clone(clock),
            state: Mutex::new(None),
        }
    }

    /// The serving certificate from the shared CA; `None` without a shared CA.
    ///
    /// # Errors
    /// When the Secret cannot be read or written, or is damaged.
    pub async fn certificate(
        &self,
        names: &[String],
    ) -> Result<Option<Arc<ServingCertificate>>, RegistrationError> {
        let CertificateIssuer::Shared(ca) = &self.issuer else {
            return Ok(None);
        };
        let now = self.clock.now();
        let snapshot = ca.open(now).await?;
        let authority = ca.authority(&snapshot.shared, now)?;
        let certificate = ServingCertificate::shared(authority, names, Arc::clone(&self.clock))?;
        Ok(Some(certificate))
    }

    /// Keeps the registration current until the task is aborted.
    #[must_use]
    pub fn follow(self: Arc<Self>, certificate: Arc<ServingCertificate>) -> JoinHandle<()> {
        tokio::spawn(async move {
            loop {
                let standing = match self.check(&certificate).await {
                    Ok(observations) => {
                        let all = [observations.problems, observations.missing].concat();
                        self.record(if all.is_empty() {
                            Ok(())
                        } else {
                            Err(all.join("; "))
                        });
                        observations.standing
                    }
                    Err(problem) => {
                        self.record(Err(problem.to_string()));
                        RegistrationState::Unsettled
                    }
                };
                let pause = match standing {
                    RegistrationState::Settled => self.interval,
                    RegistrationState::Unsettled => self.interval.min(LOOK_SOON),
                };
                tokio::time::sleep(pause).await;
            }
        })
    }

    /// Whether the hub finds this server and trusts its certificate, by the last check.
    ///
    /// # Errors
    /// The missing objects and the problems.
    pub fn state(&self) -> Result<(), NotRegistered> {
        match &*self.state.lock() {
            None => Err(NotRegistered::Unknown),
            Some(result) => result.clone().map_err(NotRegistered::Wrong),
        }
    }

    /// Records the result of a check, and logs changes.
    fn record(&self, state: Result<(), String>) {
        let mut last = self.state.lock();
        if last.as_ref() == Some(&state) {
            return;
        }
        match &state {
            Err(problem) => {
                tracing::warn!(%problem, "APIServices or webhook configurations are not up to date; retrying")
            }
            Ok(()) => tracing::info!("APIServices and webhook configurations are up to date"),
        }
        *last = Some(state);
    }

    /// Checks everything once: creates missing objects, advances a rotation, and sets the caBundles.
    /// Objects are read before the CA, and patched only at the read version, so that a server with the
    /// newer CA wins.
    async fn check(&self, certificate: &ServingCertificate) -> Result<Observations, RegistrationError> {
        let service = &self.service;
        let mut observations = Observations {
            standing: RegistrationState::Settled,
            problems: Vec::new(),
            missing: Vec::new(),
        };
        let mut registered_objects: Vec<(&RegisteredObject, Value)> = Vec::new();
        for registered in &self.registered {
            match registered.find(&self.client, service).await {
                Ok(ObjectState::Ours(object)) => registered_objects.push((registered, object)),
                Ok(ObjectState::Missing) => {
                    observations.standing = RegistrationState::Unsettled;
                    if !self.create {
                        observations.missing.push(registered.absent());
                    } else if let Err(problem) = registered.create(&self.client).await {
                        observations.problems.push(problem.to_string());
                    } else {
                        observations
                            .missing
                            .push(format!("{registered} was created just now"));
                    }
                }
                Ok(ObjectState::Foreign(why)) => observations.missing.extend(why),
                Err(problem) => observations.problems.push(problem.to_string()),
            }
        }
        // An object that cannot be read may have any caBundle.
        let all_known = observations.problems.is_empty();
        let bundle = self
            .bundle(
                certificate,
                &registered_objects,
                all_known,
                &mut observations.standing,
            )
            .await?;
        for (registered, object) in &registered_objects {
            let Some(bundle) = &bundle else {
                // Another program fills in the caBundle.
                observations
                    .missing
                    .extend(registered.untrusting(object, service));
                continue;
            };
            if let Err(problem) = registered.fill(&self.client, object, service, bundle).await {
                observations.problems.push(problem.to_string());
            }
        }
        Ok(observations)
    }

    /// Advances a rotation of a shared CA, and returns the current CA bundle; `None` where another program
    /// fills in the caBundles. `all_known` is false when an object could not be read or created.
    async fn bundle(
        &self,
        certificate: &ServingCertificate,
        registered_objects: &[(&RegisteredObject, Value)],
        all_known: bool,
        standing: &mut RegistrationState,
    ) -> Result<Option<String>, RegistrationError> {
        let ca = match &self.issuer {
            CertificateIssuer::External => return Ok(None),
            CertificateIssuer::Own(pem) => return Ok(Some(pem.clone())),
            CertificateIssuer::File(file) => return shared_ca::bundle_of(file).map(Some),
            CertificateIssuer::Shared(ca) => ca,
        };
        let now = self.clock.now();
        let snapshot = ca.open(now).await?;
        let before = snapshot.shared.bundle();
        let service = &self.service;
        let announced = all_known
            && registered_objects
                .iter()
                .all(|(_, object)| objects::trusts(object, service, &before));
        let snapshot = ca.advance(snapshot, now, announced).await?;
        if certificate.adopt(ca.authority(&snapshot.shared, now)?)? {
            tracing::info!("the serving certificate was issued by the new CA");
        }
        if snapshot.shared.is_rotating() || !announced {
            *standing = RegistrationState::Unsettled;
        }
        let bundle = snapshot.shared.bundle();
        ca.publish(&bundle).await?;
        Ok(Some(bundle))
    }
}
