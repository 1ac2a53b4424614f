//! The settings of Puma, for advice: from its title, its file and its workers.

use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, children_of};
use crate::collectors::discovery::text_beside;
use crate::files::Files;

/// Where it reads its settings, from the folder in which it runs.
pub(super) const FILE: &str = "config/puma.rb";
/// Threads whose names are read.
const THREADS_MAX: usize = 1024;

/// Settings of a Puma: its title is `puma 6.0.2 (tcp://127.0.0.1:3000) [folder]`, and that of a worker begins otherwise.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    if words.first() != Some(&"puma") {
        return Vec::new();
    }
    let text = text_beside(files, pid, FILE).unwrap_or_default();
    let mut settings = settings_of(&text);
    let workers = workers_of(files, pid);
    if !workers.is_empty() {
        settings.retain(|setting| setting.name != "workers");
        settings.push(FileSetting::number("workers", workers.len() as f64, ""));
    }
    // Its command line is overwritten by its title: what that set is not known, only what runs.
    let running = threads_of(files, workers.first().copied().unwrap_or(pid));
    if running > 0 && !settings.iter().any(|setting| setting.name == "threads") {
        settings.push(FileSetting::number(
            "threads",
            running as f64,
            "running now",
        ));
    }
    let config = ComponentConfig {
        at: listens(words)
            .into_iter()
            .next()
            .unwrap_or_else(|| format!("pid {pid}")),
        settings,
        ..ComponentConfig::default()
    };
    vec![sums(config)]
}

/// Threads of all workers together, as its control server reports them.
fn sums(config: ComponentConfig) -> ComponentConfig {
    let mut config = config.or_default("workers", 1.0);
    let workers = config
        .settings
        .iter()
        .find(|setting| setting.name == "workers");
    // Without workers its one process has the threads.
    let workers = workers.map_or(1.0, |setting| setting.value.max(1.0));
    for setting in &mut config.settings {
        match setting.name {
            "threads" => setting.value *= workers,
            "workers" => setting.value = workers,
            _ => {}
        }
    }
    config
}

/// The addresses in its title.
pub(super) fn listens(words: &[&str]) -> Vec<String> {
    let title = words.iter().skip(1).find(|word| word.starts_with('('));
    let title = title.map_or("", |word| word.trim_matches(['(', ')']));
    let all = title.split(',').map(|url| {
        let url = url.trim();
        let url = url
            .strip_prefix("tcp://")
            .or(url.strip_prefix("ssl://"))
            .unwrap_or(url);
        let url = url.strip_prefix("unix://").unwrap_or(url);
        url.split('?').next().unwrap_or(url).to_owned()
    });
    all.filter(|url| !url.is_empty()).collect()
}

fn workers_of(files: &mut Files, pid: u32) -> Vec<u32> {
    let mut children = children_of(files, pid);
    children.retain(|child| {
        files
            .command_line(*child)
            .starts_with("puma: cluster worker")
    });
    children
}

/// Threads for requests of a process, by their names: `puma srv tp 001`.
pub(crate) fn threads_of(files: &mut Files, pid: u32) -> usize {
    let folder = format!("proc/{pid}/task");
    let threads = files.numbers_in(&folder).unwrap_or_default();
    let mut count = 0;
    for thread in threads.into_iter().take(THREADS_MAX) {
        let comm = files
            .read(&format!("{folder}/{thread}/comm"))
            .unwrap_or_default();
        count += usize::from(comm.starts_with("puma ") && comm.contains(" tp "));
    }
    count
}

/// The numbers that its file contains as such; it is a program, and nothing of it is executed.
fn settings_of(text: &str) -> Vec<FileSetting> {
    let mut settings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((name, rest)) = line.split_once([' ', '(']) else {
            continue;
        };
        let rest = rest.trim_matches(['(', ')', ' ']);
        // The second number of `threads` is the highest.
        let last = rest.split(',').next_back().unwrap_or_default().trim();
        let name = match name {
            "threads" => "threads",
            "workers" => "workers",
            _ => continue,
        };
        if let Ok(value) = last.parse::<u32>() {
            let place = format!("{FILE}:{}", index + 1);
            settings.push(FileSetting::number(name, f64::from(value), place));
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_and_a_file() {
        let title = "puma 6.0.2 (tcp://127.0.0.1:3000,unix:///run/p.sock?umask=0) [shop]";
        let words: Vec<&str> = title.split(' ').collect();
        assert_eq!(listens(&words), ["127.0.0.1:3000", "/run/p.sock"]);
        let text = "# threads 9\nthreads 1, 8 # most\nworkers(4)\nport ENV.fetch('PORT') { 3000 }\nthreads n, n\n";
        let right = [
            FileSetting::number("threads", 8.0, "config/puma.rb:2"),
            FileSetting::number("workers", 4.0, "config/puma.rb:3"),
        ];
        assert_eq!(settings_of(text), right);
        let config = ComponentConfig {
            settings: right.to_vec(),
            ..ComponentConfig::default()
        };
        assert_eq!(sums(config).settings[0].value.to_string(), "32");
        let own = sums(ComponentConfig::default()).settings;
        assert_eq!(own, [FileSetting::number("workers", 1.0, "")]);
    }
}
