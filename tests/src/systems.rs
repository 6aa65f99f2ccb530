//! The systems by name, for tests of all of them.

/// Every system, in order of names.
pub const SYSTEMS: [&str; 6] = ["fleet", "gardener", "karmada", "kcp", "ocm", "openmcp"];

/// `--source=<system>=hub` for every system.
#[must_use]
pub fn on_hub() -> Vec<String> {
    SYSTEMS.map(|system| format!("--source={system}=hub")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_the_registrys() {
        let all = berth_dialect_registry::all();
        let names: Vec<&str> = all.iter().map(|dialect| dialect.name()).collect();
        assert_eq!(names, SYSTEMS);
    }
}
