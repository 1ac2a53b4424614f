use serde_json::{Value, json};

use super::*;
use crate::har;

/// An entry `seconds` after the start of the recording.
fn entry(seconds: f64, method: &str, url: &str, status: u16, kind: &str) -> Value {
    let ms = format!("{:.3}", 10.0 + seconds);
    json!({
        "startedDateTime": format!("2026-11-22T01:00:{ms:0>6}Z"), "time": 20, "_resourceType": kind,
        "request": {"method": method, "url": url, "headers": [{"name": "User-Agent", "value": "x"}, {"name": "Cookie", "value": ""}]},
        "response": {"status": status, "headers": [], "content": {"mimeType": "text/html"}},
    })
}

trait With {
    fn content(self, media_type: &str, text: &str) -> Self;
    fn body(self, media_type: &str, text: &str) -> Self;
    fn answer_header(self, name: &str, value: &str) -> Self;
    fn header(self, name: &str, value: &str) -> Self;
}

impl With for Value {
    fn content(mut self, media_type: &str, text: &str) -> Self {
        self["response"]["content"] = json!({"mimeType": media_type, "text": text});
        self
    }

    fn body(mut self, media_type: &str, text: &str) -> Self {
        self["request"]["postData"] = json!({"mimeType": media_type, "text": text});
        self
    }

    fn answer_header(mut self, name: &str, value: &str) -> Self {
        self["response"]["headers"]
            .as_array_mut()
            .unwrap()
            .push(json!({"name": name, "value": value}));
        self
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self["request"]["headers"]
            .as_array_mut()
            .unwrap()
            .push(json!({"name": name, "value": value}));
        self
    }
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

fn imported(entries: &[Value]) -> Imported {
    let text = json!({"log": {"entries": entries}}).to_string();
    plan(&har::read(&text).unwrap(), &Options::default()).unwrap()
}

#[test]
fn a_login_with_a_token_and_what_follows() {
    let login = r#"<form method="post"><input type="hidden" name="csrf" value="a1B2c3d4"><input name="name"><input type="password" name="password"></form>"#;
    let entries = [
        entry(0.0, "GET", "http://site:8080/", 302, "document").answer_header("Location", "/login"),
        entry(0.1, "GET", "http://site:8080/login", 200, "document").content("text/html", login),
        entry(0.2, "GET", "http://site:8080/style.css", 200, "stylesheet"),
        entry(0.2, "GET", "https://cdn.example/x.js", 200, "script"),
        entry(5.13, "POST", "http://site:8080/login", 302, "document")
            .body(FORM, "csrf=a1B2c3d4&name=ada&password=secret%21")
            .answer_header("Location", "http://site:8080/home")
            .header("Origin", "http://site:8080"),
        entry(5.2, "GET", "http://site:8080/home", 200, "document"),
        entry(
            5.3,
            "GET",
            "http://site:8080/api/items?_=1795309215000",
            200,
            "xhr",
        )
        .content(JSON, r#"{"items":[{"id":7000123,"tag":"zx81zx81"}]}"#),
        entry(
            17.0,
            "POST",
            "http://site:8080/api/items/7000123",
            204,
            "xhr",
        )
        .body(JSON, r#"{"id":7000123,"tag":"zx81zx81","up":true}"#)
        .header("Content-Type", JSON),
    ];
    insta::assert_snapshot!(imported(&entries).plan);
}

#[test]
fn json_keeps_its_types_and_a_page_after_a_form_keeps_its_files() {
    let entries = [
        entry(0.0, "GET", "http://site/new", 200, "document")
            .content("text/html", "<script>window.draft = \"dr4ft0001\"</script>"),
        entry(1.0, "PUT", "http://site/draft", 200, "fetch")
            .body(
                JSON,
                r#"{"draft":"dr4ft0001","n":3,"tags":["a","b: c"],"none":null,"deep":{"x":1.5}}"#,
            )
            .header("content-type", JSON),
        entry(2.0, "POST", "http://site/graphql", 200, "fetch").body(
            JSON,
            r#"{"query":"query Q { me }","variables":{"a":1},"operationName":"Q"}"#,
        ),
        entry(3.0, "POST", "http://site/save", 303, "document")
            .body(FORM, "a=1&a=2&b=%7B%7Bx")
            .answer_header("location", "/done"),
        entry(3.1, "GET", "http://site/done", 200, "document"),
        entry(3.2, "GET", "http://site/done.png", 200, "image"),
        entry(3.3, "GET", "http://site/gone.png", 404, "image"),
    ];
    insta::assert_snapshot!(imported(&entries).plan);
}

#[test]
fn what_has_no_source_is_named_and_secrets_stay_out() {
    let entries = [
        entry(0.0, "GET", "http://site/", 200, "document"),
        entry(
            0.2,
            "POST",
            "http://site/rpc?api_key=KKKK1111",
            500,
            "fetch",
        )
        .body("text/plain", "7|{{x}}")
        .header("Authorization", "Bearer aaa.bbb.ccc")
        .header("X-CSRF-Token", "q8w7e6r5t4y3u2i1o0")
        .header("traceparent", "00-1-2-3"),
        entry(0.3, "GET", "http://site/socket", 101, "websocket"),
        entry(0.4, "GET", "http://site/lost", 0, "image"),
    ];
    let imported = imported(&entries);
    assert!(
        !imported.plan.contains("KKKK1111") && !imported.plan.contains("bbb"),
        "{}",
        imported.plan
    );
    insta::assert_snapshot!(imported.plan);
}

#[test]
fn a_recording_of_other_sites_is_an_error_that_names_them() {
    let text =
        json!({"log": {"entries": [entry(0.0, "GET", "http://a.example/", 200, "document")]}})
            .to_string();
    let options = Options {
        target: Some(Url::parse("http://site/").unwrap()),
        ..Options::default()
    };
    let error = plan(&har::read(&text).unwrap(), &options)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("http://site/") && error.contains("a.example"),
        "{error}"
    );
    let options = Options {
        hosts: vec!["a.example".to_owned()],
        ..options
    };
    let kept = plan(&har::read(&text).unwrap(), &options).unwrap().plan;
    assert!(kept.contains("get: http://a.example/"), "{kept}");
}
