//! What scripts become.

mod properties;
mod responses;
mod scenarios;

use std::collections::HashMap;

use super::import;
use crate::script::{Script, ScriptFiles, ScriptOptions};
use crate::{Imported, ScriptError};

/// Files beside a script.
#[derive(Default)]
struct Files(HashMap<String, String>);

impl ScriptFiles for Files {
    fn text(&self, path: &str) -> Result<String, String> {
        let path = path.trim_start_matches("./");
        self.0
            .get(path)
            .cloned()
            .ok_or_else(|| "there is no such file".to_owned())
    }
}

fn imported_with(text: &str, files: &[(&str, &str)]) -> Result<Imported, ScriptError> {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let script = Script {
        name: "test.js",
        text,
        files: &Files(files.collect()),
    };
    import(&script, &ScriptOptions::default())
}

/// The plan of a body of the default function, without its comments.
#[track_caller]
fn plan(body: &str) -> String {
    let text = format!(
        "import http from 'k6/http';\nimport {{ check, sleep, group, fail }} from 'k6';\n\
         import {{ randomIntBetween, randomItem, uuidv4 }} from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';\n\
         const B = 'https://a.test';\nexport default function () {{\n{body}\n}}\n"
    );
    let imported = imported_with(&text, &[]).unwrap();
    assert_eq!(imported.losses, [], "{}", imported.plan);
    without_comments(&imported.plan)
}

fn without_comments(plan: &str) -> String {
    let lines = plan
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let plan = plan(body);
    for part in expected {
        assert!(plan.contains(part), "{part}\nis not in\n{plan}");
    }
}

/// The losses of a whole script.
fn losses(text: &str) -> Vec<String> {
    let imported = imported_with(text, &[]).unwrap();
    imported.losses.iter().map(ToString::to_string).collect()
}

#[test]
fn a_request_has_url_headers_and_body() {
    check(
        "http.post(`${B}/a b`, JSON.stringify({ a: 1, b: [true, null, 'x\"'], c: undefined }), { headers: { 'X-A': '1' } });",
        &[
            "target: https://a.test",
            "post: /a%20b",
            "headers: { X-A: \"1\" }",
            r#"body: '{"a":1,"b":[true,null,"x\""]}'"#,
            "follow: 10",
        ],
    );
    check(
        "http.post(B, { b: 2, a: 'x y' });",
        &["post: /\n", "form: { a: x y, b: \"2\" }"],
    );
}

#[test]
fn values_of_responses_become_captures() {
    check(
        "const r = http.get(B); const id = r.json('items.0.id');\n\
         http.get(`${B}/x/${id}`); http.get(`${B}/y/${r.json().items[0].id}`);\n\
         http.post(B, { csrf: r.html().find('input[name=csrf]').attr('value') });",
        &[
            "id: { json: \"$.items[0].id\" }",
            "get: \"/x/{{ id }}\"",
            "get: \"/y/{{ id }}\"",
            "csrf: { css: \"input[name=csrf]\", attribute: value }",
            "form: { csrf: \"{{ csrf }}\" }",
        ],
    );
}

#[test]
fn checks_become_expectations() {
    check(
        "const r = http.get(B); check(r, { a: (r) => r.status === 200, b: (r) => r.body.includes('hi'),\n\
         c: (r) => r.timings.duration < 500, d: (r) => r.json('a') === 'b', e: (r) => r.headers['X-A'] !== undefined });",
        &[
            "status: [200, 3xx]",
            "contains: [hi]",
            "within: 500ms",
            "\"$.a\": b",
            "X-A: { present: true }",
        ],
    );
    check(
        "check(http.get(B), { a: (r) => r.status >= 200 && r.status < 400, b: (r) => [200, 204].includes(r.status) });",
        &["expect: { status: [2xx, 3xx] }"],
    );
}

