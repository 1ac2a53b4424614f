//! What holds for any text.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::imported_with;

/// Pieces of scripts, put together at random.
const PIECES: [&str; 40] = [
    "http.get('https://a.test/x')",
    "const a = ",
    "let b = ",
    "a",
    "b",
    "1",
    "'t'",
    "`x${a}`",
    "[1, 2, a]",
    "{ k: a }",
    "for (let i = 0; i < 5; i++) ",
    "while (b) ",
    "if (a) ",
    "else ",
    "{",
    "}",
    "(",
    ")",
    ";",
    ".json('k')",
    ".map((x) => x)",
    "[0]",
    ".k",
    " + ",
    " === ",
    " && ",
    "Math.random()",
    "sleep(1)",
    "check(a, { c: (r) => r.status === 200 })",
    "function f() ",
    "f()",
    "return ",
    "a[__VU % 3]",
    "__ITER",
    "switch (a) { case 1: f(); }",
    "new Date()",
    "class C { m() {} }",
    "try { f() } catch (e) {}",
    "a.push(b)",
    "JSON.stringify(a)",
];

proptest! {
    #[test]
    fn any_text_gives_a_plan_or_an_error(text in any::<String>(), ascii in "[ -~\n]{0,80}") {
        let _ = imported_with(&text, &[]);
        let _ = imported_with(&ascii, &[]);
    }

    #[test]
    fn any_pieces_of_scripts_give_a_plan_or_an_error(
        pieces in proptest::collection::vec(0..PIECES.len(), 0..40),
        breaks in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let mut body = String::new();
        for (piece, is_break) in pieces.iter().zip(breaks) {
            body.push_str(PIECES[*piece]);
            body.push(if is_break { '\n' } else { ' ' });
        }
        let text = format!("import http from 'k6/http';\nexport default function () {{ {body} }}");
        let _ = imported_with(&text, &[]);
    }

    /// Requests that are made, come back: method, path and body.
    #[test]
    fn requests_come_back_as_they_were_written(
        requests in proptest::collection::vec(("(post|put|patch)", "(/[a-z0-9._-][a-z0-9/._-]{0,19}|/)", "[ -~]{1,30}"), 1..6),
    ) {
        let mut text = "import http from 'k6/http';\nexport default function () {\n".to_owned();
        for (method, path, body) in &requests {
            let body = serde_json::to_string(body).unwrap();
            let _ = writeln!(text, "http.{method}('https://a.test{path}', {body});");
        }
        text.push('}');
        let imported = imported_with(&text, &[]).unwrap();
        prop_assert_eq!(&imported.losses, &[]);
        let scalars = crate::yaml::scalars(&imported.plan);
        let sent: Vec<(String, String, String)> = scalars
            .windows(4)
            .filter(|window| window[2] == "body")
            .map(|window| (window[0].clone(), window[1].clone(), window[3].replace("{{ pick('{{') }}", "{{")))
            .collect();
        prop_assert_eq!(sent, requests);
    }
}

#[test]
fn deep_nesting_is_refused_without_a_crash() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("!", ""),
        ("a=>", ""),
        ("-", ""),
        ("`${", "}`"),
        ("f(", ")"),
    ] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let error = imported_with(&deep, &[]).unwrap_err();
        assert!(error.message.contains("nested"), "{error}");
        let allowed = format!("x = {}1{};", open.repeat(1_000), close.repeat(1_000));
        let _ = imported_with(&allowed, &[]);
    }
    // A chain that the parser does not nest, but its tree does.
    let chain = format!("const a = {};", vec!["1"; 200_000].join(" * "));
    let _ = imported_with(&chain, &[]);
    let members = format!("const a = b{};", ".c".repeat(200_000));
    let _ = imported_with(&members, &[]);
}

#[test]
fn endless_loops_and_recursion_end() {
    for body in [
        "while (true) { http.get('https://a.test'); }",
        "for (;;) { http.get('https://a.test'); }",
        "function f() { http.get('https://a.test'); f(); f(); } f();",
        "let s = 'x'; while (true) { s += s; } http.get(s);",
        "const a = []; while (true) { a.push(a); } http.get('https://a.test');",
        "const o = {}; o.o = o; http.post('https://a.test', JSON.stringify(o));",
        "const a = [1]; a.push(a); http.get(`https://a.test/${a}`);",
    ] {
        let text = format!("import http from 'k6/http';\nexport default function () {{ {body} }}");
        let _ = imported_with(&text, &[]);
    }
}
