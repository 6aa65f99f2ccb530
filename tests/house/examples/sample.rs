//! Forty files of the product at random, to be read and judged by a person: `cargo run -p berth-house
//! --example sample SEED`. Purpose clear in ten seconds, names of the field, comments read once, functions
//! that fit a screen, errors that say how to mend them: at most two of forty may fail.

use std::path::Path;
use std::process::ExitCode;

use berth_house::{shown, sources};

/// Number of files that are drawn.
const FILES: usize = 40;

/// Parts of paths by which tests are told from the product.
const TESTS: [&str; 6] = ["tests", "testing", "toys", "examples", "fuzz", "build.rs"];

fn is_product(path: &str) -> bool {
    Path::new(path).iter().all(|part| {
        let part = part.to_string_lossy();
        !TESTS
            .iter()
            .any(|test| part == *test || part.trim_end_matches(".rs") == *test)
    })
}

/// The next number of a sequence that `state` stands in (SplitMix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn main() -> ExitCode {
    let Some(mut state) = std::env::args().nth(1).and_then(|seed| seed.parse().ok()) else {
        eprintln!("usage: sample SEED, a number");
        return ExitCode::from(2);
    };
    let mut files: Vec<String> = sources()
        .iter()
        .map(|path| shown(path))
        .filter(|path| is_product(path))
        .collect();
    let mut drawn = Vec::new();
    while drawn.len() < FILES && !files.is_empty() {
        let at = usize::try_from(next(&mut state) % files.len() as u64).unwrap_or_default();
        drawn.push(files.swap_remove(at));
    }
    drawn.sort();
    drawn.iter().for_each(|file| println!("{file}"));
    ExitCode::SUCCESS
}
