//! Kernel timestamps of received bytes (socket(7), `SO_TIMESTAMPNS`).

use std::io::IoSliceMut;
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::RecvFlags;

/// Enables timestamps on a TCP socket.
///
/// # Errors
/// When the kernel has none for this kind of socket.
pub(crate) fn enable(socket: &OwnedFd) -> Result<(), Errno> {
    setsockopt(socket, sockopt::ReceiveTimestampns, &true).map_err(errno)
}

/// Reads bytes with their timestamp.
#[derive(Debug)]
pub(crate) struct RxTimestampReader {
    control: Vec<u8>,
}

impl Default for RxTimestampReader {
    fn default() -> Self {
        Self {
            control: nix::cmsg_space!(TimeSpec),
        }
    }
}

impl RxTimestampReader {
    /// Reads as `recv` does. The timestamp is that of the last packet read, as time of day in ns.
    ///
    /// # Errors
    /// Those of `recvmsg`.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        socket: &OwnedFd,
        buffer: &mut [u8],
        flags: RecvFlags,
    ) -> Result<(usize, Option<u64>), Errno> {
        let flags = if flags.contains(RecvFlags::TRUNC) {
            MsgFlags::MSG_TRUNC
        } else {
            MsgFlags::empty()
        };
        let mut slices = [IoSliceMut::new(buffer)];
        let message = recvmsg::<()>(
            socket.as_raw_fd(),
            &mut slices,
            Some(&mut self.control),
            flags,
        )
        .map_err(errno)?;
        let timestamp = message
            .cmsgs()
            .map_err(errno)?
            .find_map(|control| match control {
                ControlMessageOwned::ScmTimestampns(timestamp) => in_ns(timestamp),
                _ => None,
            });
        Ok((message.bytes, timestamp))
    }
}

fn in_ns(timestamp: TimeSpec) -> Option<u64> {
    let seconds = u64::try_from(timestamp.tv_sec()).ok()?;
    let rest = u64::try_from(timestamp.tv_nsec()).ok()?;
    Some(seconds * crate::clock::SECOND_NS + rest)
}

fn errno(error: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}
