//! A certificate for the servers of a measurement.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;
use plimsoll_harness::step::execute;

/// Makes `cert.pem`, `key.pem`, and `both.pem`: signed by itself, with a key on the curve that all of the programs prefer.
pub(crate) fn make(folder: &Path) -> Result<()> {
    let subject = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    execute(
        Command::new("openssl")
            .args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"])
            .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-subj", "/CN=localhost", "-addext", subject])
            .args(["-keyout", "key.pem", "-out", "cert.pem"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null()),
    )?;
    let read = |name: &str| std::fs::read(folder.join(name));
    let both = [read("cert.pem")?, read("key.pem")?].concat();
    Ok(std::fs::write(folder.join("both.pem"), both)?)
}
