//! Reads another machine that an exporter shows: the URL of its page, and the machine's name.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::agent::is_machine_name;
use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};

use super::component;
use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, KeywordTable, NodeKind, word};

/// Default path of the page.
const PATH: &str = "/metrics";
const URL_VALID: &str = "a URL such as http://db1:9100/metrics; https:// is not supported yet";
const NAME_VALID: &str =
    "1 to 64 letters, digits, `.`, `_`, `-` or `:`, the first one a letter or a digit, such as db1";

/// Keys of an exporter.
pub(crate) static EXPORTER: KeywordTable = KeywordTable {
    name: "exporter",
    meaning: "A machine of the service on which `node_exporter` runs already. Every rule about machines is evaluated on it.",
    words: &[
        word!(
            "at",
            Text,
            "The URL of its page, `http://db1:9100/metrics`. The path is `/metrics` where none is written."
        ),
        word!(
            "name",
            Text,
            "Name of the machine in series and findings. Default: the host of the URL; needed for a loopback address, as at the \
             end of a tunnel."
        ),
    ],
};

/// Reads the component: a URL, or a map with the machine's name.
pub(super) fn machine(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<Component> {
    let (at, name) = match node.kind {
        NodeKind::Map(_) => {
            let fields = reader.fields(node, &EXPORTER)?;
            let Some(at) = fields.get("at") else {
                // The missing key may be the misspelled one.
                if !fields.misspells(&["at"]) {
                    reader.report(node, "`at` is missing", format!("at: {URL_VALID}"));
                }
                return None;
            };
            (at, fields.get("name"))
        }
        _ => (node, None),
    };
    let text = reader.word(at, kind.valid_addresses())?;
    let page = text.strip_prefix("http://").and_then(component::page);
    let Some(ComponentAddress::Page { host, port, path }) = page else {
        // The text may contain a password.
        let shown = text.rsplit('@').next().unwrap_or_default();
        reader.report(at, format!("`{shown}` is not a metrics URL"), URL_VALID);
        return None;
    };
    let name = match name {
        Some(name) => given_name(reader, name)?,
        None => name_of(reader, at, &host)?,
    };
    let path = if path == "/" { PATH.to_owned() } else { path };
    let place = ComponentAddress::Machine {
        host,
        port,
        path,
        name,
    };
    Some(Component {
        kind,
        place,
        login: None,
    })
}

fn given_name(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let name = reader.word(node, NAME_VALID)?;
    if !is_machine_name(&name) {
        let message = format!("`{name}` is not the name of a machine");
        reader.report(node, message, NAME_VALID);
        return None;
    }
    Some(name)
}

/// The name of a machine that is called as its host.
fn name_of(reader: &DocumentReader<'_>, at: &DocumentNode, host: &str) -> Option<String> {
    let valid = format!("{{ at: …, name: … }}, with a name of {NAME_VALID}");
    let address = host.parse::<IpAddr>();
    if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        let message = format!(
            "`name` is missing: {host} is this machine, which is always read, unless a tunnel leads to another one"
        );
        reader.report(at, message, valid);
        return None;
    }
    if !is_machine_name(host) {
        let message = format!("`name` is missing: `{host}` cannot name a machine");
        reader.report(at, message, valid);
        return None;
    }
    Some(host.to_owned())
}

/// Reports machines that could not be told apart.
pub(super) fn check(reader: &DocumentReader<'_>, node: &DocumentNode, components: &[Component]) {
    let mut names = BTreeSet::new();
    for component in components {
        if let ComponentAddress::Machine { name, .. } = &component.place
            && !names.insert(name)
        {
            let message = format!("two machines have the name `{name}`");
            reader.report(node, message, "another `name` for each of them");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_watch;
    use super::*;
    use crate::document::TestSurroundings;

    /// The machines of a plan, or its errors.
    fn machines(text: &str) -> Result<Vec<String>, String> {
        let text = format!("node-exporter: {text}\n");
        let watch = read_watch(&text, &TestSurroundings::default());
        let components = watch.map_err(|errors| errors.to_string())?.components;
        let shown = components
            .into_iter()
            .filter_map(|component| match component.place.clone() {
                ComponentAddress::Machine { name, .. } => Some(format!("{name} {component}")),
                _ => None,
            });
        Ok(shown.collect())
    }

    #[test]
    fn a_machine_is_called_as_its_host_or_as_the_plan_has_it() {
        for (text, right) in [
            (
                "http://db1:9100/metrics",
                "db1 node_exporter at http://db1:9100/metrics",
            ),
            (
                "http://10.0.0.5:9100",
                "10.0.0.5 node_exporter at http://10.0.0.5:9100/metrics",
            ),
            (
                "'http://[fd00::1]:9100/m?collect=cpu'",
                "fd00::1 node_exporter at http://[fd00::1]:9100/m?collect=cpu",
            ),
            (
                "{ at: 'http://127.0.0.1:9100/', name: db1 }",
                "db1 node_exporter at http://127.0.0.1:9100/metrics",
            ),
        ] {
            assert_eq!(machines(text), Ok(vec![right.to_owned()]), "{text}");
        }
        let two = machines("[http://db1:9100, http://db2:9100]").unwrap();
        assert_eq!(two.len(), 2);
    }

    #[test]
    fn what_names_no_machine_is_refused_with_the_remedy() {
        for (text, expected) in [
            ("db1:9100", "`db1:9100` is not a metrics URL"),
            ("https://db1:9100", "https:// is not supported yet"),
            ("http://a:secret@/", "not a metrics URL"),
            ("http://127.0.0.1:9100", "unless a tunnel leads to another"),
            ("http://localhost:9100", "`name` is missing: localhost"),
            ("'http://[::1]:9100'", "`name` is missing: ::1"),
            ("{ name: db1 }", "`at` is missing"),
            ("{ at: http://db1:9100, nam: x }", "name"),
            (
                "{ at: http://db1:9100, name: 'a b' }",
                "`a b` is not the name",
            ),
            (
                "[http://db1:9100, http://db1:9101]",
                "two machines have the name `db1`",
            ),
        ] {
            let errors = machines(text).unwrap_err();
            assert!(errors.contains(expected), "{text}: {errors}");
            assert!(!errors.contains("secret"), "{errors}");
        }
    }
}
