//! Opens a browser without showing the token to other users of the machine, who may read the command line of
//! every process. The browser opens a file that only the user may read, and that redirects to the address
//! with the token.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ring::rand::{SecureRandom as _, SystemRandom};

/// A file that redirects a browser to the console. Dropping the value removes the file.
#[derive(Debug)]
pub(crate) struct Opener(PathBuf);

impl Opener {
    /// Creates a file that redirects to `url`, in the user's runtime folder (`XDG_RUNTIME_DIR`), or in the
    /// temporary folder if there is no runtime folder.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn create(url: &str) -> std::io::Result<Self> {
        let mut bytes = [0_u8; 16];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            std::io::Error::other("the operating system returned no random bytes for a file name")
        })?;
        let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let path = folder.join(format!("berth-console-{name}.html"));
        let mut options = OpenOptions::new();
        // `create_new` refuses an existing link or file, which may belong to another user.
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
        let opener = Self(path);
        writeln!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><title>Berth</title><meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">Berth's console</a>"
        )?;
        Ok(opener)
    }

    /// Opens the file in a browser. A failure is only logged, since the address is printed, too.
    pub(crate) fn open(&self) {
        let program = if cfg!(target_os = "macos") {
            "open"
        } else {
            "xdg-open"
        };
        let opened = Command::new(program)
            .arg(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Err(problem) = opened {
            tracing::debug!(%problem, program, "no browser was opened");
        }
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        if let Err(problem) = std::fs::remove_file(&self.0) {
            tracing::warn!(file = %self.0.display(), %problem, "cannot remove the file that redirects to the console; delete it");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_token_is_in_a_file_of_its_owner_and_not_in_the_browsers_command_line() {
        let opener = Opener::create("http://127.0.0.1:1/#token=abc").unwrap();
        let path = opener.0.clone();
        assert!(!path.to_string_lossy().contains("abc"));
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("url=http://127.0.0.1:1/#token=abc")
        );
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(opener);
        assert!(!path.exists());
    }
}
