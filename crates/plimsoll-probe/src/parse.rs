//! Parsers of the kernel's text files, and of the metrics of components: pure functions over text that never fail.
//! Missing or malformed values are zero or absent, so that added, dropped or reordered lines do no harm. Only
//! [`otlp`] returns errors, for the sender.

pub mod access_log;
pub mod apache;
pub mod cgroup;
pub mod cpu;
pub mod disk;
pub mod go;
pub mod gunicorn;
pub mod haproxy;
pub mod haproxy_configuration;
pub mod hsperf;
pub mod jvm;
pub mod log;
pub mod memcached;
pub mod memory;
pub mod mongo;
pub mod mount;
pub mod mysql;
pub mod mysql_plan;
pub mod network;
pub mod nginx;
pub mod nginx_configuration;
pub mod nginx_logs;
mod nginx_tree;
pub mod otlp;
pub mod pgbouncer;
pub mod php_fpm;
pub mod plan;
pub mod pool_series;
pub mod postgres;
pub mod process;
pub mod prometheus;
pub mod puma;
pub mod python;
pub mod redis;
pub mod socket;
pub mod statement;
pub mod syscall;
pub mod times;
pub mod uwsgi;
pub mod varnish;

#[cfg(test)]
mod component_tests;
#[cfg(test)]
mod tests;

/// The first number of a line after its name: `value_of("Foo: 12 kB\n", "Foo:")` is 12.
pub fn value_of(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(name)).then(|| words.next())
        })
        .flatten()?
        .parse()
        .ok()
}

/// The number at a position of a line, 0 without one.
fn number_at(words: &[&str], index: usize) -> u64 {
    words
        .get(index)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}
