//! The connectors of Tomcat, in its `server.xml`.

use std::collections::BTreeMap;

use crate::collectors::FileSetting;

/// Elements of a file that are read at most.
const ELEMENTS_MAX: usize = 64;
/// Tomcat's own values: threads, connections that wait, and connections of its NIO connectors.
pub(super) const THREADS: f64 = 200.0;
pub(super) const ACCEPT_COUNT: f64 = 100.0;
pub(super) const CONNECTIONS: f64 = 8192.0;

/// Attributes of an element: values, and their lines.
type Attributes<'t> = BTreeMap<&'t str, (&'t str, usize)>;

/// A connector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TomcatConnector {
    /// Where it listens.
    pub(super) listen: String,
    /// Its settings, each of its port.
    pub(super) settings: Vec<FileSetting>,
}

/// The connectors of a file; `property` gives the value of a system property.
pub(super) fn connectors(
    text: &str,
    file: &str,
    property: &dyn Fn(&str) -> Option<String>,
) -> Vec<TomcatConnector> {
    let text = without_comments(text);
    let executors = elements(&text, "Executor");
    let connectors = elements(&text, "Connector");
    let found = connectors.iter();
    let found = found.filter_map(|own| connector(own, &executors, file, property));
    found.collect()
}

fn connector(
    own: &Attributes<'_>,
    executors: &[Attributes<'_>],
    file: &str,
    property: &dyn Fn(&str) -> Option<String>,
) -> Option<TomcatConnector> {
    let value = |from: &Attributes<'_>, name: &str| {
        let (written, line) = *from.get(name)?;
        Some((resolved(written, property)?, line))
    };
    let number = |from: &Attributes<'_>, name: &'static str, default: f64| {
        if !from.contains_key(name) {
            return Some(FileSetting::number(name, default, ""));
        }
        let (written, line) = value(from, name)?;
        let number: i32 = written.parse().ok()?;
        let place = format!("{file}:{line}");
        Some(FileSetting::number(name, f64::from(number), place))
    };
    let (port, _) = value(own, "port")?;
    // With an executor its threads count.
    let named = own.get("executor").map(|found| found.0);
    let executor = named.and_then(|named| {
        let mut executors = executors.iter();
        executors.find(|known| known.get("name").is_some_and(|name| name.0 == named))
    });
    let threads = executor.map_or_else(
        || number(own, "maxThreads", THREADS),
        |executor| number(executor, "maxThreads", THREADS),
    );
    let settings = [
        threads,
        number(own, "acceptCount", ACCEPT_COUNT),
        // Below 0 it is unlimited.
        number(own, "maxConnections", CONNECTIONS).filter(|found| found.value >= 0.0),
    ];
    let settings = settings.into_iter().flatten().map(|setting| FileSetting {
        of: port.clone(),
        ..setting
    });
    let settings = settings.collect();
    let address = value(own, "address").map_or_else(|| "*".to_owned(), |found| found.0);
    Some(TomcatConnector {
        listen: format!("{address}:{port}"),
        settings,
    })
}

/// A value with the system property that it may be: `${shop.port}`, or `${shop.port:-8080}`.
fn resolved(value: &str, property: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let Some(inside) = value.strip_prefix("${") else {
        return Some(value.to_owned());
    };
    let inside = inside.strip_suffix('}')?;
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (inside, None),
    };
    property(name).or(default)
}

/// A text without its comments, and with all of its lines.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        let (comment, after) = after.split_once("-->").unwrap_or((after, ""));
        kept.extend(comment.chars().filter(|sign| *sign == '\n'));
        rest = after;
    }
    kept.push_str(rest);
    kept
}

/// The elements of a name.
fn elements<'t>(text: &'t str, name: &str) -> Vec<Attributes<'t>> {
    let begin = format!("<{name}");
    let found = text.match_indices(&begin);
    let found = found.filter_map(|(at, _)| {
        let from = at + begin.len();
        let is_whole = text[from..].starts_with(char::is_whitespace);
        is_whole.then(|| attributes(text, from))
    });
    found.take(ELEMENTS_MAX).collect()
}

/// The attributes from a place of an element on.
fn attributes(text: &str, from: usize) -> Attributes<'_> {
    let mut all = Attributes::new();
    let mut rest = &text[from..];
    while let Some((key, after)) = rest.split_once('=') {
        if key.contains(['<', '>']) {
            break;
        }
        let after = after.trim_start();
        let Some(quote) = after.chars().next().filter(|sign| "\"'".contains(*sign)) else {
            break;
        };
        let Some((value, behind)) = after[1..].split_once(quote) else {
            break;
        };
        let line = text[..text.len() - behind.len()].matches('\n').count() + 1;
        all.insert(key.trim(), (value, line));
        rest = behind;
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tomcat's own file, shortened, with a connector more.
    const SERVER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<Server port="8005" shutdown="SHUTDOWN">
  <Service name="Catalina">
    <!--
    <Executor name="tomcatThreadPool" namePrefix="catalina-exec-"
        maxThreads="150" minSpareThreads="4"/>
    -->
    <Executor name="shopPool" maxThreads='60'/>
    <Connector port="8080" protocol="HTTP/1.1"
               connectionTimeout="20000"
               redirectPort="8443"
               maxThreads="50"
               acceptCount = "20"
               maxParameterCount="1000"
               />
    <Connector executor="shopPool" port="${shop.port}" address="127.0.0.1" maxThreads="900"
               maxConnections="-1" />
    <Connector port="${unknown}" maxThreads="1" />
    <Engine name="Catalina" defaultHost="localhost">
    </Engine>
  </Service>
</Server>
"#;

    #[test]
    fn connectors_with_their_executors_and_properties() {
        let property = |name: &str| (name == "shop.port").then(|| "9000".to_owned());
        let found = connectors(SERVER, "/t/conf/server.xml", &property);
        let shown: Vec<_> = found
            .iter()
            .map(|connector| {
                let settings = connector.settings.iter();
                let settings = settings.map(|own| {
                    let line = own.file.rsplit(':').next().unwrap_or_default();
                    format!("{} {} {} {line}", own.name, own.of, own.value)
                });
                (connector.listen.as_str(), settings.collect::<Vec<_>>())
            })
            .collect();
        let right = [
            (
                "*:8080",
                vec![
                    "maxThreads 8080 50 12".to_owned(),
                    "acceptCount 8080 20 13".to_owned(),
                    "maxConnections 8080 8192 ".to_owned(),
                ],
            ),
            (
                "127.0.0.1:9000",
                vec![
                    "maxThreads 9000 60 8".to_owned(),
                    "acceptCount 9000 100 ".to_owned(),
                ],
            ),
        ];
        assert_eq!(shown, right);
    }

    #[test]
    fn values_may_be_properties() {
        let property = |name: &str| (name == "a").then(|| "1".to_owned());
        for (value, right) in [
            ("8080", Some("8080")),
            ("${a}", Some("1")),
            ("${b}", None),
            ("${b:-7}", Some("7")),
            ("${a", None),
        ] {
            assert_eq!(resolved(value, &property).as_deref(), right, "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(<Connector |<!--|-->|port|=|\"|'|>|/|\n|é| |8){0,40}") {
            let _ = connectors(&text, "f", &|_| None);
        }
    }
}
