//! The status page of Apache's HTTP server in its form for programs (`?auto`), and its configuration.

use std::collections::BTreeMap;

use crate::collectors::FileSetting;
use crate::collectors::configuration::switch;
use crate::collectors::php_fpm::is_php_module;

/// Values by name; `None` when it is another page.
pub(crate) fn status(text: &str) -> Option<BTreeMap<&str, &str>> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let values: BTreeMap<&str, &str> = lines
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    (values.contains_key("BusyWorkers") && values.contains_key("IdleWorkers")).then_some(values)
}

/// A directive of the configuration, and its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApacheDirective {
    /// Its arguments.
    pub(crate) value: String,
    /// File.
    pub(crate) file: String,
    /// Line.
    pub(crate) line: usize,
}

/// The relevant settings of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApacheConfig {
    /// Settings with a number, or on and off; the last one of a name applies.
    pub(crate) numbers: BTreeMap<&'static str, ApacheDirective>,
    /// The module that distributes requests over its processes: `prefork`, `worker` or `event`.
    pub(crate) mpm: Option<String>,
    /// The library of PHP that runs in its processes.
    pub(crate) php: Option<String>,
    /// Where it listens, in the order of the files.
    pub(crate) listen: Vec<String>,
    /// Paths of the status page.
    pub(crate) pages: Vec<String>,
    /// `Timeout` and `ProxyTimeout`; the last one of a name applies.
    pub(crate) times: BTreeMap<&'static str, ApacheDirective>,
    /// Where it hands requests on.
    pub(crate) upstreams: Vec<ApacheUpstream>,
}

/// A server that requests are handed on to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApacheUpstream {
    /// `host:port`, or the path of a socket.
    pub(crate) to: String,
    /// Its parameters: `timeout=5`.
    pub(crate) parameters: Vec<String>,
    /// `file:line`.
    pub(crate) place: String,
}

/// Names of the settings that are read, as they are compared and as they are shown.
const NUMBERS: [(&str, &str); 12] = [
    ("maxrequestworkers", "MaxRequestWorkers"),
    ("maxclients", "MaxRequestWorkers"),
    ("serverlimit", "ServerLimit"),
    ("threadsperchild", "ThreadsPerChild"),
    ("threadlimit", "ThreadLimit"),
    ("asyncrequestworkerfactor", "AsyncRequestWorkerFactor"),
    ("maxconnectionsperchild", "MaxConnectionsPerChild"),
    ("maxrequestsperchild", "MaxConnectionsPerChild"),
    ("keepalive", "KeepAlive"),
    ("keepalivetimeout", "KeepAliveTimeout"),
    ("maxkeepaliverequests", "MaxKeepAliveRequests"),
    ("listenbacklog", "ListenBacklog"),
];

/// Times that are read.
const TIMES: [(&str, &str); 2] = [("timeout", "Timeout"), ("proxytimeout", "ProxyTimeout")];
/// Servers that requests are handed on to, at most.
const UPSTREAMS_MAX: usize = 256;

impl ApacheConfig {
    /// Its settings, with their places.
    pub(crate) fn settings(&self) -> Vec<FileSetting> {
        let numbers = self.numbers.iter().filter_map(|(name, written)| {
            // `250ms` and other times with a unit are not read.
            let number = written.value.parse().ok();
            let value = number.or_else(|| switch(&written.value))?;
            let place = format!("{}:{}", written.file, written.line);
            Some(FileSetting::number(name, value, place))
        });
        let mpm = self.mpm.iter();
        let mpm = mpm.map(|module| FileSetting::word("MPM", module, ""));
        numbers.chain(mpm).collect()
    }
}

/// Whether a line in blocks of these modules applies: settings of every module stand in some configurations.
fn applies(mpm: Option<&str>, blocks: &[String]) -> bool {
    blocks.iter().all(|block| {
        let name = block.trim_end_matches(".c").trim_end_matches("_module");
        match name.strip_prefix("mpm_").unwrap_or(name) {
            module @ ("prefork" | "worker" | "event") => mpm.is_none_or(|mpm| mpm == module),
            "winnt" | "netware" | "mpmt_os2" => false,
            _ => true,
        }
    })
}

