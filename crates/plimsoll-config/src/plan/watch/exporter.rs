//! Reads another machine that an exporter shows: the URL of its page, and the machine's name.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::agent::is_machine_name;
use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, instance_query};

use super::component;
use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, KeywordTable, NodeKind, word};

/// Default path of the page.
const PATH: &str = "/metrics";
const URL_VALID: &str = "a URL such as http://db1:9100/metrics; https:// is not supported yet";
const SERVER_VALID: &str = "the URL of a Prometheus server beside `instance`, such as http://prometheus:9090; https:// is not supported yet";
const INSTANCE_VALID: &str = "the label `instance` of its series, 1 to 255 letters, digits, `.`, `_`, `-`, `:` or brackets, such as db1:9100";
/// Longest label `instance`, bytes.
const INSTANCE_MAX: usize = 255;
const NAME_VALID: &str =
    "1 to 64 letters, digits, `.`, `_`, `-` or `:`, the first one a letter or a digit, such as db1";

/// Keys of an exporter.
pub(crate) static EXPORTER: KeywordTable = KeywordTable {
    name: "exporter",
    meaning: "A machine of the service on which `node_exporter`, cAdvisor or Telegraf runs already. Every rule about machines is \
              evaluated on it.",
    words: &[
        word!(
            "at",
            Text,
            "The URL of its page, `http://db1:9100/metrics`. The path is `/metrics` where none is written. With `instance`, that of \
             a Prometheus server, `http://prometheus:9090`."
        ),
        word!(
            "instance",
            Text,
            "Of `node-exporter`: the label `instance` of its series on a Prometheus server, such as `db1:9100`. They are queried \
             there, and are as old as the server's last scrape."
        ),
        word!(
            "name",
            Text,
            "Name of the machine in series and findings. Default: the host of the URL or of `instance`; needed for a loopback \
             address, as at the end of a tunnel."
        ),
    ],
};

/// Reads the component: a URL, or a map with the machine's name.
pub(super) fn machine(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<Component> {
    let (at, name, instance) = match node.kind {
        NodeKind::Map(_) => {
            let fields = reader.fields(node, &EXPORTER)?;
            let Some(at) = fields.get("at") else {
                // The missing key may be the misspelled one.
                if !fields.misspells(&["at"]) {
                    reader.report(node, "`at` is missing", format!("at: {URL_VALID}"));
                }
                return None;
            };
            (at, fields.get("name"), fields.get("instance"))
        }
        _ => (node, None, None),
    };
    let text = reader.word(at, kind.valid_addresses())?;
    let page = text.strip_prefix("http://").and_then(component::page);
    let Some(ComponentAddress::Page { host, port, path }) = page else {
        // The text may contain a password.
        let shown = text.rsplit('@').next().unwrap_or_default();
        let valid = instance.map_or(URL_VALID, |_| SERVER_VALID);
        reader.report(at, format!("`{shown}` is not a metrics URL"), valid);
        return None;
    };
    let (shown_host, path) = match instance {
        Some(node) => {
            let instance = given_instance(reader, node, kind)?;
            let host = instance_query::host_of(&instance).to_owned();
            (host, instance_query::path_of(&path, &instance))
        }
        None if path == "/" => (host.clone(), PATH.to_owned()),
        None => (host.clone(), path),
    };
    let name = match name {
        Some(name) => given_name(reader, name)?,
        None => name_of(reader, instance.unwrap_or(at), &shown_host)?,
    };
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

fn given_instance(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<String> {
    if kind != ComponentKind::NodeExporter {
        let message = format!("`instance` is not a key of {}", kind.words()[0]);
        reader.report(
            node,
            message,
            "`instance` beside the `at` of a node-exporter",
        );
        return None;
    }
    let instance = reader.word(node, INSTANCE_VALID)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:[]".contains(&byte);
    let is_right = (1..=INSTANCE_MAX).contains(&instance.len()) && instance.bytes().all(is_plain);
    if !is_right {
        reader.report(node, "not the label of an instance", INSTANCE_VALID);
        return None;
    }
    Some(instance)
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
        // What cAdvisor shows of a machine is not what the others show.
        let shows_containers = component.kind == ComponentKind::Cadvisor;
        if let ComponentAddress::Machine { name, .. } = &component.place
            && !names.insert((shows_containers, name))
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
            (
                "{ at: 'http://prometheus:9090', instance: 'db1:9100' }",
                "db1 node_exporter at http://prometheus:9090/api/v1/query?query=%7Binstance%3D%22db1:9100%22%2C\
                 __name__%3D~%22node_.%2B%22%7D",
            ),
            (
                "{ at: 'http://127.0.0.1/prom/', instance: '[fd00::1]:9100' }",
                "fd00::1 node_exporter at http://127.0.0.1:80/prom/api/v1/query?query=%7Binstance%3D%22%5Bfd00::1%5D:9100%22%2C\
                 __name__%3D~%22node_.%2B%22%7D",
            ),
        ] {
            assert_eq!(machines(text), Ok(vec![right.to_owned()]), "{text}");
        }
        let two = machines("[http://db1:9100, http://db2:9100]").unwrap();
        assert_eq!(two.len(), 2);
    }

    #[test]
    fn cadvisor_may_show_the_machine_of_another_exporter() {
        let read = |text: &str| read_watch(text, &TestSurroundings::default());
        let both = "node-exporter: http://db1:9100\ncadvisor: http://db1:8080\n";
        assert_eq!(read(both).unwrap().components.len(), 2);
        for (text, expected) in [
            (
                "cadvisor: [http://db1:8080, http://db1:8081]\n",
                "two machines have the name `db1`",
            ),
            (
                "node-exporter: http://db1:9100\ntelegraf: http://db1:9273\n",
                "two machines have the name `db1`",
            ),
            (
                "cadvisor: { at: 'http://prometheus:9090', instance: 'db1:8080' }\n",
                "`instance` is not a key of cadvisor",
            ),
        ] {
            let errors = read(text).unwrap_err().to_string();
            assert!(errors.contains(expected), "{errors}");
        }
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
            (
                "{ at: 'http://prometheus:9090', instance: 'a\"}' }",
                "not the label of an instance",
            ),
            (
                "{ at: 'prometheus:9090', instance: db1 }",
                "the URL of a Prometheus server",
            ),
            (
                "{ at: 'http://prometheus:9090', instance: 'localhost:9100' }",
                "`name` is missing: localhost",
            ),
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
