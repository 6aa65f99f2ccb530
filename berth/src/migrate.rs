//! `berth migrate`: copies all objects of a store from the embedded database to etcd, back, or from one etcd
//! to another.
//!
//! The source is read at one revision and must not change during the copy; the target must be empty.
//! resourceVersions never decrease: a database file keeps the resourceVersion of every object, and continues
//! from etcd's revision. etcd numbers writes itself, so its revision is first raised to that of the source; a
//! copy that would need too many writes for this is refused.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Result;
use clap::Args;

use crate::etcd::EtcdArgs;

/// Arguments of `berth migrate`.
#[derive(Args, Clone, Debug)]
pub struct MigrateArgs {
    /// Store to copy: `embedded:PATH` (a data folder or a database file) or `etcd:URL[,URL…]`.
    #[arg(long, value_name = "STORE")]
    pub from: StoreLocation,
    /// Store to copy to, which must not contain objects: `etcd:URL[,URL…]` or `embedded:PATH` (a data folder,
    /// which may be new, or a new database file, whose name ends in .redb).
    #[arg(long, value_name = "STORE")]
    pub to: StoreLocation,
    /// kube-apiserver's EncryptionConfiguration, with the keys of the source; it also decides the encryption
    /// of the target.
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
    /// Connection to etcd: to the target, if both stores are in etcd.
    #[command(flatten)]
    pub etcd: EtcdArgs,
    /// Connection to the source, if both stores are in etcd.
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Settings of the source, if both stores are in etcd; an omitted setting is that of the target.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "From etcd to etcd: the source, where it differs")]
pub struct SourceArgs {
    /// Prefix of keys in the source.
    #[arg(long, value_name = "PATH")]
    pub from_etcd_prefix: Option<String>,
    /// The CA (PEM) of the source's servers.
    #[arg(long, value_name = "FILE")]
    pub from_etcd_cafile: Option<PathBuf>,
    /// The client certificate (PEM) for the source.
    #[arg(long, value_name = "FILE", requires = "from_etcd_keyfile")]
    pub from_etcd_certfile: Option<PathBuf>,
    /// The private key (PEM) of --from-etcd-certfile.
    #[arg(long, value_name = "FILE", requires = "from_etcd_certfile")]
    pub from_etcd_keyfile: Option<PathBuf>,
    /// A file with the source's user and password: one line, `user:password`.
    #[arg(long, value_name = "FILE")]
    pub from_etcd_credentials_file: Option<PathBuf>,
}

impl SourceArgs {
    /// Connection to the source: these settings, and those of `target` for omitted settings.
    #[must_use]
    pub fn with_defaults(self, target: &EtcdArgs) -> EtcdArgs {
        let mut source = target.clone();
        source.etcd_prefix = self.from_etcd_prefix.unwrap_or(source.etcd_prefix);
        source.etcd_cafile = self.from_etcd_cafile.or(source.etcd_cafile);
        source.etcd_certfile = self.from_etcd_certfile.or(source.etcd_certfile);
        source.etcd_keyfile = self.from_etcd_keyfile.or(source.etcd_keyfile);
        source.etcd_credentials_file = self.from_etcd_credentials_file.or(source.etcd_credentials_file);
        source
    }

    /// Whether any setting of the source is given.
    #[must_use]
    pub fn is_any_set(&self) -> bool {
        let files = [
            &self.from_etcd_cafile,
            &self.from_etcd_certfile,
            &self.from_etcd_keyfile,
            &self.from_etcd_credentials_file,
        ];
        self.from_etcd_prefix.is_some() || files.into_iter().any(Option::is_some)
    }
}

/// Location of a store, as on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// A data folder or a database file.
    Embedded(PathBuf),
    /// The client URLs of etcd's members.
    Etcd(Vec<String>),
}

