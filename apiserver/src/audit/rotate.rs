//! File of the audit log. It is rotated at a maximum size, and old files are deleted by number and age, as in
//! kube-apiserver.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Clock, Timestamp};

/// Limits of the log file and of old files; 0 means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Highest size of the file, in megabytes.
    pub max_size: u64,
    /// Highest number of old files.
    pub max_backups: usize,
    /// Days for which an old file is kept after its rotation.
    pub max_age: u32,
}

const MEGABYTE: u64 = 1024 * 1024;
const SECONDS_PER_DAY: i64 = 86_400;

/// A file that is rotated when it would become too large: `audit.log` is renamed to `audit-<time>.log`. If
/// that fails, the file grows, so that no event is lost.
pub(super) struct RotatingFile {
    path: PathBuf,
    rotation: Rotation,
    clock: Arc<dyn Clock>,
    file: File,
    size: u64,
    /// Size that the file must not exceed without a rotation; 0 means no limit. After a failed rotation it is
    /// higher than the configured one.
    limit: u64,
}

impl RotatingFile {
    pub(super) fn open(path: &Path, rotation: Rotation, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let file = append_to(path)?;
        let size = file.metadata()?.len();
        let rotating = Self {
            path: path.to_owned(),
            rotation,
            clock,
            file,
            size,
            limit: rotation.limit(),
        };
        // Since the last check, old files may have become too old, or the limits smaller.
        rotating.prune();
        Ok(rotating)
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.flush()?;
        // Two rotations within one millisecond need different names, and after a clock was set back the new
        // name must still be the newest.
        let newest = self
            .old_files()?
            .first()
            .map(|(at, _)| *at + Duration::from_millis(1));
        let at = newest.map_or(self.clock.now(), |after| after.max(self.clock.now()));
        match fs::rename(&self.path, self.old_path(at)) {
            // Another program has moved the file, or an earlier rotation could not open a new one.
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
        self.file = append_to(&self.path)?;
        self.size = 0;
        self.limit = self.rotation.limit();
        self.prune();
        Ok(())
    }

    fn old_path(&self, at: Timestamp) -> PathBuf {
        let (stem, extension) = self.name_parts();
        let time = at.strftime("%Y-%m-%dT%H-%M-%S%.3f");
        self.path.with_file_name(format!("{stem}-{time}{extension}"))
    }

    /// Returns the parts of the file name, such as `audit` and `.log`.
    fn name_parts(&self) -> (String, String) {
        let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let extension = text(self.path.extension()).map(|extension| format!(".{extension}"));
        (
            text(self.path.file_stem()).unwrap_or_default(),
            extension.unwrap_or_default(),
        )
    }

    /// Deletes old files beyond the limits of number and age. Failures are only logged, since events can
    /// still be written.
    fn prune(&self) {
        let Rotation {
            max_backups, max_age, ..
        } = self.rotation;
        if max_backups == 0 && max_age == 0 {
            return;
        }
        let old_files = self.old_files().unwrap_or_else(|problem| {
            let path = self.path.display();
            tracing::warn!(%path, %problem, "cannot list the old files of the audit log");
            Vec::new()
        });
        let now = self.clock.now();
        for (index, (at, path)) in old_files.into_iter().enumerate() {
            let too_many = max_backups > 0 && index >= max_backups;
            let too_old =
                max_age > 0 && now.as_second() - at.as_second() > i64::from(max_age) * SECONDS_PER_DAY;
            if (too_many || too_old)
                && let Err(problem) = fs::remove_file(&path)
                && problem.kind() != io::ErrorKind::NotFound
            {
                let path = path.display();
                tracing::warn!(%path, %problem, "cannot delete an old file of the audit log");
            }
        }
    }

    /// Returns the old files with the times in their names, newest first. Files with other names are ignored.
    fn old_files(&self) -> io::Result<Vec<(Timestamp, PathBuf)>> {
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let (stem, extension) = self.name_parts();
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let time = name.strip_prefix(&format!("{stem}-"));
            let time = time.and_then(|rest| rest.strip_suffix(extension.as_str()));
            if let Some(at) = time.and_then(parse_time) {
                found.push((at, path));
            }
        }
        found.sort_by(|(one, _), (other, _)| other.cmp(one));
        Ok(found)
    }

    /// Removes the part of a line that a failed write has left: the next line would continue it.
    fn remove_partial_line(&self) -> io::Result<()> {
        // Another program may have emptied the file; then it is shorter than known, and stays.
        if self.file.metadata()?.len() > self.size {
            self.file.set_len(self.size)?;
        }
        Ok(())
    }
}

impl Rotation {
    /// The size in bytes that a file must not exceed; 0 means no limit.
    fn limit(&self) -> u64 {
        self.max_size.saturating_mul(MEGABYTE)
    }
}

/// Parses the time in a file name: `2026-11-23T03-55-02.123`.
fn parse_time(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once('T')?;
    format!("{date}T{}Z", time.replace('-', ":")).parse().ok()
}

