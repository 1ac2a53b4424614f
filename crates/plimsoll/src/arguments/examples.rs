//! The examples with which the help and the man page of each command begin. A test parses each.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// The command, and its examples: the most frequent use first.
const EXAMPLES: [(&str, &[&str]); 37] = [
    (
        "",
        &[
            "plimsoll limit http://127.0.0.1:3000/ --quick",
            "plimsoll limit http://127.0.0.1:3000/ --for '12,000 people log in within 3 minutes'",
        ],
    ),
    (
        "run",
        &[
            "plimsoll run http://127.0.0.1:3000/ --rate 50/s --for 10s",
            "plimsoll run exam.yaml --users 300 --for 5m --report",
            "plimsoll run http://10.0.0.9:3000/ --rate 9000/s --on listen:7400 --workers 3",
            "plimsoll run exam.yaml --users 12000 --for 30m --on hosts.yaml",
        ],
    ),
    (
        "worker",
        &["plimsoll worker --join 10.0.0.5:7400 --token-file worker.token"],
    ),
    (
        "limit",
        &[
            "plimsoll limit http://127.0.0.1:3000/ --quick",
            "plimsoll limit http://127.0.0.1:3000/ --for '3,000 users who pause ten seconds'",
            "plimsoll limit http://127.0.0.1:3000/ --at-least 300/s",
        ],
    ),
    ("watch", &["plimsoll watch http://127.0.0.1:3000/ --for 1m"]),
    (
        "agent",
        &[
            "plimsoll agent --invite --token-file agent.token",
            "plimsoll agent --listen 0.0.0.0:9192 --name db1",
        ],
    ),
    (
        "check",
        &[
            "plimsoll check http://127.0.0.1:3000/ --for 3000-users",
            "plimsoll check exam.yaml",
        ],
    ),
    ("doctor", &["plimsoll doctor"]),
    (
        "compare",
        &[
            "plimsoll compare before.run after.run",
            "plimsoll compare --base-url http://127.0.0.1:3000/ --head-url http://127.0.0.1:3001/",
        ],
    ),
    (
        "matrix",
        &[
            "plimsoll matrix workers.yaml --dry-run",
            "plimsoll matrix workers.yaml --within 2h",
        ],
    ),
    (
        "tune",
        &[
            "plimsoll tune --discover http://127.0.0.1:3000/",
            "plimsoll tune tune.yaml --within 90m",
        ],
    ),
    (
        "report",
        &["plimsoll report plimsoll/exam.run --html report.html"],
    ),
    (
        "ui",
        &[
            "plimsoll ui ./plimsoll",
            "plimsoll ui ./plimsoll --allow-run http://127.0.0.1:3000/",
        ],
    ),
    ("history", &["plimsoll history ./history --gate"]),
    ("ledger", &["plimsoll ledger cycles.jsonl"]),
    (
        "export",
        &["plimsoll export plimsoll/exam.run --csv --out tables"],
    ),
    ("import", &["plimsoll import log access.log > plan.yaml"]),
    ("import har", &["plimsoll import har visit.har --out plan"]),
    (
        "import log",
        &["plimsoll import log access.log > plan.yaml"],
    ),
    ("import k6", &["plimsoll import k6 script.js --out plan"]),
    (
        "import jmeter",
        &["plimsoll import jmeter test.jmx --out plan"],
    ),
    (
        "import postman",
        &["plimsoll import postman collection.json --out plan"],
    ),
    (
        "import openapi",
        &["plimsoll import openapi openapi.yaml --out plan"],
    ),
    (
        "import curl",
        &["plimsoll import curl commands.txt --out plan"],
    ),
    ("log", &["plimsoll log /var/log/nginx/access.log"]),
    (
        "record",
        &["plimsoll record http://127.0.0.1:3000/ > plan.yaml"],
    ),
    (
        "edge",
        &["plimsoll edge --to http://127.0.0.1:3000 --listen 127.0.0.1:8080"],
    ),
    ("edge check", &["plimsoll edge check edge.yaml"]),
    ("edge reload", &["plimsoll edge reload"]),
    ("edge cache", &["plimsoll edge cache"]),
    (
        "edge why",
        &["plimsoll edge why http://127.0.0.1:8080/news"],
    ),
    ("edge purge", &["plimsoll edge purge --tag article-7"]),
    (
        "link",
        &[
            "plimsoll link 127.0.0.1:7000=127.0.0.1:3000 --delay 80ms",
            "plimsoll link 127.0.0.1:7000=127.0.0.1:3000@japan-east --service-in west-europe",
            "plimsoll link 127.0.0.1:7000=127.0.0.1:3000 --bandwidth 10Mbit/s --stall 1%:200ms",
        ],
    ),
    (
        "scale",
        &[
            "plimsoll scale policy.yaml --replay access.log",
            "plimsoll scale policy.yaml --replay trace.csv --policy hpa --policy study-4 --html scale.html",
        ],
    ),
    (
        "simulate",
        &[
            "plimsoll simulate world.yaml",
            "plimsoll simulate world.yaml --what-if 'web replicas +2' --what-if 'cdn off'",
            "plimsoll simulate world.yaml --for 10m --seed 7 --json",
        ],
    ),
    ("demo", &["plimsoll demo"]),
    ("generate", &["plimsoll generate man ./man"]),
];

/// The command line with an example at the beginning of each help.
pub(crate) fn command() -> Command {
    with_examples(Cli::command(), "")
}

/// The examples of a command, one a line; empty where it has none.
pub(crate) fn of(path: &str) -> &'static [&'static str] {
    let found = EXAMPLES.iter().find(|(name, _)| *name == path);
    found.map_or(&[], |(_, examples)| examples)
}

fn with_examples(mut command: Command, path: &str) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        let below = format!("{path} {name}");
        command = command.mut_subcommand(name, |sub| with_examples(sub, below.trim_start()));
    }
    match of(path) {
        [] => command,
        examples => {
            let heading = if examples.len() == 1 {
                "Example"
            } else {
                "Examples"
            };
            command.before_help(format!("{heading}:\n  {}", examples.join("\n  ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::command_words;
    use super::*;

    /// Each visible command below, by its path.
    fn paths(command: &Command, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let below = format!("{path} {}", sub.get_name());
            paths(sub, below.trim_start(), found);
        }
    }

    #[test]
    fn every_command_begins_with_an_example_of_itself() {
        let mut found = Vec::new();
        paths(&command(), "", &mut found);
        for path in found {
            let examples = of(&path);
            assert!(!examples.is_empty(), "`{path}` has no example");
            let mut help = command();
            for name in path.split_whitespace() {
                help = help.find_subcommand(name).unwrap().clone();
            }
            let help = help.render_help().to_string();
            assert!(help.starts_with("Example"), "{help}");
            for example in examples {
                assert!(help.contains(example), "{help}");
                assert!(
                    example.starts_with(&format!("plimsoll {path}")),
                    "{example}"
                );
            }
        }
    }

    #[test]
    fn every_example_is_a_command() {
        for (_, examples) in EXAMPLES {
            for example in examples {
                // What a shell does with the output is not the program's.
                let words = example.split(" > ").next().unwrap();
                let words = command_words(words).unwrap().0;
                if let Err(error) = command().try_get_matches_from(words) {
                    let is_help = error.kind() == clap::error::ErrorKind::DisplayHelp;
                    assert!(is_help, "{example}: {error}");
                }
            }
        }
    }
}
