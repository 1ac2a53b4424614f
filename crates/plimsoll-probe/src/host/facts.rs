//! The machine as a run log's header describes it.

use std::path::PathBuf;

use plimsoll_model::plan::Facts;

use crate::files::Files;
use crate::host::cgroups::Cgroups;
use crate::parse::{memory, process};

/// Facts that are the whole of a file, as (name, file).
const WHOLE_FILES: [(&str, &str); 13] = [
    ("kernel", "proc/sys/kernel/osrelease"),
    (
        "time_source",
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    ("machine", "sys/class/dmi/id/product_name"),
    ("machine_vendor", "sys/class/dmi/id/sys_vendor"),
    ("hypervisor", "sys/hypervisor/type"),
    (
        "cpu_governor",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    (
        "ip_local_port_range",
        "proc/sys/net/ipv4/ip_local_port_range",
    ),
    ("somaxconn", "proc/sys/net/core/somaxconn"),
    (
        "tcp_max_syn_backlog",
        "proc/sys/net/ipv4/tcp_max_syn_backlog",
    ),
    ("tcp_tw_reuse", "proc/sys/net/ipv4/tcp_tw_reuse"),
    ("swappiness", "proc/sys/vm/swappiness"),
    ("file_max", "proc/sys/fs/file-max"),
    (
        "transparent_hugepage",
        "sys/kernel/mm/transparent_hugepage/enabled",
    ),
];

/// Kernel, processor, memory, limits and time source of this machine. No host name, no address. What cannot be read
/// is left out.
pub fn host_facts() -> Facts {
    facts_below(PathBuf::from("/"))
}

fn facts_below(root: PathBuf) -> Facts {
    let mut files = Files::new(root);
    let mut facts = Facts::new();
    facts.insert("architecture".to_owned(), std::env::consts::ARCH.to_owned());
    for (name, path) in WHOLE_FILES {
        if let Ok(text) = files.read(path)
            && !text.trim().is_empty()
        {
            let words: Vec<&str> = text.split_whitespace().collect();
            facts.insert(name.to_owned(), words.join(" "));
        }
    }
    if let Ok(text) = files.read("proc/cpuinfo") {
        add_processor(&mut facts, text);
    }
    if let Ok(text) = files.read("proc/meminfo") {
        let memory = memory::meminfo(text);
        facts.insert("memory_bytes".to_owned(), memory.total.to_string());
        facts.insert("swap_bytes".to_owned(), memory.swap_total.to_string());
    }
    let limit = files.read("proc/self/limits").ok();
    if let Some((soft, hard)) = limit.and_then(process::files_limit) {
        facts.insert("open_files_soft".to_owned(), limit_text(soft));
        facts.insert("open_files_hard".to_owned(), limit_text(hard));
    }
    if let Some(cpus) = std::thread::available_parallelism()
        .ok()
        .filter(|_| files.is_live())
    {
        facts.insert("cores_allowed".to_owned(), cpus.to_string());
    }
    add_cgroup(&mut facts, &mut files);
    facts
}

fn add_processor(facts: &mut Facts, cpuinfo: &str) {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let processors = cpuinfo.lines().filter(|line| {
        line.split(':')
            .next()
            .is_some_and(|key| key.trim() == "processor")
    });
    facts.insert("cores".to_owned(), processors.count().to_string());
    if let Some(model) = field("model name") {
        facts.insert("cpu_model".to_owned(), model);
    }
    // The processor reports this under every hypervisor that does not hide itself.
    let virtual_machine = field("flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    facts.insert("virtual_machine".to_owned(), virtual_machine.to_string());
}

fn add_cgroup(facts: &mut Facts, files: &mut Files) {
    let version = match files.read("proc/self/mountinfo") {
        Ok(text) => {
            let mounts = crate::parse::cgroup::mounts(text);
            match (
                mounts.iter().any(|mount| mount.options.is_some()),
                mounts.iter().any(|mount| mount.options.is_none()),
            ) {
                (true, true) => "1 and 2",
                (true, false) => "1",
                (false, true) => "2",
                (false, false) => "none",
            }
        }
        Err(_) => return,
    };
    facts.insert("cgroup_version".to_owned(), version.to_owned());
    let mut cgroups = Cgroups::default();
    cgroups.follow(files, std::process::id(), "generator");
    if let Some(quota) = cgroups.quota(files) {
        facts.insert("cgroup_cpu_quota".to_owned(), format!("{quota:.2}"));
    }
}

fn limit_text(limit: u64) -> String {
    if limit == u64::MAX {
        "unlimited".to_owned()
    } else {
        limit.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_cores_and_memory() {
        let facts = host_facts();
        for name in [
            "kernel",
            "cores",
            "memory_bytes",
            "open_files_soft",
            "ip_local_port_range",
        ] {
            assert!(facts.contains_key(name), "{name} is missing in {facts:?}");
        }
        let uname = rustix::system::uname();
        assert_eq!(facts["kernel"], uname.release().to_str().unwrap());
    }

    #[test]
    fn an_empty_root_gives_only_what_is_compiled_in() {
        let folder = tempfile::tempdir().unwrap();
        let facts = facts_below(folder.path().to_owned());
        assert_eq!(facts.keys().collect::<Vec<_>>(), ["architecture"]);
    }
}
