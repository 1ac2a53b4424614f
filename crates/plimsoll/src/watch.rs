//! `plimsoll watch`: samples of the probes, without load.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plimsoll_agent::AgentSpec;
use plimsoll_config::plan::WatchPlan;
use plimsoll_lab::probes::Stopped;
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::run_log::Followers;
use plimsoll_lab::watch::WatchLog;
use plimsoll_model::reading::{Readings, SeriesInfo, SeriesKind, SeriesTable, label};
use plimsoll_model::{labels, metric};
use plimsoll_probe::{EdgeSource, ProbePlan};
use plimsoll_report::number;
use serde_json::{Value, json};

use crate::arguments::{WatchArgument, WatchArguments};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::metrics_export::WatchExport;
use crate::screen::{eprint, print};
use crate::{agent, live, plan_file, planning, signals, target};

/// Series of the host in the table.
const HOST: [&str; 4] = [
    metric::CPU_BUSY,
    metric::RUN_QUEUE,
    metric::MEMORY_AVAILABLE,
    metric::LISTEN_OVERFLOWS,
];

/// Samples the probes for a while and prints the metrics.
pub(crate) fn watch(arguments: &WatchArguments) -> Result<Exit, CliError> {
    if arguments.node_module {
        print(plimsoll_probe::NODE_MODULE);
        return Ok(Exit::Met);
    }
    let WatchedService {
        plan,
        agents,
        url: target,
    } = watched_service(arguments)?;
    let seconds = u32::try_from(arguments.lasting.as_secs().max(1)).unwrap_or(u32::MAX);
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let _page = live::open(arguments.live_page.address, &stop)?;
    let mut log = match &arguments.out {
        Some(path) => Some(begin_log(path, target.as_deref())?),
        None => None,
    };
    let mut page = live::WatchPage::open(target.as_deref());
    let export = WatchExport::start(&arguments.export, target.as_deref(), "watch");
    let (mut table, mut rows) = (SeriesTable::default(), Vec::new());
    let mut infos: BTreeMap<String, SeriesInfo> = BTreeMap::new();
    let mut shown: BTreeSet<String> = BTreeSet::new();
    let mut each = |readings: Option<&Readings>, notes: &[String]| {
        if let Some(log) = &mut log {
            log.append(readings, notes);
        }
        for text in notes {
            eprint(&format!("note: {text}"));
            shown.insert(text.clone());
        }
        let Some(readings) = readings else { return };
        if let Some(page) = &mut page {
            page.show(readings, seconds);
        }
        if let Some(export) = &export {
            export.take(readings);
        }
        table.push(readings);
        if arguments.json {
            infos.extend(readings.new_series.clone());
            rows.push(row(readings));
        }
    };
    let stopped = plimsoll_lab::watch::watch(plan, agents, seconds, &stop, &mut each)?;
    let losses = export.map(WatchExport::finish).unwrap_or_default();
    if let Some(log) = &mut log {
        log.append(None, &losses);
    }
    if let Some(text) = &stopped.left_behind {
        eprint(&format!("warning: {text}"));
    }
    if arguments.json {
        let notes: Vec<&String> = stopped.notes.iter().chain(&stopped.left_behind).collect();
        print(&object(&infos, &rows, &notes));
    } else {
        for text in stopped.notes.iter().filter(|text| !shown.contains(*text)) {
            eprint(&format!("note: {text}"));
        }
        print(&lines(&table));
    }
    if let (Some(log), Some(path)) = (log, &arguments.out) {
        end_log(log, &stopped, path)?;
    }
    Ok(if stop.is_raised() {
        Exit::Interrupted
    } else {
        Exit::Met
    })
}

fn begin_log(path: &Path, target: Option<&str>) -> Result<WatchLog, CliError> {
    let now = jiff::Timestamp::now().to_string();
    Ok(WatchLog::create(
        path,
        target,
        now,
        planning::versions(),
        Followers::default(),
    )?)
}

