//! Reports Varnish.

use crate::collectors::discovery::option;
use crate::files::Files;

/// Varnish, whose counters only a command reports; discovered commands are never executed.
pub(crate) fn report(files: &mut Files, pid: u32, words: &[&str]) {
    let name = option(words, "-n").map_or(String::new(), |name| format!(" -n {name}"));
    // It has two processes of the same command line.
    files.announce(
        &format!("varnish{name}"),
        &format!(
            "Varnish (pid {pid}) runs here; its counters are read by a command, and Plimsoll executes only commands \
             that are configured: `watch: {{ auto: true, varnish: 'varnishstat -j -t 0{name}' }}`"
        ),
    );
}
