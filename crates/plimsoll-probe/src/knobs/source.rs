//! Texts of configuration files, and how they become templates.

use std::ops::Range;

/// A change of a text that puts a knob into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobEdit {
    /// The bytes that are replaced; empty for an insertion.
    pub at: Range<usize>,
    /// What stands there in the template; mentions of the knob are `{{ NAME }}`.
    pub text: String,
    /// The knob; the edit is made only if it is searched.
    pub knob: String,
}

/// The template of a text: its edits of the knobs that are searched, and everything else as it is.
pub fn template(text: &str, edits: &[KnobEdit], is_searched: &dyn Fn(&str) -> bool) -> String {
    let mut edits: Vec<&KnobEdit> = edits
        .iter()
        .filter(|edit| is_searched(&edit.knob) && text.get(edit.at.clone()).is_some())
        .collect();
    edits.sort_by_key(|edit| edit.at.start);
    let (mut template, mut from) = (String::new(), 0);
    for edit in edits {
        // Two edits of the same place would be one knob too many.
        if edit.at.start < from {
            continue;
        }
        template.push_str(&literal(&text[from..edit.at.start]));
        template.push_str(&edit.text);
        from = edit.at.end;
    }
    template.push_str(&literal(&text[from..]));
    template
}

/// A text as a template has it that has no placeholders.
pub fn literal(text: &str) -> String {
    text.replace("{{", "{{ '{{' }}")
}

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Where it begins.
    pub(super) start: usize,
    /// Without its end.
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// Where the next line begins.
    pub(super) fn next(&self, whole: &str) -> usize {
        (self.start + self.text.len() + 1).min(whole.len())
    }

    /// The range of a part of this line in the whole text.
    pub(super) fn range_of(&self, part: &str) -> Option<Range<usize>> {
        let offset = part
            .as_ptr()
            .addr()
            .checked_sub(self.text.as_ptr().addr())?;
        let start = self.start + offset;
        (offset + part.len() <= self.text.len()).then(|| start..start + part.len())
    }
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    text.split('\n').map(move |line| {
        let this = Line { start, text: line };
        start += line.len() + 1;
        this
    })
}

/// Where a new last line begins, and what must come before it.
pub(super) fn end_of(text: &str) -> (usize, &'static str) {
    let is_open = !text.is_empty() && !text.ends_with('\n');
    (text.len(), if is_open { "\n" } else { "" })
}

/// The value of a key in a file with lines `key = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IniValue<'a> {
    pub(super) value: &'a str,
    pub(super) at: Range<usize>,
}

/// How a file with keys and values is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct IniForm {
    /// What separates key and value; a space where the sign may be missing.
    pub(super) separator: char,
    /// Marks of comments at the beginning of a line.
    pub(super) comments: &'static [char],
    /// Mark of a comment behind a value.
    pub(super) trailing: Option<char>,
}

/// `key = value`, with comments at the beginning of lines alone.
pub(super) const INI: IniForm = IniForm {
    separator: '=',
    comments: &[';', '#'],
    trailing: None,
};
/// `key = value ; comment`, as PHP reads it.
pub(super) const PHP_INI: IniForm = IniForm {
    separator: '=',
    comments: &[';', '#'],
    trailing: Some(';'),
};
/// `key value # comment`, with or without a sign, as PostgreSQL reads it.
pub(super) const SPACED: IniForm = IniForm {
    separator: ' ',
    comments: &['#'],
    trailing: Some('#'),
};
/// `key = value # comment`, as MariaDB and Python read it.
pub(super) const HASH: IniForm = IniForm {
    separator: '=',
    comments: &['#', ';'],
    trailing: Some('#'),
};

/// The last value of a key, in a section where one is given.
pub(super) fn ini<'a>(
    text: &'a str,
    form: IniForm,
    section: Option<&str>,
    key: &str,
) -> Option<IniValue<'a>> {
    let mut is_inside = section.is_none();
    let mut found = None;
    for line in lines(text) {
        let content = line.text.trim();
        if content.starts_with(form.comments) {
            continue;
        }
        if let Some(section) = section
            && let Some(name) = content.strip_prefix('[')
        {
            is_inside = name.trim_end().trim_end_matches(']') == section;
            continue;
        }
        if !is_inside {
            continue;
        }
        if let Some(value) = value_of(line, form, key) {
            found = Some(value);
        }
    }
    found
}

fn value_of<'a>(line: Line<'a>, form: IniForm, key: &str) -> Option<IniValue<'a>> {
    let rest = line.text.trim_start().strip_prefix(key)?;
    if !rest.starts_with([' ', '\t', '=', form.separator]) {
        return None;
    }
    let rest = rest.trim_start_matches([' ', '\t']);
    let value = match rest.strip_prefix('=') {
        Some(value) => value,
        None if form.separator == ' ' => rest,
        None => return None,
    };
    let value = form
        .trailing
        .and_then(|mark| Some(value.split_once(mark)?.0))
        .unwrap_or(value);
    let value = value.trim();
    Some(IniValue {
        value,
        at: line.range_of(value)?,
    })
}

/// Where the first line of a section begins.
pub(super) fn begin_of_section(text: &str, section: &str) -> Option<usize> {
    let header = format!("[{section}]");
    let line = lines(text).find(|line| line.text.trim() == header)?;
    Some(line.next(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_of_searched_knobs_alone_are_in_the_template() {
        let text = "a = 1\nb = 2 {{x}}\n";
        let edit = |key: &str, knob: &str| KnobEdit {
            at: ini(text, HASH, None, key).unwrap().at,
            text: format!("{{{{ {knob} }}}}"),
            knob: knob.to_owned(),
        };
        let edits = [edit("b", "two"), edit("a", "one_level")];
        let whole = template(text, &edits, &|_| true);
        assert_eq!(whole, "a = {{ one_level }}\nb = {{ two }}\n");
        let part = template(text, &edits, &|knob| knob == "one_level");
        assert_eq!(part, "a = {{ one_level }}\nb = 2 {{ '{{' }}x}}\n");
        assert_eq!(
            template(text, &edits, &|_| false).replace("{{ '{{' }}", "{{"),
            text
        );
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let text =
            "[other]\npm = x\n[www]\n; pm = no\npm = static\n  pm = dynamic ; why\npm.max = 5\n";
        let found = ini(text, PHP_INI, Some("www"), "pm").unwrap();
        assert_eq!(
            (found.value, &text[found.at.clone()]),
            ("dynamic", "dynamic")
        );
        assert_eq!(
            ini(text, PHP_INI, Some("www"), "pm.max").unwrap().value,
            "5"
        );
        assert_eq!(ini(text, PHP_INI, Some("none"), "pm"), None);
        assert_eq!(
            begin_of_section(text, "www"),
            Some(text.find("; pm").unwrap())
        );
    }

    #[test]
    fn lines_know_their_places() {
        let text = "ab\n\ncd";
        let starts: Vec<_> = lines(text).map(|line| (line.start, line.text)).collect();
        assert_eq!(starts, [(0, "ab"), (3, ""), (4, "cd")]);
        assert_eq!(end_of(text), (6, "\n"));
        assert_eq!(end_of("x\n"), (2, ""));
    }
}
