//! The settings of PHP-FPM's pools, and those of `OPcache`, for advice.

use super::discover::{listener_of, place_of, pools_of, settings_of};
use super::parse::PhpFpmPool;
use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, bytes, switch};
use crate::collectors::discovery::{text_for, texts_for};
use crate::files::Files;

/// The first version that has `OPcache` built in.
const BUILT_IN_SINCE: (u32, u32) = (8, 5);

/// Settings of the pools of a PHP-FPM, by the configuration that its master names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let mut named = words.iter();
    let main = named.find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    let main = main.filter(|_| words.get(1) == Some(&"master"));
    let Some((main, text)) = main.and_then(|main| Some((main, text_for(files, pid, main)?))) else {
        return Vec::new();
    };
    let comm = files.read(&format!("proc/{pid}/comm")).unwrap_or_default();
    let comm = comm.trim_end().to_owned();
    let version = version_of(&comm);
    let ini = ini_files(files, pid, main, &comm);
    let cache = opcache(&ini, version);
    let pools = pools_of(files, pid, main, &text);
    let pools = pools.iter().filter_map(|(file, pool)| {
        let listener = listener_of(pool, "listen");
        let at = place_of(pool).or_else(|| listener.clone())?;
        Some(ComponentConfig {
            at: at.to_string(),
            listens: listener.iter().map(ToString::to_string).collect(),
            settings: settings_of(pool, file)
                .into_iter()
                .chain(manager(pool, file))
                .chain(with_overrides(&cache, pool, file))
                .collect(),
            ..ComponentConfig::default()
        })
    });
    pools.collect()
}

/// How its processes are managed: `static`, `dynamic` or `ondemand`.
fn manager(pool: &PhpFpmPool, file: &str) -> Option<FileSetting> {
    let written = pool.words.get("pm")?;
    let place = format!("{file}:{}", written.line);
    Some(FileSetting::word("pm", &written.value, place))
}

