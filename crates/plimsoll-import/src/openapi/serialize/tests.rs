use super::super::parameter::{Location, Parameter, Style};
use super::*;
use crate::located::{self, Located};
use crate::openapi::documents::Node;

fn parameter(node: &Located, location: Location, style: Style, explodes: bool) -> Parameter<'_> {
    Parameter {
        node: Node {
            document: 0,
            value: node,
        },
        name: "color",
        location,
        style,
        explodes,
        allows_reserved: false,
        is_json: false,
    }
}

fn value(yaml: &str) -> ExampleValue {
    ExampleValue::from(&located::yaml(yaml).unwrap())
}

/// The table of styles in the specification (3.1.1), percent-encoded where RFC 3986 requires it.
#[test]
fn styles_are_those_of_the_specification() {
    let node = located::yaml("{}").unwrap();
    let list = value("[blue, black, brown]");
    let map = value("{ R: 100, G: 200, B: 150 }");
    let path = |style, explodes, value: &ExampleValue| {
        in_path(&parameter(&node, Location::Path, style, explodes), value)
            .as_str()
            .to_owned()
    };
    let blue = value("blue");
    let empty = value("''");
    for (style, explodes, scalar, items, entries) in [
        (
            Style::Matrix,
            false,
            ";color=blue",
            ";color=blue,black,brown",
            ";color=R,100,G,200,B,150",
        ),
        (
            Style::Matrix,
            true,
            ";color=blue",
            ";color=blue;color=black;color=brown",
            ";R=100;G=200;B=150",
        ),
        (
            Style::Label,
            false,
            ".blue",
            ".blue,black,brown",
            ".R,100,G,200,B,150",
        ),
        (
            Style::Label,
            true,
            ".blue",
            ".blue.black.brown",
            ".R=100.G=200.B=150",
        ),
        (
            Style::Simple,
            false,
            "blue",
            "blue,black,brown",
            "R,100,G,200,B,150",
        ),
        (
            Style::Simple,
            true,
            "blue",
            "blue,black,brown",
            "R=100,G=200,B=150",
        ),
    ] {
        assert_eq!(path(style, explodes, &blue), scalar);
        assert_eq!(path(style, explodes, &list), items);
        assert_eq!(path(style, explodes, &map), entries);
    }
    assert_eq!(path(Style::Matrix, false, &empty), ";color");
}

#[test]
fn styles_of_queries_are_those_of_the_specification() {
    let node = located::yaml("{}").unwrap();
    let list = value("[blue, black, brown]");
    let map = value("{ R: 100, G: 200, B: 150 }");
    let query = |style, explodes, value: &ExampleValue| {
        let pairs = in_query(&parameter(&node, Location::Query, style, explodes), value);
        join(&pairs, "&").as_str().to_owned()
    };
    let empty = value("''");
    for (style, explodes, items, entries) in [
        (
            Style::Form,
            false,
            "color=blue,black,brown",
            "color=R,100,G,200,B,150",
        ),
        (
            Style::Form,
            true,
            "color=blue&color=black&color=brown",
            "R=100&G=200&B=150",
        ),
        (
            Style::SpaceDelimited,
            false,
            "color=blue%20black%20brown",
            "color=R%20100%20G%20200%20B%20150",
        ),
        (
            Style::PipeDelimited,
            false,
            "color=blue%7Cblack%7Cbrown",
            "color=R%7C100%7CG%7C200%7CB%7C150",
        ),
    ] {
        assert_eq!(query(style, explodes, &list), items);
        assert_eq!(query(style, explodes, &map), entries);
    }
    assert_eq!(query(Style::Form, true, &empty), "color=");
    assert_eq!(
        query(Style::DeepObject, true, &map),
        "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"
    );
}

#[test]
fn values_are_percent_encoded_by_where_they_are() {
    let node = located::yaml("{}").unwrap();
    let text = value("'a b/ä&{{c'");
    let mut open = parameter(&node, Location::Query, Style::Form, true);
    assert_eq!(
        in_query(&open, &text)[0].as_str(),
        "color=a%20b%2F%C3%A4%26%7B%7Bc"
    );
    open.allows_reserved = true;
    assert_eq!(
        in_query(&open, &text)[0].as_str(),
        "color=a%20b/%C3%A4%26%7B%7Bc"
    );
    let variable = ExampleValue::Variable("ID".to_owned());
    assert_eq!(
        in_path(&open, &variable).as_str(),
        "{{ urlencode(env('ID')) }}"
    );
    open.is_json = true;
    assert_eq!(
        in_query(&open, &value("{ a: 1 }"))[0].as_str(),
        "color=%7B%22a%22:1%7D"
    );
}

#[test]
fn nested_values_of_forms_have_their_path_in_their_name() {
    let nested = value("{ a: { b: [1, 2] }, c: x }");
    let names = |style, explodes| {
        let found = fields("f", &nested, (style, explodes));
        let text = |(name, value): &(String, Template)| format!("{name}={}", value.as_str());
        found.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(
        names(Style::DeepObject, true),
        ["f[a][b][0]=1", "f[a][b][1]=2", "f[c]=x"]
    );
    assert_eq!(names(Style::Form, true), [r#"f={"a":{"b":[1,2]},"c":"x"}"#]);
    let list = fields("f", &value("[a, b]"), (Style::PipeDelimited, false));
    assert_eq!(list[0].1.as_str(), "a|b");
}
