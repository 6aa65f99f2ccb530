//! A CA that several servers share, and the replacement of this CA by the next CA without a loss of trust:
//!
//! 1. the next CA is *announced*: clients of the present CA get a bundle with both;
//! 2. once all clients trust both, the next CA *takes over*: servers sign with it, and the old CA is still
//!    trusted;
//! 3. after the shortest time of a step, in which all servers renew their certificates, the old CA is *dropped*.
//!
//! Each step is one write of the whole state ([`SharedAuthorities::write`]) to an object that all servers
//! read, so that a second server finds the step done. The functions do no I/O: they compute the next state
//! from the state, the time and [`StepConditions`].

use std::collections::BTreeMap;
use std::path::Path;

use berth_apimachinery::Timestamp;
use jiff::SignedDuration;

use crate::authority::{Authority, IssuedCertificate};
use crate::error::CertsError;
use crate::{authority, pem};

/// Key of the bundle with every trusted CA, for clients that only verify certificates.
pub const BUNDLE: &str = "ca.crt";
/// Keys of the certificate and the key of the CA that signs.
const CURRENT: [&str; 2] = ["current.crt", "current.key"];
/// Keys of the certificate and the key of the next CA.
const NEXT: [&str; 2] = ["next.crt", "next.key"];
/// Key of the certificate of the old CA.
const PREVIOUS: &str = "previous.crt";
/// Key of the start of the present step.
const SINCE: &str = "since";

/// The CAs that servers share: the CA that signs, and during a rotation also the next or the old CA.
#[derive(Clone, Debug)]
pub struct SharedAuthorities {
    current: IssuedCertificate,
    next: Option<IssuedCertificate>,
    previous: Option<String>,
    /// Start of the present step.
    since: Timestamp,
}

/// Conditions for the next step of a rotation.
#[derive(Clone, Copy, Debug)]
pub struct StepConditions {
    /// Present time.
    pub now: Timestamp,
    /// Shortest duration of a step, which has to be longer than any server needs to detect a step.
    pub min_duration: SignedDuration,
    /// Whether all clients that have to trust [`SharedAuthorities::bundle`] do so.
    pub is_bundle_trusted: bool,
    /// Whether a user requests a new CA before two thirds of the validity are over.
    pub is_requested: bool,
}

/// A step of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A new CA is added to the bundle.
    Announced,
    /// The new CA signs.
    TookOver,
    /// The old CA is removed from the bundle.
    Dropped,
}

impl SharedAuthorities {
    /// Generates the first CA.
    ///
    /// # Errors
    /// When the CA cannot be generated.
    pub fn generate(now: Timestamp) -> Result<Self, CertsError> {
        Ok(Self {
            current: new_authority(now)?,
            next: None,
            previous: None,
            since: now,
        })
    }

    /// Parses entries that [`SharedAuthorities::write`] returned; `None` if all are empty. `place` names
    /// their source in error messages.
    ///
    /// # Errors
    /// When an entry is missing or damaged. The CA is not replaced then, since other servers may still use
    /// it.
    pub fn read(data: &BTreeMap<String, Vec<u8>>, place: &Path) -> Result<Option<Self>, CertsError> {
        if data.values().all(Vec::is_empty) {
            return Ok(None);
        }
        let text = |name: &str| -> Result<Option<String>, CertsError> {
            let bytes = data.get(name).filter(|bytes| !bytes.is_empty());
            bytes
                .map(|bytes| {
                    String::from_utf8(bytes.clone())
                        .map_err(|_| CertsError::malformed(place, format!("{name} is not a string")))
                })
                .transpose()
        };
        let pair = |[certificate, key]: [&str; 2]| -> Result<Option<IssuedCertificate>, CertsError> {
            match (text(certificate)?, text(key)?) {
                (Some(certificate), Some(key)) => Ok(Some(IssuedCertificate { certificate, key })),
                (None, None) => Ok(None),
                (have, _) => {
                    let missing = if have.is_some() { key } else { certificate };
                    Err(CertsError::malformed(
                        place,
                        format!(
                            "{missing} is missing: restore it, or remove all entries, so that a new CA is created"
                        ),
                    ))
                }
            }
        };
        let since = match text(SINCE)?.as_deref() {
            Some(since) => Some(berth_apimachinery::time::parse(since).ok_or_else(|| {
                let problem = format!(
                    "{SINCE} is not a time in the form of RFC 3339: restore it, or remove all entries, so that a new CA is created"
                );
                CertsError::malformed(place, problem)
            })?),
            None => None,
        };
        let (Some(current), Some(since)) = (pair(CURRENT)?, since) else {
            let names = format!("{}, {} and {SINCE}", CURRENT[0], CURRENT[1]);
            return Err(CertsError::malformed(
                place,
                format!(
                    "must have {names}: restore them, or remove all entries, so that a new CA is created"
                ),
            ));
        };
        Ok(Some(Self {
            current,
            next: pair(NEXT)?,
            previous: text(PREVIOUS)?,
            since,
        }))
    }

