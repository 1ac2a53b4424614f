//! Puma, by its control server.

use plimsoll_model::metric;
use plimsoll_model::part::Login;

use super::Source;
use super::figures::Figures;
use super::link::{Blind, Link, get, shortly};
use crate::parse::puma::stats;

/// Puma.
#[derive(Debug)]
pub(crate) struct Puma {
    /// Its password is the token of the control server.
    pub(crate) login: Option<Login>,
}

impl Source for Puma {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        let token = self
            .login
            .as_ref()
            .map_or("", |login| login.password.as_str());
        let safe = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        if !token.chars().all(safe) {
            let why = "a token of letters, digits, `-`, `.`, `_` and `~` is asked for";
            return Err(Blind::Denied(why.to_owned()));
        }
        let path = if token.is_empty() {
            "/stats".to_owned()
        } else {
            format!("/stats?token={token}")
        };
        get(link, &path)
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let stats = stats(text).ok_or_else(|| Blind::Strange(shortly(text)))?;
        figures.identity(&stats.started);
        for (name, level) in [
            (metric::PUMA_BACKLOG, stats.backlog),
            (metric::PUMA_CAPACITY, stats.capacity),
        ] {
            figures.level(name, &[], Some(level as f64));
        }
        figures.counter(metric::PUMA_REQUESTS, &[], Some(stats.requests), 1.0);
        figures.setting("threads", "", "", Some(stats.threads_max as f64));
        figures.setting("workers", "", "", Some(stats.workers as f64));
        Ok(())
    }

    fn remedy(&self, blind: &Blind) -> String {
        match blind {
            Blind::Denied(_) => "give its token: `watch: { puma: { at: …, password: TOKEN } }`, as `--control-token` or \
                `activate_control_app` in config/puma.rb has it"
                .to_owned(),
            _ => "start Puma with `--control-url tcp://127.0.0.1:9293 --control-token TOKEN`, or add to config/puma.rb \
                `activate_control_app 'tcp://127.0.0.1:9293', { auth_token: 'TOKEN' }`, and watch 127.0.0.1:9293"
                .to_owned(),
        }
    }
}
