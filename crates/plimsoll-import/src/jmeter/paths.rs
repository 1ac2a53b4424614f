//! JSON paths, JMESPath and XPath expressions of JMeter as paths and selectors of plans.

use plimsoll_model::journey::bounded_json_path;
use scraper::Selector;
use serde_json_path::JsonPath;

/// A JSON path (Jayway) as one of RFC 9535, or why there is none.
pub(super) fn json(path: &str) -> Result<String, String> {
    let path = path.trim();
    let mut text = if path.starts_with('$') {
        path.to_owned()
    } else {
        format!("$.{}", path.trim_start_matches('.'))
    };
    if text.ends_with(')') && text.contains('(') && !text.ends_with(']') {
        return Err("functions of Jayway JSONPath are not in RFC 9535".to_owned());
    }
    for candidate in [text.clone(), quoted_members(&text)] {
        if bounded_json_path(&candidate).is_ok() && JsonPath::parse(&candidate).is_ok() {
            return Ok(candidate);
        }
    }
    // Jayway compares with patterns by `=~`; RFC 9535 has a function for that.
    if text.contains("=~") {
        return Err("`=~` is not in RFC 9535; it has `search(@.name, 'pattern')`".to_owned());
    }
    text.truncate(80);
    Err(format!("`{text}` is not a JSON path of RFC 9535"))
}

/// Members such as `user-id`, which RFC 9535 takes only in quotes.
fn quoted_members(path: &str) -> String {
    let mut text = String::new();
    let mut rest = path;
    let mut in_brackets = 0_usize;
    while let Some(c) = rest.chars().next() {
        match c {
            '[' => in_brackets += 1,
            ']' => in_brackets = in_brackets.saturating_sub(1),
            '.' if in_brackets == 0 && !rest.starts_with("..") => {
                let name = &rest[1..];
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let member = &name[..end];
                let is_plain = member
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '_' || c == '*');
                if !is_plain && !member.contains('\'') {
                    text.push_str("['");
                    text.push_str(member);
                    text.push_str("']");
                    rest = &name[end..];
                    continue;
                }
            }
            _ => {}
        }
        text.push(c);
        rest = &rest[c.len_utf8()..];
    }
    text
}

/// A simple JMESPath (members and indices) as a JSON path.
pub(super) fn jmes(path: &str) -> Result<String, String> {
    let path = path.trim();
    let is_simple =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '*' | '-' | '"');
    if path.is_empty() || !path.chars().all(is_simple) {
        return Err("only members and indices of JMESPath have a JSON path".to_owned());
    }
    let path = path.replace('"', "").replace("[]", "[*]");
    json(&if path.starts_with('[') {
        format!("${path}")
    } else {
        format!("$.{path}")
    })
}

/// A selector and the attribute that is wanted.
pub(super) type SelectorAttribute = (String, Option<String>);

/// A simple XPath as a CSS selector, or why there is none.
pub(super) fn css_of_xpath(path: &str) -> Result<SelectorAttribute, String> {
    const WHY: &str = "only simple XPath expressions have a CSS selector";
    let (selector, attribute) = steps(path.trim()).ok_or_else(|| WHY.to_owned())?;
    Selector::parse(&selector)
        .map(|_| (selector, attribute))
        .map_err(|_| WHY.to_owned())
}

/// A CSS selector that a plan takes, or why it does not.
pub(super) fn css(selector: &str) -> Result<String, String> {
    let selector = selector.trim();
    Selector::parse(selector)
        .map(|_| selector.to_owned())
        .map_err(|_| "it is not a CSS selector that a plan takes".to_owned())
}

fn steps(path: &str) -> Option<SelectorAttribute> {
    let mut selector = String::new();
    let mut attribute = None;
    let mut rest = path;
    while !rest.is_empty() {
        let (joint, after) = match rest.strip_prefix("//") {
            Some(after) => (" ", after),
            None => (
                " > ",
                rest.strip_prefix('/')
                    .or(selector.is_empty().then_some(rest))?,
            ),
        };
        let end = step_end(after);
        let step = &after[..end];
        rest = &after[end..];
        if let Some(name) = step.strip_prefix('@') {
            attribute = Some(name.to_owned()).filter(|_| rest.is_empty())?.into();
        } else if step == "text()" {
            rest.is_empty().then_some(())?;
        } else {
            if !selector.is_empty() {
                selector.push_str(joint);
            }
            selector.push_str(&simple_step(step)?);
        }
    }
    (!selector.is_empty()).then_some((selector, attribute))
}

