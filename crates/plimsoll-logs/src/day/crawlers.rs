//! Clients that are programs, by the words of their agent.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

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

/// Finds all words in one pass, in letters of either case.
static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(WORDS)
        .expect("a few short words make a small automaton")
});

/// Name of the crawler that an agent calls itself, such as `Googlebot`; `None` for others.
pub(super) fn name_of(agent: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    FINDER.find_iter(agent).find_map(|found| {
        let begin = agent[..found.start()]
            .rfind(|c| !is_part(c))
            .map_or(0, |before| {
                before + agent[before..].chars().next().map_or(1, char::len_utf8)
            });
        let end = agent[found.start()..]
            .find(|c| !is_part(c))
            .map_or(agent.len(), |len| found.start() + len);
        let name = &agent[begin..end];
        let lower = name.to_ascii_lowercase();
        let is_exception = EXCEPTIONS.iter().any(|other| lower.contains(other));
        (!is_exception).then(|| name.chars().take(NAME_LEN_MAX).collect())
    })
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
