use proptest::prelude::*;

use super::*;

fn tree(text: &str) -> Located {
    read(text).unwrap_or_else(|error| panic!("{error:?} in\n{text}"))
}

fn message(text: &str) -> String {
    read(text).unwrap_err().message
}

#[test]
fn values_know_their_bytes() {
    let text = "ä: [€, 'x y']\r\nb:\n  - c: |\n      one\n      two\n  - \"d\"\ne: 1\n";
    let root = tree(text);
    let list = root.get("ä").unwrap().items();
    assert!(text[list[0].at..].starts_with('€'));
    assert!(text[list[1].at..].starts_with("'x y'"));
    assert_eq!(root.get("e").unwrap().at, text.len() - 2);
    let (key, _) = root.entries().nth(1).unwrap();
    assert_eq!((key.text.as_str(), &text[key.at..=key.at]), ("b", "b"));
}

#[test]
fn places_behind_many_wide_characters() {
    let text = format!("a: {}\nb: end\n", "€".repeat(1000));
    let at = tree(&text).get("b").unwrap().at;
    assert_eq!(&text[at..], "end\n");
}

#[test]
fn scalars_have_the_types_of_the_core_schema() {
    let check = |text: &str, value: LocatedValue| assert_eq!(tree(text).value, value, "{text}");
    let number = |text: &str| LocatedValue::Number(text.to_owned());
    let word = |text: &str| LocatedValue::Text(text.to_owned());
    check("12", number("12"));
    check("-1.5e3", number("-1.5e3"));
    check("0x1F", number("31"));
    check("0o17", number("15"));
    check("~", LocatedValue::Null);
    check("True", LocatedValue::Bool(true));
    check("'12'", word("12"));
    check("!!str 12", word("12"));
    check("yes", word("yes"));
    check("2024-01-01", word("2024-01-01"));
    check("1.2.3", word("1.2.3"));
    check(
        "-",
        LocatedValue::List(vec![Located {
            at: 1,
            value: LocatedValue::Null,
        }]),
    );
    check("+", word("+"));
    check(".inf", word(".inf"));
    check("0x+1", word("0x+1"));
    assert_eq!(
        tree("200: ok\nnull: x\ntrue: y")
            .entries()
            .map(|(key, _)| key.text.clone())
            .collect::<Vec<_>>(),
        ["200", "null", "true"]
    );
}

#[test]
fn json_is_yaml() {
    let root = tree("{\n\t\"a\": [1, {\"b\": \"\\u00e9\"}],\n\t\"c\": null\n}");
    assert_eq!(
        root.path(&["a"]).unwrap().items()[1]
            .get("b")
            .unwrap()
            .text(),
        Some("é")
    );
}

#[test]
fn anchors_and_merge_keys() {
    let root =
        tree("a: &a { x: 1, y: 2 }\nb: { <<: *a, y: 3 }\nc: *a\nd: { <<: [*a, { z: 4 }] }\n");
    let b = root.get("b").unwrap();
    assert_eq!(b.get("x").unwrap().scalar().as_deref(), Some("1"));
    assert_eq!(b.get("y").unwrap().scalar().as_deref(), Some("3"));
    assert_eq!(root.get("c"), root.get("a"));
    assert_eq!(
        root.path(&["d", "z"]).unwrap().scalar().as_deref(),
        Some("4")
    );
    assert!(message("a: { <<: 1 }").contains("not a map"));
}

#[test]
fn bombs_are_refused_with_their_place() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.extend([format!("a{level}: &a{level} [{aliases}]\n")]);
    }
    let error = read(&bomb).unwrap_err();
    assert!(error.message.contains("too many values"), "{error:?}");
    assert!(error.at > 100, "{error:?}");
    let text = "x".repeat(1 << 20);
    let long = format!("a: &a {text}\nb: [{}]\n", "*a, ".repeat(100));
    assert!(message(&long).contains("too many values"));
    for deep in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
    ] {
        assert!(read(&deep).is_err());
    }
    let nested = format!("{}{}", "[".repeat(DEPTH_MAX + 1), "]".repeat(DEPTH_MAX + 1));
    assert!(message(&nested).contains("nested too deeply"));
    assert!(message("a: &a [*a]").contains("anchor that contains it"));
}

#[test]
fn what_is_no_document_is_refused() {
    assert!(message("a: 1\nb: 2\na: 3").contains("duplicate key `a`, first in line 1"));
    assert!(message("a: [1").contains("invalid YAML"));
    assert!(message("{ [1]: 2 }").contains("the key is not a string"));
    assert!(message("a: 1\n---\nb: 1").contains("second document"));
    assert!(message("# nothing\n").contains("empty"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), near in "[-a:{}\\[\\]&*!|>?'\" \n0]{0,40}") {
        for text in [text, near] {
            match read(&text) {
                Ok(root) => prop_assert!(root.at <= text.len()),
                Err(error) => prop_assert!(error.at <= text.len()),
            }
        }
    }
}
