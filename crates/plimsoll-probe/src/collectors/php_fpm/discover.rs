//! Discovers the pools of PHP-FPM.

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};

use super::parse::{PhpFpmPool, configuration};
use crate::collectors::discovery::{
    DiscoveredComponent, ExaminedProcess, address_of, text_for, texts_for,
};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;

/// Pools of PHP-FPM, by the configuration that its master names.
pub(super) fn find(process: &mut ExaminedProcess<'_>) {
    let (pid, words, auto) = (process.pid, process.words, process.auto);
    let (files, found) = (&mut *process.files, &mut *process.found);
    if words.get(1) != Some(&"master") {
        return;
    }
    let main = words
        .iter()
        .find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    let Some(main) = main else { return };
    let Some(text) = text_for(files, pid, main) else {
        files.announce(
            &format!("php-fpm {main}"),
            &format!(
                "PHP-FPM (pid {pid}): its configuration {main} cannot be read; run as root, or name its page by `watch: {{ \
                 php-fpm: 'unix:/run/php/php-fpm.sock:/status' }}`"
            ),
        );
        return;
    };
    for (file, pool) in pools_of(files, pid, main, &text) {
        found.extend(slowlog_of(files, pid, &pool, &file));
        if auto && place_of(&pool).is_none() {
            announce_missing_status_page(files, pid, &pool, &file);
        }
        found.extend(pool_of(pid, &pool, file));
    }
}

/// The pools of a configuration, each with the file that describes it.
pub(super) fn pools_of(
    files: &mut Files,
    pid: u32,
    main: &str,
    text: &str,
) -> Vec<(String, PhpFpmPool)> {
    let (pools, patterns) = configuration(text);
    let own = pools.into_iter().map(|pool| (main.to_owned(), pool));
    let mut pools: Vec<(String, PhpFpmPool)> = own.collect();
    for pattern in patterns {
        for (file, text) in texts_for(files, pid, &pattern) {
            let more = configuration(&text).0.into_iter();
            pools.extend(more.map(|pool| (file.clone(), pool)));
        }
    }
    pools
}

fn announce_missing_status_page(files: &mut Files, pid: u32, pool: &PhpFpmPool, file: &str) {
    files.announce(
        &format!("php-fpm without page {file}"),
        &format!(
            "PHP-FPM's pool {} (pid {pid}) has no status page, so its processes are sampled; with `pm.status_path = \
             /status` and `pm.status_listen = 127.0.0.1:9001` in {file} it would also report how often \
             `pm.max_children` was reached",
            pool.name
        ),
    );
}

/// A pool: by its status page, or by its processes where it has none.
fn pool_of(pid: u32, pool: &PhpFpmPool, file: String) -> Option<DiscoveredComponent> {
    let page = place_of(pool);
    let has_page = page.is_some();
    Some(DiscoveredComponent {
        component: Component {
            kind: ComponentKind::PhpFpm,
            place: page.or_else(|| listener_of(pool, "listen"))?,
            login: None,
        },
        known: ComponentMetadata {
            settings: settings_of(pool, &file),
            pid: Some(pid),
            pool: (!has_page).then(|| pool.name.clone()),
            ..ComponentMetadata::default()
        },
        source: file,
    })
}

/// The address of a pool's status page from this machine.
pub(super) fn place_of(pool: &PhpFpmPool) -> Option<ComponentAddress> {
    let path = directive(pool, "pm.status_path").filter(|path| path.starts_with('/'))?;
    let apart = pool.words.contains_key("pm.status_listen");
    let word = if apart { "pm.status_listen" } else { "listen" };
    match listener_of(pool, word)? {
        ComponentAddress::Socket(socket) => Some(ComponentAddress::SocketPage { socket, path }),
        ComponentAddress::Tcp { host, port } => Some(ComponentAddress::Page { host, port, path }),
        _ => None,
    }
}

/// The listen address of a pool on this machine, from one of its settings.
pub(super) fn listener_of(pool: &PhpFpmPool, word: &str) -> Option<ComponentAddress> {
    let listen = directive(pool, word)?;
    if listen.starts_with('/') {
        Some(ComponentAddress::Socket(listen.into()))
    } else if listen.contains(':') {
        address_of(&listen)
    } else {
        address_of(&format!("127.0.0.1:{listen}"))
    }
}

/// The value of a setting of a pool.
fn directive(pool: &PhpFpmPool, word: &str) -> Option<String> {
    Some(pool.words.get(word)?.value.replace("$pool", &pool.name))
}

/// The slow log, where the pool writes one.
fn slowlog_of(
    files: &mut Files,
    pid: u32,
    pool: &PhpFpmPool,
    file: &str,
) -> Option<DiscoveredComponent> {
    let path = directive(pool, "slowlog").filter(|path| path.starts_with('/'))?;
    let is_kept =
        directive(pool, "request_slowlog_timeout").is_some_and(|after| !after.starts_with('0'));
    (is_kept && files.is_file_of(pid, &path)).then(|| DiscoveredComponent {
        component: Component {
            kind: ComponentKind::PhpFpmSlowlog,
            place: ComponentAddress::File(path.into()),
            login: None,
        },
        known: ComponentMetadata::default(),
        source: file.to_owned(),
    })
}

pub(super) fn settings_of(pool: &PhpFpmPool, file: &str) -> Vec<FileSetting> {
    let names = ["pm.max_children", "pm.max_requests", "listen.backlog"];
    let settings = names.into_iter().filter_map(|name| {
        let written = pool.words.get(name)?;
        Some(FileSetting {
            name,
            of: String::new(),
            value: written.value.parse().ok()?,
            file: format!("{file}:{}", written.line),
        })
    });
    settings.collect()
}
