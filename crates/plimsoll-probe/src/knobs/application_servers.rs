//! Knobs of application servers: Puma, gunicorn, uWSGI and Node.

use super::processes::{ServerProcess, has_extension};
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use super::source::{HASH, INI, begin_of_section, end_of, ini, lines};
use super::units;
use crate::collectors::configuration::Environment;
use crate::collectors::puma::settings::threads_of;

/// Where a Rails application has the number of its server, in its folder.
const RAILS_PID_FILE: &str = "tmp/pids/server.pid";
/// Longest variable of an environment that is a level, bytes.
const VARIABLE_LEN_MAX: usize = 16;

/// Puma, by its `config/puma.rb`.
pub(super) fn puma(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let Some(path) = server.path("config/puma.rb") else {
        return;
    };
    let text = reader.text(server, &path);
    let running = server.workers.len().to_string();
    let Some(text) = text else {
        let why = format!(
            "{path} does not exist or cannot be read: move its options there, or run as root"
        );
        reader.knob(NewKnob::new("workers", &running, Spot::Unreachable(why)));
        return;
    };
    let ruby = server
        .executable
        .clone()
        .unwrap_or_else(|| "ruby".to_owned());
    let service = reader.service(server);
    let written = |name: &str| {
        let found = lines(&text).filter_map(|line| {
            let value = line.text.strip_prefix(name)?;
            let value = value.strip_prefix([' ', '('])?.split(" #").next()?.trim();
            let value = value
                .strip_suffix(')')
                .filter(|_| !value.contains('('))
                .unwrap_or(value);
            Some((value, line.range_of(value)?))
        });
        found.last()
    };
    let pid_file = written("pidfile").map(|(value, _)| value.trim_matches(['"', '\'']));
    let pid_files: Vec<&str> = pid_file.into_iter().chain([RAILS_PID_FILE]).collect();
    let commands = Commands {
        check: Some(command(&[&ruby, "-c", &path])),
        // It starts itself anew with the same process id and sockets.
        reload: Some(reader.signal(server, "USR2", &pid_files)),
        restart: service.restart(),
    };
    let file = reader.file(server, &path, &text, &commands);
    let workers = written("workers").map(|(value, at)| {
        let now = if value.parse::<u32>().is_ok() {
            value
        } else {
            running.as_str()
        };
        let spot = Spot::File(file, vec![(at, HERE.to_owned())]);
        reader.knob(NewKnob::new("workers", now, spot))
    });
    let (end, begin) = end_of(&text);
    let workers = workers.unwrap_or_else(|| {
        // Without workers it is one process.
        let spot = Spot::File(file, vec![(end..end, format!("{begin}workers {HERE}\n"))]);
        reader.knob(NewKnob::new("workers", &running, spot))
    });
    let threads_written = written("threads");
    let usual = threads_of_puma(reader, server, threads_written.is_some());
    let (now, edit) = match threads_written {
        Some((value, at)) => {
            let most = value.rsplit(',').next().unwrap_or_default().trim();
            let is_number = most.parse::<u32>().is_ok();
            let now = if is_number { most } else { usual.as_str() };
            (now, (at, format!("{HERE}, {HERE}")))
        }
        None => (
            usual.as_str(),
            (end..end, format!("{begin}threads {HERE}, {HERE}\n")),
        ),
    };
    let threads = reader.knob(NewKnob::new("threads", now, Spot::File(file, vec![edit])));
    reader.needs_memory(server, workers.clone());
    if let (Some(workers), Some(threads)) = (workers, threads) {
        reader.needs_connections(vec![workers, threads], false);
    }
}

/// Threads of a process of Puma where its file has no number of them: those of its environment, else those that run
/// where the file computes them, else its default.
fn threads_of_puma(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    is_computed: bool,
) -> String {
    if let Some(value) = variable_of(reader, server, "RAILS_MAX_THREADS") {
        return value;
    }
    let process = server.workers.first().copied().unwrap_or(server.pid);
    let running = threads_of(reader.files, process);
    if is_computed && running > 0 {
        running.to_string()
    } else {
        "5".to_owned()
    }
}

