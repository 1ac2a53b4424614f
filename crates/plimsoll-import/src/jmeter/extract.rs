//! Extractors as captures.

use super::context::Import;
use super::names::title;
use super::paths;
use super::pattern;
use super::scope::ElementScope;
use super::tree::Element;
use super::value::Value;
use crate::script::draft::{CaptureDraft, CaptureSource, PickDraft};

const EXTRACTORS: [&str; 8] = [
    "RegexExtractor",
    "BoundaryExtractor",
    "JSONPostProcessor",
    "JSONPathExtractor",
    "JMESPathExtractor",
    "HtmlExtractor",
    "XPathExtractor",
    "XPath2Extractor",
];
const REMEDY: &str = "write `capture` with regex, json, css, header or cookie";

/// An extractor's variable before it becomes a capture.
struct ExtractedValue {
    name: String,
    source: CaptureSource,
    /// As JMeter counts: 0 is any, -1 all.
    number: i64,
    default: Option<Value>,
}

impl Import<'_> {
    /// What the extractors in a sampler's scope take from its answer.
    pub(super) fn captures(&mut self, scope: &ElementScope<'_>) -> Vec<CaptureDraft> {
        let extractors: Vec<&Element> = scope.of(&EXTRACTORS).collect();
        let mut captures: Vec<CaptureDraft> = Vec::new();
        for extractor in extractors {
            let is_wide = !scope.is_own(extractor);
            for found in self.extracted(extractor) {
                let capture = self.capture(extractor, found, is_wide);
                if captures.iter().any(|known| known.name == capture.name) {
                    self.lose(
                        extractor,
                        &format!(
                            "another extractor sets `{}` from the same answer",
                            capture.name
                        ),
                        "write one expression for both, with `|`",
                    );
                } else {
                    captures.push(capture);
                }
            }
        }
        captures
    }

    fn capture(
        &mut self,
        extractor: &Element,
        found: ExtractedValue,
        is_wide: bool,
    ) -> CaptureDraft {
        let slot = self.names.slot(&found.name);
        let default = match found.default {
            Some(value) => Some(value.template()),
            // An extractor for many samplers leaves the variable alone where it finds nothing.
            None if is_wide => Some(self.variable_value(&found.name, extractor.at).template()),
            None => None,
        };
        if found.number < 0 {
            self.lose(
                extractor,
                "a plan captures one value, not all; here it is the first",
                "write `pick: random`, or a number",
            );
            let first = format!("{}_1", found.name);
            self.names.expressions.insert(first, slot.clone());
        }
        self.user.set.insert(found.name);
        CaptureDraft {
            name: slot,
            source: found.source,
            pick: pick(found.number),
            default,
        }
    }

    fn extracted(&mut self, extractor: &Element) -> Vec<ExtractedValue> {
        if extractor.text("Sample.scope") == "variable"
            || !extractor.text("Scope.variable").is_empty()
        {
            self.lose(
                extractor,
                "it looks into a variable, not into an answer",
                REMEDY,
            );
            return Vec::new();
        }
        let found = match extractor.class.as_str() {
            "RegexExtractor" => return self.found(extractor, Self::by_regex),
            "BoundaryExtractor" => self.by_boundary(extractor),
            "JSONPostProcessor" => return self.by_json_paths(extractor),
            "JSONPathExtractor" => {
                self.by_path(extractor, ("VAR", "JSONPATH", "DEFAULT"), paths::json)
            }
            "JMESPathExtractor" => {
                let names = (
                    "JMESExtractor.referenceName",
                    "JMESExtractor.jmesPathExpr",
                    "JMESExtractor.defaultValue",
                );
                self.by_path(extractor, names, paths::jmes)
            }
            "HtmlExtractor" => self.by_css(extractor),
            "XPath2Extractor" => self.by_xpath(extractor, "XPathExtractor2"),
            _ => self.by_xpath(extractor, "XPathExtractor"),
        };
        let found = found.map(|found| found.into_iter().collect());
        self.found(extractor, |_, _| found)
    }

    /// What a kind of extractor gives, or its loss.
    fn found(
        &mut self,
        extractor: &Element,
        of: impl FnOnce(&mut Self, &Element) -> Result<Vec<ExtractedValue>, String>,
    ) -> Vec<ExtractedValue> {
        let found = of(self, extractor);
        found.unwrap_or_else(|why| {
            self.lose(extractor, &why, REMEDY);
            Vec::new()
        })
    }

    /// A constant property, or why it is none.
    fn constant(&mut self, element: &Element, property: &str) -> Result<String, String> {
        let value = self.of(element, property);
        let text = value.constant();
        text.ok_or_else(|| {
            format!(
                "its expression `{}` changes at run time",
                element.text(property)
            )
        })
    }

    /// The default of an extractor; with `empty`, no text is one, too.
    fn default_of(&mut self, element: &Element, property: &str, empty: &str) -> Option<Value> {
        let value = self.of(element, property);
        (!value.is_empty() || element.is_set(empty)).then_some(value)
    }

    fn by_regex(&mut self, extractor: &Element) -> Result<Vec<ExtractedValue>, String> {
        let written = self.constant(extractor, "RegexExtractor.regex")?;
        let regex = pattern::converted(&written)?;
        let number = match_number(extractor.text("RegexExtractor.match_number"), 0)?;
        let name = extractor.text("RegexExtractor.refname").trim();
        let field = extractor.text("RegexExtractor.useHeaders").trim();
        let mut found = Vec::new();
        if matches!(field, "" | "false") {
            // JMeter sets `name_g1` and so on beside the name; those that are used are captured.
            for group in 0..=9 {
                let own = format!("{name}_g{group}");
                if !self.script.text.contains(&format!("${{{own}}}")) {
                    continue;
                }
                found.push(ExtractedValue {
                    name: own,
                    source: CaptureSource::Regex(single_group(&regex, group)?),
                    number,
                    default: None,
                });
            }
        }
        let template = extractor.text("RegexExtractor.template").trim();
        let group = match template {
            "" => Some(1),
            _ => template
                .strip_prefix('$')
                .and_then(|rest| rest.strip_suffix('$'))
                .and_then(|number| number.parse::<usize>().ok()),
        };
        let Some(group) = group else {
            let why = format!("a capture is one group, not the template `{template}`");
            let is_used = self.script.text.contains(&format!("${{{name}}}"));
            if is_used || found.is_empty() {
                self.lose(extractor, &why, REMEDY);
            }
            return Ok(found);
        };
        let source = match field {
            "" | "false" => CaptureSource::Regex(single_group(&regex, group)?),
            "true" => of_headers(&written)
                .ok_or("only a whole header or a cookie can be captured of the headers")?,
            "unescaped" | "as_document" => {
                return Err("a capture looks into the body as it is sent".to_owned());
            }
            field => return Err(format!("a capture does not look into `{field}`")),
        };
        found.push(ExtractedValue {
            name: name.to_owned(),
            source,
            number,
            default: self.default_of(
                extractor,
                "RegexExtractor.default",
                "RegexExtractor.default_empty_value",
            ),
        });
        Ok(found)
    }

    fn by_boundary(&mut self, extractor: &Element) -> Result<Option<ExtractedValue>, String> {
        let left = self.constant(extractor, "BoundaryExtractor.lboundary")?;
        let right = self.constant(extractor, "BoundaryExtractor.rboundary")?;
        if !matches!(
            extractor.text("BoundaryExtractor.useHeaders").trim(),
            "" | "false"
        ) {
            return Err("a capture between boundaries looks into the body".to_owned());
        }
        let (left, right) = (regex::escape(&left), regex::escape(&right));
        let regex = if right.is_empty() {
            format!("(?s){left}(.*)")
        } else {
            format!("(?s){left}(.*?){right}")
        };
        Ok(Some(ExtractedValue {
            name: extractor
                .text("BoundaryExtractor.refname")
                .trim()
                .to_owned(),
            source: CaptureSource::Regex(pattern::converted(&regex)?),
            number: match_number(extractor.text("BoundaryExtractor.match_number"), 0)?,
            default: self.default_of(
                extractor,
                "BoundaryExtractor.default",
                "BoundaryExtractor.default_empty_value",
            ),
        }))
    }

    /// Several names and paths, separated by semicolons.
    fn by_json_paths(&mut self, extractor: &Element) -> Vec<ExtractedValue> {
        let mut found = Vec::new();
        let list = |import: &mut Self, property: &str| -> Vec<String> {
            let text = import
                .of(extractor, property)
                .constant()
                .unwrap_or_default();
            text.split(';').map(|part| part.trim().to_owned()).collect()
        };
        let names = list(self, "JSONPostProcessor.referenceNames");
        let paths = list(self, "JSONPostProcessor.jsonPathExprs");
        let numbers = list(self, "JSONPostProcessor.match_numbers");
        let defaults = list(self, "JSONPostProcessor.defaultValues");
        for (index, (name, path)) in names.into_iter().zip(paths).enumerate() {
            if name.is_empty() {
                continue;
            }
            let number = numbers.get(index).map_or("", String::as_str);
            let made = paths::json(&path).and_then(|path| {
                let number = match_number(number, 0)?;
                Ok(ExtractedValue {
                    name: name.clone(),
                    number: definite(&path, number),
                    source: CaptureSource::Json(path),
                    default: defaults
                        .get(index)
                        .filter(|text| !text.is_empty())
                        .map(|text| Value::text(text.clone())),
                })
            });
            match made {
                Ok(value) => found.push(value),
                Err(why) => {
                    let what = format!("`{name}` of {}", title(extractor));
                    self.lose_text(extractor.at, &what, &why, REMEDY);
                }
            }
        }
        found
    }

    fn by_path(
        &mut self,
        extractor: &Element,
        (name, path, default): (&str, &str, &str),
        converted: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Option<ExtractedValue>, String> {
        let path = converted(&self.constant(extractor, path)?)?;
        let number = match_number(extractor.text("JMESExtractor.matchNumber"), 1)?;
        Ok(Some(ExtractedValue {
            name: extractor.text(name).trim().to_owned(),
            number: definite(&path, number),
            source: CaptureSource::Json(path),
            default: self.default_of(extractor, default, ""),
        }))
    }

    fn by_css(&mut self, extractor: &Element) -> Result<Option<ExtractedValue>, String> {
        let selector = paths::css(&self.constant(extractor, "HtmlExtractor.expr")?)?;
        let attribute = self.constant(extractor, "HtmlExtractor.attribute")?;
        let attribute = Some(attribute.trim().to_owned()).filter(|name| !name.is_empty());
        Ok(Some(ExtractedValue {
            name: extractor.text("HtmlExtractor.refname").trim().to_owned(),
            source: CaptureSource::Css {
                selector,
                attribute,
            },
            number: match_number(extractor.text("HtmlExtractor.match_number"), 0)?,
            default: self.default_of(
                extractor,
                "HtmlExtractor.default",
                "HtmlExtractor.default_empty_value",
            ),
        }))
    }

    fn by_xpath(
        &mut self,
        extractor: &Element,
        class: &str,
    ) -> Result<Option<ExtractedValue>, String> {
        let path = self.constant(extractor, &format!("{class}.xpathQuery"))?;
        let (selector, attribute) = paths::css_of_xpath(&path)?;
        let number = match_number(extractor.text(&format!("{class}.matchNumber")), 1)?;
        Ok(Some(ExtractedValue {
            name: extractor
                .text(&format!("{class}.refname"))
                .trim()
                .to_owned(),
            source: CaptureSource::Css {
                selector,
                attribute,
            },
            // All matches are the first one in the variable itself.
            number: if number < 0 { 1 } else { number },
            default: self.default_of(extractor, &format!("{class}.default"), ""),
        }))
    }
}

