//! Drafts of what was found, as the reader of experiments takes them.

use std::collections::BTreeMap;

use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::experiment;
use plimsoll_model::component::ComponentKind;
use plimsoll_model::price::HeldResources;
use plimsoll_probe::knobs::{
    CommandLevel, FoundStart, FoundVariable, KnobBound, KnobConstraint, KnobEdit, KnobFactor,
    ReadyKnob,
};

use super::*;

/// The files of a draft.
struct DraftFolder(BTreeMap<String, String>);

impl Surroundings for DraftFolder {
    fn file(&self, path: &str, _: u64) -> Result<Vec<u8>, FileError> {
        let found = self.0.get(path);
        let missing = || FileError::Unreadable(format!("{path} is not in the draft"));
        found
            .map(|text| text.clone().into_bytes())
            .ok_or_else(missing)
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "API_TOKEN").then(|| "hidden".to_owned())
    }

    fn machine(&self) -> Option<HeldResources> {
        Some(HeldResources {
            machines: 1.0,
            cpus: 2.0,
            memory: 8 << 30,
        })
    }
}

fn ready(kind: ComponentKind, setting: &str) -> &'static ReadyKnob {
    let mut all = knobs::all().iter();
    all.find(|knob| knob.kind == Some(kind) && knob.setting == setting)
        .unwrap()
}

fn knob(ready: &'static ReadyKnob, name: &str, now: &str, place: KnobPlace) -> FoundKnob {
    FoundKnob {
        ready,
        name: name.to_owned(),
        program: format!("{} (pid 7)", ready.program()),
        now: now.to_owned(),
        levels: vec![now.to_owned(), "8".to_owned(), "16".to_owned()],
        usual: (ready.setting == "workers").then(|| "8".to_owned()),
        place,
        restart: ready.means.needs_restart(),
        score: 1.0,
    }
}

fn found() -> KnobsFound {
    let text = "workers = 1\nset = {{1}}\n";
    let gunicorn = FoundFile {
        path: "/srv/gunicorn.conf.py".into(),
        text: text.to_owned(),
        edits: vec![KnobEdit {
            at: 10..11,
            text: "{{ gunicorn_workers }}".to_owned(),
            knob: "gunicorn_workers".to_owned(),
        }],
        check: Some(vec![
            "python3".to_owned(),
            "-c".to_owned(),
            "print(\"ok\")".to_owned(),
        ]),
        reload: Some(vec!["kill".to_owned(), "-HUP".to_owned(), "7".to_owned()]),
        restart: None,
    };
    let unreachable = KnobPlace::Unreachable("it needs a restart".to_owned());
    let set = |kind, setting| KnobPlace::Set { kind, setting };
    KnobsFound {
        knobs: vec![
            knob(
                ready(ComponentKind::Gunicorn, "workers"),
                "gunicorn_workers",
                "1",
                KnobPlace::File(0),
            ),
            knob(
                ready(ComponentKind::Redis, "maxclients"),
                "redis_maxclients",
                "4",
                set(ComponentKind::Redis, "maxclients"),
            ),
            knob(
                ready(ComponentKind::Postgres, "shared_buffers"),
                "postgres_shared_buffers",
                "128MB",
                unreachable,
            ),
            knob(
                ready(ComponentKind::Mysql, "innodb_flush_log_at_trx_commit"),
                "mariadb_innodb_flush_log_at_trx_commit",
                "1",
                set(ComponentKind::Mysql, "innodb_flush_log_at_trx_commit"),
            ),
        ],
        files: vec![gunicorn],
        watch: vec![Component {
            kind: ComponentKind::Redis,
            place: ComponentAddress::Tcp {
                host: "127.0.0.1".to_owned(),
                port: 6379,
            },
            login: None,
        }],
        constraints: vec![KnobConstraint {
            terms: vec![vec![
                KnobFactor::Knob("gunicorn_workers".to_owned(), "1".to_owned()),
                KnobFactor::Quantity("gunicorn_rss".to_owned(), 50_000_000),
            ]],
            bound: KnobBound::Memory,
        }],
        starts: Vec::new(),
        notes: vec!["a note".to_owned()],
    }
}

fn options() -> DiscoverOptions<'static> {
    DiscoverOptions {
        url: "http://127.0.0.1:8080/",
        file: Path::new("out/tune.yaml"),
        unix_socket: None,
        components: Vec::new(),
        kernel: false,
    }
}

