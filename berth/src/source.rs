//! `--source`: the place of each system's objects.

/// Place of the objects of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Stored by Berth.
    Owned,
    /// Stored on the hub.
    Hub,
    /// Nowhere: Berth ignores the system.
    Off,
}

impl Place {
    /// The name of the place in `--source`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owned => "owned",
            Self::Hub => "hub",
            Self::Off => "off",
        }
    }
}

/// Place of the objects of one system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the system.
    pub dialect: String,
    /// Place of the system's objects.
    pub place: Place,
}

/// Parses a value of `--source`, such as `gardener=hub`.
///
/// # Errors
/// A message with the expected form or the known values.
pub(crate) fn source(text: &str) -> Result<Source, String> {
    let dialects = berth_dialect_registry::all();
    let known: Vec<&str> = dialects.iter().map(|dialect| dialect.name()).collect();
    let (dialect, place) = text.split_once('=').ok_or_else(|| {
        format!(
            "expected SYSTEM=owned, SYSTEM=hub or SYSTEM=off, such as {}=hub",
            known.first().unwrap_or(&"SYSTEM")
        )
    })?;
    if !known.contains(&dialect) {
        return Err(format!("unknown system {dialect:?}; known: {}", known.join(", ")));
    }
    let place = match place {
        "owned" => Place::Owned,
        "hub" => Place::Hub,
        "off" => Place::Off,
        other => return Err(format!("unknown place {other:?}; use owned, hub or off")),
    };
    Ok(Source {
        dialect: dialect.to_owned(),
        place,
    })
}

/// Error message for a command line with which every system is off.
pub(crate) const NONE_NAMED: &str = "every system is off: for each system that Berth is for, pass --source=<system>=hub if its objects are \
    on the hub, or --source=<system>=owned if Berth is to store them";

/// Error message for an observer that would store the objects of `dialect` itself.
pub(crate) fn nothing_to_observe(dialect: &str) -> String {
    format!(
        "--mode=observe observes objects on a hub, but with --source={dialect}=owned Berth itself would store the objects of \
         {dialect}: use --source={dialect}=hub or --source={dialect}=off"
    )
}

/// The sources of a server behind a hub: `sources`, and the place `Off` for every system without a source.
/// Otherwise the server would store the objects of such a system, and take over the system's API on the hub.
#[must_use]
pub fn only_named(sources: Vec<Source>) -> Vec<Source> {
    let all = berth_dialect_registry::all().into_iter().map(|dialect| Source {
        dialect: dialect.name().to_owned(),
        place: Place::Off,
    });
    all.chain(sources).collect()
}

/// Returns the place of the objects of `dialect`. The last source of the dialect counts; without one,
/// Berth stores the objects.
pub(crate) fn place(sources: &[Source], dialect: &str) -> Place {
    let mut reversed = sources.iter().rev();
    reversed
        .find(|source| source.dialect == dialect)
        .map_or(Place::Owned, |source| source.place)
}
