//! The hashes of policies for `policyHash`, and the names of bindings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::kind::PlacementPolicy;

/// The value of `policyHash` for a policy: the SHA-256 of the policy's JSON without the number of clusters,
/// in lower-case hexadecimal digits, which are encoded in base64 as a field of bytes (docs/systems/fleet.md,
/// "Names"). Without a policy, the JSON is `null`.
pub(crate) fn policy(policy: Option<&PlacementPolicy>) -> String {
    let json = serde_json::to_string(&policy.map(PlacementPolicy::without_number))
        .expect("a policy contains only fields that serialize to JSON");
    STANDARD.encode(hex(&Sha256::digest(escape_html(&json))))
}

/// Escapes the characters in `json` that Go's JSON encoder escapes for HTML. In JSON, these characters occur
/// only in strings.
fn escape_html(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            other => text.push(other),
        }
    }
    text
}

/// The `bytes` in lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name for the binding to `cluster` of the placement `name` with `uid`. As in KubeFleet, the name consists
/// of up to 26 bytes of the placement's name, up to 27 bytes of the cluster's name, and eight hexadecimal
/// digits. Here the digits are derived from placement and cluster, so that a repeated decision results in the
/// same name. Names for which `is_in_use` returns true are skipped.
pub(crate) fn binding_name(name: &str, uid: &str, cluster: &str, is_in_use: impl Fn(&str) -> bool) -> String {
    let part = |text: &str, max_length: usize| -> String {
        // Names are ASCII. The result must be a DNS label: it has no dots and does not begin with a dash.
        text.chars()
            .take(max_length)
            .map(|letter| if letter == '.' { '-' } else { letter })
            .collect()
    };
    let (placement, cluster_part) = (part(name, 26), part(cluster, 27));
    let mut attempt: u32 = 0;
    loop {
        let digest = Sha256::digest(format!("{uid}/{name}/{cluster}/{attempt}"));
        let result = format!("{placement}-{cluster_part}-{}", hex(&digest[..4]));
        if !is_in_use(&result) {
            return result;
        }
        attempt += 1;
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn hashed(value: serde_json::Value) -> String {
        policy(Some(&PlacementPolicy::deserialize(value).unwrap()))
    }

    #[test]
    fn no_policy_hashes_null() {
        let null = hex(&Sha256::digest("null"));
        assert_eq!(
            null,
            "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"
        );
        assert_eq!(policy(None), STANDARD.encode(null));
    }

    #[test]
    fn fields_stand_in_upstreams_order_and_the_number_is_left_out() {
        let text = r#"{"placementType":"PickN","affinity":{"clusterAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":20,"preference":{"labelSelector":{"matchLabels":{"a":"b"}}}}]}},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"region","whenUnsatisfiable":"DoNotSchedule"}],"tolerations":[{"key":"k","operator":"Equal","value":"\u003cv\u003e"}]}"#;
        let value = json!({
            "numberOfClusters": 3, "placementType": "PickN",
            "tolerations": [{"value": "<v>", "operator": "Equal", "key": "k"}],
            "topologySpreadConstraints": [
                {"whenUnsatisfiable": "DoNotSchedule", "topologyKey": "region", "maxSkew": 1},
            ],
            "affinity": {"clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"preference": {"labelSelector": {"matchLabels": {"a": "b"}}}, "weight": 20},
            ]}},
        });
        assert_eq!(hashed(value), STANDARD.encode(hex(&Sha256::digest(text))));
    }

    #[test]
    fn names_of_bindings_are_labels_of_at_most_63_bytes() {
        let long = "a".repeat(63);
        let name = binding_name(&long, "u", &long, |_| false);
        assert_eq!(name.len(), 63);
        assert!(berth_apimachinery::name::dns_label(&name).is_ok());
        assert!(berth_apimachinery::name::dns_label(&binding_name("a.b", "u", "c.d", |_| false)).is_ok());
        let first = binding_name("crp-1", "u", "c1", |_| false);
        assert!(first.starts_with("crp-1-c1-"));
        assert_ne!(first, binding_name("crp-1", "u", "c1", |name| name == first));
        assert_ne!(first, binding_name("crp-1", "v", "c1", |_| false));
    }
}
