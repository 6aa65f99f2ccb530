//! Targets of the fuzzer.

mod budget;
mod configuration;
mod division;
mod managers;
mod patch;
mod placement;
mod review;
mod selector;

/// One reader, with its seeds and words.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The target's name.
    pub name: &'static str,
    /// Valid and invalid inputs to start from.
    pub seeds: &'static [&'static str],
    /// Words of the format.
    pub words: &'static [&'static str],
    /// Reads one input, and panics when a contract is broken.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 10] = [
    review::TARGET,
    placement::TARGET,
    division::TARGET,
    selector::TARGET,
    configuration::TARGET,
    managers::TARGET,
    patch::TARGET,
    budget::JSON_PATCH,
    budget::STRATEGIC,
    budget::BODY,
];
