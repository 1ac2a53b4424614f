//! Virtual files of the kernel, by names built here from pids. Files named by other processes are opened only by
//! [`crate::untrusted`].

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Longest text read of one file, bytes. `/proc/net/tcp` of 30,000 sockets is 4.5 MB.
pub(crate) const TEXT_LEN_MAX: u64 = 8 << 20;

/// The text of a kernel file about a process, such as `/proc/7/status`; invalid UTF-8 is replaced.
pub(crate) fn text(path: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(TEXT_LEN_MAX)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where a link of the kernel leads, as text: of `/proc/7/fd/4`, `socket:[5]`.
pub(crate) fn link(path: &Path) -> Option<String> {
    let target = std::fs::read_link(path).ok()?;
    target.into_os_string().into_string().ok()
}

/// Names in a folder of the kernel.
pub(crate) fn names(path: &Path) -> io::Result<impl Iterator<Item = String> + use<>> {
    let entries = std::fs::read_dir(path)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
}

/// Where the links in a folder of the kernel lead.
pub(crate) fn links(path: &Path) -> io::Result<impl Iterator<Item = String> + use<>> {
    let folder = path.to_owned();
    Ok(names(path)?.filter_map(move |name| link(&folder.join(name))))
}

/// The size of a folder of the kernel, which is the number of its entries since Linux 6.2; 0 before.
pub(crate) fn len(path: &Path) -> io::Result<u64> {
    Ok(std::fs::metadata(path)?.size())
}
