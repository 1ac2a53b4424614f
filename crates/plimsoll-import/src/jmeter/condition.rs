//! Conditions of If and While Controllers as comparisons of plans.

use super::context::Import;
use super::parse::{Piece, pieces};
use super::tree::Element;
use super::value::{Value, quoted};

/// What is known of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Always,
    Never,
    /// Comparisons that must all hold.
    When(Vec<String>),
    Unknown,
}

/// One comparison as written.
struct Comparison<'t> {
    left: &'t str,
    operator: &'static str,
    right: &'t str,
}

/// Signs of comparisons, in plans and in the languages of conditions; longer ones first.
const SIGNS: [(&str, &str); 13] = [
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("=~", "matches"),
    ("<", "<"),
    (">", ">"),
    (" eq ", "=="),
    (" ne ", "!="),
    (" le ", "<="),
    (" ge ", ">="),
    (" lt ", "<"),
    (" gt ", ">"),
];

/// The functions in which conditions are written.
const LANGUAGES: [&str; 5] = ["jexl3", "jexl2", "jexl", "groovy", "javaScript"];

impl Import<'_> {
    /// The condition of a controller.
    pub(super) fn condition(&mut self, element: &Element, property: &str) -> Decision {
        let text = element.text(property).trim();
        let at = element.at_of(property);
        let expression = expression(text);
        let parts = split_outside(&expression, &["&&", " and "]);
        let mut conditions = Vec::new();
        for part in parts {
            match self.comparison(part, at) {
                Decision::Always => {}
                Decision::When(more) => conditions.extend(more),
                other => return other,
            }
        }
        if conditions.is_empty() {
            return Decision::Always;
        }
        Decision::When(conditions)
    }

    fn comparison(&mut self, text: &str, at: usize) -> Decision {
        let text = unwrapped(text);
        if split_outside(text, &["||", " or "]).len() > 1 {
            return Decision::Unknown;
        }
        if let Some(rest) = text.strip_prefix('!')
            && !rest.starts_with('=')
        {
            return negated(self.comparison(rest, at));
        }
        if text.contains("JMeterThread.last_sample_ok") {
            // A failed step ends the iteration of a plan.
            let asks_for_failure = text.contains("false") || text.contains("!=");
            return if asks_for_failure {
                Decision::Never
            } else {
                Decision::Always
            };
        }
        match text {
            "true" | "\"true\"" => return Decision::Always,
            "false" | "\"false\"" | "" => return Decision::Never,
            _ => {}
        }
        if let Some(found) = called(text) {
            return self.compared(&found, at);
        }
        match compared(text) {
            Some(found) => self.compared(&found, at),
            None => match self.side(text, at) {
                Some(value) => decided(&value, "==", &Value::text("true")),
                None => Decision::Unknown,
            },
        }
    }

    fn compared(&mut self, found: &Comparison<'_>, at: usize) -> Decision {
        let left = self.side(found.left, at);
        let right = self.side(found.right, at);
        match (left, right) {
            (Some(left), Some(right)) => decided(&left, found.operator, &right),
            _ => Decision::Unknown,
        }
    }

    /// A variable, a text in quotes, or a number.
    fn side(&mut self, text: &str, at: usize) -> Option<Value> {
        let text = unwrapped(text);
        let text = text.strip_suffix(".toString()").unwrap_or(text);
        let text = text.strip_suffix(".trim()").unwrap_or(text);
        let of_number = ["Integer.parseInt(", "parseInt(", "Long.parseLong("];
        for function in of_number {
            let inside = text
                .strip_prefix(function)
                .and_then(|rest| rest.strip_suffix(')'));
            if let Some(inside) = inside {
                return self.side(inside, at);
            }
        }
        let of_variable = ["vars.get(", "props.get("]
            .iter()
            .find_map(|start| text.strip_prefix(start)?.strip_suffix(')'))
            .or_else(|| text.strip_prefix("vars[")?.strip_suffix(']'));
        if let Some(name) = of_variable {
            let name = name.trim().trim_matches(['"', '\'']).to_owned();
            return Some(self.variable_value(&name, at));
        }
        let quote = text
            .chars()
            .next()
            .filter(|first| matches!(first, '"' | '\''));
        if let Some(quote) = quote {
            let inside = text[1..].strip_suffix(quote)?;
            return (!inside.contains(quote)).then(|| self.value(inside, at));
        }
        let is_number = text.parse::<f64>().is_ok();
        let is_reference = matches!(
            pieces(text).as_slice(),
            [Piece::Variable(_) | Piece::Call(..)]
        );
        let is_word = matches!(text, "true" | "false");
        (is_number || is_reference || is_word).then(|| self.value(text, at))
    }

    /// Variable, limit, and whether the limit is included, of `${counter} < 5`.
    pub(super) fn counter_limit(&mut self, element: &Element) -> Option<(String, f64, bool)> {
        let text = element.text("WhileController.condition").trim();
        let at = element.at_of("WhileController.condition");
        let expression = expression(text);
        let found = compared(unwrapped(&expression))?;
        let includes = match found.operator {
            "<" | "!=" => false,
            "<=" => true,
            _ => return None,
        };
        let left = unwrapped(found.left).trim_matches(['"', '\'']);
        let variable = match pieces(left).as_slice() {
            [Piece::Variable(name)] => name.trim().to_owned(),
            _ => left
                .strip_prefix("vars.get(")?
                .strip_suffix(')')?
                .trim_matches(['"', '\''])
                .to_owned(),
        };
        let limit = self
            .side(found.right, at)?
            .constant()?
            .trim()
            .parse()
            .ok()?;
        Some((variable, limit, includes))
    }
}

