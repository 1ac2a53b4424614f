//! The documents, against the types of the published API and one that was read by hand.

use k8s_openapi::api::batch::v1::Job;
use proptest::prelude::*;

use super::*;

fn options() -> JobOptions {
    JobOptions {
        namespace: Some("load".to_owned()),
        image: "registry.example/plimsoll:0.2.0".to_owned(),
        workers: 5,
        loops: 2,
        memory_bytes: 768 << 20,
        node_selector: BTreeMap::from([("pool".to_owned(), "load".to_owned())]),
        regions: Some(regions(&["eu-west-1", "us_1"])),
        join: "10.0.0.5:7400".to_owned(),
        owns_targets: true,
        deadline: Duration::from_mins(45),
    }
}

fn regions(values: &[&str]) -> RegionLabels {
    let values = values.iter().copied().map(str::to_owned);
    RegionLabels {
        key: "topology.kubernetes.io/region".to_owned(),
        values: values.collect(),
    }
}

#[test]
fn a_job_is_the_one_that_was_read_by_hand() {
    let jobs = WorkerJobs::new(&options()).unwrap();
    assert_eq!(jobs.secret, "plimsoll-workers");
    let yaml = jobs.yaml();
    let (first, second) = yaml.split_once("---\n").unwrap();
    assert_eq!(first, include_str!("workers.yaml"));
    assert!(
        second.contains("\n  name: plimsoll-workers-us-1\n"),
        "{second}"
    );
    assert!(second.contains("\n  completions: 2\n"), "{second}");
    assert!(second.contains("plimsoll-region: us_1\n"), "{second}");
}

/// What the types of the API read of a document and write again is the document: they ignore what they do not know, so that a
/// field with a wrong name or in a wrong place would be missing.
fn assert_is_job(document: &Value) {
    let read: Job = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), *document);
}

#[test]
fn every_field_is_one_of_the_published_api() {
    for job in WorkerJobs::new(&options()).unwrap().jobs {
        assert_is_job(&job.document);
    }
    let plain = JobOptions {
        namespace: None,
        regions: None,
        node_selector: BTreeMap::new(),
        owns_targets: false,
        ..options()
    };
    let jobs = WorkerJobs::new(&plain).unwrap().jobs;
    assert_eq!(jobs.len(), 1);
    assert_is_job(&jobs[0].document);
    // The check sees a field that the API does not have.
    let mut wrong = jobs[0].document.clone();
    wrong["spec"]["backOffLimitPerIndex"] = json!(0);
    let read: Job = serde_json::from_value(wrong.clone()).unwrap();
    assert_ne!(serde_json::to_value(&read).unwrap(), wrong);
}

#[test]
fn a_job_names_its_secret_and_its_region_alone() {
    let plain = JobOptions {
        regions: None,
        join: "load$(HOME).example:1".to_owned(),
        owns_targets: false,
        memory_bytes: (1 << 20) + 1,
        ..options()
    };
    let jobs = WorkerJobs::new(&plain).unwrap();
    let spec = &jobs.jobs[0].document["spec"]["template"]["spec"];
    let container = &spec["containers"][0];
    assert_eq!(
        container["args"],
        json!([
            "worker",
            "--join",
            "load$$(HOME).example:1",
            "--token-file",
            "/run/plimsoll/token"
        ])
    );
    assert_eq!(container["resources"]["limits"]["memory"], "1048577");
    assert_eq!(
        spec["volumes"][0]["secret"]["secretName"],
        "plimsoll-workers"
    );
    assert!(!jobs.yaml().contains("region"));
}

#[test]
fn workers_are_dealt_to_regions() {
    let dealt = |workers, values: &[&str]| {
        let options = JobOptions {
            workers,
            regions: Some(regions(values)),
            ..options()
        };
        WorkerJobs::new(&options)
    };
    assert_eq!(dealt(3, &[]), Err(JobsError::Regions));
    assert_eq!(dealt(3, &["a", "b", "a"]), Err(JobsError::Regions));
    let error = dealt(1, &["a", "b"]).unwrap_err().to_string();
    assert_eq!(
        error,
        "--workers 1 is less than the 2 regions; valid: 2 to 256"
    );
    // Regions that make one name, and one that makes none.
    let long = "x".repeat(50);
    let jobs = dealt(4, &["EU", "eu", "a.b", &long]).unwrap().jobs;
    let names: Vec<&str> = jobs.iter().map(|job| &job.name[NAME.len()..]).collect();
    assert_eq!(names, ["-eu", "-1", "-a-b", "-2"]);
}

proptest! {
    #[test]
    fn every_worker_has_one_job(workers in 1_u32..=WORKERS_MAX, count in 1_usize..=8) {
        let values: Vec<String> = (0..count).map(|number| format!("r{number}")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let options = JobOptions { workers, regions: Some(regions(&values)), ..options() };
        let Ok(jobs) = WorkerJobs::new(&options) else {
            prop_assert!((workers as usize) < count);
            return Ok(());
        };
        let each: Vec<u32> = jobs.jobs.iter().map(|job| job.workers).collect();
        prop_assert_eq!(each.iter().sum::<u32>(), workers);
        prop_assert!(each.iter().max().unwrap() - each.iter().min().unwrap() <= 1);
        for job in &jobs.jobs {
            prop_assert_eq!(&job.document["spec"]["completions"], &json!(job.workers));
            let longest = format!("{}-255", job.name);
            prop_assert!(longest.len() <= 63);
        }
    }
}
