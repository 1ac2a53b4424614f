//! Arguments of workers in a cluster of Kubernetes.

use clap::Args;
use plimsoll_config::{Problem, units};
use plimsoll_kubernetes::{NameError, RegionLabels};

/// Least and most memory of a worker, bytes.
const MEMORY_LEAST: u64 = 64 << 20;
const MEMORY_MOST: u64 = 1 << 40;

/// The pods of `--on kubernetes`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct KubernetesArguments {
    /// Print the Indexed Jobs of --on kubernetes as YAML, for kubectl or a repository, and end
    #[arg(long, requires = "on")]
    pub(crate) print_job: bool,
    /// Image of this program, which no public registry has: push that of a release to yours
    #[arg(long, value_name = "IMAGE", value_parser = plimsoll_kubernetes::image, requires = "on")]
    pub(crate) image: Option<String>,
    /// Namespace of the Jobs [default: that of whoever creates them]
    #[arg(long, value_name = "NAME", value_parser = plimsoll_kubernetes::namespace, requires = "on")]
    pub(crate) namespace: Option<String>,
    /// Label of the nodes on which workers run; repeatable
    #[arg(long, value_name = "LABEL=VALUE", value_parser = plimsoll_kubernetes::label, requires = "on")]
    pub(crate) node_selector: Vec<(String, String)>,
    /// Deal the workers to these regions, which a label of nodes names: topology.kubernetes.io/region=eu-west-1,us-east-1
    #[arg(long, value_name = "LABEL=VALUE,VALUE", value_parser = region_labels, requires = "on")]
    pub(crate) regions: Option<RegionLabels>,
    /// Memory of each worker [default: 256MiB, and as much for each of its --cores]
    #[arg(long, value_name = "SIZE", value_parser = memory, requires = "on")]
    pub(crate) worker_memory: Option<u64>,
}

impl KubernetesArguments {
    /// The first flag of these that was given.
    pub(crate) fn first_flag(&self) -> Option<&'static str> {
        let flags = [
            (self.print_job, "--print-job"),
            (self.image.is_some(), "--image"),
            (self.namespace.is_some(), "--namespace"),
            (!self.node_selector.is_empty(), "--node-selector"),
            (self.regions.is_some(), "--regions"),
            (self.worker_memory.is_some(), "--worker-memory"),
        ];
        let given = flags.into_iter().find(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag)
    }
}

fn region_labels(text: &str) -> Result<RegionLabels, NameError> {
    text.parse()
}

fn memory(text: &str) -> Result<u64, Problem> {
    let size = units::size(text)?;
    if (MEMORY_LEAST..=MEMORY_MOST).contains(&size) {
        return Ok(size);
    }
    let message = "out of range";
    Err(Problem::new(text, 0..text.len(), message, "64MiB to 1TiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_range() {
        assert_eq!(memory("1GiB"), Ok(1 << 30));
        for text in ["63MiB", "2TiB"] {
            assert!(
                memory(text)
                    .unwrap_err()
                    .to_string()
                    .contains("64MiB to 1TiB"),
                "{text}"
            );
        }
    }
}
