//! Berth's registration on the hub: the APIServices and webhook configurations by which a hub finds Berth are created by
//! somebody else (`berth manifests`), or with `--self-register` by Berth; whom they trust (`caBundle`) Berth fills in,
//! and keeps current when the CA changes. All it needs for that is to get and patch them by name.
//!
//! Servers that stand behind one Service share one CA ([`shared_ca`]). When it gives way to the next, both are in every
//! caBundle before anybody signs with the new one.

mod args;
mod foreign;
mod objects;
mod shared_ca;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use certs::{Folder, ServingCertificate};
use jiff::SignedDuration;
use kube::Client;
use meta::Clock;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;

pub use args::RegistrationArgs;
pub use shared_ca::ROTATE;

use super::HubArgs;
use crate::actors::ActorArgs;
use crate::manifests::{self, Installation, Set};
use objects::{Found, Registered};
use shared_ca::SharedCa;

/// How often everything is looked at.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// How often while something is missing or under way.
const LOOK_SOON: Duration = Duration::from_secs(10);

/// Berth's registration on a hub.
pub struct Registration {
    client: Client,
    installation: Installation,
    registered: Vec<Registered>,
    trusted: Trusted,
    self_register: bool,
    /// How often to look.
    calm: Duration,
    clock: Arc<dyn Clock>,
    /// What keeps the hub from finding and trusting Berth, as it was last seen; nothing before anybody has looked.
    state: Mutex<Option<Result<(), String>>>,
}

/// Who issued the serving certificate.
enum Trusted {
    /// The data folder's CA, which never changes.
    Own(String),
    /// The CA of all servers.
    Shared(Box<SharedCa>),
    /// The CA in a file.
    File(PathBuf),
    /// Somebody else, who sees to it that it is trusted.
    Elsewhere,
}

/// What was seen.
struct Seen {
    standing: Standing,
    /// What went wrong.
    problems: Vec<String>,
    /// What is missing, and somebody else's to mend.
    missing: Vec<String>,
}

/// How things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Everything is as it should be.
    Settled,
    /// Something is missing or under way: look again soon.
    Unsettled,
}