/// The version in the name of a process, as Debian has it: `php-fpm8.2`.
fn version_of(comm: &str) -> Option<(u32, u32)> {
    let (major, minor) = comm.strip_prefix("php-fpm")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The ini files of PHP beside the configuration of PHP-FPM: of Debian, of Red Hat, and of the image of PHP. Where none is
/// there, those that Debian's program with this name reads, wherever its configuration is.
pub(crate) fn ini_files(
    files: &mut Files,
    pid: u32,
    main: &str,
    comm: &str,
) -> Vec<(String, String)> {
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    let read = ini_files_in(files, pid, folder);
    match version_of(comm) {
        Some((major, minor)) if read.is_empty() => {
            ini_files_in(files, pid, &format!("/etc/php/{major}.{minor}/fpm"))
        }
        _ => read,
    }
}

/// Folders with ini files of PHP as a module of Apache, where none is named by its version: Red Hat, and the image of PHP.
const OF_MODULES: [&str; 2] = ["/etc", "/usr/local/etc/php"];

/// Whether a module of Apache is PHP: `php_module`, before PHP 8 `php7_module`.
pub(crate) fn is_php_module(module: &str) -> bool {
    let name = module.strip_suffix("_module");
    let version = name.and_then(|name| name.strip_prefix("php"));
    version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The version in the name of PHP's library for Apache, as Debian has it: `libphp8.2.so`.
fn version_of_module(library: &str) -> Option<(u32, u32)> {
    let name = library.rsplit('/').next()?;
    let version = name.strip_prefix("libphp")?.strip_suffix(".so")?;
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The ini files that PHP reads as a module of Apache, by the name of its library.
pub(crate) fn ini_files_of_module(
    files: &mut Files,
    pid: u32,
    library: &str,
) -> Vec<(String, String)> {
    let versioned = version_of_module(library)
        .map(|(major, minor)| format!("/etc/php/{major}.{minor}/apache2"));
    let folders = versioned.into_iter().chain(OF_MODULES.map(str::to_owned));
    let mut read = folders.map(|folder| ini_files_in(files, pid, &folder));
    read.find(|read| !read.is_empty()).unwrap_or_default()
}

/// Whether these ini files of PHP-FPM, a process with this name, load no `OPcache`.
pub(crate) fn lacks_opcache(ini: &[(String, String)], comm: &str) -> bool {
    is_missing(&opcache(ini, version_of(comm)))
}

/// The same of a module of Apache.
pub(crate) fn module_lacks_opcache(ini: &[(String, String)], library: &str) -> bool {
    is_missing(&opcache(ini, version_of_module(library)))
}

fn is_missing(settings: &[FileSetting]) -> bool {
    let mut own = settings.iter();
    own.any(|setting| setting.name == "opcache" && setting.value == 0.0)
}

/// The settings of `OPcache` that the ini files of such a module contain.
pub(crate) fn opcache_of_module(files: &mut Files, pid: u32, library: &str) -> Vec<FileSetting> {
    let ini = ini_files_of_module(files, pid, library);
    opcache(&ini, version_of_module(library))
}

fn ini_files_in(files: &mut Files, pid: u32, folder: &str) -> Vec<(String, String)> {
    let mut read = Vec::new();
    for own in ["php.ini", "php/php.ini"] {
        let path = format!("{folder}/{own}");
        read.extend(text_for(files, pid, &path).map(|text| (path, text)));
    }
    for more in ["conf.d", "php.d", "php/conf.d"] {
        read.extend(texts_for(files, pid, &format!("{folder}/{more}/*.ini")));
    }
    read
}

/// The same with what a pool sets for its processes: there the cache can be switched off, but not on.
fn with_overrides(cache: &[FileSetting], pool: &PhpFpmPool, file: &str) -> Vec<FileSetting> {
    let mut settings = cache.to_vec();
    for name in ["opcache.enable", "opcache.validate_timestamps"] {
        let written = OVERRIDES.into_iter().find_map(|word| {
            let written = pool.words.get(&format!("{word}[{name}]"))?;
            Some((switch(&written.value)?, written.line))
        });
        let Some((value, line)) = written else {
            continue;
        };
        if value == 0.0 || name != "opcache.enable" {
            settings.retain(|setting| setting.name != name);
            settings.push(FileSetting::number(name, value, format!("{file}:{line}")));
        }
    }
    settings
}

/// Words by which a pool sets what stands in ini files otherwise; the first one applies.
pub(crate) const OVERRIDES: [&str; 4] =
    ["php_admin_value", "php_admin_flag", "php_value", "php_flag"];

/// The settings of `OPcache` that these files contain; the last of a name applies.
fn opcache(ini: &[(String, String)], version: Option<(u32, u32)>) -> Vec<FileSetting> {
    let mut settings: Vec<FileSetting> = Vec::new();
    let mut loaded = None;
    for (file, text) in ini {
        for (index, line) in text.lines().enumerate() {
            let line = line.split(';').next().unwrap_or_default();
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            let place = format!("{file}:{}", index + 1);
            if name == "zend_extension" && value.contains("opcache") {
                loaded = Some(place);
                continue;
            }
            let known = KNOWN.into_iter().find(|known| known.0 == name);
            let setting =
                known.and_then(|(name, read)| Some(FileSetting::number(name, read(value)?, place)));
            if let Some(setting) = setting {
                settings.retain(|before| before.name != setting.name);
                settings.push(setting);
            }
        }
    }
    let may_lack = version.is_some_and(|version| version < BUILT_IN_SINCE) && !ini.is_empty();
    if let Some(place) = loaded {
        settings.push(FileSetting::number("opcache", 1.0, place));
    } else if may_lack {
        settings.push(FileSetting::number("opcache", 0.0, ""));
    }
    settings
}

/// How the value of a setting is read.
type ReadValue = fn(&str) -> Option<f64>;

/// The settings of `OPcache` that are read.
const KNOWN: [(&str, ReadValue); 5] = [
    ("opcache.enable", switch),
    ("opcache.memory_consumption", |text| text.parse().ok()),
    ("opcache.max_accelerated_files", |text| text.parse().ok()),
    ("opcache.validate_timestamps", switch),
    ("opcache.jit_buffer_size", bytes),
];

#[cfg(test)]
mod tests {
    use super::super::parse::configuration;
    use super::*;

    #[test]
    fn a_pool_switches_the_cache_off_for_itself() {
        let pool = |text: &str| configuration(&format!("[www]\n{text}\n")).0.remove(0);
        let cache = [FileSetting::number("opcache.enable", 1.0, "/php.ini:1")];
        let off = with_overrides(&cache, &pool("php_admin_value[opcache.enable] = 0"), "/p");
        assert_eq!(off, [FileSetting::number("opcache.enable", 0.0, "/p:2")]);
        let on = with_overrides(&cache, &pool("php_flag[opcache.enable] = on"), "/p");
        assert_eq!(on, cache);
        let stale = pool("php_admin_flag[opcache.validate_timestamps] = off");
        let stale = with_overrides(&[], &stale, "/p");
        let right = FileSetting::number("opcache.validate_timestamps", 0.0, "/p:2");
        assert_eq!(stale, [right]);
    }

    #[test]
    fn php_is_a_module_of_apache() {
        for (module, is_php) in [
            ("php_module", true),
            ("php7_module", true),
            ("phpmyadmin_module", false),
            ("proxy_module", false),
            ("php", false),
        ] {
            assert_eq!(is_php_module(module), is_php, "{module}");
        }
        let library = "/usr/lib/apache2/modules/libphp8.2.so";
        assert_eq!(version_of_module(library), Some((8, 2)));
        assert_eq!(version_of_module("modules/libphp.so"), None);
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("etc/php.ini", "opcache.enable = 0\n");
        let mut files = Files::new(root.path().to_owned());
        let paths = |files: &mut Files| -> Vec<String> {
            let read = ini_files_of_module(files, 7, library).into_iter();
            read.map(|(path, _)| path).collect()
        };
        assert_eq!(paths(&mut files), ["/etc/php.ini"]);
        put("etc/php/8.2/apache2/php.ini", "[PHP]\n");
        put(
            "etc/php/8.2/apache2/conf.d/10-opcache.ini",
            "zend_extension=opcache.so\nopcache.enable=off\n",
        );
        let right = [
            "/etc/php/8.2/apache2/php.ini",
            "/etc/php/8.2/apache2/conf.d/10-opcache.ini",
        ];
        assert_eq!(paths(&mut files), right);
        let own = opcache_of_module(&mut files, 7, library);
        let place = format!("{}:2", right[1]);
        assert_eq!(own[0], FileSetting::number("opcache.enable", 0.0, place));
    }

    #[test]
    fn opcache_of_ini_files() {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let ini = [
            file(
                "/php.ini",
                "[opcache]\n;opcache.enable=1\nopcache.enable=0 ; why\nopcache.jit_buffer_size = 64M\n",
            ),
            file(
                "/conf.d/10-opcache.ini",
                "zend_extension=opcache.so\nopcache.enable=On\n",
            ),
        ];
        let right = [
            FileSetting::number("opcache.jit_buffer_size", 67_108_864.0, "/php.ini:4"),
            FileSetting::number("opcache.enable", 1.0, "/conf.d/10-opcache.ini:2"),
            FileSetting::number("opcache", 1.0, "/conf.d/10-opcache.ini:1"),
        ];
        assert_eq!(opcache(&ini, Some((8, 2))), right);
        let missing = [FileSetting::number("opcache", 0.0, "")];
        assert_eq!(
            opcache(&[file("/php.ini", "a=b")], version_of("php-fpm8.2")),
            missing
        );
        // It is not known whether it is built in, or nothing was read.
        assert_eq!(
            opcache(&[file("/php.ini", "a=b")], version_of("php-fpm")),
            []
        );
        assert_eq!(
            opcache(&[file("/php.ini", "a=b")], version_of("php-fpm8.5")),
            []
        );
        assert_eq!(opcache(&[], Some((8, 2))), []);
    }
}
