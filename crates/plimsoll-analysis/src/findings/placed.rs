//! Texts about a machine that an agent watches. The rules speak of `the machine`, or of `this machine`: the generator's own,
//! unless they are evaluated on another one.

/// How limits call the machine that is examined.
const THE_MACHINE: [&str; 2] = ["the machine", "this machine"];
/// How sentences and labels call it.
const THIS_MACHINE: &str = "this machine";

/// A limit with its machine: `CPU of db1`, `disk sda on db1`.
pub(super) fn limit(limit: &str, machine: &str) -> String {
    let own = THE_MACHINE.iter().find(|own| limit.contains(**own));
    match own {
        Some(own) => limit.replacen(own, machine, 1),
        None => format!("{limit} on {machine}"),
    }
}

/// A sentence with its machine: `on db1, the CPUs were 99 % busy`.
pub(super) fn sentence(sentence: &str, machine: &str) -> String {
    if sentence.contains(THIS_MACHINE) {
        label(sentence, machine)
    } else {
        format!("on {machine}, {sentence}")
    }
}

/// The label of a line of evidence.
pub(super) fn label(label: &str, machine: &str) -> String {
    label.replacen(THIS_MACHINE, machine, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_called_by_its_name() {
        for (own, right) in [
            ("CPU of the machine", "CPU of db1"),
            (
                "memory of the machine, which swaps",
                "memory of db1, which swaps",
            ),
            (
                "file descriptors of this machine",
                "file descriptors of db1",
            ),
            ("disk sda", "disk sda on db1"),
        ] {
            assert_eq!(limit(own, "db1"), right);
        }
        for (own, right) in [
            ("the CPUs were 99 % busy", "on db1, the CPUs were 99 % busy"),
            (
                "the OOM killer killed 3 processes of this machine",
                "the OOM killer killed 3 processes of db1",
            ),
            (
                "the hypervisor took 20 % of this machine's CPU time",
                "the hypervisor took 20 % of db1's CPU time",
            ),
        ] {
            assert_eq!(sentence(own, "db1"), right);
        }
        for (own, right) in [
            (
                "connections opened to this machine",
                "connections opened to db1",
            ),
            ("memory available", "memory available"),
        ] {
            assert_eq!(label(own, "db1"), right);
        }
    }
}
