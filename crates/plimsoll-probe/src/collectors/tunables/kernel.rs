//! Settings of the kernel that bound connections: they hold for the whole machine, or its network namespace.

use std::fs;

use super::TunableError;

/// Settings that may be changed, and how far they are relaxed. `net.core.somaxconn` is not among them: it has no
/// effect on sockets that already listen.
const SETTINGS: [(&str, Raise); 4] = [
    ("net.core.netdev_max_backlog", Raise::Times(8)),
    ("net.ipv4.ip_local_port_range", Raise::Range(10_240, 65_535)),
    ("net.ipv4.tcp_max_syn_backlog", Raise::Times(8)),
    ("net.netfilter.nf_conntrack_max", Raise::Times(4)),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Raise {
    Times(u64),
    Range(u16, u16),
}

/// The setting of this name, and where it is read and written.
fn find(name: &str) -> Result<(Raise, String), TunableError> {
    let known = SETTINGS.into_iter().find(|known| known.0 == name);
    let (name, raise) = known
        .ok_or_else(|| TunableError::new(format!("`{name}` of the kernel is not a tunable")))?;
    Ok((raise, format!("/proc/sys/{}", name.replace('.', "/"))))
}

fn read(path: &str) -> Result<String, TunableError> {
    let text = fs::read_to_string(path)
        .map_err(|error| TunableError::new(format!("{path} cannot be read: {error}")))?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The value of a setting of the kernel now, and the one that relaxes it.
///
/// # Errors
/// When it is not a tunable, cannot be read, or is already relaxed.
pub fn kernel_setting(name: &str) -> Result<(String, String), TunableError> {
    let (raise, path) = find(name)?;
    let now = read(&path)?;
    let to = raised_from(raise, &now).ok_or_else(|| {
        TunableError::new(format!("{name} is {now}: it cannot be relaxed further"))
    })?;
    Ok((now, to))
}

fn raised_from(raise: Raise, now: &str) -> Option<String> {
    match raise {
        Raise::Times(factor) => {
            let now: u64 = now.parse().ok()?;
            Some(now.checked_mul(factor)?.to_string())
        }
        Raise::Range(first, last) => {
            let (from, to) = now.split_once(' ')?;
            let (from, to): (u16, u16) = (from.parse().ok()?, to.parse().ok()?);
            let is_wider = from > first || to < last;
            is_wider.then(|| format!("{} {}", from.min(first), to.max(last)))
        }
    }
}

/// Sets a setting of the kernel.
///
/// # Errors
/// When it is not a tunable, the value is not made of plain numbers, or permission is denied.
pub fn set_kernel_setting(name: &str, value: &str) -> Result<(), TunableError> {
    let (_, path) = find(name)?;
    let is_plain = |c: char| c.is_ascii_digit() || c == ' ';
    if value.is_empty() || value.len() > super::VALUE_LEN_MAX || !value.chars().all(is_plain) {
        return Err(TunableError::new(format!(
            "`{value}` is not a valid value of {name}"
        )));
    }
    fs::write(&path, value).map_err(|error| {
        TunableError::new(format!("{name} cannot be changed ({error}): run as root"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_relaxed_and_no_other_setting_is_touched() {
        assert_eq!(
            raised_from(Raise::Times(4), "65536").as_deref(),
            Some("262144")
        );
        assert_eq!(raised_from(Raise::Times(4), "many"), None);
        let range = Raise::Range(10_240, 65_535);
        let wider = raised_from(range, "32768 60999");
        assert_eq!(wider.as_deref(), Some("10240 65535"));
        let wide = raised_from(range, "1024 61000");
        assert_eq!(wide.as_deref(), Some("1024 65535"));
        assert_eq!(raised_from(range, "10240 65535"), None);
        for (name, value) in [
            ("kernel.core_pattern", "1"),
            ("net.core.somaxconn", "4096"),
            ("net.ipv4.tcp_max_syn_backlog", "|/bin/x"),
            ("net.ipv4.tcp_max_syn_backlog", ""),
        ] {
            assert!(set_kernel_setting(name, value).is_err(), "{name}");
        }
        assert!(kernel_setting("kernel.core_pattern").is_err());
    }
}
