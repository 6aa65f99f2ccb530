//! Fuzzing without extra tools: what strangers send (AdmissionReviews, placement annotations, selectors,
//! configuration files, patches, managed fields) is made of seeds by mutation and fed to its readers, which
//! must not panic and must keep what they promise.
//!
//! A crate of its own on stable Rust, not targets of a coverage-guided fuzzer: those need a nightly compiler
//! and a tool beside it, which neither the build nor CI has, and `forbid(unsafe_code)` leaves them mostly
//! panics to find. What coverage would guide to is put into the seeds and words of each target.
//!
//! `make fuzz` runs a minute; `FUZZ_SECONDS` and `FUZZ_SEED` say otherwise. A failure prints the input, the
//! case's number and the seed: the same seed gives the same cases in the same order. An input that once
//! failed belongs into the seeds.

mod mutate;
mod target;

use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use berth_scheduling::Random;

pub use mutate::Mutator;
pub use target::{TARGETS, Target};

/// An input on which a target failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The input.
    pub input: Vec<u8>,
    /// Number of the case, from 0.
    pub case: u64,
}

/// Feeds `target` its seeds as they are, then mutations of them, until `time` is over. Gives the number of
/// cases.
///
/// # Errors
/// The first input on which the target panicked; the panic's message is on standard error.
pub fn fuzz(target: &Target, time: Duration, seed: u64) -> Result<u64, Failure> {
    let start = Instant::now();
    let mut mutator = Mutator::new(Random::new(seed), target.seeds, target.words);
    let mut case = 0;
    for input in target.seeds.iter().map(|seed| seed.as_bytes().to_vec()) {
        feed(target, input, case)?;
        case += 1;
    }
    while start.elapsed() < time {
        feed(target, mutator.input(), case)?;
        case += 1;
    }
    Ok(case)
}

fn feed(target: &Target, input: Vec<u8>, case: u64) -> Result<(), Failure> {
    panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).map_err(|_| Failure { input, case })
}
