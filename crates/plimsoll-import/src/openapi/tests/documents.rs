//! Whole documents, and what is lost of them.

use proptest::prelude::*;

use super::*;

/// A document with most of what there is.
const SHOP: &str = include_str!("shop.yaml");

fn losses(imported: &Imported) -> Vec<String> {
    imported.losses.iter().map(ToString::to_string).collect()
}

#[test]
fn a_document_becomes_a_plan() {
    let imported = imported(SHOP);
    let text = format!("{}\n{}", imported.plan, losses(&imported).join("\n"));
    insta::assert_snapshot!(text);
}

#[test]
fn a_site_of_the_command_line_takes_the_place_of_the_server() {
    let text = document(
        "  /a: { get: {} }\n  /b: { get: { servers: [{ url: https://b.example }] } }\n",
        "",
    );
    let script = Script {
        name: "a.yaml",
        text: &text,
        files: &Folder::default(),
    };
    let options = ScriptOptions {
        target: Some("http://127.0.0.1:8080/api".to_owned()),
        ..ScriptOptions::default()
    };
    let plan = import(&script, &options).unwrap().plan;
    assert!(
        plan.contains("target: http://127.0.0.1:8080/api\n"),
        "{plan}"
    );
    assert!(
        plan.contains("get: /a\n") && plan.contains("get: https://b.example/b\n"),
        "{plan}"
    );
}

#[test]
fn servers_have_variables_and_may_be_relative() {
    let target = |servers: &str| {
        let text = format!("openapi: 3.0.3\nservers: {servers}\npaths: {{ /a: {{ get: {{}} }} }}");
        let plan = imported(&text).plan;
        let line = plan.lines().find(|line| line.starts_with("target: "));
        line.unwrap().to_owned()
    };
    let with_variables = "[{ url: 'https://{host}.example:{port}/{base}', variables: { host: { default: eu }, port: { enum: ['8443'] }, base: { default: v2 } } }]";
    assert_eq!(target(with_variables), "target: https://eu.example:8443/v2");
    assert_eq!(
        target("[{ url: /api/v3 }]"),
        "target: \"{{ env('TARGET', 'http://target.invalid') }}/api/v3\""
    );
    assert!(target("[]").contains("{{ env('TARGET'"));
    assert_eq!(
        target("[{ url: //x.example/ }]"),
        "target: https://x.example"
    );
    assert_eq!(
        target("[{ url: 'https://{x}.example' }]"),
        "target: \"https://{{ env('X', 'unset') }}.example\""
    );
}

#[test]
fn references_lead_into_files_and_around() {
    let folder = Folder(HashMap::from([
        (
            "paths/pets.yaml",
            "get: { parameters: [{ $ref: '../common.yaml#/limit' }] }\npost: { requestBody: { content: { application/json: { schema: { $ref: '../openapi.yaml#/components/schemas/Pet' } } } } }",
        ),
        (
            "common.yaml",
            "limit: { name: limit, in: query, required: true, schema: { $ref: '#/max' } }\nmax: { type: integer, minimum: 7, maximum: 7 }",
        ),
    ]));
    let text = document(
        "  /pets: { $ref: ./paths/pets.yaml }\n",
        "components: { schemas: { Pet: { properties: { name: { const: Rex }, mate: { $ref: '#/components/schemas/Pet' } } } } }",
    );
    let imported = import_with(&text, &folder).unwrap();
    assert!(imported.plan.contains("/pets?limit=7"), "{}", imported.plan);
    assert!(
        imported.plan.contains("json: { name: Rex }"),
        "{}",
        imported.plan
    );
    assert_eq!(imported.losses, []);
}

/// The specification has none there; documents of several files do.
#[test]
fn operations_may_be_references() {
    let folder = Folder(HashMap::from([(
        "list.yaml",
        "tags: [pets]\nparameters: [{ name: n, in: query, required: true, schema: { const: 5 } }]",
    )]));
    let text = document(
        "  /a: { get: { $ref: list.yaml }, put: { $ref: gone.yaml } }\n  /b: { get: {} }\n",
        "",
    );
    let imported = import_with(&text, &folder).unwrap();
    assert!(imported.plan.contains("/a?n=5"), "{}", imported.plan);
    assert!(imported.plan.contains("  pets:\n"), "{}", imported.plan);
    assert!(
        losses(&imported)[0].contains("operation put /a: no file gone.yaml"),
        "{imported:#?}"
    );
}

#[test]
fn what_cannot_be_resolved_is_named() {
    let text = document(
        "  /a: { $ref: gone.yaml }\n  /b: { get: { parameters: [{ name: q, in: query, required: true, schema: { $ref: '#/nothing' } }] } }\n  /c/{id}: { get: {} }\n",
        "",
    );
    let imported = imported(&text);
    assert!(
        losses(&imported)[0].contains("paths /a ($ref gone.yaml): no file gone.yaml"),
        "{imported:#?}"
    );
    assert!(
        imported.plan.contains("/b?q={{ urlencode(env('Q')) }}"),
        "{}",
        imported.plan
    );
    assert!(
        imported.plan.contains("/c/{{ urlencode(env('ID')) }}"),
        "{}",
        imported.plan
    );
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.contains("set `Q` before a run")),
        "{imported:#?}"
    );
}