impl FromStr for StoreLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("embedded", path)) if !path.is_empty() => Ok(Self::Embedded(path.into())),
            Some(("etcd", urls)) if !urls.is_empty() => {
                Ok(Self::Etcd(urls.split(',').map(str::to_owned).collect()))
            }
            _ => Err("embedded:PATH or etcd:URL[,URL…] is expected".to_owned()),
        }
    }
}

/// Copies the source to the target.
///
/// # Errors
/// When a store cannot be read or written, the target has objects, the source was written to during the copy,
/// or resourceVersions would decrease.
#[cfg(feature = "etcd")]
pub async fn run(args: MigrateArgs) -> Result<()> {
    enabled::run(args).await
}

/// Fails with a message about how to build a program with etcd.
///
/// # Errors
/// Always.
#[cfg(not(feature = "etcd"))]
pub async fn run(_args: MigrateArgs) -> Result<()> {
    anyhow::bail!(crate::etcd::MISSING)
}

#[cfg(feature = "etcd")]
mod enabled {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use anyhow::{Context, Result, bail};
    use berth_certs::files::make_folder;
    use berth_storage::embedded::EmbeddedStore;
    use berth_storage::etcd::{CopyProgress, EtcdConfig, EtcdStore};
    use berth_storage::{Limits, Snapshot, StoreError};

    use super::{MigrateArgs, StoreLocation};
    use crate::backup::DATABASE_FILE;
    use crate::{encryption, etcd};

    /// Copies the source to the target, as [`super::run`].
    pub(super) async fn run(args: MigrateArgs) -> Result<()> {
        let both_etcd = matches!(
            (&args.from, &args.to),
            (StoreLocation::Etcd(_), StoreLocation::Etcd(_))
        );
        if args.source.is_any_set() && !both_etcd {
            bail!("--from-etcd-… describe the source when both stores are etcd: use --etcd-… here");
        }
        let encryption = encryption::load(args.encryption_provider_config.as_deref())?;
        match (&args.from, &args.to) {
            (StoreLocation::Embedded(path), StoreLocation::Etcd(servers)) => {
                to_etcd(file_of(path), &etcd::config(servers, &args.etcd, &encryption)?).await
            }
            (StoreLocation::Etcd(servers), StoreLocation::Embedded(path)) => {
                to_embedded(
                    &etcd::config(servers, &args.etcd, &encryption)?,
                    new_file_of(path),
                )
                .await
            }
            (StoreLocation::Embedded(_), StoreLocation::Embedded(_)) => {
                bail!(
                    "both stores are database files: a database is copied as a file, while no server uses it"
                )
            }
            (StoreLocation::Etcd(from), StoreLocation::Etcd(to)) => {
                let source = etcd::config(from, &args.source.with_defaults(&args.etcd), &encryption)?;
                etcd_to_etcd(&source, &etcd::config(to, &args.etcd, &encryption)?).await
            }
        }
    }

    /// The database file in the data folder `path`, or `path` itself if it is not a folder.
    fn file_of(path: &Path) -> PathBuf {
        if path.is_dir() {
            path.join(DATABASE_FILE)
        } else {
            path.to_owned()
        }
    }

    /// The database file to create in the data folder `path`, or `path` itself if it is the name of a file. A
    /// folder that does not exist yet is told from a file by the ending.
    fn new_file_of(path: &Path) -> PathBuf {
        let ending = Path::new(DATABASE_FILE).extension();
        match path.exists() || path.extension() == ending {
            true => file_of(path),
            false => path.join(DATABASE_FILE),
        }
    }

