//! The limits of pgbouncer, for advice.

use super::discover;
use super::parse::{PgbouncerConfig, configuration};
use crate::collectors::FileSetting;
use crate::collectors::configuration::ComponentConfig;
use crate::collectors::discovery::text_named;
use crate::files::Files;

/// pgbouncer's own values.
const MAX_CLIENT_CONN: f64 = 100.0;
const DEFAULT_POOL_SIZE: f64 = 20.0;
const POOL_MODE: &str = "session";

/// Limits of a pgbouncer, by the configuration that its command line names, and the servers behind it.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let Some(found) = discover::find(files, pid, words, false) else {
        return Vec::new();
    };
    let main = discover::main_of(words).unwrap_or_default();
    let read = text_named(files, pid, main).map(|text| configuration(&text));
    let read = read.unwrap_or_default();
    let config = ComponentConfig {
        at: found.component.place.to_string(),
        hops: read.servers(),
        settings: found.known.settings,
        ..ComponentConfig::default()
    };
    let mut config = config
        .or_default("max_client_conn", MAX_CLIENT_CONN)
        .or_default("default_pool_size", DEFAULT_POOL_SIZE);
    let pools = pools_of(&read, &config.settings, main);
    config.settings.extend(pools);
    let mode = match read.words.get("pool_mode") {
        Some((mode, line)) => FileSetting::word("pool_mode", mode, format!("{main}:{line}")),
        None => FileSetting::word("pool_mode", POOL_MODE, ""),
    };
    config.settings.push(mode);
    vec![config]
}

/// The pools of the databases on this machine that have the size of all.
fn pools_of(read: &PgbouncerConfig, settings: &[FileSetting], main: &str) -> Vec<FileSetting> {
    let default = settings
        .iter()
        .find(|setting| setting.name == "default_pool_size");
    let Some(default) = default else {
        return Vec::new();
    };
    let is_here = |server: &String| {
        let hosts = ["/", "127.", "localhost:", "[::1]:"];
        hosts.iter().any(|host| server.starts_with(*host))
    };
    let databases = read.databases.iter().filter(|database| {
        database.name != "*"
            && !database.words.contains_key("pool_size")
            && read.servers_of(database).iter().any(is_here)
    });
    let pools = databases.map(|database| FileSetting {
        of: database.name.clone(),
        ..FileSetting::number(
            "pool_size",
            default.value,
            format!("{main}:{}", database.line),
        )
    });
    pools.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_may_be_named_relative_to_the_folder_of_the_process() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/7/cwd");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("own.ini"), "[databases]\na = port=1\n").unwrap();
        let mut files = Files::new(root.path().to_owned());
        let configs = of_process(&mut files, 7, &["pgbouncer", "own.ini"]);
        assert_eq!(configs[0].hops, ["/tmp/.s.PGSQL.1"]);
    }

    #[test]
    fn pools_modes_and_what_is_behind_them() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("proc/7/root/etc/pgbouncer");
        std::fs::create_dir_all(&path).unwrap();
        // Debian's file, shortened.
        let text = ";;; database name = connect string\n[databases]\n;foodb =\nshop = dbname=shop\n\
            stock = host=/var/run/postgresql pool_size=5 reserve_pool=2\nfar = host=10.0.0.7 port=5433\n\
            [pgbouncer]\nlogfile = /var/log/pgbouncer.log\nlisten_addr = localhost\nlisten_port = 6432\n\
            unix_socket_dir = /var/run/postgresql\nauth_type = md5\nmax_client_conn = 500\ndefault_pool_size = 10\n\
            max_db_connections = 40\n";
        std::fs::write(path.join("pgbouncer.ini"), text).unwrap();
        let mut files = Files::new(root.path().to_owned());
        let words = ["/usr/sbin/pgbouncer", "/etc/pgbouncer/pgbouncer.ini"];
        let mut configs = of_process(&mut files, 7, &words);
        assert_eq!(configs.len(), 1, "{configs:?}");
        let config = configs.remove(0);
        assert_eq!(config.at, "localhost:6432");
        assert_eq!(
            config.hops,
            ["/var/run/postgresql/.s.PGSQL.5432", "10.0.0.7:5433"]
        );
        let settings: Vec<_> = config
            .settings
            .iter()
            .map(|setting| {
                let line = setting.file.rsplit(':').next().unwrap_or_default();
                (
                    setting.name,
                    setting.of.as_str(),
                    setting.value.to_string(),
                    line,
                )
            })
            .collect();
        let number = |name, of, value: u32, line| (name, of, value.to_string(), line);
        let right = [
            number("default_pool_size", "", 10, "14"),
            number("max_client_conn", "", 500, "13"),
            number("max_db_connections", "", 40, "15"),
            number("pool_size", "stock", 5, "5"),
            number("reserve_pool_size", "stock", 2, "5"),
            number("pool_size", "shop", 10, "4"),
            number("pool_mode", "session", 1, ""),
        ];
        assert_eq!(settings, right);
    }
}