impl Registration {
    /// Finds out what is to be kept current. `given` says that the serving certificate is somebody else's.
    ///
    /// # Errors
    /// When somebody else serves a group that Berth is to serve.
    pub async fn prepare(
        client: &Client,
        hub: &HubArgs,
        actors: &ActorArgs,
        given: bool,
        folder: &Folder,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self> {
        let args = &hub.registration;
        let dialects = hub.served(dialect_registry::with(&actors.settings()));
        let names = dialects.iter().map(|dialect| dialect.name());
        let installation = Installation {
            service: args.service(),
            on_hub: names.filter(|name| hub.is_on_hub(name)).collect(),
            dialects,
            self_register: args.self_register,
            ..Installation::default()
        };
        if installation.owned_dialects().next().is_some() {
            foreign::check(client, &installation, args.self_register).await?;
        }
        let sets = [Set::Apiservice, Set::Webhooks].into_iter();
        let templates = sets.flat_map(|set| manifests::objects(&installation, set));
        let step = SignedDuration::try_from(args.ca_rotation_step).context("--ca-rotation-step")?;
        let trusted = match (&args.ca_secret, given, &args.ca_bundle_file) {
            (Some(secret), ..) => Trusted::Shared(Box::new(SharedCa::new(
                client.clone(),
                &args.service_namespace,
                secret,
                step,
            ))),
            (None, true, Some(file)) => Trusted::File(file.clone()),
            (None, true, None) => Trusted::Elsewhere,
            (None, false, _) => Trusted::Own(folder.ca().certificate_pem().to_owned()),
        };
        Ok(Self {
            client: client.clone(),
            registered: templates.filter_map(Registered::of).collect(),
            installation,
            trusted,
            self_register: args.self_register,
            // A server that looks twice in a step has surely seen it when the next one begins.
            calm: LOOK_EVERY.min(args.ca_rotation_step / 4),
            clock: Arc::clone(clock),
            state: Mutex::new(None),
        })
    }

    /// The serving certificate of the CA that all servers share; `None` where there is none.
    ///
    /// # Errors
    /// When the Secret cannot be read or written, or is damaged.
    pub async fn certificate(&self, names: &[String]) -> Result<Option<Arc<ServingCertificate>>> {
        let Trusted::Shared(ca) = &self.trusted else {
            return Ok(None);
        };
        let now = self.clock.now();
        let read = ca.open(now).await?;
        let authority = ca.authority(&read.shared, now)?;
        let certificate = ServingCertificate::shared(authority, names, Arc::clone(&self.clock))?;
        Ok(Some(certificate))
    }

    /// Keeps everything current until the task is dropped.
    #[must_use]
    pub fn follow(self: Arc<Self>, certificate: Arc<ServingCertificate>) -> JoinHandle<()> {
        tokio::spawn(async move {
            loop {
                let standing = match self.look(&certificate).await {
                    Ok(seen) => {
                        let all = [seen.problems, seen.missing].concat();
                        self.say(if all.is_empty() {
                            Ok(())
                        } else {
                            Err(all.join("; "))
                        });
                        seen.standing
                    }
                    Err(problem) => {
                        self.say(Err(format!("{problem:#}")));
                        Standing::Unsettled
                    }
                };
                let pause = match standing {
                    Standing::Settled => self.calm,
                    Standing::Unsettled => self.calm.min(LOOK_SOON),
                };
                tokio::time::sleep(pause).await;
            }
        })
    }

    /// Whether the hub finds Berth and knows whom to trust, as it was last seen.
    ///
    /// # Errors
    /// What is missing or went wrong.
    pub fn state(&self) -> Result<(), String> {
        let seen = self.state.lock().clone();
        seen.unwrap_or_else(|| Err("nobody has looked at it yet".to_owned()))
    }

    /// Remembers what was seen, and logs it when it is new.
    fn say(&self, state: Result<(), String>) {
        let mut last = self.state.lock();
        if last.as_ref() == Some(&state) {
            return;
        }
        match &state {
            Err(problem) => {
                tracing::warn!(%problem, "APIServices or webhook configurations are not right; retrying")
            }
            Ok(()) => tracing::info!("APIServices and webhook configurations are up to date"),
        }
        *last = Some(state);
    }

    /// Looks at everything once: creates what is missing, moves a rotation on, and fills in whom to trust. Objects are
    /// read before the CA, and patched only as they were read, so that who knows the newer CA wins.
    async fn look(&self, certificate: &ServingCertificate) -> Result<Seen> {
        let service = &self.installation.service;
        let mut seen = Seen {
            standing: Standing::Settled,
            problems: Vec::new(),
            missing: Vec::new(),
        };
        let mut ours: Vec<(&Registered, Value)> = Vec::new();
        for registered in &self.registered {
            match registered.find(&self.client, service).await {
                Ok(Found::Ours(object)) => ours.push((registered, object)),
                Ok(Found::Missing) => {
                    seen.standing = Standing::Unsettled;
                    if !self.self_register {
                        seen.missing.push(registered.absent());
                    } else if let Err(problem) = registered.create(&self.client).await {
                        seen.problems.push(format!("{problem:#}"));
                    } else {
                        seen.missing.push(format!("{registered} was created just now"));
                    }
                }
                Ok(Found::Foreign(why)) => seen.missing.extend(why),
                Err(problem) => seen.problems.push(format!("{problem:#}")),
            }
        }
        // Whoever cannot be read may trust anybody.
        let known = seen.problems.is_empty();
        let bundle = self.bundle(certificate, &ours, known, &mut seen.standing).await?;
        for (registered, object) in &ours {
            let Some(bundle) = &bundle else {
                // Somebody else fills it in.
                seen.missing.extend(registered.untrusting(object, service));
                continue;
            };
            if let Err(problem) = registered.fill(&self.client, object, service, bundle).await {
                seen.problems.push(format!("{problem:#}"));
            }
        }
        Ok(seen)
    }

    /// Whom to trust now; `None` where that is none of Berth's business.
    async fn bundle(
        &self,
        certificate: &ServingCertificate,
        ours: &[(&Registered, Value)],
        known: bool,
        standing: &mut Standing,
    ) -> Result<Option<String>> {
        let ca = match &self.trusted {
            Trusted::Elsewhere => return Ok(None),
            Trusted::Own(pem) => return Ok(Some(pem.clone())),
            Trusted::File(file) => return shared_ca::bundle_of(file).map(Some),
            Trusted::Shared(ca) => ca,
        };
        let now = self.clock.now();
        let read = ca.open(now).await?;
        let before = read.shared.bundle();
        let service = &self.installation.service;
        let announced = known
            && ours
                .iter()
                .all(|(_, object)| objects::trusts(object, service, &before));
        let read = ca.advance(read, now, announced).await?;
        if certificate.adopt(ca.authority(&read.shared, now)?)? {
            tracing::info!("the serving certificate was issued by the new CA");
        }
        if read.shared.is_rotating() || !announced {
            *standing = Standing::Unsettled;
        }
        Ok(Some(read.shared.bundle()))
    }
}
