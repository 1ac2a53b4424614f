//! Address of a fragment: on the page's own host, or on another that must be allowed explicitly.

use url::Url;

/// A fragment's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The host, with its port unless it is the scheme's default.
    pub host: Box<str>,
    /// Path and query.
    pub target: Box<str>,
    /// Whether the page came from the same host and port.
    pub is_same_host: bool,
}

impl Address {
    /// Resolves a reference of a page (RFC 3986, 5). `host` and `target` are those of the page's request. `None` when
    /// it is not an http(s) address, or contains a user name.
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