/// Opens the file for appending. A new file is readable by its owner only, as in kube-apiserver, since the
/// log names users and their actions. The mode of an existing file stays, since a log shipper may need
/// access; if every user of the machine has access, the server's log has a warning.
fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o777;
        if mode & 0o007 != 0 {
            tracing::warn!(
                path = %path.display(), mode = format!("{mode:04o}"),
                "every user of this machine has access to the audit log; remove the access with chmod o="
            );
        }
    }
    Ok(file)
}

impl Write for RotatingFile {
    /// Writes the whole of `line`, so that no line is split over two files.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let length = line.len() as u64;
        if self.limit > 0
            && self.size > 0
            && self.size + length > self.limit
            && let Err(problem) = self.rotate()
        {
            // A retry at each line would flood the server's log.
            self.limit = self.size.saturating_add(length).saturating_add(MEGABYTE);
            let path = self.path.display();
            tracing::error!(
                %path, %problem,
                "cannot rotate the audit log, which grows instead; trying again after another megabyte"
            );
        }
        if let Err(problem) = self.file.write_all(line) {
            if let Err(problem) = self.remove_partial_line() {
                tracing::error!(%problem, "cannot remove an incomplete line from the audit log");
            }
            return Err(problem);
        }
        self.size += length;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::SignedDuration;
    use berth_apimachinery::time::testing::SteppedClock;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn open(path: &Path, max_age: u32) -> RotatingFile {
        let clock = Arc::new(SteppedClock::at(Timestamp::from_second(1_800_000_000).unwrap()));
        let rotation = Rotation {
            max_size: 1,
            max_backups: 0,
            max_age,
        };
        RotatingFile::open(path, rotation, clock).unwrap()
    }

    fn length(path: &Path) -> u64 {
        fs::metadata(path).unwrap().len()
    }

    #[test]
    fn a_log_that_cannot_be_rotated_grows_until_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let (logs, moved) = (folder.path().join("logs"), folder.path().join("moved"));
        fs::create_dir(&logs).unwrap();
        let path = logs.join("audit.log");
        let mut log = open(&path, 0);
        let line = vec![b'x'; 700 * 1024];
        log.write_all(&line).unwrap();
        fs::rename(&logs, &moved).unwrap();
        log.write_all(&line).unwrap();
        fs::rename(&moved, &logs).unwrap();
        assert_eq!(length(&path), 2 * 700 * 1024);
        for _ in 0..2 {
            log.write_all(&line).unwrap();
        }
        assert_eq!(names(&logs), ["audit-2027-01-15T08-00-00.000.log", "audit.log"]);
        assert_eq!(length(&path), 700 * 1024);
    }

    #[test]
    fn a_log_that_another_program_renamed_is_opened_again_at_the_next_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut log = open(&path, 0);
        let line = vec![b'x'; 700 * 1024];
        log.write_all(&line).unwrap();
        fs::rename(&path, folder.path().join("audit.log.1")).unwrap();
        log.write_all(&line).unwrap();
        assert_eq!(names(folder.path()), ["audit.log", "audit.log.1"]);
        assert_eq!(length(&path), 700 * 1024);
    }

    #[test]
    fn an_old_file_that_cannot_be_deleted_does_not_prevent_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let old = "audit-2020-01-01T00-00-00.000.log";
        fs::create_dir(folder.path().join(old)).unwrap();
        drop(open(&folder.path().join("audit.log"), 1));
        assert_eq!(names(folder.path()), [old, "audit.log"]);
    }

    #[test]
    fn the_part_of_a_line_that_a_failed_write_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut log = open(&path, 0);
        log.write_all(b"whole\n").unwrap();
        log.file.write_all(b"par").unwrap();
        log.remove_partial_line().unwrap();
        log.write_all(b"next\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\nnext\n");
    }

    #[test]
    fn a_full_file_is_rotated_and_old_files_are_deleted_by_number_and_age() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("audit-notes.log"), "somebody's").unwrap();
        let path = folder.path().join("audit.log");
        let clock = Arc::new(SteppedClock::at(Timestamp::from_second(1_800_000_000).unwrap()));
        let rotation = Rotation {
            max_size: 1,
            max_backups: 2,
            max_age: 3,
        };
        let mut log = RotatingFile::open(&path, rotation, clock.clone()).unwrap();
        let line = vec![b'x'; 700 * 1024];
        for _ in 0..5 {
            log.write_all(&line).unwrap();
        }
        let files = names(folder.path());
        assert_eq!(
            files,
            [
                "audit-2027-01-15T08-00-00.002.log",
                "audit-2027-01-15T08-00-00.003.log",
                "audit-notes.log",
                "audit.log"
            ]
        );
        for name in files.iter().filter(|name| *name != "audit-notes.log") {
            assert_eq!(fs::metadata(folder.path().join(name)).unwrap().len(), 700 * 1024);
        }
        clock.advance(SignedDuration::from_hours(4 * 24));
        drop(RotatingFile::open(&path, rotation, clock).unwrap());
        assert_eq!(names(folder.path()), ["audit-notes.log", "audit.log"]);
    }
}
