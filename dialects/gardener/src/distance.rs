//! The distance between the regions of a seed and a shoot, computed from the names of the regions
//! (docs/systems/gardener.md, "Distance").
//!
//! The name of a region is split into a base and an orientation. The distance is twice the Levenshtein
//! distance of the bases, plus 1 if only one region has an orientation, or 2 if the regions have different
//! orientations, plus 2 if the provider types differ.

/// The orientations, in the order of precedence: if a name contains several of them, the first in this list
/// counts.
const ORIENTATIONS: [&str; 5] = ["north", "south", "east", "west", "central"];

/// The name of a region, split into base and orientation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The name with the orientation replaced by `:`, as Unicode scalars.
    base: Vec<char>,
    /// The index of the orientation in [`ORIENTATIONS`], if the name contains one.
    orientation: Option<usize>,
}

impl Region {
    /// Splits `name` into base and orientation. The orientation may be anywhere in the name, in lower case.
    #[must_use]
    pub(crate) fn of(name: &str) -> Self {
        match ORIENTATIONS.iter().position(|word| name.contains(word)) {
            Some(index) => {
                let base = name.replacen(ORIENTATIONS[index], ":", 1).chars().collect();
                Self {
                    base,
                    orientation: Some(index),
                }
            }
            None => Self {
                base: name.chars().collect(),
                orientation: None,
            },
        }
    }

    /// The distance to `other`. It is equal in both directions. `row` is a buffer that calls reuse.
    #[must_use]
    pub(crate) fn distance(&self, other: &Self, same_provider: bool, row: &mut Vec<u32>) -> u32 {
        let orientation_part = match (self.orientation, other.orientation) {
            (None, None) => 0,
            (Some(one), Some(two)) if one == two => 0,
            (Some(_), Some(_)) => 2,
            _ => 1,
        };
        2 * levenshtein(&self.base, &other.base, row)
            + orientation_part
            + if same_provider { 0 } else { PROVIDER_PENALTY }
    }
}

/// The distance that a different provider type adds.
pub(crate) const PROVIDER_PENALTY: u32 = 2;

/// The Levenshtein distance: the smallest number of insertions, deletions and substitutions that turn `one`
/// into `two`.
fn levenshtein(one: &[char], two: &[char], row: &mut Vec<u32>) -> u32 {
    let start = one.iter().zip(two).take_while(|(a, b)| a == b).count();
    let (one, two) = (&one[start..], &two[start..]);
    let end = one
        .iter()
        .rev()
        .zip(two.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (one, two) = (&one[..one.len() - end], &two[..two.len() - end]);
    row.clear();
    row.extend((0u32..).take(two.len() + 1));
    for (line, letter) in (1u32..).zip(one) {
        let mut diagonal = std::mem::replace(&mut row[0], line);
        for (column, other) in two.iter().enumerate() {
            let substituted = diagonal + u32::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = substituted.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(seed: &str, shoot: &str, same_provider: bool) -> u32 {
        Region::of(seed).distance(&Region::of(shoot), same_provider, &mut Vec::new())
    }

    /// The table of docs/systems/gardener.md, "Distance", and more: seed region, shoot region, Levenshtein,
    /// orientation, provider, distance.
    const TABLE: &[(&str, &str, u32, u32, u32, u32)] = &[
        ("eu-west-1", "eu-west-1", 0, 0, 0, 0),
        ("eu-west-1", "eu-west-1", 0, 0, 2, 2),
        ("eu-central-1", "eu-west-1", 0, 2, 0, 2),
        ("eu-west-3", "eu-west-1", 1, 0, 0, 2),
        ("us-west-1", "eu-west-1", 2, 0, 0, 4),
        ("us-east-1", "eu-west-1", 2, 2, 0, 6),
        ("eu-de-1", "eu-west-1", 2, 1, 0, 5),
        ("eu-de-1", "eu-west-1", 2, 1, 2, 7),
        ("us-east-1", "us-west-2", 1, 2, 0, 4),
        ("us-central-2", "eu-central-1", 3, 0, 0, 6),
        ("ap-northeast-1", "ap-southeast-1", 0, 2, 0, 2),
        ("ap-southeast-1", "ap-southeast-2", 1, 0, 0, 2),
        ("ap-south-1", "ap-southeast-1", 4, 0, 0, 8),
        ("ap-east-1", "ap-southeast-1", 4, 2, 0, 10),
        ("europe-west1", "europe-west3", 1, 0, 0, 2),
        ("europe-north1", "europe-west3", 1, 2, 0, 4),
        ("asia-south1", "europe-west3", 7, 2, 0, 16),
        ("northeurope", "westeurope", 0, 2, 0, 2),
        ("germanywestcentral", "westeurope", 13, 0, 0, 26),
        ("uksouth", "westeurope", 6, 2, 0, 14),
        ("westus", "westeurope", 5, 0, 0, 10),
        ("southcentralus", "centralus", 7, 2, 0, 16),
        ("europe", "asia", 6, 0, 0, 12),
        ("europe", "europe-west", 2, 1, 0, 5),
        ("europe-:", "europe-west", 0, 1, 0, 1),
        ("eu-de-200", "eu-de-20", 1, 0, 0, 2),
        ("eu-de-200", "eu-de-2xzxzzx", 6, 0, 0, 12),
        ("eu-de-2111", "eu-de-2xzxzzx", 6, 0, 0, 12),
        ("eu-nl-1", "eu-de-2xzxzzx", 9, 0, 0, 18),
        ("ap-west-1", "jp-west-1", 1, 0, 0, 2),
        ("eu-west-1", "jp-west-1", 2, 0, 0, 4),
    ];

    #[test]
    fn distances_are_those_of_the_documentation() {
        for &(seed, shoot, letters, turn, provider, total) in TABLE {
            assert_eq!(
                2 * letters + turn + provider,
                total,
                "the table itself: {seed} {shoot}"
            );
            assert_eq!(distance(seed, shoot, provider == 0), total, "{seed} to {shoot}");
            assert_eq!(distance(shoot, seed, provider == 0), total, "{shoot} to {seed}");
        }
    }

    #[test]
    fn the_first_word_of_the_list_is_the_orientation() {
        let cases = [
            ("west_europe", ":_europe", Some(3)),
            ("middle-west-europe", "middle-:-europe", Some(3)),
            ("southeast", ":east", Some(1)),
            ("northcentralus", ":centralus", Some(0)),
            ("germanywestcentral", "germany:central", Some(3)),
            ("WEST", "WEST", None),
        ];
        for (name, base, orientation) in cases {
            assert_eq!(
                Region::of(name),
                Region {
                    base: base.chars().collect(),
                    orientation
                },
                "{name}"
            );
        }
    }

    #[test]
    fn letters_are_unicode_scalars() {
        assert_eq!(distance("zürich", "zurich", true), 2);
    }
}
