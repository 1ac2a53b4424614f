//! Items and attributes in the tokens of a Rust source, for tasks that read sources without a parser.

use proc_macro2::{Delimiter, TokenTree};

/// `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub(crate) fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [hash, TokenTree::Group(attribute), ..] = tokens else {
        return false;
    };
    let text = attribute.stream().to_string().replace(' ', "");
    is_punct(hash, '#') && (text == "cfg(test)" || text.starts_with("cfg(all(test,"))
}

/// An item, up to its body or its semicolon, and what follows.
pub(crate) fn split_item(tokens: &[TokenTree]) -> (&[TokenTree], &[TokenTree]) {
    let is_end = |token: &TokenTree| {
        is_punct(token, ';')
            || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
    };
    let end = tokens.iter().position(is_end).map(|index| index + 1);
    tokens.split_at(end.unwrap_or(tokens.len()))
}

/// Whether a token is this punctuation mark.
pub(crate) fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}
