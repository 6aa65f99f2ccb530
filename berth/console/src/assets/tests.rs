//! Parts of the page.

use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::*;

fn own() -> impl Iterator<Item = &'static Asset> {
    ASSETS.iter().filter(|(path, ..)| !path.starts_with("/vendor/"))
}

#[test]
fn vendored_files_are_those_whose_sums_are_written_down() {
    let list = include_str!("../../web/vendor/README.md");
    let vendored: Vec<_> = ASSETS
        .iter()
        .filter_map(|(path, _, text)| Some((path.strip_prefix("/vendor/")?, text)))
        .collect();
    assert_eq!(vendored.len(), 2);
    for (name, text) in vendored {
        let sum: String = Sha256::digest(text.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let row = list
            .lines()
            .find(|line| line.starts_with(&format!("| {name} |")))
            .expect(name);
        assert!(row.contains(&sum), "{name} is {sum}");
        let license = format!("web/vendor/{}.LICENSE", name.split('.').next().unwrap());
        assert!(
            Path::new(env!("CARGO_MANIFEST_DIR")).join(license).exists(),
            "{name}"
        );
    }
}

#[test]
fn nothing_on_the_page_evaluates_text_or_writes_markup() {
    for (path, _, text) in ASSETS {
        for word in [
            "eval(",
            "new Function",
            "Function(",
            "document.write",
            "insertAdjacentHTML",
            "outerHTML",
        ] {
            // preact names functions `…Function(` nowhere, and htm builds nothing at run time.
            assert!(!text.contains(word), "{path} has {word}");
        }
    }
    for (path, _, text) in own() {
        for word in [
            "innerHTML",
            "dangerouslySetInnerHTML",
            "srcdoc",
            "javascript:",
            "setTimeout(\"",
            "http://",
            "https://",
        ] {
            assert!(!text.contains(word), "{path} has {word}");
        }
    }
}

#[test]
fn the_document_has_no_inline_script_style_or_handler() {
    let (_, _, page) = ASSETS[0];
    assert!(!page.contains("<style") && !page.contains(" style="));
    for script in page.split("<script").skip(1) {
        let (attributes, rest) = script.split_once('>').unwrap();
        assert!(attributes.contains("src="), "{attributes}");
        assert!(rest.starts_with("</script>"), "{rest}");
    }
    for attribute in page.split_whitespace().filter(|word| word.contains('=')) {
        assert!(!attribute.starts_with("on"), "{attribute}");
    }
}

#[test]
fn the_whole_page_is_below_a_hundred_and_twenty_kilobytes_compressed() {
    let mut sum = 0;
    for (_, _, text) in ASSETS {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        sum += encoder.finish().unwrap().len();
    }
    assert!(sum < 120_000, "{sum} bytes");
}

#[test]
fn every_module_that_is_imported_is_served() {
    for (path, kind, text) in ASSETS.iter().filter(|(_, kind, _)| *kind == SCRIPT) {
        for import in text.split(" from \"").skip(1) {
            let file = import.split('"').next().unwrap();
            let name = file.trim_start_matches('.');
            assert!(
                ASSETS.iter().any(|(at, ..)| *at == name),
                "{path} ({kind}) imports {file}"
            );
        }
    }
}

#[test]
fn the_list_of_keys_has_every_jump() {
    let text = |name: &str| ASSETS.iter().find(|(path, ..)| *path == name).unwrap().2;
    let (_, jumps) = text("/app.js").split_once("const JUMPS = {").unwrap();
    let (jumps, _) = jumps.split_once('}').unwrap();
    let keys: Vec<&str> = jumps
        .split(',')
        .map(|jump| jump.split(':').next().unwrap().trim())
        .collect();
    assert!(keys.contains(&"g"), "{keys:?}");
    for key in keys {
        assert!(text("/find.js").contains(&format!("[\"g {key}\", ")), "g {key}");
    }
}

#[test]
fn a_file_that_the_browser_has_is_not_sent_again() {
    let first = answer("/", &HeaderMap::new()).unwrap();
    let headers = HeaderMap::from_iter([(IF_NONE_MATCH, first.headers()[ETAG].clone())]);
    assert_eq!(answer("/", &headers).unwrap().status(), 304);
    assert_eq!(answer("/none", &headers).unwrap_err().code, 404);
}
