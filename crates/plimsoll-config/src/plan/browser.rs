//! Reads the browsers of a plan.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::browser::{HOSTS_MAX, PAGES_MAX, USERS_MAX};

use super::target::Base;
use crate::document::Shape::{OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, SettingsMap as _, count, file, settings, time, time_or_zero,
};

settings! {
    /// Browsers beside the load: users in Chromium, who visit pages and measure what people wait for. They send requests of
    /// their own, in addition to the load.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct BrowserSettings, BROWSER "browser" {
        /// Users, {range}. Each visit begins without cookies and without a cache. Every user needs the CPU of a person's
        /// computer for a moment, on the machine of the generator.
        users: u32 = 1, "users": count(1..=USERS_MAX);
        /// Paths of the pages on the target, at most 50, which the users visit in turn. Default: the path of the target.
        pages: Vec<String> = Vec::new(), "pages": OneOrMore(&Text) => each page;
        /// Time between the end of a visit and the next of the same user.
        think: Duration = Duration::from_secs(5), "think": time_or_zero();
        /// Time within which a page must be ready.
        timeout: Duration = Duration::from_secs(30), "timeout": time();
        /// Other hosts that pages load from, such as `cdn.example`, at most 50. Requests to any other host are not sent.
        hosts: Vec<String> = Vec::new(), "hosts": OneOrMore(&Text) => each host;
        /// Program of a Chromium-based browser. Default: the first one of `PATH`.
        program: Option<PathBuf> = None, "program": file("a program, such as /usr/bin/chromium");
    }
}

const PAGE_VALID: &str = "a path of the target, such as /news";
const HOST_VALID: &str =
    "the name or address of a host, such as cdn.example, without scheme and port";

/// The browsers, with the pages as the browser requests them.
pub(super) fn browser(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    base: Option<&Base>,
) -> Option<BrowserSettings> {
    let mut browser = BrowserSettings::from_map(reader, node)?;
    for (count, max, what) in [
        (browser.pages.len(), PAGES_MAX, "pages"),
        (browser.hosts.len(), HOSTS_MAX, "hosts"),
    ] {
        if count > max {
            let message = format!("{count} {what}");
            reader.report(node, message, format!("at most {max} {what}"));
        }
    }
    let prefix = base.map_or("", Base::prefix);
    for page in &mut browser.pages {
        page.insert_str(0, prefix);
    }
    if browser.pages.is_empty() {
        browser.pages.push(match prefix {
            "" => "/".to_owned(),
            prefix => prefix.to_owned(),
        });
    }
    Some(browser)
}

fn page(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let text = reader.word(node, PAGE_VALID)?;
    let is_path = text.starts_with('/') && !text.starts_with("//");
    if !is_path || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        reader.report(node, format!("`{text}` is not a path"), PAGE_VALID);
        return None;
    }
    Some(text)
}

fn host(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let text = reader.word(node, HOST_VALID)?;
    let is_host = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._[]:".contains(c));
    // The browser's rules for hosts are a list with commas; a colon is part of an IPv6 address in brackets only.
    if !is_host || text.contains(':') != text.starts_with('[') {
        reader.report(node, format!("`{text}` is not a host"), HOST_VALID);
        return None;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Diagnostics, TestSurroundings};
    use crate::plan::{Given, read as read_plan};

    fn read(target: &str, browser: &str) -> Result<BrowserSettings, Diagnostics> {
        let text = format!("target: {target}\nbrowser: {browser}\n");
        let plan = read_plan(&text, &Given::default(), &TestSurroundings::default())?;
        Ok(plan.browser.unwrap())
    }

    #[test]
    fn pages_are_paths_of_the_target() {
        let browser = read("http://site", "{ users: 2 }").unwrap();
        assert_eq!((browser.users, browser.pages), (2, vec!["/".to_owned()]));
        assert_eq!(browser.think, Duration::from_secs(5));
        assert_eq!(browser.program, None);
        let browser = read("http://site/shop/", "{ pages: [/, /cart?a=1] }").unwrap();
        assert_eq!(browser.pages, ["/shop/", "/shop/cart?a=1"]);
        let browser = read("http://site/shop", "{ pages: /cart }").unwrap();
        assert_eq!(browser.pages, ["/shop/cart"]);
        let browser = read("http://site/shop", "{ think: 0s }").unwrap();
        assert_eq!(browser.pages, ["/shop"]);
    }

    #[test]
    fn what_browsers_cannot_visit_is_refused() {
        for (browser, line) in [
            ("{ users: 0 }", "f:2:19: `0` is out of range"),
            ("{ users: 21 }", "f:2:19: `21` is out of range"),
            ("{ pages: news }", "f:2:19: `news` is not a path"),
            (
                "{ pages: //elsewhere/x }",
                "f:2:19: `//elsewhere/x` is not a path",
            ),
            (
                "{ pages: 'http://elsewhere/' }",
                "f:2:19: `http://elsewhere/` is not a path",
            ),
            (
                "{ hosts: 'cdn.example:80' }",
                "f:2:19: `cdn.example:80` is not a host",
            ),
            (
                "{ hosts: 'a, EXCLUDE *' }",
                "f:2:19: `a, EXCLUDE *` is not a host",
            ),
            ("{ timeout: 0s }", "f:2:21: "),
            ("{ page: / }", "f:2:12: "),
        ] {
            let lines = read("http://site", browser).unwrap_err().lines("f");
            assert!(
                lines.len() == 1 && lines[0].starts_with(line),
                "{browser}: {lines:?}"
            );
        }
        let many: Vec<String> = (0..51).map(|page| format!("/{page}")).collect();
        let lines = read(
            "http://site",
            &format!("{{ pages: [{}] }}", many.join(", ")),
        );
        assert!(lines.unwrap_err().lines("f")[0].contains("51 pages; valid: at most 50 pages"));
    }
}
