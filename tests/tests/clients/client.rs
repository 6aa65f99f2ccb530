//! A client program, and its output.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use berth_tests::running::Running;
use berth_tests::{Server, eventually};

/// Time limit of a program's next line: longer than the programs' own limits, so that they can report their
/// failure.
const LIMIT: Duration = Duration::from_secs(150);

/// A program of `tests/clients`. It prints a line for each successful step.
pub(crate) struct Client {
    running: Running,
    input: ChildStdin,
    lines: Receiver<String>,
    errors: JoinHandle<String>,
}

impl Client {
    /// Starts a program with the admin's kubeconfig of `server`.
    pub(crate) fn start(server: &Server, mut command: Command) -> Self {
        let mut child = command
            .env("KUBECONFIG", server.kubeconfig())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the client starts");
        let input = child.stdin.take().expect("its input is piped");
        let output = child.stdout.take().expect("its output is piped");
        let mut problems = child.stderr.take().expect("its errors are piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // The receiver is dropped when the test fails.
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            problems.read_to_end(&mut text).expect("errors can be read");
            String::from_utf8_lossy(&text).into_owned()
        });
        Self {
            running: Running(child),
            input,
            lines,
            errors,
        }
    }

    /// Requires these lines as the next output, in this order.
    pub(crate) fn says(mut self, sentences: &[&str]) -> Self {
        for sentence in sentences {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) if line == *sentence => println!("{line}"),
                Ok(line) => panic!("it says {line:?}, not {sentence:?}"),
                Err(_) => {
                    drop(self.running.0.kill());
                    let problem = self.errors.join().expect("errors can be read");
                    panic!("it does not say {sentence:?}:\n{problem}");
                }
            }
        }
        self
    }

    /// Starts the next step of the program.
    pub(crate) fn go_on(mut self) -> Self {
        writeln!(self.input).expect("it reads its input");
        self
    }

    /// Requires that the program ends without further output and without an error.
    pub(crate) fn ends(mut self) {
        drop(self.input);
        let status: ExitStatus = eventually("the client to end", || {
            self.running.0.try_wait().expect("the client is ours")
        });
        let more: Vec<String> = self.lines.iter().collect();
        let problem = self.errors.join().expect("errors can be read");
        assert!(
            status.success() && more.is_empty(),
            "{status}: {more:?}\n{problem}"
        );
    }
}
