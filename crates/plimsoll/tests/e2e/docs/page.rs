//! A page of the documentation as its reader executes it: files to write, and commands to run.

/// Begins the line behind a block that is not run; the reason follows, and the page shows it.
pub(super) const NOT_RUN: &str = "*Not run with this page: ";

/// Languages of blocks whose commands are run.
const COMMANDS: [&str; 2] = ["sh", "console"];
/// Languages of all other blocks: files, parts of files, and what programs print.
const OTHERS: [&str; 11] = [
    "haproxy", "html", "ini", "js", "json", "nginx", "python", "text", "vcl", "xml", "yaml",
];

/// A block between fences.
#[derive(Debug)]
pub(super) struct Block {
    /// Number of the line of its first fence.
    pub(super) line: usize,
    language: String,
    lines: Vec<String>,
    /// Why it is not run, if it is not.
    pub(super) reason: Option<String>,
}

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageCommand {
    /// Number of its line in the page.
    pub(super) line: usize,
    /// As printed, without the prompt; may have several lines.
    pub(super) text: String,
    /// The page shows that it ends with an error.
    pub(super) fails: bool,
}

impl PageCommand {
    /// Whether it runs until the end of the page.
    pub(super) fn is_background(&self) -> bool {
        self.text.trim_end().ends_with('&')
    }
}

impl Block {
    pub(super) fn has_commands(&self) -> bool {
        COMMANDS.contains(&self.language.as_str())
    }

    /// The name in its first line, where that is a comment with nothing else: the block is this file.
    pub(super) fn file_name(&self) -> Option<&str> {
        if self.has_commands() || self.language == "text" {
            return None;
        }
        let first = self.lines.first()?.trim();
        let name = first
            .strip_prefix("# ")
            .or_else(|| first.strip_prefix("// "))
            .or_else(|| first.strip_prefix("<!-- ")?.strip_suffix(" -->"))?;
        let (stem, ending) = name.rsplit_once('.')?;
        let is_name = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        (is_name(stem) && is_name(ending)).then_some(name)
    }

    pub(super) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        let is_known = self.has_commands() || OTHERS.contains(&self.language.as_str());
        if !is_known {
            return Some(format!(
                "the block has the language `{}`; commands are `sh` or `console`, what a program prints is `text`",
                self.language
            ));
        }
        let is_command = |line: &String| line.starts_with("$ ") || line.starts_with("plimsoll ");
        if !self.has_commands() && self.lines.iter().any(is_command) {
            return Some(
                "the block has a command and is not run; call it `sh` or `console`".to_owned(),
            );
        }
        if !self.has_commands() && self.reason.is_some() {
            return Some("a block without commands has a reason not to run".to_owned());
        }
        if self.has_commands() && self.commands().is_empty() {
            return Some("the block has no command; call what a program prints `text`".to_owned());
        }
        None
    }

    /// Its commands: of `sh` all lines, of `console` those behind a prompt, with their continuations.
    pub(super) fn commands(&self) -> Vec<PageCommand> {
        let has_prompts = self.language == "console";
        let mut commands: Vec<PageCommand> = Vec::new();
        let mut is_continued = false;
        for (index, line) in self.lines.iter().enumerate() {
            if is_continued {
                let command = commands.last_mut().expect("a line before it goes on");
                command.text.push('\n');
                command.text.push_str(line);
                is_continued = line.ends_with('\\');
                continue;
            }
            let text = if has_prompts {
                line.strip_prefix("$ ")
            } else {
                Some(line.as_str())
            };
            match text.map(str::trim) {
                Some(text) if text.is_empty() || text.starts_with('#') => {}
                Some(text) => {
                    is_continued = text.ends_with('\\');
                    commands.push(PageCommand {
                        line: self.line + index + 1,
                        text: text.to_owned(),
                        fails: false,
                    });
                }
                None => {
                    if let Some(command) = commands.last_mut() {
                        command.fails |= line.starts_with("error:");
                    }
                }
            }
        }
        commands
    }
}

/// The blocks of a page in Markdown.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let start = index;
        index += 1;
        let Some(language) = lines[start].trim_start().strip_prefix("```") else {
            continue;
        };
        let indent = lines[start].len() - lines[start].trim_start().len();
        let length = lines[index..]
            .iter()
            .take_while(|line| line.trim() != "```")
            .count();
        let inside = lines[index..index + length].iter();
        index += length + 1;
        let behind = lines[index.min(lines.len())..].iter();
        blocks.push(Block {
            line: start + 1,
            language: language.trim().to_owned(),
            lines: inside
                .map(|line| line.get(indent..).unwrap_or("").to_owned())
                .collect(),
            reason: reason(behind.copied()),
        });
    }
    blocks
}

/// The reason in the paragraph behind a block.
fn reason<'a>(behind: impl Iterator<Item = &'a str>) -> Option<String> {
    let paragraph: Vec<&str> = behind
        .map(str::trim)
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let (reason, _) = paragraph.strip_prefix(NOT_RUN)?.split_once('*')?;
    Some(reason.trim().to_owned())
}

#[test]
fn commands_files_and_reasons_are_read_as_a_reader_reads_them() {
    let text = "# A\n\n```sh\n# alone\nplimsoll run \\\n  plan.yaml   # later\nserve &\n```\n\n```console\n$ a\nb\n$ c\nerror: d\n```\n\n\
                *Not run with this page: it needs\ntwo machines.* More.\n\n   ```yaml\n   # plan.yaml\n   a:\n     b: 1\n   ```\n";
    let blocks = blocks(text);
    let commands = blocks[0].commands();
    assert_eq!(commands[0].text, "plimsoll run \\\n  plan.yaml   # later");
    assert_eq!((commands[0].line, commands[1].line), (5, 7));
    assert!(commands[1].is_background() && !commands[0].is_background());
    assert_eq!(blocks[0].reason, None);
    let commands = blocks[1].commands();
    assert_eq!((commands[0].fails, commands[1].fails), (false, true));
    assert_eq!(blocks[1].reason.as_deref(), Some("it needs two machines."));
    assert_eq!(blocks[2].file_name(), Some("plan.yaml"));
    assert_eq!(blocks[2].text(), "# plan.yaml\na:\n  b: 1\n");
    assert!(blocks.iter().all(|block| block.problem().is_none()));
}

#[test]
fn blocks_that_hide_commands_are_refused() {
    for text in [
        "```\nplimsoll run x\n```\n",
        "```text\nplimsoll run x\n```\n",
        "```text\n$ x\n```\n",
        "```console\nplimsoll run x\n```\n",
        "```text\nx\n```\n*Not run with this page: why.*\n",
    ] {
        assert!(blocks(text)[0].problem().is_some(), "{text}");
    }
}
