//! The manifest of `kubectl berth` for krew, kubectl's plugin manager.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Supported platforms: the name in the file names of a release's archives, and `os` and `arch` in krew's
/// selectors.
const PLATFORMS: [(&str, &str, &str); 2] = [
    ("linux-x86_64", "linux", "amd64"),
    ("linux-aarch64", "linux", "arm64"),
];

/// Address of a release, for the manifest of krew.
#[derive(Args, Clone, Debug, Default)]
pub struct KrewArgs {
    /// For krew: the base URL of the release's archives.
    #[arg(long, value_name = "URL")]
    pub release_url: Option<String>,
    /// For krew: the release's SHA256SUMS (`make release`).
    #[arg(long, value_name = "FILE")]
    pub checksums: Option<PathBuf>,
}

/// The Plugin object for krew's index.
///
/// # Errors
/// When a flag is missing, the address is not an HTTPS address, the checksums cannot be read, they have no
/// entry for any archive, or the entry for an archive is invalid.
pub fn krew(args: &KrewArgs) -> Result<Value> {
    let (Some(url), Some(file)) = (&args.release_url, &args.checksums) else {
        bail!(
            "krew installs a release: set --release-url to the address of its archives, and --checksums to its file SHA256SUMS"
        );
    };
    if !url.starts_with("https://") {
        bail!("--release-url {url}: an address that begins with https:// is expected");
    }
    let sums = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    plugin(url, &sums).with_context(|| file.display().to_string())
}

/// The Plugin object for the archives below `url`, of those that have a checksum in `sums`.
fn plugin(url: &str, sums: &str) -> Result<Value> {
    let url = url.trim_end_matches('/');
    let mut platforms = Vec::new();
    for (name, os, arch) in PLATFORMS {
        let archive = format!("berth-{VERSION}-{name}.tar.gz");
        let Some(sum) = sum_of(sums, &archive) else {
            continue;
        };
        if sum.len() != 64 || !sum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            bail!("\"{sum}\" is not a SHA-256 of {archive}");
        }
        platforms.push(json!({
            "selector": {"matchLabels": {"os": os, "arch": arch}},
            "uri": format!("{url}/{archive}"),
            "sha256": sum.to_lowercase(),
            "files": [{"from": "berth", "to": "."}, {"from": "LICENSE", "to": "."}],
            "bin": "berth",
        }));
    }
    if platforms.is_empty() {
        bail!("no checksum of an archive of {VERSION} found, such as berth-{VERSION}-linux-x86_64.tar.gz");
    }
    Ok(json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "berth"},
        "spec": {
            "version": format!("v{VERSION}"),
            "homepage": url,
            "shortDescription": "Explain where multi-cluster systems place objects",
            "description": "Says which cluster an object goes to and why not to the others, what a change would move, and \
                            shows it all in a browser: for openMCP, KubeFleet, Gardener, Open Cluster Management, Karmada and kcp. \
                            It needs Berth behind the API server (scheduling.berth.dev), but for \"simulate\", which \
                            decides over files.\n",
            "caveats": "Completion needs a link beside the plugin:\n  ln -s \"$(command -v kubectl-berth)\" \
                        ~/.local/bin/kubectl_complete-berth\n",
            "platforms": platforms,
        },
    }))
}

/// The checksum of the file `name`; `sums` has the form of `sha256sum`.
fn sum_of<'a>(sums: &'a str, name: &str) -> Option<&'a str> {
    sums.lines().find_map(|line| {
        let (sum, file) = line.split_once(char::is_whitespace)?;
        (file.trim_start().trim_start_matches('*') == name).then_some(sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of both archives, and of files that krew does not use.
    fn sums() -> String {
        let (one, two) = ("A1".repeat(32), "b2".repeat(32));
        format!(
            "{two}  NOTES.md\n{one}  berth-{VERSION}-linux-x86_64.tar.gz\n{two} *berth-{VERSION}-linux-aarch64.tar.gz\n"
        )
    }

    fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
        let found = value.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("{pointer}: {value}"))
    }

    /// The checks of krew's own validation of a Plugin (its `internal/index/validation`) and of its naming
    /// guide.
    #[test]
    fn the_manifest_has_the_form_that_krew_asks_for() {
        let plugin = plugin("https://example.com/v1/", &sums()).unwrap();
        assert_eq!(
            text(&plugin, "/apiVersion"),
            "krew.googlecontainertools.github.com/v1alpha2"
        );
        assert_eq!(text(&plugin, "/kind"), "Plugin");
        let name = text(&plugin, "/metadata/name");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
        let version = text(&plugin, "/spec/version").strip_prefix('v').unwrap();
        assert_eq!(version.split('.').count(), 3, "{version}");
        let short = text(&plugin, "/spec/shortDescription");
        assert!(
            !short.contains('\n') && short.len() <= 50 && !short.ends_with('.'),
            "{short}"
        );
        for pointer in ["/spec/description", "/spec/caveats"] {
            assert!(!text(&plugin, pointer).contains("  \n"), "{pointer}");
        }
        let platforms = plugin["spec"]["platforms"].as_array().unwrap();
        assert_eq!(platforms.len(), 2);
        for platform in platforms {
            let labels = platform["selector"]["matchLabels"].as_object().unwrap();
            assert!(labels.keys().all(|label| label == "os" || label == "arch"));
            assert!(!labels.is_empty());
            let uri = text(platform, "/uri");
            assert!(
                uri.starts_with("https://example.com/v1/berth-") && uri.ends_with(".tar.gz"),
                "{uri}"
            );
            let sum = text(platform, "/sha256");
            assert!(
                sum.len() == 64 && sum.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
                "{sum}"
            );
            let files = platform["files"].as_array().unwrap();
            assert!(files.iter().any(|file| file["from"] == platform["bin"]));
            for file in files {
                assert!(!text(file, "/from").starts_with(['/', '.']) && file["to"] == ".");
            }
        }
        assert_eq!(
            platforms[0]["selector"]["matchLabels"],
            json!({"os": "linux", "arch": "amd64"})
        );
        assert_eq!(text(&platforms[0], "/sha256"), "a1".repeat(32));
        assert_eq!(text(&platforms[1], "/sha256"), "b2".repeat(32));
    }

    #[test]
    fn what_was_not_built_is_not_offered_and_sums_must_be_sums() {
        let sum = "ab".repeat(32);
        let one = plugin(
            "https://e",
            &format!("{sum}  berth-{VERSION}-linux-x86_64.tar.gz\n"),
        )
        .unwrap();
        assert_eq!(one["spec"]["platforms"].as_array().unwrap().len(), 1);
        let none = plugin("https://e", &format!("{sum}  berth-0.0.0-linux-x86_64.tar.gz\n")).unwrap_err();
        assert!(none.to_string().contains("linux-x86_64.tar.gz"), "{none}");
        let odd = plugin(
            "https://e",
            &format!("xyz  berth-{VERSION}-linux-x86_64.tar.gz\n"),
        )
        .unwrap_err();
        assert!(odd.to_string().contains("not a SHA-256"), "{odd}");
        let args = KrewArgs::default();
        assert!(krew(&args).unwrap_err().to_string().contains("--release-url"));
    }
}
