//! Access logs that nginx' configuration names, with their formats.

use std::collections::{BTreeMap, BTreeSet};

use super::parse::COMBINED;
use crate::collectors::nginx::tree::Directive;

/// Logs of one configuration.
const LOGS_MAX: usize = 256;

/// An access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NginxAccessLog {
    /// Its file.
    pub(crate) path: String,
    /// Its format.
    pub(crate) format: String,
}

/// The access logs of a configuration, each file once, in their order there.
pub(crate) fn access_logs(directives: &[Directive]) -> Vec<NginxAccessLog> {
    let mut formats = BTreeMap::from([("combined".to_owned(), COMBINED.to_owned())]);
    let mut named = Vec::new();
    collect(directives, &mut formats, &mut named);
    let mut logs: Vec<NginxAccessLog> = Vec::new();
    let mut known = BTreeSet::new();
    for (path, format) in named {
        if logs.len() < LOGS_MAX
            && let Some(format) = formats.get(&format)
            && known.insert(path.clone())
        {
            logs.push(NginxAccessLog {
                path,
                format: format.clone(),
            });
        }
    }
    logs
}

/// Formats may be defined after their use.
fn collect(
    inside: &[Directive],
    formats: &mut BTreeMap<String, String>,
    named: &mut Vec<(String, String)>,
) {
    for directive in inside {
        match (directive.name(), directive.words.get(1)) {
            ("log_format", Some(name)) => {
                let words = directive.words.iter().skip(2);
                let format: String = words
                    .filter(|word| !word.starts_with("escape="))
                    .map(String::as_str)
                    .collect();
                formats.insert(name.clone(), format);
            }
            // Names may hold variables, and logs may go to syslog.
            ("access_log", Some(path)) if path.starts_with('/') && !path.contains('$') => {
                let format = directive.words.get(2).filter(|word| !word.contains('='));
                let format = format.map_or("combined", String::as_str);
                named.push((path.clone(), format.to_owned()));
            }
            _ => {}
        }
        collect(&directive.inner, formats, named);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectors::nginx::tree::NginxTree;

    #[test]
    fn logs_and_their_formats() {
        let text = "http { access_log /var/log/a.log times buffer=32k; access_log /var/log/c.log; server { access_log off;\n\
            access_log /var/log/a.log; access_log syslog:server=x times; access_log /var/log/$host.log times;\n\
            access_log /var/log/n.log none; } log_format times escape=json '$status ' '$request_time'; }";
        let tree = NginxTree::read("nginx.conf", text.to_owned(), &mut |_| Vec::new());
        let logs = access_logs(&tree.directives);
        let shown: Vec<(&str, &str)> = logs
            .iter()
            .map(|log| (log.path.as_str(), log.format.as_str()))
            .collect();
        let right = [
            ("/var/log/a.log", "$status $request_time"),
            ("/var/log/c.log", COMBINED),
        ];
        assert_eq!(shown, right);
    }
}
