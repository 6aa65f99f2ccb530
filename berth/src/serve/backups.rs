//! Answers `berth backup` at a socket in the data folder, while the server serves.
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

use crate::backup::SOCKET;

/// Time limit for a client that does not read its backup.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts the task that answers at the socket in `folder` until the task is aborted. If the socket cannot be
/// created, the problem is logged, and there is no task.
pub(super) fn answer(folder: &Path, backups: Backups) -> Option<JoinHandle<()>> {
    let path = folder.join(SOCKET);
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

fn bind(path: &Path) -> std::io::Result<UnixListener> {
    // An existing socket is left over from a server that was killed: this process has opened the database, so
    // no other process uses the socket.
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// The socket. Dropping the value removes the file.
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

/// Writes backups one after the other, since each reads the whole store.
async fn serve(socket: SocketFile, backups: Backups) {
    loop {
        let stream = match socket.listener.accept().await {
            Ok((stream, _)) => stream,
            Err(problem) => {
                tracing::warn!(%problem, "cannot accept a connection to the backup socket; retrying");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let backups = backups.clone();
        let result = tokio::task::spawn_blocking(move || write(stream, &backups)).await;
        match result.map_err(anyhow::Error::from).and_then(|result| result) {
            Ok(Contents { revision, objects }) => tracing::info!(%revision, objects, "backup taken"),
            Err(problem) => tracing::warn!(
                problem = format!("{problem:#}"),
                "backup failed, and its output is incomplete; back up again"
            ),
        }
    }
}

fn write(stream: UnixStream, backups: &Backups) -> Result<Contents> {
    let stream = stream.into_std().context("the socket")?;
    stream.set_nonblocking(false).context("the socket")?;
    stream
        .set_write_timeout(Some(WRITE_TIMEOUT))
        .context("the socket")?;
    let mut out = BufWriter::with_capacity(1 << 18, stream);
    Ok(backups.write(&mut out)?)
}
