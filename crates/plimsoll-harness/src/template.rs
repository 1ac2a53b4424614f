//! Command lines and configuration files of the data folders, with places for values.
//!
//! `@name@` is replaced by a value. A line that begins with `@name? ` is kept only if the value is set (`@!name? `: only if
//! it is not), without this mark.

use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::{Context as _, Result, anyhow};

/// Values by their names.
#[derive(Clone, Debug, Default)]
pub struct Values(BTreeMap<String, String>);

impl Values {
    /// Sets a value; an empty one counts as not set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        self.0.insert(name.to_owned(), value.to_string());
        self
    }

    /// With the values of others, which win.
    #[must_use]
    pub fn join(mut self, others: &Self) -> Self {
        let others = others.0.iter();
        self.0
            .extend(others.map(|(name, value)| (name.clone(), value.clone())));
        self
    }

    /// A value that is a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.0.get(name)?.parse().ok()
    }

    fn is_set(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_empty())
    }

    fn get(&self, name: &str) -> Result<&str> {
        self.0.get(name).map(String::as_str).ok_or_else(|| {
            let names: Vec<_> = self.0.keys().map(String::as_str).collect();
            anyhow!("unknown value `@{name}@`; valid: {}", names.join(", "))
        })
    }
}

/// Fills a text in; `place` names it in errors.
///
/// # Errors
///
/// If it asks for a value that there is not, with its line.
pub fn fill(place: &str, text: &str, values: &Values) -> Result<String> {
    let mut filled = String::with_capacity(text.len());
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if let Some(line) = kept(line, values) {
            fill_line(line, values, &mut filled).with_context(|| format!("{place}:{number}"))?;
        }
    }
    Ok(filled)
}

/// A command line, split at its spaces and then filled: values may hold spaces. A word that ends with `...` is split once
/// more when it is filled; one that is empty then is left out.
///
/// # Errors
///
/// As [`fill`].
pub fn words(place: &str, line: &str, values: &Values) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for word in line
        .lines()
        .filter_map(|line| kept(line, values))
        .flat_map(str::split_whitespace)
    {
        match word.strip_suffix("...") {
            Some(list) => words.extend(split(&fill(place, list, values)?)),
            None => words.push(fill(place, word, values)?),
        }
    }
    words.retain(|word| !word.is_empty());
    Ok(words)
}

/// A command line without quotes, split at its spaces.
pub fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(ToOwned::to_owned).collect()
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(is_part)
}

fn kept<'a>(line: &'a str, values: &Values) -> Option<&'a str> {
    let mark = line
        .strip_prefix('@')
        .and_then(|line| line.split_once("? "));
    let Some((condition, rest)) = mark else {
        return Some(line);
    };
    let (name, is_wanted) = match condition.strip_prefix('!') {
        Some(name) => (name, false),
        None => (condition, true),
    };
    if !is_name(name) {
        return Some(line);
    }
    (values.is_set(name) == is_wanted).then_some(rest)
}

fn fill_line(mut rest: &str, values: &Values, filled: &mut String) -> Result<()> {
    while let Some((before, after)) = rest.split_once('@') {
        filled.push_str(before);
        match after.split_once('@') {
            Some((name, after)) if is_name(name) => {
                filled.push_str(values.get(name)?);
                rest = after;
            }
            _ => {
                filled.push('@');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_and_lines_kept_by_them() {
        let values = Values::default()
            .with("port", 80)
            .with("tls", "")
            .with("log", "yes");
        let text = "listen @port@;\n@tls? ssl;\n@!tls? plain;\n@log? to @port@\nme@home at 1@2\n";
        let filled = fill("a.conf", text, &values).unwrap();
        assert_eq!(filled, "listen 80;\nplain;\nto 80\nme@home at 1@2\n");
        assert_eq!(
            words("a", "b  @port@ c", &values).unwrap(),
            ["b", "80", "c"]
        );
        let values = values.with("list", "x y").with("path", "/a b");
        let split = words("a", "@list@... @path@/c\n@tls? z", &values).unwrap();
        assert_eq!(split, ["x", "y", "/a b/c"]);
        let error = format!("{:#}", fill("a.conf", "\n@nothing@", &values).unwrap_err());
        assert_eq!(
            error,
            "a.conf:2: unknown value `@nothing@`; valid: list, log, path, port, tls"
        );
    }
}