/// The address in a URL of a server, as `ProxyPass`, `BalancerMember` and `SetHandler` write it; `None` for another word,
/// a balancer, and a URL that depends on the request.
fn upstream(word: &str) -> Option<String> {
    let word = word.trim_matches(['"', '\'']);
    let word = word.strip_prefix("proxy:").unwrap_or(word);
    if word.contains(['$', '%']) {
        return None;
    }
    if let Some((socket, _)) = word
        .strip_prefix("unix:")
        .and_then(|rest| rest.split_once('|'))
    {
        return socket.starts_with('/').then(|| socket.to_owned());
    }
    let (scheme, rest) = word.split_once("://")?;
    let default = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" | "h2c" => "80",
        "https" | "wss" | "h2" => "443",
        "fcgi" => "8000",
        "ajp" => "8009",
        "scgi" => "4000",
        "uwsgi" => "3031",
        _ => return None,
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let has_port = port.is_some_and(|port| port.parse::<u16>().is_ok());
    (!authority.is_empty()).then(|| {
        if has_port {
            authority.to_owned()
        } else {
            format!("{authority}:{default}")
        }
    })
}

/// The server in the words of a directive that hands requests on, with the parameters behind it.
fn upstream_of(line: &str, place: String) -> Option<ApacheUpstream> {
    let mut words = line.split_whitespace().skip(1);
    let to = words.find_map(upstream)?;
    let parameters = words.map(str::to_ascii_lowercase).collect();
    Some(ApacheUpstream {
        to,
        parameters,
        place,
    })
}

/// The folder that a configuration sets for relative paths.
pub(crate) fn server_root(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let (word, value) = line.trim().split_once(char::is_whitespace)?;
        let value = value.trim().trim_matches('"').trim_end_matches('/');
        let is_it = word.eq_ignore_ascii_case("ServerRoot") && value.starts_with('/');
        is_it.then_some(value)
    })
}

/// How deep files may include files.
const DEPTH_MAX: u32 = 8;
/// Files read at most, includes counted.
const FILES_MAX: usize = 256;

/// Parses a configuration and its includes: `include` returns names and texts of the files that match a pattern.
pub(crate) fn configuration(
    file: &str,
    text: &str,
    include: &mut impl FnMut(&str) -> Vec<(String, String)>,
) -> ApacheConfig {
    let mut read = ApacheConfig::default();
    let mut files = 0;
    let mut include = |pattern: &str| {
        let mut found = if files < FILES_MAX {
            include(pattern)
        } else {
            Vec::new()
        };
        found.truncate(FILES_MAX - files);
        files += found.len();
        found
    };
    read_into(&mut read, file, text, &mut include, DEPTH_MAX);
    read
}

