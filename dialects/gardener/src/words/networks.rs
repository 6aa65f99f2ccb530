//! Sentences for refusals by the filter Networks: about the ranges in the spec and the status of a shoot, and
//! the ranges of a seed.

use crate::cidr::Range;
use crate::filters::networks::{STATUS_PAIR_SHIFT, STATUS_SHIFT};
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;

/// The names of the ranges, by their index.
const RANGES: [&str; 3] = ["nodes", "pods", "services"];

/// The default ranges of the seed for shoots, as text: for nodes (never set), pods and services.
fn default_texts(row: &Row) -> [Option<&str>; 3] {
    let defaults = row.record.seed.spec.networks.shoot_defaults.as_ref();
    [
        None,
        defaults.and_then(|all| all.pods.as_deref()),
        defaults.and_then(|all| all.services.as_deref()),
    ]
}

/// The indices of the ranges whose bits are set in `bits`.
fn indices(bits: u32) -> impl Iterator<Item = usize> {
    (0..3).filter(move |bit| bits >> bit & 1 == 1)
}

/// The ranges in the status of the shoot for nodes, pods or services (the index `kind`), as text and parsed.
fn status_ranges(requirements: &Requirements, kind: usize) -> impl Iterator<Item = (&str, Range)> {
    let status_ranges = requirements.status_networks.iter();
    status_ranges
        .flat_map(move |status_ranges| {
            status_ranges.texts[kind]
                .iter()
                .zip(&status_ranges.networks[kind])
        })
        .map(|(text, range)| (text.as_str(), *range))
}

/// The sentence for ranges that neither the shoot nor the seed has. `bits` are the ranges of the spec and,
/// from the bit [`STATUS_SHIFT`], of the status.
pub(super) fn missing_ranges(bits: u32, row: &Row, requirements: &Requirements) -> String {
    let names = |bits| indices(bits).map(|range| RANGES[range]).collect::<Vec<_>>();
    let status_names = names(bits >> STATUS_SHIFT);
    let mut texts = Vec::new();
    let spec_names = names(bits);
    if !spec_names.is_empty() {
        let mut text = format!(
            "neither the shoot nor the seed's shootDefaults give a range for {}",
            spec_names.join(" and ")
        );
        let defaults = default_texts(row);
        let other_families: Vec<&str> = indices(bits).filter_map(|range| defaults[range]).collect();
        if !other_families.is_empty() {
            let families = requirements.families.words();
            text.push_str(&format!(
                " of the shoot's ipFamilies, {families}: the seed's is {}",
                other_families.join(" and ")
            ));
        }
        texts.push(text);
    }
    if !status_names.is_empty() {
        texts.push(format!(
            "the shoot's status.networking has no range for {}",
            status_names.join(" and ")
        ));
    }
    texts.join(", ")
}

/// The owner and the text of a range that the shoot gets: the range in its spec, or the default of the seed.
fn owner_and_range<'a>(kind: usize, row: &'a Row, requirements: &'a Requirements) -> (&'static str, &'a str) {
    match requirements.ranges[kind].as_deref() {
        Some(text) => ("shoot's", text),
        None => ("default", default_texts(row)[kind].unwrap_or_default()),
    }
}

/// The sentence for ranges that overlap with reserved ranges. `bits` are as in [`missing_ranges`].
pub(super) fn reserved_ranges(bits: u32, row: &Row, requirements: &Requirements) -> String {
    let spec = indices(bits).map(|kind| {
        let (owner, text) = owner_and_range(kind, row, requirements);
        let purpose = Range::of(Some(text)).reserved_for().unwrap_or_default();
        format!("{owner} {} {text} overlaps with {purpose}", RANGES[kind])
    });
    let status = indices(bits >> STATUS_SHIFT).filter_map(|kind| {
        let (text, purpose) = status_ranges(requirements, kind)
            .find_map(|(text, range)| Some((text, range.reserved_for()?)))?;
        let is_repeated = bits >> kind & 1 == 1 && owner_and_range(kind, row, requirements).1 == text;
        (!is_repeated).then(|| {
            format!(
                "{} {text} in the shoot's status overlaps with {purpose}",
                RANGES[kind]
            )
        })
    });
    spec.chain(status).collect::<Vec<_>>().join(", ")
}

/// The sentence for ranges of the shoot that overlap with ranges of the seed. `pairs` has one bit for each
/// pair of ranges: first the pairs with ranges of the spec and, from the bit [`STATUS_PAIR_SHIFT`], with ranges of
/// the status.
pub(super) fn overlapping_ranges(pairs: u32, row: &Row, requirements: &Requirements) -> String {
    let networks = &row.record.seed.spec.networks;
    let seed_ranges = [
        networks.nodes.as_deref().unwrap_or_default(),
        networks.pods.as_str(),
        networks.services.as_str(),
    ];
    let spec = pairs_of(pairs).map(|(shoot, seed)| {
        let (owner, text) = owner_and_range(shoot, row, requirements);
        let of_shoot = format!("{owner} {} {text}", RANGES[shoot]);
        format!("{of_shoot} and seed's {} {}", RANGES[seed], seed_ranges[seed])
    });
    let status = pairs_of(pairs >> STATUS_PAIR_SHIFT).filter_map(|(shoot, seed)| {
        let other = row.facts.networks[seed];
        let (text, _) = status_ranges(requirements, shoot).find(|(_, range)| range.overlaps(other))?;
        let is_repeated =
            pairs >> (shoot * 3 + seed) & 1 == 1 && owner_and_range(shoot, row, requirements).1 == text;
        let of_shoot = format!("{} {text} in the shoot's status", RANGES[shoot]);
        (!is_repeated).then(|| format!("{of_shoot} and seed's {} {}", RANGES[seed], seed_ranges[seed]))
    });
    let texts: Vec<String> = spec.chain(status).collect();
    format!("networks overlap: {}", texts.join(", "))
}

/// The pairs whose bits are set in `bits`: the index of the shoot's range, and the index of the seed's range.
fn pairs_of(bits: u32) -> impl Iterator<Item = (usize, usize)> {
    (0..9)
        .filter(move |bit| bits >> bit & 1 == 1)
        .map(|bit| (bit / 3, bit % 3))
}
