//! Keys of TLS, for listeners and for upstream servers.

use crate::document::Shape::{OneOrMore, Switch, Text};
use crate::document::{KeywordTable, word};

/// A certificate and its key.
pub(crate) static CERTIFICATE: KeywordTable = KeywordTable {
    name: "certificate",
    meaning: "A certificate and its private key.",
    words: &[
        word!("cert", Text, "PEM file of the certificate chain."),
        word!("key", Text, "PEM file of the private key."),
        word!(
            "acme",
            OneOrMore(&Text),
            "Or the names of a certificate that is obtained by ACME; see the key `acme` of the file."
        ),
    ],
};

/// ACME.
pub(crate) static ACME: KeywordTable = KeywordTable {
    name: "acme",
    meaning: "How certificates are obtained by ACME. Names are validated in the TLS handshake (TLS-ALPN-01), so the listener must be reachable at port 443.",
    words: &[
        word!(
            "directory",
            Text,
            "URL of the ACME directory. Default: that of Let's Encrypt."
        ),
        word!(
            "email",
            Text,
            "Contact address for the certificate authority."
        ),
        word!(
            "ca",
            Text,
            "PEM file of the CA certificates trusted for the ACME server. Default: those of the system."
        ),
        word!(
            "terms_agreed",
            Switch,
            "Agreement to the terms of the certificate authority; must be `true`."
        ),
    ],
};

/// TLS of upstream servers.
pub(crate) static SERVER_TLS: KeywordTable = KeywordTable {
    name: "server_tls",
    meaning: "TLS settings for `https://` servers.",
    words: &[
        word!(
            "ca",
            Text,
            "PEM file of the trusted CA certificates. Default: those of the system."
        ),
        word!(
            "name",
            Text,
            "Server name that is sent (SNI) and that the certificate must match. Default: the host of the URL."
        ),
        word!(
            "insecure",
            Switch,
            "Disables verification of certificates: anyone on the network path can read and change the traffic. Default: false."
        ),
    ],
};
