//! Writing files so that a crash leaves the old content or the new, never a part.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::CertsError;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner only (mode 0600): keys and whatever embeds one.
    Owner,
    /// Everyone (mode 0644).
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

/// Writes `content` to `path` by way of a temporary file beside it. The permissions hold from the first byte on.
///
/// # Errors
/// When the folder does not take the file; `path` then is as it was.
pub fn write(path: &Path, content: &[u8], access: Access) -> Result<(), CertsError> {
    let temporary = temporary(path);
    let written = create(&temporary, access)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_folder(path));
    written.map_err(|problem| {
        // The temporary file may or may not be there; the first error is the one to tell.
        drop(fs::remove_file(&temporary));
        CertsError::Io {
            path: path.to_owned(),
            problem,
        }
    })
}

/// Makes `path` and its parents, readable by the owner only.
///
/// # Errors
/// When a folder cannot be made.
pub fn make_folder(path: &Path) -> Result<(), CertsError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(CertsError::io(path))
}

/// The content of `path`, or `None` when there is no such file.
///
/// # Errors
/// When it is there but cannot be read.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, CertsError> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(CertsError::Io {
            path: path.to_owned(),
            problem,
        }),
    }
}

/// The content of `path`.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, CertsError> {
    fs::read(path).map_err(CertsError::io(path))
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".tmp{}", std::process::id()));
    path.with_file_name(name)
}

fn create(path: &Path, access: Access) -> io::Result<File> {
    // One that a crash left behind may have other permissions.
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

/// Makes the rename itself durable.
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
            // The process' umask may take rights of others away, never add any.
            assert_eq!(have & !mode, 0, "{have:o}");
            assert_eq!(have & 0o600, 0o600);
        }
    }

    #[test]
    fn a_write_that_fails_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("a.key");
        let problem = write(&path, b"x", Access::Owner).unwrap_err().to_string();
        assert!(problem.contains("a.key"), "{problem}");
    }
}
