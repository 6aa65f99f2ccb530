//! Encryption of values at rest: resources and keys.
//!
//! A value is encrypted with the first key of its resource, and decrypted with the key that it names. To
//! rotate keys, put the new key first, and remove the old one once every value was rewritten. Values from
//! before the first key are read as plain text. Encryption is AES-GCM with a separate nonce for each value. A
//! value is bound to its database key, so it cannot be moved to another database key. Encrypted values begin
//! with their format, as in kube-apiserver: `k8s:enc:aesgcm:v1:<key name>:`.
//!
//! Copies of objects from other servers must not be readable on disk. They are encrypted with a key that only
//! the process knows ([`Encryption::with_ephemeral`]). When the process ends, these copies are lost, and the
//! next process copies the objects again. Their values begin with `k8s:enc:ephemeral:v1:<process>:`.

use std::borrow::Cow;
use std::fmt;

use berth_apimachinery::GroupResource;
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

/// Prefix of every encrypted value; no JSON begins with it.
const ENCRYPTED: &[u8] = b"k8s:enc:";
/// Prefix of values in the only supported algorithm.
const AES_GCM: &str = "k8s:enc:aesgcm:v1:";
/// Prefix of values that are encrypted with a key that only the process knows.
const EPHEMERAL: &str = "k8s:enc:ephemeral:v1:";

/// Reason why a stored value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecryptionError {
    /// The value is a copy of another process, which only that process can decrypt; or it is in plain text,
    /// from before its resource was ephemeral.
    Ephemeral,
    /// A key is missing or has another secret, or the value was changed; with the message, which names the
    /// key.
    Key(String),
}

impl fmt::Display for DecryptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ephemeral => f.write_str("it is a copy that only the process that wrote it can decrypt"),
            Self::Key(problem) => f.write_str(problem),
        }
    }
}

/// An encryption key, with a name.
pub struct Key {
    name: String,
    key: LessSafeKey,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Reason why a key cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The name is empty or has a colon.
    #[error("a non-empty name without colons is expected")]
    Name,
    /// The secret has an invalid length, in bytes.
    #[error("a secret of 16 or 32 bytes is expected, this one has {0}")]
    Length(usize),
    /// The algorithm does not accept the secret.
    #[error("the algorithm does not accept the secret")]
    Secret,
    /// The operating system provides no random numbers for a new key or a nonce.
    #[error("the operating system provides no random numbers")]
    NoRandomNumbers,
}

impl Key {
    /// Returns the name of the key.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates the AES-GCM key `name` with a `secret` of 16 or 32 bytes.
    ///
    /// # Errors
    /// When the name or the secret is invalid.
    pub fn aes_gcm(name: &str, secret: &[u8]) -> Result<Self, KeyError> {
        if name.is_empty() || name.contains(':') {
            return Err(KeyError::Name);
        }
        let algorithm = match secret.len() {
            16 => &AES_128_GCM,
            32 => &AES_256_GCM,
            other => return Err(KeyError::Length(other)),
        };
        let key = UnboundKey::new(algorithm, secret).map_err(|_| KeyError::Secret)?;
        Ok(Self {
            name: name.to_owned(),
            key: LessSafeKey::new(key),
        })
    }
}

/// Encryption keys for the values of some resources.
#[derive(Debug)]
pub struct Rule {
    /// Resources, each as group and resource; `*` stands for all groups or all resources.
    pub resources: Vec<(String, String)>,
    /// Whether new values are encrypted, with the first key.
    pub writes_encrypted: bool,
    /// Encryption keys. All are used for decryption.
    pub keys: Vec<Key>,
}

impl Rule {
    fn covers(&self, resource: GroupResource) -> bool {
        let fits = |pattern: &str, text: &str| pattern == "*" || pattern == text;
        let mut resources = self.resources.iter();
        resources.any(|(group, name)| fits(group, resource.group) && fits(name, resource.resource))
    }
}

/// Encryption key that only this process knows, with the resources that it encrypts.
#[derive(Debug)]
struct EphemeralKey {
    resources: Vec<GroupResource>,
    key: Key,
}

/// Encrypted resources, and their keys. The default encrypts nothing.
#[derive(Debug, Default)]
pub struct Encryption {
    rules: Vec<Rule>,
    ephemeral: Option<EphemeralKey>,
}

impl Encryption {
    /// Creates an encryption with `rules`. The first matching rule of a resource is used.
    #[must_use]
    pub fn new(rules: Vec<Rule>) -> Self {
        Self {
            rules,
            ephemeral: None,
        }
    }

