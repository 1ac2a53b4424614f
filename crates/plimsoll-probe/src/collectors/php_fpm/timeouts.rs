//! The time-outs of PHP-FPM's pools, for advice.

use super::parse::{PhpFpmPool, configuration};
use crate::collectors::discovery::{text_for, texts_for};
use crate::collectors::timeouts::{Ends, Limit, ServerTimeouts, seconds};
use crate::files::Files;

/// Time-outs of the pools of a PHP-FPM, by the configuration that its master names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ServerTimeouts> {
    let mut words = words.iter();
    let main = words.find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    let Some((main, text)) = main.and_then(|main| Some((main, text_for(files, pid, main)?))) else {
        return Vec::new();
    };
    let (pools, patterns) = configuration(&text);
    let pools = pools.iter();
    let mut servers: Vec<ServerTimeouts> = pools.filter_map(|pool| server(main, pool)).collect();
    for pattern in patterns {
        for (file, text) in texts_for(files, pid, &pattern) {
            let (pools, _) = configuration(&text);
            let pools = pools.iter();
            servers.extend(pools.filter_map(|pool| server(&file, pool)));
        }
    }
    servers
}

/// The time-outs of a pool.
fn server(file: &str, pool: &PhpFpmPool) -> Option<ServerTimeouts> {
    const WORD: &str = "request_terminate_timeout";
    let listen = pool.words.get("listen")?;
    let written = pool.words.get(WORD);
    let limit = written.and_then(|written| {
        Some(Limit {
            word: WORD,
            seconds: seconds(&written.value, 1.0).filter(|&seconds| seconds > 0.0)?,
            place: format!("{file}:{}", written.line),
        })
    });
    Some(ServerTimeouts {
        program: "PHP-FPM",
        name: pool.name.clone(),
        listens: vec![listen.value.replace("$pool", &pool.name)],
        ends: limit.map_or_else(|| Ends::Never(WORD, file.to_owned()), Ends::After),
        ..ServerTimeouts::default()
    })
}
