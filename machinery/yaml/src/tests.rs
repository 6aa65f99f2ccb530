//! Parsing of texts: values, refusals, documents in a stream.

use std::fmt::Write;

use serde_json::json;

use super::*;

fn read(text: &str) -> Value {
    value(text).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn refused(text: &str) -> String {
    match value(text) {
        Ok(value) => panic!("{text}: {value}"),
        Err(problem) => problem.to_string(),
    }
}

#[test]
fn words_and_numbers_are_those_of_yaml_1_1_as_kubernetes_has_it() {
    let text = "{a: yes, b: OFF, c: y, d: 'yes', e: 017, f: 0o17, g: 1_000, h: 0x1F, i: 0b11, j: 1e3, k: 09, l: 190:20, \
                m: 2001-12-14, point: .5, o: 5., p: ~, q: _1, r: +12, s: 1e400, t: tRUE, u: \"1\", v: .5_0, w: 0b-11}";
    assert_eq!(
        read(text),
        json!({
            "a": true, "b": false, "c": true, "d": "yes", "e": 15, "f": 15, "g": 1000, "h": 31, "i": 3, "j": 1000, "k": 9,
            "l": "190:20", "m": "2001-12-14", "point": 0.5, "o": 5, "p": null, "q": "_1", "r": 12, "s": "1e400", "t": "tRUE",
            "u": "1", "v": 0.5, "w": -3,
        })
    );
    assert_eq!(read("18446744073709551615"), json!(u64::MAX));
    assert_eq!(read("-9223372036854775808"), json!(i64::MIN));
    assert_eq!(
        read("1234567890123456789012"),
        json!(1_234_567_890_123_456_789_012_f64)
    );
    assert!(refused("a: .inf").contains("cannot be written as a JSON number"));
}

#[test]
fn keys_are_texts_of_what_they_mean() {
    assert_eq!(
        read("{yes: 1, 017: 2, 1.5: 3, 1e7: 4, \"no\": 5, .inf: 6, 1.0: 7, 0.00001: 8}"),
        json!({"true": 1, "15": 2, "1.5": 3, "1e+07": 4, "no": 5, ".inf": 6, "1": 7, "1e-05": 8})
    );
    assert!(refused("~: 1").contains("null cannot be a key"));
    assert!(refused("[a]: 1").contains("cannot be a key"));
    assert!(refused("? {a: 1}\n: 1").contains("cannot be a key"));
}

#[test]
fn tags_say_what_a_scalar_is() {
    assert_eq!(
        read(
            "{a: !!int '12', b: !!str 12, c: !foo 12, d: ! 12, e: !!float 1, f: !!binary aGVsbG8=, g: !!bool 'on'}"
        ),
        json!({"a": 12, "b": "12", "c": "12", "d": "12", "e": 1, "f": "hello", "g": true})
    );
    assert!(refused("a: !!int foo").contains("cannot decode !!str `foo` as a !!int"));
    assert!(refused("a: !!timestamp foo").contains("as a !!timestamp"));
    assert_eq!(read("a: !!timestamp 2001-1-1"), json!({"a": "2001-1-1"}));
}

#[test]
fn anchors_and_merges_are_resolved_in_their_order() {
    assert_eq!(
        read("x: &x {a: 1, b: 2}\nv: &y {b: 3, c: 4}\nz: {a: 0, <<: *x, b: 9}\nw:\n  <<: [*x, *y]\n"),
        json!({
            "x": {"a": 1, "b": 2}, "v": {"b": 3, "c": 4}, "z": {"a": 1, "b": 9}, "w": {"a": 1, "b": 2, "c": 4},
        })
    );
    assert_eq!(
        read("{a: &k name, *k : 1, <<: {b: 2}, c: <<}"),
        json!({"a": "name", "name": 1, "b": 2, "c": "<<"})
    );
    assert!(refused("a: &x 1\nb: {<<: *x}").contains("map merge"));
    assert!(refused("a: &x [*x]").contains("contains itself"));
    assert!(!refused("a: *nope").is_empty());
    let merged = document("x: &x {a: 1}\nb: {<<: *x, a: 2}\n").unwrap();
    assert!(merged.duplicates.is_empty(), "a merge gives way");
}

#[test]
fn fields_that_stand_twice_are_told_with_their_paths() {
    let read = document("a: 1\nb:\n- c: 1\n  c: 2\na: {x: 0}\n").unwrap();
    assert_eq!(read.value, json!({"a": {"x": 0}, "b": [{"c": 2}]}));
    assert_eq!(read.duplicates, ["b[0].c", "a"]);
}

#[test]
fn any_number_of_comments_may_stand_anywhere() {
    let many = "# a comment\n".repeat(5000);
    let text = format!("{many}spec:\n{many}  {many}  a: 1\n{many}  b:\n{many}  - c\n{many}");
    assert_eq!(read(&text), json!({"spec": {"a": 1, "b": ["c"]}}));
}

#[test]
fn a_broken_document_takes_no_other_with_it_and_is_told_by_its_line() {
    let found = documents("a: 1\n--- # one\nb: [\n---\n---\n# nothing\n---\nc: 3\n---\nd: 4\n--- {e: 5}\n");
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[0].as_ref().unwrap().value, json!({"a": 1}));
    assert_eq!(found[1].as_ref().unwrap_err().line, 3);
    assert_eq!(found[2].as_ref().unwrap().value, json!({"c": 3}));
    assert!(
        found[3]
            .as_ref()
            .unwrap_err()
            .to_string()
            .starts_with("line 11, column 1: invalid document separator")
    );
}

