//! Discovers Node.

use plimsoll_model::component::{ComponentAddress, ComponentKind};

use crate::collectors::discovery::DiscoveredComponent;
use crate::files::Files;

/// Node, where the metrics module is loaded.
pub(crate) fn find(files: &mut Files, pid: u32, auto: bool) -> Option<DiscoveredComponent> {
    let socket = format!("/tmp/plimsoll-node-{pid}.sock");
    if !files.is_socket_of(pid, &socket) {
        if auto {
            files.announce(
                &format!("node {pid}"),
                &format!(
                    "Node (pid {pid}) runs here; to watch it: `plimsoll watch --node-module > plimsoll-node.cjs`, \
                     and start it by `node --require ./plimsoll-node.cjs …`"
                ),
            );
        }
        return None;
    }
    Some(DiscoveredComponent::of_process(
        ComponentKind::Node,
        ComponentAddress::Socket(socket.into()),
        pid,
        format!("its module, pid {pid}"),
    ))
}
