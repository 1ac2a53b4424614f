//! Certificates that are obtained by ACME.

use std::path::{Path, PathBuf};

use super::file::required;
use super::{Certificate, EdgeConfig};
use crate::document::Shape::Switch;
use crate::document::{
    DocumentNode, DocumentReader, MapFields, SettingsMap as _, file, settings, text,
};

settings! {
    /// How certificates are obtained by ACME. Names are validated in the TLS handshake (TLS-ALPN-01), so the listener
    /// must be reachable at port 443.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Acme, ACME "acme" {
        /// URL of the ACME directory. Default: that of Let's Encrypt.
        directory: String = DIRECTORY.to_owned(),
            "directory": text("the https:// URL of the ACME directory").that(is_https, "an https:// URL");
        /// Contact address for the certificate authority.
        email: Option<String> = None,
            "email": text("an email address such as ops@example.org").that(is_email, "an email address");
        /// PEM file of the CA certificates trusted for the ACME server. Default: those of the system.
        ca: Option<PathBuf> = None, "ca": file("a PEM file");
        /// Agreement to the terms of the certificate authority; must be `true`.
        "terms_agreed": Switch;
        /// Folder of the account and the certificates.
        state: PathBuf = PathBuf::new();
        /// Certificates that listeners use.
        certificates: Vec<AcmeCertificate> = Vec::new();
    }
}

/// A certificate that is obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeCertificate {
    /// Its DNS names.
    pub names: Vec<String>,
    /// Its files.
    pub files: Certificate,
}

/// Default directory.
const DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// Maximum names per certificate, as certificate authorities accept it.
const NAMES_MAX: usize = 100;

impl EdgeConfig {
    /// Sets the folder of ACME files; until then they have relative names only.
    pub fn keep_state_in(&mut self, folder: &Path) {
        let Some(acme) = &mut self.acme else {
            return;
        };
        folder.clone_into(&mut acme.state);
        let certificates = folder.join("certificates");
        let place = |files: &mut Certificate| {
            files.cert = certificates.join(&files.cert);
            files.key = certificates.join(&files.key);
        };
        let listed = self
            .listen
            .iter_mut()
            .flat_map(|listener| &mut listener.tls);
        for files in listed.filter(|files| {
            acme.certificates
                .iter()
                .any(|certificate| certificate.files == **files)
        }) {
            place(files);
        }
        for certificate in &mut acme.certificates {
            place(&mut certificate.files);
        }
    }
}

/// Reads `acme:` of the file; `wanted` are the certificates of its listeners.
pub(super) fn acme(
    reader: &DocumentReader<'_>,
    file: &MapFields<'_>,
    wanted: Vec<AcmeCertificate>,
) -> Option<Acme> {
    let Some(node) = file.get("acme") else {
        if !wanted.is_empty() && !file.misspells(&["acme"]) {
            let message = "`acme` is missing, but a listener uses it";
            reader.report(file.node, message, "acme: { terms_agreed: true }");
        }
        return None;
    };
    let fields = reader.fields(node, &ACME)?;
    let agreed = required(reader, &fields, "terms_agreed")
        .and_then(|node| reader.switch(node).map(|is| (node, is)));
    if let Some((node, false)) = agreed {
        reader.report(
            node,
            "the terms of the certificate authority are not accepted",
            "true, once you have read them",
        );
    }
    if wanted.is_empty() {
        reader.report(
            node,
            "`acme` is set, but no listener uses it",
            "listen: [{ address: 0.0.0.0:443, tls: [{ acme: [a.example] }] }]",
        );
    }
    Some(Acme {
        certificates: wanted,
        ..Acme::read(reader, &fields)
    })
}

fn is_https(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| url.scheme() == "https")
}

fn is_email(text: &str) -> bool {
    let is_address = text
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    is_address && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Reads `acme:` of a listener's certificate: the names that it is for.
pub(super) fn certificate(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    wanted: &mut Vec<AcmeCertificate>,
) -> Option<Certificate> {
    let valid = "host names such as a.example, fully qualified";
    let mut names: Vec<String> = Vec::new();
    for item in reader.one_or_more(node) {
        let name = reader.word(item, valid)?.to_ascii_lowercase();
        if name.starts_with("*.") {
            let message =
                format!("`{name}` cannot be validated: wildcards need the DNS-01 challenge");
            reader.report(item, message, "each host by its full name");
            return None;
        }
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let is_name = name.len() <= 253 && name.contains('.') && name.split('.').all(is_label);
        if !is_name || name.parse::<std::net::IpAddr>().is_ok() {
            reader.report(item, format!("`{name}` is not a public DNS name"), valid);
            return None;
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() || names.len() > NAMES_MAX {
        reader.report(
            node,
            format!("{} names exceed the limit of one certificate", names.len()),
            "1 to 100 names",
        );
        return None;
    }
    let files = Certificate {
        cert: PathBuf::from(format!("{}.pem", names[0])),
        key: PathBuf::from(format!("{}.key", names[0])),
    };
    match wanted.iter().find(|existing| existing.files == files) {
        Some(existing) if existing.names == names => {}
        Some(_) => {
            let message = format!("two certificates have the same first name `{}`", names[0]);
            reader.report(
                node,
                message,
                "identical lists of names, or a different first name",
            );
        }
        None => wanted.push(AcmeCertificate {
            names,
            files: files.clone(),
        }),
    }
    Some(files)
}