    async fn to_etcd(file: PathBuf, config: &EtcdConfig) -> Result<()> {
        if !file.is_file() {
            bail!(
                "{} does not exist: name a data folder with {DATABASE_FILE}, or that file",
                file.display()
            );
        }
        // The source stays open until the end, so that no server can write to it meanwhile.
        let source = tokio::task::spawn_blocking({
            let (file, encryption) = (file.clone(), Arc::clone(&config.encryption));
            move || EmbeddedStore::open_encrypted(&file, Limits::default(), &encryption)
        })
        .await??;
        let snapshot = source.export();
        let target_revision = EtcdStore::import(config, &snapshot, &mut report).await?;
        let (servers, prefix) = (config.endpoints.join(","), &config.prefix);
        berth_commands::say!(
            "copied {} from {} (revision {}) to {prefix} in etcd (revision {target_revision})",
            contents(&snapshot),
            file.display(),
            snapshot.revision
        );
        berth_commands::say!(
            "serve from it with: berth serve --storage etcd --etcd-servers {servers} --etcd-prefix {prefix}"
        );
        Ok(())
    }

    async fn etcd_to_etcd(source: &EtcdConfig, target: &EtcdConfig) -> Result<()> {
        if let Some(problem) = overlap(source, target) {
            bail!("{problem}");
        }
        let snapshot = EtcdStore::export(source).await?;
        let target_revision = EtcdStore::import(target, &snapshot, &mut report).await?;
        let is_changed = EtcdStore::changed_since(source, &snapshot).await;
        if !matches!(is_changed, Ok(false)) {
            // The copy lacks, or may lack, writes to the source since the export.
            EtcdStore::withdraw(target).await.with_context(|| {
                let prefix = &target.prefix;
                format!("the copy below {prefix} may lack writes, and could not be marked so: delete it, and do not serve from it")
            })?;
            is_changed.context(
                "the source was not read again after the copy, so no server can use this copy: copy again",
            )?;
            bail!(
                "the source was written to during the copy: stop every server that uses the source, then copy again (no server can \
                 use this copy)"
            );
        }
        let (servers, prefix) = (target.endpoints.join(","), &target.prefix);
        berth_commands::say!(
            "copied {} from {} in etcd (revision {}) to {prefix} in etcd at {servers} (revision {target_revision})",
            contents(&snapshot),
            source.prefix,
            snapshot.revision
        );
        berth_commands::say!(
            "serve from it with: berth serve --storage etcd --etcd-servers {servers} --etcd-prefix {prefix}"
        );
        Ok(())
    }

    /// Error message if the source and the target are the same store, or one contains the other.
    fn overlap(source: &EtcdConfig, target: &EtcdConfig) -> Option<String> {
        let has_common_server = source
            .endpoints
            .iter()
            .any(|server| target.endpoints.contains(server));
        let (from, to) = (source.prefix.trim_matches('/'), target.prefix.trim_matches('/'));
        let within = |inner: &str, outer: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| outer.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        if !has_common_server || !(within(from, to) || within(to, from)) {
            None
        } else if from == to {
            Some(format!(
                "source and target are the same store, /{from}: name another prefix with --etcd-prefix (of the target) or \
                 --from-etcd-prefix"
            ))
        } else {
            Some(format!(
                "/{from} and /{to} overlap: choose prefixes of which neither contains the other"
            ))
        }
    }

    async fn to_embedded(config: &EtcdConfig, file: PathBuf) -> Result<()> {
        let snapshot = EtcdStore::export(config).await?;
        let copy = snapshot.clone();
        let (target, encryption) = (file.clone(), Arc::clone(&config.encryption));
        let difference =
            tokio::task::spawn_blocking(move || -> Result<Result<Option<String>, StoreError>> {
                if let Some(folder) = target.parent() {
                    make_folder(folder)?;
                }
                EmbeddedStore::import_encrypted(&target, &copy, &encryption)?;
                let store = EmbeddedStore::open_encrypted(&target, Limits::default(), &encryption);
                Ok(store.map(|store| copy.difference(&store.export()).map(|key| key.to_string())))
            })
            .await??;
        let problem = match difference {
            Err(problem) => Some(format!("the copy cannot be opened: {problem}")),
            Ok(Some(key)) => Some(format!(
                "{key} differs in the copy: check the disk, then copy again"
            )),
            Ok(None) => match EtcdStore::changed_since(config, &snapshot).await {
                Ok(false) => None,
                Ok(true) => Some(
                    "etcd was written to during the copy: stop every server that uses it, then copy again"
                        .to_owned(),
                ),
                Err(problem) => Some(format!("etcd was not read again after the copy: {problem}")),
            },
        };
        if let Some(problem) = problem {
            if let Err(error) = std::fs::remove_file(&file) {
                bail!(
                    "{problem}; the copy {} could not be removed ({error}): delete it, and do not serve from it",
                    file.display()
                );
            }
            bail!("{problem}; {} was removed", file.display());
        }
        berth_commands::say!(
            "copied {} from {} in etcd (revision {}) to {}, which continues from there",
            contents(&snapshot),
            config.prefix,
            snapshot.revision,
            file.display()
        );
        Ok(())
    }

