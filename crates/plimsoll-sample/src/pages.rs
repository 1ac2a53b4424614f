//! The pages: components added until the budget of nodes is spent; the browser renders the rest.

use crate::dom::{DomNode, Element, element};
use crate::markdown::{blocks, digest};
use crate::prose::SECTIONS;
use crate::store::{Article, Store};

/// Characters of a teaser's excerpt.
const EXCERPT_SIZE: usize = 160;

/// Comments shown below an article.
const COMMENT_COUNT_MAX: usize = 6;

/// Articles queried for a list: more than the largest budget can show.
const LIST_COUNT: u32 = 300;

/// A page as it is sent.
#[derive(Debug)]
pub(crate) struct RenderedPage {
    pub(crate) status: u16,
    pub(crate) html: String,
    /// Elements in it.
    pub(crate) nodes: u32,
}

/// Renders the page at `path` with at most `nodes` elements.
pub(crate) fn render(store: &Store, path: &str, nodes: u32) -> rusqlite::Result<RenderedPage> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if path == "/" {
        return front(store, nodes);
    }
    if let Some(id) = path
        .strip_prefix("/article/")
        .and_then(|id| id.parse().ok())
        && let Some(article) = store.article(id)?
    {
        return story(store, &article, nodes);
    }
    if let Some(topic) = path.strip_prefix("/topic/") {
        let articles = store.on_topic(topic, LIST_COUNT)?;
        if !articles.is_empty() {
            let mut frame = PageLayout::new(&format!("On {topic}"), nodes);
            frame.fill(store, &articles)?;
            return Ok(frame.finish(200));
        }
    }
    let mut frame = PageLayout::new("Not found", nodes);
    frame.add(
        element("p")
            .class("page", "missing")
            .text("There is no such page."),
    );
    Ok(frame.finish(404))
}

/// The front page: each section has its share of the budget.
fn front(store: &Store, nodes: u32) -> rusqlite::Result<RenderedPage> {
    let mut frame = PageLayout::new("The Loadline Courier", nodes);
    for (done, name) in SECTIONS.iter().enumerate() {
        let sections_left = u32::try_from(SECTIONS.len() - done).expect("a handful of sections");
        let keep = frame.left - frame.left / sections_left;
        frame.add(element("h2").class("section", "title").text(*name));
        let section = i64::try_from(done).expect("a handful of sections");
        for article in store.in_section(section, LIST_COUNT)? {
            let teaser = teaser(store, &article)?;
            if teaser.count() + keep > frame.left {
                break;
            }
            frame.add(teaser);
        }
    }
    Ok(frame.finish(200))
}

/// An article, its comments, related articles, and new ones.
fn story(store: &Store, article: &Article, nodes: u32) -> rusqlite::Result<RenderedPage> {
    let mut frame = PageLayout::new(&article.title, nodes);
    let digest = digest(&article.body, EXCERPT_SIZE);
    let byline = element("p")
        .class("story", "byline")
        .child(
            element("span")
                .class("story", "author")
                .text(store.author(article.author)?),
        )
        .child(
            element("span")
                .class("story", "section")
                .text(store.section(article.section)?),
        )
        .child(time(article.published))
        .child(
            element("span")
                .class("story", "minutes")
                .text(format!("{} min", digest.minutes)),
        );
    frame.add(byline);
    for block in blocks(&article.body) {
        frame.add(block);
    }
    for comment in store.comments(article.id)?.iter().take(COMMENT_COUNT_MAX) {
        let mut remark = element("div").class("comment", "").child(
            element("strong")
                .class("comment", "author")
                .text(comment.author.clone()),
        );
        for block in blocks(&comment.text) {
            remark = remark.child(block);
        }
        frame.add(remark);
    }
    frame.add(element("h2").class("related", "title").text("Related"));
    frame.fill(store, &store.related(article.id, 10)?)?;
    frame.add(element("h2").class("latest", "title").text("Latest"));
    frame.fill(store, &store.latest(LIST_COUNT)?)?;
    Ok(frame.finish(200))
}

/// The card that stands for an article in a list.
fn teaser(store: &Store, article: &Article) -> rusqlite::Result<Element> {
    let digest = digest(&article.body, EXCERPT_SIZE);
    let section = store.section(article.section)?;
    let comments = store.comment_count(article.id)?;
    let topics = store.topics(article.id)?;
    let address = format!("/article/{}", article.id);
    let picture = element("figure").class("teaser", "figure").child(
        element("img")
            .class("teaser", "image")
            .attribute("src", format!("/images/{}-320.webp", article.id))
            .attribute(
                "srcset",
                format!(
                    "/images/{0}-320.webp 320w, /images/{0}-640.webp 640w",
                    article.id
                ),
            )
            .attribute("alt", format!("On: {}", topics.join(", ")))
            .attribute("loading", "lazy"),
    );
    let facts = element("footer")
        .class("teaser", "facts")
        .child(
            element("span")
                .class("teaser", "section")
                .modifier(&section.to_lowercase())
                .text(section),
        )
        .child(
            element("span")
                .class("teaser", "author")
                .text(store.author(article.author)?),
        )
        .child(time(article.published))
        .child(
            element("span")
                .class("teaser", "minutes")
                .text(format!("{} min", digest.minutes)),
        )
        .child(
            element("span")
                .class("teaser", "comments")
                .text(comments.to_string()),
        );
    Ok(element("article")
        .class("teaser", "")
        .modifier(if comments > 8 { "discussed" } else { "quiet" })
        .attribute("data-id", article.id.to_string())
        .child(
            element("a")
                .class("teaser", "link")
                .attribute("href", address)
                .child(picture)
                .child(
                    element("h3")
                        .class("teaser", "title")
                        .text(article.title.clone()),
                )
                .child(element("p").class("teaser", "excerpt").text(digest.excerpt)),
        )
        .child(facts))
}

