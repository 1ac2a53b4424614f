//! Discovers Apache.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::parse::configuration;
use crate::collectors::discovery::{DiscoveredComponent, address_of, option, text_for, texts_for};
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;

/// Apache, by its configuration and what that includes.
pub(crate) fn find(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    auto: bool,
) -> Option<DiscoveredComponent> {
    let debian = ("/etc/apache2", "/etc/apache2/apache2.conf");
    let own = ("/etc/httpd", "conf/httpd.conf");
    let (root, main) = if words.first().is_some_and(|word| word.ends_with("httpd")) {
        own
    } else {
        debian
    };
    let root = option(words, "-d").unwrap_or(root);
    let whole = |path: &str| {
        if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{root}/{path}")
        }
    };
    let main = whole(option(words, "-f").unwrap_or(main));
    let Some(text) = text_for(files, pid, &main) else {
        if auto {
            files.announce(
                &format!("apache {main}"),
                &format!(
                    "Apache (pid {pid}): its configuration {main} cannot be read; run as root, or name its page by `watch: {{ \
                     apache: http://127.0.0.1/server-status }}`"
                ),
            );
        }
        return None;
    };
    let read = configuration(&main, &text, &mut |pattern| {
        texts_for(files, pid, &whole(pattern))
    });
    let Some(path) = read.pages.first() else {
        if auto {
            files.announce(
                &format!("apache without status {main}"),
                &format!("Apache (pid {pid}) has no status page: `a2enmod status && systemctl reload apache2`"),
            );
        }
        return None;
    };
    let listen = read.listen.first().map_or("80", String::as_str);
    let listen = if listen.contains(':') {
        listen.to_owned()
    } else {
        format!("127.0.0.1:{listen}")
    };
    let ComponentAddress::Tcp { host, port } = address_of(&listen)? else {
        return None;
    };
    let settings = read.workers_max.iter().filter_map(|written| {
        Some(FileSetting {
            name: "MaxRequestWorkers",
            of: String::new(),
            value: written.value.parse().ok()?,
            file: format!("{}:{}", written.file, written.line),
        })
    });
    let known = ComponentMetadata {
        settings: settings.collect(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    let path = path.clone();
    Some(DiscoveredComponent::new(
        ComponentKind::Apache,
        ComponentAddress::Page { host, port, path },
        known,
        main,
    ))
}
