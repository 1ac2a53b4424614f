//! Discovers Apache.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use super::parse::{ApacheConfig, configuration, server_root};
use crate::collectors::ComponentMetadata;
use crate::collectors::discovery::{DiscoveredComponent, address_of, option, text_for, texts_for};
use crate::files::Files;

/// Apache, by its configuration and what that includes.
pub(crate) fn find(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    auto: bool,
) -> Option<DiscoveredComponent> {
    let (main, read) = config_of(files, pid, words);
    let Some(read) = read else {
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
    let Some(path) = read.pages.first() else {
        if auto {
            files.announce(
                &format!("apache without status {main}"),
                &format!("Apache (pid {pid}) has no status page: `a2enmod status && systemctl reload apache2`"),
            );
        }
        return None;
    };
    let place = place_of(&read, path)?;
    let known = ComponentMetadata {
        settings: read.settings(),
        pid: Some(pid),
        ..ComponentMetadata::default()
    };
    Some(DiscoveredComponent::new(
        ComponentKind::Apache,
        place,
        known,
        main,
    ))
}

/// The file that its command line names, or its usual one, and the configuration that begins there if it can be read.
pub(super) fn config_of(
    files: &mut Files,
    pid: u32,
    words: &[&str],
) -> (String, Option<ApacheConfig>) {
    let debian = ("/etc/apache2", "/etc/apache2/apache2.conf");
    let own = ("/etc/httpd", "conf/httpd.conf");
    let (root, main) = if words.first().is_some_and(|word| word.ends_with("httpd")) {
        own
    } else {
        debian
    };
    let root = option(words, "-d").unwrap_or(root);
    let main = below(root, option(words, "-f").unwrap_or(main));
    let text = text_for(files, pid, &main);
    let read = text.map(|text| {
        // Its own `ServerRoot` applies to what it includes.
        let root = server_root(&text).unwrap_or(root);
        configuration(&main, &text, &mut |pattern| {
            texts_for(files, pid, &below(root, pattern))
        })
    });
    (main, read)
}

/// A path that may be relative to the root of the server.
fn below(root: &str, path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{root}/{path}")
    }
}

/// The address of a status page at its first listener.
pub(super) fn place_of(read: &ApacheConfig, path: &str) -> Option<ComponentAddress> {
    let listen = read.listen.first().map_or("80", String::as_str);
    let listen = if listen.contains(':') {
        listen.to_owned()
    } else {
        format!("127.0.0.1:{listen}")
    };
    let ComponentAddress::Tcp { host, port } = address_of(&listen)? else {
        return None;
    };
    let path = path.to_owned();
    Some(ComponentAddress::Page { host, port, path })
}
