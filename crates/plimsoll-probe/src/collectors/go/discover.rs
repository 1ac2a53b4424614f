//! Reports programs in Go.

use std::collections::BTreeSet;

use crate::files::Files;

/// Go programs reported with a remedy at most.
const PROGRAMS_MAX: usize = 4;
/// The end of the header of the note that Go's linker writes into the first page of a program: kind 4 (build id),
/// owner `Go`.
const GO_NOTE_OWNER: &[u8] = b"\x04\0\0\0Go\0\0";
const GO_NOTE_REACH: u64 = 4096;

/// Reports how a Go program could be scraped.
pub(crate) fn report(files: &mut Files, pid: u32, comm: &str) {
    let announced: BTreeSet<&str> = files
        .notes()
        .iter()
        .filter_map(|note| note.split(" is a program in Go").next())
        .filter(|name| !name.contains(' '))
        .collect();
    if announced.len() >= PROGRAMS_MAX || announced.contains(comm) || comm.contains(' ') {
        return;
    }
    if is_go(files, pid) {
        files.announce(
            &format!("go {comm}"),
            &format!(
                "{comm} is a program in Go (pid {pid}); to watch its garbage collector and scheduler: `watch: {{ \
                 auto: true, go: http://127.0.0.1:PORT/debug/vars }}` if it imports `expvar`, or its `/metrics`"
            ),
        );
    }
}

/// Whether a program was built by Go's linker.
fn is_go(files: &mut Files, pid: u32) -> bool {
    let head = files.memory_of(&format!("proc/{pid}/exe"), 0, GO_NOTE_REACH);
    head.is_ok_and(|head| {
        let mut pieces = head.windows(GO_NOTE_OWNER.len());
        head.starts_with(b"\x7fELF") && pieces.any(|bytes| bytes == GO_NOTE_OWNER)
    })
}
