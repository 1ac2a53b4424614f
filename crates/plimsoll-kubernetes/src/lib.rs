//! Workers of a load in a cluster of Kubernetes: Indexed Jobs of the ordinary API, without an operator or a kind of our own.
//!
//! Each index of a Job is one worker: a pod that is never started twice (`backoffLimitPerIndex: 0`, and a failure policy
//! that fails its index alone), with limits that are its requests, without the token of a service account, and within the
//! level "restricted" of Kubernetes' pod security standards. It dials the coordinator as every worker does, with a token
//! from a Secret, which is named here and never part of a document.
//!
//! Where workers are wanted in several regions, each has a Job of its own, whose nodes bear the region as a label.
//!
//! What never fails to hold: the documents are functions of their options; no document contains a secret; every Job has a
//! deadline, and is removed by the cluster when it has ended.

mod job;
mod names;
mod yaml;

pub use job::{JobOptions, JobsError, RegionLabels, TOKEN_KEY, WorkerJob, WorkerJobs};
pub use names::{NameError, image, label, namespace};
