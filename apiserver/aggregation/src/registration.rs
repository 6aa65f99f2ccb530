//! Registration of a server on a hub: its APIServices and webhook configurations, whose caBundles are kept up
//! to date when the CA of the serving certificate changes. The server needs the rights to get and patch these
//! objects by name. If it may list and watch them, too, it reads them when they change, and else every minute.
//! With [`Options::create`] it also creates missing objects.
//!
//! Servers behind one Service may share one CA ([`SharedCaOptions`]). During a rotation, every caBundle has
//! the old and the new CA before any server signs with the new CA.

mod objects;
mod shared_ca;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::Clock;
use berth_certs::{Folder, ServingCertificate};
use berth_client::{ObjectWatches, Pauses};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::error::RegistrationError;
use objects::{ObjectState, RegisteredObject};
use shared_ca::SharedCa;

pub use objects::service_text;
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
    /// Returns the host name that the hub expects in the serving certificate.
    #[must_use]
    pub fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

/// Sentences about how to create a missing object or grant a missing right, for logs and readiness. An empty
/// sentence is omitted.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Sentence about missing APIServices.
    pub api_services: String,
    /// Sentence about missing webhook configurations.
    pub webhooks: String,
    /// Sentence about the missing right to use the Secret of a shared CA.
    pub ca_secret: String,
}

/// Issuer of the serving certificate.
#[derive(Clone, Debug)]
pub enum Issuer {
    /// CA of the server's own data folder, which never changes.
    Own,
    /// CA that all servers behind the Service share.
    Shared(SharedCaOptions),
    /// CA in a file, which is read at every check.
    File(PathBuf),
    /// Another program, such as cert-manager, which also sets the caBundles.
    External,
}

/// Options of a registration: the objects, and how they are created and updated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Service through which the hub reaches the server.
    pub service: Service,
    /// The APIServices and webhook configurations, in their desired form; objects of other kinds are ignored.
    pub objects: Vec<Value>,
    /// Whether missing objects are created.
    pub create: bool,
    /// Issuer of the serving certificate.
    pub issuer: Issuer,
    /// Field manager of the writes.
    pub manager: String,
    /// Sentences about missing objects and rights.
    pub sources: Sources,
}

impl Options {
    /// Returns options for `service` that create missing `objects` as the field manager `manager`. The issuer
    /// of the serving certificate is the CA of the data folder.
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

/// Interval of the checks while the registration is settled and an object is not watched, at most.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// Interval of the checks while the registration is settled and all objects are watched, at most.
const WATCHED_INTERVAL: Duration = Duration::from_mins(10);
/// Shortest interval between two checks when objects change. Two clients that set different caBundles must not
/// wake each other more often.
const CHANGE_INTERVAL: Duration = Duration::from_secs(30);
/// Interval of the checks while the registration is not settled, at most.
const UNSETTLED_INTERVAL: Duration = Duration::from_secs(10);
/// Shortest step of a rotation, so that there is at least a second between two checks.
const SHORTEST_STEP: SignedDuration = SignedDuration::from_secs(4);

/// Registration of a server on a hub.
pub struct Registration {
    client: Client,
    service: Service,
    registered: Vec<RegisteredObject>,
    issuer: CertificateIssuer,
    create: bool,
    /// Intervals of the checks while the registration is settled.
    pauses: Pauses,
    clock: Arc<dyn Clock>,
    /// Result of the last check; an error is the reason why the hub does not find or trust this server.
    /// `None` before the first check.
    state: Mutex<Option<Result<(), String>>>,
}

/// Reason why the hub may not find or trust this server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRegistered {
    /// The registration is not checked yet.
    #[error("the registration has not been checked yet")]
    Unchecked,
    /// The check found problems or missing objects: sentences joined by `; `.
    #[error("{0}")]
    Problems(String),
}