#[test]
fn branches_of_chance_become_choices() {
    check(
        "const r = Math.random(); if (r < 0.3) { http.get(B + '/a'); } else if (r < 0.7) { http.get(B + '/b'); } else { http.get(B + '/c'); }",
        &["- weight: 0.3", "weight: 0.7", "weight: 0.571429"],
    );
    check(
        "switch (Math.floor(Math.random() * 3)) { case 0: http.get(B + '/a'); break; case 1: http.get(B + '/b'); break; default: http.get(B + '/c'); }",
        &["choose:", "/a", "/b", "/c"],
    );
}

#[test]
fn what_is_drawn_once_is_set_once() {
    check(
        "const id = uuidv4(); http.get(`${B}/${id}`); http.get(`${B}/again/${id}`);",
        &[
            "set: { id: \"{{ uuid() }}\" }",
            "get: \"/{{ id }}\"",
            "get: \"/again/{{ id }}\"",
        ],
    );
    check(
        "http.get(`${B}/${randomIntBetween(1, 5)}?c=${randomItem(['a', 'b'])}`);",
        &["/{{ random_int(1, 5) }}?c={{ pick('a', 'b') }}"],
    );
}

#[test]
fn loops_repeat_or_are_unrolled() {
    check(
        "for (let i = 0; i < 3; i++) { http.get(B + '/' + i); }",
        &["get: /0", "get: /1", "get: /2"],
    );
    check(
        "for (let i = 0; i < 30; i++) { http.get(B + '/x'); sleep(1); }",
        &["- repeat: 30", "think: 1s"],
    );
    check(
        "for (const k of ['a', 'b']) { http.get(`${B}/${k}`); }",
        &["get: /a", "get: /b"],
    );
}

#[test]
fn conditions_on_captured_values_are_kept() {
    check(
        "const r = http.get(B); const t = r.json('t'); if (t) { http.get(B + '/yes'); } else { http.get(B + '/no'); }",
        &["if: \"{{ t }}\"", "default: \"\"", "then:", "else:"],
    );
    check(
        "const r = http.get(B); if (r.status !== 200) { console.log('no'); return; } http.get(B + '/on');",
        &["expect: { status: [200, 3xx] }", "get: /on"],
    );
}

