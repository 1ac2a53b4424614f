//! Resolves a name to a handle inside a root: by the kernel (`openat2`, Linux 5.6), or component by component where
//! the kernel or a seccomp filter blocks that call.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::fs::{
    FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat, openat2, readlinkat,
};
use rustix::io::{Errno, dup};

/// Retries of a lookup that raced with a rename.
const RACES_MAX: usize = 8;
/// Symbolic links on the path to one file, the kernel's limit.
const LINKS_MAX: usize = 40;
/// Path components at most, including those of links. Each takes a descriptor.
const SEGMENTS_MAX: usize = 256;
/// Longest name, bytes.
const PATH_LEN_MAX: usize = 4096;
const PROC: u64 = 0x9fa0;
/// Virtual file systems of the kernel: `proc`, `sysfs`, `debugfs`, `tracefs`, `securityfs`, `cgroup`, `cgroup2`,
/// `bpf`, `pstore`, `configfs`, `efivarfs`, `selinuxfs`, `binfmt_misc`, `mqueue`, `devpts`, `nsfs`, `fusectl`.
const OF_THE_KERNEL: [u64; 17] = [
    PROC,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0x6165_676c,
    0x6265_6570,
    0xde5e_81e4,
    0xf97c_ff8c,
    0x4249_4e4d,
    0x1980_0202,
    0x1cd1,
    0x6e73_6673,
    0x6573_5543,
];

/// How far a name may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathBounds {
    /// The root is the root: `/` begins there and `..` stops there.
    InRoot,
    /// Paths that lead outside are refused.
    Beneath,
}

/// A handle on the file of a name in a root.
pub(super) fn handle(root: &OwnedFd, path: &str, bounds: PathBounds) -> Result<OwnedFd, Errno> {
    if path.len() > PATH_LEN_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    let whole = match path.trim_start_matches('/') {
        _ if bounds == PathBounds::Beneath && path.starts_with('/') => return Err(Errno::XDEV),
        "" => ".",
        whole => whole,
    };
    let limit = match bounds {
        PathBounds::InRoot => ResolveFlags::IN_ROOT,
        PathBounds::Beneath => ResolveFlags::BENEATH,
    };
    let (flags, resolve) = (
        OFlags::PATH | OFlags::CLOEXEC,
        limit | ResolveFlags::NO_MAGICLINKS,
    );
    for _ in 0..RACES_MAX {
        match openat2(root, whole, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // An old kernel, or a seccomp filter that does not know this call.
            Err(Errno::NOSYS | Errno::PERM) => return walk(root, whole, bounds),
            found => return found,
        }
    }
    Err(Errno::AGAIN)
}

/// The same without `openat2`: each component is opened by itself without following it, and links are expanded in
/// user space.
pub(super) fn walk(root: &OwnedFd, path: &str, bounds: PathBounds) -> Result<OwnedFd, Errno> {
    let mut segments: VecDeque<Vec<u8>> = segments_of(path.as_bytes());
    // Directories from the root down to the current position.
    let mut way: Vec<OwnedFd> = Vec::new();
    let mut links = 0;
    while let Some(segment) = segments.pop_front() {
        match segment.as_slice() {
            b"" | b"." => continue,
            b".." => {
                if way.pop().is_none() && bounds == PathBounds::Beneath {
                    return Err(Errno::XDEV);
                }
                continue;
            }
            _ => {}
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = openat(
            way.last().unwrap_or(root),
            segment.as_slice(),
            flags,
            Mode::empty(),
        )?;
        if FileType::from_raw_mode(fstat(&next)?.st_mode) != FileType::Symlink {
            way.push(next);
            if way.len() > SEGMENTS_MAX {
                return Err(Errno::NAMETOOLONG);
            }
            continue;
        }
        links += 1;
        // Links of processes lead wherever these have been.
        if links > LINKS_MAX || file_system(&next)? == PROC {
            return Err(Errno::LOOP);
        }
        let target = readlinkat(&next, c"", Vec::new())?.into_bytes();
        if target.starts_with(b"/") {
            if bounds == PathBounds::Beneath {
                return Err(Errno::XDEV);
            }
            way.clear();
        }
        for inner in segments_of(&target).into_iter().rev() {
            segments.push_front(inner);
        }
        if segments.len() > SEGMENTS_MAX {
            return Err(Errno::NAMETOOLONG);
        }
    }
    match way.pop() {
        Some(found) => Ok(found),
        None => dup(root),
    }
}

fn segments_of(path: &[u8]) -> VecDeque<Vec<u8>> {
    path.split(|&byte| byte == b'/')
        .map(<[u8]>::to_vec)
        .collect()
}

fn file_system(handle: &OwnedFd) -> Result<u64, Errno> {
    Ok(u64::try_from(fstatfs(handle)?.f_type).unwrap_or(0))
}

/// Whether a file is on a virtual file system of the kernel.
pub(super) fn is_of_the_kernel(handle: &OwnedFd) -> Result<bool, Errno> {
    Ok(OF_THE_KERNEL.contains(&file_system(handle)?))
}
