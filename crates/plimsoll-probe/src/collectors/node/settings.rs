//! The processes of a Node program, for advice.

use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, children_of};
use crate::files::Files;

/// The processes of a Node program: those of its cluster, or its only one.
pub(crate) fn of_process(files: &mut Files, pid: u32, _words: &[&str]) -> Vec<ComponentConfig> {
    let children = children_of(files, pid);
    let is_node = |child: &&u32| {
        let comm = files.read(&format!("proc/{child}/comm"));
        comm.is_ok_and(|comm| comm.trim_end() == "node")
    };
    let workers = children.iter().filter(is_node).count();
    let socket = format!("/tmp/plimsoll-node-{pid}.sock");
    let is_watched = files.is_socket_of(pid, &socket);
    vec![ComponentConfig {
        at: if is_watched {
            socket
        } else {
            format!("pid {pid}")
        },
        listens: Vec::new(),
        settings: vec![FileSetting::number("processes", workers.max(1) as f64, "")],
    }]
}
