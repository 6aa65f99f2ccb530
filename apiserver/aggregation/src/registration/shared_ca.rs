//! The CA that all servers of an installation share. It is in a Secret; its certificates, without the key,
//! are in a ConfigMap with the same name, for clients that only have to trust the CA.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_certs::Authority;
use berth_certs::rotation::{SharedAuthorities, Step, StepConditions};
use berth_client::root_cause;
use jiff::SignedDuration;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};

use crate::error::RegistrationError;

/// Highest number of attempts to write a Secret that other clients change concurrently.
const ATTEMPTS: usize = 8;
/// Key of the certificates in the ConfigMap, as in Kubernetes' own ConfigMaps.
const CERTIFICATES: &str = "ca.crt";

/// Options of a CA that all servers behind one Service share.
#[derive(Clone, Debug)]
pub struct SharedCaOptions {
    /// Name of the Secret and of the ConfigMap, which are in the namespace of the Service.
    pub secret: String,
    /// Duration of each step of a rotation: the new CA is trusted, then it signs, then the old CA is no
    /// longer trusted. A step takes at least four seconds.
    pub step: SignedDuration,
    /// Annotation of the Secret that requests an early rotation. It is removed when the rotation begins.
    pub rotate_annotation: String,
}

/// The shared CA on the hub: its Secret and its ConfigMap.
pub(super) struct SharedCa {
    secrets: Api<Secret>,
    config_maps: Api<ConfigMap>,
    /// Description of the Secret for messages.
    secret_label: PathBuf,
    options: SharedCaOptions,
    /// Sentence about how to grant the right to use the Secret, for messages; may be empty.
    source: String,
}

/// The Secret and the CAs in it, from one read.
pub(super) struct SecretSnapshot {
    secret: Secret,
    pub(super) shared: SharedAuthorities,
}

