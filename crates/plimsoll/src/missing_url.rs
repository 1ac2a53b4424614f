//! `plimsoll limit` without a URL: lists what listens on this machine, and on a terminal asks which of it.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use plimsoll_probe::listeners::{ListeningProgram, listening_programs};

use crate::explain::CliError;
use crate::screen::eprint;

/// Programs that are listed at most.
const LISTED_MAX: usize = 12;

/// Whether an error of the arguments is about `limit` without a URL and nothing else.
pub(crate) fn is_missing(error: &clap::Error) -> bool {
    let of = |kind: ContextKind| error.get(kind);
    let is_url = matches!(
        of(ContextKind::InvalidArg),
        Some(ContextValue::Strings(names)) if matches!(names.as_slice(), [name] if name == "<URL|PLAN>")
    );
    let is_limit = matches!(
        of(ContextKind::Usage),
        Some(ContextValue::StyledStr(usage)) if usage.to_string().contains("plimsoll limit ")
    );
    error.kind() == ErrorKind::MissingRequiredArgument && is_url && is_limit
}

/// The words of the command line with the URL that the user chose.
///
/// # Errors
/// Without a terminal, and when nothing was chosen: lists what listens here as commands.
pub(crate) fn with_chosen(words: &[OsString]) -> Result<Vec<OsString>, CliError> {
    let (programs, others): (Vec<_>, Vec<_>) = listening_programs()
        .into_iter()
        .filter(|program| program.pid != Some(std::process::id()))
        .partition(|program| !program.is_other_protocol);
    if programs.is_empty() {
        return Err(CliError::usage(
            "which service? `limit` needs its URL, and no web service listens on this machine",
        )
        .remedy(
            "start the service, or name its URL: plimsoll limit http://127.0.0.1:3000/ --quick",
        ));
    }
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        let url = choice(&programs, others.len())?;
        let mut words = words.to_vec();
        words.push(url.into());
        return Ok(words);
    }
    Err(
        CliError::usage("which service? `limit` needs its URL; these programs listen here")
            .remedy(commands(&programs, words)),
    )
}

/// The commands to copy, one a line.
fn commands(programs: &[ListeningProgram], words: &[OsString]) -> String {
    let rest: Vec<String> = words
        .iter()
        .skip(1)
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    let lines = programs.iter().take(LISTED_MAX).map(|program| {
        format!(
            "plimsoll {} {}   # {}",
            rest.join(" "),
            program.url(),
            name(program)
        )
    });
    lines.collect::<Vec<_>>().join("\n        ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn name(program: &ListeningProgram) -> String {
    match program.pid {
        Some(pid) => format!("{} ({pid})", program.command),
        None => "a program of another user".to_owned(),
    }
}

/// Asks which program is meant.
fn choice(programs: &[ListeningProgram], others: usize) -> Result<String, CliError> {
    let mut text = String::from("Which service? These programs listen here:\n");
    for (number, program) in (1..).zip(programs.iter().take(LISTED_MAX)) {
        let _ = writeln!(text, "{number:>4}  {:<28}{}", program.url(), name(program));
    }
    if others > 0 {
        let _ = writeln!(text, "      (and {others} that do not speak HTTP)");
    }
    text.push_str("Its number, or another URL; Enter alone ends:");
    eprint(&text);
    let mut line = String::new();
    // A URL and a number are short; what is longer is neither.
    let read = io::stdin().lock().read_line(&mut line);
    let answer = line.trim();
    if read.is_err() || answer.is_empty() {
        return Err(CliError::usage("no service was chosen"));
    }
    let number = answer
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    match number.map(|index| programs.iter().take(LISTED_MAX).nth(index)) {
        Some(Some(program)) => Ok(program.url()),
        Some(None) => Err(CliError::usage(format!("{answer} is not in the list"))
            .remedy(format!("valid: 1 to {}", programs.len().min(LISTED_MAX)))),
        None => Ok(answer.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::Cli;

    #[test]
    fn only_limit_without_a_url_is_completed() {
        for (line, right) in [
            ("plimsoll limit", true),
            ("plimsoll limit --quick --at-least 5/s", true),
            ("plimsoll limit --users 5", false),
            ("plimsoll limit --no-such-flag", false),
            ("plimsoll run", false),
            ("plimsoll check", false),
        ] {
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
            assert_eq!(is_missing(&error), right, "{line}: {error}");
        }
    }

    #[test]
    fn commands_keep_the_other_words() {
        let program = ListeningProgram {
            address: ([127, 0, 0, 1], 8000).into(),
            pid: Some(7),
            command: "python3 -m http.server".to_owned(),
            is_other_protocol: false,
        };
        let words = ["plimsoll", "limit", "--for", "200 requests a second"].map(OsString::from);
        assert_eq!(
            commands(&[program], &words),
            "plimsoll limit --for '200 requests a second' http://127.0.0.1:8000/   # python3 -m http.server (7)"
        );
    }
}
