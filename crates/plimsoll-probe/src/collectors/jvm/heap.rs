//! The heap that a JVM may have: by an option, or by its share of the memory that its cgroup leaves it.

use crate::collectors::FileSetting;
use crate::collectors::configuration::{Environment, bytes};
use crate::files::Files;
use crate::host::cgroups::memory_limit_of;
use crate::parse::memory;

/// The setting, whatever gives the heap its size.
const HEAP: &str = "-Xmx";
/// `HotSpot`'s shares of the memory, %: of much memory, and of little.
const SHARE: f64 = 25.0;
const SHARE_OF_LITTLE: f64 = 50.0;
/// A heap that is no smaller where the share of little memory is at least this, bytes: 96 MB, scaled for 64 bits.
const LITTLE: f64 = 96.0 * MEBIBYTE * 1.3;
/// Bytes of a mebibyte.
const MEBIBYTE: f64 = 1_048_576.0;

/// An option, and the variable that has it; empty for the command line.
type JvmOption<'a> = (&'a str, &'static str);

/// The largest heap of a process; `None` where options that may set it cannot be read.
pub(super) fn of_process(
    files: &mut Files,
    pid: u32,
    words: &[&str],
    environment: Option<&Environment>,
) -> Option<FileSetting> {
    let options = options(words, environment);
    let given = options.iter().rev().find_map(|(option, source)| {
        let size = option
            .strip_prefix("-Xmx")
            .or(option.strip_prefix("-XX:MaxHeapSize="));
        Some(FileSetting::number(HEAP, bytes(size?)?, *source))
    });
    let has_share = options
        .iter()
        .any(|(option, _)| option.starts_with("-XX:MaxRAM"));
    if given.is_some() || environment.is_none() && !has_share {
        return given;
    }
    let total = files.read("proc/meminfo").ok().map(memory::meminfo)?.total;
    let limit = memory_limit_of(files, pid).map(|limit| limit as f64);
    Some(by_share(&options, total as f64, limit))
}

/// All options, in the order in which they apply: the last one of a kind counts.
fn options<'a>(words: &[&'a str], environment: Option<&'a Environment>) -> Vec<JvmOption<'a>> {
    let of = |name: &'static str| {
        let value = environment.and_then(|environment| environment.get(name));
        let options = value.unwrap_or_default().split_whitespace();
        options.map(move |option| (option, name))
    };
    let before = of("JAVA_TOOL_OPTIONS").chain(of("JDK_JAVA_OPTIONS"));
    let own = words.iter().map(|word| (*word, ""));
    before.chain(own).chain(of("_JAVA_OPTIONS")).collect()
}

/// The heap of a JVM that no option gives a size, as `HotSpot` computes it.
fn by_share(options: &[JvmOption<'_>], total: f64, limit: Option<f64>) -> FileSetting {
    let last = |name: &str| {
        let mut options = options.iter().rev();
        options.find_map(|(option, _)| option.strip_prefix(name))
    };
    let number = |name: &str| {
        last(name)?
            .parse::<f64>()
            .ok()
            .filter(|number| *number > 0.0)
    };
    let is_aware = !options
        .iter()
        .any(|(option, _)| *option == "-XX:-UseContainerSupport");
    let memory = limit
        .filter(|_| is_aware)
        .map_or(total, |limit| limit.min(total));
    let memory = last("-XX:MaxRAM=")
        .and_then(bytes)
        .map_or(memory, |most| most.min(memory));
    let fraction = number("-XX:MaxRAMFraction=").map(|fraction| 100.0 / fraction);
    let given = number("-XX:MaxRAMPercentage=").or(fraction);
    let share = given.unwrap_or(SHARE);
    let of_little = number("-XX:MinRAMPercentage=").unwrap_or(SHARE_OF_LITTLE);
    let is_little = memory * of_little / 100.0 < LITTLE;
    let (share, heap) = if is_little {
        (of_little, memory * of_little / 100.0)
    } else {
        (share, (memory * share / 100.0).max(LITTLE))
    };
    let source = match given {
        Some(_) if !is_little => "MaxRAMPercentage",
        _ => "its default",
    };
    let file = format!("{source}, {share:.0} % of {:.0} MiB", memory / MEBIBYTE);
    FileSetting::number(HEAP, heap.floor(), file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heap of process 7 with this command line, environment and limit of its cgroup, on a machine of 8 GiB: MiB, and
    /// its source.
    fn heap(words: &[&str], environment: Option<&str>, limit: &str) -> Option<(String, String)> {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("proc/meminfo", "MemTotal: 8388608 kB\n");
        put("proc/7/cgroup", "0::/shop\n");
        put(
            "proc/self/mountinfo",
            "25 19 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
        );
        put("sys/fs/cgroup/shop/cgroup.type", "domain\n");
        put("sys/fs/cgroup/shop/memory.max", limit);
        if let Some(environment) = environment {
            put("proc/7/environ", environment);
        }
        let mut files = Files::new(root.path().to_owned());
        let environment = Environment::of(&mut files, 7);
        let heap = of_process(&mut files, 7, words, environment.as_ref())?;
        assert_eq!(heap.name, "-Xmx");
        Some((format!("{:.0}", heap.value / MEBIBYTE), heap.file))
    }

    #[test]
    fn the_last_size_of_the_heap_applies() {
        let words = ["java", "-Xmx1g", "-XX:MaxHeapSize=64m", "Main"];
        let right = Some(("64".to_owned(), String::new()));
        assert_eq!(heap(&words, None, "max"), right);
        let before = heap(&words, Some("JAVA_TOOL_OPTIONS=-Xmx3g\0"), "max");
        assert_eq!(before, right);
        let after = heap(&words, Some("A=b\0_JAVA_OPTIONS=-Da=b -Xmx3g\0"), "max");
        assert_eq!(after, Some(("3072".to_owned(), "_JAVA_OPTIONS".to_owned())));
    }

    #[test]
    fn without_a_size_it_is_a_share_of_the_memory_that_the_cgroup_leaves() {
        let java = ["java", "-jar", "shop.jar"];
        for (words, limit, megabytes, file) in [
            (&java[..], "max", "2048", "its default, 25 % of 8192 MiB"),
            (
                &java[..],
                "1073741824",
                "256",
                "its default, 25 % of 1024 MiB",
            ),
            (
                &["java", "-XX:MaxRAMPercentage=75.0", "Main"][..],
                "1073741824",
                "768",
                "MaxRAMPercentage, 75 % of 1024 MiB",
            ),
            (
                &["java", "-XX:-UseContainerSupport", "Main"][..],
                "1073741824",
                "2048",
                "its default, 25 % of 8192 MiB",
            ),
            (
                &["java", "-XX:MaxRAM=4g", "-XX:MaxRAMFraction=2", "Main"][..],
                "max",
                "2048",
                "MaxRAMPercentage, 50 % of 4096 MiB",
            ),
            // Of little memory half, and no less than a heap of 96 MB, scaled, of a little more.
            (
                &java[..],
                "209715200",
                "100",
                "its default, 50 % of 200 MiB",
            ),
            (
                &java[..],
                "314572800",
                "125",
                "its default, 25 % of 300 MiB",
            ),
        ] {
            let right = Some((megabytes.to_owned(), file.to_owned()));
            assert_eq!(heap(words, Some("HOME=/\0"), limit), right, "{words:?}");
        }
        // Its environment may have an option.
        assert_eq!(heap(&java, None, "max"), None);
    }
}
