//! Redis and Valkey, by `INFO`.

use plimsoll_model::component::Login;
use plimsoll_model::metric;

use super::parse::{command, error_count, info, micros};
use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};
use crate::kernel_files;

/// Commands that are recorded one by one at most.
const COMMANDS_MAX: usize = 64;

/// Factor of its time-out over that of other collectors.
const SLOWER: u32 = 5;

/// Redis.
#[derive(Debug)]
pub(crate) struct RedisCollector {
    pub(crate) login: Option<Login>,
    /// Its process, where it runs on this machine: its CPU time is read without a query.
    pub(crate) pid: Option<u32>,
}

impl RedisCollector {
    /// CPU time of the thread that executes commands, ns.
    fn thread_ns(&mut self) -> Option<u64> {
        let pid = self.pid?;
        let path = format!("/proc/{pid}/task/{pid}/schedstat");
        let read = kernel_files::text(&path).ok();
        let total = read.and_then(|text| text.split_whitespace().next()?.parse().ok());
        if total.is_none() {
            self.pid = None;
        }
        total
    }

    fn fetch(&mut self, link: &mut ComponentLink) -> Result<String, ScrapeError> {
        if link.open()?
            && let Some(login) = &self.login
        {
            let words: &[&str] = match login.user.as_str() {
                "" => &["AUTH", &login.password],
                user => &["AUTH", user, &login.password],
            };
            reply(link, words)?;
        }
        // All sections: command statistics are not in the default ones.
        reply(link, &["INFO", "all"])
    }

    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let info = info(text);
        let Some(run_id) = info.get("run_id") else {
            return Err(ScrapeError::Strange(shortly(text)));
        };
        metrics.identity(run_id);
        let level = |name: &str| info.get(name)?.parse::<f64>().ok();
        let total = |name: &str| info.get(name)?.parse::<u64>().ok();
        for (name, field, scale) in [
            (metric::REDIS_CLIENTS, "connected_clients", 1.0),
            (metric::REDIS_CLIENTS_BLOCKED, "blocked_clients", 1.0),
            (metric::REDIS_MEMORY, "used_memory", 1.0),
            (metric::REDIS_FORK, "latest_fork_usec", 1e-6),
        ] {
            metrics.level(name, &[], level(field).map(|value| value * scale));
        }
        for (name, field) in [
            (metric::REDIS_REJECTED, "rejected_connections"),
            (metric::REDIS_COMMANDS, "total_commands_processed"),
            (metric::REDIS_EVICTED, "evicted_keys"),
            (metric::REDIS_HITS, "keyspace_hits"),
            (metric::REDIS_MISSES, "keyspace_misses"),
            (metric::REDIS_FSYNC_DELAYED, "aof_delayed_fsync"),
        ] {
            metrics.counter(name, &[], total(field), 1.0);
        }
        let commands = info.iter().filter_map(|(name, field)| {
            let name = name.strip_prefix("cmdstat_")?;
            Some((name, command(field)?))
        });
        for (name, (calls, micros)) in commands.take(COMMANDS_MAX) {
            let of = [("command", name)];
            metrics.counter(metric::REDIS_COMMAND_CALLS, &of, Some(calls), 1.0);
            metrics.counter(metric::REDIS_COMMAND_TIME, &of, Some(micros), 1e-6);
        }
        // Absent until the first of its kind.
        let refused = info
            .get("errorstat_OOM")
            .map_or(Some(0), |field| error_count(field));
        metrics.counter(metric::REDIS_OUT_OF_MEMORY, &[], refused, 1.0);
        let cpu = |name: &str| info.get(name).and_then(|text| micros(text));
        let thread = cpu("used_cpu_user_main_thread").zip(cpu("used_cpu_sys_main_thread"));
        let thread = thread.map(|(user, system)| user.saturating_add(system));
        match self.thread_ns() {
            Some(total) => metrics.counter(metric::REDIS_MAIN_THREAD, &[], Some(total), 1e-9),
            None => metrics.counter(metric::REDIS_MAIN_THREAD, &[], thread, 1e-6),
        }
        let file = info.get("config_file").copied().unwrap_or_default();
        for name in ["maxmemory", "maxclients"] {
            metrics.setting(name, "", file, level(name));
        }
        if let Some(policy) = info.get("maxmemory_policy") {
            metrics.setting("maxmemory-policy", policy, file, Some(1.0));
        }
        Ok(())
    }
}

impl Scraper for RedisCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = self.fetch(link)?;
        self.record(&text, sink.answered())
    }

    /// It executes everything it has read from one connection before it serves others, and so may respond late, or
    /// never, just when it is at its limit.
    fn record_unanswered(&mut self, metrics: &mut MetricsRecorder<'_>) {
        let total = self.thread_ns();
        metrics.counter(metric::REDIS_MAIN_THREAD, &[], total, 1e-9);
    }

    /// Its main thread responds in order: behind slow commands, just when these should be observed.
    fn slower(&self) -> u32 {
        SLOWER
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(why) if why.contains("NOPERM") => {
                "as its administrator: `ACL SETUSER NAME on >PASSWORD +info`, and give name and password: `watch: { redis: \
                 { at: …, user: NAME, password: … } }`"
                    .to_owned()
            }
            ScrapeError::Denied(_) => {
                "give its password: `watch: { redis: { at: …, password: \"{{ env('REDIS_PASSWORD') }}\" } }`"
                    .to_owned()
            }
            _ => "name the address that Redis listens on, as `redis-cli CONFIG GET port` and `CONFIG GET \
                unixsocket` show".to_owned(),
        }
    }
}

/// Sends a command and reads its response.
fn reply(link: &mut ComponentLink, command: &[&str]) -> Result<String, ScrapeError> {
    let mut bytes = format!("*{}\r\n", command.len());
    for argument in command {
        bytes.extend(["$", &argument.len().to_string(), "\r\n", argument, "\r\n"]);
    }
    link.send(bytes.as_bytes())?;
    let mut answer = Vec::new();
    let end = loop {
        if let Some(at) = answer.windows(2).position(|two| two == b"\r\n") {
            break at + 2;
        }
        if link.fill(&mut answer)? == 0 {
            return Err(ScrapeError::Closed);
        }
    };
    let reply = String::from_utf8_lossy(&answer[..end - 2]).into_owned();
    if let Some(refused) = reply.strip_prefix('-') {
        let is_denied = [
            "NOAUTH",
            "WRONGPASS",
            "NOPERM",
            "ERR AUTH",
            "ERR invalid password",
        ];
        return Err(if is_denied.iter().any(|word| refused.starts_with(word)) {
            ScrapeError::Denied(shortly(refused))
        } else {
            ScrapeError::Strange(shortly(refused))
        });
    }
    if reply.starts_with('+') {
        return Ok(reply);
    }
    let Some(len) = reply
        .strip_prefix('$')
        .and_then(|len| len.parse::<usize>().ok())
    else {
        return Err(ScrapeError::Strange(shortly(&reply)));
    };
    let whole = end.saturating_add(len).saturating_add(2);
    while answer.len() < whole {
        if link.fill(&mut answer)? == 0 {
            return Err(ScrapeError::Closed);
        }
    }
    Ok(String::from_utf8_lossy(&answer[end..whole - 2]).into_owned())
}
