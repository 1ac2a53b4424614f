//! The configuration of nginx: its status pages and connection limits.
//!
//! Files are only parsed; the caller reads included files.

/// Files read at most, includes counted.
pub(super) const FILES_MAX: usize = 256;
/// How deep files include files.
pub(super) const DEPTH_MAX: usize = 8;
/// Maximum nesting of blocks: real configurations are not deeper.
pub(super) const BLOCKS_MAX: usize = 64;
/// Tokens of one file.
const TOKENS_MAX: usize = 500_000;

/// A value and where it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NginxValue {
    /// The value as written.
    pub(crate) value: String,
    /// The file.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: u32,
}

/// A page of `stub_status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusPage {
    /// Addresses as written behind `listen`; empty for the default.
    pub(crate) listen: Vec<String>,
    /// First name behind `server_name`.
    pub(crate) server_name: Option<String>,
    /// Path of the location.
    pub(crate) path: String,
}

/// The settings of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NginxConfig {
    /// Status pages.
    pub(crate) pages: Vec<StatusPage>,
    /// `worker_connections`.
    pub(crate) worker_connections: Option<NginxValue>,
    /// `worker_processes`.
    pub(crate) worker_processes: Option<NginxValue>,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Open,
    Close,
    End,
}

/// Reads a configuration that begins in `file`. `text_of` gives the texts, by name, of the files that a pattern names.
pub(crate) fn read(
    file: &str,
    text: &str,
    text_of: &mut dyn FnMut(&str) -> Vec<(String, String)>,
) -> NginxConfig {
    let mut reader = NginxConfigReader {
        configuration: NginxConfig::default(),
        blocks: Vec::new(),
        files: 0,
        text_of,
    };
    reader.file(file, text, 0);
    reader.configuration
}

/// An open block: its words, and the settings of a `server` before its locations.
#[derive(Debug, Default)]
struct Block {
    words: Vec<String>,
    listen: Vec<String>,
    server_name: Option<String>,
    /// Pages whose server is not read to its end.
    pages: Vec<String>,
}

struct NginxConfigReader<'a> {
    configuration: NginxConfig,
    blocks: Vec<Block>,
    files: usize,
    text_of: &'a mut dyn FnMut(&str) -> Vec<(String, String)>,
}

impl NginxConfigReader<'_> {
    fn file(&mut self, name: &str, text: &str, depth: usize) {
        self.files += 1;
        if self.files > FILES_MAX || depth > DEPTH_MAX {
            return;
        }
        let opened = self.blocks.len();
        let mut words: Vec<String> = Vec::new();
        let mut line = 1;
        for (token, at) in tokens(text) {
            match token {
                Token::Word(word) => {
                    if words.is_empty() {
                        line = at;
                    }
                    words.push(word);
                }
                // Inner directives would count as outer ones.
                Token::Open if self.blocks.len() >= BLOCKS_MAX => break,
                Token::Open => self.blocks.push(Block {
                    words: std::mem::take(&mut words),
                    ..Block::default()
                }),
                Token::Close => {
                    words.clear();
                    if self.blocks.len() > opened {
                        self.close();
                    }
                }
                Token::End => {
                    let words = std::mem::take(&mut words);
                    self.directive(&words, name, line, depth);
                }
            }
        }
        while self.blocks.len() > opened {
            self.close();
        }
    }

    fn directive(&mut self, words: &[String], file: &str, line: u32, depth: usize) {
        let Some((name, values)) = words.split_first() else {
            return;
        };
        let written = || {
            Some(NginxValue {
                value: values.first()?.clone(),
                file: file.to_owned(),
                line,
            })
        };
        let inside = |blocks: &[Block], name: &str| {
            blocks
                .last()
                .is_some_and(|block| block.words.first().is_some_and(|word| word == name))
        };
        match name.as_str() {
            "include" => {
                let pattern = values.first().map_or("", String::as_str);
                for (name, text) in (self.text_of)(pattern) {
                    self.file(&name, &text, depth + 1);
                }
            }
            "worker_processes" if self.blocks.is_empty() => {
                self.configuration.worker_processes = written();
            }
            "worker_connections" if inside(&self.blocks, "events") => {
                self.configuration.worker_connections = written();
            }
            "listen" | "server_name" if inside(&self.blocks, "server") => {
                let (Some(block), Some(value)) = (self.blocks.last_mut(), values.first()) else {
                    return;
                };
                if name == "listen" {
                    block.listen.push(value.clone());
                } else if block.server_name.is_none() {
                    block.server_name = Some(value.clone());
                }
            }
            "stub_status" => self.page(),
            _ => {}
        }
    }

    /// A status page in the innermost location, or of the whole server.
    fn page(&mut self) {
        let is = |block: &Block, name: &str| block.words.first().is_some_and(|word| word == name);
        let location = self.blocks.iter().rev().find(|block| is(block, "location"));
        let path = match location.map(|block| &block.words[1..]) {
            None => "/".to_owned(),
            Some([path]) => path.clone(),
            Some([how, path]) if how == "=" || how == "^~" => path.clone(),
            // A regular expression is not a single path.
            Some(_) => return,
        };
        if let Some(server) = self
            .blocks
            .iter_mut()
            .rev()
            .find(|block| is(block, "server"))
        {
            server.pages.push(path);
        }
    }

    fn close(&mut self) {
        let Some(block) = self.blocks.pop() else {
            return;
        };
        for path in block.pages {
            self.configuration.pages.push(StatusPage {
                listen: block.listen.clone(),
                server_name: block.server_name.clone(),
                path,
            });
        }
    }
}

/// The words of a file with their lines: without quotes and comments.
pub(super) fn tokens(text: &str) -> Vec<(Token, u32)> {
    let mut tokens = Vec::new();
    let mut count = 0_usize;
    let mut word: Option<String> = None;
    let mut line = 1_u32;
    let mut characters = text.chars().peekable();
    let mut end = |word: &mut Option<String>, line: u32, token: Option<Token>| {
        count += 1;
        if count > TOKENS_MAX {
            return;
        }
        tokens.extend(word.take().map(|word| (Token::Word(word), line)));
        tokens.extend(token.map(|token| (token, line)));
    };
    while let Some(character) = characters.next() {
        match character {
            '#' if word.is_none() => while characters.next_if(|next| *next != '\n').is_some() {},
            '"' | '\'' if word.is_none() => {
                let quoted = word.insert(String::new());
                let begun = line;
                while let Some(inner) = characters.next() {
                    match inner {
                        inner if inner == character => break,
                        '\\' => quoted.extend(characters.next()),
                        inner => {
                            line += u32::from(inner == '\n');
                            quoted.push(inner);
                        }
                    }
                }
                end(&mut word, begun, None);
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            // A variable: `${name}` opens no block.
            '{' if word.as_ref().is_some_and(|word| word.ends_with('$')) => {
                let word = word.get_or_insert_default();
                word.push('{');
                while let Some(inner) = characters.next_if(|next| !"}\n".contains(*next)) {
                    word.push(inner);
                }
                word.extend(characters.next_if_eq(&'}'));
            }
            '{' => end(&mut word, line, Some(Token::Open)),
            '}' => end(&mut word, line, Some(Token::Close)),
            ';' => end(&mut word, line, Some(Token::End)),
            blank if blank.is_whitespace() => {
                end(&mut word, line, None);
                line = line.saturating_add(u32::from(blank == '\n'));
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    tokens
}
