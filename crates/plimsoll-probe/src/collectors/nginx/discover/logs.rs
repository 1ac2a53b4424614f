//! The logs that nginx' configuration names.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use crate::collectors::discovery::DiscoveredComponent;
use crate::collectors::nginx::access_log::directives::NginxAccessLog;
use crate::collectors::nginx::access_log::parse::AccessLogLayout;
use crate::collectors::{ComponentMetadata, FileSetting};
use crate::files::Files;

/// Default log file of Debian's nginx.
const ERROR_LOG: &str = "/var/log/nginx/error.log";

/// The first file that nginx' configuration names for errors.
pub(super) fn error_log(
    (files, pid): (&mut Files, u32),
    text: &str,
    source: &str,
    settings: &[FileSetting],
) -> Option<DiscoveredComponent> {
    let named = text
        .lines()
        .flat_map(|line| line.split(';'))
        .filter_map(|words| {
            let mut words = words.split_whitespace();
            (words.next()? == "error_log").then(|| words.next())?
        });
    let named: Vec<&str> = named.collect();
    let path = match named.iter().find(|path| path.starts_with('/')) {
        Some(path) => (*path).to_owned(),
        None if named.is_empty() => ERROR_LOG.to_owned(),
        None => return None,
    };
    files.is_file_of(pid, &path).then(|| {
        DiscoveredComponent::new(
            ComponentKind::NginxLog,
            ComponentAddress::File(path.into()),
            ComponentMetadata {
                settings: settings.to_vec(),
                ..ComponentMetadata::default()
            },
            source.to_owned(),
        )
    })
}

/// Access logs of nginx that are watched at most.
const ACCESS_LOGS_MAX: usize = 4;

/// Those of nginx' access logs that hold request times.
pub(super) fn access_logs(
    (files, pid): (&mut Files, u32),
    mut logs: Vec<NginxAccessLog>,
    source: &str,
    auto: bool,
) -> Vec<DiscoveredComponent> {
    let any = logs.first().map(|log| log.path.clone());
    logs.retain(|log| {
        AccessLogLayout::new(&log.format).has_times() && files.is_file_of(pid, &log.path)
    });
    if let Some(path) = any.filter(|_| auto && logs.is_empty()) {
        files.announce(
            &format!("nginx without times {source}"),
            &format!(
                "the access log of nginx, {path}, holds no request times: use a `log_format` in {source} with \
                 `$request_time`, `$upstream_connect_time`, `$upstream_header_time` and `$upstream_response_time`"
            ),
        );
    }
    let watched = logs.into_iter().take(ACCESS_LOGS_MAX);
    let found = watched.map(|log| {
        DiscoveredComponent::new(
            ComponentKind::NginxAccessLog,
            ComponentAddress::File(log.path.into()),
            ComponentMetadata {
                log_format: Some(log.format),
                ..ComponentMetadata::default()
            },
            source.to_owned(),
        )
    });
    found.collect()
}
