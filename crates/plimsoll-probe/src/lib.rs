//! Reads host, cgroup, process and TCP state into readings.
