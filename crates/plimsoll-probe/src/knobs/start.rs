//! How a server that is no unit of systemd was started, as far as an experiment can start it: its command line, its folder and
//! its environment. Values of secrets are not kept.

use plimsoll_model::redact;

use super::processes::ServerProcess;
use crate::collectors::configuration::Environment;
use crate::files::Files;

/// Variables at most, and the longest value, bytes.
const VARIABLES_MAX: usize = 100;
const VALUE_LEN_MAX: usize = 4096;
/// Names of variables that a message has at most.
const NAMES_MAX: usize = 8;

/// What a login, a terminal, a shell or a service manager puts into an environment, and what belongs to one process alone.
const OF_SESSIONS: [&str; 47] = [
    "_",
    "COLORTERM",
    "COLUMNS",
    "CREDENTIALS_DIRECTORY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DEBUGINFOD_URLS",
    "DISPLAY",
    "EDITOR",
    "GPG_TTY",
    "HOME",
    "HOSTNAME",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LINES",
    "LOGNAME",
    "LSCOLORS",
    "LS_COLORS",
    "MAIL",
    "MAINPID",
    "MANAGERPID",
    "MEMORY_PRESSURE_WATCH",
    "MEMORY_PRESSURE_WRITE",
    "NODE_CHANNEL_FD",
    "NODE_UNIQUE_ID",
    "NOTIFY_SOCKET",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PROMPT_COMMAND",
    "PS1",
    "PS2",
    "PWD",
    "SHELL",
    "SHLVL",
    "STY",
    "SYSTEMD_EXEC_PID",
    "TERM",
    "TERMINFO",
    "TMUX",
    "TMUX_PANE",
    "USER",
    "USERNAME",
    "VISUAL",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "WAYLAND_DISPLAY",
    "WINDOWID",
];
/// What names of such variables begin with.
const OF_SESSIONS_PREFIXES: [&str; 9] = [
    "BASH_",
    "HIST",
    "LESS",
    "LISTEN_",
    "PLIMSOLL_",
    "SSH_",
    "SUDO_",
    "TERM_",
    "XDG_",
];
/// Last words of names whose values are secrets, beside those that are secrets elsewhere.
const SECRET_ENDS: [&str; 2] = ["DSN", "SALT"];

/// How a program was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundStart {
    /// The program, as [`super::FoundKnob::program`] has it.
    pub program: String,
    /// Its process id.
    pub pid: u32,
    /// Its command line; secrets in it are [`redact::REDACTED`].
    pub command: Vec<String>,
    /// Levels in its command line.
    pub levels: Vec<CommandLevel>,
    /// The folder in which it runs.
    pub folder: String,
    /// Its environment without what comes from a session; `None` where it cannot be read.
    pub variables: Option<Vec<FoundVariable>>,
}

/// A word of a command line that ends with the level of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLevel {
    /// Its index.
    pub word: usize,
    /// What comes before the level, such as `--threads=`; empty for none.
    pub before: String,
    /// The knob, by name.
    pub knob: String,
}

/// A variable of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundVariable {
    /// Its name.
    pub name: String,
    /// Its value; `None` for a secret.
    pub value: Option<String>,
}

impl FoundStart {
    /// `None` where a title is in the place of the command line, or the process belongs to somebody else.
    pub(super) fn of(files: &mut Files, server: &ServerProcess, program: &str) -> Option<Self> {
        let is_known = server.executable.is_some() && !server.has_title;
        let folder = server.folder.clone().filter(|_| is_known)?;
        let environment = Environment::of(files, server.pid);
        let mut command = redact::command(server.words());
        let first = command.first_mut()?;
        if !first.contains('/')
            && let Some(path) = environment.as_ref().and_then(|it| it.get("PATH"))
            && let Some(whole) = found_in(files, server.pid, path, first)
        {
            *first = whole;
        }
        Some(Self {
            program: program.to_owned(),
            pid: server.pid,
            command,
            levels: Vec::new(),
            folder,
            variables: environment.as_ref().map(of_service),
        })
    }

