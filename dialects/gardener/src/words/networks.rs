//! Sentences about the ranges of a shoot, in its spec and its status, and about the ranges of a seed.

use crate::cidr::Range;
use crate::filters::networks::{HELD, HELD_PAIRS};
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;

const RANGES: [&str; 3] = ["nodes", "pods", "services"];

/// The seed's default ranges for shoots as text: nodes (always none), pods, services.
fn default_texts(row: &Row) -> [Option<&str>; 3] {
    let defaults = row.record.seed.spec.networks.shoot_defaults.as_ref();
    [
        None,
        defaults.and_then(|all| all.pods.as_deref()),
        defaults.and_then(|all| all.services.as_deref()),
    ]
}

/// The indices of the ranges in `bits`.
fn indices(bits: u32) -> impl Iterator<Item = usize> {
    (0..3).filter(move |bit| bits >> bit & 1 == 1)
}

/// The ranges of this kind in the status of the shoot, as text and parsed.
fn status_ranges(wants: &Requirements, kind: usize) -> impl Iterator<Item = (&str, Range)> {
    let status_ranges = wants.held.iter();
    status_ranges
        .flat_map(move |status_ranges| {
            status_ranges.texts[kind]
                .iter()
                .zip(&status_ranges.networks[kind])
        })
        .map(|(text, range)| (text.as_str(), *range))
}

pub(super) fn missing(bits: u32, row: &Row, wants: &Requirements) -> String {
    let names = |bits| indices(bits).map(|range| RANGES[range]).collect::<Vec<_>>();
    let status_names = names(bits >> HELD);
    let mut texts = Vec::new();
    let spec_names = names(bits);
    if !spec_names.is_empty() {
        let mut text = format!(
            "neither the shoot nor the seed's shootDefaults give a range for {}",
            spec_names.join(" and ")
        );
        let defaults = default_texts(row);
        let foreign: Vec<&str> = indices(bits).filter_map(|range| defaults[range]).collect();
        if !foreign.is_empty() {
            let families = wants.families.words();
            text.push_str(&format!(
                " of the shoot's ipFamilies, {families}: the seed's is {}",
                foreign.join(" and ")
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

/// Owner and text of a range that the shoot gets: its own range, or the seed's default.
fn of_spec<'a>(kind: usize, row: &'a Row, wants: &'a Requirements) -> (&'static str, &'a str) {
    match wants.ranges[kind].as_deref() {
        Some(text) => ("shoot's", text),
        None => ("default", default_texts(row)[kind].unwrap_or_default()),
    }
}

pub(super) fn reserved(bits: u32, row: &Row, wants: &Requirements) -> String {
    let spec = indices(bits).map(|kind| {
        let (owner, text) = of_spec(kind, row, wants);
        let purpose = Range::of(Some(text)).reserved_for().unwrap_or_default();
        format!("{owner} {} {text} meets {purpose}", RANGES[kind])
    });
    let status = indices(bits >> HELD).filter_map(|kind| {
        let (text, purpose) =
            status_ranges(wants, kind).find_map(|(text, range)| Some((text, range.reserved_for()?)))?;
        let is_repeated = bits >> kind & 1 == 1 && of_spec(kind, row, wants).1 == text;
        (!is_repeated).then(|| format!("{} {text} in the shoot's status meets {purpose}", RANGES[kind]))
    });
    spec.chain(status).collect::<Vec<_>>().join(", ")
}

pub(super) fn overlaps(pairs: u32, row: &Row, wants: &Requirements) -> String {
    let networks = &row.record.seed.spec.networks;
    let seed_ranges = [
        networks.nodes.as_deref().unwrap_or_default(),
        networks.pods.as_str(),
        networks.services.as_str(),
    ];
    let spec = pairs_of(pairs).map(|(shoot, seed)| {
        let (owner, text) = of_spec(shoot, row, wants);
        let of_shoot = format!("{owner} {} {text}", RANGES[shoot]);
        format!("{of_shoot} and seed's {} {}", RANGES[seed], seed_ranges[seed])
    });
    let status = pairs_of(pairs >> HELD_PAIRS).filter_map(|(shoot, seed)| {
        let other = row.facts.networks[seed];
        let (text, _) = status_ranges(wants, shoot).find(|(_, range)| range.overlaps(other))?;
        let is_repeated = pairs >> (shoot * 3 + seed) & 1 == 1 && of_spec(shoot, row, wants).1 == text;
        let of_shoot = format!("{} {text} in the shoot's status", RANGES[shoot]);
        (!is_repeated).then(|| format!("{of_shoot} and seed's {} {}", RANGES[seed], seed_ranges[seed]))
    });
    let texts: Vec<String> = spec.chain(status).collect();
    format!("networks overlap: {}", texts.join(", "))
}

/// The pairs in `bits`: the indices of the shoot's range and of the seed's range.
fn pairs_of(bits: u32) -> impl Iterator<Item = (usize, usize)> {
    (0..9)
        .filter(move |bit| bits >> bit & 1 == 1)
        .map(|bit| (bit / 3, bit % 3))
}
