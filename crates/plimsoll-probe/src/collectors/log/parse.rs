//! Log lines that report failures, by class.

/// A failure reported by a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoggedFailure {
    /// Its class: one of [`NGINX_CLASSES`], or the first two letters of HAProxy's termination state.
    pub(crate) class: String,
    /// The upstream, server or limit zone concerned; empty where the line names none.
    pub(crate) of: String,
}

/// Texts of nginx' error log, and the class of each.
pub(crate) const NGINX_CLASSES: [(&str, &str); 11] = [
    ("worker_connections are not enough", "places"),
    ("no live upstreams", "no upstream"),
    ("limiting requests", "limited"),
    ("limiting connections", "limited"),
    ("delaying request", "limited"),
    ("buffered to a temporary file", "buffered"),
    ("(24: Too many open files)", "descriptors"),
    ("(99: Cannot assign requested address)", "ports"),
    ("(11: Resource temporarily unavailable)", "socket backlog"),
    ("while connecting to upstream", "connect"),
    ("while reading response header from upstream", "answer"),
];

/// Texts of lines that look like failures but are not: an upstream marked as failed has had a line of its own, and
/// a limit in dry run delays nothing.
const NGINX_NO_FAILURES: [&str; 2] = ["upstream server temporarily disabled", ", dry run"];

/// HAProxy's termination states of failures, from `doc/configuration.txt`, section 8.5.
pub(crate) const HAPROXY_CLASSES: [&str; 14] = [
    "sQ", "SC", "sC", "sH", "SH", "sD", "SD", "PC", "RC", "PH", "CQ", "CH", "CD", "cD",
];

/// Class of PHP-FPM's slow log.
pub(crate) const PHP_CLASSES: [&str; 1] = ["slow"];
/// Longest script position that is kept, characters.
const PLACE_LEN_MAX: usize = 160;

/// The failure in a line of nginx' error log.
pub(crate) fn nginx(line: &str) -> Option<LoggedFailure> {
    // The text after the client's address is partly controlled by clients.
    let (message, about) = line.split_once(", client: ").unwrap_or((line, line));
    if NGINX_NO_FAILURES.iter().any(|text| message.contains(text)) {
        return None;
    }
    let (_, class) = NGINX_CLASSES
        .iter()
        .find(|(text, _)| message.contains(text))?;
    if let Some((_, zone)) = message.split_once("by zone \"") {
        return Some(LoggedFailure {
            class: (*class).to_owned(),
            of: format!("zone {}", zone.split('"').next().unwrap_or_default()),
        });
    }
    let upstream = about.split_once("upstream: \"").map(|(_, rest)| rest);
    let upstream = upstream
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default();
    // Of a URL the address; a path may hold anything.
    let upstream = match upstream.split_once("://") {
        Some(("http" | "https" | "fastcgi" | "uwsgi" | "scgi" | "memcached" | "grpc", rest)) => {
            let rest = rest.strip_prefix("unix:").unwrap_or(rest);
            if rest.starts_with('/') {
                rest.split(':').next().unwrap_or_default()
            } else {
                rest.split('/').next().unwrap_or_default()
            }
        }
        _ => "",
    };
    Some(LoggedFailure {
        class: (*class).to_owned(),
        of: upstream.to_owned(),
    })
}

/// The failure in a line of HAProxy's HTTP log; `None` for a success or another kind of line.
pub(crate) fn haproxy(line: &str) -> Option<LoggedFailure> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // The times of a request, `TR/Tw/Tc/Tr/Ta`, are after the server and before status and length.
    let is_times = |word: &&str| {
        word.matches('/').count() == 4
            && word
                .split('/')
                .all(|time| time.trim_start_matches('+').parse::<i64>().is_ok())
    };
    let at = words.iter().position(is_times)?;
    let server = words.get(at.checked_sub(1)?)?;
    // Status, length, two cookies, and how it ended.
    let end = words.get(at + 5)?;
    let class = end.get(..2)?;
    HAPROXY_CLASSES.contains(&class).then(|| LoggedFailure {
        class: class.to_owned(),
        of: (*server).to_owned(),
    })
}

