//! What a user of the chart chooses that changes more than a word: where each system's objects are, who issues the
//! certificate, where Berth stores objects.
//!
//! What depends on a choice is found out by rendering the installation for every [`Point`]: at most one system not off,
//! with each of the other choices. Several systems together come to what each of them adds (`tests/chart.rs` holds that
//! against the real thing for every combination).

use std::collections::BTreeSet;
use std::sync::OnceLock;

use anyhow::{Result, ensure};
use berth::cli::Storage;
use berth::hub::args::Place;
use berth::manifests::{Certificates, Installation};

use crate::all_on_etcd;

/// The places of a system that is not off.
const PLACES: [Place; 2] = [Place::Hub, Place::Owned];
const CERTIFICATES: [Certificates; 2] = [Certificates::Berth, Certificates::CertManager];
const STORAGES: [Storage; 3] = [Storage::Memory, Storage::Embedded, Storage::Etcd];

/// What was chosen.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Where the objects of each system are; one that is not named is off.
    pub sources: Vec<(&'static str, Place)>,
    /// Who issues the certificate.
    pub certificates: Certificates,
    /// Where Berth stores objects.
    pub storage: Storage,
}

impl Chosen {
    /// The place of `system`.
    fn place(&self, system: &str) -> Place {
        let found = self.sources.iter().find(|(name, _)| *name == system);
        found.map_or(Place::Off, |(_, place)| *place)
    }

    /// The installation this is.
    #[must_use]
    pub fn installation(&self) -> Installation {
        let mut installation = match self.storage {
            Storage::Etcd => all_on_etcd(),
            Storage::Memory | Storage::Embedded => Installation::default(),
        };
        let of = |wanted: Place| {
            let names = systems().into_iter();
            names
                .filter(|name| self.place(name) == wanted)
                .collect::<BTreeSet<_>>()
        };
        installation.on_hub = of(Place::Hub);
        installation.off = of(Place::Off);
        let off = &installation.off;
        installation
            .dialects
            .retain(|dialect| !off.contains(dialect.name()));
        installation.certificates = self.certificates;
        installation.storage = self.storage;
        installation
    }
}

/// Every system.
#[must_use]
pub fn systems() -> Vec<&'static str> {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    let names = || Installation::default().dialects.into_iter();
    NAMES
        .get_or_init(|| names().map(|dialect| dialect.name()).collect())
        .clone()
}

/// Indices of choices: of the one system that is not off with its place (0: all are), of [`CERTIFICATES`] and of
/// [`STORAGES`].
pub(super) type Point = (usize, usize, usize);

/// The points where something is there.
pub(super) type When = BTreeSet<Point>;

/// The systems with their places, as a point counts them from 1.
fn ones() -> Vec<(&'static str, Place)> {
    let each = systems().into_iter();
    each.flat_map(|name| PLACES.map(|place| (name, place))).collect()
}

/// Every point, with what is chosen there.
pub(super) fn points() -> Vec<(Point, Chosen)> {
    let mut all = Vec::new();
    let sources = std::iter::once(Vec::new()).chain(ones().into_iter().map(|one| vec![one]));
    for (system, sources) in sources.enumerate() {
        for (issuer, certificates) in CERTIFICATES.into_iter().enumerate() {
            for (store, storage) in STORAGES.into_iter().enumerate() {
                let chosen = Chosen {
                    sources: sources.clone(),
                    certificates,
                    storage,
                };
                all.push(((system, issuer, store), chosen));
            }
        }
    }
    all
}

/// One thing that may have been chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Source(&'static str, Place),
    CertManager,
    Storage(Storage),
}

impl Choice {
    fn text(self) -> String {
        match self {
            Self::Source(system, place) => format!("eq .Values.sources.{system} \"{}\"", word(place)),
            Self::CertManager => ".Values.certManager.enabled".to_owned(),
            Self::Storage(storage) => {
                let name = match storage {
                    Storage::Memory => "memory",
                    Storage::Embedded => "embedded",
                    Storage::Etcd => "etcd",
                };
                format!("eq (include \"berth.storage\" .) \"{name}\"")
            }
        }
    }

