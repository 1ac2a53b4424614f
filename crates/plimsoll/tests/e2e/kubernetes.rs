//! `--on kubernetes --print-job`: what is printed where, and what is missing.

use crate::support::{CommandOutput, Sandbox};

const JOB: [&str; 9] = [
    "http://10.0.0.9:3000/",
    "--on",
    "kubernetes",
    "--print-job",
    "--workers",
    "3",
    "--on-address",
    "10.0.0.5:7400",
    "--image=registry.example/plimsoll:0.2.0",
];

fn run(place: &Sandbox, arguments: &[&str]) -> CommandOutput {
    place.run(&[&["run"], arguments].concat())
}

#[test]
fn jobs_are_data_and_what_they_lack_is_a_message() {
    let place = Sandbox::new();
    let further = [
        "--cores=2",
        "--namespace=load",
        "--node-selector=pool=load",
        "--regions=topology.kubernetes.io/region=eu-west-1,us-east-1",
    ];
    let output = run(&place, &[&JOB[..], &further].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let jobs: Vec<&str> = output.stdout.split("---\n").collect();
    assert_eq!(jobs.len(), 2, "{output:?}");
    for (job, region, workers) in [(jobs[0], "eu-west-1", 2), (jobs[1], "us-east-1", 1)] {
        for line in [
            "kind: Job".to_owned(),
            format!("  name: plimsoll-workers-{region}"),
            "  namespace: load".to_owned(),
            format!("  completions: {workers}"),
            "  completionMode: Indexed".to_owned(),
            "  backoffLimitPerIndex: 0".to_owned(),
            // A day beyond the wait of ten minutes, the load of ten seconds and its time-out of half a minute.
            "  activeDeadlineSeconds: 87040".to_owned(),
            "            cpu: \"2\"".to_owned(),
            "            memory: \"768Mi\"".to_owned(),
            "        pool: load".to_owned(),
            format!("        topology.kubernetes.io/region: {region}"),
        ] {
            assert!(job.lines().any(|printed| printed == line), "{line}: {job}");
        }
    }
    assert!(!output.stdout.contains("plimsoll1-"), "{output:?}");
    for part in [
        "--on listen:7400 --workers 3",
        "kubectl create secret generic plimsoll-workers --namespace load --from-file=token",
    ] {
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
}

#[test]
fn a_search_has_the_same_jobs() {
    let place = Sandbox::new();
    let of_run = run(&place, &JOB);
    let of_limit = place.run(&[&["limit"], &JOB[..]].concat());
    assert_eq!(of_limit.code, 0, "{of_limit:?}");
    let without_deadline = |output: &CommandOutput| -> Vec<String> {
        let lines = output.stdout.lines();
        let lines = lines.filter(|line| !line.contains("activeDeadlineSeconds"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(without_deadline(&of_limit), without_deadline(&of_run));
    assert!(place.run_files().is_empty());
}

#[test]
fn what_is_missing_is_named_with_a_remedy() {
    let place = Sandbox::new();
    for (left_out, expected) in [
        (3..4, "give --print-job"),
        (4..6, "give --workers N"),
        (6..8, "give --on-address HOST:PORT"),
        (8..9, "push the image"),
    ] {
        let mut arguments = JOB.to_vec();
        arguments.drain(left_out);
        let output = run(&place, &arguments);
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(expected), "{expected}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    for (further, expected) in [
        (
            "--regions=a=b,c,d,e",
            "--workers 3 is less than the 4 regions; valid: 4 to 256",
        ),
        ("--regions=a=b,b", "names no region, or one twice"),
        ("--namespace=Load", "valid: 1 to 63 small letters"),
        ("--node-selector=pool", "LABEL=VALUE"),
        ("--worker-memory=1MiB", "64MiB to 1TiB"),
    ] {
        let output = run(&place, &[&JOB[..], &[further]].concat());
        assert_eq!(output.code, 2, "{further}: {output:?}");
        assert!(output.stderr.contains(expected), "{expected}: {output:?}");
    }
    let elsewhere = [
        "http://10.0.0.9:3000/",
        "--on",
        "listen:0",
        "--workers",
        "1",
        "--print-job",
    ];
    let output = run(&place, &elsewhere);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("--print-job is for --on kubernetes"),
        "{output:?}"
    );
}