/// The end of a step: the next slash outside brackets.
fn step_end(path: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in path.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => return at,
            _ => {}
        }
    }
    path.len()
}

/// `input[@name='csrf'][1]` as `input[name='csrf']:nth-of-type(1)`.
fn simple_step(step: &str) -> Option<String> {
    let (name, mut conditions) = match step.find('[') {
        Some(at) => step.split_at(at),
        None => (step, ""),
    };
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    let mut selector = match name {
        "*" => "*".to_owned(),
        name if is_name(name) => name.to_ascii_lowercase(),
        _ => return None,
    };
    while !conditions.is_empty() {
        let (condition, rest) = conditions.strip_prefix('[')?.split_once(']')?;
        conditions = rest;
        for part in condition.split(" and ") {
            selector.push_str(&simple_condition(part.trim(), is_name)?);
        }
    }
    Some(selector)
}

fn simple_condition(part: &str, is_name: impl Fn(&str) -> bool) -> Option<String> {
    if part.parse::<u32>().is_ok_and(|number| number > 0) {
        return Some(format!(":nth-of-type({part})"));
    }
    let (attribute, sign, value) = if let Some(inside) = part
        .strip_prefix("contains(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let (attribute, value) = inside.split_once(',')?;
        (attribute, "*=", value)
    } else if let Some(inside) = part
        .strip_prefix("starts-with(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let (attribute, value) = inside.split_once(',')?;
        (attribute, "^=", value)
    } else if let Some((attribute, value)) = part.split_once('=') {
        (attribute, "=", value)
    } else {
        let attribute = part.strip_prefix('@')?;
        return is_name(attribute).then(|| format!("[{attribute}]"));
    };
    let attribute = attribute.trim().strip_prefix('@')?;
    let value = value.trim();
    let quote = value
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let inside = value[1..].strip_suffix(quote)?;
    let is_plain = is_name(attribute) && !inside.contains(['"', '\'', '\\']);
    is_plain.then(|| format!("[{attribute}{sign}\"{inside}\"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_rfc_9535() {
        assert_eq!(json("$.a.b[0]").as_deref(), Ok("$.a.b[0]"));
        assert_eq!(json("a.b").as_deref(), Ok("$.a.b"));
        assert_eq!(json("$.user-id.x").as_deref(), Ok("$['user-id'].x"));
        assert_eq!(json("$..id").as_deref(), Ok("$..id"));
        assert!(json("$.a.length()").is_err());
        assert!(json("$[?(@.a =~ /x/)]").unwrap_err().contains("search"));
        assert_eq!(jmes("items[0].id").as_deref(), Ok("$.items[0].id"));
        assert_eq!(jmes("items[].id").as_deref(), Ok("$.items[*].id"));
        assert!(jmes("items[?a=='b'].id | [0]").is_err());
    }

    #[test]
    fn simple_xpaths_are_selectors() {
        let check = |path: &str, selector: &str, attribute: Option<&str>| {
            let expected = (selector.to_owned(), attribute.map(str::to_owned));
            assert_eq!(css_of_xpath(path), Ok(expected), "{path}");
        };
        check(
            "//input[@name='csrf']/@value",
            "input[name=\"csrf\"]",
            Some("value"),
        );
        check("/html/head/title/text()", "html > head > title", None);
        check(
            "//div[contains(@class,'a')]//a[2]",
            "div[class*=\"a\"] a:nth-of-type(2)",
            None,
        );
        check("//a[@href]", "a[href]", None);
        for path in [
            "count(//a)",
            "//a[last()]",
            "//ns:a",
            "//a/..",
            "",
            "//a[@x='\"]",
        ] {
            assert!(css_of_xpath(path).is_err(), "{path}");
        }
    }
}
