//! `/version`: the version of this build, in the form for `kubectl version`.

use serde::Serialize;

/// The body of `/version` (`k8s.io/apimachinery` `version.Info`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionInfo {
    /// The major version.
    pub major: String,
    /// The minor version.
    pub minor: String,
    /// Version with the prefix `v`, such as `v1.2.3`.
    pub git_version: String,
    /// Commit of the build; empty when it is not known.
    pub git_commit: String,
    /// State of the source tree: `clean` when the commit is known, otherwise empty.
    pub git_tree_state: String,
    /// Time of the build, RFC 3339; empty when it is not known.
    pub build_date: String,
    /// Go version, which clients expect; `none`, since Berth is not built with Go.
    pub go_version: String,
    /// Name of the compiler.
    pub compiler: String,
    /// Operating system and architecture, in Kubernetes' names (`linux/amd64`).
    pub platform: String,
}

impl VersionInfo {
    /// Creates the version of a server that has the API of Kubernetes version `kubernetes` (`1.34`):
    /// `version` of `product`, from `commit` at `date` if these are known.
    ///
    /// Clients decide by major and minor version which features a server has, and kubectl warns of a
    /// difference of more than one minor version. So major and minor version are those of Kubernetes. The
    /// product's version is in the part that comparisons ignore: the build part of `gitVersion`.
    #[must_use]
    pub fn of_kubernetes(
        kubernetes: &str,
        product: &str,
        version: &str,
        commit: Option<&str>,
        date: Option<&str>,
    ) -> Self {
        Self {
            git_version: format!("v{kubernetes}.0+{product}.{version}"),
            ..Self::new(kubernetes, commit, date)
        }
    }

    /// Creates the version of a build of `version` (`1.2.3`), from `commit` at `date` if these are known.
    #[must_use]
    pub fn new(version: &str, commit: Option<&str>, date: Option<&str>) -> Self {
        let mut numbers = version.split('.');
        let commit = commit.unwrap_or_default();
        Self {
            major: numbers.next().unwrap_or_default().to_owned(),
            minor: numbers.next().unwrap_or_default().to_owned(),
            git_version: format!("v{version}"),
            git_commit: commit.to_owned(),
            git_tree_state: if commit.is_empty() {
                String::new()
            } else {
                "clean".to_owned()
            },
            build_date: date.unwrap_or_default().to_owned(),
            go_version: "none".to_owned(),
            compiler: "rustc".to_owned(),
            platform: format!("{}/{}", std::env::consts::OS, architecture()),
        }
    }
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_answers_as_kubernetes_with_its_own_version_in_the_build_part() {
        let info = VersionInfo::of_kubernetes("1.34", "berth", "0.12.3", None, None);
        assert_eq!(
            (info.major.as_str(), info.minor.as_str()),
            ("1", "34"),
            "what clients compare"
        );
        assert_eq!(info.git_version, "v1.34.0+berth.0.12.3");
    }

    #[test]
    fn the_version_is_taken_apart() {
        let info = VersionInfo::new("0.12.3", Some("abc"), None);
        assert_eq!(
            (
                info.major.as_str(),
                info.minor.as_str(),
                info.git_version.as_str()
            ),
            ("0", "12", "v0.12.3")
        );
        let json = serde_json::to_value(&info).unwrap();
        assert_eq!(json["gitTreeState"], "clean");
        assert_eq!(json.as_object().unwrap().len(), 9);
    }
}
