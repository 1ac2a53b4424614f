//! `/proc/self/mounts`.

/// Local file system types: `statvfs` on them never waits for another machine.
const LOCAL: [&str; 12] = [
    "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "reiserfs", "tmpfs",
    "xfs", "zfs",
];
/// Mounts below these hold no data.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Where local file systems are mounted that may be written to: each once, however often it is mounted.
pub(crate) fn local(text: &str) -> Vec<String> {
    let mut devices = Vec::new();
    let mut points = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [device, point, kind, options, ..] = words[..] else {
            continue;
        };
        let is_read_only = options.split(',').any(|option| option == "ro");
        if is_read_only || !holds_data(point, kind) {
            continue;
        }
        let point = unescaped(point);
        // Mounts without a device have arbitrary names: each one counts.
        let has_device = device.starts_with('/');
        if points.contains(&point) || (has_device && devices.contains(&device)) {
            continue;
        }
        devices.push(device);
        points.push(point);
    }
    points
}

/// Whether a mount of this type is a local file system that may hold data.
pub(crate) fn holds_data(point: &str, kind: &str) -> bool {
    let is_kernels = OF_THE_KERNEL.iter().any(|folder| {
        let below = point.strip_prefix(folder);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    });
    LOCAL.contains(&kind) && (!is_kernels || point == "/dev/shm")
}

/// A mount point whose spaces and backslashes are escaped as a backslash and three octal digits.
fn unescaped(point: &str) -> String {
    let (mut plain, mut rest) = (String::new(), point.to_owned());
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 4);
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let taken = if let Some(code) = code.filter(u8::is_ascii) {
            plain.push(char::from(code));
            4
        } else {
            plain.push('\\');
            1
        };
        rest.drain(..at + taken);
    }
    plain + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_system_once() {
        let text = "proc /proc proc rw 0 0\n\
            /dev/vda / ext4 rw,relatime 0 0\n\
            /dev/vda /etc/hosts ext4 rw 0 0\n\
            /dev/vdb /var/lib/my\\040data\\134x xfs rw,noatime 0 0\n\
            /dev/vdc /old ext4 ro 0 0\n\
            tmpfs /run tmpfs rw,size=4k 0 0\n\
            tmpfs /tmp tmpfs rw 0 0\n\
            tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
            tmpfs /dev/shm tmpfs rw 0 0\n\
            server:/home /home nfs4 rw 0 0\n\
            short\n";
        let right = ["/", "/var/lib/my data\\x", "/run", "/tmp", "/dev/shm"];
        assert_eq!(local(text), right);
        assert_eq!(unescaped("a\\9\\04"), "a\\9\\04");
    }
}
