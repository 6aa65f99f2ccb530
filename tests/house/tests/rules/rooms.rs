//! The rooms of the house: every crate is in a folder of the top level, and the dependencies between these
//! folders have no circle, so that the repository's top level shows the layers (ARCHITECTURE.md, "The map").

use std::collections::{BTreeMap, BTreeSet};

use berth_house::{PREFIX, packages, root, text};

use super::layers::FOR_TESTS;

/// The rooms, lowest first: a crate depends only on crates in its own room and in earlier ones.
const ROOMS: [&str; 12] = [
    "machinery",
    "storage",
    "openapi",
    "certs",
    "admission",
    "apiserver",
    "dialects",
    "placement",
    "consumers",
    "deploy",
    "berth",
    "tests",
];

/// Folders of the top level without crates.
const WITHOUT_CRATES: [&str; 2] = ["docs", "examples"];

/// Every crate's room, and its dependencies without those of tests.
fn crates() -> BTreeMap<String, (String, BTreeSet<String>)> {
    packages()
        .iter()
        .map(|package| {
            let inside = std::path::Path::new(text(package, "manifest_path"))
                .strip_prefix(root())
                .expect("the workspace holds its crates");
            let room = inside.components().next().expect("a folder");
            let dependencies = package["dependencies"].as_array().expect("a list");
            let stands_on = dependencies
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .filter_map(|dependency| dependency["name"].as_str())
                .map(str::to_owned);
            let name = text(package, "name").to_owned();
            (
                name,
                (
                    room.as_os_str().to_string_lossy().into_owned(),
                    stands_on.collect(),
                ),
            )
        })
        .collect()
}

#[test]
fn arrows_between_rooms_point_to_lower_rooms() {
    let crates = crates();
    let place = |room: &str| ROOMS.iter().position(|other| *other == room);
    let mut problems = Vec::new();
    for (name, (room, stands_on)) in &crates {
        let Some(high) = place(room) else {
            problems.push(format!("{name} stands in {room}/, which is none of the rooms"));
            continue;
        };
        if FOR_TESTS.contains(&name.strip_prefix(PREFIX).unwrap_or(name)) {
            continue;
        }
        for (other, (below, _)) in crates.iter().filter(|(other, _)| stands_on.contains(*other)) {
            if place(below).is_none_or(|low| low > high) {
                problems.push(format!("{name} ({room}/) -> {other} ({below}/)"));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "arrows against the order of the rooms:\n{}",
        problems.join("\n")
    );
}

#[test]
fn the_top_level_is_the_rooms_and_no_more() {
    let entries = std::fs::read_dir(root()).expect("the workspace can be read");
    let folders: BTreeSet<String> = entries
        .map(|entry| entry.expect("entries can be read"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "target" && !name.starts_with('.'))
        .collect();
    let rooms: BTreeSet<String> = ROOMS
        .iter()
        .chain(&WITHOUT_CRATES)
        .map(|room| (*room).to_owned())
        .collect();
    assert_eq!(folders, rooms);
}