    /// Also encrypts those `resources` that no rule encrypts, with a key that no other process knows. Their
    /// values are copies, which each process creates again: opening a store drops the values of earlier
    /// processes, except values that are encrypted with a key of a rule.
    ///
    /// # Errors
    /// When the operating system provides no random numbers.
    pub fn with_ephemeral(mut self, resources: &[GroupResource]) -> Result<Self, KeyError> {
        let (mut name, mut secret) = ([0; 8], [0; 32]);
        random(&mut name)?;
        random(&mut secret)?;
        let key = Key::aes_gcm(&format!("{:016x}", u64::from_be_bytes(name)), &secret)?;
        let resources = resources.iter().copied();
        self.ephemeral = Some(EphemeralKey {
            resources: resources.filter(|resource| !self.encrypts(*resource)).collect(),
            key,
        });
        Ok(self)
    }

    fn rule(&self, resource: GroupResource) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.covers(resource))
    }

    fn encrypts(&self, resource: GroupResource) -> bool {
        self.rule(resource).is_some_and(|rule| rule.writes_encrypted)
    }

    /// Whether values of `resource` cannot be read without a key.
    #[must_use]
    pub fn covers(&self, resource: GroupResource) -> bool {
        self.encrypts(resource) || self.is_ephemeral(resource)
    }

    /// Whether only this process can read the values of `resource`.
    pub(crate) fn is_ephemeral(&self, resource: GroupResource) -> bool {
        let ephemeral = self.ephemeral.as_ref();
        ephemeral.is_some_and(|ephemeral| ephemeral.resources.contains(&resource))
    }

    /// Returns the stored form of `value`: encrypted if values of `resource` are, else unchanged. The
    /// encrypted form can only be read at the database key `place`.
    ///
    /// # Errors
    /// When the operating system provides no random numbers, or the value cannot be encrypted.
    pub(crate) fn seal<'a>(
        &self,
        resource: GroupResource,
        place: &[u8],
        value: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, String> {
        let ephemeral = self.ephemeral.as_ref();
        let ephemeral = ephemeral.filter(|ephemeral| ephemeral.resources.contains(&resource));
        let rule = self.rule(resource).filter(|rule| rule.writes_encrypted);
        let (prefix, key) = match (ephemeral, rule.and_then(|rule| rule.keys.first())) {
            (Some(ephemeral), _) => (EPHEMERAL, &ephemeral.key),
            (None, Some(key)) => (AES_GCM, key),
            (None, None) => return Ok(Cow::Borrowed(value)),
        };
        let mut nonce = [0; NONCE_LEN];
        random(&mut nonce).map_err(|problem| problem.to_string())?;
        let mut body = value.to_vec();
        key.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place), &mut body)
            .map_err(|_| format!("it cannot be encrypted with key {:?}", key.name))?;
        let mut stored = format!("{prefix}{}:", key.name).into_bytes();
        stored.extend_from_slice(&nonce);
        stored.append(&mut body);
        Ok(Cow::Owned(stored))
    }

    /// Decrypts the value of `resource` that is `stored` at the database key `place`; `None` when it is not
    /// encrypted.
    ///
    /// # Errors
    /// The reason why the value cannot be read.
    pub(crate) fn open(
        &self,
        resource: GroupResource,
        place: &[u8],
        stored: &[u8],
    ) -> Result<Option<Vec<u8>>, DecryptionError> {
        if stored.starts_with(EPHEMERAL.as_bytes()) {
            return Err(DecryptionError::Ephemeral);
        }
        if !stored.starts_with(ENCRYPTED) {
            // The value was written before its resource was configured as ephemeral.
            return if self.is_ephemeral(resource) {
                Err(DecryptionError::Ephemeral)
            } else {
                Ok(None)
            };
        }
        let opened = self.open_with_keys(resource, place, stored);
        opened.map(Some).map_err(DecryptionError::Key)
    }

    fn open_with_keys(
        &self,
        resource: GroupResource,
        place: &[u8],
        stored: &[u8],
    ) -> Result<Vec<u8>, String> {
        let (name, body) = parts(stored)?;
        let key = self
            .rule(resource)
            .and_then(|rule| rule.keys.iter().find(|key| key.name == name));
        let Some(key) = key else {
            return Err(format!(
                "it is encrypted with the aesgcm key {name:?}, which --encryption-provider-config does not have for \
                 {resource}"
            ));
        };
        let short = || format!("it cannot be decrypted with the aesgcm key {name:?}: it is cut off");
        let (nonce, body) = body.split_first_chunk::<NONCE_LEN>().ok_or_else(short)?;
        let mut body = body.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = match key.key.open_in_place(nonce, Aad::from(place), &mut body) {
            Ok(value) => value.len(),
            Err(_) => {
                return Err(format!(
                    "it cannot be decrypted with the aesgcm key {name:?}: the key of that name has another secret, or \
                     the value was changed"
                ));
            }
        };
        body.truncate(length);
        Ok(body)
    }
}

fn random(bytes: &mut [u8]) -> Result<(), KeyError> {
    let filled = SystemRandom::new().fill(bytes);
    filled.map_err(|_| KeyError::NoRandomNumbers)
}

