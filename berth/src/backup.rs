//! `berth backup` and `berth restore`: copy the embedded store of a server, and restore it.
//!
//! A running server sends backups through a socket in its data folder. Only the folder's owner, who can read
//! the database anyway, can reach the socket. If no server runs, the database file is read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use berth_certs::files::make_folder;
use berth_storage::embedded::backup::{self, Contents};
use berth_storage::embedded::{EmbeddedStore, rescue};
use berth_storage::encryption::Encryption;
use berth_storage::{Limits, StoreError};
use clap::Args;

use crate::encryption;

/// File name of the database in a data folder.
pub const DATABASE_FILE: &str = "berth.redb";
/// File name of the socket in a data folder through which a running server sends backups.
pub const BACKUP_SOCKET: &str = "backup.sock";
/// File name of the objects in the folder of a backup.
const OBJECTS_FILE: &str = "objects.backup";
/// Certificates, keys and kubeconfig that a backup also has, so that existing kubeconfigs stay valid after a
/// restore.
const CERTIFICATE_FILES: [&str; 5] = [
    "ca.crt",
    "ca.key",
    "front-proxy-ca.crt",
    "front-proxy-ca.key",
    "admin.kubeconfig",
];
/// Maximum time to wait for more bytes from a server.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// Arguments of `berth backup`.
#[derive(Args, Clone, Debug)]
pub struct BackupArgs {
    /// The data folder of the server, running or not.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
    /// The folder to create, for the objects and the certificates; `-` writes the objects to standard output.
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
    /// kube-apiserver's EncryptionConfiguration, if no server is running and values are encrypted.
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
}

/// Arguments of `berth restore`.
#[derive(Args, Clone, Debug)]
pub struct RestoreArgs {
    /// The backup: the folder that `berth backup` created, or its file objects.backup; `-` reads that file
    /// from standard input.
    #[arg(long, value_name = "PATH")]
    pub from: PathBuf,
    /// The data folder to restore into, which no running server may use.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
    /// Replace the existing database, which is kept beside the new one under another name.
    #[arg(long)]
    pub replace: bool,
    /// Number by which resourceVersions are raised above the backup's. It must exceed the number of writes
    /// since the backup, so that no resourceVersion is used twice.
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    pub bump_revision: u64,
    /// kube-apiserver's EncryptionConfiguration, to verify encrypted values.
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
}

/// Takes a backup of a server, running or not. Blocks the thread.
///
/// # Errors
/// When there is nothing to back up, or the target exists or cannot be written. An incomplete folder is
/// removed.
pub fn take(args: &BackupArgs) -> Result<()> {
    if args.to == Path::new("-") {
        let contents = write_objects(args, &mut io::stdout().lock())?;
        berth_commands::say_error!("{}", summary("backed up", contents, "standard output"));
        return Ok(());
    }
    // Without a trailing slash, so that the name below is beside the folder.
    let folder: PathBuf = args.to.components().collect();
    ensure!(
        !folder.exists(),
        "{} exists: name a new folder for the backup",
        folder.display()
    );
    // The backup has another name until it is complete.
    let mut partial = folder.clone().into_os_string();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| partial.display().to_string());
        }
        _ => {}
    }
    let contents = write_folder(args, &partial).inspect_err(|_| {
        // An error of this removal is ignored, since the next backup removes the folder, too.
        drop(fs::remove_dir_all(&partial));
    })?;
    fs::rename(&partial, &folder).with_context(|| folder.display().to_string())?;
    berth_commands::say!(
        "{}",
        summary("backed up", contents, &folder.display().to_string())
    );
    Ok(())
}

fn summary(action: &str, contents: Contents, place: &str) -> String {
    let Contents { revision, objects } = contents;
    format!("{action} {objects} objects at revision {revision} to {place}")
}

fn write_folder(args: &BackupArgs, folder: &Path) -> Result<Contents> {
    make_folder(folder)?;
    let path = folder.join(OBJECTS_FILE);
    let named = || path.display().to_string();
    let mut file = create_private(&path).with_context(named)?;
    write_objects(args, &mut file)?;
    file.sync_all().with_context(named)?;
    // The written file is read again, to check it. Values are not decrypted for this check.
    let mut written = BufReader::new(File::open(&path).with_context(named)?);
    let contents = backup::check(&mut written).with_context(named)?;
    for name in CERTIFICATE_FILES {
        copy(&args.data_dir.join(name), &folder.join(name))?;
    }
    Ok(contents)
}

/// Creates a file that only its owner may read and write.
fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Copies a certificate, key or kubeconfig. Returns whether `from` exists.
fn copy(from: &Path, to: &Path) -> Result<bool> {
    let content = match fs::read(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        other => other.with_context(|| from.display().to_string())?,
    };
    berth_certs::files::write(to, &content, berth_certs::files::Access::Owner)?;
    Ok(true)
}

