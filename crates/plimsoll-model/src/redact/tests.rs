use proptest::prelude::*;

use super::*;

const SECRET: &str = "hunter2-S3cr3t";

#[test]
fn secrets_are_known_by_their_names_however_they_are_written() {
    for name in [
        "token",
        "TOKEN",
        "access_token",
        "%74oken",
        "t%6Fken",
        "%2574oken",
        "user[password]",
        "apiKey",
        "X-Api-Key",
        "api.key",
        "sessionId",
        "JSESSIONID",
        "PHPSESSID",
        "Authorization",
        "authorization",
        "Proxy-Authorization",
        "Cookie",
        "Set-Cookie",
        "X-Amz-Signature",
        "X-Amz-Security-Token",
        "X-Amz-Credential",
        "AWSAccessKeyId",
        "client_secret",
        "jwt",
        "sig",
        "key",
        "code",
        "auth",
        "pwd",
        "passwd",
        "PGPASSWORD",
        "credentials",
        "csrf_token",
        "id_token_hint",
        "connect.sid.session",
    ] {
        assert!(is_secret(name), "{name}");
    }
    for name in [
        "Accept",
        "page",
        "id",
        "country_code",
        "keyword",
        "monkey",
        "author",
        "encoding",
        "design",
        "signal",
        "q",
        "",
        "%",
        "%zz",
        "statusCode",
    ] {
        assert!(!is_secret(name), "{name}");
    }
}

#[test]
fn every_secret_of_a_target_is_masked_and_nothing_else() {
    for (written, shown) in [
        (
            "/a?token=§&authorization=§",
            "/a?token=[redacted]&authorization=[redacted]",
        ),
        (
            "/a?page=2&access_token=§&x",
            "/a?page=2&access_token=[redacted]&x",
        ),
        (
            "/a?%74oken=§;SIG=§;p=1",
            "/a?%74oken=[redacted];SIG=[redacted];p=1",
        ),
        (
            "/cb?a=1#access_token=§&state=4",
            "/cb?a=1#access_token=[redacted]&state=4",
        ),
        (
            "/cart;jsessionid=§/item?x=1",
            "/cart;jsessionid=[redacted]/item?x=1",
        ),
        ("/a?password=§;§&b=1", "/a?password=[redacted];&b=1"),
        ("/a?password=§?§&b=1", "/a?password=[redacted]?&b=1"),
        (
            "/a?next=https%3A%2F%2Fb%2F%3Fcode%3D§&b=1",
            "/a?next=[redacted]&b=1",
        ),
        (
            "/a?next=https%253A%252F%252Fb%253Ftoken%253D§",
            "/a?next=[redacted]",
        ),
        ("/a?next=https%3A%2F%2Fu%3A§%40b%2F", "/a?next=[redacted]"),
        ("/a?next=/b?token=§", "/a?next=/b?token=[redacted]"),
        ("/a?token=&b=1", "/a?token=&b=1"),
        ("/a?page=2&q=a%20b", "/a?page=2&q=a%20b"),
        ("/key=1/a", "/key=1/a"),
        ("*", "*"),
        ("", ""),
    ] {
        assert_eq!(
            target(&written.replace('§', SECRET)),
            shown.replace('§', SECRET),
            "{written}"
        );
    }
}

