//! Whole imports.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::import;
use crate::Imported;
use crate::script::{Script, ScriptError, ScriptFiles, ScriptOptions};

struct Files;

impl ScriptFiles for Files {
    fn text(&self, path: &str) -> Result<String, String> {
        match path {
            "photo.png" | "doc.txt" => Ok("content".to_owned()),
            _ => Err(format!("cannot read {path}: No such file or directory")),
        }
    }
}

fn imported(text: &str, environment: Option<&str>) -> Result<Imported, ScriptError> {
    let script = Script {
        name: "shop.json",
        text,
        files: &Files,
    };
    let options = ScriptOptions {
        environment: environment.map(|text| ("env.json".to_owned(), text.to_owned())),
        ..ScriptOptions::default()
    };
    import(&script, &options)
}

/// The plan without comments, load and what all have, then the losses.
fn rendered(collection: &Value, environment: Option<&Value>) -> String {
    let environment = environment.map(Value::to_string);
    let text = serde_json::to_string_pretty(collection).unwrap();
    let imported =
        imported(&text, environment.as_deref()).unwrap_or_else(|error| panic!("{error}"));
    let skipped = ["#", "load:", "headers: { user-agent: Postman"];
    let plan = imported
        .plan
        .lines()
        .filter(|line| !skipped.iter().any(|start| line.starts_with(start)))
        .map(str::to_owned);
    let notes = imported.notes.iter().map(|note| format!("note: {note}"));
    let losses = imported.losses.iter().map(ToString::to_string);
    plan.chain(notes)
        .chain(losses)
        .collect::<Vec<_>>()
        .join("\n")
}

