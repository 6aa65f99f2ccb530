//! Names of definitions and operations.

use crate::resource::Gvk;

/// Returns the name of a kind's definition: its group reversed, version and kind
/// (`io.open-cluster-management.cluster.v1beta1.Placement`); Kubernetes' own groups are under `io.k8s.api`.
pub(crate) fn definition(gvk: &Gvk) -> String {
    format!("{}.{}.{}", package(&gvk.group), gvk.version, gvk.kind)
}

fn package(group: &str) -> String {
    match group {
        "" => return "io.k8s.api.core".to_owned(),
        plain if !plain.contains('.') => return format!("io.k8s.api.{plain}"),
        _ => {}
    }
    match group.strip_suffix(".k8s.io") {
        Some(own) => format!("io.k8s.api.{}", own.split('.').next().unwrap_or(own)),
        None => group.split('.').rev().collect::<Vec<_>>().join("."),
    }
}

/// Returns the tag of a group-version's operations: `clusterOpenClusterManagementIo_v1beta1`, `core_v1`.
pub(crate) fn tag(group: &str, version: &str) -> String {
    let camel = camel(group);
    let mut characters = camel.chars();
    let lower = characters
        .next()
        .map(|first| first.to_ascii_lowercase().to_string() + characters.as_str());
    format!("{}_{version}", lower.unwrap_or_else(|| "core".to_owned()))
}

/// Returns a group as a part of operation ids: `ClusterOpenClusterManagementIo`, `Core`.
pub(crate) fn group_part(group: &str) -> String {
    let camel = camel(group);
    if camel.is_empty() {
        "Core".to_owned()
    } else {
        camel
    }
}

/// Converts `cluster.open-x.io` to `ClusterOpenXIo`.
pub(crate) fn camel(text: &str) -> String {
    text.split(['.', '-', '/']).map(capital).collect()
}

fn capital(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_named_in_reverse_dns() {
        let name = |group: &str| {
            definition(&Gvk {
                group: group.to_owned(),
                version: "v1".to_owned(),
                kind: "K".to_owned(),
            })
        };
        assert_eq!(
            name("cluster.open-cluster-management.io"),
            "io.open-cluster-management.cluster.v1.K"
        );
        assert_eq!(name(""), "io.k8s.api.core.v1.K");
        assert_eq!(name("apps"), "io.k8s.api.apps.v1.K");
        assert_eq!(name("rbac.authorization.k8s.io"), "io.k8s.api.rbac.v1.K");
    }

    #[test]
    fn tags_are_camel_case() {
        assert_eq!(
            tag("scheduling.berth.dev", "v1alpha1"),
            "schedulingBerthDev_v1alpha1"
        );
        assert_eq!(tag("", "v1"), "core_v1");
    }
}
