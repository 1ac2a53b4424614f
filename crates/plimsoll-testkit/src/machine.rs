//! Machine limits around a program: cgroups, network namespaces, file systems and swap. They require root, and are
//! removed when dropped.
pub mod cgroup;
pub mod mounted;
pub mod namespace;
pub mod namespace_pair;
pub mod swap;
