//! nginx, by the page of `stub_status`.

use plimsoll_model::metric;

use super::Source;
use super::figures::{Figures, Setting};
use super::link::{Blind, Link, page, shortly};
use crate::parse::nginx::stub_status;

/// nginx.
#[derive(Debug)]
pub(crate) struct Nginx {
    /// What its configuration says, where that was found.
    pub(crate) settings: Vec<Setting>,
    /// Highest number of connections dropped so far. Workers count accepted and handled one after the other, so that
    /// the difference may be one too high for a moment.
    pub(crate) dropped: u64,
}

impl Source for Nginx {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        page(link)
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let status = stub_status(text).ok_or_else(|| Blind::Strange(shortly(text)))?;
        for (state, count) in [
            ("active", status.active),
            ("reading", status.reading),
            ("writing", status.writing),
            ("waiting", status.waiting),
        ] {
            figures.level(
                metric::NGINX_CONNECTIONS,
                &[("state", state)],
                Some(count as f64),
            );
        }
        let dropped = status.accepts.saturating_sub(status.handled);
        self.dropped = if dropped.saturating_add(1) < self.dropped {
            // Started anew.
            dropped
        } else {
            dropped.max(self.dropped)
        };
        for (name, total) in [
            (metric::NGINX_ACCEPTED, status.accepts),
            (metric::NGINX_DROPPED, self.dropped),
            (metric::NGINX_REQUESTS, status.requests),
        ] {
            figures.counter(name, &[], Some(total), 1.0);
        }
        for setting in &self.settings {
            figures.known(setting);
        }
        Ok(())
    }

    fn remedy(&self, blind: &Blind) -> String {
        match blind {
            Blind::Denied(_) => "let this machine in: `allow ADDRESS;` beside `stub_status;` in nginx's configuration, \
                then `nginx -s reload`"
                .to_owned(),
            _ => "add to nginx's `http { … }`: `server { listen 127.0.0.1:8999; location = /nginx_status { stub_status; } }`, \
                reload it by `nginx -s reload`, and watch http://127.0.0.1:8999/nginx_status"
                .to_owned(),
        }
    }
}
