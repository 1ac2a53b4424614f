//! The charts for Kubernetes: of the edge, and of an agent on every node.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;

use crate::guide;
use crate::release::{Release, copy, output, renew};

/// The version of Kubernetes that templates are rendered for; without one, helm takes a very old one.
const KUBERNETES: &str = "--kube-version=1.34.0";

/// A chart, and what it is held against.
struct Chart {
    /// Its name, which is that of its folder.
    name: &'static str,
    /// A value in place of what only a cluster knows.
    set: Option<&'static str>,
    /// Values of a larger setting.
    further: &'static str,
    /// Values that the schema refuses.
    wrong: &'static [&'static str],
    /// Why the level restricted may forbid its pods: what they cannot work without.
    exceptions: &'static [&'static str],
    /// Has the program read what the manifests have for it, in this folder.
    try_program: fn(&Release, &str, &Path) -> Result<()>,
}

const CHARTS: [Chart; 2] = [EDGE, AGENT];

const EDGE: Chart = Chart {
    name: "plimsoll-edge",
    set: Some("config.pools.app.servers={http://127.0.0.1:3000}"),
    further: "\
image: { repository: registry.example/plimsoll, digest: \
sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef }
imagePullSecrets: [{ name: pull }]
adminTokenSecret: { name: edge-admin, key: token }
podAnnotations: { a: b }
nodeSelector: { disk: ssd }
tolerations: [{ key: edge, operator: Exists }]
podDisruptionBudget: { minAvailable: 50% }
",
    wrong: &[
        "replicas=many",
        "containerPort=80",
        "config.listen=0.0.0.0:80",
        "image.digest=sha256:1",
        "servise.port=80",
    ],
    exceptions: &[],
    try_program: try_edge,
};

const AGENT: Chart = Chart {
    name: "plimsoll-agent",
    set: None,
    further: "\
image: { repository: registry.example/plimsoll, digest: \
sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef }
imagePullSecrets: [{ name: pull }]
identitySecret: agents.of-the-shop
port: 19192
podAnnotations: { a: b }
podLabels: { c: d }
nodeSelector: { disk: ssd }
tolerations: [{ operator: Exists }]
",
    wrong: &[
        "port=80",
        "identitySecret=",
        "image.digest=sha256:1",
        "replicas=2",
    ],
    // It reads the processes and sockets of its node, those of all users.
    exceptions: &[
        "host namespaces",
        "non-default capabilities",
        "unrestricted capabilities",
        "runAsNonRoot != true",
        "runAsUser=0",
    ],
    try_program: try_agent,
};

impl Chart {
    fn file(&self, release: &Release) -> String {
        format!("{}-{}.tgz", self.name, release.version)
    }

    /// Packs it with the version of the workspace. Helm gives its files the time of the clock, so they are packed again with
    /// that of the commit.
    fn make(&self, release: &Release) -> Result<()> {
        let staging = release.staging().join("helm").join(self.name);
        renew(&staging)?;
        execute(
            helm(release)
                .args(["package", "--version", &release.version])
                .args(["--app-version", &release.version, "--destination"])
                .arg(&staging)
                .arg(release.source(&format!("helm/{}", self.name)))
                .stdout(Stdio::null()),
        )?;
        execute(
            Command::new("tar")
                .args(["--extract", "--gzip", "--warning=no-timestamp", "--file"])
                .arg(staging.join(self.file(release)))
                .arg("--directory")
                .arg(&staging),
        )?;
        release.pack(&staging, self.name, &release.file(&self.file(release)))
    }

    /// Lints it, and holds its pods against Kubernetes' own rules and what they have for the program against that.
    fn check(&self, release: &Release, folder: &Path) -> Result<()> {
        let packed = release.file(&self.file(release));
        execute(
            helm(release)
                .args(["lint", "--strict", KUBERNETES])
                .arg(&packed),
        )?;
        let further = folder.join("values.yaml");
        std::fs::write(&further, self.further)?;
        for values in [None, Some(&further)] {
            let mut template = self.template(release, self.set);
            if let Some(values) = values {
                template.arg("--values").arg(values);
            }
            let manifests = output(&mut template)?;
            let file = folder.join("manifests.yaml");
            std::fs::write(&file, &manifests)?;
            execute(
                Command::new(release.tool("podsecurity"))
                    .args(self.exceptions)
                    .stdin(std::fs::File::open(&file)?),
            )?;
            (self.try_program)(release, &manifests, folder)?;
        }
        for &wrong in self.wrong {
            let refused = output(&mut self.template(release, Some(wrong))).err();
            let message = refused.with_context(|| format!("{} takes `{wrong}`", self.name))?;
            let message = message.to_string();
            ensure!(message.contains("schema"), "`{wrong}`: {message}");
        }
        Ok(())
    }

