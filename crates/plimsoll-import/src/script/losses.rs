//! What a script asked for and the plan does not have: the loss list.

use std::fmt;

/// Most losses that are listed one by one.
const LOSSES_MAX: usize = 1_000;

/// A part of a script that the plan lacks. `Display` writes `FILE:LINE:COLUMN: lost: WHAT: WHY; REMEDY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Name of the script, as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What was left out, in the words of the other tool.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            what,
            why,
            remedy,
        } = self;
        write!(f, "{file}:{line}:{column}: lost: {what}: {why}; {remedy}")
    }
}

/// Why something is lost, and what to write instead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remedy<'a> {
    pub(crate) why: &'a str,
    pub(crate) remedy: &'a str,
}

/// Of a path that begins with two slashes: the writer of plans sends one.
pub(crate) const TWO_SLASHES: (&str, Remedy<'static>) = (
    "a path that begins with two slashes",
    Remedy {
        why: "in a plan two slashes begin a host; one is sent",
        remedy: "none, unless the service tells the two apart",
    },
);

/// Collects the losses of one script, in the order of the text.
#[derive(Debug)]
pub(crate) struct Losses<'s> {
    file: &'s str,
    /// Bytes at which the lines begin.
    lines: Vec<usize>,
    source: &'s str,
    list: Vec<(usize, Loss)>,
    beyond: usize,
}

impl<'s> Losses<'s> {
    /// For the script `source`, which people know as `file`.
    pub(crate) fn new(file: &'s str, source: &'s str) -> Self {
        let line_ends = source.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file,
            lines: std::iter::once(0).chain(line_ends).collect(),
            source,
            list: Vec::new(),
            beyond: 0,
        }
    }

    /// Notes that `what`, which stands at byte `at` of the source, is not in the plan.
    pub(crate) fn lose(&mut self, at: usize, what: impl Into<String>, how: Remedy<'_>) {
        let (line, column) = self.place(at);
        let loss = Loss {
            file: self.file.to_owned(),
            line,
            column,
            what: shown(&what.into()),
            why: how.why.to_owned(),
            remedy: how.remedy.to_owned(),
        };
        if self.list.iter().any(|(_, known)| *known == loss) {
            return;
        }
        if self.list.len() >= LOSSES_MAX {
            self.beyond += 1;
            return;
        }
        self.list.push((at, loss));
    }

    /// Line and column of a byte, each from 1.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let at = self.source.floor_char_boundary(at);
        let line = self.lines.partition_point(|&start| start <= at);
        let start = self.lines[line - 1];
        (line, self.source[start..at].chars().count() + 1)
    }

    /// Adds the losses of another file behind those of this one.
    pub(crate) fn append(&mut self, other: Self) {
        self.beyond += other.beyond;
        let mut more = other.list;
        more.sort_by_key(|(at, _)| *at);
        for (_, loss) in more {
            if self.list.len() >= LOSSES_MAX {
                self.beyond += 1;
            } else {
                self.list.push((usize::MAX, loss));
            }
        }
    }

    /// All losses in the order of the text; the last one counts those that are not listed.
    pub(crate) fn finish(mut self) -> Vec<Loss> {
        self.list.sort_by_key(|(at, _)| *at);
        let mut losses: Vec<Loss> = self.list.into_iter().map(|(_, loss)| loss).collect();
        if self.beyond > 0 {
            let (line, column) = losses
                .last()
                .map_or((1, 1), |loss| (loss.line, loss.column));
            losses.push(Loss {
                file: self.file.to_owned(),
                line,
                column,
                what: format!("{} more", crate::counted(self.beyond, "part")),
                why: format!("only the first {LOSSES_MAX} are listed"),
                remedy: "mend those, then import again".to_owned(),
            });
        }
        losses
    }
}

/// A name of the script on one line, shortened.
fn shown(text: &str) -> String {
    const LEN_MAX: usize = 120;
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let mut short: String = line.chars().take(LEN_MAX).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: Remedy<'_> = Remedy {
        why: "a plan has no such thing",
        remedy: "write a step",
    };

    #[test]
    fn losses_name_their_place_in_the_order_of_the_text() {
        let source = "añb\r\nsecond\n";
        let mut losses = Losses::new("a.js", source);
        losses.lose(source.len() - 2, "late\nname", HOW);
        losses.lose(3, "early", HOW);
        losses.lose(3, "early", HOW);
        let lines: Vec<String> = losses.finish().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "a.js:1:3: lost: early: a plan has no such thing; write a step",
                "a.js:2:6: lost: late name: a plan has no such thing; write a step"
            ]
        );
    }

    #[test]
    fn beyond_the_limit_they_are_counted() {
        let mut losses = Losses::new("a.js", "");
        for number in 0..LOSSES_MAX + 7 {
            losses.lose(0, number.to_string(), HOW);
        }
        let list = losses.finish();
        assert_eq!(list.len(), LOSSES_MAX + 1);
        assert_eq!(list[LOSSES_MAX].what, "7 parts more");
    }
}
