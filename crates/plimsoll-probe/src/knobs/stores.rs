//! Knobs of Redis and memcached.

use std::ops::Range;

use super::processes::{ServerProcess, has_extension};
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::source::{SPACED, end_of, ini, lines};
use super::units;

/// Configuration files of Redis and Valkey where a distribution puts them.
const REDIS_FILES: [&str; 3] = [
    "/etc/redis/redis.conf",
    "/etc/redis.conf",
    "/etc/valkey/valkey.conf",
];
/// Arguments of memcached where Debian's unit reads them.
const MEMCACHED_FILE: &str = "/etc/memcached.conf";
/// Flags of memcached, with its defaults.
const MEMCACHED: [(&str, &str); 3] = [("-m", "64"), ("-t", "4"), ("-c", "1024")];

/// Redis and Valkey, by `CONFIG`; the number of threads by the configuration file.
pub(super) fn redis(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    for setting in ["maxclients", "maxmemory", "maxmemory-policy"] {
        reader.runtime(server, setting);
    }
    let words = server.words();
    let named = words.iter().find(|word| has_extension(word, "conf"));
    let named = named.and_then(|file| server.path(file));
    let mut paths = named.into_iter().chain(REDIS_FILES.map(str::to_owned));
    let main = paths.find_map(|path| Some((path.clone(), reader.text(server, &path)?)));
    let Some((path, text)) = main else {
        let why = "its configuration file cannot be found or read: run as root".to_owned();
        reader.knob(NewKnob::unknown("io-threads", why));
        return;
    };
    let service = reader.service(server);
    let commands = Commands {
        check: None,
        reload: None,
        restart: service.restart(),
    };
    let file = reader.file(server, &path, &text, &commands);
    let (end, begin) = end_of(&text);
    let (now, edit) = match ini(&text, SPACED, None, "io-threads") {
        Some(found) => (found.value, (found.at, HERE.to_owned())),
        None => ("1", (end..end, format!("{begin}io-threads {HERE}\n"))),
    };
    reader.knob(NewKnob::new(
        "io-threads",
        now,
        Spot::File(file, vec![edit]),
    ));
}

/// memcached, by the file of arguments that Debian's unit reads.
pub(super) fn memcached(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let service = reader.service(server);
    let text = reader
        .text(server, MEMCACHED_FILE)
        .filter(|_| service.restart().is_some());
    let commands = Commands {
        check: None,
        reload: None,
        restart: service.restart(),
    };
    for (flag, default) in MEMCACHED {
        let now = server.flag(&[flag]).unwrap_or(default);
        let Some(text) = &text else {
            let place = server.flag_at(&[flag]);
            if let Some(spot) = place.and_then(|place| units::word(reader, server, place)) {
                reader.knob(NewKnob::new(flag, now, spot));
                continue;
            }
            let why = "it is on its command line, which only a start of your own changes: start it with `command`";
            reader.knob(NewKnob::new(flag, now, Spot::Unreachable(why.to_owned())));
            reader.start_with(flag, server, server.flag_at(&[flag]));
            continue;
        };
        let file = reader.file(server, MEMCACHED_FILE, text, &commands);
        let edit = if let Some(at) = argument(text, flag) {
            (at, HERE.to_owned())
        } else {
            let (end, begin) = end_of(text);
            (end..end, format!("{begin}{flag} {HERE}\n"))
        };
        reader.knob(NewKnob::new(flag, now, Spot::File(file, vec![edit])));
    }
}

/// The bytes of the value of a flag, each of which has a line.
fn argument(text: &str, flag: &str) -> Option<Range<usize>> {
    lines(text).find_map(|line| {
        let value = line.text.trim().strip_prefix(flag)?.trim();
        line.range_of(value)
    })
}