/// Writes a backup of the objects of the running server, or of the database file if no server runs.
fn write_objects(args: &BackupArgs, out: &mut dyn Write) -> Result<Contents> {
    let file = args.data_dir.join(DATABASE_FILE);
    fs::metadata(&file).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "{} does not exist: --data-dir is the folder of a server with embedded storage (for etcd, use etcdctl snapshot save)",
            file.display()
        ),
        _ => anyhow!("{}: {error}", file.display()),
    })?;
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let socket = args.data_dir.join(BACKUP_SOCKET);
    match UnixStream::connect(&socket) {
        Ok(stream) => {
            stream.set_read_timeout(Some(READ_TIMEOUT))?;
            let mut tee = Tee {
                input: stream,
                out: &mut out,
            };
            let contents = backup::check(&mut tee).context("from the running server")?;
            out.flush()?;
            Ok(contents)
        }
        // `InvalidInput`: the path is too long for a socket. If a server runs nevertheless, the database file
        // is locked.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::InvalidInput
            ) =>
        {
            let encryption = encryption::load(args.encryption_provider_config.as_deref())?;
            let store = EmbeddedStore::open_encrypted(&file, Limits::default(), &encryption)?;
            Ok(store.backups().write(&mut out)?)
        }
        Err(error) => Err(error).with_context(|| socket.display().to_string()),
    }
}

/// Reader of `input` that copies the bytes to `out`.
struct Tee<R, W> {
    input: R,
    out: W,
}

impl<R: Read, W: Write> Read for Tee<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.out.write_all(&buffer[..read])?;
        Ok(read)
    }
}

/// Restores a backup into a data folder. Blocks the thread.
///
/// # Errors
/// When the backup is not complete, a database exists and `--replace` is not set, or a server uses the
/// database; in these cases an existing database stays in place. Also when the restored database cannot be
/// opened; in this case the replaced database stays under another name.
pub fn restore(args: &RestoreArgs) -> Result<()> {
    // Read first: a wrong file of keys must not be found after the database was replaced.
    let encryption = encryption::load(args.encryption_provider_config.as_deref())?;
    make_folder(&args.data_dir)?;
    let file = args.data_dir.join(DATABASE_FILE);
    let exists = file.exists();
    if exists && !args.replace {
        bail!(
            "{} exists: restore into a new folder, or with --replace, which keeps the old file under another name",
            file.display()
        );
    }
    let _lock = exists.then(|| rescue::lock_file(&file)).transpose()?;
    let folder = args.from.is_dir().then_some(args.from.as_path());
    let mut input = open_backup(&args.from)?;
    let old_file = exists.then(|| rescue::keep(&file)).transpose()?;
    let original = inode(&file);
    let contents = EmbeddedStore::restore(&file, &mut input, args.bump_revision);
    let contents = match (contents, &old_file) {
        (Err(error), Some(old_file)) => {
            if inode(&file) != original {
                // The restored file is in place already, so the kept file is the only original.
                let kept = format!("the replaced database is kept as {}", old_file.display());
                return Err(error).context(kept);
            }
            fs::remove_file(old_file).with_context(|| old_file.display().to_string())?;
            return Err(error.into());
        }
        (contents, _) => contents?,
    };
    berth_commands::say!("{}", summary("restored", contents, &file.display().to_string()));
    if let Some(old_file) = old_file {
        berth_commands::say!("the replaced database is kept as {}", old_file.display());
    }
    for name in CERTIFICATE_FILES {
        let (Some(folder), target) = (folder, args.data_dir.join(name)) else {
            break;
        };
        if target.exists() {
            berth_commands::say!("{} exists and is not replaced", target.display());
        } else if copy(&folder.join(name), &target)? {
            berth_commands::say!("restored {}", target.display());
        }
    }
    check_opens(&file, &encryption)
}

/// The identity of `file` in its file system; `None` if it cannot be read.
fn inode(file: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Checks that a server can start from the database in `file`.
fn check_opens(file: &Path, encryption: &Arc<Encryption>) -> Result<()> {
    match EmbeddedStore::open_encrypted(file, Limits::default(), encryption) {
        Ok(_) => Ok(()),
        Err(problem @ StoreError::Sealed { .. }) => {
            berth_commands::say!("encrypted values were not verified: {problem}");
            Ok(())
        }
        Err(problem) => Err(problem.into()),
    }
}

/// Opens the objects of the backup at `from`: a folder, a file, or `-` for standard input.
fn open_backup(from: &Path) -> Result<Box<dyn Read>> {
    if from == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let path = match from.is_dir() {
        true => from.join(OBJECTS_FILE),
        false => from.to_owned(),
    };
    let file = File::open(&path).with_context(|| path.display().to_string())?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_whose_path_is_too_long_for_a_socket_is_backed_up_while_no_server_runs() {
        let folder = tempfile::tempdir().unwrap();
        let args = BackupArgs {
            data_dir: folder.path().join("d".repeat(150)),
            to: folder.path().join("backup"),
            encryption_provider_config: None,
        };
        make_folder(&args.data_dir).unwrap();
        let store = EmbeddedStore::open(&args.data_dir.join(DATABASE_FILE), Limits::default()).unwrap();
        let refused = take(&args).unwrap_err();
        assert!(format!("{refused:#}").contains("is in use"), "{refused:#}");
        drop(store);
        take(&args).unwrap();
        assert!(args.to.join(OBJECTS_FILE).is_file());
    }
}
