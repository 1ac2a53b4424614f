//! Reads the settings of certificates that are obtained by ACME.

use std::path::PathBuf;

use super::file::required;
use super::keywords::ACME;
use super::{Acme, AcmeCertificate, Certificate};
use crate::document::{DocumentNode, DocumentReader};

/// Default directory.
const DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// Maximum names per certificate, as certificate authorities accept it.
const NAMES_MAX: usize = 100;

/// Reads `acme:` of the file.
pub(super) fn acme(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    certificates: Vec<AcmeCertificate>,
) -> Option<Acme> {
    let fields = reader.fields(node, &ACME)?;
    let directory = fields.get("directory").and_then(|node| {
        let valid = "the https:// URL of the ACME directory";
        let url = reader.word(node, valid)?;
        let is_url = url::Url::parse(&url).is_ok_and(|url| url.scheme() == "https");
        if !is_url {
            reader.report(node, format!("`{url}` is not an https:// URL"), valid);
        }
        is_url.then_some(url)
    });
    let email = fields.get("email").and_then(|node| {
        let valid = "an email address such as ops@example.org";
        let email = reader.word(node, valid)?;
        let is_email = email
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
        let is_plain = email.bytes().all(|byte| byte.is_ascii_graphic());
        if !(is_email && is_plain) {
            reader.report(node, format!("`{email}` is not an email address"), valid);
        }
        (is_email && is_plain).then_some(email)
    });
    let ca = fields
        .get("ca")
        .and_then(|node| reader.word(node, "a PEM file"));
    let agreed = required(reader, &fields, "terms_agreed")
        .and_then(|node| reader.switch(node).map(|is| (node, is)));
    if let Some((node, false)) = agreed {
        reader.report(
            node,
            "the terms of the certificate authority are not accepted",
            "true, once you have read them",
        );
    }
    if certificates.is_empty() {
        reader.report(
            node,
            "`acme` is set, but no listener uses it",
            "listen: [{ address: 0.0.0.0:443, tls: [{ acme: [a.example] }] }]",
        );
    }
    Some(Acme {
        directory: directory.unwrap_or_else(|| DIRECTORY.to_owned()),
        email,
        ca: ca.map(PathBuf::from),
        state: PathBuf::new(),
        certificates,
    })
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
