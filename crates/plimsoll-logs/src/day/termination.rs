//! `HAProxy`'s termination states in words.
//!
//! The characters are those of HAProxy's configuration manual, section "Session state at disconnection".

/// First character: who ended the session.
const CAUSES: [(char, &str); 13] = [
    ('-', "ended normally"),
    ('C', "aborted by the client"),
    ('S', "aborted or refused by the server"),
    (
        'P',
        "ended by HAProxy itself: a limit, a deny rule, or an invalid answer",
    ),
    (
        'L',
        "answered by HAProxy itself: a redirect, statistics, or a rule",
    ),
    (
        'R',
        "HAProxy lacked a resource: memory, sockets or source ports",
    ),
    ('I', "HAProxy found an internal error"),
    (
        'D',
        "ended because the server was found down (on-marked-down shutdown-sessions)",
    ),
    (
        'U',
        "ended on a backup server because a main one came up (on-marked-up shutdown-backup-sessions)",
    ),
    ('K', "ended by an administrator"),
    ('c', "the client was too slow: timeout client"),
    (
        's',
        "the server was too slow: timeout server, connect or queue",
    ),
    ('T', "ended in the tarpit"),
];

/// Second character: what went on then.
const PHASES: [(char, &str); 9] = [
    ('-', "after everything was transferred"),
    ('R', "while the request was incomplete"),
    ('Q', "while it waited in a queue for a server"),
    ('C', "while it connected to the server"),
    ('H', "while it waited for the head of the answer"),
    ('D', "while data was transferred"),
    (
        'L',
        "while the last data went to the client, after the server had finished",
    ),
    ('T', "while the request was held in the tarpit"),
    ('W', "while a WebSocket or tunnel was open"),
];

/// Both characters where together they have a cause of their own.
const TOGETHER: [(&str, &str); 26] = [
    ("--", "normal"),
    (
        "CC",
        "the client left before the connection to the server was made",
    ),
    ("CD", "the client left during the transfer"),
    ("CH", "the client left while it waited for the answer"),
    ("CQ", "the client left while it waited in the queue"),
    ("CR", "the client left before its request was complete"),
    ("CT", "the client left while it was held in the tarpit"),
    (
        "cD",
        "the client neither sent nor read data for timeout client",
    ),
    (
        "cH",
        "timeout client passed while the server had not answered: it is shorter than the answer takes",
    ),
    (
        "cR",
        "the client sent no complete request within timeout http-request; a browser's unused connection, or an attack",
    ),
    (
        "LC",
        "answered by HAProxy before a server was connected: a cache or a rule",
    ),
    ("LH", "answered by HAProxy in place of the server's answer"),
    (
        "LR",
        "answered by HAProxy: a redirect, statistics, or an http-request rule",
    ),
    (
        "SC",
        "the server refused the connection, or its address cannot be reached",
    ),
    (
        "SD",
        "the server broke off during the transfer: a crash or a restart",
    ),
    (
        "SH",
        "the server broke off before its head was complete: a crash",
    ),
    (
        "sC",
        "timeout connect passed: the server is overloaded, or its address unreachable",
    ),
    ("sD", "timeout server passed during the transfer"),
    (
        "sH",
        "timeout server passed before the answer: the service was too slow",
    ),
    (
        "sQ",
        "timeout queue passed: all connections of the servers (maxconn) were taken",
    ),
    (
        "PC",
        "HAProxy refused to connect: limits of the process or of the frontend",
    ),
    (
        "PD",
        "HAProxy stopped an invalid body: a faulty chunk or length",
    ),
    (
        "PH",
        "HAProxy stopped an invalid answer, or a rule denied it",
    ),
    (
        "PR",
        "HAProxy refused the request: a deny rule, or not valid HTTP",
    ),
    ("PT", "HAProxy answered 500 after the tarpit"),
    (
        "RC",
        "no socket, memory or source port was left to connect with",
    ),
];

/// Third character: the client's cookie of persistence.
const CLIENT_COOKIES: [(char, &str); 8] = [
    ('-', "does not apply"),
    ('N', "the client sent none"),
    ('I', "it names a server that does not exist"),
    ('D', "it names a server that was down"),
    ('V', "it names a server that answered"),
    ('E', "it was expired (maxidle)"),
    ('O', "it was too old (maxlife)"),
    ('U', "it was there and not used"),
];

/// Fourth character: what became of the server's cookie.
const SERVER_COOKIES: [(char, &str); 7] = [
    ('-', "does not apply"),
    ('N', "none was set"),
    ('I', "HAProxy inserted one"),
    ('U', "HAProxy updated its date"),
    ('P', "the server's was passed on"),
    ('R', "the server's was rewritten"),
    ('D', "the server's was deleted"),
];

fn of<'a>(table: &[(char, &'a str)], character: char) -> &'a str {
    let row = table.iter().find(|row| row.0 == character);
    row.map_or("unknown", |row| row.1)
}

/// What the first two characters of a termination state mean.
pub(super) fn meaning(code: &str) -> String {
    if let Some((_, text)) = TOGETHER.iter().find(|row| row.0 == code) {
        return (*text).to_owned();
    }
    let mut characters = code.chars();
    let (Some(cause), Some(phase)) = (characters.next(), characters.next()) else {
        return "unknown".to_owned();
    };
    format!("{}, {}", of(&CAUSES, cause), of(&PHASES, phase))
}

/// What the last two of four characters mean.
pub(super) fn cookie_meaning(code: &str) -> String {
    let mut characters = code.chars();
    let (client, server) = (
        characters.next().unwrap_or('-'),
        characters.next().unwrap_or('-'),
    );
    format!(
        "cookie of the client: {}; of the server: {}",
        of(&CLIENT_COOKIES, client),
        of(&SERVER_COOKIES, server)
    )
}

/// Whether a state is a failure of the service or of the proxy, and not of the client.
pub(super) fn is_failure(code: &str) -> bool {
    code.starts_with(['S', 's', 'P', 'R', 'I', 'D', 'U', 'K'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_known_characters_has_a_meaning() {
        for (cause, _) in CAUSES {
            for (phase, _) in PHASES {
                let code = format!("{cause}{phase}");
                assert!(!meaning(&code).contains("unknown"), "{code}");
            }
        }
        assert_eq!(meaning("--"), "normal");
        assert!(
            meaning("sQ").contains("timeout queue") && meaning("sH").contains("timeout server")
        );
        assert_eq!(meaning("?!"), "unknown, unknown");
        assert_eq!(
            (meaning(""), meaning("é")),
            ("unknown".to_owned(), "unknown".to_owned())
        );
        assert!(cookie_meaning("VN").contains("a server that answered"));
    }

    #[test]
    fn a_client_that_leaves_is_no_failure_of_the_service() {
        assert!(["sQ", "SC", "PR", "KD"].into_iter().all(is_failure));
        assert!(!["--", "CD", "cR", "LR", ""].into_iter().any(is_failure));
    }
}