#[test]
fn remote_references_are_refused_with_their_place() {
    let text = document(
        "  /a: { get: { responses: { 200: { $ref: 'https://x.example/r.yaml#/r' } } } }\n",
        "",
    );
    let error = import_with(&text, &Folder::default()).unwrap_err();
    assert_eq!((error.line, error.column), (6, 42), "{error}");
    assert!(
        error
            .to_string()
            .contains("a remote $ref is refused: https://x.example/r.yaml#/r"),
        "{error}"
    );
    let example = document(
        "  /a: { get: { x-more: { $ref: 'https://x.example' } } }\n",
        "",
    );
    assert!(import_with(&example, &Folder::default()).is_ok());
}

#[test]
fn other_documents_are_refused_with_what_to_do() {
    for (text, expected) in [
        ("swagger: '2.0'\npaths: {}", "swagger2openapi"),
        (
            "openapi: 4.0.0\npaths: {}",
            "OpenAPI `4.0.0` is not supported",
        ),
        ("hello", "`openapi` is missing"),
        ("", "empty"),
        ("{\"openapi\": \"3.0.0\"", "1:"),
        ("openapi: 3.0.0\npaths: {}", "no request was found"),
    ] {
        let error = import_with(text, &Folder::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// Each schema names the next ones twice, and each reference leads through another.
#[test]
fn references_that_double_are_bounded() {
    use std::fmt::Write as _;

    let mut schemas = String::new();
    for level in 0..40 {
        let next = level + 1;
        let _ = write!(
            schemas,
            "    A{level}: {{ allOf: [{{ $ref: '#/components/schemas/A{next}' }}, {{ $ref: '#/components/schemas/A{next}' }}] }}\n    R{level}: {{ required: [a, b], properties: {{ a: {{ $ref: '#/components/schemas/R{next}' }}, b: {{ $ref: '#/components/schemas/R{next}' }} }} }}\n    P{level}: {{ $ref: '#/components/schemas/P{next}/x/x' }}\n"
        );
    }
    let body = |name: &str| {
        format!(
            "post: {{ requestBody: {{ content: {{ application/json: {{ schema: {{ $ref: '#/components/schemas/{name}0' }} }} }} }} }}"
        )
    };
    let paths = format!(
        "  /a: {{ {} }}\n  /r: {{ {} }}\n  /p: {{ {} }}\n",
        body("A"),
        body("R"),
        body("P")
    );
    let text = document(&paths, &format!("components:\n  schemas:\n{schemas}"));
    let imported = imported(&text);
    assert!(imported.plan.len() < 100_000, "{}", imported.plan.len());
}

/// An example of 8 MiB in 100 operations.
#[test]
fn the_plan_is_bounded() {
    use std::fmt::Write as _;

    let mut paths = String::new();
    for number in 0..100 {
        let _ = writeln!(
            paths,
            "  /{number}: {{ put: {{ requestBody: {{ $ref: '#/components/requestBodies/Long' }} }} }}"
        );
    }
    let example = "x".repeat(8 << 20);
    let more = format!(
        "components: {{ requestBodies: {{ Long: {{ content: {{ text/plain: {{ example: {example} }} }} }} }} }}"
    );
    let imported = imported(&document(&paths, &more));
    assert!(imported.plan.len() < 17 << 20);
    assert_eq!(imported.losses.len(), 99);
    assert!(
        losses(&imported)[0].contains("longer than 16 MiB"),
        "{:?}",
        imported.losses[0]
    );
}

#[test]
fn equal_seeds_give_equal_plans() {
    assert_eq!(imported(SHOP), imported(SHOP));
}

/// A document with a part of another one in the place of one of its own.
fn mutated(from: usize, len: usize, source: usize, source_len: usize) -> String {
    let lines: Vec<&str> = SHOP.lines().collect();
    let cut = |start: usize, len: usize| {
        let start = start % lines.len();
        &lines[start..(start + len).min(lines.len())]
    };
    let start = from % lines.len();
    let mut text: Vec<&str> = lines[..start].to_vec();
    text.extend(cut(source, source_len));
    text.extend(&lines[(start + len).min(lines.len())..]);
    text.join("\n")
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), key in "[a-z$]{1,12}", value in "[\\[\\]{}#/a-z0-9, :'*&]{0,40}") {
        let _ = import_with(&text, &Folder::default());
        let _ = import_with(&document(&format!("  /a: {{ get: {{ {key}: {value} }} }}\n"), ""), &Folder::default());
    }

    #[test]
    fn no_changed_document_makes_it_panic(from in 0_usize..999, len in 0_usize..9, source in 0_usize..999, source_len in 0_usize..9) {
        let _ = import_with(&mutated(from, len, source, source_len), &Folder::default());
    }
}