fn end_log(mut log: WatchLog, stopped: &Stopped, path: &Path) -> Result<(), CliError> {
    log.append(None, &stopped.notes);
    if let Some(text) = &stopped.left_behind {
        log.append(None, std::slice::from_ref(text));
    }
    match log.close() {
        None => {
            eprint(&format!("readings: {}", path.display()));
            Ok(())
        }
        Some(reason) => Err(CliError::usage(format!(
            "{} is incomplete: {reason}; the metrics are shown above",
            path.display()
        ))
        .remedy("free some space or choose another disk with --out FILE")),
    }
}

/// What `--json` prints.
fn object(infos: &BTreeMap<String, SeriesInfo>, rows: &[Value], notes: &[&String]) -> String {
    let series: BTreeMap<&String, Value> = infos
        .iter()
        .map(|(name, info)| (name, info_of(info)))
        .collect();
    let object = json!({
        "format_version": "1.0",
        "series": series,
        "readings": rows,
        "notes": notes,
    });
    format!("{object:#}\n")
}

fn row(readings: &Readings) -> Value {
    json!({ "second": readings.second, "values": readings.values })
}

fn info_of(info: &SeriesInfo) -> Value {
    let kind = match info.kind {
        SeriesKind::Gauge => "level",
        SeriesKind::Delta => "increase",
    };
    json!({ "kind": kind, "unit": info.unit })
}

/// Mean and highest value of components' metrics, and of a few series of the host.
fn lines(table: &SeriesTable) -> String {
    let mut text = String::new();
    let own = [metric::PROBE_CPU_TIME, metric::PROBE_ANSWER_TIME];
    let is_shown = |name: &&str| {
        let metric = labels::metric(name);
        HOST.contains(&metric) || (label(name, "at").is_some() && !own.contains(&metric))
    };
    let names: Vec<&str> = table.names().filter(is_shown).collect();
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0)
        .min(90);
    for name in names {
        let values = table.between(name, 0, u32::MAX);
        if values.is_empty() {
            continue;
        }
        let unit = table.info(name).map_or("1", |info| &info.unit);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let highest = values.iter().copied().fold(f64::MIN, f64::max);
        let line = format!(
            "{name:width$}  mean {}, at most {}\n",
            number::reading(mean, unit),
            number::reading(highest, unit)
        );
        text.push_str(&line);
    }
    text
}

/// What is watched.
struct WatchedService {
    /// On this machine.
    plan: ProbePlan,
    /// On others.
    agents: Vec<AgentSpec>,
    /// URL of the service.
    url: Option<String>,
}

fn watched_service(arguments: &WatchArguments) -> Result<WatchedService, CliError> {
    let (url, of_plan) = match &arguments.url {
        Some(file) if plan_file::is_plan(file) => {
            let plan = plan_file::rehearse(file, None)?;
            (Some(plan.target), Some(plan.watch))
        }
        url => (url.clone(), None),
    };
    let flag = match (&arguments.watch, &of_plan) {
        (None, None) => Some(&WatchArgument::Auto),
        (flag, _) => flag.as_ref(),
    };
    let watch: WatchPlan = plan_file::watched(flag, of_plan.unwrap_or_default())?;
    plan_file::report_unwatched(&watch);
    let agents = agent::specs(&arguments.agents, &watch.agents)?;
    let target_address = match (&arguments.unix_socket, &url) {
        (None, Some(url)) => Some(target::first_address(url)?),
        _ => None,
    };
    let plan = ProbePlan {
        target_address,
        unix_socket: arguments.unix_socket.clone(),
        pids: [&arguments.pid[..], &watch.pids].concat(),
        process_names: [&arguments.process[..], &watch.processes].concat(),
        edge: watch.edge.map(EdgeSource::Admin),
        components: watch.components,
        gauges: watch.gauges,
        auto: watch.auto,
        ..ProbePlan::default()
    };
    Ok(WatchedService { plan, agents, url })
}
