//! What `plimsoll` alone prints on a terminal: what it is, and the command for each question.

use std::fmt::Write as _;

/// The questions, and the command that answers each.
const QUESTIONS: [(&str, &str); 4] = [
    (
        "How much does it carry?",
        "plimsoll limit http://127.0.0.1:3000/ --quick",
    ),
    (
        "What breaks first?",
        "plimsoll limit http://127.0.0.1:3000/ --quick --watch auto",
    ),
    (
        "Did the change help?",
        "plimsoll compare before.run after.run",
    ),
    (
        "How do I survive more?",
        "plimsoll edge --to http://127.0.0.1:3000 --listen 127.0.0.1:8080",
    ),
];

/// The whole text.
pub(crate) fn text() -> String {
    let mut text = String::from(
        "Plimsoll finds how much load a web service carries, and names what limits it.\n\
         It measures as users wait: from the moment a request was due, and void where the machine was at fault.\n\
         Nothing leaves this machine but the load that you ask for.\n\n",
    );
    for (question, command) in QUESTIONS {
        let _ = writeln!(text, "  {question:<24}{command}");
    }
    text.push_str(
        "\n`plimsoll limit` alone lists what listens here; `plimsoll doctor` tells what this machine lacks to measure well;\n\
         `plimsoll --help` lists all commands.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::Cli;

    #[test]
    fn each_command_is_one() {
        for (_, command) in QUESTIONS {
            assert!(Cli::try_parse_from(command.split(' ')).is_ok(), "{command}");
        }
    }
}
