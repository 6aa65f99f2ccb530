//! Names of new Clusters and of the finalizers of requests (docs/systems/openmcp.md, "New Clusters" and
//! "Names and labels").

use berth_apimachinery::name::NameError;
use berth_apimachinery::{Meta, name};
use berth_scheduling::Random;
use shake::Shake128;
use shake::digest::{ExtendableOutput, Update, XofReader};

/// The maximum length of a name with a suffix.
const MAX_LENGTH: usize = 63;
/// The length of a hash.
const HASH_LENGTH: usize = 8;
/// The length of a random suffix.
const RANDOM_LENGTH: usize = 5;
/// The alphabet of random suffixes, without vowels and easily confused characters.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The rule for the names of a purpose's Clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    /// All Clusters have this name, so that there is one per namespace.
    Fixed(String),
    /// Names consist of this prefix and a suffix.
    Prefix(String),
}

/// The reason why a rule results in no valid name, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// The prefix leaves no room for a suffix.
    #[error(
        "the name prefix \"{prefix}\" has {} characters, and with a suffix only {} fit: set a shorter \
         template.metadata.generateName",
        .prefix.len(), MAX_LENGTH - HASH_LENGTH
    )]
    TooLong {
        /// The text before the suffix.
        prefix: String,
    },
    /// The resulting name is invalid.
    #[error(
        "\"{name}\" cannot be the name of a cluster: {error}; set template.metadata.name or generateName"
    )]
    Invalid {
        /// The name.
        name: String,
        /// The problem of the name.
        error: NameError,
    },
}

impl Naming {
    /// The rule for `purpose`. `is_unlimited` tells whether any number of requests may share one Cluster.
    /// Empty names count as absent.
    #[must_use]
    pub fn of(purpose: &str, is_unlimited: bool, name: Option<&str>, generate_name: Option<&str>) -> Self {
        let non_empty = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        match (non_empty(generate_name), is_unlimited) {
            (Some(prefix), _) => Self::Prefix(prefix),
            (None, true) => Self::Fixed(non_empty(name).unwrap_or_else(|| purpose.to_owned())),
            (None, false) => Self::Prefix(format!("{purpose}-")),
        }
    }

    /// The name of a new Cluster for the request `namespace`/`request`. It is the same at each call.
    ///
    /// # Errors
    /// The rule results in no valid name.
    pub fn name(&self, namespace: &str, request: &str) -> Result<String, NamingError> {
        match self {
            Self::Fixed(name) => checked(name.clone()),
            Self::Prefix(prefix) if prefix.len() + HASH_LENGTH > MAX_LENGTH => Err(NamingError::TooLong {
                prefix: prefix.clone(),
            }),
            Self::Prefix(prefix) => checked(format!("{prefix}{}", hash(&format!("{namespace}/{request}")))),
        }
    }

    /// A name with a random suffix; for [`Naming::Fixed`], the fixed name. A prefix that is too long is cut.
    ///
    /// # Errors
    /// The name is invalid.
    pub fn random_name(&self, random: &mut Random) -> Result<String, NamingError> {
        let Self::Prefix(prefix) = self else {
            return self.name("", "");
        };
        let mut cut = prefix.len().min(MAX_LENGTH - RANDOM_LENGTH);
        while !prefix.is_char_boundary(cut) {
            cut -= 1;
        }
        let mut name = prefix[..cut].to_owned();
        for _ in 0..RANDOM_LENGTH {
            let letter = random.below(ALPHABET.len() as u64);
            name.push(char::from(ALPHABET[usize::try_from(letter).unwrap_or_default()]));
        }
        checked(name)
    }
}

/// Returns `name` if it is valid.
fn checked(name: String) -> Result<String, NamingError> {
    match name::dns_subdomain(&name) {
        Ok(()) => Ok(name),
        Err(error) => Err(NamingError::Invalid { name, error }),
    }
}

