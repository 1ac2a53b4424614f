//! Names of hosts and users.
//!
//! The C library finds both through modules (NSS) that it loads while it runs. A static binary must not load them: they are of
//! another C library than its own. There, `/etc/hosts`, the name servers of `/etc/resolv.conf`, `/etc/passwd` and `/etc/group`
//! are read by this crate. Everywhere else the C library is asked as usual, so that a name is what it is for other programs.

pub mod host;
mod servers;
pub mod user;

/// Whether this program is linked without the C library's shared objects.
const IS_STATIC: bool = cfg!(target_feature = "crt-static");
