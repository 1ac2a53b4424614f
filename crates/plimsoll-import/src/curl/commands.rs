//! The commands of a script: curl, `sleep`, assignments, and what is no request.

use std::collections::HashMap;
use std::time::Duration;

use super::context::{Context, Substitution};
use super::invocation::{self, Transfer};
use super::request::{self, CurlRequest};
use super::shell::{Shell, ShellCommand, ShellWord};
use super::windows::{self, CommandProcessor};
use crate::script::draft::{StepDraft, StepItem, ThinkDraft};
use crate::script::{ScriptError, Template};

/// Words in front of a command that change nothing about it.
const PREFIXES: [&str; 19] = [
    "$", ">", "%", "#", "sudo", "time", "exec", "command", "nohup", "env", "do", "then", "else",
    "{", "}", "!", "eval", "watch", "return",
];
/// Commands that send nothing.
const QUIET: [&str; 29] = [
    ":", "@echo", "[", "[[", "cat", "cd", "clear", "declare", "done", "echo", "esac", "exit",
    "export", "fi", "jq", "local", "mkdir", "printf", "pwd", "read", "readonly", "rm", "set",
    "setlocal", "shift", "test", "true", "unset", "wait",
];
/// Keywords of control structures.
const CONTROL: [&str; 7] = ["for", "while", "until", "if", "elif", "case", "function"];

/// What a command is in a plan.
pub(super) enum CommandStep {
    Request(Box<CurlRequest>),
    Think(Duration),
    /// A variable and the expression of its value.
    Set(String, String),
}

/// The commands of a script that become steps.
#[derive(Default)]
pub(super) struct Commands {
    pub(super) steps: Vec<CommandStep>,
    pub(super) transfers: Vec<Transfer>,
    /// What the last command prints, where that is known.
    printed: Option<String>,
}

impl Commands {
    /// Reads all commands of the script.
    pub(super) fn read(&mut self, context: &mut Context<'_>) -> Result<(), ScriptError> {
        let text = context.script.text;
        if windows::is_form_of(text) {
            let mut processor = CommandProcessor::new(text);
            while let Some(command) = processor.next(context) {
                self.command(context, command)?;
            }
            return Ok(());
        }
        let mut shell = Shell::new(text);
        loop {
            let next = shell
                .next(context)
                .map_err(|error| context.script.error(error.at, error.message, error.remedy))?;
            match next {
                Some(command) => {
                    self.substitutions(context)?;
                    self.command(context, command)?;
                }
                None => return Ok(()),
            }
        }
    }

    /// The commands in `$(…)` of the next command. `$(curl … | jq -r .token)` is a capture.
    fn substitutions(&mut self, context: &mut Context<'_>) -> Result<(), ScriptError> {
        for Substitution { range, name } in std::mem::take(&mut context.substitutions) {
            let sent = self.steps.len();
            let mut shell = Shell::from(&context.script.text[..range.end], range.start);
            let mut path = None;
            loop {
                let next = shell
                    .next(context)
                    .map_err(|error| context.script.error(error.at, error.message, error.remedy))?;
                let Some(command) = next else { break };
                if !context.substitutions.is_empty() {
                    self.substitutions(context)?;
                }
                if command.is_piped && command.words[0].text == "jq" {
                    path = command.words.iter().find_map(|word| json_path(&word.text));
                } else {
                    self.command(context, command)?;
                }
            }
            let last = self.steps[sent..]
                .iter_mut()
                .rev()
                .find_map(|step| match step {
                    CommandStep::Request(request) => Some(request),
                    _ => None,
                });
            if let (Some(request), Some(path)) = (last, path) {
                request.capture(&name, path);
                continue;
            }
            context.lose(
                range.start,
                "the output of curl",
                "what is made of the answer is not known",
                "write `capture:` into the step before, or set its variable before a run",
            );
            let variable = name.to_ascii_uppercase();
            let expression = format!("env('{variable}', '')");
            self.steps.push(CommandStep::Set(name, expression));
        }
        Ok(())
    }

    fn command(
        &mut self,
        context: &mut Context<'_>,
        mut command: ShellCommand,
    ) -> Result<(), ScriptError> {
        let printed = self.printed.take();
        if command.is_piped && command.input.is_none() {
            command.input = printed;
        }
        let words = without_prefixes(context, &command.words);
        let Some((first, rest)) = words.split_first() else {
            return Ok(());
        };
        let name = first.text.rsplit(['/', '\\']).next().unwrap_or_default();
        match name {
            "curl" | "curl.exe" => {
                let transfers = invocation::read(context, first.at, &command, rest)?;
                for transfer in transfers {
                    let requests = request::read(context, &transfer).into_iter();
                    self.steps
                        .extend(requests.map(|sent| CommandStep::Request(Box::new(sent))));
                    self.transfers.push(transfer);
                }
            }
            "sleep" => self.sleep(context, first, rest),
            "export" | "declare" | "local" | "readonly" => {
                for word in rest {
                    assign(context, word);
                }
            }
            "set" if rest.first().is_some_and(|word| assignment(word).is_some()) => {
                assign(context, &rest[0]);
            }
            "echo" | "printf" => self.printed = Some(echoed(rest)),
            "cat" => {
                self.printed = match rest.first() {
                    Some(file) => context.script.files.text(&file.text).ok(),
                    None => command.input,
                };
            }
            _ if QUIET.contains(&name) || command.is_piped => {}
            _ => context.lose(
                first.at,
                name,
                "it is not a curl command",
                "none if it sends nothing; else write its request as a curl command",
            ),
        }
        Ok(())
    }