/// The expression of a condition: the argument of a function, or the text itself.
fn expression(text: &str) -> String {
    match pieces(text).as_slice() {
        [Piece::Call(name, arguments)] if LANGUAGES.contains(&name.as_str()) => {
            let mut arguments = arguments.as_slice();
            // The last argument names a variable for the result.
            if let [rest @ .., last] = arguments
                && !rest.is_empty()
                && last.trim().is_empty()
            {
                arguments = rest;
            }
            arguments.join(",").replace("\\,", ",")
        }
        _ => text.to_owned(),
    }
}

fn negated(decision: Decision) -> Decision {
    match decision {
        Decision::Always => Decision::Never,
        Decision::Never => Decision::Always,
        Decision::When(conditions) => match conditions.as_slice() {
            [only] => match only.strip_prefix("not ") {
                Some(rest) => Decision::When(vec![rest.to_owned()]),
                None => Decision::When(vec![format!("not {only}")]),
            },
            _ => Decision::Unknown,
        },
        Decision::Unknown => Decision::Unknown,
    }
}

/// The comparison of two values: decided now, or written for the plan.
fn decided(left: &Value, operator: &str, right: &Value) -> Decision {
    if let (Some(left), Some(right)) = (left.literal(), right.literal()) {
        return match holds(left, operator, right) {
            Some(true) => Decision::Always,
            Some(false) => Decision::Never,
            None => Decision::Unknown,
        };
    }
    let (left, right) = if left.literal().is_some() {
        let Some(mirrored) = mirrored(operator) else {
            return Decision::Unknown;
        };
        return decided(right, mirrored, left);
    } else {
        (side_text(left), side_text(right))
    };
    match (left, right) {
        (Some(left), Some(right)) => Decision::When(vec![format!("{left} {operator} {right}")]),
        _ => Decision::Unknown,
    }
}

fn side_text(value: &Value) -> Option<String> {
    match value.literal() {
        Some(text) if text.parse::<f64>().is_ok() => Some(text.to_owned()),
        Some(text) if text.contains("{{") => None,
        Some(text) => quoted(text),
        None => {
            let template = value.template().as_str().to_owned();
            // Signs in the constant parts would be taken for comparisons.
            let outside = template.replace("{{", "").replace("}}", "");
            let is_plain =
                value.argument().is_some() || !outside.contains(['<', '>', '=', '\'', '"']);
            is_plain.then_some(template)
        }
    }
}

