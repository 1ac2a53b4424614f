//! Links and headings of a page in Markdown, as GitHub and mdBook read them.

use std::collections::{BTreeMap, BTreeSet};

/// Targets of links with the numbers of their lines, without titles; code blocks have none.
pub(crate) fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(text).flat_map(|(number, line)| {
        let targets = line.split("](").skip(1);
        targets
            .filter_map(|rest| rest.split(')').next()?.split(' ').next())
            .filter(|target| !target.is_empty())
            .map(move |target| (number, target))
    })
}

/// The first heading.
pub(crate) fn title(text: &str) -> Option<String> {
    headings(text).next()
}

/// Anchors of all headings: lower case, dashes for blanks, and no other punctuation; the second of a name ends with `-1`.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    headings(text)
        .map(|heading| {
            let anchor: String = heading
                .to_lowercase()
                .chars()
                .filter_map(|c| match c {
                    ' ' => Some('-'),
                    '-' | '_' => Some(c),
                    _ => c.is_alphanumeric().then_some(c),
                })
                .collect();
            let count = counts.entry(anchor.clone()).or_default();
            *count += 1;
            match *count {
                1 => anchor,
                more => format!("{anchor}-{}", more - 1),
            }
        })
        .collect()
}

/// Headings, of which links show their text only.
fn headings(text: &str) -> impl Iterator<Item = String> {
    lines(text).filter_map(|(_, line)| {
        let text = line.trim_start_matches('#');
        let is_heading = text.len() < line.len() && text.starts_with(' ');
        is_heading.then(|| {
            let mut shown = String::new();
            for part in text.trim().split("](") {
                let part = if shown.is_empty() {
                    part
                } else {
                    part.split_once(')').map_or("", |(_, rest)| rest)
                };
                shown.push_str(&part.replace(['[', '`'], ""));
            }
            shown
        })
    })
}

/// Lines outside of code blocks with their numbers, from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_anchors() {
        let text = "# `run`, and *more*\n```sh\n# no heading\n```\n## A [link](x.md) here\n## A [link](y.md) here\n#no\n";
        let anchors: Vec<_> = anchors(text).into_iter().collect();
        assert_eq!(anchors, ["a-link-here", "a-link-here-1", "run-and-more"]);
        assert_eq!(title(text).as_deref(), Some("run, and *more*"));
    }

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "[a](b.md#c) ![d](e.svg \"title\")\n```\n[f](g)\n```\n[h](i)\n";
        let links: Vec<_> = links(text).collect();
        assert_eq!(links, [(1, "b.md#c"), (1, "e.svg"), (5, "i")]);
    }
}
