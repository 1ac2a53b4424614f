//! uWSGI's time-out, for advice.

use super::discover::options_of;
use super::parse::UwsgiOptions;
use crate::collectors::FileSetting;
use crate::collectors::timeouts::{Ends, Limit, ServerTimeouts};
use crate::files::Files;

/// The setting that ends a request.
pub(super) const HARAKIRI: &str = "harakiri";

/// Time-outs of a uWSGI, by its command line and the ini files that this names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> ServerTimeouts {
    let (options, written) = options_of(files, pid, words);
    server(&options, &written)
}

/// The time-outs of a uWSGI with these options, some of which are written in files.
fn server(options: &UwsgiOptions, written: &[FileSetting]) -> ServerTimeouts {
    let file = options.files.first().cloned().unwrap_or_default();
    let seconds = options.harakiri.map_or(0, |(seconds, _)| seconds);
    let ends = if seconds == 0 {
        Ends::Never(HARAKIRI, file)
    } else {
        // A command line comes before files.
        let is_in_file = options.harakiri.is_some_and(|(_, line)| line > 0);
        let mut own = written.iter().filter(|_| is_in_file);
        let own = own.find(|setting| setting.name == HARAKIRI);
        Ends::After(Limit {
            word: HARAKIRI,
            seconds: seconds as f64,
            place: own.map_or_else(
                || "its command line".to_owned(),
                |setting| setting.file.clone(),
            ),
        })
    };
    ServerTimeouts {
        program: "uWSGI",
        listens: options.sockets.clone(),
        ends,
        ..ServerTimeouts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::discover::settings;
    use super::super::parse::{command_line, configuration};
    use super::*;

    /// When a uWSGI with this command line and this file, `/u.ini`, gives a request up.
    fn ends(words: &[&str], text: &str) -> (Vec<String>, Ends) {
        let read = configuration(text);
        let written = settings(&read, "/u.ini");
        let options = command_line(words).or(read);
        let server = server(&options, &written);
        (server.listens, server.ends)
    }

    #[test]
    fn a_request_ends_after_its_harakiri() {
        let after = |seconds: f64, place: &str| {
            Ends::After(Limit {
                word: HARAKIRI,
                seconds,
                place: place.to_owned(),
            })
        };
        let words = ["uwsgi", "--ini", "/u.ini"];
        let never = Ends::Never(HARAKIRI, "/u.ini".to_owned());
        let text = "[uwsgi]\nsocket = 127.0.0.1:3031\n";
        let listens = vec!["127.0.0.1:3031".to_owned()];
        assert_eq!(ends(&words, text), (listens, never.clone()));
        let limited = format!("{text}harakiri = 90\n");
        assert_eq!(ends(&words, &limited).1, after(90.0, "/u.ini:3"));
        let given = ["uwsgi", "--harakiri=20", "--ini", "/u.ini"];
        assert_eq!(ends(&given, &limited).1, after(20.0, "its command line"));
        let off = format!("{text}harakiri = 0\n");
        assert_eq!(ends(&words, &off).1, never);
    }
}
