//! Buffer sizes of databases, against the size of their data and the memory of this machine.

use plimsoll_model::metric;
use plimsoll_model::reading::Readings;

use super::Advice;
use super::component_readings::{ComponentReadings, places_with, written};
use crate::files::Files;
use crate::parse::memory::{self, Memory};

/// Bytes of a mebibyte.
const MEBIBYTE: f64 = 1_048_576.0;
/// Reserve for growth of the data.
const HEADROOM: f64 = 1.1;
/// Share of the memory that `InnoDB`'s pool may have on a machine of its own, as MariaDB's handbook advises (up to 70 %) ...
const POOL_SHARE: f64 = 0.7;
/// ... and PostgreSQL's buffers, as its manual advises: the rest serves as page cache, which it uses too.
const SHARED_SHARE: f64 = 0.25;
/// Share of the free memory that may be used.
const FREE_SHARE: f64 = 0.5;
/// Sizes are advised in steps of this: `InnoDB`'s pool grows by chunks of it.
const STEP: f64 = 128.0 * MEBIBYTE;

/// Buffers that are smaller than the data, where they need not be.
pub(super) fn advice(readings: &Readings, files: &mut Files) -> Vec<Advice> {
    let Some(memory) = files.read("proc/meminfo").ok().map(memory::meminfo) else {
        return Vec::new();
    };
    let mut advice = Vec::new();
    for at in places_with(readings, metric::DATABASE_SIZE) {
        let component = ComponentReadings { at, readings };
        advice.extend(pool(&component, memory));
        advice.extend(shared_buffers(&component, memory));
        advice.extend(cache_size(&component, memory));
    }
    advice
}

/// Bytes in a readable unit.
fn size(bytes: f64) -> String {
    let mebibytes = bytes / MEBIBYTE;
    if mebibytes < 10_240.0 {
        format!("{mebibytes:.0} MiB")
    } else {
        format!("{:.1} GiB", mebibytes / 1024.0)
    }
}

/// Data size of a database.
fn held(component: &ComponentReadings<'_>) -> Option<f64> {
    let series = metric::series(metric::DATABASE_SIZE, &[("at", component.at)]);
    component.readings.values.get(&series).copied()
}

/// Bytes advised for a buffer that is `current` now: enough for the data, and no more than the memory allows.
fn advised(current: f64, data: f64, share: f64, memory: Memory) -> f64 {
    let free = current + FREE_SHARE * memory.available as f64;
    let most = free.min(share * memory.total as f64);
    let wanted = ((data * HEADROOM) / STEP).ceil() * STEP;
    let steps = (most / STEP).floor() * STEP;
    wanted.min(steps).max(current)
}

/// Whether a buffer is large enough: it holds the data, or there is no memory to make it a tenth larger.
fn may_stay(current: f64, data: f64, advised: f64) -> bool {
    current >= data || advised <= current * HEADROOM
}

/// Why a buffer cannot hold all data, where it cannot.
fn shortage(data: f64, advised: f64, memory: Memory) -> String {
    if advised >= data {
        return String::new();
    }
    format!(
        ". This machine has {} of memory, {} of it free: holding all of the data needs more memory",
        size(memory.total as f64),
        size(memory.available as f64)
    )
}

/// Advice on a setting, in bytes, that is judged by the size of the data.
fn against_data(
    setting: &str,
    component: &ComponentReadings<'_>,
    data: f64,
    advised: f64,
    may_stay: bool,
) -> Option<Advice> {
    let (current, file) = component.setting(setting, "")?;
    Some(Advice::new(
        format!("{setting} against the data ({})", component.at),
        format!(
            "{} for {} of data{}",
            size(current),
            size(data),
            written(file)
        ),
        size(advised),
        may_stay,
    ))
}

/// `InnoDB`'s pool is the only cache of its tables.
fn pool(component: &ComponentReadings<'_>, memory: Memory) -> Option<Advice> {
    let (current, file) = component.setting("innodb_buffer_pool_size", "")?;
    let data = held(component)?;
    let advised = advised(current, data, POOL_SHARE, memory);
    let bytes = advised / MEBIBYTE;
    Some(
        against_data(
            "innodb_buffer_pool_size",
            component,
            data,
            advised,
            may_stay(current, data, advised),
        )?
        .because(format!(
            "pages that are not in the pool are read from disk by each request that needs them. Set \
             `innodb_buffer_pool_size = {bytes:.0}M` under `[mysqld]`{}, immediately with `SET GLOBAL \
             innodb_buffer_pool_size = {advised:.0}`; it costs {} of memory, which other processes on this machine \
             then lack{}",
            in_file(file, "/etc/mysql/mariadb.conf.d/50-server.cnf on Debian"),
            size(advised - current),
            shortage(data, advised, memory)
        )),
    )
}

/// `PostgreSQL`'s shared buffers, backed by the kernel's page cache.
fn shared_buffers(component: &ComponentReadings<'_>, memory: Memory) -> Option<Advice> {
    let (current, file) = component.setting("shared_buffers", "")?;
    let data = held(component)?;
    let advised = advised(current, data, SHARED_SHARE, memory);
    let bytes = advised / MEBIBYTE;
    Some(
        against_data(
            "shared_buffers",
            component,
            data,
            advised,
            may_stay(current, data, advised),
        )?
        .because(format!(
            "blocks that are not in shared_buffers are read from the kernel's page cache, or from disk. Set \
             `shared_buffers = {bytes:.0}MB`{}; it needs a restart and {} of memory, which the page cache then \
             lacks: more than a quarter of the memory seldom helps{}",
            in_file(file, "postgresql.conf"),
            size(advised - current),
            shortage(data, advised, memory)
        )),
    )
}