#[test]
fn logins_of_urls_and_data_sources_are_masked() {
    for (written, shown) in [
        (
            "postgres://u:§@h:5/d?password=§&sslmode=off",
            "postgres://[redacted]@h:5/d?password=[redacted]&sslmode=off",
        ),
        ("http://§@h/", "http://[redacted]@h/"),
        ("http://u:a/§@h/x", "http://[redacted]@h/x"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("http://h/a@b", "http://h/a@b"),
    ] {
        let written = written.replace('§', SECRET);
        assert_eq!(url(&written), shown, "{written}");
        assert_eq!(text(&written), shown, "{written}");
    }
}

#[test]
fn texts_show_no_secret_and_stay_legible() {
    for (written, shown) in [
        (
            "cannot ask http://u:§@h/p?token=§: refused",
            "cannot ask http://[redacted]@h/p?token=[redacted]: refused",
        ),
        (
            "host=db password=§ user=me",
            "host=db password=[redacted] user=me",
        ),
        (
            "host=db password = '§ §' user=me",
            "host=db password = '[redacted]' user=me",
        ),
        ("root:§@tcp(db:3306)/shop", "[redacted]@tcp(db:3306)/shop"),
        ("Server=h;Pwd=§;Database=d", "Server=h;Pwd=[redacted]"),
        (
            "jdbc:mysql://h/d?user=u&password=§",
            "jdbc:mysql://h/d?user=u&password=[redacted]",
        ),
        (
            "`Authorization: Bearer §` is no header",
            "`Authorization: [redacted]` is no header",
        ),
        ("Cookie: a=§; b=§\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("Set-Cookie: sid=§; Path=/", "Set-Cookie: [redacted]"),
        (
            "{\"password\":\"§\\\"§\",\"name\":\"ada\"}",
            "{\"password\":\"[redacted]\",\"name\":\"ada\"}",
        ),
        ("{'code': '§'}", "{'code': '[redacted]'}"),
        ("  password: § §", "  password: [redacted]"),
        (
            "app --token § --port 80",
            "app --token [redacted] --port 80",
        ),
        ("app --token=§ -v", "app --token=[redacted] -v"),
        ("used bearer §, twice", "used bearer [redacted] twice"),
        (
            "POST /a?session={{ user }}§&p=2",
            "POST /a?session=[redacted]&p=2",
        ),
        ("/a?token={{ user }}&b=1", "/a?token={{ user }}&b=1"),
        ("eyJhbGciOi.eyJzdWIi.c2ln is old", "[redacted] is old"),
    ] {
        assert_eq!(
            text(&written.replace('§', SECRET)),
            shown.replace('§', SECRET),
            "{written}"
        );
    }
    for plain in [
        "plan.yaml:3:5: `password` is not known here; did you mean `passwords`?",
        "cannot read token.txt: No such file or directory",
        "cannot read /run/secrets/db-password: Permission denied",
        "exit code: 3",
        "key: expected a text",
        "https://h:8080/a?page=2#top",
        "the session of ada ended; Basic things work",
        "password: {{ env('PASSWORD') }}",
        "with a login { at: …, user: …, password: … }",
        "token=[redacted]",
        "a::b::token::c",
    ] {
        assert_eq!(text(plain), plain);
        assert!(matches!(text(plain), Cow::Borrowed(_)), "{plain}");
    }
}

#[test]
fn tokens_of_agents_are_secrets() {
    let line = "--agent plimsoll1-AbCdEfGhIjKlMnOpQrStUvWxYz0123";
    assert_eq!(text(line), "--agent [redacted]");
    let prefix = "it begins with plimsoll1-";
    assert_eq!(text(prefix), prefix);
}

#[test]
fn commands_show_no_secret() {
    let words = [
        "app",
        "--token",
        "§",
        "-u",
        "ada:§",
        "PGPASSWORD=§",
        "--key=§",
        "http://u:§@h/",
        "--port",
        "80",
    ];
    let words = words.map(|word| word.replace('§', SECRET));
    let shown = command(words.iter().map(String::as_str)).join(" ");
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(shown.ends_with("--port 80"), "{shown}");
}

/// One token in 64 does.
#[test]
fn a_secret_may_begin_with_a_hyphen() {
    for secret in ["-Ab3_xyZ", "--7f2c"] {
        let shown = command(["app", "--token", secret, "--port", "80"]);
        assert_eq!(shown, ["app", "--token", REDACTED, "--port", "80"]);
    }
    for flag in ["--listen", "--log.level=info", "-v", "-9"] {
        let plain = ["app", "--token", flag, "80"];
        assert_eq!(command(plain), plain);
    }
}

#[test]
fn texts_show_the_files_of_secrets() {
    for (written, shown) in [
        (
            "app --token-file /run/t --token § /run/u",
            "app --token-file /run/t --token [redacted] /run/u",
        ),
        (
            "app --token-file password=§ -v",
            "app --token-file password=[redacted] -v",
        ),
        ("app --tokenfile § -v", "app --tokenfile [redacted] -v"),
        ("/a?token_file=§&b=1", "/a?token_file=[redacted]&b=1"),
    ] {
        let written = written.replace('§', SECRET);
        assert_eq!(text(&written), shown, "{written}");
    }
    for plain in [
        "a hub is required by --hub-publish-token-file in the command",
        "plimsoll edge --admin-token-file /run/secrets/token --listen :80",
        "plimsoll edge --admin-token-file=/run/secrets/token",
        "mysqld --master-password_FILE /run/p",
        "cannot read /run/secrets/token (mode 0644): Permission",
    ] {
        assert_eq!(text(plain), plain);
    }
}

#[test]
fn commands_show_the_files_of_secrets() {
    let words = [
        "app",
        "--admin-token-file",
        "/run/t",
        "--password-file=/run/p",
        "-token-file",
        "/run/u",
        "--token",
        SECRET,
        "/run/v",
        "--tokenfile",
        SECRET,
        "TOKEN_FILE=/run/w",
    ];
    let right = "app --admin-token-file /run/t --password-file=/run/p -token-file /run/u \
                 --token [redacted] /run/v --tokenfile [redacted] TOKEN_FILE=[redacted]";
    assert_eq!(command(words).join(" "), right);
}

fn name_of_secret() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "token",
        "authorization",
        "access_token",
        "api_key",
        "apikey",
        "key",
        "sig",
        "signature",
        "password",
        "passwd",
        "secret",
        "code",
        "session",
        "jwt",
        "auth",
        "credentials",
        "X-Amz-Signature",
    ]);
    (name, prop::collection::vec(0_u8..4, 24)).prop_map(|(name, ways)| {
        let written = name
            .bytes()
            .zip(ways.into_iter().cycle())
            .map(|(byte, way)| match way {
                0 => format!("%{byte:02x}"),
                1 => format!("%{byte:02X}"),
                2 => char::from(byte.to_ascii_uppercase()).to_string(),
                _ => char::from(byte).to_string(),
            });
        written.collect()
    })
}

proptest! {
    #[test]
    fn no_target_shows_a_planted_secret(
        start in "/[a-z/;=.]{0,12}",
        marks in prop::collection::vec((prop::sample::select(vec!['?', '&', ';', '#']), name_of_secret(), "[a-z]{1,5}=[a-z0-9]{0,5}"), 1..6),
    ) {
        let mut written = start;
        for (index, (mark, name, other)) in marks.into_iter().enumerate() {
            let mark = if index == 0 { '?' } else { mark };
            written = format!("{written}{mark}{name}={SECRET}&{other}");
        }
        for shown in [target(&written), url(&written), text(&written)] {
            prop_assert!(!shown.contains("S3cr3t"), "{} of {}", shown, written);
        }
    }

    #[test]
    fn any_text_is_taken_and_what_was_masked_stays(text in "\\PC{0,80}|[a-z=:;&?#/@%\"' {}\\[\\].-]{0,80}") {
        for mask in [super::text, target, url, query] {
            let once = mask(&text).into_owned();
            prop_assert_eq!(mask(&once), once.as_str());
        }
    }
}
