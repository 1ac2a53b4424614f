//! Knobs of Apache, where its configuration has them.

use std::ops::Range;

use super::KnobFactor;
use super::opcache::{self, IniFiles, OPCACHE};
use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use super::source::{end_of, lines};
use crate::collectors::apache::settings::{
    PREFORK_PROCESSES, THREADED_PROCESSES, THREADS, THREADS_MAX,
};
use crate::collectors::discovery::texts_for;
use crate::collectors::php_fpm::{
    OVERRIDES, ini_files_of_module, is_php_module, module_lacks_opcache,
};

/// Files that are read, and how deep they include each other.
const FILES_MAX: usize = 256;
const DEPTH_MAX: usize = 8;
/// Workers that are tried at most.
const WORKERS_MAX: u64 = 4096;
/// Directives that one MPM alone knows, of those that are changed to another.
const OF_ONE_MPM: [&str; 3] = [
    "minspareservers",
    "maxspareservers",
    "asyncrequestworkerfactor",
];

/// A directive outside of virtual hosts and folders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ApacheDirective {
    name: String,
    value: String,
    file: usize,
    /// The bytes of its value.
    at: Range<usize>,
    /// The module whose `IfModule` it is in; empty for none.
    module: String,
}

#[derive(Debug, Default)]
struct ApacheFiles {
    files: Vec<(String, String)>,
    directives: Vec<ApacheDirective>,
    /// Addresses of servers that it passes requests to.
    upstreams: Vec<String>,
}

impl ApacheFiles {
    fn add(
        &mut self,
        (name, text): (String, String),
        depth: usize,
        included: &mut dyn FnMut(&str) -> Vec<(String, String)>,
    ) {
        if self.files.len() >= FILES_MAX || depth > DEPTH_MAX {
            return;
        }
        let file = self.files.len();
        self.files.push((name, text.clone()));
        let (mut modules, mut inside): (Vec<String>, u32) = (Vec::new(), 0);
        for line in lines(&text) {
            let content = line.text.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let (word, rest) = content.split_once([' ', '\t']).unwrap_or((content, ""));
            let rest = rest.trim();
            if let Some(section) = word.strip_prefix('<') {
                match section.trim_end_matches('>').to_ascii_lowercase().as_str() {
                    "ifmodule" => modules.push(rest.trim_end_matches('>').to_ascii_lowercase()),
                    "/ifmodule" => drop(modules.pop()),
                    "virtualhost" | "directory" | "location" | "files" | "proxy" => inside += 1,
                    "/virtualhost" | "/directory" | "/location" | "/files" | "/proxy" => {
                        inside = inside.saturating_sub(1);
                    }
                    _ => {}
                }
                continue;
            }
            let name = word.to_ascii_lowercase();
            match name.as_str() {
                "include" | "includeoptional" => {
                    for inner in included(rest.trim_matches('"')) {
                        self.add(inner, depth + 1, included);
                    }
                }
                "proxypass" | "sethandler" | "balancermember" | "proxypassmatch" => {
                    let words = rest.split_whitespace();
                    self.upstreams
                        .extend(words.map(|word| word.trim_matches('"').to_owned()));
                }
                _ if inside == 0 => {
                    let at = line.range_of(rest).unwrap_or(line.start..line.start);
                    self.directives.push(ApacheDirective {
                        name,
                        value: rest.to_owned(),
                        file,
                        at,
                        module: modules.last().cloned().unwrap_or_default(),
                    });
                }
                _ => {}
            }
        }
    }

