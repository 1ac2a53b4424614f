//! What the configuration of a program contains, read without scraping it: for advice.

use super::metrics::FileSetting;
use crate::files::Files;

/// A program, or one of its pools, as its configuration describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ComponentConfig {
    /// Where it is scraped; without such an address where it listens, or the file that describes it.
    pub(crate) at: String,
    /// Addresses where it listens, as written; empty where they are among its time-outs.
    pub(crate) listens: Vec<String>,
    /// Addresses to which it connects, as written; empty where they are among its time-outs.
    pub(crate) hops: Vec<String>,
    /// Its settings; a default that binds is among them, without a file.
    pub(crate) settings: Vec<FileSetting>,
}

impl ComponentConfig {
    /// The setting of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.settings.iter().any(|setting| setting.name == name)
    }

    /// Adds a program's own default where nothing is written.
    pub(super) fn or_default(mut self, name: &'static str, value: f64) -> Self {
        if !self.has(name) {
            self.settings.push(FileSetting::number(name, value, ""));
        }
        self
    }
}

/// The variables with which a process was started. Some are secrets: only those that are wanted leave it.
pub(crate) struct Environment(String);

impl Environment {
    /// That of a process; `None` where it may not be read.
    pub(crate) fn of(files: &mut Files, pid: u32) -> Option<Self> {
        let text = files.memory_text_of(&format!("proc/{pid}/environ"));
        text.ok().map(Self)
    }

    #[cfg(test)]
    pub(crate) fn from_text(text: String) -> Self {
        Self(text)
    }

    /// Names and values, in their order.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.split('\0').filter_map(|entry| entry.split_once('='))
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.find(|key| key == name).map(|(_, value)| value)
    }

    /// The first variable with such a name, and its value.
    pub(crate) fn find(&self, is_it: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
        self.variables().find(|(key, _)| is_it(key))
    }
}

/// The children of a process.
pub(crate) fn children_of(files: &mut Files, pid: u32) -> Vec<u32> {
    let text = files.read(&format!("proc/{pid}/task/{pid}/children"));
    let words = text.unwrap_or_default().split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Bytes of a size as programs write it: a number with `k`, `m`, `g` or `t` behind it, or without.
pub(crate) fn bytes(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.trim_end_matches('b');
    let (number, scale) = match text.char_indices().next_back()? {
        (end, 'k') => (&text[..end], 1024.0),
        (end, 'm') => (&text[..end], 1_048_576.0),
        (end, 'g') => (&text[..end], 1_073_741_824.0),
        (end, 't') => (&text[..end], 1_099_511_627_776.0),
        _ => (text, 1.0),
    };
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * scale)
}

/// 1 or 0 for a switch as ini files write it.
pub(crate) fn switch(text: &str) -> Option<f64> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some(1.0),
        "0" | "off" | "no" | "false" | "none" => Some(0.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_switches() {
        for (text, value) in [
            ("512m", Some(536_870_912.0)),
            ("64MB", Some(67_108_864.0)),
            ("1G", Some(1_073_741_824.0)),
            ("128", Some(128.0)),
            ("-1", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(bytes(text), value, "{text}");
        }
        assert_eq!(
            (switch("On"), switch("0"), switch("2")),
            (Some(1.0), Some(0.0), None)
        );
    }
}
