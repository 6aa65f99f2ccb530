//! Names that the server generates (`metadata.generateName`).

use uuid::Uuid;

/// Lower-case letters and digits that spell no words and cannot be confused with each other.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Number of random characters after the prefix.
const SUFFIX: usize = 5;

/// Length of the longest prefix, in bytes: with the suffix, it fits into a DNS label.
const PREFIX_LIMIT: usize = 63 - SUFFIX;

/// Returns `prefix` with five random characters; a prefix that is too long is truncated.
#[must_use]
pub(crate) fn generate(prefix: &str) -> String {
    let mut end = prefix.len().min(PREFIX_LIMIT);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = String::with_capacity(end + SUFFIX);
    name.push_str(&prefix[..end]);
    let mut random = random();
    for _ in 0..SUFFIX {
        let index = (random % ALPHABET.len() as u128) as usize;
        name.push(char::from(ALPHABET[index]));
        random /= ALPHABET.len() as u128;
    }
    name
}

/// Returns 62 random bits: the lowest bits of a UUID, whose fixed bits are all above them.
#[must_use]
pub(crate) fn random() -> u128 {
    u128::from_be_bytes(*Uuid::new_v4().as_bytes()) & ((1 << 62) - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn generated_names_have_five_characters_more_and_differ() {
        let names: BTreeSet<String> = (0..500).map(|_| generate("web-")).collect();
        assert!(
            names
                .iter()
                .all(|name| name.len() == 9 && name.starts_with("web-"))
        );
        assert!(names.len() > 495, "{} of 500 are different", names.len());
    }

    #[test]
    fn a_long_prefix_is_cut_between_characters() {
        assert_eq!(generate(&"a".repeat(100)).len(), 63);
        assert!(generate(&"ä".repeat(40)).len() <= 63);
    }
}