    /// The MPM that is loaded: `event` where nothing says.
    fn mpm(&self) -> &'static str {
        let loaded = self
            .directives
            .iter()
            .filter(|directive| directive.name == "loadmodule");
        let mut loaded = loaded.map(|directive| directive.value.as_str());
        let known = ["prefork", "worker", "event"];
        loaded
            .find_map(|value| {
                let mut known = known.into_iter();
                known.find(|mpm| value.starts_with(&format!("mpm_{mpm}_module")))
            })
            .unwrap_or("event")
    }

    /// Whether its own processes run an application: PHP, Python, Perl or Ruby.
    fn runs_scripts(&self) -> bool {
        let mut loaded = self.directives.iter();
        loaded.any(|directive| {
            let module = directive.value.split_whitespace().next();
            let module = module.and_then(|module| module.strip_suffix("_module"));
            let is_language = |module: &str| {
                module.starts_with("php") || ["wsgi", "perl", "passenger"].contains(&module)
            };
            directive.name == "loadmodule" && module.is_some_and(is_language)
        })
    }

    /// The library of PHP that runs in its processes.
    fn php(&self) -> Option<&str> {
        let mut loaded = self.directives.iter().rev();
        loaded.find_map(|directive| {
            let mut words = directive.value.split_whitespace();
            let module = words.next().filter(|_| directive.name == "loadmodule")?;
            let library = words.next()?.trim_matches('"');
            is_php_module(module).then_some(library)
        })
    }

    /// What sets a value of PHP in place of its ini files: the file, the bytes of the value, and the value.
    fn override_of(&self, setting: &str) -> Option<(usize, Range<usize>, &str)> {
        let mut last = self.directives.iter().rev();
        last.find_map(|directive| {
            let (name, rest) = directive.value.split_once(char::is_whitespace)?;
            let is_it = OVERRIDES.contains(&directive.name.as_str()) && name == setting;
            let value = rest.trim_start();
            let start = directive.at.end.checked_sub(value.len())?;
            let is_allowed = is_it && opcache::may_override(setting, value);
            is_allowed.then_some((directive.file, start..directive.at.end, value))
        })
    }

    /// The last directive of a name that counts with an MPM.
    fn last(&self, name: &str, mpm: &str) -> Option<&ApacheDirective> {
        let name = name.to_ascii_lowercase();
        self.directives.iter().rev().find(|directive| {
            let is_other_mpm = directive.module.contains("mpm_") && !directive.module.contains(mpm);
            directive.name == name && !is_other_mpm && !directive.module.starts_with('!')
        })
    }
}

/// Reads Apache's knobs.
pub(super) fn read(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let is_httpd = server
        .words
        .first()
        .is_some_and(|word| word.ends_with("httpd"));
    let (root, main) = if is_httpd {
        ("/etc/httpd", "conf/httpd.conf")
    } else {
        ("/etc/apache2", "apache2.conf")
    };
    let root = server.flag(&["-d"]).unwrap_or(root).to_owned();
    let main = whole(&root, server.flag(&["-f"]).unwrap_or(main));
    let Some(text) = reader.text(server, &main) else {
        let why = format!("its configuration {main} cannot be read: run as root");
        reader.knob(NewKnob::unknown("MaxRequestWorkers", why));
        return;
    };
    let written_root = lines(&text).find_map(|line| {
        let value = line.text.trim().strip_prefix("ServerRoot")?.trim();
        Some(value.trim_matches('"').to_owned())
    });
    let root = written_root.unwrap_or(root);
    let mut apache = ApacheFiles::default();
    let files = &mut *reader.files;
    apache.add((main.clone(), text), 0, &mut |pattern| {
        texts_for(files, server.pid, &whole(&root, pattern))
    });
    for upstream in &apache.upstreams {
        reader.uses(upstream);
    }
    let runs_scripts = apache.runs_scripts();
    reader.has_application |= runs_scripts;
    let commands = commands(reader, server, is_httpd);
    let mut knobs = ApacheKnobs {
        reader,
        server,
        apache: &apache,
        mpm: apache.mpm(),
        commands,
    };
    knobs.mpm(runs_scripts, &root);
    knobs.workers(runs_scripts);
    knobs.simple("KeepAlive", "On");
    knobs.simple("KeepAliveTimeout", "5");
    knobs.simple("MaxConnectionsPerChild", "0");
    knobs.compiled_scripts();
}

/// A path that may be relative to the root of the server.
fn whole(root: &str, path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{root}/{path}")
    }
}

fn commands(reader: &mut KnobReader<'_>, server: &ServerProcess, is_httpd: bool) -> Commands {
    let service = reader.service(server);
    let named: Vec<&str> = ["-d", "-f"]
        .into_iter()
        .filter_map(|flag| Some([flag, server.flag(&[flag])?]))
        .flatten()
        .collect();
    // Debian's configuration needs variables that its own script sets.
    let program = match &server.executable {
        Some(program) if is_httpd || !named.is_empty() => program.clone(),
        _ if is_httpd => "httpd".to_owned(),
        _ => "apache2ctl".to_owned(),
    };
    let with = |more: &[&str]| {
        let mut words = command(&[&program]);
        words.extend(command(&named));
        words.extend(command(more));
        words
    };
    Commands {
        check: Some(with(&["-t"])),
        reload: Some(with(&["-k", "graceful"])),
        restart: service.restart(),
    }
}

