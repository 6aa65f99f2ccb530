//! The sentence about a comparison, for conditions, records and tables.

use berth_scheduling_api::decision::ContestedCluster;

use super::{Agreement, Comparison, UnknownReason};

/// Highest number of losses, gains and resizes each that the sentence names.
const MAX_NAMED: usize = 3;
/// Highest number of bytes of the sentence.
const MAX_BYTES: usize = 1_000;

impl Comparison {
    /// Returns a sentence such as `Berth would leave cluster17 (TaintToleration/Untolerated: …) and take
    /// cluster4 (rank 1, score 200)`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut text = match self.agreement {
            Agreement::Same => match self.placed {
                0 => "Berth finds no place either".to_owned(),
                _ => "Berth would leave it where it is".to_owned(),
            },
            Agreement::Different(_) => self.difference(),
            Agreement::Unknown(why) => {
                let reason = match why {
                    UnknownReason::GracePeriod => self.difference(),
                    UnknownReason::Invalid | UnknownReason::Ignored | UnknownReason::Deleting => {
                        self.message.clone()
                    }
                };
                format!("{}: {reason}", why.cause())
            }
        };
        if let Some(known) = self.known_difference {
            text.push_str(&format!("; a known difference: {known}"));
        }
        truncated(text)
    }

    /// Returns the changes that Berth would make, as a clause.
    fn difference(&self) -> String {
        let part = |verb: &str, sides: &[ContestedCluster], count: usize| {
            (count > 0).then(|| format!("{verb} {}", first_names(sides, count)))
        };
        let parts = [
            part("leave", &self.losses, self.loss_count),
            part("take", &self.gains, self.gain_count),
            (self.resize_count > 0).then(|| self.resized()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("Berth would {}", parts.join(" and "))
    }

    /// Returns the resizes, such as `resize eu-1 (6 to 4), eu-2 (2 to 4)`.
    fn resized(&self) -> String {
        let names: Vec<String> = self
            .resizes
            .iter()
            .take(MAX_NAMED)
            .map(ToString::to_string)
            .collect();
        let more = match self.resize_count.saturating_sub(names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("resize {}{more}", names.join(", "))
    }
}

/// Returns the first names, and the number of the others. The first name is followed by the reasons in
/// brackets.
fn first_names(sides: &[ContestedCluster], count: usize) -> String {
    let mut shown = sides.iter().take(MAX_NAMED);
    let first = shown.next().map(|side| {
        let score = side.score.map(|score| format!("score {score}"));
        let words: Vec<String> = side.reasons.iter().cloned().chain(score).collect();
        format!("{} ({})", side.cluster_name, words.join(", "))
    });
    let others = shown.map(|side| side.cluster_name.clone());
    let names: Vec<String> = first.into_iter().chain(others).collect();
    match count.saturating_sub(names.len()) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Returns `text`, shortened to at most [`MAX_BYTES`] bytes.
fn truncated(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        text.truncate(text.floor_char_boundary(MAX_BYTES - '…'.len_utf8()));
        text.push('…');
    }
    text
}
