//! Where a fragment is asked for: an address of the page's own host, or of another that somebody else must allow.

use url::Url;

/// A fragment's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The host, with its port when that is not the scheme's own.
    pub host: Box<str>,
    /// Path and query.
    pub target: Box<str>,
    /// Whether the page came from the same host and port.
    pub is_same_host: bool,
}

impl Address {
    /// What a reference in a page means (RFC 3986, 5). `host` and `target` are those that the page was asked for with.
    /// `None` when it is no address of a web server, or one with a user's name.
    pub fn resolve(host: &str, target: &str, reference: &str) -> Option<Self> {
        let base = Url::parse(&["http://", host, target].concat()).ok()?;
        let url = base.join(reference).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https");
        if !is_web || !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let is_same_host = url.host_str() == base.host_str() && url.port() == base.port();
        let host = match url.port() {
            _ if is_same_host => host.into(),
            None => url.host_str()?.into(),
            Some(port) => format!("{}:{port}", url.host_str()?).into_boxed_str(),
        };
        let target = match url.query() {
            None => url.path().into(),
            Some(query) => [url.path(), "?", query].concat().into_boxed_str(),
        };
        let is_visible = |text: &str| text.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        (is_visible(&host) && is_visible(&target) && target.starts_with('/')).then_some(Self {
            host,
            target,
            is_same_host,
        })
    }
}