/// The planner's estimate of both caches.
fn cache_size(component: &ComponentReadings<'_>, memory: Memory) -> Option<Advice> {
    let (current, file) = component.setting("effective_cache_size", "")?;
    let (shared, _) = component.setting("shared_buffers", "")?;
    let data = held(component)?;
    let total = memory.total as f64;
    // Where the data fits, a larger value changes no plan.
    let least = data.min(total / 2.0);
    let there = (shared + memory.available as f64).min(total);
    let is_promised = current > total && data > total;
    let advised = if is_promised { there } else { there.max(least) };
    let bytes = advised / MEBIBYTE;
    Some(
        against_data(
            "effective_cache_size",
            component,
            data,
            advised,
            current >= least && !is_promised,
        )?
        .because(format!(
            "the planner's estimate of the data cached in memory, in PostgreSQL's buffers and the kernel's page \
             cache together: too low, and it scans whole tables where an index would do; more than the machine has, \
             and it plans for data that is on disk. Set `effective_cache_size = {bytes:.0}MB`{}, then `SELECT \
             pg_reload_conf()`; it allocates no memory",
            in_file(file, "postgresql.conf")
        )),
    )
}

/// Where a setting is to be written.
fn in_file(file: &str, otherwise: &str) -> String {
    let file = if file.is_empty() { otherwise } else { file };
    format!(" in {file}")
}

#[cfg(test)]
mod tests {
    use plimsoll_model::metric::series;

    use super::*;

    const GIBIBYTE: f64 = 1024.0 * MEBIBYTE;

    /// The advice on a machine with this much memory, and this much of it free, GiB.
    fn advice_for(values: &[(&str, f64)], data: f64, kib: (u64, u64)) -> Vec<Advice> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let (total, free) = (kib.0 << 20, kib.1 << 20);
        let text = format!("MemTotal: {total} kB\nMemAvailable: {free} kB\n");
        std::fs::write(folder.path().join("proc/meminfo"), text).unwrap();
        let settings = values.iter().map(|&(name, value)| {
            let labels = [("at", "db"), ("setting", name), ("file", "/etc/db.conf:3")];
            (series(metric::SETTING, &labels), value)
        });
        let size = (series(metric::DATABASE_SIZE, &[("at", "db")]), data);
        let readings = Readings {
            values: settings.chain([size]).collect(),
            ..Readings::default()
        };
        advice(&readings, &mut Files::new(folder.path().to_owned()))
    }

    #[test]
    fn a_pool_that_is_smaller_than_the_data() {
        let pool = |pool: f64, data: f64, memory| {
            let values = [("innodb_buffer_pool_size", pool)];
            let all = advice_for(&values, data, memory);
            assert_eq!(all.len(), 1, "{all:?}");
            all.into_iter().next().unwrap()
        };
        let small = pool(0.125 * GIBIBYTE, 4.0 * GIBIBYTE, (16, 12));
        assert_eq!(
            (small.ok, small.current.as_str(), small.advised.as_str()),
            (
                false,
                "128 MiB for 4096 MiB of data (/etc/db.conf:3)",
                "4608 MiB"
            )
        );
        for expected in [
            "`innodb_buffer_pool_size = 4608M` under `[mysqld]` in /etc/db.conf:3",
            "SET GLOBAL innodb_buffer_pool_size = 4831838208",
            "it costs 4480 MiB of memory",
        ] {
            assert!(
                small.why.contains(expected),
                "`{expected}` is not in {}",
                small.why
            );
        }
        assert!(!small.why.contains("needs more"), "{}", small.why);
        // As much as there is room for, and why that is not enough.
        let scarce = pool(0.125 * GIBIBYTE, 40.0 * GIBIBYTE, (16, 4));
        assert_eq!((scarce.ok, scarce.advised.as_str()), (false, "2176 MiB"));
        assert!(
            scarce
                .why
                .contains("16.0 GiB of memory, 4096 MiB of it free"),
            "{}",
            scarce.why
        );
        // Nothing is left, or all is there.
        assert!(pool(11.0 * GIBIBYTE, 40.0 * GIBIBYTE, (16, 2)).ok);
        assert!(pool(0.125 * GIBIBYTE, 0.01 * GIBIBYTE, (16, 2)).ok);
    }

    #[test]
    fn buffers_of_postgresql_and_what_its_planner_believes() {
        let both = |shared: f64, cache: f64, data: f64| {
            let values = [
                ("shared_buffers", shared * GIBIBYTE),
                ("effective_cache_size", cache * GIBIBYTE),
            ];
            let all = advice_for(&values, data * GIBIBYTE, (16, 12));
            let [shared, cache] = all.try_into().unwrap();
            (shared, cache)
        };
        let (shared, cache) = both(0.125, 4.0, 20.0);
        assert_eq!((shared.ok, shared.advised.as_str()), (false, "4096 MiB"));
        assert!(
            shared
                .why
                .contains("`shared_buffers = 4096MB` in /etc/db.conf:3; it needs a restart"),
            "{}",
            shared.why
        );
        assert_eq!((cache.ok, cache.advised.as_str()), (false, "12.1 GiB"));
        let (shared, cache) = both(4.0, 12.0, 20.0);
        assert!(shared.ok && cache.ok, "{shared:?} {cache:?}");
        let (_, cache) = both(4.0, 64.0, 20.0);
        assert_eq!((cache.ok, cache.advised.as_str()), (false, "16.0 GiB"));
        // The defaults, for a small database.
        let (shared, cache) = both(0.125, 4.0, 0.05);
        assert!(shared.ok && cache.ok, "{shared:?} {cache:?}");
    }
}
