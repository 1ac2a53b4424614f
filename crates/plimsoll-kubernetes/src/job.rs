//! The Jobs of a load's workers.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use plimsoll_model::worker::WORKERS_MAX;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::names::{NameError, is_dns_label, region_labels};
use crate::yaml;

/// Key of the token in its Secret.
pub const TOKEN_KEY: &str = "token";

/// Name of the Jobs of a load, and of its Secret.
const NAME: &str = "plimsoll-workers";
/// Longest name of a Job, characters: a worker's host name, which has its index behind it, has 63 at most.
const NAME_MAX: usize = 59;
/// Folder in which a worker finds the token.
const TOKEN_FOLDER: &str = "/run/plimsoll";
/// The user without rights of the image, and its group.
const USER: u32 = 65532;
/// File mode of the token: its group reads it, which is the worker's.
const TOKEN_MODE: u32 = 0o440;
/// Ports towards a target that a pod may use; the kernel's default has less than half of them. The system's own setting, but
/// each pod has its own, and every cluster regards it as safe.
const PORTS: &str = "1024 65535";
/// How long an ended Job stays, to be looked at, s.
const KEPT_S: u32 = 600;
/// How long a worker may take to end, s.
const END_S: u32 = 10;
/// Label of all that belongs to a load.
const LOAD_LABEL: &str = "plimsoll-load";
/// Label with the region of a worker.
const REGION_LABEL: &str = "plimsoll-region";

/// What the Jobs of a load are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOptions {
    /// The namespace; `None` for the one of whoever creates them.
    pub namespace: Option<String>,
    /// The image with this program.
    pub image: String,
    /// How many workers.
    pub workers: u32,
    /// Event loops of each, for which it has as many CPUs.
    pub loops: u32,
    /// Memory of each, bytes.
    pub memory_bytes: u64,
    /// Labels that its node bears.
    pub node_selector: BTreeMap<String, String>,
    /// Where workers are wanted; `None` for anywhere.
    pub regions: Option<RegionLabels>,
    /// Where they dial, `HOST:PORT`.
    pub join: String,
    /// Whether the user has confirmed that the targets are theirs, which public addresses need.
    pub owns_targets: bool,
    /// The cluster ends a Job after this time, from its start on.
    pub deadline: Duration,
}

/// The label of nodes that names their region, and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionLabels {
    /// Its key.
    pub key: String,
    /// Regions, among which workers are dealt in turn.
    pub values: Vec<String>,
}

/// Of `LABEL=VALUE,VALUE…`.
impl FromStr for RegionLabels {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (key, values) = region_labels(text)?;
        Ok(Self { key, values })
    }
}

/// Why there are no Jobs for these options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JobsError {
    /// Fewer workers than regions.
    #[error(
        "--workers {workers} is less than the {regions} regions; valid: {regions} to {WORKERS_MAX}"
    )]
    FewerThanRegions {
        /// Workers.
        workers: u32,
        /// Regions.
        regions: usize,
    },
    /// A region was named twice, or none.
    #[error(
        "--regions names no region, or one twice; valid: LABEL=VALUE,VALUE… with different values"
    )]
    Regions,
}

/// The Jobs of a load, and the Secret that they mount.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerJobs {
    /// Name of the Secret, which has the token under [`TOKEN_KEY`].
    pub secret: String,
    /// The Jobs, one for each region.
    pub jobs: Vec<WorkerJob>,
}

/// A Job.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerJob {
    /// Its name. Its workers have the name of their host, which is this name and their index.
    pub name: String,
    /// How many workers.
    pub workers: u32,
    /// It, as the API takes it.
    pub document: Value,
}

impl WorkerJobs {
    /// The Jobs for these options.
    ///
    /// # Errors
    /// When workers cannot be dealt to the regions.
    pub fn new(options: &JobOptions) -> Result<Self, JobsError> {
        let jobs = parts(options)?.into_iter().map(|part| WorkerJob {
            document: job(options, &part),
            name: part.name,
            workers: part.workers,
        });
        Ok(Self {
            secret: NAME.to_owned(),
            jobs: jobs.collect(),
        })
    }

    /// The Jobs as one stream of YAML.
    pub fn yaml(&self) -> String {
        let documents = self.jobs.iter().map(|job| yaml::document(&job.document));
        documents.collect::<Vec<_>>().join("---\n")
    }
}

/// A Job's part of the workers.
#[derive(Debug)]
struct JobPart<'a> {
    name: String,
    workers: u32,
    /// Its region, as the value of a label of nodes.
    region: Option<(&'a str, &'a str)>,
}

