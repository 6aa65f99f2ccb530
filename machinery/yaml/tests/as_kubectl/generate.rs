//! Generated texts. The seed is fixed, so differences are reproducible.

use std::fmt::Write;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).expect("31 bits fit") % sides
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }

    fn text(&mut self, letters: &[char], most: usize) -> String {
        let length = 1 + self.roll(most);
        (0..length).map(|_| self.one(letters)).collect()
    }
}

fn letters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// Scalars of the letters of numbers, words and dates, as values and as keys.
pub(crate) fn scalars(count: usize) -> Vec<String> {
    let mut dice = Dice(1);
    let sets = [
        letters("0123456789"),
        letters("01._-+eExXoObB"),
        letters("0127_.eE-+:"),
        letters("yesnotrufalYESNOTRUFAL~."),
        letters("0123456789abcdefx_"),
        letters("ab:#-?,[]{}!&*|>'\"%@` \\<"),
    ];
    (0..count)
        .map(|_| {
            let set = dice.roll(sets.len());
            let scalar = dice.text(&sets[set], 8);
            match dice.roll(4) {
                0 => format!("spec: {{{scalar}: 1}}\n"),
                1 => format!("spec:\n  - {scalar}\n"),
                2 => format!("spec:\n  {scalar}: 1\n"),
                _ => format!("spec: {scalar}\n"),
            }
        })
        .collect()
}

/// Maps and lists of scalars, in all styles.
pub(crate) fn values(count: usize) -> Vec<String> {
    let mut dice = Dice(2);
    (0..count)
        .map(|_| {
            let mut text = "spec:".to_owned();
            block(&mut dice, &mut text, 2, 3);
            text
        })
        .collect()
}

const WORDS: [&str; 24] = [
    "a",
    "b c",
    "'it''s'",
    "\"q\\n\"",
    "1",
    "1.5",
    "true",
    "~",
    "x-y",
    "10Gi",
    "a/b:c",
    "\"\"",
    "yes",
    "0755",
    "é",
    "2021-10-28",
    "<<",
    "=",
    "- x",
    "a: b",
    "# c",
    "http://x",
    "|",
    "'a: b'",
];

fn gap(dice: &mut Dice, text: &mut String) {
    match dice.roll(12) {
        0 => text.push_str("# a comment\n"),
        1 => text.push('\n'),
        2 => text.push_str("      # another\n"),
        3 => text.push_str("  \n"),
        _ => {}
    }
}

/// Writes a value after a key or a dash.
fn block(dice: &mut Dice, text: &mut String, indent: usize, depth: usize) {
    let pad = " ".repeat(indent + dice.roll(2) * 2);
    match dice.roll(if depth == 0 { 4 } else { 9 }) {
        0 | 1 => writeln!(text, " {}", dice.one(&WORDS)).expect("a text takes all"),
        2 => {
            let head = dice.one(&["|", ">", "|-", ">-", "|+", ">+"]);
            writeln!(text, " {head}").expect("a text takes all");
            for _ in 0..1 + dice.roll(4) {
                match dice.roll(4) {
                    0 => text.push('\n'),
                    1 => writeln!(text, "{pad}  more {}", dice.one(&WORDS)).expect("a text takes all"),
                    _ => writeln!(text, "{pad}{}", dice.one(&WORDS)).expect("a text takes all"),
                }
            }
        }
        3 => {
            text.push(' ');
            flow(dice, text, 2);
            text.push('\n');
        }
        4..=6 => {
            text.push('\n');
            for index in 0..1 + dice.roll(3) {
                gap(dice, text);
                match dice.roll(6) {
                    0 => write!(text, "{pad}? k{index}\n{pad}:").expect("a text takes all"),
                    1 => write!(text, "{pad}\"k {index}\" :").expect("a text takes all"),
                    _ => write!(text, "{pad}k{index}:").expect("a text takes all"),
                }
                block(dice, text, pad.len() + 2, depth - 1);
            }
        }
        _ => {
            text.push('\n');
            for _ in 0..1 + dice.roll(3) {
                gap(dice, text);
                write!(text, "{pad}-").expect("a text takes all");
                match dice.roll(4) {
                    0 => {
                        write!(text, " k:").expect("a text takes all");
                        block(dice, text, pad.len() + 4, depth - 1);
                        writeln!(text, "{pad}  l: {}", dice.one(&WORDS)).expect("a text takes all");
                    }
                    _ => block(dice, text, pad.len() + 2, depth - 1),
                }
            }
        }
    }
}

fn flow(dice: &mut Dice, text: &mut String, depth: usize) {
    let comma = dice.one(&[",", ", ", " , ", ",\n      "]);
    match dice.roll(if depth == 0 { 2 } else { 4 }) {
        0 | 1 => text.push_str(dice.one(&WORDS[..17])),
        2 => {
            text.push('[');
            for _ in 0..dice.roll(4) {
                flow(dice, text, depth - 1);
                text.push_str(comma);
            }
            text.push(']');
        }
        _ => {
            text.push('{');
            for index in 0..dice.roll(4) {
                let colon = dice.one(&[": ", " : ", ":"]);
                write!(text, "f{index}{colon}").expect("a text takes all");
                flow(dice, text, depth - 1);
                text.push_str(comma);
            }
            text.push('}');
        }
    }
}

/// The texts of `corpus` with one or two letters inserted, removed or doubled.
pub(crate) fn changed(corpus: &[&str], count: usize) -> Vec<String> {
    let mut dice = Dice(3);
    let marks = letters(" \t\n-:#'\"[]{}&*!|>%@`,?a1~.\\<=");
    (0..count)
        .map(|_| {
            let mut text: Vec<char> = dice.one(corpus).chars().collect();
            for _ in 0..1 + dice.roll(2) {
                let place = dice.roll(text.len() + 1);
                match dice.roll(3) {
                    0 if place < text.len() => drop(text.remove(place)),
                    1 if place < text.len() => text.insert(place, text[place]),
                    _ => text.insert(place, dice.one(&marks)),
                }
            }
            text.into_iter().collect()
        })
        .collect()
}
