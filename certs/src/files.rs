//! Reading, permissions and atomic writes of files: after a crash a file has either the old or the new
//! content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::CertsError;

/// Access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Access for the owner only (mode 0600), for keys and files that contain a key.
    Owner,
    /// Access for all users (mode 0644).
    Everyone,
}

impl Access {
    #[cfg(unix)]
    const fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Everyone => 0o644,
        }
    }
}

/// Writes `content` to `path` through a temporary file in the same folder. The temporary file has the final
/// permissions from the start.
///
/// # Errors
/// When the file cannot be written, in which case `path` is unchanged, or when the folder cannot be synced.
pub fn write(path: &Path, content: &[u8], access: Access) -> Result<(), CertsError> {
    let temporary = temporary_path(path);
    let result = create(&temporary, access)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_folder(path));
    result.map_err(|problem| {
        // The temporary file may not exist. Only the first error is reported.
        drop(fs::remove_file(&temporary));
        CertsError::Io {
            path: path.to_owned(),
            problem,
        }
    })
}

/// Creates `path` and its parents, readable by the owner only.
///
/// # Errors
/// When a folder cannot be created.
pub fn make_folder(path: &Path) -> Result<(), CertsError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(CertsError::io(path))
}

/// Removes permissions beyond `access` from the file or folder at `path`, if it exists: files from copies,
/// archives and volumes may have looser modes. A mode that cannot be changed is logged; it is an error if
/// every user has access to the file.
///
/// # Errors
/// When the mode cannot be read, or every user has access to the file and its mode cannot be changed.
#[cfg(unix)]
pub fn tighten(path: &Path, access: Access) -> Result<(), CertsError> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(problem) => return Err(CertsError::io(path)(problem)),
    };
    let allowed = match (access, metadata.is_dir()) {
        (Access::Owner, true) => 0o700,
        (_, true) => 0o755,
        (access, false) => access.mode(),
    };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & !allowed == 0 {
        return Ok(());
    }
    let (path_shown, was, now) = (
        path.display(),
        format!("{mode:04o}"),
        format!("{:04o}", mode & allowed),
    );
    match fs::set_permissions(path, fs::Permissions::from_mode(mode & allowed)) {
        Ok(()) if mode & !allowed & 0o007 == 0 => {
            // Group rights are typical of volumes, where some systems restore them at every mount.
            tracing::info!(path = %path_shown, was, now, "file mode was too permissive; changed");
        }
        Ok(()) => {
            tracing::warn!(
                path = %path_shown, was, now,
                "every user of this machine had access; mode changed. Replace the keys if others may have read them"
            );
        }
        Err(problem) if metadata.is_dir() || mode & !allowed & 0o007 == 0 => {
            tracing::warn!(path = %path_shown, mode = was, %problem, "file mode is too permissive and cannot be changed");
        }
        Err(problem) => return Err(CertsError::io(path)(problem)),
    }
    Ok(())
}

/// Does nothing, since file modes are not supported on this system.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn tighten(_: &Path, _: Access) -> Result<(), CertsError> {
    Ok(())
}

/// Returns the content of `path`, or `None` when the file does not exist.
///
/// # Errors
/// When the file exists but cannot be read.
pub fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>, CertsError> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(CertsError::Io {
            path: path.to_owned(),
            problem,
        }),
    }
}

/// Returns the content of `path`.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, CertsError> {
    fs::read(path).map_err(CertsError::io(path))
}

fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".tmp{}", std::process::id()));
    path.with_file_name(name)
}

fn create(path: &Path, access: Access) -> io::Result<File> {
    // A temporary file from before a crash may have other permissions.
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => {}
        Err(problem) => return Err(problem),
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, access.mode());
    #[cfg(not(unix))]
    let _: Access = access;
    options.open(path)
}

/// Syncs the folder of `path`, so that a rename in it is durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        write(&path, b"a longer first content", Access::Owner).unwrap();
        write(&path, b"short", Access::Owner).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn keys_are_readable_by_their_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        for (access, mode) in [(Access::Owner, 0o600), (Access::Everyone, 0o644)] {
            let path = folder.path().join("file");
            write(&path, b"x", access).unwrap();
            let have = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            // The umask of the process may remove rights, but never add any.
            assert_eq!(have & !mode, 0, "{have:o}");
            assert_eq!(have & 0o600, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn loose_modes_of_a_folder_and_its_keys_are_tightened() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        crate::Folder::open(&path, now).unwrap();
        let all = ["", "ca.key", "front-proxy-ca.key", "ca.crt", "berth.redb"].map(|name| path.join(name));
        fs::write(&all[4], "objects").unwrap();
        for file in &all {
            fs::set_permissions(file, fs::Permissions::from_mode(0o777)).unwrap();
        }
        crate::Folder::open(&path, now).unwrap();
        let modes = all.map(|file| fs::metadata(file).unwrap().permissions().mode() & 0o777);
        assert_eq!(
            modes.map(|mode| format!("{mode:o}")),
            ["700", "600", "600", "777", "600"]
        );
        tighten(&path.join("missing"), Access::Owner).unwrap();
    }

    #[test]
    fn a_write_that_fails_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("a.key");
        let problem = write(&path, b"x", Access::Owner).unwrap_err().to_string();
        assert!(problem.contains("a.key"), "{problem}");
    }
}