struct ApacheKnobs<'k, 'a> {
    reader: &'k mut KnobReader<'a>,
    server: &'k ServerProcess,
    apache: &'k ApacheFiles,
    mpm: &'static str,
    commands: Commands,
}

impl ApacheKnobs<'_, '_> {
    /// The edit of a directive: its value, or a new line at the end of the main file.
    fn edit(&mut self, name: &str) -> (usize, (Range<usize>, String), Option<String>) {
        let apache = self.apache;
        let found = apache.last(name, self.mpm);
        let (path, text) = &apache.files[found.map_or(0, |found| found.file)];
        let file = self.reader.file(self.server, path, text, &self.commands);
        if let Some(found) = found {
            (
                file,
                (found.at.clone(), HERE.to_owned()),
                Some(found.value.clone()),
            )
        } else {
            let (end, begin) = end_of(text);
            (file, (end..end, format!("{begin}{name} {HERE}\n")), None)
        }
    }

    fn simple(&mut self, setting: &'static str, default: &str) {
        let (file, edit, now) = self.edit(setting);
        let now = now.unwrap_or_else(|| default.to_owned());
        self.reader
            .knob(NewKnob::new(setting, &now, Spot::File(file, vec![edit])));
    }

    /// The cache of compiled scripts of the PHP in its processes, which reads its ini files again when Apache does.
    fn compiled_scripts(&mut self) {
        let apache = self.apache;
        let Some(library) = apache.php() else {
            return;
        };
        let files = ini_files_of_module(self.reader.files, self.server.pid, library);
        let missing = format!(
            "no php.ini was found for {library}: a page with `phpinfo()` names the one that it reads as `Loaded Configuration \
             File`"
        );
        let own = IniFiles {
            files: &files,
            missing: &missing,
            is_loaded: !module_lacks_opcache(&files, library),
        };
        for (setting, default) in OPCACHE {
            if let Some((index, at, value)) = apache.override_of(setting) {
                let (path, text) = &apache.files[index];
                let file = self.reader.file(self.server, path, text, &self.commands);
                let spot = Spot::File(file, vec![(at, HERE.to_owned())]);
                let now = opcache::level(value);
                self.reader.knob(NewKnob::new(setting, now, spot));
                continue;
            }
            let setting = (setting, default);
            opcache::in_ini_files(self.reader, self.server, setting, own, &self.commands);
        }
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        let found = self.apache.last(name, self.mpm);
        found
            .and_then(|found| found.value.parse().ok())
            .unwrap_or(default)
    }

    /// The MPM, where one line loads it. A level is another line: the links that `a2enmod` makes would not be put back.
    fn mpm(&mut self, runs_scripts: bool, root: &str) {
        let (apache, now) = (self.apache, self.mpm);
        let mut loads = apache.directives.iter().filter(|directive| {
            directive.name == "loadmodule" && directive.value.starts_with("mpm_")
        });
        let (Some(load), None) = (loads.next(), loads.next()) else {
            return;
        };
        let own = format!("mpm_{now}");
        let is_plain = load.module.is_empty() && load.value.matches(&own).count() == 2;
        let library = load.value.split_whitespace().nth(1);
        let Some(library) = library.filter(|_| is_plain) else {
            return;
        };
        if runs_scripts {
            let why = format!(
                "an application runs in its own processes, and PHP needs prefork there: where it may run in threads, change the \
                 MPM by hand (on Debian `a2dismod {own}` and `a2enmod mpm_event`), and draft again"
            );
            self.reader
                .knob(NewKnob::new("MPM", now, Spot::Unreachable(why)));
            return;
        }
        let library = whole(root, library.trim_matches('"'));
        let mut words = vec!["worker", "event"];
        words.retain(|mpm| {
            let other = library.replace(&own, &format!("mpm_{mpm}"));
            self.reader.files.is_file_of(self.server.pid, &other)
        });
        // Their files come first: another MPM refuses their directives.
        let framed = self.framed(now);
        let (path, text) = &apache.files[load.file];
        let file = self.reader.file(self.server, path, text, &self.commands);
        let edit = (
            load.at.clone(),
            load.value.replace(&own, &format!("mpm_{HERE}")),
        );
        let knob = self.reader.knob(NewKnob {
            words,
            ..NewKnob::new("MPM", now, Spot::File(file, vec![edit]))
        });
        if let Some(KnobFactor::Knob(name, _)) = knob {
            for (file, at, text) in framed {
                self.reader.add_edit(file, at..at, text, &name);
            }
        }
    }

