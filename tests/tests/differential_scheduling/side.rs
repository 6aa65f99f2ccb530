//! A side of the comparison: an original, or Berth.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::system::System;
use crate::world::World;

/// A decider of every demand of a world.
pub(crate) trait Side {
    /// Decisions with their reasons by the demand's namespace and name, or the reason why `world` is
    /// invalid.
    fn decide(&mut self, world: &World) -> Result<Value, String>;
}

/// An original, in a process that answers each line with a line.
pub(crate) struct Original {
    system: &'static System,
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Original {
    /// Starts `program`.
    pub(crate) fn start(system: &'static System, program: &Path) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|problem| panic!("{} does not start: {problem}", program.display()));
        let input = child.stdin.take().expect("the input is piped");
        let output = child.stdout.take().expect("the output is piped");
        Self {
            system,
            child,
            input,
            output: BufReader::new(output).lines(),
        }
    }
}

impl Side for Original {
    fn decide(&mut self, world: &World) -> Result<Value, String> {
        let line = world.stored(&*self.system.dialect())?.line();
        writeln!(self.input, "{line}").expect("the original reads on");
        let answer = self.output.next();
        let answer = answer.unwrap_or_else(|| panic!("the original ended on {line}"));
        let answer = answer.expect("the original writes text");
        let mut answer: Value = serde_json::from_str(&answer).expect("the original writes JSON");
        match answer["error"].as_str() {
            Some(problem) => Err(problem.to_owned()),
            None => Ok(answer["verdicts"].take()),
        }
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // Both fail only when it has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Berth, with the dialect's inventory.
pub(crate) struct Ours(pub(crate) &'static System);

impl Side for Ours {
    fn decide(&mut self, world: &World) -> Result<Value, String> {
        let stored = world.stored(&*self.0.dialect())?;
        crate::ours::decide(self.0, &stored)
    }
}