#[test]
fn a_draft_is_an_experiment() {
    let draft = draft(&options(), &found());
    let files = draft.files.iter();
    let files = files.map(|(path, text)| (path.display().to_string(), text.clone()));
    let folder = DraftFolder(files.collect());
    let names: Vec<&String> = folder.0.keys().collect();
    assert_eq!(
        names,
        ["tune-gunicorn.conf.py.in", "tune-plan.yaml", "tune.yaml"]
    );
    let text = &folder.0["tune.yaml"];
    let read = experiment::read(text, "tune", &folder);
    let experiment = read.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let tuning = experiment.tuning.unwrap();
    let knobs: Vec<&str> = tuning.knobs.iter().map(|knob| knob.name.as_str()).collect();
    assert_eq!(knobs, ["gunicorn_workers", "redis_maxclients"]);
    assert_eq!(tuning.knobs[0].levels, ["1", "8", "16"]);
    assert_eq!(tuning.knobs[0].usual, Some(1));
    assert_eq!(tuning.constraints.len(), 1);
    assert_eq!(experiment.setups[0].files[0].to, "/srv/gunicorn.conf.py");
    assert_eq!(experiment.setups[0].tunables[0].setting, "maxclients");
    assert_eq!(
        folder.0["tune-gunicorn.conf.py.in"],
        "workers = {{ gunicorn_workers }}\nset = {{ '{{' }}1}}\n"
    );
    assert_eq!(
        folder.0["tune-plan.yaml"],
        "target: \"http://127.0.0.1:8080/\"\nwatch:\n  redis: \"127.0.0.1:6379\"\n"
    );
}

/// A program that somebody started, with a setting of its environment.
fn found_with_start() -> KnobsFound {
    let mut found = found();
    let unreachable = KnobPlace::Unreachable("it needs a restart".to_owned());
    let ready = ready(ComponentKind::Node, "UV_THREADPOOL_SIZE");
    let knob = knob(ready, "node_UV_THREADPOOL_SIZE", "4", unreachable);
    let variable = |name: &str, value: Option<&str>| FoundVariable {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    };
    found.starts.push(FoundStart {
        program: knob.program.clone(),
        pid: 7,
        command: ["/usr/bin/node", "app.js", "{{x}}", "--pool=4"]
            .map(str::to_owned)
            .to_vec(),
        levels: vec![CommandLevel {
            word: 3,
            before: "--pool=".to_owned(),
            knob: knob.name.clone(),
        }],
        folder: "/srv/shop".to_owned(),
        variables: Some(vec![
            variable("NODE_ENV", Some("production")),
            variable("API_TOKEN", None),
            variable("UV_THREADPOOL_SIZE", Some("4")),
        ]),
    });
    found.knobs.push(knob);
    found
}

#[test]
fn a_program_is_started_as_it_was_when_the_comment_is_uncommented() {
    let draft = draft(&options(), &found_with_start());
    let files = draft.files.iter();
    let files = files.map(|(path, text)| (path.display().to_string(), text.clone()));
    let folder = DraftFolder(files.collect());
    let text = &folder.0["tune.yaml"];
    // As it is, nothing is started.
    let read = experiment::read(text, "tune", &folder);
    let experiment = read.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    assert_eq!(experiment.setups.len(), 1);
    let is_start = |rest: &&str| rest.starts_with("  - command: ") || rest.starts_with("    ");
    let uncommented = text.lines().map(|line| {
        let start = line.strip_prefix("# ").filter(is_start);
        start.unwrap_or(line).to_owned() + "\n"
    });
    let uncommented: String = uncommented.collect();
    let searched = "\nknobs:\n  node_UV_THREADPOOL_SIZE: [4, 8]\n";
    let uncommented = uncommented.replace("\nknobs:\n", searched);
    let read = experiment::read(&uncommented, "tune", &folder);
    let experiment = read.unwrap_or_else(|errors| panic!("{errors:?}\n{uncommented}"));
    let started = &experiment.setups[1];
    let cell = experiment.design.cell_at(0);
    let filled = |text: &plimsoll_model::experiment::LevelText| {
        let filled = text.in_cell(&experiment.design, &cell);
        filled.unwrap()
    };
    let words: Vec<String> = started.command.iter().map(filled).collect();
    assert_eq!(words, ["/usr/bin/node", "app.js", "{{x}}", "--pool=4"]);
    let place = started.folder.as_ref().map(filled);
    assert_eq!(place.as_deref(), Some("/srv/shop"));
    let variables = started.env.iter();
    let variables = variables.map(|(name, value)| format!("{name}={}", filled(value)));
    let right = "API_TOKEN=hidden NODE_ENV=production UV_THREADPOOL_SIZE=4";
    assert_eq!(variables.collect::<Vec<_>>().join(" "), right);
}