/// gunicorn, by the configuration that its command line names, or by `gunicorn.conf.py` in its folder.
pub(super) fn gunicorn(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let named = server
        .flag(&["-c", "--config"])
        .map(|file| file.trim_start_matches("file:"));
    if named.is_some_and(|file| file.starts_with("python:")) {
        let why = "its configuration is a Python module: name a file with --config".to_owned();
        reader.knob(NewKnob::unknown("workers", why));
        return;
    }
    let Some(path) = server.path(named.unwrap_or("gunicorn.conf.py")) else {
        let why = "the folder in which it runs cannot be read: run as root".to_owned();
        reader.knob(NewKnob::unknown("workers", why));
        return;
    };
    // gunicorn reads the file in its folder when it reloads, also where there was none before.
    let text = reader.text(server, &path);
    if text.is_none() && named.is_some() {
        let why = format!("its configuration {path} cannot be read: run as root");
        reader.knob(NewKnob::unknown("workers", why));
        return;
    }
    let text = text.unwrap_or_default();
    let commands = gunicorn_commands(reader, server, (&path, &text));
    let file = reader.file(server, &path, &text, &commands);
    let running = server.workers.len().max(1).to_string();
    let mut knob = |setting: &'static str, flags: &[&str], default: &str| {
        if server.flag(flags).is_some() {
            return reader.on_command_line(server, (setting, flags), &path);
        }
        let (end, begin) = end_of(&text);
        let (now, edit) = match ini(&text, HASH, None, setting) {
            Some(found) => {
                let is_number = found.value.parse::<u32>().is_ok();
                let now = if is_number { found.value } else { default };
                (now, (found.at, HERE.to_owned()))
            }
            None => (default, (end..end, format!("{begin}{setting} = {HERE}\n"))),
        };
        reader.knob(NewKnob::new(setting, now, Spot::File(file, vec![edit])))
    };
    let workers = knob("workers", &["-w", "--workers"], &running);
    let class = server.flag(&["-k", "--worker-class"]).map(str::to_owned);
    let class = class.or_else(|| {
        let found = ini(&text, HASH, None, "worker_class")?;
        Some(found.value.trim_matches(['"', '\'']).to_owned())
    });
    // Asynchronous workers have no threads of requests.
    let has_threads = class.is_none_or(|class| ["sync", "gthread"].contains(&class.as_str()));
    let threads = if has_threads {
        knob("threads", &["--threads"], "1")
    } else {
        None
    };
    knob("max_requests", &["--max-requests"], "0");
    reader.needs_memory(server, workers.clone());
    let product: Vec<_> = workers.into_iter().chain(threads).collect();
    if !product.is_empty() && has_threads {
        reader.needs_connections(product, false);
    }
}

/// How a configuration of gunicorn is checked and read again.
fn gunicorn_commands(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    (path, text): (&str, &str),
) -> Commands {
    let python = server.executable.clone();
    let python = python.unwrap_or_else(|| "python3".to_owned());
    let pid_file = server.flag(&["-p", "--pid"]).or_else(|| {
        let found = ini(text, HASH, None, "pidfile")?;
        Some(found.value.trim_matches(['"', '\'']))
    });
    let pid_files: Vec<&str> = pid_file.into_iter().collect();
    let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
    Commands {
        check: Some(command(&[&python, "-c", parse, path])),
        reload: Some(reader.signal(server, "HUP", &pid_files)),
        restart: reader.service(server).restart(),
    }
}

