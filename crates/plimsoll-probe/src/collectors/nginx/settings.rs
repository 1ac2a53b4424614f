//! nginx' settings, for advice.

use super::configuration;
use super::discover::{place_of, settings_of};
use super::tree::{Directive, NginxTree, main_file};
use crate::collectors::FileSetting;
use crate::collectors::configuration::ComponentConfig;
use crate::files::Files;

/// Settings of an nginx, by the configuration that its command line names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let Some(tree) = NginxTree::of_process(files, pid, words) else {
        return Vec::new();
    };
    let read = configuration::read(&tree.directives);
    let mut settings = settings_of(files, pid, &read);
    settings.extend(delays(&tree.directives));
    let page = read.pages.iter().find_map(place_of);
    vec![ComponentConfig {
        at: page.map_or_else(|| main_file(words).to_owned(), |page| page.to_string()),
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
        let read = |text: &str| {
            let tree = NginxTree::read("/n", text.to_owned(), &mut |_| Vec::new());
            delays(&tree.directives)
        };
        let text = "http { tcp_nodelay on;\n server {\n tcp_nodelay off; } }";
        assert_eq!(
            read(text),
            Some(FileSetting::number("tcp_nodelay", 0.0, "/n:3"))
        );
        assert_eq!(read("http { tcp_nodelay on; }"), None);
    }
}
