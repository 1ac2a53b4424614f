//! Clients that are programs, by the words of their agent.

/// Words of agents that crawl, in lower case.
const WORDS: [&str; 15] = [
    "bot",
    "crawl",
    "spider",
    "slurp",
    "archiver",
    "facebookexternalhit",
    "scrapy",
    "fetcher",
    "headlesschrome",
    "phantomjs",
    "lighthouse",
    "pingdom",
    "uptime",
    "monitor",
    "feedparser",
];
/// Names with one of these words that are not crawlers: a telephone.
const EXCEPTIONS: [&str; 2] = ["cubot", "bothosting"];
/// Longest name that is kept, characters.
const NAME_LEN_MAX: usize = 40;

/// Name of the crawler that an agent calls itself, such as `Googlebot`; `None` for others.
pub(super) fn name_of(agent: &str) -> Option<String> {
    let lower = agent.to_ascii_lowercase();
    for word in WORDS {
        for (at, _) in lower.match_indices(word) {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            let begin = lower[..at].rfind(|c| !is_part(c)).map_or(0, |before| {
                before + lower[before..].chars().next().map_or(1, char::len_utf8)
            });
            let end = lower[at..]
                .find(|c| !is_part(c))
                .map_or(lower.len(), |len| at + len);
            let name = &lower[begin..end];
            if !EXCEPTIONS.iter().any(|exception| name.contains(exception)) {
                return Some(agent[begin..end].chars().take(NAME_LEN_MAX).collect());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawler_is_known_by_its_name() {
        for (agent, expected) in [
            (
                "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
                Some("Googlebot"),
            ),
            ("bingbot", Some("bingbot")),
            ("äöü-Spider/1", Some("-Spider")),
            ("Mozilla/5.0 (Linux; Android 9; CUBOT_X19) Chrome/99", None),
            ("Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0", None),
            ("", None),
        ] {
            assert_eq!(name_of(agent).as_deref(), expected, "{agent}");
        }
        assert_eq!(name_of(&"bot".repeat(100)).unwrap().len(), NAME_LEN_MAX);
    }
}
