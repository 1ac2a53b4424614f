//! The chart of the edge for Kubernetes.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;

use crate::guide;
use crate::release::{Release, copy, output, renew};

/// The version of Kubernetes that templates are rendered for; without one, helm takes a very old one.
const KUBERNETES: &str = "--kube-version=1.34.0";
/// In place of a name that only a cluster knows.
const ADDRESS: &str = "config.pools.app.servers={http://127.0.0.1:3000}";
/// Values that the schema refuses.
const WRONG: [&str; 5] = [
    "replicas=many",
    "containerPort=80",
    "config.listen=0.0.0.0:80",
    "image.digest=sha256:1",
    "servise.port=80",
];
/// Values of a larger setting.
const FURTHER: &str = "\
image: { repository: registry.example/plimsoll, digest: \
sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef }
imagePullSecrets: [{ name: pull }]
adminTokenSecret: { name: edge-admin, key: token }
podAnnotations: { a: b }
nodeSelector: { disk: ssd }
tolerations: [{ key: edge, operator: Exists }]
podDisruptionBudget: { minAvailable: 50% }
";

fn chart(release: &Release) -> String {
    format!("plimsoll-edge-{}.tgz", release.version)
}

fn helm(release: &Release) -> Command {
    let mut helm = Command::new(release.tool("helm"));
    // Nothing of the person who runs it.
    helm.env("HELM_CONFIG_HOME", release.staging())
        .env("HELM_CACHE_HOME", release.staging())
        .stdin(Stdio::null());
    helm
}

/// Packs the chart with the version of the workspace. Helm gives its files the time of the clock, so they are packed again
/// with that of the commit.
pub(crate) fn make(release: &Release) -> Result<()> {
    let staging = release.staging().join("helm");
    renew(&staging)?;
    execute(
        helm(release)
            .args(["package", "--version", &release.version])
            .args(["--app-version", &release.version, "--destination"])
            .arg(&staging)
            .arg(release.source("helm/plimsoll-edge"))
            .stdout(Stdio::null()),
    )?;
    execute(
        Command::new("tar")
            .args(["--extract", "--gzip", "--warning=no-timestamp", "--file"])
            .arg(staging.join(chart(release)))
            .arg("--directory")
            .arg(&staging),
    )?;
    release.pack(&staging, "plimsoll-edge", &release.file(&chart(release)))
}

/// Lints it, holds its pods against Kubernetes' own rules and its configuration against the edge's.
pub(crate) fn check(release: &Release) -> Result<()> {
    let packed = release.file(&chart(release));
    execute(
        helm(release)
            .args(["lint", "--strict", KUBERNETES])
            .arg(&packed),
    )?;
    let folder = release.try_folder()?;
    let further = folder.path().join("values.yaml");
    std::fs::write(&further, FURTHER)?;
    for values in [None, Some(&further)] {
        let mut template = helm(release);
        template
            .args(["template", "shop", KUBERNETES, "--set", ADDRESS])
            .arg(&packed);
        if let Some(values) = values {
            template.arg("--values").arg(values);
        }
        let manifests = output(&mut template)?;
        let file = folder.path().join("manifests.yaml");
        std::fs::write(&file, &manifests)?;
        execute(Command::new(release.tool("podsecurity")).stdin(std::fs::File::open(&file)?))?;
        let config = folder.path().join("edge.yaml");
        std::fs::write(&config, configuration(&manifests)?)?;
        execute(
            Command::new(release.stripped())
                .args(["edge", "check"])
                .arg(&config)
                .env("EDGE_ADMIN_TOKEN", "of-the-secret-in-the-cluster"),
        )?;
    }
    for wrong in WRONG {
        let mut template = helm(release);
        template
            .args(["template", "shop", KUBERNETES, "--set", wrong])
            .arg(&packed);
        let refused = output(&mut template).err();
        let message = refused.with_context(|| format!("the chart takes `{wrong}`"))?;
        let message = message.to_string();
        ensure!(message.contains("schema"), "`{wrong}`: {message}");
    }
    copy(&packed, &folder.path().join(chart(release)))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = vec![release.tool("")];
    folders.extend(std::env::split_paths(&path));
    execute(
        Command::new("sh")
            .args(["-euc", &guide::commands(release, "Kubernetes")?])
            .current_dir(folder.path())
            .env("PATH", std::env::join_paths(folders)?)
            .stdout(Stdio::null()),
    )
}

/// The edge's file in the rendered `ConfigMap`.
fn configuration(manifests: &str) -> Result<String> {
    let (_, rest) = manifests
        .split_once("  edge.yaml: |\n")
        .context("the manifests have no edge.yaml")?;
    let lines = rest.lines().take_while(|line| line.starts_with("    "));
    let lines: Vec<&str> = lines.map(|line| &line[4..]).collect();
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_file_of_the_edge_ends_where_the_next_document_begins() {
        let manifests =
            "a: 1\n  edge.yaml: |\n    listen: x\n    pools:\n      app: 1\n---\n    no: 1\n";
        assert_eq!(
            configuration(manifests).unwrap(),
            "listen: x\npools:\n  app: 1"
        );
        assert!(configuration("---\n").is_err());
    }

    #[test]
    fn the_schema_of_the_values_is_a_schema() {
        let schema = include_str!("../../../packaging/helm/plimsoll-edge/values.schema.json");
        let schema: Value = serde_json::from_str(schema).unwrap();
        assert!(jsonschema::draft7::meta::is_valid(&schema));
        assert!(jsonschema::validator_for(&schema).is_ok());
    }
}