    /// What is inserted so that directives of this MPM alone are read by it alone: the file, where, and the text.
    fn framed(&mut self, mpm: &str) -> Vec<(usize, usize, String)> {
        let apache = self.apache;
        let own = apache.directives.iter().filter(|directive| {
            OF_ONE_MPM.contains(&directive.name.as_str()) && !directive.module.contains("mpm_")
        });
        let mut framed = Vec::new();
        for directive in own {
            let (path, text) = &apache.files[directive.file];
            let file = self.reader.file(self.server, path, text, &self.commands);
            let (end, start) = (directive.at.end, line_start(text, directive.at.start));
            let rest = text.get(end..).and_then(|rest| rest.find('\n'));
            let (end, begin) = rest.map_or(end_of(text), |len| (end + len + 1, ""));
            framed.push((file, start, format!("<IfModule mpm_{mpm}_module>\n")));
            framed.push((file, end, format!("{begin}</IfModule>\n")));
        }
        framed
    }

    /// The edit that raises `ServerLimit` in the file of the workers; `None` where it is in another file, or high enough.
    fn limit_edit(
        &mut self,
        file: usize,
        workers: &Range<usize>,
        limit: u64,
    ) -> Option<(Range<usize>, String)> {
        if self.apache.last("ServerLimit", self.mpm).is_some() {
            let (own, (at, _), now) = self.edit("ServerLimit");
            let is_lower = now.and_then(|now| now.parse::<u64>().ok()) < Some(limit);
            return (own == file && is_lower).then(|| (at, limit.to_string()));
        }
        let start = line_start(&self.reader.found.files.get(file)?.text, workers.start);
        Some((start..start, format!("ServerLimit {limit}\n")))
    }

    /// Workers: a reload keeps them below `ServerLimit`, which only a restart changes.
    fn workers(&mut self, runs_scripts: bool) {
        let is_prefork = self.mpm == "prefork";
        // Of whole processes: Apache lowers other numbers to these.
        let each = if is_prefork {
            1
        } else {
            let threads = self.number("ThreadsPerChild", THREADS.into());
            threads.clamp(1, self.number("ThreadLimit", THREADS_MAX.into()).max(1))
        };
        let (processes, default) = if is_prefork {
            (PREFORK_PROCESSES, PREFORK_PROCESSES)
        } else {
            (THREADED_PROCESSES, THREADED_PROCESSES * THREADS)
        };
        let limit = self.number("ServerLimit", processes.into());
        let capacity = limit.saturating_mul(each);
        let (file, edit, now) = self.edit("MaxRequestWorkers");
        let now = now.unwrap_or_else(|| u64::from(default).min(capacity).to_string());
        let mut edits = vec![edit];
        let restart = self.commands.restart.is_some();
        let mut most = capacity;
        let processes = WORKERS_MAX.div_ceil(each);
        if restart && let Some(edit) = self.limit_edit(file, &edits[0].0, processes) {
            edits.push(edit);
            most = most.max(processes * each);
        }
        let restart = restart && most > capacity;
        let workers = self.reader.knob(NewKnob {
            range: 0.0..most as f64 + 1.0,
            step: each,
            restart,
            ..NewKnob::new("MaxRequestWorkers", &now, Spot::File(file, edits))
        });
        if is_prefork {
            // Each process holds one connection to the database.
            if let Some(workers) = workers.clone().filter(|_| runs_scripts) {
                self.reader.needs_connections(vec![workers], false);
            }
            self.reader.needs_memory(self.server, workers);
        }
    }
}

/// Where a line begins.
fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).and_then(|before| before.rfind('\n'));
    before.map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_of_the_loaded_mpm_count() {
        let text = "LoadModule mpm_prefork_module x.so\n<IfModule mpm_event_module>\nMaxRequestWorkers 1\n</IfModule>\n\
            <IfModule mpm_prefork_module>\n  MaxRequestWorkers 150\n</IfModule>\n<VirtualHost *:80>\nKeepAlive Off\n\
            ProxyPass / http://127.0.0.1:9000/\n</VirtualHost>\n";
        let mut apache = ApacheFiles::default();
        apache.add(("a".to_owned(), text.to_owned()), 0, &mut |_| Vec::new());
        assert_eq!(apache.mpm(), "prefork");
        let workers = apache.last("MaxRequestWorkers", "prefork").unwrap();
        assert_eq!(&text[workers.at.clone()], "150");
        assert_eq!(apache.last("KeepAlive", "prefork"), None);
        assert!(
            apache
                .upstreams
                .contains(&"http://127.0.0.1:9000/".to_owned())
        );
    }
}