impl SharedCa {
    pub(super) fn new(client: Client, namespace: &str, options: SharedCaOptions, source: &str) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            config_maps: Api::namespaced(client, namespace),
            secret_label: PathBuf::from(format!("the Secret {namespace}/{}", options.secret)),
            options,
            source: source.to_owned(),
        }
    }

    /// Returns the name of the Secret and of the ConfigMap.
    pub(super) fn name(&self) -> &str {
        &self.options.secret
    }

    /// Reads the Secret. If the Secret or the CA in it is missing, creates it, unless another server creates
    /// it first.
    pub(super) async fn open(&self, now: Timestamp) -> Result<SecretSnapshot, RegistrationError> {
        for _ in 0..ATTEMPTS {
            let found = self.secrets.get_opt(&self.options.secret).await;
            let found = found.map_err(|problem| self.failed("reading", &problem))?;
            let Some(secret) = found else {
                let first = SharedAuthorities::generate(now)?;
                let secret = self.secret_with(None, &first);
                match self.secrets.create(&PostParams::default(), &secret).await {
                    Ok(_) => {
                        tracing::info!(secret = %self.secret_label.display(), "Secret created with a new CA")
                    }
                    Err(problem) if is_conflict(&problem) => {}
                    Err(problem) => return Err(self.failed("creating", &problem)),
                }
                continue;
            };
            match SharedAuthorities::read(&data(&secret), &self.secret_label)? {
                Some(shared) => return Ok(SecretSnapshot { secret, shared }),
                None => {
                    let first = SharedAuthorities::generate(now)?;
                    if self.replace(&secret, &first).await?.is_some() {
                        tracing::info!(secret = %self.secret_label.display(), "new CA stored");
                    }
                }
            }
        }
        Err(RegistrationError::Conflicts(
            self.secret_label.display().to_string(),
        ))
    }

    /// Performs the next step of a rotation, if one is due. `announced` is true if every registered object
    /// has the current bundle.
    pub(super) async fn advance(
        &self,
        snapshot: SecretSnapshot,
        now: Timestamp,
        announced: bool,
    ) -> Result<SecretSnapshot, RegistrationError> {
        let annotations = snapshot.secret.metadata.annotations.as_ref();
        let conditions = StepConditions {
            now,
            min_duration: self.options.step,
            is_bundle_trusted: announced,
            is_requested: annotations.is_some_and(|all| all.contains_key(&self.options.rotate_annotation)),
        };
        let Some((step, next)) = snapshot.shared.next_step(&conditions, &self.secret_label)? else {
            return Ok(snapshot);
        };
        // Another server changed the Secret; the next check reads it again.
        let Some(secret) = self.replace(&snapshot.secret, &next).await? else {
            return Ok(snapshot);
        };
        let text = match step {
            Step::Announced => "CA rotation: the next CA is announced, and trusted beside the current one",
            Step::TookOver => "CA rotation: the new CA signs certificates from now on",
            Step::Dropped => "CA rotation finished: the old CA is no longer trusted",
        };
        tracing::info!(secret = %self.secret_label.display(), "{text}");
        Ok(SecretSnapshot { secret, shared: next })
    }

    /// Reads the ConfigMap; `None` if it does not exist, or this server has no right to use it.
    pub(super) async fn published(&self) -> Result<Option<ConfigMap>, RegistrationError> {
        match self.config_maps.get(&self.options.secret).await {
            Ok(found) => Ok(Some(found)),
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(None),
            Err(problem) => Err(self.publication_failed(&problem)),
        }
    }

    /// Writes the certificates of `bundle` to the ConfigMap, for clients that only have to trust the CA, such
    /// as Prometheus. Does nothing if the ConfigMap has changed since it was read as `found`, or this server
    /// has no right to change it.
    pub(super) async fn publish(&self, found: &ConfigMap, bundle: &str) -> Result<(), RegistrationError> {
        let is_current =
            |data: &BTreeMap<String, String>| data.get(CERTIFICATES).is_some_and(|pem| pem == bundle);
        if found.data.as_ref().is_some_and(is_current) {
            return Ok(());
        }
        let patch = Patch::Merge(serde_json::json!({
            "metadata": {"resourceVersion": found.metadata.resource_version},
            "data": {CERTIFICATES: bundle},
        }));
        let patched = self
            .config_maps
            .patch(&self.options.secret, &PatchParams::default(), &patch)
            .await;
        match patched {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404 | 409) => Ok(()),
            Err(problem) => Err(self.publication_failed(&problem)),
        }
    }

    fn publication_failed(&self, problem: &kube::Error) -> RegistrationError {
        RegistrationError::Hub {
            doing: "publishing the CA in",
            object: format!("the ConfigMap {}", self.options.secret),
            cause: root_cause(problem),
        }
    }

    /// Returns the CA that signs certificates.
    pub(super) fn authority(
        &self,
        shared: &SharedAuthorities,
        now: Timestamp,
    ) -> Result<Arc<Authority>, RegistrationError> {
        Ok(Arc::new(shared.authority(&self.secret_label, now)?))
    }

    /// Replaces the content of the Secret `old` by `shared`, and returns the stored Secret; `None` when
    /// another client has changed the Secret since it was read.
    async fn replace(
        &self,
        old: &Secret,
        shared: &SharedAuthorities,
    ) -> Result<Option<Secret>, RegistrationError> {
        let secret = self.secret_with(Some(old), shared);
        match self
            .secrets
            .replace(&self.options.secret, &PostParams::default(), &secret)
            .await
        {
            Ok(stored) => Ok(Some(stored)),
            Err(problem) if is_conflict(&problem) => Ok(None),
            Err(problem) => Err(self.failed("writing", &problem)),
        }
    }

    fn secret_with(&self, old: Option<&Secret>, shared: &SharedAuthorities) -> Secret {
        let content = shared.write().into_iter();
        let mut secret = old.cloned().unwrap_or_else(|| Secret {
            metadata: ObjectMeta {
                name: Some(self.options.secret.clone()),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        });
        secret.data = Some(content.map(|(name, bytes)| (name, ByteString(bytes))).collect());
        if shared.is_rotating()
            && let Some(annotations) = &mut secret.metadata.annotations
        {
            annotations.remove(&self.options.rotate_annotation);
        }
        secret
    }

    fn failed(&self, doing: &'static str, problem: &kube::Error) -> RegistrationError {
        RegistrationError::Hub {
            doing,
            object: self.secret_label.display().to_string(),
            cause: match problem {
                kube::Error::Api(status) if status.code == 403 && !self.source.is_empty() => {
                    format!("{}; {}", status.message, self.source)
                }
                problem => root_cause(problem),
            },
        }
    }
}

fn is_conflict(problem: &kube::Error) -> bool {
    matches!(problem, kube::Error::Api(status) if status.code == 409)
}

fn data(secret: &Secret) -> BTreeMap<String, Vec<u8>> {
    let data = secret.data.iter().flatten();
    data.map(|(name, bytes)| (name.clone(), bytes.0.clone()))
        .collect()
}

/// Reads and checks the CA bundle in `file`.
pub(super) fn read_bundle(file: &Path) -> Result<String, RegistrationError> {
    berth_certs::pem::ca_bundle(file)?;
    std::fs::read_to_string(file).map_err(|cause| RegistrationError::File {
        file: file.to_owned(),
        cause,
    })
}
