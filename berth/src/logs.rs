//! Log lines on standard error. A line that cannot be written is lost, since no task may end because of a log
//! line.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::Result;

use crate::cli::LogFormat;

/// Starts to write log lines that `filter` selects, in `format`.
///
/// # Errors
/// When `filter` is invalid.
pub fn begin(filter: &str, format: LogFormat) -> Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Internal errors are printed by a macro that panics when it cannot print.
        .log_internal_errors(false)
        .with_ansi(has_colours(
            io::stderr().is_terminal(),
            std::env::var_os("NO_COLOR").as_deref(),
        ))
        .with_writer(|| LossyWriter(io::stderr()));
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
    Ok(())
}

/// Whether lines have colours: only on a terminal, and only if `NO_COLOR` is not set
/// (<https://no-color.org>).
fn has_colours(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

/// A writer without errors: bytes that cannot be written are lost.
struct LossyWriter<W>(W);

impl<W: Write> Write for LossyWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(buffer) {
                Ok(0) => return Ok(buffer.len()),
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_lost) => return Ok(buffer.len()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().or(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `room` bytes and then refuses.
    struct Full {
        room: usize,
    }

    impl Write for Full {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            let taken = buffer.len().min(self.room);
            self.room -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn only_a_terminal_is_sent_colours_and_not_where_none_are_wanted() {
        assert!(has_colours(true, None) && has_colours(true, Some(OsStr::new(""))));
        assert!(!has_colours(true, Some(OsStr::new("1"))));
        assert!(!has_colours(false, None));
    }

    #[test]
    fn a_line_that_cannot_be_written_is_no_error() {
        for room in [0, 3, 100] {
            let mut lines = LossyWriter(Full { room });
            lines.write_all(b"a line\n").unwrap();
            lines.flush().unwrap();
        }
    }
}
