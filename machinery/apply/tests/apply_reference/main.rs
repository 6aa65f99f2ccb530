//! Random kinds and random writes to their objects, in our implementation and in the field manager of
//! k8s.io/apimachinery: after each step both have the same object, the same `managedFields`, and the same
//! conflicts.
//!
//! `rows` plays fixed ones, which say what is to come out, there and here.
//!
//! Needs Go and builds `tests/differential/apply` (`make e2e`). `APPLY_SEED` and `APPLY_SEQUENCES` say which
//! and how many.

mod generate;
mod play;
mod random;
mod rows;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use generate::Sequence;
use random::Random;
use serde_json::Value;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect(name))
}

#[test]
#[ignore = "builds a Go program"]
fn random_writes_end_as_on_the_reference() {
    let (seed, count) = (number("APPLY_SEED", 20_261_122), number("APPLY_SEQUENCES", 400));
    let sequences: Vec<Sequence> = (seed..seed + count)
        .map(|seed| Sequence::random(&mut Random::new(seed)))
        .collect();
    let lines = sequences.iter().map(|sequence| sequence.wire().to_string());
    let outcomes = reference(lines.collect());
    assert_eq!(outcomes.len(), sequences.len());
    let (mut steps, mut conflicts, mut refused) = (0, 0, 0);
    for (index, (sequence, theirs)) in sequences.iter().zip(&outcomes).enumerate() {
        let ours = play::play(sequence);
        for (at, (ours, theirs)) in ours
            .iter()
            .zip(theirs.as_array().expect("outcomes are lists"))
            .enumerate()
        {
            steps += 1;
            let error = theirs["error"].as_str().unwrap_or_default();
            conflicts += usize::from(error.starts_with("Apply failed"));
            refused += usize::from(!error.is_empty());
            assert!(
                ours.agrees(theirs),
                "APPLY_SEED={} APPLY_SEQUENCES=1, step {at}:\n{}\nschema {}\nsteps {}\nours:\n{}\ntheirs:\n{}",
                seed + index as u64,
                ours.difference(theirs),
                sequence.schema,
                sequence.steps[..=at]
                    .iter()
                    .map(|step| format!("\n  {}", step.wire()))
                    .collect::<String>(),
                ours.shown(),
                theirs,
            );
        }
    }
    println!("{steps} steps, {refused} refused, {conflicts} of them with conflicts");
    assert!(
        count < 100 || (conflicts > 20 && refused * 2 < steps),
        "nothing is compared"
    );
}

/// Answers of the reference to the sequences, one per line.
fn reference(lines: Vec<String>) -> Vec<Value> {
    let mut process = Command::new(program())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the reference starts");
    let mut input = process.stdin.take().expect("standard input is piped");
    let writer = std::thread::spawn(move || {
        for line in lines {
            if writeln!(input, "{line}").is_err() {
                return;
            }
        }
    });
    let output = process.wait_with_output().expect("the reference ends");
    writer.join().expect("writing ends");
    assert!(output.status.success(), "the reference failed");
    let text = String::from_utf8(output.stdout).expect("the reference writes text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("the reference writes JSON"))
        .collect()
}

/// The reference, built from its module; later builds use Go's cache.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test
        .ancestors()
        .nth(3)
        .expect("tests live in <target>/<profile>/deps");
    let program = target.join("apply-reference").join("apply-reference");
    let output = berth_house::program("go")
        .current_dir(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/differential/apply"
        ))
        .env("GOFLAGS", "-mod=readonly")
        .args(["build", "-buildvcs=false", "-trimpath", "-o"])
        .arg(&program)
        .arg(".")
        .output()
        .expect("go runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}
