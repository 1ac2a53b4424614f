//! How this machine is named where nobody names it.

use plimsoll_model::agent::{NAME_MAX, is_machine_name};

/// The name of this host as far as it may name a machine, else `machine`.
pub fn of_this_machine() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    cleaned(text.trim())
}

/// A name with `-` for what may not be in one.
fn cleaned(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-:".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = text.chars().map(plain).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let name: String = name.chars().take(NAME_MAX).collect();
    if is_machine_name(&name) {
        name
    } else {
        "machine".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_host_has_a_name() {
        assert!(is_machine_name(&of_this_machine()));
        assert_eq!(cleaned("db 1"), "db-1");
        assert_eq!(cleaned("-_x"), "x");
        assert_eq!(cleaned("é"), "machine");
        assert_eq!(cleaned(&"x".repeat(200)).len(), NAME_MAX);
    }
}
