//! Discovers Puma.

use crate::files::Files;

/// Puma, whose control address cannot be discovered.
pub(crate) fn report(files: &mut Files, pid: u32, words: &[&str]) {
    if words.first() != Some(&"puma") {
        return;
    }
    files.announce(
        &format!("puma {pid}"),
        &format!(
            "Puma (pid {pid}) runs here; to watch it, start it with `--control-url tcp://127.0.0.1:9293 \
             --control-token TOKEN`, and add `watch: {{ auto: true, puma: {{ at: 127.0.0.1:9293, password: TOKEN }} \
             }}`"
        ),
    );
}
