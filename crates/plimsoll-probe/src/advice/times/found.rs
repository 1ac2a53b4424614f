//! Proxies and servers on this machine, from the configuration files that their command lines name.

use crate::auto::{PROCESSES_MAX, option, text_beside, text_for, texts_for};
use crate::files::Files;
use crate::parse::times::{self, ServerTimeouts};
use crate::parse::{gunicorn, php_fpm, process};

/// Programs of each kind whose files are read.
const SERVERS_MAX: usize = 512;
/// Of one program, and addresses of one of these: all pairs are compared.
const SERVERS_PER_PROGRAM_MAX: usize = 128;
const LISTENS_MAX: usize = 16;

/// All of them; the collectors report what cannot be read.
pub(super) fn servers(files: &mut Files) -> Vec<ServerTimeouts> {
    let mut servers = Vec::new();
    let pids = files.numbers_in("proc").unwrap_or_default();
    for pid in pids.into_iter().take(PROCESSES_MAX) {
        let comm = files.read(&format!("proc/{pid}/comm"));
        let comm = comm.map_or(String::new(), |comm| comm.trim_end().to_owned());
        let is_known = ["nginx", "haproxy"].contains(&comm.as_str())
            || comm.starts_with("php-fpm")
            || comm.starts_with("gunicorn");
        if !is_known || is_worker(files, pid, &comm) {
            continue;
        }
        let line = files.command_line(pid);
        let words: Vec<&str> = line
            .split(['\0', ' '])
            .filter(|word| !word.is_empty())
            .collect();
        let before = servers.len();
        match comm.as_str() {
            "nginx" => servers.extend(nginx(files, pid, &words)),
            "haproxy" => servers.extend(haproxy(files, pid, &words)),
            _ if comm.starts_with("php-fpm") => servers.extend(fpm(files, pid, &words)),
            _ => servers.push(python(files, pid, &words)),
        }
        servers.truncate((before + SERVERS_PER_PROGRAM_MAX).min(SERVERS_MAX));
        for server in &mut servers[before..] {
            server.listens.truncate(LISTENS_MAX);
        }
        if servers.len() >= SERVERS_MAX {
            break;
        }
    }
    servers
}

/// Whether a process is a child of one of the same name, with the same files.
fn is_worker(files: &mut Files, pid: u32, comm: &str) -> bool {
    let stat = files.read(&format!("proc/{pid}/stat")).ok();
    let parent = stat.and_then(process::stat).map(|stat| stat.parent);
    parent.is_some_and(|parent| {
        let above = files.read(&format!("proc/{parent}/comm"));
        above.is_ok_and(|above| above.trim_end() == comm)
    })
}

fn nginx(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ServerTimeouts> {
    let main = option(words, "-c").unwrap_or("/etc/nginx/nginx.conf");
    let Some(text) = text_for(files, pid, main) else {
        return Vec::new();
    };
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    times::nginx(main, &text, &mut |pattern| {
        let whole = if pattern.starts_with('/') {
            pattern.to_owned()
        } else {
            format!("{folder}/{pattern}")
        };
        texts_for(files, pid, &whole)
    })
}

fn haproxy(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ServerTimeouts> {
    let named = words.windows(2).filter(|two| two[0] == "-f");
    let mut paths: Vec<&str> = named.map(|two| two[1]).collect();
    if paths.is_empty() {
        paths.push("/etc/haproxy/haproxy.cfg");
    }
    let mut servers = Vec::new();
    for path in paths {
        if let Some(text) = text_for(files, pid, path) {
            servers.extend(times::haproxy(path, &text));
        }
    }
    servers
}

fn fpm(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ServerTimeouts> {
    let mut words = words.iter();
    let main = words.find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    let Some((main, text)) = main.and_then(|main| Some((main, text_for(files, pid, main)?))) else {
        return Vec::new();
    };
    let (pools, patterns) = php_fpm::configuration(&text);
    let pools = pools.iter();
    let mut servers: Vec<ServerTimeouts> = pools
        .filter_map(|pool| times::php_fpm(main, pool))
        .collect();
    for pattern in patterns {
        for (file, text) in texts_for(files, pid, &pattern) {
            let (pools, _) = php_fpm::configuration(&text);
            let pools = pools.iter();
            servers.extend(pools.filter_map(|pool| times::php_fpm(&file, pool)));
        }
    }
    servers
}

/// gunicorn, which runs in a folder of its own, in which its files are named.
fn python(files: &mut Files, pid: u32, words: &[&str]) -> ServerTimeouts {
    let options = gunicorn::command_line(words);
    let file = options.file.clone();
    let file = file.unwrap_or_else(|| "gunicorn.conf.py".to_owned());
    let text = if file.starts_with('/') {
        text_for(files, pid, &file)
    } else {
        text_beside(files, pid, &file)
    };
    let read = text
        .map(|text| gunicorn::configuration(&text))
        .unwrap_or_default();
    times::gunicorn(&file, &options.or(read))
}
