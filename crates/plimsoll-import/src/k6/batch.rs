//! `http.batch()`: a page with its files where the first request is a page, else requests one after another.

use super::machine::Machine;
use super::node::Node;
use super::value::Value;
use crate::path_ending;
use crate::script::draft::RequestDraft;

/// Ends of paths of pages.
const PAGES: [&str; 8] = ["html", "htm", "xhtml", "php", "asp", "aspx", "jsp", "shtml"];

impl<'a> Machine<'a, '_> {
    pub(super) fn batch(&mut self, requests: &Value<'a>, at: u32) -> Value<'a> {
        let entries = requests.entries();
        if entries.is_empty() {
            self.lose(
                at,
                "http.batch()",
                "its requests are known only at run time",
                "write them into the plan, or record the script",
            );
        }
        let is_several = entries.len() > 1;
        self.open();
        let mut responses = Vec::new();
        for (key, entry) in entries {
            let response = self.batched(&entry, at);
            responses.push((key, response));
        }
        let nodes = self.close();
        if let Some(page) = self.page_of(&nodes) {
            self.note("an http.batch() of a page and its files is a `page` with `resources`: the files are requested when the page has come");
            self.emit(page);
        } else {
            if is_several {
                self.lose(
                    at,
                    "that http.batch() sends its requests at once",
                    "a user of a plan sends one request after another",
                    "write `page:` with `resources:` if these are the files of a page",
                );
            }
            self.emit_all(nodes);
        }
        match requests {
            Value::List(_) => Value::list(
                responses
                    .into_iter()
                    .map(|(_, response)| response)
                    .collect(),
            ),
            _ => Value::object(responses),
        }
    }

    /// The requests as one page, if the first is a page and all others are files.
    fn page_of(&self, nodes: &[Node]) -> Option<Node> {
        let numbers: Option<Vec<usize>> = nodes
            .iter()
            .map(|node| match node {
                Node::Request(number) => Some(*number),
                _ => None,
            })
            .collect();
        let (page, resources) = numbers.as_deref()?.split_first()?;
        let draft = |number: &usize| self.requests.get(*number).map(|sent| &sent.draft);
        let is_whole = !resources.is_empty()
            && draft(page).is_some_and(is_page)
            && resources
                .iter()
                .all(|number| draft(number).is_some_and(is_file));
        is_whole.then(|| Node::Page {
            page: *page,
            resources: resources.to_vec(),
        })
    }

    fn batched(&mut self, entry: &Value<'a>, at: u32) -> Value<'a> {
        let member = |name: &str| entry.field(name).unwrap_or(Value::Undefined);
        match entry {
            Value::List(list) => {
                let items = list.items.borrow().clone();
                let item = |index: usize| items.get(index).cloned().unwrap_or(Value::Undefined);
                let method = self
                    .known_text(&item(0))
                    .unwrap_or_else(|| "GET".to_owned());
                self.request(
                    &method.to_ascii_uppercase(),
                    &item(1),
                    &item(2),
                    &item(3),
                    at,
                )
            }
            Value::Object(_) => {
                let method = self
                    .known_text(&member("method"))
                    .unwrap_or_else(|| "GET".to_owned());
                let (url, body, parameters) = (member("url"), member("body"), member("params"));
                self.request(&method.to_ascii_uppercase(), &url, &body, &parameters, at)
            }
            url => self.request("GET", url, &Value::Undefined, &Value::Undefined, at),
        }
    }
}

/// A request that a browser makes for a document.
fn is_page(draft: &RequestDraft) -> bool {
    draft.method == "GET"
        && match end_of(draft.url.path.as_str()) {
            Some(end) => PAGES.contains(&end.as_str()),
            // An interface answers with data, not with a page.
            None => !["/api/", "/graphql", "/v1/", "/v2/", "/v3/"]
                .iter()
                .any(|part| draft.url.path.as_str().contains(part)),
        }
}

fn is_file(draft: &RequestDraft) -> bool {
    let end = end_of(draft.url.path.as_str());
    draft.method == "GET" && end.is_some_and(|end| path_ending::is_page_file(&end))
}

/// What stands behind the dot of the last part of a path.
fn end_of(path: &str) -> Option<String> {
    path_ending::of(path.split(['?', '#']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn files_are_known_by_the_end_of_their_path() {
        for (path, end) in [
            ("/a/App.9f.JS?v=1.2", Some("js")),
            ("/shop.d/", None),
            ("/", None),
            ("/index.html", Some("html")),
        ] {
            assert_eq!(end_of(path).as_deref(), end, "{path}");
        }
    }
}
