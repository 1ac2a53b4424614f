//! The threads of Varnish, for advice: its command line sets them.

use crate::collectors::FileSetting;
use crate::collectors::configuration::ComponentConfig;
use crate::files::Files;

/// Threads of a Varnish.
pub(crate) fn of_process(_files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let listens = words.windows(2).filter(|two| two[0] == "-a");
    vec![ComponentConfig {
        at: format!("varnishd, pid {pid}"),
        listens: listens
            .map(|two| two[1].split(',').next().unwrap_or_default().to_owned())
            .collect(),
        settings: threads_of(words),
        ..ComponentConfig::default()
    }]
}

/// Two pools of at most 5,000 threads each, unless it is started otherwise.
fn threads_of(words: &[&str]) -> Vec<FileSetting> {
    let parameter = |name: &str, default: f64| {
        let written = words.iter().find_map(|word| {
            let (own, value) = word.split_once('=')?;
            (own.trim_start_matches("-p") == name).then(|| value.parse::<f64>().ok())?
        });
        written.unwrap_or(default)
    };
    vec![
        FileSetting::number("thread_pools", parameter("thread_pools", 2.0), ""),
        FileSetting::number("thread_pool_max", parameter("thread_pool_max", 5000.0), ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_command_line() {
        let threads = |words: &[&str]| -> Vec<f64> {
            threads_of(words)
                .iter()
                .map(|setting| setting.value)
                .collect()
        };
        let words = ["varnishd", "-p", "thread_pool_max=50", "-pthread_pools=1"];
        assert_eq!(threads(&words), [1.0, 50.0]);
        assert_eq!(threads(&["varnishd"]), [2.0, 5000.0]);
    }
}