    fn contents(snapshot: &Snapshot) -> String {
        let resources: BTreeSet<_> = snapshot.objects.iter().map(|(key, _)| key.resource).collect();
        format!(
            "{} objects of {} resources",
            snapshot.objects.len(),
            resources.len()
        )
    }

    fn report(progress: CopyProgress) {
        match progress {
            CopyProgress::Raising { done, total } => {
                berth_commands::say_error!(
                    "raising etcd's revision, so that resourceVersions do not decrease: {done} of {total}"
                );
            }
            CopyProgress::Writing { done, total } => {
                berth_commands::say_error!("copying: {done} of {total} objects")
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_folder_that_does_not_exist_yet_is_a_data_folder() {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            assert_eq!(new_file_of(folder.path()), path("berth.redb"));
            assert_eq!(new_file_of(&path("new")), path("new/berth.redb"));
            assert_eq!(new_file_of(&path("other.redb")), path("other.redb"));
        }

        #[test]
        fn a_store_is_not_copied_onto_or_into_itself() {
            let at = |server: &str, prefix: &str| {
                let mut config = EtcdConfig::new(&[server.to_owned()]);
                config.prefix = prefix.to_owned();
                config
            };
            let source = at("http://a:2379", "/berth");
            for (server, prefix, refused) in [
                ("http://a:2379", "/berth", true),
                ("http://a:2379", "berth/", true),
                ("http://a:2379", "/berth/copy", true),
                ("http://a:2379", "/", true),
                ("http://a:2379", "/berth-copy", false),
                ("http://b:2379", "/berth", false),
            ] {
                let problem = overlap(&source, &at(server, prefix));
                assert_eq!(problem.is_some(), refused, "{server} {prefix}: {problem:?}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_is_reached_as_the_target_but_for_what_is_said() {
        let target = EtcdArgs {
            etcd_prefix: "/new".into(),
            etcd_cafile: Some("ca.pem".into()),
            ..EtcdArgs::default()
        };
        assert!(!SourceArgs::default().is_any_set());
        let source = SourceArgs {
            from_etcd_prefix: Some("/old".into()),
            ..SourceArgs::default()
        };
        assert!(source.is_any_set());
        let source = source.with_defaults(&target);
        assert_eq!(source.etcd_prefix, "/old");
        assert_eq!(source.etcd_cafile, Some("ca.pem".into()));
    }

    #[test]
    fn stores_are_named_by_kind_and_place() {
        assert_eq!(
            "embedded:/data".parse(),
            Ok(StoreLocation::Embedded("/data".into()))
        );
        assert_eq!(
            "etcd:http://a:2379,http://b:2379".parse(),
            Ok(StoreLocation::Etcd(vec![
                "http://a:2379".into(),
                "http://b:2379".into()
            ]))
        );
        for wrong in ["", "memory:", "embedded:", "etcd:", "/data"] {
            assert!(wrong.parse::<StoreLocation>().is_err(), "{wrong}");
        }
    }
}