/// The hash of `text`: eight characters, which are 40 bits of SHAKE128 in lower-case base 32.
#[must_use]
pub(crate) fn hash(text: &str) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut hasher = Shake128::default();
    hasher.update(text.as_bytes());
    let mut bits = [0; 8];
    hasher.finalize_xof().read(&mut bits[3..]);
    let bits = u64::from_be_bytes(bits);
    (0..HASH_LENGTH)
        .rev()
        .map(|digit| char::from(DIGITS[usize::try_from(bits >> (5 * digit) & 31).unwrap_or_default()]))
        .collect()
}

/// The holder: the last part of a request's finalizers on Clusters. It is the request's uid; for a request
/// without a uid, from a file, it is the namespace and the name, or their hash if they are too long.
#[must_use]
fn holder(uid: &str, namespace: &str, name: &str) -> String {
    if !uid.is_empty() {
        return uid.to_owned();
    }
    let text = format!("{namespace}.{name}");
    if text.len() <= MAX_LENGTH {
        text
    } else {
        hash(&text)
    }
}

/// The holder of the request with `meta`.
pub(crate) fn holder_of(meta: &Meta) -> String {
    holder(meta.uid(), meta.namespace(), meta.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_the_system_publishes() {
        assert_eq!(hash("example"), "epgccknc");
        assert_eq!(hash("default/example"), "fphxsdub");
        assert_eq!(hash("foo/exclusive"), "qilq5nsb");
    }

    #[test]
    fn a_purpose_for_one_cluster_is_named_by_prefix_then_name_then_purpose() {
        let of = |name, prefix| Naming::of("platform", true, name, prefix);
        assert_eq!(of(Some("a"), Some("b-")), Naming::Prefix("b-".to_owned()));
        assert_eq!(of(Some("a"), None), Naming::Fixed("a".to_owned()));
        assert_eq!(of(Some(""), Some("")), Naming::Fixed("platform".to_owned()));
    }

    #[test]
    fn a_purpose_for_many_clusters_ignores_the_name() {
        let of = |name, prefix| Naming::of("mcp", false, name, prefix);
        assert_eq!(of(Some("a"), Some("b-")), Naming::Prefix("b-".to_owned()));
        assert_eq!(of(Some("a"), None), Naming::Prefix("mcp-".to_owned()));
    }

    #[test]
    fn suffixes_are_the_hash_of_the_request() {
        let prefix = Naming::Prefix("mcp-".to_owned());
        assert_eq!(prefix.name("foo", "exclusive").unwrap(), "mcp-qilq5nsb");
        assert_eq!(
            Naming::Fixed("one".to_owned()).name("foo", "exclusive").unwrap(),
            "one"
        );
    }

    #[test]
    fn prefixes_have_room_for_the_hash() {
        let of = |length| Naming::Prefix("p".repeat(length)).name("foo", "exclusive");
        assert_eq!(of(55).unwrap().len(), 63);
        assert!(of(56).unwrap_err().to_string().contains("only 55 fit"));
    }

    #[test]
    fn random_suffixes_have_five_characters_and_follow_the_seed() {
        let draw = |prefix: &str, seed| {
            Naming::Prefix(prefix.to_owned())
                .random_name(&mut Random::new(seed))
                .unwrap()
        };
        assert_eq!(draw("mcp-", 1), draw("mcp-", 1));
        assert_ne!(draw("mcp-", 1), draw("mcp-", 2));
        assert_eq!(draw("mcp-", 1).len(), 9);
        assert_eq!(draw(&"p".repeat(70), 1).len(), 63);
    }

    #[test]
    fn what_cannot_be_a_name_says_what_to_set() {
        let problem = Naming::Fixed("My Platform".to_owned())
            .name("a", "b")
            .unwrap_err()
            .to_string();
        assert!(
            problem.contains("\"My Platform\"") && problem.contains("generateName"),
            "{problem}"
        );
    }

    #[test]
    fn a_request_without_a_uid_is_known_by_its_name() {
        assert_eq!(holder("u-1", "ns", "r"), "u-1");
        assert_eq!(holder("", "ns", "r"), "ns.r");
        assert_eq!(holder("", "ns", &"r".repeat(80)).len(), 8);
    }
}