    fn is_in(self, chosen: &Chosen) -> bool {
        match self {
            Self::Source(system, place) => chosen.place(system) == place,
            Self::CertManager => chosen.certificates == Certificates::CertManager,
            Self::Storage(storage) => chosen.storage == storage,
        }
    }
}

/// A place, as it is written.
pub(super) fn word(place: Place) -> &'static str {
    match place {
        Place::Owned => "owned",
        Place::Hub => "hub",
        Place::Off => "off",
    }
}

/// At least one of some choices, or none of them.
#[derive(Clone, Debug, PartialEq)]
struct Clause {
    any: bool,
    of: Vec<Choice>,
}

impl Clause {
    fn text(&self) -> String {
        let all: Vec<String> = joined(&self.of);
        match (self.any, &all[..]) {
            (true, [one]) => one.clone(),
            (true, all) => format!("or {}", parenthesized(all)),
            (false, [one]) if one.starts_with("eq .") => one.replacen("eq", "ne", 1),
            (false, [one]) if one.starts_with('.') => format!("not {one}"),
            (false, [one]) => format!("not ({one})"),
            (false, all) => format!("not (or {})", parenthesized(all)),
        }
    }
}

/// The choices as texts; two places of one system are all but the third.
fn joined(choices: &[Choice]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = choices;
    while let [first, others @ ..] = rest {
        rest = others;
        if let (Choice::Source(system, Place::Hub), [Choice::Source(next, Place::Owned), further @ ..]) =
            (*first, others)
            && *next == system
        {
            texts.push(format!("ne .Values.sources.{system} \"off\""));
            rest = further;
        } else {
            texts.push(first.text());
        }
    }
    texts
}

fn parenthesized(texts: &[String]) -> String {
    let all: Vec<String> = texts.iter().map(|text| format!("({text})")).collect();
    all.join(" ")
}

/// On what something depends, beside what it is part of: all of the clauses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Condition(Vec<Clause>);

impl Condition {
    /// How the points of something follow from those of what it is part of.
    ///
    /// # Errors
    /// When they depend on two choices together in another way than "and".
    pub(super) fn between(whole: &When, part: &When) -> Result<Self> {
        if whole == part {
            return Ok(Self::default());
        }
        let by_system = |when: &When| when.iter().map(|point| point.0).collect::<BTreeSet<_>>();
        let by_issuer = |when: &When| when.iter().map(|point| point.1).collect::<BTreeSet<_>>();
        let by_store = |when: &When| when.iter().map(|point| point.2).collect::<BTreeSet<_>>();
        let (systems, issuers, stores) = (by_system(part), by_issuer(part), by_store(part));
        let product = systems.len() * issuers.len() * stores.len();
        ensure!(
            !part.is_empty() && product == part.len(),
            "it depends on choices in a way the chart has no words for: {part:?}"
        );
        let named = ones();
        let source = |index: &usize| Choice::Source(named[index - 1].0, named[index - 1].1);
        let store = |index: &usize| Choice::Storage(STORAGES[*index]);
        let mut clauses = Vec::new();
        let of_whole = by_system(whole);
        if systems != of_whole {
            // With every system off it is there too: it goes with some.
            let any = !systems.contains(&0);
            let of = match any {
                true => systems.iter().map(source).collect(),
                false => of_whole.difference(&systems).map(source).collect(),
            };
            clauses.push(Clause { any, of });
        }
        if issuers != by_issuer(whole) {
            clauses.push(Clause {
                any: issuers.contains(&1),
                of: vec![Choice::CertManager],
            });
        }
        if stores != by_store(whole) {
            clauses.push(Clause {
                any: true,
                of: stores.iter().map(store).collect(),
            });
        }
        Ok(Self(clauses))
    }

    /// Whether it always holds.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As an argument of Helm's `if`.
    pub(super) fn text(&self) -> String {
        match &self.0[..] {
            [one] => one.text(),
            all => {
                let texts: Vec<String> = all.iter().map(Clause::text).collect();
                format!("and {}", parenthesized(&texts))
            }
        }
    }

    /// Whether it holds for what was chosen.
    pub(super) fn holds(&self, chosen: &Chosen) -> bool {
        let mut clauses = self.0.iter();
        clauses.all(|clause| clause.of.iter().any(|choice| choice.is_in(chosen)) == clause.any)
    }
}