    fn template(&self, release: &Release, set: Option<&str>) -> Command {
        let mut template = helm(release);
        template.args(["template", "shop", KUBERNETES]);
        if let Some(set) = set {
            template.args(["--set", set]);
        }
        template.arg(release.file(&self.file(release)));
        template
    }
}

fn helm(release: &Release) -> Command {
    let mut helm = Command::new(release.tool("helm"));
    // Nothing of the person who runs it.
    helm.env("HELM_CONFIG_HOME", release.staging())
        .env("HELM_CACHE_HOME", release.staging())
        .stdin(Stdio::null());
    helm
}

/// Packs both.
pub(crate) fn make(release: &Release) -> Result<()> {
    CHARTS.iter().try_for_each(|chart| chart.make(release))
}

/// Checks both, and runs the commands of the guide on them.
pub(crate) fn check(release: &Release) -> Result<()> {
    let folder = release.try_folder()?;
    for chart in &CHARTS {
        chart.check(release, folder.path())?;
        let file = chart.file(release);
        copy(&release.file(&file), &folder.path().join(&file))?;
    }
    check_jobs(release, folder.path())?;
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

/// Holds the Jobs that the program prints against Kubernetes' own rules, without exceptions.
fn check_jobs(release: &Release, folder: &Path) -> Result<()> {
    for further in [
        &[
            "--namespace=load",
            "--node-selector=pool=load",
            "--regions=topology.kubernetes.io/region=eu,us",
        ][..],
        &[],
    ] {
        let mut command = Command::new(release.stripped());
        command
            .args([
                "run",
                "http://10.0.0.9:3000/",
                "--on",
                "kubernetes",
                "--print-job",
            ])
            .args([
                "--workers=3",
                "--on-address=10.0.0.5:7400",
                "--image=registry.example/plimsoll:1",
            ])
            .args(further);
        let file = folder.join("jobs.yaml");
        std::fs::write(&file, output(&mut command)?)?;
        execute(Command::new(release.tool("podsecurity")).stdin(std::fs::File::open(&file)?))?;
    }
    Ok(())
}

/// Has the edge check its configuration.
fn try_edge(release: &Release, manifests: &str, folder: &Path) -> Result<()> {
    let config = folder.join("edge.yaml");
    std::fs::write(&config, configuration(manifests)?)?;
    execute(
        Command::new(release.stripped())
            .args(["edge", "check"])
            .arg(&config)
            .env("EDGE_ADMIN_TOKEN", "of-the-secret-in-the-cluster"),
    )
}

/// Has the agent invite by its arguments, into the folder whose content the secret has.
fn try_agent(release: &Release, manifests: &str, folder: &Path) -> Result<()> {
    execute(
        Command::new(release.stripped())
            .args(arguments(manifests)?)
            .arg("--invite")
            .env("STATE_DIRECTORY", folder.join("identity"))
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )?;
    let identity = folder.join("identity/agent.json");
    ensure!(identity.exists(), "no identity for the secret");
    Ok(())
}

/// The arguments of the first container, with the name of a node.
fn arguments(manifests: &str) -> Result<Vec<String>> {
    let mut lines = manifests.lines().map(str::trim);
    let list = lines
        .find_map(|line| line.strip_prefix("args: [")?.strip_suffix(']'))
        .context("the manifests have no arguments")?;
    let words = list.split(',').map(|word| word.trim().trim_matches('"'));
    Ok(words
        .map(|word| word.replace("$(NODE_NAME)", "node-1.internal"))
        .collect())
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
    fn the_arguments_of_an_agent_are_those_of_its_container() {
        let manifests = "    - name: agent\n      args: [agent, --listen, \"0.0.0.0:9192\", --name, $(NODE_NAME)]\n";
        let right = [
            "agent",
            "--listen",
            "0.0.0.0:9192",
            "--name",
            "node-1.internal",
        ];
        assert_eq!(arguments(manifests).unwrap(), right);
        assert!(arguments("kind: Secret\n").is_err());
    }

    #[test]
    fn the_schemas_of_the_values_are_schemas() {
        for schema in [
            include_str!("../../../packaging/helm/plimsoll-edge/values.schema.json"),
            include_str!("../../../packaging/helm/plimsoll-agent/values.schema.json"),
        ] {
            let schema: Value = serde_json::from_str(schema).unwrap();
            assert!(jsonschema::draft7::meta::is_valid(&schema));
            assert!(jsonschema::validator_for(&schema).is_ok());
        }
    }
}
