//! nginx' settings, for advice.

use super::configuration;
use super::discover::{place_of, settings_of};
use super::tree::{self, Directive};
use crate::collectors::FileSetting;
use crate::collectors::configuration::ComponentConfig;
use crate::collectors::discovery::{option, text_for, texts_for};
use crate::files::Files;

/// Settings of an nginx, by the configuration that its command line names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let main = option(words, "-c").unwrap_or("/etc/nginx/nginx.conf");
    let Some(text) = text_for(files, pid, main) else {
        return Vec::new();
    };
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut included = |pattern: &str| {
        let whole = if pattern.starts_with('/') {
            pattern.to_owned()
        } else {
            format!("{folder}/{pattern}")
        };
        texts_for(files, pid, &whole)
    };
    let read = configuration::read(main, &text, &mut included);
    let tree = tree::read(main, &text, &mut included);
    let mut settings = settings_of(files, pid, &read);
    settings.extend(delays(&tree));
    let page = read.pages.iter().find_map(place_of);
    vec![ComponentConfig {
        at: page.map_or_else(|| main.to_owned(), |page| page.to_string()),
        settings,
        ..ComponentConfig::default()
    }]
}

/// Where small packets are held back: `tcp_nodelay off`.
fn delays(block: &[Directive]) -> Option<FileSetting> {
    block.iter().find_map(|directive| {
        if directive.name() == "tcp_nodelay" && directive.value() == "off" {
            let place = directive.place.as_str();
            Some(FileSetting::number("tcp_nodelay", 0.0, place))
        } else {
            delays(&directive.inner)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packets_that_are_held_back() {
        let read = |text: &str| delays(&tree::read("/n", text, &mut |_| Vec::new()));
        let text = "http { tcp_nodelay on;\n server {\n tcp_nodelay off; } }";
        assert_eq!(
            read(text),
            Some(FileSetting::number("tcp_nodelay", 0.0, "/n:3"))
        );
        assert_eq!(read("http { tcp_nodelay on; }"), None);
    }
}
