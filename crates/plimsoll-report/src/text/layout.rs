//! Lines, columns and colour of the terminal.

use crate::printable::printable;

/// Lines of one screen.
pub(super) const LINES_MAX: usize = 24;
/// Columns of one screen.
pub(super) const COLUMNS: usize = 80;
/// Columns of the label in front of each block.
const LABEL_COLUMNS: usize = 11;

/// How text may be marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether escape sequences for colour are written.
    pub(crate) colour: bool,
}

impl Style {
    /// `text` in the colour of an SGR code.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// A line behind its label.
    pub(crate) fn labelled(self, label: &str, text: &str) -> String {
        format!(
            "{}{text}",
            self.paint("2", &format!("{label:<LABEL_COLUMNS$}"))
        )
    }
}

/// A text behind its label, wrapped to the screen, at most `lines_max` lines.
pub(crate) fn block(style: Style, label: &str, text: &str, lines_max: usize) -> Vec<String> {
    let indent = " ".repeat(LABEL_COLUMNS);
    let mut lines = wrap(text, &indent, lines_max);
    if let Some(first) = lines.first_mut() {
        *first = style.labelled(label, &first[LABEL_COLUMNS..]);
    }
    lines
}

/// Breaks `text` between words so that each line, `indent` included, fits the screen; what does not fit into
/// `lines_max` lines ends in an ellipsis.
pub(crate) fn wrap(text: &str, indent: &str, lines_max: usize) -> Vec<String> {
    let room = COLUMNS - indent.chars().count();
    let mut lines = vec![String::new()];
    for word in words(&printable(text)) {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().expect("there is always a line");
            let used = line.chars().count();
            let gap = usize::from(used > 0);
            if used + gap + word.len() <= room {
                line.push_str(&" ".repeat(gap));
                line.extend(word);
                break;
            }
            if used > 0 {
                lines.push(String::new());
            } else {
                // A word longer than a line is broken.
                line.extend(word.drain(..room));
                lines.push(String::new());
            }
        }
    }
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        let line = lines.last_mut().expect("at least one line is kept");
        let kept: String = line.chars().take(room - 2).collect();
        *line = format!("{} …", kept.trim_end());
    }
    lines
        .into_iter()
        .map(|line| format!("{indent}{line}"))
        .collect()
}

/// Words between which a line may be broken: a number keeps its unit.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 9] = ["%", "µs", "ms", "s", "min", "h", "req/s", "MiB", "GiB"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches(['.', ',', ';', ':', ')']);
        match words.last_mut() {
            Some(last)
                if word == "<"
                    || last.ends_with('<')
                    || (UNITS.contains(&unit) && last.ends_with(|c: char| c.is_ascii_digit())) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// `text` with its numbers and bounds held together on one line wherever it is broken.
pub(crate) fn unbroken(text: &str) -> String {
    let words = words(&printable(text));
    let words: Vec<String> = words
        .iter()
        .map(|word| word.replace(' ', "\u{a0}"))
        .collect();
    words.join(" ")
}
