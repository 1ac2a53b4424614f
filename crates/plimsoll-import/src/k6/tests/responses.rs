//! Values and requests that responses tell.

use super::{check, imported_with, without_comments};

/// The plan of a body, and its losses.
#[track_caller]
fn plan_and_losses(body: &str) -> (String, Vec<String>) {
    let text = format!(
        "import http from 'k6/http';\nimport {{ check }} from 'k6';\n\
         import {{ randomItem }} from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';\n\
         const B = 'https://a.test';\nexport default function () {{\n{body}\n}}\n"
    );
    let imported = imported_with(&text, &[]).unwrap();
    let losses = imported.losses.iter().map(ToString::to_string);
    (without_comments(&imported.plan), losses.collect())
}

#[track_caller]
fn check_with_loss(body: &str, parts: &[&str], loss: &str) {
    let (plan, losses) = plan_and_losses(body);
    for part in parts {
        assert!(plan.contains(part), "{part}\nis not in\n{plan}");
    }
    let [only] = &losses[..] else {
        panic!("{losses:#?}");
    };
    assert!(only.contains(loss), "{only}");
}

#[test]
fn a_loop_over_items_takes_one_of_them() {
    for body in [
        "for (const x of http.get(B).json('items')) { http.get(`${B}/x/${x.id}`); http.get(`${B}/y/${x.id}`); }",
        "http.get(B).json().items.forEach((x) => { http.get(`${B}/x/${x.id}`); http.get(`${B}/y/${x.id}`); });",
    ] {
        check_with_loss(
            body,
            &[
                "id: { json: \"$.items[*].id\", pick: random }",
                "get: \"/x/{{ id }}\"",
                "get: \"/y/{{ id }}\"",
            ],
            "one of the items instead of all",
        );
    }
}

#[test]
fn several_values_of_an_item_belong_together() {
    check(
        "const x = randomItem(http.get(B).json('items')); http.get(`${B}/${x.id}/${x.name}`);",
        &[
            "id: { json: \"$.items[*].id\" }",
            "name: { json: \"$.items[*].name\" }",
            "get: \"/{{ id }}/{{ name }}\"",
        ],
    );
    // Two draws are two items.
    check(
        "const l = http.get(B).json('items'); const x = randomItem(l); const y = randomItem(l);\n\
         http.get(`${B}/${x.id}/${y.name}`);",
        &[
            "id: { json: \"$.items[*].id\", pick: random }",
            "name: { json: \"$.items[*].name\", pick: random }",
        ],
    );
}

#[test]
fn a_part_of_a_list_is_named_as_lost() {
    let (plan, losses) = plan_and_losses(
        "http.get(B).json('items').slice(0, 3).forEach((x) => http.get(`${B}/${x}`));",
    );
    assert!(plan.contains("pick: random"), "{plan}");
    assert_eq!(losses.len(), 2, "{losses:#?}");
}

#[test]
fn forms_are_sent_to_their_action() {
    check_with_loss(
        "let r = http.get(B + '/login');\n\
         r = r.submitForm({ formSelector: '#login', fields: { user: 'ann', remember: 'yes' } });\n\
         check(r, { 'in': (r) => r.body.includes('Hello') });",
        &[
            "css: \"#login\"",
            "attribute: action",
            "default: \"https://a.test/login\"",
            "- post: \"{{ login }}\"",
            "form: { remember: \"yes\", user: ann }",
            "contains: [Hello]",
        ],
        "submitForm()",
    );
}

#[test]
fn links_are_followed() {
    check(
        "const r = http.get(B); r.clickLink({ selector: 'a.next' }); r.clickLink();",
        &[
            "css: a.next",
            "css: \"a[href]\"",
            "attribute: href",
            "get: \"{{ next }}\"",
        ],
    );
}

#[test]
fn a_batch_of_a_page_and_its_files_is_a_page() {
    check(
        "http.batch([['GET', B + '/shop'], ['GET', B + '/app.js?v=1'], ['GET', 'https://cdn.test/a.css', null, { headers: { 'X-A': '1' } }]]);",
        &[
            "- page: /shop",
            "resources:",
            "- get: /app.js?v=1",
            "- get: https://cdn.test/a.css",
            "headers: { X-A: \"1\" }",
        ],
    );
    for body in [
        "http.batch([B + '/api/a', B + '/a.css']);",
        "http.batch([B + '/a', B + '/b']);",
        "http.batch([['POST', B + '/shop'], B + '/b.js']);",
    ] {
        check_with_loss(
            body,
            &["follow: 10"],
            "that http.batch() sends its requests at once",
        );
    }
}

#[test]
fn a_success_may_stand_behind_a_redirect() {
    check(
        "check(http.get(B), { a: (r) => r.status === 200 });\n\
         check(http.get(B + '/x', { redirects: 0 }), { a: (r) => r.status === 200 });\n\
         check(http.get(B + '/y'), { a: (r) => r.status === 404 });",
        &[
            "expect: { status: [200, 3xx] }",
            "expect: { status: 200 }",
            "expect: { status: 404 }",
        ],
    );
}

#[test]
fn whether_a_value_is_a_list_is_known_at_run_time() {
    check(
        "check(http.get(B), { list: (r) => Array.isArray(r.json('items')) });",
        &[r#"json: { "$.items": { regex: '^\[' } }"#],
    );
    check(
        "const l = http.get(B).json('items'); if (Array.isArray(l) && l.length > 0) { http.get(`${B}/${l[0].id}`); }",
        &["matches", "get: \"/{{ id }}\""],
    );
}

#[test]
fn a_check_that_is_never_true_is_lost() {
    check_with_loss(
        "check(http.get(B), { never: (r) => 1 > 2 });",
        &["get: /"],
        "lost: check 'never': it is false whatever the response is",
    );
}

#[test]
fn a_response_of_a_branch_is_no_text() {
    check(
        "let res = http.get(B); if (Math.random() < 0.5) { res = http.get(`${B}/a`); check(res, { ok: (r) => r.status === 200 }); } \
         res = http.get(`${B}/b`); check(res, { ok: (r) => r.status === 200 });",
        &["weight: 0.5", "get: /b\n"],
    );
}

#[test]
fn a_description_of_k6chaijs_is_a_group() {
    let text = "import http from 'k6/http';\n\
        import { describe, expect } from 'https://jslib.k6.io/k6chaijs/4.3.4.3/index.js';\n\
        export default function () {\n  describe('crocodiles', () => {\n    const res = http.get('https://a.test/c');\n\
        expect(res.status, 'status').to.equal(200);\n  });\n}\n";
    let imported = imported_with(text, &[]).unwrap();
    assert!(
        imported.plan.contains("- group: crocodiles\n"),
        "{}",
        imported.plan
    );
    let [loss] = &imported.losses[..] else {
        panic!("{:#?}", imported.losses);
    };
    assert!(
        loss.to_string()
            .starts_with("test.js:6:1: lost: expect() of k6chaijs: "),
        "{loss}"
    );
}

#[test]
fn a_list_with_items_is_a_condition() {
    for (condition, expected) in [
        ("l.length > 0", "- if: \"{{ items }}\""),
        ("l.length", "- if: \"{{ items }}\""),
        ("l.length === 0", "- if: \"not {{ items }}\""),
    ] {
        check(
            &format!(
                "const l = http.get(B).json('items'); if ({condition}) {{ http.get(`${{B}}/a`); }}"
            ),
            &["items: { json: \"$.items[0]\", default: \"\" }", expected],
        );
    }
}
