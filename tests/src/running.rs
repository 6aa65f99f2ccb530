//! Processes that end with the test, even one that fails.

use std::process::{Child, Command};

/// A process, which ends when this value is dropped.
#[derive(Debug)]
pub struct Running(pub Child);

impl Running {
    /// The id of the deepest child process, or its own: `script` waits for its child.
    #[must_use]
    pub fn innermost(&self) -> String {
        let pid = self.0.id().to_string();
        let begun = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let first = begun.split_whitespace().next();
        first.map_or(pid, str::to_owned)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The id of a process that has been waited for may already be another's.
        if matches!(self.0.try_wait(), Ok(None)) {
            drop(Command::new("kill").args(["-KILL", &self.innermost()]).status());
            // Both calls fail only when the process has already ended.
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn what_a_failed_test_began_is_ended() {
        let child = Command::new("sh")
            .args(["-c", "sleep 600; true"])
            .stdin(Stdio::null())
            .spawn();
        let running = Running(child.expect("a shell"));
        let own = running.0.id().to_string();
        let inner = crate::eventually("the shell to begin its process", || {
            Some(running.innermost()).filter(|inner| *inner != own)
        });
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _running = running;
            panic!("as a test that fails");
        }));
        assert!(failed.is_err());
        for pid in [own, inner] {
            crate::eventually("the process to be gone", || {
                let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                // The system may still have to wait for a process without a parent.
                let is_gone = state.is_empty() || state.contains(") Z ");
                is_gone.then_some(())
            });
        }
    }
}