/// The number of a match; `default` where there is none.
fn match_number(text: &str, default: i64) -> Result<i64, String> {
    match text.trim() {
        "" => Ok(default),
        text => text
            .parse()
            .map_err(|_| format!("its match number `{text}` is not a constant")),
    }
}

/// A path that finds one value at most finds the first.
fn definite(path: &str, number: i64) -> i64 {
    let is_definite = !path.contains(['*', '?', ':', ',']) && !path.contains("..");
    if is_definite { 1 } else { number }
}

fn pick(number: i64) -> PickDraft {
    match u64::try_from(number) {
        Ok(0) => PickDraft::Random,
        Ok(number) if number > 1 => PickDraft::Nth(number.min(u64::from(u32::MAX))),
        _ => PickDraft::First,
    }
}

/// The expression with one capturing group, or none for the whole match.
fn single_group(regex: &str, group: usize) -> Result<String, String> {
    let count = pattern::groups(regex);
    if group == 1 && count <= 1 || group == 0 && count == 0 {
        return Ok(regex.to_owned());
    }
    let changed = pattern::with_group(regex, group);
    changed.ok_or_else(|| format!("the expression has no group {group}"))
}

/// A header or a cookie that an expression on all headers takes whole.
fn of_headers(pattern: &str) -> Option<CaptureSource> {
    let pattern = pattern.trim_start_matches('^');
    let (name, rest) = pattern.split_once(':')?;
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    let name = name.strip_prefix("(?i)").unwrap_or(name);
    is_name(name).then_some(())?;
    let rest = ["\\s*", "\\s+", "\\s", " *", " "]
        .iter()
        .find_map(|space| rest.strip_prefix(space))
        .unwrap_or(rest);
    if name.eq_ignore_ascii_case("set-cookie") {
        let (cookie, value) = rest.split_once('=')?;
        return (is_name(cookie) && value.starts_with('('))
            .then(|| CaptureSource::Cookie(cookie.to_owned()));
    }
    let is_whole = rest.starts_with("(.") && rest.rfind(')')? < 6;
    is_whole.then(|| CaptureSource::Header(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_cookies_are_taken_whole() {
        let check = |pattern: &str, expected: Option<&str>| {
            let found = of_headers(pattern).map(|source| match source {
                CaptureSource::Header(name) => format!("header {name}"),
                CaptureSource::Cookie(name) => format!("cookie {name}"),
                other => format!("{other:?}"),
            });
            assert_eq!(found.as_deref(), expected, "{pattern}");
        };
        check("Location: (.+)", Some("header Location"));
        check(r"X-Token:\s*(.*?)\n", Some("header X-Token"));
        check("Set-Cookie: SESSION=([^;]+)", Some("cookie SESSION"));
        check("Location: .*id=(\\d+)", None);
        check("(.*)", None);
    }
}
