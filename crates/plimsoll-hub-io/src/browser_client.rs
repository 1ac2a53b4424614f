//! The hub's client for browsers, and its types: served beside the hub.

use std::sync::LazyLock;

use ring::digest;

/// A public static file.
#[derive(Debug)]
pub struct File {
    /// Value of `Content-Type`.
    pub media_type: &'static str,
    /// The file.
    pub content: &'static str,
    /// Entity tag of the content, quoted.
    pub tag: String,
}

static SCRIPT: LazyLock<File> = LazyLock::new(|| File {
    media_type: "text/javascript; charset=utf-8",
    content: include_str!("browser_client/client.js"),
    tag: tag(include_str!("browser_client/client.js")),
});

static TYPES: LazyLock<File> = LazyLock::new(|| File {
    media_type: "text/plain; charset=utf-8",
    content: include_str!("browser_client/client.d.ts"),
    tag: tag(include_str!("browser_client/client.d.ts")),
});

/// The file of a name.
pub fn file(name: &str) -> Option<&'static File> {
    match name {
        "client.js" => Some(&SCRIPT),
        "client.d.ts" => Some(&TYPES),
        _ => None,
    }
}

fn tag(content: &str) -> String {
    let digest = digest::digest(&digest::SHA256, content.as_bytes());
    let start = digest.as_ref().first_chunk().copied().unwrap_or_default();
    format!("\"{:016x}\"", u64::from_be_bytes(start))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Size limit of the browser client, compressed, bytes.
    const SCRIPT_LEN_MAX: usize = 3 * 1024;

    #[test]
    fn the_client_is_small() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(SCRIPT.content.as_bytes()).unwrap();
        let len = packer.finish().unwrap().len();
        assert!(len <= SCRIPT_LEN_MAX, "{len} bytes");
        assert_ne!(SCRIPT.tag, TYPES.tag);
        assert!(file("client.ts").is_none());
    }
}