#[test]
fn rows_of_a_list_become_a_data_set() {
    let text = "import http from 'k6/http';\nimport { SharedArray } from 'k6/data';\n\
        import exec from 'k6/execution';\n\
        const users = new SharedArray('users', () => JSON.parse(open('./users.json')));\n\
        export default function () { const u = users[exec.vu.idInTest - 1];\n\
        http.post('https://a.test/login', JSON.stringify({ name: u.name, id: u.id })); }";
    let users = r#"[{"name":"ann","id":1},{"name":"bob","id":2}]"#;
    let imported = imported_with(text, &[("users.json", users)]).unwrap();
    assert_eq!(imported.losses, []);
    let plan = without_comments(&imported.plan);
    assert!(plan.contains("users: { json: users.json }"), "{plan}");
    assert!(
        plan.contains(r#"'{"name":"{{ json(users.name) }}","id":{{ users.id }}}'"#),
        "{plan}"
    );
    assert_eq!(imported.files.len(), 1);
}

#[test]
fn losses_are_named_in_the_words_of_k6() {
    let lines = losses(
        "import http from 'k6/http';\nimport { Trend } from 'k6/metrics';\n\
         import { browser } from 'k6/browser';\n\
         const t = new Trend('wait');\nexport default function () {\n  const r = http.get('https://a.test');\n\
         t.add(r.timings.waiting);\n  http.batch(['https://a.test/1', 'https://a.test/2']);\n}\nexport function teardown() {}\n",
    );
    let expected = [
        "test.js:3:1: lost: the module k6/browser: ",
        "test.js:4:11: lost: the metric Trend 'wait': ",
        "test.js:8:3: lost: that http.batch() sends its requests at once: ",
        "lost: teardown(): ",
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for part in expected {
        assert!(
            lines.iter().any(|line| line.contains(part)),
            "{part}\n{lines:#?}"
        );
    }
}

#[test]
fn what_is_no_script_is_an_error_at_a_place() {
    let error = imported_with("const a = 1;\nlet = = 2;\n", &[]).unwrap_err();
    assert_eq!((error.line, error.file.as_str()), (2, "test.js"), "{error}");
    let error = imported_with("export default function () { }", &[]).unwrap_err();
    assert!(error.remedy.contains("plimsoll record"), "{error}");
}

#[test]
fn websockets_become_steps() {
    let text = "import ws from 'k6/ws';\nexport default function () {\n\
        ws.connect('ws://a.test/live', {}, function (socket) {\n\
        socket.on('open', () => { socket.send('hi'); socket.setInterval(() => socket.send('beat'), 1000); });\n\
        socket.setTimeout(() => socket.close(), 5000); }); }";
    let imported = imported_with(text, &[]).unwrap();
    assert_eq!(imported.losses, []);
    let plan = without_comments(&imported.plan);
    for part in [
        "target: http://a.test",
        "- ws: ws://a.test/live",
        "- send: hi",
        "- every: 1s\n    for: 5s",
        "- close: normal",
    ] {
        assert!(plan.contains(part), "{part}\n{plan}");
    }
}

#[test]
fn secrets_are_read_from_the_environment() {
    let text = "import http from 'k6/http';\nexport default function () {\n\
        http.post('https://a.test/', JSON.stringify({ name: 'ann', password: 'hunter2' }),\n\
        { headers: { Authorization: 'Bearer abc.def' } }); }";
    let imported = imported_with(text, &[]).unwrap();
    let plan = &imported.plan;
    assert!(
        !plan.contains("hunter2") && !plan.contains("abc.def"),
        "{plan}"
    );
    assert!(plan.contains("{{ env('AUTHORIZATION') }}"), "{plan}");
    assert!(plan.contains("json(env(''PASSWORD''))"), "{plan}");
}

#[test]
fn modules_may_export_as_node_does() {
    let text = "const http = require('k6/http');\nmodule.exports.options = { vus: 3, duration: '5s' };\n\
        module.exports.default = function () { http.get('https://a.test/'); };";
    let imported = imported_with(text, &[]).unwrap();
    assert_eq!(imported.losses, []);
    assert!(
        imported.plan.contains("load: { users: 3, hold: 5s }"),
        "{}",
        imported.plan
    );
}

#[test]
fn random_characters_are_random_texts() {
    let body = |letters: &str| {
        format!(
            "const letters = '{letters}'; const random = () => Math.floor(Math.random() * letters.length); \
             const name = `${{letters.charAt(random())}}${{letters[random()]}}`; http.get(`${{B}}/${{name}}`);"
        )
    };
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    check(&body(letters), &["name: \"{{ random_string(2) }}\""]);
    check(
        &body("01"),
        &["name: \"{{ pick('0', '1') }}{{ pick('0', '1') }}\""],
    );
}

#[test]
fn urls_have_their_parameters() {
    let text = "import http from 'k6/http';\n\
        import { URL, URLSearchParams } from 'https://jslib.k6.io/url/1.0.0/index.js';\n\
        export default function () {\n  const url = new URL(`https://a.test/series`);\n\
        url.searchParams.append('limit', '20');\n  url.searchParams.append('q', 'a b&c');\n\
        url.searchParams.set('limit', '30');\n  const res = http.get(url.toString());\n\
        const next = new URLSearchParams({ id: res.json('id') });\n  http.get(`https://a.test/x?${next}`);\n}\n";
    let imported = imported_with(text, &[]).unwrap();
    assert_eq!(imported.losses, []);
    for part in [
        "get: /series?q=a+b%26c&limit=30\n",
        "get: \"/x?id={{ urlencode(id) }}\"",
    ] {
        assert!(imported.plan.contains(part), "{part}\n{}", imported.plan);
    }
}
