# An SPDX 2.3 document from `cargo metadata`: $version, $time, $linked (names with versions), $lock (Cargo.lock, for checksums).
def id: "SPDXRef-" + (.name + "-" + .version | gsub("[^A-Za-z0-9.-]"; "-"));
# Checksums of crates from registries, by name and version.
($lock | split("[[package]]\n") | map(
  (capture("name = \"(?<name>[^\"]+)\"\nversion = \"(?<version>[^\"]+)\"") // empty)
  + {sum: ((capture("checksum = \"(?<sum>[0-9a-f]+)\"") // {sum: null}) | .sum)}
) | map({key: "\(.name)@\(.version)", value: .sum}) | from_entries) as $sums
| ([.packages[] | select("\(.name)@\(.version)" as $it | $linked | index($it))] | sort_by(.name, .version)) as $packages
| ($packages | map({key: .id, value: id}) | from_entries) as $ids
| ($packages[] | select(.name == "berth") | id) as $root
| {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: "berth-\($version)",
    documentNamespace: "https://berth.dev/spdx/berth-\($version)",
    creationInfo: {created: $time, creators: ["Tool: deploy/release"]},
    packages: [$packages[] | {
      SPDXID: id,
      name,
      versionInfo: .version,
      downloadLocation: (if .source then "https://crates.io/api/v1/crates/\(.name)/\(.version)/download" else "NOASSERTION" end),
      filesAnalyzed: false,
      licenseConcluded: "NOASSERTION",
      licenseDeclared: ((.license // "NOASSERTION") | gsub("/"; " OR ")),
      copyrightText: "NOASSERTION",
      externalRefs: (if .source then [{
        referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: "pkg:cargo/\(.name)@\(.version)"
      }] else [] end),
      checksums: ($sums["\(.name)@\(.version)"] | if . then [{algorithm: "SHA256", checksumValue: .}] else [] end)
    }],
    relationships: ([{spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: $root}]
      + [.resolve.nodes[] | select($ids[.id]) | .id as $from | .deps[]
        | select($ids[.pkg] and any(.dep_kinds[]; .kind == null))
        | {spdxElementId: $ids[$from], relationshipType: "DEPENDS_ON", relatedSpdxElement: $ids[.pkg]}]
      | unique)
  }
