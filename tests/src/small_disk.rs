//! A file system of a few megabytes, in its own mount namespace: its owner needs no rights on this
//! machine.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A small disk, which is removed when it is dropped.
pub struct SmallDisk {
    holder: Child,
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Creates an empty disk. Needs `unshare` and a kernel with user namespaces.
    ///
    /// # Panics
    /// Without them.
    #[must_use]
    pub fn new(megabytes: usize) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = format!(
            "mount -t tmpfs -o size={megabytes}m,mode=0700 tmpfs \"$0\" && echo mounted && exec sleep infinity"
        );
        let mut holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "bash", "-c", &script])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is there");
        let mut line = String::new();
        let output = holder.stdout.take().expect("the output is piped");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("it says something");
        assert_eq!(
            line.trim(),
            "mounted",
            "no file system of its own can be mounted here"
        );
        Self { holder, folder }
    }

    /// Path of the disk, for every process of this user.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let inside = self.folder.path().strip_prefix("/").expect("an absolute path");
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(inside)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Both calls fail only when the process has already ended, which is the goal.
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}