    fn sleep(&mut self, context: &mut Context<'_>, first: &ShellWord, rest: &[ShellWord]) {
        let time = rest.first().and_then(|word| pause(&word.text));
        match time {
            Some(time) => self.steps.push(CommandStep::Think(time)),
            None => context.lose(
                first.at,
                "sleep",
                "its time is known only when the script runs",
                "write `- think: 2s` into the plan",
            ),
        }
    }
}

/// The words of the command itself: without a prompt, `sudo`, keywords, and variables set for it alone.
fn without_prefixes<'w>(context: &mut Context<'_>, words: &'w [ShellWord]) -> &'w [ShellWord] {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        let is_prompt = first.text == "$" && !rest.is_empty();
        if is_prompt || (!first.is_quoted && PREFIXES.contains(&first.text.as_str())) {
            words = rest;
        } else if !first.is_quoted && CONTROL.contains(&first.text.as_str()) {
            context.lose(
                first.at,
                &first.text,
                "a plan has no control structures of the shell: the commands inside are taken once",
                "write `repeat:` or `if:` around their steps",
            );
            let has_command = matches!(first.text.as_str(), "while" | "until" | "if" | "elif");
            words = if has_command { rest } else { &[] };
        } else if assignment(first).is_some() {
            if rest.iter().all(|word| assignment(word).is_some()) {
                for word in words {
                    assign(context, word);
                }
                return &[];
            }
            words = rest;
        } else {
            return words;
        }
    }
    words
}

/// Name and value of `NAME=value`.
fn assignment(word: &ShellWord) -> Option<(&str, &str)> {
    let (name, value) = word.text.split_once('=')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && !word.is_quoted).then_some((name, value))
}

fn assign(context: &mut Context<'_>, word: &ShellWord) {
    if let Some((name, value)) = assignment(word) {
        context.variables.insert(name.to_owned(), value.to_owned());
    }
}

/// The JSON path of a filter of jq that is one: `.access_token`, `.items[0].id`.
fn json_path(filter: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.[]".contains(&byte);
    let is_path = filter.starts_with('.')
        && filter.len() > 1
        && !filter.ends_with('.')
        && !filter.contains("..")
        && !filter.contains("[]")
        && filter.bytes().all(is_plain);
    is_path.then(|| format!("${}", filter.replace(".[", "[")))
}

/// `0.5`, `2s`, `1m`, `1h`, `1d`.
fn pause(text: &str) -> Option<Duration> {
    let (digits, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let time = Duration::try_from_secs_f64(digits.parse::<f64>().ok()? * seconds).ok()?;
    (time <= Duration::from_hours(24)).then_some(time)
}

fn echoed(words: &[ShellWord]) -> String {
    let without_break = words.first().is_some_and(|word| word.text == "-n");
    let shown = words
        .iter()
        .map(|word| word.text.as_str())
        .filter(|text| !matches!(*text, "-n" | "-e"));
    let mut text = shown.collect::<Vec<_>>().join(" ");
    if !without_break {
        text.push('\n');
    }
    text
}

/// Headers that all of several requests have.
pub(super) fn shared_headers(steps: &[CommandStep]) -> Vec<(String, String)> {
    let requests = || {
        steps.iter().filter_map(|step| match step {
            CommandStep::Request(request) => Some(request),
            CommandStep::Think(_) | CommandStep::Set(..) => None,
        })
    };
    let count = requests().count();
    if count < 2 {
        return Vec::new();
    }
    let mut counts: HashMap<&(String, String), usize> = HashMap::new();
    for header in requests().flat_map(|request| request.headers()) {
        *counts.entry(header).or_default() += 1;
    }
    let first = requests().next();
    first
        .into_iter()
        .flat_map(|request| request.headers())
        .filter(|header| counts.get(header) == Some(&count))
        .cloned()
        .collect()
}

/// The steps of a plan. A host that only the environment knows must be the start of its URL, unless it is the plan's
/// target: such a site becomes a variable of its own.
pub(super) fn steps(
    context: &mut Context<'_>,
    steps: Vec<CommandStep>,
    shared: &[(String, String)],
) -> Vec<StepItem> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for step in &steps {
        if let CommandStep::Request(request) = step {
            *counts.entry(request.origin.clone()).or_default() += 1;
        }
    }
    let mut items = Vec::new();
    for step in steps {
        items.push(match step {
            CommandStep::Think(time) => StepDraft::Think(ThinkDraft::Fixed(time)).into(),
            CommandStep::Set(name, expression) => {
                StepDraft::Set(vec![(name, Template::expression(&expression))]).into()
            }
            CommandStep::Request(mut request) => {
                if counts.len() > 1 {
                    request.origin = context.constant_origin(&request.origin);
                }
                request.step(context, shared)
            }
        });
    }
    items
}