/// Date and time of the paper's minute `minutes`.
fn time(minutes: i64) -> Element {
    let (day, hour, minute) = (minutes / 1_440 + 1, minutes / 60 % 24, minutes % 60);
    element("time")
        .class("page", "time")
        .attribute(
            "datetime",
            format!(
                "2026-W{:02}-{}T{hour:02}:{minute:02}Z",
                day / 7 + 1,
                day % 7 + 1
            ),
        )
        .text(format!("day {day}, {hour}:{minute:02}"))
}

/// Head, navigation and foot of every page, and the budget for what comes between.
struct PageLayout {
    title: String,
    main: Element,
    /// Nodes that may still be added.
    left: u32,
}

impl PageLayout {
    fn new(title: &str, nodes: u32) -> Self {
        let heading = element("h1").class("page", "title").text(title);
        let main = element("main").class("page", "main").child(heading);
        let fixed = Self::document(title, element("main")).count() + main.count() - 1;
        Self {
            title: title.to_owned(),
            main,
            left: nodes.saturating_sub(fixed),
        }
    }

    /// Adds an element if the budget allows it.
    fn add(&mut self, element: Element) -> bool {
        let Some(left) = self.left.checked_sub(element.count()) else {
            return false;
        };
        self.left = left;
        self.main.push(DomNode::Element(element));
        true
    }

    /// Adds teasers until the budget is spent.
    fn fill(&mut self, store: &Store, articles: &[Article]) -> rusqlite::Result<()> {
        for article in articles {
            if !self.add(teaser(store, article)?) {
                break;
            }
        }
        Ok(())
    }

    fn finish(self, status: u16) -> RenderedPage {
        let document = Self::document(&self.title, self.main);
        let mut html = String::with_capacity(128 * 1024);
        html.push_str("<!doctype html>");
        document.write(&mut html);
        RenderedPage {
            status,
            html,
            nodes: document.count(),
        }
    }

    fn document(title: &str, main: Element) -> Element {
        let head = element("head")
            .child(element("meta").attribute("charset", "utf-8"))
            .child(
                element("meta")
                    .attribute("name", "viewport")
                    .attribute("content", "width=device-width, initial-scale=1"),
            )
            .child(element("title").text(title));
        let mut list = element("ul").class("navigation", "list");
        for name in SECTIONS {
            let link = element("a")
                .class("navigation", "link")
                .attribute("href", format!("/#{name}"))
                .text(name);
            list = list.child(element("li").class("navigation", "item").child(link));
        }
        let body = element("body")
            .child(
                element("header")
                    .class("page", "header")
                    .child(
                        element("a")
                            .class("page", "name")
                            .attribute("href", "/")
                            .text("The Loadline Courier"),
                    )
                    .child(element("nav").class("navigation", "").child(list)),
            )
            .child(main)
            // The browser renders what exceeds the budget.
            .child(element("div").attribute("id", "rest"))
            .child(
                element("footer")
                    .class("page", "footer")
                    .child(element("p").text("A sample site. Nothing here is true.")),
            );
        element("html")
            .attribute("lang", "en")
            .child(head)
            .child(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::prepare;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let path = prepare(folder.path()).unwrap();
        (folder, Store::open(&path).unwrap())
    }

    /// Counted in the bytes of the response, not in our tree.
    fn tags(html: &str) -> usize {
        html.match_indices('<')
            .filter(|(start, _)| html[start + 1..].starts_with(|c: char| c.is_ascii_alphabetic()))
            .count()
    }

    #[test]
    fn a_page_has_the_nodes_asked_for() {
        let (_folder, store) = store();
        for path in ["/", "/article/0", "/article/399", "/article/123?from=front"] {
            for nodes in [60, 100, 362, 670, 3_000] {
                let page = render(&store, path, nodes).unwrap();
                assert_eq!(page.status, 200, "{path}");
                assert_eq!(tags(&page.html), page.nodes as usize, "{path}");
                // A teaser has 12 nodes: fewer may be left over, and a heading.
                assert!(
                    page.nodes <= nodes && page.nodes + 14 > nodes,
                    "{path}: {} of {nodes}",
                    page.nodes
                );
            }
        }
    }

    #[test]
    fn every_link_of_the_front_page_leads_somewhere() {
        let (_folder, store) = store();
        let page = render(&store, "/", 670).unwrap();
        let links: Vec<&str> = page
            .html
            .split("href=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(
            links
                .iter()
                .filter(|link| link.starts_with("/article/"))
                .count()
                > 30
        );
        for link in links {
            assert_eq!(render(&store, link, 100).unwrap().status, 200, "{link}");
        }
        let page = render(&store, "/article/5", 670).unwrap();
        let topic = page
            .html
            .split("href=\"/topic/")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        assert_eq!(
            render(&store, &format!("/topic/{topic}"), 670)
                .unwrap()
                .status,
            200
        );
    }

    #[test]
    fn what_is_not_there_is_404() {
        let (_folder, store) = store();
        for path in [
            "/article/400",
            "/article/x",
            "/topic/gold",
            "/../etc/passwd",
            "",
        ] {
            let page = render(&store, path, 670).unwrap();
            assert_eq!(page.status, 404, "{path}");
            assert_eq!(tags(&page.html), page.nodes as usize, "{path}");
        }
    }
}