fn read_into(
    read: &mut ApacheConfig,
    file: &str,
    text: &str,
    include: &mut impl FnMut(&str) -> Vec<(String, String)>,
    depth: u32,
) {
    let mut location = None;
    let mut modules: Vec<String> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let Some(word) = words.next().map(str::to_ascii_lowercase) else {
            continue;
        };
        let value = words
            .next()
            .unwrap_or_default()
            .trim_end_matches('>')
            .trim_matches('"');
        let directive = || ApacheDirective {
            value: value.to_owned(),
            file: file.to_owned(),
            line: index + 1,
        };
        if let Some((_, name)) = TIMES.iter().find(|known| known.0 == word) {
            read.times.insert(name, directive());
            continue;
        }
        if let Some((_, name)) = NUMBERS.iter().find(|known| known.0 == word) {
            if applies(read.mpm.as_deref(), &modules) {
                read.numbers.insert(name, directive());
            }
            continue;
        }
        match word.as_str() {
            "loadmodule" => {
                let module = value.strip_prefix("mpm_");
                let module = module.and_then(|module| module.strip_suffix("_module"));
                read.mpm = module.map(str::to_owned).or(read.mpm.take());
                let library = words.next().filter(|_| is_php_module(value));
                let library = library.map(|library| library.trim_matches('"').to_owned());
                read.php = library.or(read.php.take());
            }
            "<ifmodule" => modules.push(value.to_ascii_lowercase()),
            "</ifmodule>" => {
                modules.pop();
            }
            "listen" => read.listen.push(value.to_owned()),
            "<location" => location = Some(value.to_owned()),
            "</location>" => location = None,
            "sethandler" if value == "server-status" => read.pages.extend(location.clone()),
            "sethandler" | "proxypass" | "proxypassmatch" | "balancermember"
                if read.upstreams.len() < UPSTREAMS_MAX =>
            {
                let place = format!("{file}:{}", index + 1);
                read.upstreams.extend(upstream_of(line, place));
            }
            "include" | "includeoptional" if depth > 0 => {
                for (file, text) in include(value) {
                    read_into(read, &file, &text, include, depth - 1);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of Apache 2.4, shortened.
    const PAGE: &str = "127.0.0.1\nServerVersion: Apache/2.4.57 (Debian)\nServerMPM: event\n\
        RestartTime: Monday, 23-Nov-2026 02:00:00 UTC\nTotal Accesses: 912\nTotal kBytes: 77\nBusyWorkers: 3\n\
        IdleWorkers: 47\nScoreboard: ___WW_R....\n";

    #[test]
    fn the_status_page_is_read() {
        let read = status(PAGE).unwrap();
        assert_eq!((read["BusyWorkers"], read["Total Accesses"]), ("3", "912"));
        assert_eq!(read["RestartTime"], "Monday, 23-Nov-2026 02:00:00 UTC");
        assert_eq!(status("<html>BusyWorkers: 1"), None);
    }

    #[test]
    fn a_configuration_is_read_with_what_it_includes() {
        let main =
            "# Listen 1\nListen 127.0.0.1:8080\nIncludeOptional mods/*.conf\nMaxRequestWorkers 4\n";
        let mods = "<Location \"/server-status\">\n  SetHandler server-status\n</Location>\nMaxClients 150\nInclude x\n";
        let read = configuration("/etc/a", main, &mut |pattern| {
            let found = pattern == "mods/*.conf";
            found
                .then(|| ("/etc/m".to_owned(), mods.to_owned()))
                .into_iter()
                .collect()
        });
        let right = [FileSetting::number("MaxRequestWorkers", 4.0, "/etc/a:4")];
        assert_eq!(read.settings(), right);
        assert_eq!(
            (read.listen.as_slice(), read.pages.as_slice()),
            (
                &["127.0.0.1:8080".to_owned()][..],
                &["/server-status".to_owned()][..]
            )
        );
        // A file that includes itself is read only a few times.
        let endless = configuration("/a", "Include /a\nListen 1\n", &mut |_| {
            vec![("/a".to_owned(), "Include /a\nListen 1\n".to_owned())]
        });
        assert_eq!(endless.listen.len(), 9);
    }

    #[test]
    fn the_root_that_a_configuration_sets() {
        let text = "# ServerRoot /a\nserverroot \"/srv/web/\"\nServerRoot /b\n";
        assert_eq!(server_root(text), Some("/srv/web"));
        assert_eq!(server_root("ServerRoot ${ROOT}\nServerRootless /a\n"), None);
    }

    #[test]
    fn settings_of_other_modules_do_not_apply() {
        let main = "LoadModule mpm_event_module modules/mod_mpm_event.so\nKeepAlive Off\nKeepAliveTimeout 5\n\
            <IfModule mpm_event_module>\nMaxRequestWorkers 400\n</IfModule>\n\
            <IfModule mpm_prefork_module>\nMaxRequestWorkers 250\n</IfModule>\n\
            <IfModule !mpm_netware.c>\nServerLimit 16\n</IfModule>\n<IfModule mpm_winnt_module>\nThreadsPerChild 150\n";
        let read = configuration("/a", main, &mut |_| Vec::new());
        assert_eq!(read.php, None);
        let right = [
            FileSetting::number("KeepAlive", 0.0, "/a:2"),
            FileSetting::number("KeepAliveTimeout", 5.0, "/a:3"),
            FileSetting::number("MaxRequestWorkers", 400.0, "/a:5"),
            FileSetting::number("ServerLimit", 16.0, "/a:11"),
            FileSetting::word("MPM", "event", ""),
        ];
        assert_eq!(read.settings(), right);
    }

    #[test]
    fn php_may_run_in_its_processes() {
        let main = "LoadModule php_module /usr/lib/apache2/modules/libphp8.2.so\nLoadModule status_module x.so\n";
        let read = configuration("/a", main, &mut |_| Vec::new());
        let library = "/usr/lib/apache2/modules/libphp8.2.so";
        assert_eq!(read.php.as_deref(), Some(library));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,200}") {
            let _ = status(&text);
            let _ = configuration("", &text, &mut |_| Vec::new());
        }
    }
}
