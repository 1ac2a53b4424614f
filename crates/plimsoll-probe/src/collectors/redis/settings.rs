//! The limits of Redis and Valkey, for advice: from the file where a distribution has it, also where a password is needed.

use plimsoll_model::component::ComponentAddress;

use super::discover;
use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, bytes};
use crate::collectors::discovery::text_for;
use crate::files::Files;

/// Configuration files where a distribution puts them: the title that the server gives itself does not name its own.
const FILES: [&str; 3] = [
    "/etc/redis/redis.conf",
    "/etc/redis.conf",
    "/etc/valkey/valkey.conf",
];
/// The port, and the clients, without a setting.
const PORT: u16 = 6379;
const CLIENTS: f64 = 10_000.0;

/// Limits of a server, by the file that has its port.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let Some(found) = discover::find(pid, words) else {
        return Vec::new();
    };
    let place = &found.component.place;
    let mut texts = FILES.into_iter();
    let settings = texts.find_map(|path| {
        let text = text_for(files, pid, path)?;
        let read = configuration(path, &text)?;
        let is_own = matches!(place, ComponentAddress::Tcp { port, .. } if *port == read.port);
        is_own.then_some(read.settings)
    });
    vec![ComponentConfig {
        at: place.to_string(),
        settings: settings.unwrap_or_default(),
        ..ComponentConfig::default()
    }]
}

/// What a file sets.
#[derive(Debug, PartialEq)]
struct RedisConfig {
    port: u16,
    settings: Vec<FileSetting>,
}

/// Reads a file; `None` where it includes others, which may set anything again. Settings have the file as their place, as
/// the server itself reports it.
fn configuration(path: &str, text: &str) -> Option<RedisConfig> {
    let (mut port, mut memory, mut clients) = (PORT, 0.0, CLIENTS);
    let mut policy = "noeviction";
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else {
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "include" => return None,
            "port" => port = value.parse().ok()?,
            "maxmemory" => memory = bytes(value)?,
            "maxclients" => clients = f64::from(value.parse::<u32>().ok()?),
            "maxmemory-policy" => policy = value,
            _ => {}
        }
    }
    Some(RedisConfig {
        port,
        settings: vec![
            FileSetting::number("maxmemory", memory, path),
            FileSetting::number("maxclients", clients, path),
            FileSetting::word("maxmemory-policy", policy, path),
        ],
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_belongs_to_the_server_of_its_port() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("etc/redis");
        std::fs::create_dir_all(&folder).unwrap();
        let text = "# maxclients 1\nport 6380\nmaxmemory 100mb\nmaxmemory-policy allkeys-lru\nrequirepass hunter2\n";
        std::fs::write(folder.join("redis.conf"), text).unwrap();
        let mut files = Files::new(root.path().to_owned());
        let mut settings = |port: &str| {
            let words = ["redis-server", port];
            let mut configs = of_process(&mut files, 7, &words);
            assert_eq!(configs.len(), 1, "{configs:?}");
            configs.remove(0).settings
        };
        let path = "/etc/redis/redis.conf";
        let right = [
            FileSetting::number("maxmemory", 104_857_600.0, path),
            FileSetting::number("maxclients", 10_000.0, path),
            FileSetting::word("maxmemory-policy", "allkeys-lru", path),
        ];
        assert_eq!(settings("127.0.0.1:6380"), right);
        assert_eq!(settings("127.0.0.1:6379"), []);
        assert_eq!(configuration("", "include /etc/more.conf\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,200}") {
            let _ = configuration("", &text);
        }
    }
}
