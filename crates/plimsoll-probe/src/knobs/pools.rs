//! Knobs of pgbouncer.

use super::KnobFactor;
use super::processes::{ServerProcess, has_extension};
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::source::{INI, begin_of_section, ini};
use crate::collectors::pgbouncer::parse::configuration;

/// Settings, with pgbouncer's defaults.
const SETTINGS: [(&str, &str); 3] = [
    ("default_pool_size", "20"),
    ("reserve_pool_size", "0"),
    ("max_client_conn", "100"),
];

/// pgbouncer, by the file that its command line names.
pub(super) fn pgbouncer(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let words = server.words();
    let named = words.iter().find(|word| has_extension(word, "ini"));
    let path = named.and_then(|file| server.path(file));
    let text = path.and_then(|path| Some((path.clone(), reader.text(server, &path)?)));
    let Some((path, text)) = text else {
        let why = "its configuration cannot be read: run as its owner or as root".to_owned();
        reader.knob(NewKnob::unknown("default_pool_size", why));
        return;
    };
    let service = reader.service(server);
    let pid_file = ini(&text, INI, Some("pgbouncer"), "pidfile");
    let pid_files: Vec<&str> = pid_file.iter().map(|found| found.value).collect();
    let commands = Commands {
        check: None,
        reload: Some(reader.signal(server, "HUP", &pid_files)),
        restart: service.restart(),
    };
    let file = reader.file(server, &path, &text, &commands);
    let Some(begin) = begin_of_section(&text, "pgbouncer") else {
        return;
    };
    let read = configuration(&text);
    for server in read.servers() {
        reader.uses(&server);
    }
    let databases = read.databases.len() as u64;
    for (setting, default) in SETTINGS {
        let (now, edit) = match ini(&text, INI, Some("pgbouncer"), setting) {
            Some(found) => (found.value, (found.at, HERE.to_owned())),
            None => (default, (begin..begin, format!("{setting} = {HERE}\n"))),
        };
        let knob = reader.knob(NewKnob::new(setting, now, Spot::File(file, vec![edit])));
        if let Some(knob) = knob.filter(|_| setting == "default_pool_size") {
            let pools = KnobFactor::Quantity("pgbouncer_pools".to_owned(), databases.max(1));
            reader.needs_connections(vec![knob, pools], true);
        }
    }
}
