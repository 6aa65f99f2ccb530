//! Names of published objects, which are also parts of label values: composed of other names, and shortened
//! with a hash if they would be too long.

use sha2::{Digest, Sha256};

use crate::{NameRule, Settings};

/// Highest number of characters of a label value.
pub const LABEL_VALUE: usize = 63;
/// Highest number of characters of a namespace for ClusterProfiles. The rest of a label value is for the name
/// of the profile.
pub const LONGEST_NAMESPACE: usize = 40;
/// Number of hexadecimal digits of a hash.
const DIGITS: usize = 10;
/// Suffix of the key of a ClusterDecision.
const CLUSTER: &str = "-cluster";

/// The name of the ClusterProfile of the target `target` (without its system) of `system`.
///
/// Consumers put `<namespace>-<name>` into a label value, so both together have at most 63 characters.
/// A longer or invalid name is shortened and gets a hash, so that different names stay different.
#[must_use]
pub fn profile(settings: &Settings, system: &str, target: &str) -> String {
    let wanted = match settings.names {
        NameRule::Qualified => format!("{target}.{system}"),
        NameRule::Bare => target.to_owned(),
    };
    let room = LABEL_VALUE.saturating_sub(settings.namespace.len() + 1);
    fit(&wanted, room)
}

/// The key of a decision: the beginning of the names of all slices of the decision, and the value of the
/// label `decision-key`. `name` is the name of the Decision (`<source>.<system>`), and `namespace` is empty
/// for a ClusterDecision.
///
/// Namespaces have no dots, and the keys of ClusterDecisions have a suffix of their own, so two decisions
/// never have the same key.
#[must_use]
pub fn decision(namespace: &str, name: &str) -> String {
    let whole = if namespace.is_empty() {
        format!("{name}{CLUSTER}")
    } else {
        format!("{namespace}.{name}")
    };
    fit(&whole, LABEL_VALUE)
}

/// The system of the decision with the key `key` (see [`decision`]); `None` if the key was shortened, so that
/// the system is unknown.
#[must_use]
pub fn system_of(key: &str) -> Option<&str> {
    // A shortened key has no dots.
    let (_, last) = key.rsplit_once('.')?;
    Some(last.strip_suffix(CLUSTER).unwrap_or(last))
}

/// The name of the slice `index` of the decision with the key `key`.
#[must_use]
pub fn slice(key: &str, index: u32) -> String {
    format!("{key}-{index}")
}

/// `text` if it is a name of at most `room` characters; otherwise its beginning, and a hash of the whole
/// text.
fn fit(text: &str, room: usize) -> String {
    if text.len() <= room && berth_apimachinery::name::dns_subdomain(text).is_ok() {
        return text.to_owned();
    }
    let plain: String = text
        .chars()
        .map(|letter| match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => letter,
            _ => '-',
        })
        .take(room.saturating_sub(DIGITS + 1))
        .collect();
    let hash = Sha256::digest(text.as_bytes());
    let hash: String = hash
        .iter()
        .take(DIGITS / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    match plain.trim_matches('-') {
        "" => hash,
        plain => format!("{plain}-{hash}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(namespace: &str, names: NameRule) -> Settings {
        Settings {
            namespace: namespace.to_owned(),
            names,
            ..Settings::default()
        }
    }

    #[test]
    fn names_that_fit_stay_as_they_are() {
        let of = |rule| profile(&settings("argocd", rule), "ocm", "cluster1");
        assert_eq!(of(NameRule::Qualified), "cluster1.ocm");
        assert_eq!(of(NameRule::Bare), "cluster1");
        assert_eq!(decision("ns", "p.ocm"), "ns.p.ocm");
        assert_eq!(
            slice(&decision("", "everywhere.fleet"), 2),
            "everywhere.fleet-cluster-2"
        );
    }

    #[test]
    fn names_that_are_too_long_with_the_namespace_are_shortened_and_stay_different() {
        let long = "a-cluster-with-a-name-that-is-much-too-long-for-a-label-value-1";
        let other = "a-cluster-with-a-name-that-is-much-too-long-for-a-label-value-2";
        for namespace in ["a", &"n".repeat(LONGEST_NAMESPACE)] {
            let names = [long, other].map(|name| profile(&settings(namespace, NameRule::Bare), "ocm", name));
            assert_ne!(names[0], names[1]);
            for name in names {
                assert!(namespace.len() + 1 + name.len() <= LABEL_VALUE, "{name}");
                assert!(berth_apimachinery::name::dns_subdomain(&name).is_ok(), "{name}");
            }
        }
        assert!(decision("ns", &"x".repeat(250)).len() <= LABEL_VALUE);
    }

    #[test]
    fn an_invalid_name_becomes_a_valid_name() {
        let name = profile(&settings("ns", NameRule::Bare), "kcp", "root:Org/cluster");
        assert!(berth_apimachinery::name::dns_subdomain(&name).is_ok(), "{name}");
        assert!(name.starts_with("root-org-cluster-"), "{name}");
    }

    #[test]
    fn the_system_is_read_from_a_name_or_not_at_all() {
        assert_eq!(system_of(&decision("ns", "p.ocm")), Some("ocm"));
        assert_eq!(system_of(&decision("", "a.b.fleet")), Some("fleet"));
        assert_eq!(
            system_of(&decision("ns", &format!("{}.ocm", "x".repeat(70)))),
            None
        );
    }

    #[test]
    fn a_decision_in_a_namespace_and_one_in_none_never_share_a_name() {
        assert_ne!(decision("a", "b.fleet"), decision("", "a.b.fleet"));
        assert_ne!(decision("a", "cluster.fleet"), decision("", "a.cluster.fleet"));
    }
}