#[test]
fn tabs_do_not_indent_and_may_stand_where_they_do_not() {
    for text in [
        "\ta: 1\n",
        "a:\n\tb: 1\n",
        "a:\n  -\tb\n",
        "a:\n  - \tb: 1\n",
        "a: 1\n \t# b\n",
    ] {
        assert!(refused(text).contains("tab"), "{text:?}: {}", refused(text));
    }
    assert_eq!(
        read("a:\t1\nb: |\n  x\n  \ty\n\t\nc: [1,\n  \t2]\nd: 1\t# e\nf: \"g\n\th\"\n"),
        json!({"a": 1, "b": "x\n\ty\n", "c": [1, 2], "d": 1, "f": "g h"})
    );
}

#[test]
fn nothing_after_a_document_is_lost_without_a_word() {
    assert!(refused("a: 1\n---\nb: 2\n").contains("another document"));
    assert!(refused("a: 1\n...\nb: 2\n").contains("another document"));
    assert_eq!(read("a: 1\n...\n# the end\n"), json!({"a": 1}));
    assert_eq!(read(""), Value::Null);
}

#[test]
fn neither_aliases_nor_anchors_nor_depth_blow_a_text_up() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{before}]").unwrap();
    }
    assert!(refused(&bomb).contains("excessive aliasing"));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 16), "*a,".repeat(1000));
    assert!(refused(&long).contains("excessive aliasing"));
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..120 {
        writeln!(chain, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
    }
    assert!(refused(&chain).contains("nested deeper"));
    let nested: String = (0..50).map(|level| format!("&a{level} [")).collect();
    let within = format!("{nested}{}{}", "x,".repeat(200_000), "]".repeat(50));
    assert!(refused(&within).contains("too large together"));
    assert!(refused(&format!("{}{}", "[".repeat(120), "]".repeat(120))).contains("nested deeper"));
    refused(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    let blocks: String = (0..5000)
        .map(|level| format!("{}a:\n", " ".repeat(level)))
        .collect();
    refused(&blocks);
}

#[test]
fn files_of_other_encodings_are_read() {
    let wide = |unit: fn(u16) -> [u8; 2]| "\u{feff}a: é".encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    assert_eq!(decode(&wide(u16::to_le_bytes)).unwrap(), "a: é");
    assert_eq!(decode(&wide(u16::to_be_bytes)).unwrap(), "a: é");
    assert_eq!(decode("\u{feff}a: é".as_bytes()).unwrap(), "a: é");
    assert_eq!(
        decode(b"a: 1\nb: \xff\n").unwrap_err().to_string(),
        "line 2, column 1: the text is not UTF-8: save it as UTF-8"
    );
    assert!(decode(&[0xff, 0xfe, 0x00]).is_err());
}
