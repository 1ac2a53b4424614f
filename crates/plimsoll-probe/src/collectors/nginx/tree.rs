//! The configuration of nginx as a tree: a setting of a block applies inside it, regardless of its position.

use std::ops::Range;

use crate::collectors::discovery::{option, text_for, texts_for};
use crate::files::Files;

/// Files read at most, includes counted.
const FILES_MAX: usize = 256;
/// How deep files include files.
const DEPTH_MAX: usize = 8;
/// Maximum nesting of blocks: real configurations are not deeper.
const BLOCKS_MAX: usize = 64;
/// Directives of all files together.
const DIRECTIVES_MAX: usize = 200_000;
/// Tokens of one file.
const TOKENS_MAX: usize = 500_000;

/// A directive, or a block with its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directive {
    pub(crate) words: Vec<String>,
    /// `file:line`.
    pub(crate) place: String,
    /// The file, by its index in the tree.
    pub(crate) file: usize,
    /// The bytes of its values there; empty where it has none.
    pub(crate) values: Range<usize>,
    /// Where its `;` or `{` ends there.
    pub(crate) end: usize,
    pub(crate) is_block: bool,
    pub(crate) inner: Vec<Directive>,
}

impl Directive {
    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Its first value.
    pub(crate) fn value(&self) -> &str {
        self.words.get(1).map_or("", String::as_str)
    }

    /// The directive, when the sign with these bytes is read.
    fn ended(self, sign: &Range<usize>, is_block: bool) -> Self {
        let values = if self.words.len() > 1 {
            self.values
        } else {
            sign.end..sign.end
        };
        Self {
            values,
            end: sign.end,
            is_block,
            ..self
        }
    }
}

/// Texts, by name, of the files that a pattern names.
type TextOf<'a> = &'a mut dyn FnMut(&str) -> Vec<(String, String)>;

/// A configuration.
#[derive(Debug)]
pub(crate) struct NginxTree {
    /// Names and texts of its files, the main file first.
    pub(crate) files: Vec<(String, String)>,
    /// What is outside of all blocks.
    pub(crate) directives: Vec<Directive>,
}

/// The main file of an nginx, by its command line.
pub(super) fn main_file<'w>(words: &[&'w str]) -> &'w str {
    option(words, "-c").unwrap_or("/etc/nginx/nginx.conf")
}

impl NginxTree {
    /// The configuration that a command line names; `None` where its main file cannot be read.
    pub(super) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Option<Self> {
        let main = main_file(words);
        let text = text_for(files, pid, main)?;
        Some(Self::of_file(files, pid, main, text))
    }

    /// The configuration of a process, by the name and the text of its main file.
    pub(crate) fn of_file(files: &mut Files, pid: u32, main: &str, text: String) -> Self {
        let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
        Self::read(main, text, &mut |pattern| {
            if pattern.starts_with('/') {
                texts_for(files, pid, pattern)
            } else {
                texts_for(files, pid, &format!("{folder}/{pattern}"))
            }
        })
    }

    /// Reads a configuration that begins in `main`.
    pub(super) fn read(main: &str, text: String, text_of: TextOf<'_>) -> Self {
        let mut reader = NginxTreeReader {
            files: Vec::new(),
            directives: 0,
            blocks: 0,
            text_of,
        };
        let directives = reader.file(main.to_owned(), text, 0);
        Self {
            files: reader.files,
            directives,
        }
    }
}

struct NginxTreeReader<'a> {
    files: Vec<(String, String)>,
    directives: usize,
    /// Blocks that are open in the files that include this one.
    blocks: usize,
    text_of: TextOf<'a>,
}

impl NginxTreeReader<'_> {
    fn file(&mut self, name: String, text: String, depth: usize) -> Vec<Directive> {
        let file = self.files.len();
        if file >= FILES_MAX || depth > DEPTH_MAX {
            return Vec::new();
        }
        let tokens = tokens(&text);
        self.files.push((name, text));
        // The outermost is the file itself.
        let mut open = vec![Directive::default()];
        let mut next = Directive::default();
        for (token, line, bytes) in tokens {
            self.directives += usize::from(token == Token::End);
            if self.directives > DIRECTIVES_MAX || self.blocks + open.len() > BLOCKS_MAX {
                break;
            }
            match token {
                Token::Word(word) => {
                    match next.words.len() {
                        0 => {
                            next.place = format!("{}:{line}", self.files[file].0);
                            next.file = file;
                        }
                        1 => next.values = bytes,
                        _ => next.values.end = bytes.end,
                    }
                    next.words.push(word);
                }
                Token::Open => open.push(std::mem::take(&mut next).ended(&bytes, true)),
                Token::Close => {
                    next = Directive::default();
                    if open.len() > 1 {
                        close(&mut open);
                    }
                }
                Token::End => {
                    let done = std::mem::take(&mut next).ended(&bytes, false);
                    let inside = if done.name() == "include" {
                        self.blocks += open.len();
                        let inside = self.included(done.value(), depth);
                        self.blocks -= open.len();
                        inside
                    } else {
                        vec![done]
                    };
                    if let Some(block) = open.last_mut() {
                        block.inner.extend(inside);
                    }
                }
            }
        }
        while open.len() > 1 {
            close(&mut open);
        }
        open.pop().map_or(Vec::new(), |file| file.inner)
    }

    fn included(&mut self, pattern: &str, depth: usize) -> Vec<Directive> {
        let files = (self.text_of)(pattern);
        let mut all = Vec::new();
        for (name, text) in files {
            all.extend(self.file(name, text, depth + 1));
        }
        all
    }
}

