//! Fuzzes every target in turn, for `FUZZ_SECONDS` seconds in all (60), from `FUZZ_SEED` (a random one).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::ExitCode;
use std::time::Duration;

use berth_fuzz::{TARGETS, fuzz};

fn main() -> ExitCode {
    let (seconds, seed) = match (number("FUZZ_SECONDS"), number("FUZZ_SEED")) {
        (Ok(seconds), Ok(seed)) => (
            seconds.unwrap_or(60),
            seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()),
        ),
        (Err(problem), _) | (_, Err(problem)) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    println!("FUZZ_SEED={seed}");
    let each = Duration::from_secs(seconds) / u32::try_from(TARGETS.len()).unwrap_or(1);
    for target in &TARGETS {
        match fuzz(target, each, seed) {
            Ok(cases) => println!("{}: {cases} cases", target.name),
            Err(failure) => {
                let text = String::from_utf8_lossy(&failure.input);
                eprintln!(
                    "{}: case {} of FUZZ_SEED={seed} failed:\n{text}",
                    target.name, failure.case
                );
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn number(name: &str) -> Result<Option<u64>, String> {
    let Some(text) = std::env::var_os(name) else {
        return Ok(None);
    };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number
        .map(Some)
        .ok_or_else(|| format!("{name} must be a whole number"))
}