/// Splits an encrypted value into the key's name and the rest.
fn parts(stored: &[u8]) -> Result<(&str, &[u8]), String> {
    let Some(rest) = stored.strip_prefix(AES_GCM.as_bytes()) else {
        return Err("it is encrypted with an unsupported provider; only aesgcm is supported".to_owned());
    };
    let end = rest.iter().position(|byte| *byte == b':');
    let named = end.and_then(|end| Some((std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..])));
    named.ok_or_else(|| "the name of its encryption key is missing: the value is damaged".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRETS: GroupResource = GroupResource::new("", "secrets");
    const OTHERS: GroupResource = GroupResource::new("", "configmaps");

    fn keys(names: &[&str], byte: u8) -> Encryption {
        let key = |name: &&str| Key::aes_gcm(name, &[byte; 32]).unwrap();
        Encryption::new(vec![Rule {
            resources: vec![(String::new(), "secrets".to_owned())],
            writes_encrypted: true,
            keys: names.iter().map(key).collect(),
        }])
    }

    #[test]
    fn the_first_key_writes_and_every_key_reads() {
        let old = keys(&["old"], 1);
        let both = keys(&["new", "old"], 1);
        let was = old.seal(SECRETS, b"place", b"{}").unwrap();
        assert!(was.starts_with(b"k8s:enc:aesgcm:v1:old:"));
        assert_eq!(both.open(SECRETS, b"place", &was), Ok(Some(b"{}".to_vec())));
        let now = both.seal(SECRETS, b"place", b"{}").unwrap();
        assert!(now.starts_with(b"k8s:enc:aesgcm:v1:new:"));
        assert_ne!(
            now,
            both.seal(SECRETS, b"place", b"{}").unwrap(),
            "each has a nonce of its own"
        );
        let missing = old.open(SECRETS, b"place", &now).unwrap_err().to_string();
        assert!(
            missing.contains("\"new\"") && missing.contains("--encryption-provider-config"),
            "{missing}"
        );
        let plain = both.seal(OTHERS, b"place", b"{}").unwrap();
        assert_eq!(*plain, *b"{}");
        assert_eq!(
            both.open(SECRETS, b"place", &plain),
            Ok(None),
            "as it was before there were keys"
        );
    }

    #[test]
    fn another_secret_another_place_and_every_change_are_noticed() {
        let encryption = keys(&["k"], 1);
        let stored = encryption.seal(SECRETS, b"place", b"{}").unwrap().into_owned();
        let wrong = keys(&["k"], 2).open(SECRETS, b"place", &stored);
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.contains("\"k\""), "{wrong}");
        assert!(encryption.open(SECRETS, b"other", &stored).is_err());
        for at in 0..stored.len() {
            let mut changed = stored.clone();
            changed[at] ^= 1;
            assert_ne!(
                encryption.open(SECRETS, b"place", &changed),
                Ok(Some(b"{}".to_vec())),
                "byte {at}"
            );
            assert!(
                encryption
                    .open(SECRETS, b"place", &stored[..at])
                    .is_ok_and(|value| value.is_none())
                    || at >= 8
            );
        }
    }

    #[test]
    fn ephemeral_values_are_read_by_no_other_process_and_configured_keys_come_first() {
        let of = |encryption: Encryption| encryption.with_ephemeral(&[SECRETS]).unwrap();
        let ephemeral = of(Encryption::default());
        let stored = ephemeral.seal(SECRETS, b"place", b"{}").unwrap();
        assert!(stored.starts_with(EPHEMERAL.as_bytes()));
        for other in [of(Encryption::default()), Encryption::default(), keys(&["k"], 1)] {
            assert_eq!(
                other.open(SECRETS, b"place", &stored),
                Err(DecryptionError::Ephemeral)
            );
        }
        let plain = ephemeral.open(SECRETS, b"place", b"{}");
        assert_eq!(
            plain,
            Err(DecryptionError::Ephemeral),
            "of a process that wrote it in plain"
        );
        assert_eq!(*ephemeral.seal(OTHERS, b"place", b"{}").unwrap(), *b"{}");

        let configured = of(keys(&["k"], 1));
        let stored = configured.seal(SECRETS, b"place", b"{}").unwrap();
        assert_eq!(
            configured.open(SECRETS, b"place", &stored),
            Ok(Some(b"{}".to_vec()))
        );
        assert!(configured.covers(SECRETS) && ephemeral.covers(SECRETS) && !ephemeral.covers(OTHERS));
        assert!(!configured.is_ephemeral(SECRETS));
    }

    #[test]
    fn invalid_keys_are_refused() {
        assert!(Key::aes_gcm("k", &[0; 16]).is_ok());
        for (name, length) in [("k", 24), ("k", 0), ("", 32), ("a:b", 32)] {
            assert!(Key::aes_gcm(name, &vec![0; length]).is_err(), "{name} {length}");
        }
    }
}
