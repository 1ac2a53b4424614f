//! Identifiers use the field's terms: terms private to this project were replaced, and must not come back.
//!
//! Checks every identifier of every source, also inside macros; comments and strings are not checked. Names of tests are
//! sentences, and free.

use std::str::FromStr as _;

use proc_macro2::{Ident, TokenStream, TokenTree};

use super::{File, SourceTree, Violation};

/// Refused as a word of any name: the word, and the field's term.
const REFUSED: [(&str, &str); 39] = [
    ("asker", "client, request"),
    ("askers", "clients, requests"),
    ("asking", "request"),
    ("blind", "scrape error"),
    ("chooser", "balancing policy, load balancer"),
    ("conductor", "active_run"),
    ("conversing", "WebSocket session"),
    ("crowd", "virtual users"),
    ("desk", "reader, handler"),
    ("errand", "background task"),
    ("errands", "background tasks"),
    ("eye", "collector"),
    ("eyes", "collectors"),
    ("hear", "receive"),
    ("heard", "received"),
    ("hearing", "receiver"),
    ("house", "local hub"),
    ("ledger", "journal, quota"),
    ("lever", "tunable"),
    ("levers", "tunables"),
    ("lineage", "nesting"),
    ("particulars", "request context"),
    ("recalling", "disk lookup"),
    ("relax", "apply"),
    ("roster", "registry"),
    ("said", "text, value, reply"),
    ("say", "print, report, send"),
    ("says", "text"),
    ("seat", "subscriber socket"),
    ("seats", "subscriber sockets"),
    ("seen", "observed, known"),
    ("spoken", "script"),
    ("talk", "WebSocket session"),
    ("tell", "report, render, emit"),
    ("telling", "report"),
    ("told", "rendered, message"),
    ("unkept", "store rejection"),
    ("urgency", "priority"),
    ("visitor", "subscriber"),
];

/// Refused as the whole name of a type: each had many meanings. As variants they are distinguished by their type.
const REFUSED_TYPES: [(&str, &str); 11] = [
    ("Asked", "a name with what was requested"),
    ("Fault", "error, diagnostic, violation"),
    ("Found", "a name with what was found"),
    ("Held", "a name with the owner"),
    ("Kept", "stored, keep-alive"),
    ("Look", "scrape, sample"),
    ("Page", "a name with the kind of page"),
    ("Part", "component, segment"),
    ("Scene", "scope, fixture"),
    ("Turn", "a name with the kind of turn"),
    ("Way", "a name with the kind of way"),
];

/// Names that stay, and where: the path of a stored response on disk is a hash of the `Debug` output of `FragmentPages`, so
/// a new name would orphan every stored response.
const STAYING: (&str, [&str; 3]) = (
    "Said",
    ["/fragments.rs", "/answer_tests.rs", "/fragments/tests.rs"],
);

pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    tree.rust().flat_map(violations_of).collect()
}

fn violations_of(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    // Sources that do not parse are reported by the rule on cycles.
    if let Ok(tokens) = TokenStream::from_str(&file.text) {
        walk(tokens, &mut |name, is_type| {
            let text = name.to_string();
            let stays = text == STAYING.0 && STAYING.1.iter().any(|end| file.path.ends_with(end));
            let refusal = refusal(&text, is_type).filter(|_| !stays);
            if let Some((word, instead)) = refusal {
                let what = format!("`{text}`: `{word}` is a private word; use: {instead}");
                violations.push(file.violation(name.span().start().line, what));
            }
        });
    }
    violations
}

/// Calls `check` with every identifier except names of tests, and whether it defines a type.
fn walk(stream: TokenStream, check: &mut impl FnMut(&Ident, bool)) {
    let mut is_test = false;
    let mut before = None;
    for token in stream {
        match token {
            TokenTree::Group(group) => {
                let text = group.stream().to_string();
                is_test |= text == "test"
                    || text.ends_with(":: test")
                    || text.starts_with("tokio :: test");
                walk(group.stream(), check);
                before = None;
            }
            TokenTree::Ident(name) => {
                let is_name_of_test = is_test && before.as_deref() == Some("fn");
                if is_name_of_test {
                    is_test = false;
                } else {
                    let is_type = matches!(
                        before.as_deref(),
                        Some("struct" | "enum" | "trait" | "type")
                    );
                    check(&name, is_type);
                }
                before = Some(name.to_string());
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => before = None,
        }
    }
}

/// The refused word of a name, with its replacement.
fn refusal(name: &str, is_type: bool) -> Option<(&'static str, &'static str)> {
    let alone = REFUSED_TYPES.iter().find(|(word, _)| *word == name);
    if let Some(refused) = alone.filter(|_| is_type) {
        return Some(*refused);
    }
    if name == "one" {
        return Some(("one", "the noun of the thing"));
    }
    words(name).iter().find_map(|word| {
        let found = REFUSED.binary_search_by(|(refused, _)| (*refused).cmp(word.as_str()));
        found.ok().map(|at| REFUSED[at])
    })
}

/// The words of a name in snake or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_after_small = false;
    for letter in name.chars() {
        let begins = letter == '_' || (letter.is_uppercase() && is_after_small);
        is_after_small = letter.is_lowercase() || letter.is_ascii_digit();
        if begins || words.is_empty() {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(REFUSED.is_sorted());
    }

    #[test]
    fn finds_private_words_in_names_only() {
        let text = "// what is told\nfn f(told: &str) {}\nstruct CrowdSize;\nconst SAY: &str = \"say\";\n\
                    fn g() { v.iter().any(|one| one.is_one) }\nstruct Part;\nstruct MultiPart { is_untold: bool }\n\
                    m! { let x = seen_at; }\n";
        let tree = SourceTree::of(&[("a.rs", text)]);
        let expected = [2, 3, 4, 5, 5, 6, 8].map(|line| format!("a.rs:{line}"));
        assert_eq!(places(&violations(&tree)), expected);
    }

    #[test]
    fn names_of_tests_are_sentences() {
        let text = "#[test]\nfn what_is_told_is_heard() {}\n#[cfg(test)]\nmod tests {\n#[tokio::test]\nasync fn who_says_so() {}\n}\n\
                    fn who_says_so() {}\n";
        assert_eq!(
            places(&violations(&SourceTree::of(&[("a.rs", text)]))),
            ["a.rs:8"]
        );
    }
}