/// The failure in a line of PHP-FPM's slow log, with the line before it: the innermost call of a slow request
/// follows the script's name, `[0x00007f2c] sleep() /srv/www/index.php:3`.
pub(crate) fn php_slow(before: &str, line: &str) -> Option<LoggedFailure> {
    if !before.starts_with("script_filename = ") {
        return None;
    }
    let (_, call) = line.strip_prefix("[0x")?.split_once("] ")?;
    Some(LoggedFailure {
        class: PHP_CLASSES[0].to_owned(),
        of: call.chars().take(PLACE_LEN_MAX).collect(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn failure(class: &str, of: &str) -> LoggedFailure {
        LoggedFailure {
            class: class.to_owned(),
            of: of.to_owned(),
        }
    }

    #[test]
    fn lines_of_nginx_are_classed() {
        for (line, right) in [
            (
                "2026/11/22 10:00:00 [alert] 7#7: *9 24 worker_connections are not enough while connecting to upstream, client: \
                 127.0.0.1, upstream: \"http://127.0.0.1:8081/a,b\", host: \"x\"",
                Some(failure("places", "127.0.0.1:8081")),
            ),
            (
                "… connect() to unix:/run/php.sock failed (11: Resource temporarily unavailable) while connecting to upstream, \
                 upstream: \"fastcgi://unix:/run/php.sock:\"",
                Some(failure("socket backlog", "/run/php.sock")),
            ),
            (
                "… connect() failed (111: Connection refused) while connecting to upstream, upstream: \"http://[::1]:1/\"",
                Some(failure("connect", "[::1]:1")),
            ),
            // Of nginx 1.22.
            (
                "2026/11/23 12:06:05 [error] 30498#30498: *10 limiting requests, excess: 0.981 by zone \"few\", client: 127.0.0.1, \
                 server: , request: \"GET /rare HTTP/1.1\", host: \"127.0.0.1:39180\"",
                Some(failure("limited", "zone few")),
            ),
            (
                "2026/11/23 12:06:05 [error] 30498#30498: *6 no live upstreams while connecting to upstream, client: 127.0.0.1, \
                 server: , request: \"GET /gone HTTP/1.1\", upstream: \"http://gone/gone\", host: \"127.0.0.1:39180\"",
                Some(failure("no upstream", "gone")),
            ),
            (
                "2026/11/23 12:06:05 [warn] 30498#30498: *11 an upstream response is buffered to a temporary file /tmp/0000000001 \
                 while reading upstream, client: 127.0.0.1, server: , request: \"GET /large HTTP/1.1\", upstream: \
                 \"http://127.0.0.1:39180/blob\", host: \"127.0.0.1:39180\"",
                Some(failure("buffered", "127.0.0.1:39180")),
            ),
            (
                "2026/11/23 12:06:05 [warn] 30498#30498: *3 upstream server temporarily disabled while connecting to upstream, \
                 client: 127.0.0.1, server: , request: \"GET /gone HTTP/1.1\", upstream: \"http://127.0.0.1:39181/gone\"",
                None,
            ),
            (
                "… limiting connections, dry run by zone \"few\", client: 127.0.0.1",
                None,
            ),
            (
                "… open() \"/rare\" failed (2: No such file or directory), client: 127.0.0.1, server: , referrer: \"no live \
                 upstreams\"",
                None,
            ),
            ("… [notice] start worker process 5", None),
        ] {
            assert_eq!(nginx(line), right, "{line}");
        }
    }

    #[test]
    fn lines_of_haproxy_are_classed() {
        let line = "<134>Nov 22 10:00:00 haproxy[9]: 127.0.0.1:5 [22/Nov/2026:10:00:00.000] web app/s1 0/5000/-1/-1/5000 503 \
            217 - - sQ-- 50/50/49/4/0 0/40 \"GET / HTTP/1.1\"";
        assert_eq!(haproxy(line), Some(failure("sQ", "app/s1")));
        assert_eq!(haproxy(&line.replace("sQ--", "----")), None);
        assert_eq!(haproxy("0/0/0/0/0"), None);
    }

    #[test]
    fn the_innermost_call_of_a_slow_request() {
        let script = "script_filename = /srv/www/index.php";
        let call = "[0x00007f2c12345670] PDOStatement->execute() /srv/www/db.php:12";
        let right = failure("slow", "PDOStatement->execute() /srv/www/db.php:12");
        assert_eq!(php_slow(script, call), Some(right));
        assert_eq!(php_slow(call, call), None);
        assert_eq!(php_slow(script, "no call"), None);
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(line in ".{0,300}") {
            let _ = (nginx(&line), haproxy(&line));
            let _ = php_slow("script_filename = ", &format!("[0x{line}"));
        }
    }
}
