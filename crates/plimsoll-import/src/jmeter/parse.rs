//! JMeter's texts: literals, `${variable}` and `${__function(argument,…)}`.

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(String),
    Variable(String),
    /// Name without the leading underscores, and the arguments as written.
    Call(String, Vec<String>),
}

/// The pieces of a property's text. Backslashes escape only where something is replaced.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    if text.contains("${") {
        scan(text)
    } else if text.is_empty() {
        Vec::new()
    } else {
        vec![Piece::Literal(text.to_owned())]
    }
}

/// The pieces of a function's argument, in which backslashes always escape.
pub(super) fn pieces_of_argument(text: &str) -> Vec<Piece> {
    scan(text)
}

fn scan(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '\\' {
            let escaped = rest[1..].chars().next();
            if !matches!(escaped, Some('$' | ',' | '\\')) {
                literal.push('\\');
            }
            literal.extend(escaped);
            rest = &rest[1 + escaped.map_or(0, char::len_utf8)..];
        } else if let Some((piece, len)) = reference(rest) {
            if !literal.is_empty() {
                found.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            found.push(piece);
            rest = &rest[len..];
        } else {
            literal.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    if !literal.is_empty() {
        found.push(Piece::Literal(literal));
    }
    found
}

/// The reference with which a text begins, and its length.
fn reference(text: &str) -> Option<(Piece, usize)> {
    let inside = text.strip_prefix("${")?;
    let end = inside.find(['(', '}'])?;
    let name = &inside[..end];
    if inside[end..].starts_with('(') && name.trim_start().starts_with("__") {
        let (arguments, len) = arguments(&inside[end + 1..])?;
        let after = &inside[end + 1 + len..];
        let space = after.len() - after.trim_start().len();
        after[space..].starts_with('}').then_some(())?;
        let name = name.trim().trim_start_matches('_').to_owned();
        return Some((Piece::Call(name, arguments), 2 + end + 1 + len + space + 1));
    }
    let end = balanced(inside)?;
    let name = &inside[..end];
    let piece = match name.trim().strip_prefix("__") {
        Some(function) if is_function(function) => Piece::Call(function.to_owned(), Vec::new()),
        _ => Piece::Variable(name.to_owned()),
    };
    Some((piece, 2 + end + 1))
}

/// Functions that may stand without parentheses.
fn is_function(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The place of the brace that closes a reference; names may contain references.
fn balanced(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The arguments up to the closing parenthesis, and the length including it.
fn arguments(text: &str) -> Option<(Vec<String>, usize)> {
    let mut found = vec![String::new()];
    let (mut braces, mut parentheses) = (0_usize, 0_usize);
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else {
            match c {
                '\\' => is_escaped = true,
                '{' => braces += 1,
                '}' => braces = braces.saturating_sub(1),
                '(' => parentheses += 1,
                ')' if parentheses > 0 => parentheses -= 1,
                ')' if braces == 0 => {
                    if found.len() == 1 && found[0].trim().is_empty() {
                        found.clear();
                    }
                    return Some((found, at + 1));
                }
                ',' if braces == 0 && parentheses == 0 => {
                    found.push(String::new());
                    continue;
                }
                _ => {}
            }
        }
        if let Some(last) = found.last_mut() {
            last.push(c);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Piece {
        Piece::Literal(text.to_owned())
    }

    fn call(name: &str, arguments: &[&str]) -> Piece {
        Piece::Call(
            name.to_owned(),
            arguments.iter().map(|text| (*text).to_owned()).collect(),
        )
    }

    #[test]
    fn texts_are_split_as_jmeter_does_it() {
        assert_eq!(pieces(r"a\,b"), [literal(r"a\,b")]);
        assert_eq!(
            pieces(r"a\,b${x}"),
            [literal("a,b"), Piece::Variable("x".to_owned())]
        );
        assert_eq!(
            pieces(r"${__P(host,a\,b)}/${__UUID}${__time()}"),
            [
                call("P", &["host", r"a\,b"]),
                literal("/"),
                call("UUID", &[]),
                call("time", &[])
            ]
        );
        assert_eq!(
            pieces("${__V(user_${__counter(TRUE,)},x)}"),
            [call("V", &["user_${__counter(TRUE,)}", "x"])]
        );
        assert_eq!(
            pieces(r"${__jexl3((${a} > 1) && f(1,2))}"),
            [call("jexl3", &["(${a} > 1) && f(1,2)"])]
        );
        assert_eq!(pieces("${open"), [literal("${open")]);
        assert_eq!(pieces("${__P(open"), [literal("${__P(open")]);
        assert_eq!(pieces(r"\${x}"), [literal("${x}")]);
    }
}