/// Nothing else can be changed: the draft runs as it is, once the program has ended.
#[test]
fn where_nothing_else_is_reachable_the_experiment_starts_the_program() {
    let mut found = found_with_start();
    found.knobs.retain(|knob| knob.name.starts_with("node"));
    found.constraints.clear();
    let started = draft(&options(), &found);
    let files = started.files.iter();
    let files = files.map(|(path, text)| (path.display().to_string(), text.clone()));
    let folder = DraftFolder(files.collect());
    let text = &folder.0["tune.yaml"];
    let read = experiment::read(text, "tune", &folder);
    let experiment = read.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let [service] = &experiment.setups[..] else {
        unreachable!("{text}")
    };
    let cell = experiment.design.cell_at(1);
    let words = service.command.iter();
    let words: Vec<String> = words
        .map(|word| word.in_cell(&experiment.design, &cell).unwrap())
        .collect();
    assert_eq!(words, ["/usr/bin/node", "app.js", "{{x}}", "--pool=8"]);
    let stop = "stop it before, with `kill -TERM 7`";
    assert!(
        started.notes.iter().any(|note| note.contains(stop)),
        "{:?}",
        started.notes
    );
    assert_eq!(started.settings[0].left_out, None);
    // What is not known of its start cannot be made up.
    let mut unknown = found.clone();
    unknown.starts[0].variables = None;
    assert!(draft(&options(), &unknown).files.is_empty());
    found.starts[0].command[1] = plimsoll_model::redact::REDACTED.to_owned();
    assert!(draft(&options(), &found).files.is_empty());
}

#[test]
fn settings_of_the_kernel_are_among_many_others() {
    let mut found = found();
    let connections = found.knobs[1].clone();
    found.knobs = (0..12)
        .map(|number| FoundKnob {
            name: format!("redis_{number}"),
            ..connections.clone()
        })
        .collect();
    let of_kernel = |setting: &str| {
        let mut all = knobs::all().iter();
        let ready = all.find(|knob| knob.kind.is_none() && knob.setting == setting);
        knob(ready.unwrap(), "kernel_swappiness", "4", KnobPlace::File(1))
    };
    found.knobs.push(of_kernel("vm.swappiness"));
    found.files.push(FoundFile {
        path: KERNEL_FILE.into(),
        text: "vm.overcommit_memory = 0\nvm.swappiness = 4\n".to_owned(),
        edits: vec![KnobEdit {
            at: 41..42,
            text: "{{ kernel_swappiness }}".to_owned(),
            knob: "kernel_swappiness".to_owned(),
        }],
        ..FoundFile::default()
    });
    let draft = draft(&options(), &found);
    let file = |name: &str| {
        let mut files = draft.files.iter();
        let found = files.find(|(path, _)| path == Path::new(name));
        found.map(|(_, text)| text.as_str()).unwrap_or_default()
    };
    let searched = draft.settings.iter();
    let searched = searched.filter(|setting| setting.left_out.is_none());
    assert_eq!(searched.count(), SEARCHED_MAX);
    assert!(draft.settings[12].left_out.is_none(), "{draft:?}");
    let present = "# vm.overcommit_memory = 0\nvm.swappiness = 4\n";
    assert_eq!(file(KERNEL_FILE), present);
    let template = present.replace('4', "{{ kernel_swappiness }}");
    assert_eq!(file("tune-kernel.conf.in"), template);
}

#[test]
fn what_is_left_out_has_its_reason() {
    let draft = draft(&options(), &found());
    let text = &draft.files[0].1;
    assert!(text.contains("Left out: it needs a restart."), "{text}");
    assert!(
        text.contains("#   postgres_shared_buffers: { values: [\"128MB\", 8, 16]"),
        "{text}"
    );
    let left_out: Vec<bool> = draft
        .settings
        .iter()
        .map(|setting| setting.left_out.is_some())
        .collect();
    assert_eq!(left_out, [false, false, true, true]);
    assert_eq!(draft.settings[0].to, ["8", "16"]);
}

#[test]
fn of_nothing_reachable_there_is_no_file() {
    let mut found = found();
    found.knobs.truncate(3);
    found.knobs.drain(..2);
    let draft = draft(&options(), &found);
    assert!(draft.files.is_empty());
    assert_eq!(draft.settings.len(), 1);
}

#[test]
fn a_login_is_not_written_into_a_file() {
    let component = Component {
        kind: ComponentKind::Postgres,
        place: ComponentAddress::Socket("/run/s".into()),
        login: Some(plimsoll_model::component::Login {
            user: "me".to_owned(),
            password: "hidden".to_owned(),
            database: String::new(),
        }),
    };
    let text = address(&component);
    assert_eq!(
        text,
        "{ at: \"unix:/run/s\", user: \"me\", password: \"{{ env('PLIMSOLL_PASSWORD') }}\" }"
    );
}
