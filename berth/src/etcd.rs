//! Flags about etcd, with kube-apiserver's names, and the store that they describe.

use std::path::PathBuf;
use std::time::Duration;

use berth_apimachinery::duration::parse_unsigned;
use clap::Args;

/// Connection to etcd, for `--storage etcd` and for `berth migrate`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "etcd")]
pub struct EtcdArgs {
    /// Prefix of keys in etcd; stores with different prefixes are independent.
    #[arg(long, default_value = "/berth", value_name = "PATH")]
    pub etcd_prefix: String,
    /// The CA (PEM) of the etcd servers; by default the system's roots.
    #[arg(long, value_name = "FILE")]
    pub etcd_cafile: Option<PathBuf>,
    /// The client certificate (PEM) for etcd.
    #[arg(long, value_name = "FILE", requires = "etcd_keyfile")]
    pub etcd_certfile: Option<PathBuf>,
    /// The private key (PEM) of --etcd-certfile.
    #[arg(long, value_name = "FILE", requires = "etcd_certfile")]
    pub etcd_keyfile: Option<PathBuf>,
    /// A file with the etcd user and its password: one line, `user:password`.
    #[arg(long, value_name = "FILE")]
    pub etcd_credentials_file: Option<PathBuf>,
    /// Interval at which etcd's history is compacted (such as 5m); 0s leaves compaction to another
    /// program, such as etcd itself (--auto-compaction-retention).
    #[arg(long, default_value = "5m", value_parser = parse_unsigned, value_name = "DURATION")]
    pub etcd_compaction_interval: Duration,
}

impl Default for EtcdArgs {
    fn default() -> Self {
        Self {
            etcd_prefix: "/berth".to_owned(),
            etcd_cafile: None,
            etcd_certfile: None,
            etcd_keyfile: None,
            etcd_credentials_file: None,
            etcd_compaction_interval: Duration::from_mins(5),
        }
    }
}

#[cfg(feature = "etcd")]
mod enabled {
    use std::path::Path;
    use std::sync::Arc;

    use anyhow::{Context, Result, bail};
    use berth_storage::Store;
    use berth_storage::encryption::Encryption;
    use berth_storage::etcd::{EtcdConfig, EtcdStore};

    use super::EtcdArgs;

    /// Configuration of the store at `servers`, with the settings of `args`.
    ///
    /// # Errors
    /// When the file with the credentials cannot be read or is invalid.
    pub(crate) fn config(
        servers: &[String],
        args: &EtcdArgs,
        encryption: &Arc<Encryption>,
    ) -> Result<EtcdConfig> {
        let mut config = EtcdConfig::new(servers);
        config.encryption = Arc::clone(encryption);
        config.prefix.clone_from(&args.etcd_prefix);
        config.ca_file.clone_from(&args.etcd_cafile);
        config.cert_file.clone_from(&args.etcd_certfile);
        config.key_file.clone_from(&args.etcd_keyfile);
        config.compaction_interval = args.etcd_compaction_interval;
        config.credentials = args
            .etcd_credentials_file
            .as_deref()
            .map(credentials)
            .transpose()?;
        Ok(config)
    }

    /// Reads the user and the password of `--etcd-credentials-file`.
    fn credentials(file: &Path) -> Result<(String, String)> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("--etcd-credentials-file: reading {}", file.display()))?;
        let line = text.trim_end_matches(['\n', '\r']);
        match line.split_once(':') {
            Some((user, password)) if !user.is_empty() && !line.contains('\n') => {
                Ok((user.to_owned(), password.to_owned()))
            }
            _ => bail!(
                "--etcd-credentials-file: {}: one line `user:password` is expected",
                file.display()
            ),
        }
    }

    /// Opens the store at `servers`.
    ///
    /// # Errors
    /// When `servers` is empty, or the store cannot be opened.
    pub(crate) async fn open(
        servers: &[String],
        args: &EtcdArgs,
        encryption: &Arc<Encryption>,
    ) -> Result<Arc<dyn Store>> {
        if servers.is_empty() {
            bail!("--storage etcd needs --etcd-servers: the client URLs of the members of etcd");
        }
        let config = config(servers, args, encryption)?;
        Ok(Arc::new(
            EtcdStore::open(&config, berth_storage::Limits::default()).await?,
        ))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn credentials_are_one_line() {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("credentials");
            for (text, expected) in [
                ("berth:hush\n", Some(("berth", "hush"))),
                ("berth:a:b", Some(("berth", "a:b"))),
                ("berth", None),
                (":hush", None),
                ("berth:hush\nmore:lines\n", None),
            ] {
                std::fs::write(&file, text).unwrap();
                let read = credentials(&file).ok();
                let expected = expected.map(|(user, password)| (user.to_owned(), password.to_owned()));
                assert_eq!(read, expected, "{text:?}");
            }
        }
    }
}

#[cfg(not(feature = "etcd"))]
mod disabled {
    use std::sync::Arc;

    use anyhow::{Result, bail};
    use berth_storage::Store;
    use berth_storage::encryption::Encryption;

    use super::EtcdArgs;

    /// Error message of a program that was built without etcd.
    pub(crate) const MISSING: &str = "this berth was built without etcd: build it with `cargo build --release \
                                      --features etcd` (which needs protoc), or use --storage embedded";

    /// Fails with a message about how to build a program with etcd.
    ///
    /// # Errors
    /// Always.
    pub(crate) async fn open(
        _servers: &[String],
        _args: &EtcdArgs,
        _encryption: &Arc<Encryption>,
    ) -> Result<Arc<dyn Store>> {
        bail!(MISSING)
    }
}

#[cfg(not(feature = "etcd"))]
pub(crate) use disabled::{MISSING, open};
#[cfg(feature = "etcd")]
pub(crate) use enabled::{config, open};
