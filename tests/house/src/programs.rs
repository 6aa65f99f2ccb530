//! External programs that tests start.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::root;

/// A call of `program`. Where the program is not installed, the whole run ends, with the sentence of
/// `tests/needs` about its installation: panics in a hundred tests would bury that sentence.
///
/// # Panics
/// Without a shell.
#[must_use]
pub fn program(program: &str) -> Command {
    static THERE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut there = THERE.lock().unwrap_or_else(PoisonError::into_inner);
    if !there.contains(program) {
        let needs = Command::new(root().join("tests/needs")).arg(program).output();
        let needs = needs.expect("a shell can be run");
        if !needs.status.success() {
            end(&needs.stderr);
        }
        there.insert(program.to_owned());
    }
    Command::new(program)
}

#[expect(clippy::exit, reason = "a test that panics would not end the others")]
fn end(sentence: &[u8]) -> ! {
    end_children();
    // This does not use `eprintln`, whose output the test harness captures.
    let written = std::io::stderr().write_all(sentence);
    std::process::exit(if written.is_ok() { 1 } else { 2 })
}

/// Ends the programs that other tests of this process started, since nothing else would end them.
fn end_children() {
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<String> = lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    if !children.is_empty() {
        // This fails for a child that has already ended, which is no problem.
        drop(Command::new("kill").arg("-9").args(children).output());
    }
}