    /// Returns the whole state as named entries, for the data of a Secret.
    #[must_use]
    pub fn write(&self) -> BTreeMap<String, Vec<u8>> {
        let mut data = BTreeMap::new();
        let mut put = |name: &str, text: &str| data.insert(name.to_owned(), text.as_bytes().to_vec());
        put(BUNDLE, &self.bundle());
        put(CURRENT[0], &self.current.certificate);
        put(CURRENT[1], &self.current.key);
        if let Some(next) = &self.next {
            put(NEXT[0], &next.certificate);
            put(NEXT[1], &next.key);
        }
        if let Some(previous) = &self.previous {
            put(PREVIOUS, previous);
        }
        put(SINCE, &berth_apimachinery::time::rfc3339_micro(self.since));
        data
    }

    /// Opens the CA that signs.
    ///
    /// # Errors
    /// When the CA is damaged or has expired.
    pub fn authority(&self, place: &Path, now: Timestamp) -> Result<Authority, CertsError> {
        Authority::from_pem(&self.current, place, now)
    }

    /// Every trusted CA, in PEM; the CA that signs comes first.
    #[must_use]
    pub fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|next| next.certificate.as_str());
        let others = next.into_iter().chain(self.previous.as_deref());
        std::iter::once(self.current.certificate.as_str())
            .chain(others)
            .map(|pem| format!("{}\n", pem.trim_end()))
            .collect()
    }

    /// Whether a rotation is in progress.
    #[must_use]
    pub fn is_rotating(&self) -> bool {
        self.next.is_some() || self.previous.is_some()
    }

    /// Returns the next step and the state after it, if a step is due.
    ///
    /// # Errors
    /// When a new CA cannot be generated, or the CA that signs cannot be parsed.
    pub fn next_step(
        &self,
        conditions: &StepConditions,
        place: &Path,
    ) -> Result<Option<(Step, Self)>, CertsError> {
        let step_is_over = conditions.now.duration_since(self.since) >= conditions.min_duration;
        if let Some(next) = &self.next {
            if !step_is_over || !conditions.is_bundle_trusted {
                return Ok(None);
            }
            let after = Self {
                current: next.clone(),
                next: None,
                previous: Some(self.current.certificate.clone()),
                since: conditions.now,
            };
            return Ok(Some((Step::TookOver, after)));
        }
        if self.previous.is_some() {
            let after = Self {
                previous: None,
                since: conditions.now,
                ..self.clone()
            };
            return Ok(step_is_over.then_some((Step::Dropped, after)));
        }
        if !conditions.is_requested && !self.is_due(conditions.now, place)? {
            return Ok(None);
        }
        let after = Self {
            next: Some(new_authority(conditions.now)?),
            since: conditions.now,
            ..self.clone()
        };
        Ok(Some((Step::Announced, after)))
    }

    /// Whether two thirds of the validity of the CA that signs are over.
    fn is_due(&self, now: Timestamp, place: &Path) -> Result<bool, CertsError> {
        let list = pem::certificates(self.current.certificate.as_bytes(), place)?;
        let (from, until) =
            pem::validity(&list[0]).map_err(|problem| CertsError::malformed(place, problem))?;
        Ok(now.duration_since(from) >= until.duration_since(from) * 2 / 3)
    }
}

/// Generates a CA whose name differs from the names of earlier CAs, since some verifiers compare only names.
fn new_authority(now: Timestamp) -> Result<IssuedCertificate, CertsError> {
    authority::generate_authority(&format!("berth-ca-{}", now.as_second()), now)
}

#[cfg(test)]
mod tests;
