//! The resources of a page, as named in its HTML.

use std::sync::LazyLock;

use scraper::{Html, Selector};

/// Most resources per page.
const RESOURCES_MAX: usize = 256;

static NEEDED: LazyLock<Selector> = LazyLock::new(|| {
    Selector::parse("img[src], script[src], link[rel~=stylesheet][href], link[rel~=icon][href]")
        .expect("a constant selector is valid")
});

/// The images, scripts, styles and icons of a page, as written there, each once.
pub(crate) fn resources(page: &Html) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for element in page.select(&NEEDED) {
        let name = if element.value().name() == "link" {
            "href"
        } else {
            "src"
        };
        let Some(url) = element.value().attr(name).map(str::trim) else {
            continue;
        };
        let is_new = !url.is_empty() && !found.iter().any(|other| other == url);
        if is_new && found.len() < RESOURCES_MAX {
            found.push(url.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_what_it_needs() {
        let page = "<link rel='stylesheet' href='/a.css'><link rel=canonical href=/x>\
                    <script src=b.js></script><script>1</script><img src='c.png'><img src='c.png'>\
                    <img src=''><a href='/d'>d</a>";
        let found = resources(&Html::parse_document(page));
        assert_eq!(found, ["/a.css", "b.js", "c.png"]);
    }
}
