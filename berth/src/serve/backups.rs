//! Backups of a running server, for `berth backup`, through a socket in the data folder.
//!
//! Every client that connects gets a backup; the server does not read from the connection. Only the owner of
//! the folder, who can read the database anyway, can reach the socket.

use std::fs::{self, Permissions};
use std::io::{BufWriter, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use berth_storage::embedded::backup::{Backups, Contents};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::backup::BACKUP_SOCKET;

/// Longest wait for a client to read more of the backup.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before the next attempt to accept a connection.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Starts the task that sends backups through a socket in `folder`. If the socket cannot be created, logs the
/// problem and returns `None`.
pub(super) fn spawn(folder: &Path, backups: Backups) -> Option<JoinHandle<()>> {
    let path = folder.join(BACKUP_SOCKET);
    match bind(&path) {
        Ok(listener) => Some(tokio::spawn(serve(SocketFile { listener, path }, backups))),
        Err(problem) => {
            tracing::warn!(
                socket = %path.display(), %problem,
                "cannot listen for `berth backup`: to back this server up, stop it first"
            );
            None
        }
    }
}

/// Creates the socket at `path`, which only the owner may use.
fn bind(path: &Path) -> std::io::Result<UnixListener> {
    // An existing socket remains from a server that was killed: no other server runs, since this process has
    // opened the database.
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// A listening socket, whose file is removed when the value is dropped.
struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If the removal fails, the next start removes the file.
        drop(fs::remove_file(&self.path));
    }
}

/// Sends a backup to each client. Backups are sent one after the other, since each reads the whole store.
async fn serve(socket: SocketFile, backups: Backups) {
    loop {
        let stream = match socket.listener.accept().await {
            Ok((stream, _)) => stream,
            Err(problem) => {
                tracing::warn!(%problem, "cannot accept a connection to the backup socket; retrying");
                tokio::time::sleep(RETRY_INTERVAL).await;
                continue;
            }
        };
        let backups = backups.clone();
        let result = tokio::task::spawn_blocking(move || send(stream, &backups)).await;
        match result.map_err(anyhow::Error::from).and_then(|result| result) {
            Ok(Contents { revision, objects }) => tracing::info!(%revision, objects, "backup taken"),
            Err(problem) => tracing::warn!(
                problem = format!("{problem:#}"),
                "the backup failed, and its output is incomplete; run `berth backup` again"
            ),
        }
    }
}

fn send(stream: UnixStream, backups: &Backups) -> Result<Contents> {
    let stream = stream.into_std().context("preparing the connection")?;
    stream
        .set_nonblocking(false)
        .context("preparing the connection")?;
    stream
        .set_write_timeout(Some(WRITE_TIMEOUT))
        .context("preparing the connection")?;
    let mut out = BufWriter::with_capacity(1 << 18, stream);
    Ok(backups.write(&mut out)?)
}
