use super::*;

fn read_action(line: &str) -> ScriptAction {
    let reply = read(line.as_bytes(), "/app").unwrap();
    assert_eq!(reply.user, 7);
    reply.action
}

fn read_error(line: &str) -> String {
    match read(line.as_bytes(), "") {
        Err(Nonsense::OfUser(7, error) | Nonsense::OfNobody(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_says_all_that_a_step_can() {
    let line = r#"{"user":7,"think_ms":1500,"request":{"method":"POST","path":"/login?a=1","headers":{"X-A":"b"},
        "form":{"name":"a b"},"follow":3,"timeout_ms":2000,"once":true,"body_max":100,
        "expect":{"status":[200,"3xx"],"location":"/home","headers":{"X-C":"d"},"contains":"yes","lacks":["no","never"],
        "within_ms":800}}}"#;
    let ScriptAction::Request(asked, pause) = read_action(line) else {
        panic!("a request");
    };
    assert_eq!(pause, Some(1_500_000_000));
    assert_eq!(asked.label, "POST /login");
    assert!(asked.once);
    assert_eq!(asked.body_len_max, 100);
    let step = asked.step;
    assert_eq!((step.method.as_str(), step.follow), ("POST", 3));
    assert_eq!(step.url, TextTemplate::literal("/app/login?a=1"));
    assert_eq!(step.timeout, Some(Duration::from_secs(2)));
    let fields = vec![("name".to_owned(), TextTemplate::literal("a b"))];
    assert_eq!(step.body, RequestBody::Form(fields));
    let status = GoodStatus {
        ranges: vec![(200, 200), (300, 399)],
    };
    assert_eq!(step.expectations.len(), 7);
    assert_eq!(step.expectations[0], Expectation::Status(status));
}

#[test]
fn what_is_left_out_has_its_default() {
    let ScriptAction::Request(asked, None) = read_action(r#"{"user":7,"request":{"path":"/a?b"}}"#)
    else {
        panic!("a request");
    };
    assert_eq!(asked.label, "GET /a");
    assert_eq!((asked.once, asked.body_len_max), (false, BODY_LEN));
    assert_eq!(asked.step.body, RequestBody::Empty);
    let whole = r#"{"user":7,"request":{"path":"https://b.example/x"}}"#;
    let ScriptAction::Request(asked, _) = read_action(whole) else {
        panic!("a request");
    };
    assert_eq!(asked.step.url, TextTemplate::literal("https://b.example/x"));
}

#[test]
fn pauses_and_ends_are_read() {
    assert_eq!(
        read_action(r#"{"user":7,"think_ms":0.5}"#),
        ScriptAction::Think(500_000)
    );
    assert_eq!(
        read_action(r#"{"user":7,"end":"ok"}"#),
        ScriptAction::End(None)
    );
    let failed = read_action(r#"{"user":7,"end":"fail","reason":"no token"}"#);
    assert_eq!(failed, ScriptAction::End(Some("no token".to_owned())));
}

#[test]
fn nonsense_says_what_is_wrong_and_whose_it_is() {
    for (line, expected) in [
        ("hello", "hello: expected value at line 1 column 1"),
        (r#"{"end":"ok"}"#, "missing field `user`"),
        (
            r#"{"user":7}"#,
            "one of `request`, `think_ms` and `end` is required",
        ),
        (
            r#"{"user":7,"end":"ok","think_ms":1}"#,
            "`end` excludes all other fields",
        ),
        (
            r#"{"user":7,"end":"done"}"#,
            "unknown variant `done`, expected `ok` or `fail`",
        ),
        (
            r#"{"user":7,"think_ms":-1}"#,
            "`think_ms` is -1, must be 0 to 86400000",
        ),
        (r#"{"user":7,"request":{"pth":"/"}}"#, "unknown field `pth`"),
        (
            r#"{"user":7,"request":{"path":"/","headers":{"a b":"c"}}}"#,
            "invalid header name \"a b\"",
        ),
        (
            r#"{"user":7,"request":{"path":"/","body":"a","json":1}}"#,
            "at most one of `body`, `form` and `json` is allowed",
        ),
        (
            r#"{"user":7,"request":{"path":"/","follow":99}}"#,
            "`follow` is 99, must be 0 to 50",
        ),
        (
            r#"{"user":7,"request":{"path":"/","expect":{"status":"2x"}}}"#,
            "100 to 999 or a class",
        ),
        (
            r#"{"user":7,"request":{"path":"/","timeout_ms":0}}"#,
            "must be above 0",
        ),
        (
            r#"{"user":7,"end":"ok","reason":"x"}"#,
            "`reason` is allowed only",
        ),
    ] {
        let error = read_error(line);
        assert!(error.contains(expected), "{line}: {error}");
    }
    let known = read(br#"{"user":7,"end":"done"}"#, "");
    assert!(matches!(known, Err(Nonsense::OfUser(7, _))));
    assert!(matches!(read(b"[]", ""), Err(Nonsense::OfNobody(_))));
}

#[test]
fn events_are_lines_of_json() {
    let stop = Plain {
        user: 7,
        event: "stop",
    };
    assert_eq!(line(&stop), br#"{"user":7,"event":"stop"}"#);
}
