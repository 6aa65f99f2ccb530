//! Child processes with logs, and their folders.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A process that ends when this value is dropped, or with the test's own process.
pub struct Process {
    child: Child,
    log: PathBuf,
    name: String,
}

impl Process {
    /// Starts `command`, whose output goes to `<name>.log` in `folder`. Its input stays open until this value
    /// is dropped.
    pub(super) fn start(command: &mut Command, folder: &Path, name: &str) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).expect("the log can be written");
        let child = command
            .stdin(Stdio::piped())
            .stdout(file.try_clone().expect("the log has a second handle"))
            .stderr(file)
            .spawn()
            .unwrap_or_else(|problem| panic!("{name} does not start: {problem}"));
        Self {
            child,
            log,
            name: name.to_owned(),
        }
    }

    /// Name of the process.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `ready` returns true; fails with the end of the log when the process ends or at the time
    /// limit.
    pub(super) fn wait_until(&mut self, limit: Duration, ready: impl Fn() -> bool) {
        let start = Instant::now();
        while !ready() {
            if let Some(status) = self.child.try_wait().expect("the process is ours") {
                panic!("it ended ({status}) before it was ready:\n{}", self.tail());
            }
            assert!(
                start.elapsed() < limit,
                "not ready after {limit:?}:\n{}",
                self.tail()
            );
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }

    /// Terminates the process, as a kubelet does, and waits for its end.
    ///
    /// # Panics
    /// When it has already ended, or does not end within a minute.
    pub fn terminate(&mut self) {
        self.signal("-TERM");
        crate::eventually("the program to end", || {
            self.child.try_wait().expect("the process is ours")
        });
    }

    /// Sends a signal to the process, such as `-STOP`.
    ///
    /// # Panics
    /// When it has already ended.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal} {id}");
    }

    /// The last lines of the log.
    #[must_use]
    pub fn tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls fail only when the process has already ended, which is the goal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The folders of control planes, in the target folder: `hub/runs/<process id>.<n>`.
pub(super) struct Runs;

impl Runs {
    /// Creates a folder, and removes those of ended processes: a shared control plane cannot remove its own.
    pub(super) fn new_folder() -> PathBuf {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let test = std::env::current_exe().expect("a test knows its own path");
        let target = test
            .ancestors()
            .nth(3)
            .expect("tests live in <target>/<profile>/deps");
        let runs = target.join("hub").join("runs");
        std::fs::create_dir_all(&runs).expect("the target folder is writable");
        for entry in std::fs::read_dir(&runs)
            .expect("the folder can be read")
            .flatten()
        {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| name.split('.').next());
            if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
                // Another test may be removing it at the same time.
                drop(std::fs::remove_dir_all(entry.path()));
            }
        }
        let folder = runs.join(format!(
            "{}.{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        std::fs::create_dir_all(&folder).expect("the target folder is writable");
        folder
    }
}