fn mirrored(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "==" => "==",
        "!=" => "!=",
        "<" => ">",
        ">" => "<",
        "<=" => ">=",
        ">=" => "<=",
        _ => return None,
    })
}

fn holds(left: &str, operator: &str, right: &str) -> Option<bool> {
    let numbers = left
        .trim()
        .parse::<f64>()
        .ok()
        .zip(right.trim().parse::<f64>().ok());
    let order = match numbers {
        Some((left, right)) => left.partial_cmp(&right)?,
        None => left.cmp(right),
    };
    Some(match operator {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "contains" => left.contains(right),
        _ => return None,
    })
}

/// `a.equals(b)` and `a.contains(b)`.
fn called(text: &str) -> Option<Comparison<'_>> {
    for (call, operator) in [(".equals(", "=="), (".contains(", "contains")] {
        if let Some((left, rest)) = text.split_once(call)
            && let Some(right) = rest.strip_suffix(')')
            && !right.contains(['(', ')'])
        {
            return Some(Comparison {
                left,
                operator,
                right,
            });
        }
    }
    None
}

/// The only comparison outside quotes.
fn compared(text: &str) -> Option<Comparison<'_>> {
    let mut found = None;
    for at in outside(text) {
        let Some((sign, operator)) = SIGNS.iter().find(|(sign, _)| text[at..].starts_with(sign))
        else {
            continue;
        };
        if let Some((before, _, _)) = found
            && at < before
        {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some((at + sign.len(), at, *operator));
    }
    let (end, start, operator) = found?;
    Some(Comparison {
        left: &text[..start],
        operator,
        right: &text[end..],
    })
}

/// Bytes that are outside quotes and references.
fn outside(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut quote = None;
    let mut braces = 0_usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if open == c && before != '\\' => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' => quote = Some(c),
                '{' => braces += 1,
                '}' => braces = braces.saturating_sub(1),
                _ if braces == 0 => found.push(at),
                _ => {}
            },
        }
        before = c;
    }
    found
}

/// Splits at words outside quotes.
fn split_outside<'t>(text: &'t str, words: &[&str]) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for at in outside(text) {
        let Some(word) = words.iter().find(|word| text[at..].starts_with(*word)) else {
            continue;
        };
        if at >= start {
            parts.push(&text[start..at]);
            start = at + word.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Without the space and the parentheses around it.
fn unwrapped(text: &str) -> &str {
    let mut text = text.trim().trim_end_matches(';').trim_end();
    while let Some(inside) = text
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let mut depth = 0_i64;
        let closes_early = inside.chars().any(|c| {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth < 0
        });
        if closes_early {
            break;
        }
        text = inside.trim();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_found_outside_quotes() {
        let check = |text: &str, expected: Option<(&str, &str, &str)>| {
            let found = compared(text);
            let found = found
                .as_ref()
                .map(|found| (found.left.trim(), found.operator, found.right.trim()));
            assert_eq!(found, expected, "{text}");
        };
        check("\"${x}\" == \"a<b\"", Some(("\"${x}\"", "==", "\"a<b\"")));
        check("${n} <= 3", Some(("${n}", "<=", "3")));
        check("${n} lt 3", Some(("${n}", "<", "3")));
        check("1 < 2 < 3", None);
        check("${x}", None);
        assert_eq!(unwrapped(" ((a) == (b)) ;"), "(a) == (b)");
        assert_eq!(
            expression("${__jexl3(\"${x}\" == \"y\",)}"),
            "\"${x}\" == \"y\""
        );
        assert_eq!(split_outside("a && 'b && c'", &["&&"]), ["a ", " 'b && c'"]);
    }
}
