//! Words about encryption, towards clients and towards servers.

use crate::plan::keywords::Shape::{OneOrMore, Switch, Text};
use crate::plan::keywords::{KeywordTable, word};

/// A certificate and its key.
pub(crate) static CERTIFICATE: KeywordTable = KeywordTable {
    name: "certificate",
    meaning: "A certificate and its key.",
    words: &[
        word!("cert", Text, "PEM file of the chain."),
        word!("key", Text, "PEM file of the private key."),
        word!(
            "acme",
            OneOrMore(&Text),
            "Or the names that a certificate is obtained for, by `acme` of the file."
        ),
    ],
};

/// Certificates that are obtained.
pub(crate) static ACME: KeywordTable = KeywordTable {
    name: "acme",
    meaning: "How certificates are obtained by ACME. Names are proven in the handshake (TLS-ALPN-01): the listener is reached at port 443.",
    words: &[
        word!(
            "directory",
            Text,
            "URL of the authority's directory; that of Let's Encrypt."
        ),
        word!("email", Text, "Whom the authority writes to."),
        word!(
            "ca",
            Text,
            "PEM file of who vouches for the authority; by default the roots of the system."
        ),
        word!(
            "terms_agreed",
            Switch,
            "That you agree to the authority's terms; must be `true`."
        ),
    ],
};

/// Encryption towards servers.
pub(crate) static SERVER_TLS: KeywordTable = KeywordTable {
    name: "server_tls",
    meaning: "How servers behind `https://` are spoken to.",
    words: &[
        word!(
            "ca",
            Text,
            "PEM file of who vouches for them; by default the roots of the system."
        ),
        word!(
            "name",
            Text,
            "The name that is asked for and that their certificates must have; the URL's host."
        ),
        word!(
            "insecure",
            Switch,
            "Their certificates are not checked: whoever stands between can read and change everything; false."
        ),
    ],
};
