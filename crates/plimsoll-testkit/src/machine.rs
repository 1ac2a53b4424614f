//! Limits of a machine around a program: cgroups, networks, file systems and swap of one's own. They take root, and go
//! when they are dropped.
pub mod cgroup;
pub mod mounted;
pub mod namespace;
pub mod swap;