fn collection(more: &Value, items: &Value) -> Value {
    let mut whole = json!({
        "info": { "name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
        "item": items
    });
    for (key, value) in more.as_object().unwrap() {
        whole[key] = value.clone();
    }
    whole
}

fn test_script(lines: &[&str]) -> Value {
    json!([{ "listen": "test", "script": { "type": "text/javascript", "exec": lines } }])
}

#[test]
fn a_login_and_what_follows() {
    let whole = collection(
        &json!({
            "variable": [{ "key": "baseUrl", "value": "https://shop.example/api" }, { "key": "token", "value": "" }],
            "auth": { "type": "bearer", "bearer": [{ "key": "token", "value": "{{token}}", "type": "string" }] }
        }),
        &json!([
            {
                "name": "Account",
                "item": [{
                    "name": "Log in",
                    "event": test_script(&[
                        "pm.test('ok', function () {",
                        "    pm.response.to.have.status(200);",
                        "    pm.expect(pm.response.responseTime).to.be.below(500);",
                        "});",
                        "const body = pm.response.json();",
                        "pm.collectionVariables.set('token', body.data.token);",
                        "if (body.user) { pm.environment.set('user-id', body['user'].id); }",
                        "console.log(body);",
                        "for (const x of body.items) { sum += x; }",
                    ]),
                    "request": {
                        "method": "POST",
                        "auth": { "type": "noauth" },
                        "url": { "raw": "{{baseUrl}}/login", "host": ["{{baseUrl}}"], "path": ["login"] },
                        "body": { "mode": "raw", "raw": "{\"name\": \"{{user}}\", \"password\": \"{{password}}\", \"at\": {{$timestamp}}}", "options": { "raw": { "language": "json" } } }
                    }
                }]
            },
            {
                "name": "Item",
                "request": {
                    "url": {
                        "raw": "", "host": ["{{baseUrl}}"], "path": ["users", ":id", "items", ":none"],
                        "query": [{ "key": "q", "value": "a b" }, { "key": "off", "value": "1", "disabled": true }, { "key": "flag", "value": null }],
                        "variable": [{ "key": "id", "value": "{{user-id}}" }]
                    },
                    "header": [{ "key": "X-Trace", "value": "{{$guid}}" }, { "key": "X-Off", "value": "1", "disabled": true }]
                }
            }
        ]),
    );
    let environment = json!({ "name": "test", "values": [
        { "key": "user", "value": "ada", "enabled": true },
        { "key": "password", "value": "pw", "type": "secret", "enabled": true },
        { "key": "unused", "value": "x", "enabled": false }
    ]});
    insta::assert_snapshot!(rendered(&whole, Some(&environment)));
}

#[test]
fn bodies_and_authorization() {
    let request = |name: &str, more: Value| {
        let mut request = json!({ "method": "POST", "url": format!("http://a/{name}") });
        for (key, value) in more.as_object().unwrap() {
            request[key] = value.clone();
        }
        json!({ "name": name, "request": request })
    };
    let whole = collection(
        &json!({}),
        &json!([
            request("form", json!({ "body": { "mode": "urlencoded", "urlencoded": [
                { "key": "a", "value": "1 2" }, { "key": "b", "value": "x" }, { "key": "a", "value": "3" }, { "key": "off", "value": "", "disabled": true }] } })),
            request("parts", json!({ "body": { "mode": "formdata", "formdata": [
                { "key": "name", "value": "ada", "type": "text" }, { "key": "photo", "src": "/home/x/photo.png", "type": "file" },
                { "key": "meta", "value": "{}", "contentType": "application/json", "type": "text" }, { "key": "gone", "src": "gone.pdf", "type": "file" }] } })),
            request("file", json!({ "body": { "mode": "file", "file": { "src": "doc.txt" } } })),
            request("graphql", json!({ "body": { "mode": "graphql", "graphql": { "query": "query { me(id: \"{{id}}\") }", "variables": "{ \"a\": 1.50 }" } } })),
            request("basic", json!({ "auth": { "type": "basic", "basic": [{ "key": "username", "value": "ada" }, { "key": "password", "value": "pw" }] } })),
            request("basic-of-variables", json!({ "auth": { "type": "basic", "basic": { "username": "{{name}}", "password": "{{pw}}" } } })),
            request("key", json!({ "auth": { "type": "apikey", "apikey": [{ "key": "key", "value": "k" }, { "key": "value", "value": "v" }, { "key": "in", "value": "query" }] } })),
            request("digest", json!({ "auth": { "type": "digest", "digest": [] } })),
            { "name": "get", "request": { "method": "GET", "url": "http://a/get", "body": { "mode": "raw", "raw": "pruned" } }, "protocolProfileBehavior": { "followRedirects": false } },
            { "name": "purge", "request": { "method": "PURGE", "url": "http://a/" } },
            { "name": "text", "request": "http://b.example/?x=1" }
        ]),
    );
    insta::assert_snapshot!(rendered(&whole, None));
}

#[test]
fn assertions_of_every_kind() {
    let lines = [
        "pm.test('a', () => pm.response.to.be.ok);",
        "pm.test('b', () => { pm.expect(pm.response.code).to.be.oneOf([200, 201]); });",
        "pm.expect(pm.response.text()).to.include('hello');",
        "pm.expect(pm.response.text()).to.not.include('error');",
        "pm.response.to.have.header('X-Request-Id');",
        "pm.expect(pm.response.headers.get('Content-Type')).to.include('json');",
        "const { name: who, roles } = pm.response.json();",
        "pm.expect(who).to.eql('ada');",
        "pm.expect(roles[0]).to.equal('admin');",
        "pm.expect(pm.response.json()).to.have.property('id', 7);",
        "pm.expect(pm.response.json().list.length).to.be.above(3);",
        "tests['fast'] = responseTime < 200;",
        "tests['code'] = responseCode.code === 201;",
        "var data = JSON.parse(responseBody); postman.setEnvironmentVariable('first', data.items[0]['odd-name']);",
        "pm.environment.set('trace', pm.response.headers.get('X-Request-Id'));",
        "pm.environment.set('fixed', 'a-' + pm.environment.get('first'));",
        "pm.sendRequest('http://x/', function () {});",
        "postman.setNextRequest('other');",
    ];
    let whole = collection(
        &json!({}),
        &json!([{ "name": "one", "event": test_script(&lines), "request": { "url": "http://a/" } }]),
    );
    insta::assert_snapshot!(rendered(&whole, None));
}

#[test]
fn what_is_no_collection_is_refused() {
    let check = |text: &str, expected: &str| {
        assert_eq!(imported(text, None).unwrap_err().to_string(), expected);
    };
    check(
        "{ \"item\": [ }",
        "shop.json:1:13: not JSON: unexpected close brace; export the collection again",
    );
    check(
        "{ \"openapi\": \"3.0\" }",
        "shop.json:1:1: it is not a Postman collection: `item` is missing; export it as Collection v2.1",
    );
    check(
        "{ \"requests\": [] }",
        "shop.json:1:1: it is a collection of version 1; export it as Collection v2.1",
    );
    check(
        "{ \"item\": [] }",
        "shop.json:1:1: no request was found in it; check that it is a whole script of this tool",
    );
    let error = imported("{ \"item\": [] }", Some("[")).unwrap_err();
    assert!(error.to_string().starts_with("env.json:1:"), "{error}");
}

#[test]
fn deep_scripts_and_variables_end() {
    let deep = "(".repeat(60_000);
    let chain = format!("x = {}1;", "!".repeat(60_000));
    let whole = collection(
        &json!({ "variable": [{ "key": "a", "value": "{{b}}{{b}}{{b}}{{b}}" }, { "key": "b", "value": "{{a}}{{a}}{{a}}{{a}}" }] }),
        &json!([{ "name": "one", "event": test_script(&[&deep]), "request": { "url": "http://a/{{a}}" } },
                { "name": "two", "event": test_script(&[&chain]), "request": { "url": "http://a/" } }]),
    );
    let imported = imported(&whole.to_string(), None).unwrap();
    assert!(imported.losses.len() >= 2, "{:?}", imported.losses);
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), url in r"[a-z:/{}?&=#.@$ \[\]é]{0,40}", script in r#"[a-z.()'"{}=;$\[\], \n]{0,60}"#) {
        let _ = imported(&text, None);
        let whole = collection(&json!({ "variable": [{ "key": "a", "value": url }] }), &json!([
            { "name": text, "request": { "url": url, "header": [{ "key": text, "value": text }], "body": { "mode": "raw", "raw": text } } },
            { "name": "x", "event": test_script(&[&script, &format!("pm.{script}"), &format!("pm.test('a', () => {{ pm.expect(pm.response{script} }});")]), "request": { "url": { "host": [url], "path": [url] } } },
        ]));
        let _ = imported(&whole.to_string(), None);
    }
}
