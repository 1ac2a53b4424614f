//! `/proc/PID/task/TID/syscall` and `wchan`: what a thread waits for.

/// What a thread does, by its current system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wait {
    /// It runs, or would if a CPU was free.
    Running,
    /// It reads from a descriptor, or writes to it.
    Descriptor(u32),
    /// It waits until one descriptor is ready, whose number is at this address of its memory.
    DescriptorAt(u64),
    /// It waits for a lock, or to be woken by another thread.
    Lock,
    /// It sleeps for a time.
    Sleep,
    /// It waits for any of several descriptors: an event loop.
    Events,
    /// It waits for a connection.
    Accept,
    /// It waits for a disk.
    Disk,
    /// It waits for a process that it has started.
    Child,
    /// It reads from or writes to an unknown socket.
    Socket,
    /// It reads from a pipe or writes to one.
    Pipe,
    /// Anything else.
    Other,
}

/// Numbers of system calls, by the kind of wait.
struct WaitSyscalls {
    descriptor: &'static [u32],
    poll: &'static [u32],
    lock: &'static [u32],
    sleep: &'static [u32],
    events: &'static [u32],
    accept: &'static [u32],
    disk: &'static [u32],
    child: &'static [u32],
}

/// As `asm/unistd_64.h` has them.
#[cfg(target_arch = "x86_64")]
const CALLS: WaitSyscalls = WaitSyscalls {
    // read, write, readv, writev, sendfile, sendto, recvfrom, sendmsg, recvmsg, connect, recvmmsg
    descriptor: &[0, 1, 19, 20, 40, 44, 45, 46, 47, 42, 299],
    // poll, ppoll
    poll: &[7, 271],
    // semop, flock, futex, semtimedop
    lock: &[65, 73, 202, 220],
    // nanosleep, clock_nanosleep
    sleep: &[35, 230],
    // select, epoll_wait, pselect6, epoll_pwait, io_uring_enter, epoll_pwait2
    events: &[23, 232, 270, 281, 426, 441],
    // accept, accept4
    accept: &[43, 288],
    // pread64, pwrite64, fsync, fdatasync, preadv, pwritev
    disk: &[17, 18, 74, 75, 295, 296],
    // wait4, waitid
    child: &[61, 247],
};

/// As `asm-generic/unistd.h` has them.
#[cfg(not(target_arch = "x86_64"))]
const CALLS: WaitSyscalls = WaitSyscalls {
    descriptor: &[63, 64, 65, 66, 71, 206, 207, 211, 212, 203, 243],
    poll: &[73],
    lock: &[193, 32, 98, 192],
    sleep: &[101, 115],
    events: &[72, 22, 426, 441],
    accept: &[202, 242],
    disk: &[67, 68, 82, 83, 69, 70],
    child: &[260, 95],
};

/// Prefixes of kernel functions in which a thread waits, used without access to the system call.
const PLACES: [(&str, Wait); 15] = [
    ("futex", Wait::Lock),
    ("hrtimer_nanosleep", Wait::Sleep),
    ("do_nanosleep", Wait::Sleep),
    ("ep_poll", Wait::Events),
    ("do_epoll", Wait::Events),
    ("do_sys_poll", Wait::Events),
    ("do_poll", Wait::Events),
    ("poll_schedule", Wait::Events),
    ("do_select", Wait::Events),
    ("inet_csk_accept", Wait::Accept),
    ("unix_stream", Wait::Socket),
    ("sk_wait_data", Wait::Socket),
    ("pipe", Wait::Pipe),
    ("do_wait", Wait::Child),
    ("io_schedule", Wait::Disk),
];

/// Content of `syscall`: `running`, or a call's number and its arguments, `0 0x7 0x7f…`; `-1` outside of any.
#[must_use]
pub(crate) fn syscall(text: &str) -> Wait {
    let mut words = text.split_whitespace();
    let call = match words.next() {
        Some("running") => return Wait::Running,
        Some(number) => number.parse::<u32>().ok(),
        None => None,
    };
    let mut argument = || {
        let word = words.next()?.strip_prefix("0x")?;
        u64::from_str_radix(word, 16).ok()
    };
    let Some(call) = call else { return Wait::Other };
    let is_of = |calls: &[u32]| calls.contains(&call);
    if is_of(CALLS.descriptor) {
        let number = argument().and_then(|number| u32::try_from(number).ok());
        return number.map_or(Wait::Other, Wait::Descriptor);
    }
    if is_of(CALLS.poll) {
        return match (argument(), argument()) {
            (Some(address), Some(1)) => Wait::DescriptorAt(address),
            _ => Wait::Events,
        };
    }
    let kinds = [
        (CALLS.lock, Wait::Lock),
        (CALLS.sleep, Wait::Sleep),
        (CALLS.events, Wait::Events),
        (CALLS.accept, Wait::Accept),
        (CALLS.disk, Wait::Disk),
        (CALLS.child, Wait::Child),
    ];
    let found = kinds.into_iter().find(|(calls, _)| is_of(calls));
    found.map_or(Wait::Other, |(_, wait)| wait)
}

/// Content of `wchan`: the kernel function in which a thread waits; `0` where it runs, or is hidden.
#[must_use]
pub(crate) fn place(text: &str) -> Option<Wait> {
    let name = text.trim();
    if name.is_empty() || name == "0" {
        return None;
    }
    let known = PLACES.iter().find(|(begin, _)| name.starts_with(begin));
    Some(known.map_or(Wait::Other, |(_, wait)| *wait))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn calls_of_threads() {
        for (text, right) in [
            ("running\n", Wait::Running),
            (
                "45 0x3 0x7fa2a8833e00 0x1 0x0 0x0 0x0 0x7fa2 0x7fa2",
                Wait::Descriptor(3),
            ),
            (
                "7 0x7ffc10 0x1 0xffffffff 0x0 0x0 0x0 0x7f 0x7f",
                Wait::DescriptorAt(0x007f_fc10),
            ),
            (
                "7 0x7ffc10 0x2 0xffffffff 0x0 0x0 0x0 0x7f 0x7f",
                Wait::Events,
            ),
            (
                "202 0x559b59a2ca10 0x189 0x0 0x0 0x0 0xffffffff 0x7f 0x7f",
                Wait::Lock,
            ),
            ("230 0x0 0x0 0x7ffd 0x7ffd 0x0 0x0 0x7f 0x7f", Wait::Sleep),
            ("288 0x4 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", Wait::Accept),
            ("-1 0x7f 0x7f", Wait::Other),
            ("", Wait::Other),
        ] {
            assert_eq!(syscall(text), right, "{text}");
        }
    }

    #[test]
    fn functions_in_which_threads_wait() {
        assert_eq!(place("futex_do_wait"), Some(Wait::Lock));
        assert_eq!(place("unix_stream_read_generic\n"), Some(Wait::Socket));
        assert_eq!(place("something_new"), Some(Wait::Other));
        assert_eq!(place("0"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,80}", number in any::<u32>()) {
            let _ = (syscall(&text), place(&text));
            let _ = syscall(&format!("{number} {text}"));
        }
    }
}
