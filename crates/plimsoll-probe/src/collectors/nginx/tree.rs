//! The configuration of nginx as a tree: a setting of a block applies inside it, regardless of its position.

use super::configuration::{BLOCKS_MAX, DEPTH_MAX, FILES_MAX, Token, tokens};

/// Directives of all files together.
const DIRECTIVES_MAX: usize = 200_000;

/// A directive, or a block with its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Directive {
    pub(super) words: Vec<String>,
    /// `file:line`.
    pub(super) place: String,
    pub(super) inner: Vec<Directive>,
}

impl Directive {
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Its first value.
    pub(super) fn value(&self) -> &str {
        self.words.get(1).map_or("", String::as_str)
    }
}

/// Texts, by name, of the files that a pattern names.
pub(super) type TextOf<'a> = &'a mut dyn FnMut(&str) -> Vec<(String, String)>;

/// Reads a configuration that begins in `file`.
pub(super) fn read(file: &str, text: &str, text_of: TextOf<'_>) -> Vec<Directive> {
    let mut reader = NginxTreeReader {
        files: 0,
        directives: 0,
        blocks: 0,
        text_of,
    };
    reader.file(file, text, 0)
}

struct NginxTreeReader<'a> {
    files: usize,
    directives: usize,
    /// Blocks that are open in the files that include this one.
    blocks: usize,
    text_of: TextOf<'a>,
}

impl NginxTreeReader<'_> {
    fn file(&mut self, name: &str, text: &str, depth: usize) -> Vec<Directive> {
        self.files += 1;
        if self.files > FILES_MAX || depth > DEPTH_MAX {
            return Vec::new();
        }
        // The outermost is the file itself.
        let mut open = vec![Directive::default()];
        let mut next = Directive::default();
        for (token, line) in tokens(text) {
            self.directives += usize::from(token == Token::End);
            if self.directives > DIRECTIVES_MAX || self.blocks + open.len() > BLOCKS_MAX {
                break;
            }
            match token {
                Token::Word(word) => {
                    if next.words.is_empty() {
                        next.place = format!("{name}:{line}");
                    }
                    next.words.push(word);
                }
                Token::Open => open.push(std::mem::take(&mut next)),
                Token::Close => {
                    next = Directive::default();
                    if open.len() > 1 {
                        close(&mut open);
                    }
                }
                Token::End => {
                    let done = std::mem::take(&mut next);
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
            all.extend(self.file(&name, &text, depth + 1));
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