/// Issuer of the serving certificate, with its CA.
enum CertificateIssuer {
    /// CA of the data folder, as PEM.
    Own(String),
    /// CA that all servers behind the Service share.
    Shared(Box<SharedCa>),
    /// CA in a file.
    File(PathBuf),
    /// Another program, which also sets the caBundles.
    External,
}

/// Findings of one check.
struct Findings {
    state: RegistrationState,
    /// Problems, in sentences.
    problems: Vec<String>,
    /// Objects that do not exist, were created just now, are for another Service, or lack a caBundle, in
    /// sentences.
    missing: Vec<String>,
}

/// State of the registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegistrationState {
    /// All objects exist. A shared CA is not being rotated, and is in every caBundle that this server sets.
    Settled,
    /// An object is missing, a shared CA is being rotated or may not be in every caBundle, or the check found
    /// a problem or failed. The next check is soon.
    Unsettled,
}

impl Registration {
    /// Creates a registration without sending a request; [`follow`](Self::follow) registers. `folder` has the
    /// server's own CA.
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
        let mut pauses = Pauses {
            least: CHANGE_INTERVAL,
            unwatched: CHECK_INTERVAL,
            watched: WATCHED_INTERVAL,
        };
        let issuer = match issuer {
            Issuer::Own => CertificateIssuer::Own(folder.ca().certificate_pem().to_owned()),
            Issuer::Shared(mut options) => {
                options.step = options.step.max(SHORTEST_STEP);
                let step = options.step.unsigned_abs();
                // Four checks in each step, so that every server sees a step before the next step begins; two
                // if a watch tells of the step.
                pauses.unwatched = pauses.unwatched.min(step / 4);
                pauses.watched = pauses.watched.min(step / 2);
                pauses.least = pauses.least.min(step / 4);
                let ca = SharedCa::new(client.clone(), &service.namespace, options, &sources.ca_secret);
                CertificateIssuer::Shared(Box::new(ca))
            }
            Issuer::File(file) => {
                // The file is not watched.
                pauses.watched = pauses.unwatched;
                CertificateIssuer::File(file)
            }
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
            pauses,
            clock: Arc::clone(clock),
            state: Mutex::new(None),
        }
    }

    /// Issues a serving certificate for `names` from the shared CA; `None` without a shared CA.
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

    /// Starts a task that keeps the registration up to date until the task is aborted.
    #[must_use]
    pub fn follow(self: Arc<Self>, certificate: Arc<ServingCertificate>) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut watches = ObjectWatches::start(self.watched_objects());
            loop {
                let state = match self.check(&certificate).await {
                    Ok(findings) => {
                        let all = [findings.problems, findings.missing].concat();
                        self.record(if all.is_empty() {
                            Ok(())
                        } else {
                            Err(all.join("; "))
                        });
                        findings.state
                    }
                    Err(problem) => {
                        self.record(Err(problem.to_string()));
                        RegistrationState::Unsettled
                    }
                };
                watches.wait(self.pauses_after(state)).await;
            }
        })
    }

    /// The pauses until the next check after a check with the result `state`.
    fn pauses_after(&self, state: RegistrationState) -> Pauses {
        match state {
            RegistrationState::Settled => self.pauses,
            RegistrationState::Unsettled => {
                let soon = self.pauses.unwatched.min(UNSETTLED_INTERVAL);
                Pauses {
                    least: self.pauses.least.min(soon),
                    unwatched: soon,
                    watched: soon,
                }
            }
        }
    }

    /// The objects on the hub on which a check depends, with their names.
    fn watched_objects(&self) -> Vec<(Api<DynamicObject>, String)> {
        let registered = self.registered.iter();
        let mut all: Vec<_> = registered
            .map(|object| (object.api(&self.client), object.name.clone()))
            .collect();
        if let CertificateIssuer::Shared(ca) = &self.issuer {
            let resources = [
                ApiResource::erase::<Secret>(&()),
                ApiResource::erase::<ConfigMap>(&()),
            ];
            all.extend(resources.map(|resource| {
                let namespace = &self.service.namespace;
                let api = Api::namespaced_with(self.client.clone(), namespace, &resource);
                (api, ca.name().to_owned())
            }));
        }
        all
    }

    /// Checks that the hub finds this server and trusts its certificate, by the result of the last check.
    ///
    /// # Errors
    /// When there was no check yet, or the check found missing objects or problems.
    pub fn state(&self) -> Result<(), NotRegistered> {
        match &*self.state.lock() {
            None => Err(NotRegistered::Unchecked),
            Some(result) => result.clone().map_err(NotRegistered::Problems),
        }
    }

    /// Records the result of a check, and logs a change of the result.
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

    /// Checks the registration once: creates missing objects, advances a rotation, and sets the caBundles.
    /// Objects are read before the CA and patched only at the version that was read, so that a server with an
    /// older CA cannot overwrite a newer caBundle.
    async fn check(&self, certificate: &ServingCertificate) -> Result<Findings, RegistrationError> {
        let service = &self.service;
        let mut findings = Findings {
            state: RegistrationState::Settled,
            problems: Vec::new(),
            missing: Vec::new(),
        };
        let mut registered_objects: Vec<(&RegisteredObject, Value)> = Vec::new();
        for registered in &self.registered {
            match registered.find(&self.client, service).await {
                Ok(ObjectState::Ours(object)) => registered_objects.push((registered, object)),
                Ok(ObjectState::Missing) => {
                    findings.state = RegistrationState::Unsettled;
                    if !self.create {
                        findings.missing.push(registered.missing_message());
                    } else if let Err(problem) = registered.create(&self.client).await {
                        findings.problems.push(problem.to_string());
                    } else {
                        findings
                            .missing
                            .push(format!("{registered} was created just now"));
                    }
                }
                Ok(ObjectState::Foreign(problem)) => findings.missing.extend(problem),
                Err(problem) => findings.problems.push(problem.to_string()),
            }
        }
        // An object that cannot be read may lack the CA.
        let all_known = findings.problems.is_empty();
        let bundle = self
            .bundle(certificate, &registered_objects, all_known, &mut findings.state)
            .await?;
        for (registered, object) in &registered_objects {
            let Some(bundle) = &bundle else {
                // Another program sets the caBundle.
                findings
                    .missing
                    .extend(registered.missing_bundles(object, service));
                continue;
            };
            if let Err(problem) = registered.set_bundle(&self.client, object, service, bundle).await {
                findings.problems.push(problem.to_string());
            }
        }
        if !findings.problems.is_empty() {
            findings.state = RegistrationState::Unsettled;
        }
        Ok(findings)
    }

    /// Advances the rotation of a shared CA, and returns the current CA bundle; `None` where another program
    /// sets the caBundles. `all_known` is false if an object could not be read or created.
    async fn bundle(
        &self,
        certificate: &ServingCertificate,
        registered_objects: &[(&RegisteredObject, Value)],
        all_known: bool,
        state: &mut RegistrationState,
    ) -> Result<Option<String>, RegistrationError> {
        let ca = match &self.issuer {
            CertificateIssuer::External => return Ok(None),
            CertificateIssuer::Own(pem) => return Ok(Some(pem.clone())),
            CertificateIssuer::File(file) => return shared_ca::read_bundle(file).map(Some),
            CertificateIssuer::Shared(ca) => ca,
        };
        let now = self.clock.now();
        // Read before the Secret, so that a server with an older CA cannot overwrite a newer bundle.
        let published = ca.published().await;
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
            *state = RegistrationState::Unsettled;
        }
        let bundle = snapshot.shared.bundle();
        if let Some(published) = &published? {
            ca.publish(published, &bundle).await?;
        }
        Ok(Some(bundle))
    }
}

#[cfg(test)]
mod tests;