fn close(open: &mut Vec<Directive>) {
    let done = open.pop();
    if let Some(block) = open.last_mut() {
        block.inner.extend(done);
    }
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Without its quotes.
    Word(String),
    Open,
    Close,
    End,
}

/// A word that goes on, and where it begins.
type OpenWord = Option<(String, usize)>;

/// The word, which begins here unless it did before.
fn begun(word: &mut OpenWord, at: usize) -> &mut String {
    &mut word.get_or_insert_with(|| (String::new(), at)).0
}

/// What a file consists of but for its comments, with lines and bytes.
fn tokens(text: &str) -> Vec<(Token, u32, Range<usize>)> {
    let mut tokens = Vec::new();
    let mut count = 0_usize;
    let mut word: OpenWord = None;
    let mut line = 1_u32;
    let mut characters = text.char_indices().peekable();
    let mut end = |word: &mut OpenWord, line: u32, at: usize, sign: Option<Token>| {
        count += 1;
        if count > TOKENS_MAX {
            return;
        }
        let word = word.take();
        tokens.extend(word.map(|(word, start)| (Token::Word(word), line, start..at)));
        tokens.extend(sign.map(|sign| (sign, line, at..at + 1)));
    };
    while let Some((at, character)) = characters.next() {
        match character {
            '#' if word.is_none() => {
                while characters.next_if(|(_, next)| *next != '\n').is_some() {}
            }
            '"' | '\'' if word.is_none() => {
                let (quoted, _) = word.insert((String::new(), at));
                let (begun, mut behind) = (line, text.len());
                while let Some((at, inner)) = characters.next() {
                    match inner {
                        inner if inner == character => {
                            behind = at + 1;
                            break;
                        }
                        '\\' => quoted.extend(characters.next().map(|(_, escaped)| escaped)),
                        inner => {
                            line += u32::from(inner == '\n');
                            quoted.push(inner);
                        }
                    }
                }
                end(&mut word, begun, behind, None);
            }
            '\\' => {
                let escaped = characters.next().map(|(_, escaped)| escaped);
                begun(&mut word, at).extend(escaped);
            }
            // A variable: `${name}` opens no block.
            '{' if word.as_ref().is_some_and(|(word, _)| word.ends_with('$')) => {
                let word = begun(&mut word, at);
                word.push('{');
                let is_inside = |next: &(usize, char)| !"}\n".contains(next.1);
                while let Some((_, inner)) = characters.next_if(is_inside) {
                    word.push(inner);
                }
                let closing = characters.next_if(|(_, next)| *next == '}');
                word.extend(closing.map(|(_, closing)| closing));
            }
            '{' => end(&mut word, line, at, Some(Token::Open)),
            '}' => end(&mut word, line, at, Some(Token::Close)),
            ';' => end(&mut word, line, at, Some(Token::End)),
            blank if blank.is_whitespace() => {
                end(&mut word, line, at, None);
                line = line.saturating_add(u32::from(blank == '\n'));
            }
            other => begun(&mut word, at).push(other),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn find<'t>(inside: &'t [Directive], name: &str) -> Option<&'t Directive> {
        inside.iter().find_map(|directive| {
            if directive.name() == name {
                Some(directive)
            } else {
                find(&directive.inner, name)
            }
        })
    }

    #[test]
    fn directives_know_their_bytes() {
        let text = "user x; # ;\nevents { worker_connections 10; }\nhttp {\n  log_format a '$b;{ }';\n  server { listen 80 backlog=5; internal; } }\n";
        let tree = NginxTree::read("a", text.to_owned(), &mut |_| Vec::new());
        let values = |name: &str| {
            let found = find(&tree.directives, name).unwrap();
            &tree.files[found.file].1[found.values.clone()]
        };
        assert_eq!(values("worker_connections"), "10");
        assert_eq!(values("listen"), "80 backlog=5");
        assert_eq!(values("log_format"), "a '$b;{ }'");
        assert_eq!(values("internal"), "");
        let http = find(&tree.directives, "http").unwrap();
        assert!(http.is_block && text[..http.end].ends_with("http {"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[a-z{};#'\" \\\\$\n\u{e9}]{0,80}") {
            for (token, _, bytes) in tokens(&text) {
                let written = text.get(bytes).unwrap();
                let is_word = matches!(token, Token::Word(_));
                prop_assert!(is_word || ["{", "}", ";"].contains(&written), "{token:?} {written}");
            }
        }
    }
}
