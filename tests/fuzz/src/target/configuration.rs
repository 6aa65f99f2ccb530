//! Configuration files: each is recognized, or refused with its errors, and a valid one has warnings and
//! rules.

use std::sync::{Arc, OnceLock};

use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{Dialect, SystemUsers, config};
use serde_json::Value;

use super::Target;

/// The target.
pub(super) const TARGET: Target = Target {
    name: "configuration",
    seeds: &[
        include_str!("../../../../examples/openmcp/configuration.yaml"),
        include_str!("../../../../examples/gardener/minimal-distance-configuration.yaml"),
        include_str!("../../seeds/configuration-openmcp.yaml"),
        include_str!("../../seeds/configuration-karmada.yaml"),
        include_str!("../../seeds/configuration-kcp.yaml"),
        include_str!("../../seeds/configuration-fleet.yaml"),
    ],
    words: &[
        "scheduler:\n",
        "purposeMappings:\n",
        "tenancyCount: -1\n",
        "clusterHeartbeatCheckTimeout: 99999999999h\n",
        "heartbeatThreshold: PT1M\n",
        "syncedResources: [\"*\"]\n",
        "matchExpressions: [{key: a, operator: In, values: []}]\n",
        "&a [*a]",
        "- ",
        "  ",
        "null",
        "9223372036854775808",
        ".nan",
        "!!binary x",
        "{}",
    ],
    run,
};

fn dialects() -> &'static [Arc<dyn Dialect>] {
    static DIALECTS: OnceLock<Vec<Arc<dyn Dialect>>> = OnceLock::new();
    DIALECTS.get_or_init(berth_dialect_registry::all)
}

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Ok(file) = berth_yaml::value(&text) else {
        return;
    };
    match config::from_file(dialects(), &file) {
        Ok((dialect, spec)) => in_force(&*dialect, &spec),
        Err(errors) => assert!(
            !errors.is_empty() && errors.iter().all(|error| !error.to_string().is_empty()),
            "a refusal says why"
        ),
    }
    // Every dialect judges the value at the place of its part.
    for dialect in dialects() {
        for spec in [&file, &file["spec"][dialect.name()]] {
            if dialect.configuration().validate(spec, "spec").is_empty() {
                in_force(&**dialect, spec);
            }
        }
    }
}

fn in_force(dialect: &dyn Dialect, spec: &Value) {
    let warnings = dialect.configuration().warnings(spec, "spec", RulesChoice::Auto);
    assert!(warnings.iter().all(|warning| !warning.is_empty()));
    let plain = dialect.admission();
    let configured = dialect
        .configuration()
        .admission_under(Some(spec), &SystemUsers::default());
    let configured = configured.unwrap_or_else(|| dialect.admission());
    let names = |list: &[Arc<dyn berth_admission::Plugin>]| -> Vec<&'static str> {
        list.iter().map(|plugin| plugin.name()).collect()
    };
    assert_eq!(names(&plain), names(&configured));
}
