//! Fuzzing without extra tools: untrusted input (AdmissionReviews, placement annotations, selectors,
//! configuration files, patches, managed fields) is generated from seeds by mutation and fed to its readers,
//! which must not panic and must keep their contracts.
//!
//! This is a crate on stable Rust, without a coverage-guided fuzzer: that would need a nightly compiler and a
//! further tool, which neither the build nor CI has, and with `forbid(unsafe_code)` it would mostly find
//! panics. The seeds and words of each target lead to the code that coverage would find.
//!
//! `make fuzz` runs for a minute; `FUZZ_SECONDS` and `FUZZ_SEED` override time and seed. A failure prints the
//! input, the case's number and the seed: equal seeds give equal cases in the same order. An input that once
//! failed belongs in the seeds.

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

/// Feeds `target` its unmodified seeds, then mutations of them, until `time` is over. Returns the number of
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