/// uWSGI, by the ini file that its command line names.
pub(super) fn uwsgi(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let words = server.words();
    let is_ini = |word: &&&str| {
        let file = word.split(':').next();
        file.is_some_and(|file| has_extension(file, "ini"))
    };
    let named = server
        .flag(&["--ini", "-i"])
        .or(words.iter().find(is_ini).copied());
    let path = named.and_then(|file| server.path(file.split(':').next()?));
    let running = server.workers.len().max(1).to_string();
    let Some((path, text)) =
        path.and_then(|path| Some((path.clone(), reader.text(server, &path)?)))
    else {
        let why =
            "its settings are not in an ini file that can be read: move them there, or run as root"
                .to_owned();
        reader.knob(NewKnob::new("processes", &running, Spot::Unreachable(why)));
        return;
    };
    let value = |key: &str| ini(&text, INI, Some("uwsgi"), key);
    let has_master = value("master")
        .is_some_and(|master| ["true", "1", "yes"].contains(&master.value))
        || words.iter().any(|word| ["--master", "-M"].contains(word));
    let service = reader.service(server);
    let written = ["pidfile", "safe-pidfile"]
        .iter()
        .filter_map(|key| value(key));
    let named = server.flag(&["--pidfile", "--safe-pidfile"]);
    let pid_files: Vec<&str> = named
        .into_iter()
        .chain(written.map(|found| found.value))
        .collect();
    let commands = Commands {
        check: None,
        reload: has_master.then(|| reader.signal(server, "HUP", &pid_files)),
        restart: service.restart(),
    };
    let file = reader.file(server, &path, &text, &commands);
    let Some(begin) = begin_of_section(&text, "uwsgi") else {
        return;
    };
    let mut knob = |setting: &'static str, aliases: &[&str], flags: &[&str], default: &str| {
        if server.flag(flags).is_some() {
            return reader.on_command_line(server, (setting, flags), &path);
        }
        let found = aliases.iter().find_map(|alias| value(alias));
        let (now, edit) = match found {
            Some(found) => (found.value, (found.at, HERE.to_owned())),
            None => (default, (begin..begin, format!("{setting} = {HERE}\n"))),
        };
        reader.knob(NewKnob::new(setting, now, Spot::File(file, vec![edit])))
    };
    let processes = knob(
        "processes",
        &["processes", "workers"],
        &["-p", "--processes", "--workers"],
        "1",
    );
    let threads = knob("threads", &["threads"], &["--threads"], "1");
    knob("listen", &["listen"], &["-l", "--listen"], "100");
    reader.needs_memory(server, processes.clone());
    let product: Vec<_> = processes.into_iter().chain(threads).collect();
    if !product.is_empty() {
        reader.needs_connections(product, false);
    }
}

/// Node, by the environment file of its unit.
pub(super) fn node(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let workers = server.workers.len().max(1).to_string();
    // Programs that do not read the variable would make it a knob without effect.
    if let Some(now) = variable_of(reader, server, "WEB_CONCURRENCY") {
        let now = if now.parse::<u32>().is_ok() {
            now
        } else {
            workers
        };
        let workers = environment(reader, server, "WEB_CONCURRENCY", &now);
        reader.needs_memory(server, workers);
    }
    let threads = variable_of(reader, server, "UV_THREADPOOL_SIZE");
    let threads = threads.unwrap_or_else(|| "4".to_owned());
    environment(reader, server, "UV_THREADPOOL_SIZE", &threads);
}

/// A variable of a server's environment that is a level.
fn variable_of(reader: &mut KnobReader<'_>, server: &ServerProcess, name: &str) -> Option<String> {
    let environment = Environment::of(reader.files, server.pid)?;
    let value = environment.get(name)?;
    (value.len() <= VARIABLE_LEN_MAX).then(|| value.to_owned())
}

/// A knob that is a variable of the environment.
fn environment(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    name: &'static str,
    now: &str,
) -> Option<super::KnobFactor> {
    let service = reader.service(server);
    let file = service.environment_file(reader.files);
    let text = file
        .as_ref()
        .and_then(|file| Some((file.clone(), reader.text(server, file)?)));
    let Some((path, text)) = text else {
        if let Some(spot) = units::variable(reader, server, name) {
            return reader.knob(NewKnob::new(name, now, spot));
        }
        let why = if service.restart().is_some() {
            format!(
                "its unit names no file with its environment that can be read, and is none of an administrator: `systemctl \
                 edit` it, with {name} in an `Environment=` of its `[Service]`"
            )
        } else {
            reader.no_restart()
        };
        return reader.knob(NewKnob::new(name, now, Spot::Unreachable(why)));
    };
    let commands = Commands {
        check: None,
        reload: None,
        restart: service.restart(),
    };
    let file = reader.file(server, &path, &text, &commands);
    let edit = if let Some(found) = ini(&text, INI, None, name) {
        (found.at, HERE.to_owned())
    } else {
        let (end, begin) = end_of(&text);
        (end..end, format!("{begin}{name}={HERE}\n"))
    };
    reader.knob(NewKnob::new(name, now, Spot::File(file, vec![edit])))
}