/// Deals the workers to the regions in turn.
fn parts(options: &JobOptions) -> Result<Vec<JobPart<'_>>, JobsError> {
    let workers = options.workers;
    let Some(RegionLabels { key, values }) = &options.regions else {
        return Ok(vec![JobPart {
            name: NAME.to_owned(),
            workers,
            region: None,
        }]);
    };
    let is_twice = |(index, value): (usize, &String)| values[..index].contains(value);
    if values.is_empty() || values.iter().enumerate().any(is_twice) {
        return Err(JobsError::Regions);
    }
    let regions = values.len();
    let count = u32::try_from(regions).unwrap_or(u32::MAX);
    if workers < count {
        return Err(JobsError::FewerThanRegions { workers, regions });
    }
    let mut parts: Vec<JobPart<'_>> = Vec::with_capacity(regions);
    for (number, value) in (0..count).zip(values) {
        let further = u32::from(number < workers % count);
        parts.push(JobPart {
            name: job_name(&parts, value),
            workers: workers / count + further,
            region: Some((key.as_str(), value.as_str())),
        });
    }
    Ok(parts)
}

/// A name that shows the region where it can, and that no other Job has.
fn job_name(others: &[JobPart<'_>], region: &str) -> String {
    let region = region.to_ascii_lowercase().replace(['.', '_'], "-");
    let numbered = (1..).map(|number: u32| format!("{NAME}-{number}"));
    let mut names = std::iter::once(format!("{NAME}-{region}")).chain(numbered);
    let is_free = |name: &String| {
        let is_name = is_dns_label(name) && name.len() <= NAME_MAX;
        is_name && others.iter().all(|other| other.name != *name)
    };
    names.find(is_free).unwrap_or_else(|| NAME.to_owned())
}

fn job(options: &JobOptions, part: &JobPart<'_>) -> Value {
    let mut metadata = json!({ "name": part.name, "labels": labels(part) });
    if let Some(namespace) = &options.namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": part.workers,
            "parallelism": part.workers,
            // A part of a load is never begun twice: whatever ends a pod ends its index, and no other.
            "backoffLimitPerIndex": 0,
            "podFailurePolicy": { "rules": [
                {
                    "action": "FailIndex",
                    "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
                },
                {
                    "action": "FailIndex",
                    "onExitCodes": { "containerName": "worker", "operator": "NotIn", "values": [0] },
                },
            ] },
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": options.deadline.as_secs().max(1),
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {
                "metadata": { "labels": labels(part) },
                "spec": pod(options, part),
            },
        },
    })
}

fn labels(part: &JobPart<'_>) -> Value {
    let mut labels = Map::new();
    labels.insert(
        "app.kubernetes.io/name".to_owned(),
        json!("plimsoll-worker"),
    );
    labels.insert(LOAD_LABEL.to_owned(), json!(NAME));
    if let Some((_, region)) = part.region {
        labels.insert(REGION_LABEL.to_owned(), json!(region));
    }
    Value::Object(labels)
}

fn pod(options: &JobOptions, part: &JobPart<'_>) -> Value {
    let mut node_selector = options.node_selector.clone();
    node_selector.insert("kubernetes.io/os".to_owned(), "linux".to_owned());
    if let Some((key, value)) = part.region {
        node_selector.insert(key.to_owned(), value.to_owned());
    }
    json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": END_S,
        // A worker speaks with its coordinator and its targets, and with nobody in the cluster.
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": { "type": "RuntimeDefault" },
            "sysctls": [{ "name": "net.ipv4.ip_local_port_range", "value": PORTS }],
        },
        "containers": [container(options, part)],
        "volumes": [{
            "name": "token",
            "secret": {
                "secretName": NAME,
                "items": [{ "key": TOKEN_KEY, "path": TOKEN_KEY }],
                "defaultMode": TOKEN_MODE,
            },
        }],
        "nodeSelector": node_selector,
        // Each on a node of its own while there are some: two on one share its network card.
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": { LOAD_LABEL: NAME } },
        }],
    })
}

fn container(options: &JobOptions, part: &JobPart<'_>) -> Value {
    // Limits that are the requests: nobody else's load slows a worker down.
    let resources = json!({
        "cpu": options.loops.to_string(),
        "memory": quantity(options.memory_bytes),
    });
    json!({
        "name": "worker",
        "image": options.image,
        "args": arguments(options, part),
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
        "resources": { "limits": resources, "requests": resources },
        "volumeMounts": [{ "name": "token", "mountPath": TOKEN_FOLDER, "readOnly": true }],
    })
}

fn arguments(options: &JobOptions, part: &JobPart<'_>) -> Vec<String> {
    let token = format!("{TOKEN_FOLDER}/{TOKEN_KEY}");
    // A `$` begins the name of a variable there.
    let join = options.join.replace('$', "$$");
    let words = ["worker", "--join", &join, "--token-file", &token];
    let mut words = Vec::from(words.map(str::to_owned));
    if let Some((_, region)) = part.region {
        words.extend(["--region", region].map(str::to_owned));
    }
    if options.owns_targets {
        words.push("--i-own-this".to_owned());
    }
    words
}

/// A number of bytes as Kubernetes writes it.
fn quantity(bytes: u64) -> String {
    const MI: u64 = 1 << 20;
    if bytes.is_multiple_of(MI) {
        format!("{}Mi", bytes / MI)
    } else {
        bytes.to_string()
    }
}

#[cfg(test)]
mod tests;
