//! Valid and invalid expressions about clusters.

use berth_tests::differential::Draw;

/// Parts that are true of some clusters, false of others, and fail on those without the field.
const PARTS: &[&str] = &[
    "managedCluster.metadata.labels[\"env\"] == \"prod\"",
    "managedCluster.metadata.labels.tier in [\"1\", \"2\"]",
    "\"region\" in managedCluster.metadata.labels",
    "has(managedCluster.metadata.labels.tier)",
    "managedCluster.metadata.labels.?tier.orValue(\"0\") == \"0\"",
    "managedCluster.metadata.labels[?\"region\"].orValue(\"none\") != \"eu\"",
    "managedCluster.metadata.name.startsWith(\"b\")",
    "managedCluster.metadata.name.matches(\"^[a-c][0-9]$\")",
    "managedCluster.metadata.name.size() > 2",
    "int(managedCluster.metadata.labels.tier) > 1",
    "managedCluster.spec.hubAcceptsClient",
    "!managedCluster.spec.hubAcceptsClient",
    "managedCluster.spec.taints.exists(t, t.value == \"a\")",
    "managedCluster.spec.taints.all(t, t.effect != \"NoSelect\")",
    "managedCluster.spec.taints.exists_one(t, t.key == \"gpu\")",
    "managedCluster.spec.taints.filter(t, t.key.startsWith(\"example\")).size() == 0",
    "managedCluster.status.clusterClaims.exists(c, c.name == \"zone\" && c.value == \"z1\")",
    "managedCluster.status.clusterClaims.exists(c, int(c.value) > 2)",
    "managedCluster.status.clusterClaims.filter(c, c.name == \"zone\")[0].value.lowerAscii() == \"z1\"",
    "managedCluster.status.version.kubernetes.startsWith(\"v1.30\")",
    "semver(managedCluster.status.version.kubernetes.substring(1)).isGreaterThan(semver(\"1.29.9\"))",
    "quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity(\"4\"))",
    "quantity(managedCluster.status.allocatable.memory).compareTo(quantity(\"32Gi\")) >= 0",
    "managedCluster.status.allocatable.cpu == \"8\"",
    "size(managedCluster.metadata.labels) > 3",
    "managedCluster.metadata.labels.map(k, managedCluster.metadata.labels[k]).exists(v, v == \"eu\")",
    "managedCluster.metadata.labels.env.split(\"\").size() == 4",
    "managedCluster.?status.?version.?kubernetes.optMap(v, v.startsWith(\"v1.9\")).orValue(false)",
    "'{\"a\": 1}'.parseJSON().a == 1.0",
    "true",
    "false",
    "1 / 0 == 1",
    "managedCluster.metadata.absent == \"x\"",
    "managedCluster.metadata.name",
];

/// Expressions that do not compile.
const BROKEN: &[&str] = &[
    "managedCluster.metadata.name ==",
    "1 + \"a\" == 2",
    "unknown.metadata.name == \"a\"",
    "math.greatest(1, 12) > 2",
    "7 == 7.0",
];

/// A random part, or several joined parts.
pub(super) fn one(draw: &mut Draw) -> String {
    match draw.below(24) {
        0 => draw.one(BROKEN).to_owned(),
        1..4 => format!("{} && {}", draw.one(PARTS), draw.one(PARTS)),
        4..7 => format!("{} || {}", draw.one(PARTS), draw.one(PARTS)),
        7 => format!("!({})", draw.one(PARTS)),
        8 => format!(
            "({}) ? {} : {}",
            draw.one(PARTS),
            draw.one(PARTS),
            draw.one(PARTS)
        ),
        _ => draw.one(PARTS).to_owned(),
    }
}