    /// In a sentence: with which variables, without their values.
    pub(super) fn with_variables(&self) -> String {
        let variables = self.variables.as_deref().unwrap_or_default();
        let names = variables.iter().map(|variable| variable.name.as_str());
        let names: Vec<&str> = names.take(NAMES_MAX).collect();
        let more = match variables.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if names.is_empty() {
            String::new()
        } else {
            format!(
                " with {}{more} in its environment (/proc/{}/environ)",
                names.join(", "),
                self.pid
            )
        }
    }
}

/// The program that a name without a folder means on a path.
fn found_in(files: &mut Files, pid: u32, path: &str, program: &str) -> Option<String> {
    let folders = path.split(':').filter(|folder| folder.starts_with('/'));
    let mut programs = folders.map(|folder| format!("{}/{program}", folder.trim_end_matches('/')));
    programs.find(|whole| files.is_file_of(pid, whole))
}

/// What a service has of its environment for itself.
fn of_service(environment: &Environment) -> Vec<FoundVariable> {
    let own = environment.variables().filter(|(name, value)| {
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let of_session = OF_SESSIONS.contains(name)
            || OF_SESSIONS_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix));
        let is_text = !value.contains('\u{fffd}') && value.len() <= VALUE_LEN_MAX;
        is_name && !name.is_empty() && !of_session && is_text
    });
    let own = own.take(VARIABLES_MAX).map(|(name, value)| FoundVariable {
        value: (!is_secret(name, value)).then(|| value.to_owned()),
        name: name.to_owned(),
    });
    own.collect()
}

/// Whether the value of a variable is a secret: by its name or the last word of it (`STRIPE_KEY`), or because it has one (the
/// login of a URL).
fn is_secret(name: &str, value: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or_default();
    let url = value.split_once("://").map(|(_, rest)| rest);
    let authority = url.and_then(|rest| rest.split(['/', '?', '#']).next());
    redact::is_secret(name)
        || redact::is_secret(last)
        || SECRET_ENDS.contains(&last)
        || authority.is_some_and(|authority| authority.contains('@'))
        || redact::text(value) != value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_variables_of_its_own() {
        let variables = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/root"),
            ("SHLVL", "1"),
            ("LS_COLORS", "di=01;34"),
            ("INVOCATION_ID", "7f"),
            ("JOURNAL_STREAM", "8:1"),
            ("LISTEN_FDS", "1"),
            ("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22"),
            ("BASH_FUNC_which%%", "() { :; }"),
            ("NODE_ENV", "production"),
            ("LANG", "C.UTF-8"),
            ("DATABASE_URL", "postgres://shop:hunter2@db/shop"),
            ("CACHE_URL", "redis://127.0.0.1:6379/0"),
            ("SECRET_KEY_BASE", "hunter2"),
            ("STRIPE_KEY", "hunter2"),
            ("SENTRY_DSN", "https://hunter2@sentry.example/1"),
            ("EMPTY", ""),
        ];
        let own = variables.map(|(name, value)| format!("{name}={value}"));
        let found = of_service(&Environment::from_text(own.join("\0")));
        let found: Vec<(&str, Option<&str>)> = found
            .iter()
            .map(|variable| (variable.name.as_str(), variable.value.as_deref()))
            .collect();
        assert_eq!(
            found,
            [
                ("NODE_ENV", Some("production")),
                ("LANG", Some("C.UTF-8")),
                ("DATABASE_URL", None),
                ("CACHE_URL", Some("redis://127.0.0.1:6379/0")),
                ("SECRET_KEY_BASE", None),
                ("STRIPE_KEY", None),
                ("SENTRY_DSN", None),
                ("EMPTY", Some("")),
            ]
        );
    }
}
