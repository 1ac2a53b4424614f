//! Sums up a day.

use std::collections::BTreeMap;

use super::clients::PAUSE_S;
use super::distinct::Distinct;
use super::kind::RequestKind;
use super::popularity::without_values;
use super::summary::{
    BusiestStretch, BusiestSummary, BytesSummary, CacheSummary, CrawlersSummary, DaySummary,
    EdgeCacheSummary, FunnelSummary, HourSummary, KindSummary, LandingPage, MinuteSummary,
    VisitsSummary,
};
use super::timeline::{Busiest, Minute};
use super::{CACHE_OUTCOMES, ClientCounts, Day, moment, times};

/// Landing pages that are listed.
const LANDINGS_LISTED: usize = 20;
/// Names of crawlers that are listed.
const NAMES_LISTED: usize = 20;

impl Day {
    /// The summary; `None` if there was no request.
    pub fn finish(self) -> Option<DaySummary> {
        let (from_ms, to_ms) = self.span_ms?;
        let span_s = (to_ms.saturating_sub(from_ms) as f64 / 1e3).max(1.0);
        let mean = self.requests as f64 / span_s;
        let requests_by_minute = self.minutes();
        let visits = self.clients.visits();
        let busiest = self.busiest(mean)?;
        let funnel = self.funnel(visits.as_ref(), &requests_by_minute);
        let popularity = self.popularity.finish();
        let cacheable = self.replay.requests();
        let sizes = self.replay.finish(self.requests);
        Some(DaySummary {
            from: moment(from_ms),
            to: moment(to_ms),
            requests: self.requests,
            requests_per_second: mean,
            hours: hours(&self.timeline),
            requests_outside: self.timeline.outside(),
            kinds: named(|kind| self.by_kind[kind as usize]),
            kind_details: named(|kind| KindSummary {
                requests: self.by_kind[kind as usize],
                share: self.by_kind[kind as usize] as f64 / self.requests as f64,
                response_time_ms: self.times.of(kind),
                bytes: self.sizes[kind as usize].distribution(),
                cache_hit_share: cache(&self.cache[kind as usize]).map(|cache| cache.hit_share),
            }),
            statuses: statuses(&self.statuses),
            response_time_ms: self.times.all(),
            bytes: BytesSummary {
                total: self.bytes.total,
                by_request: times::Sizes::together(&self.sizes),
                compressed: self.bytes.has_ratio.then_some(self.bytes.compressed),
                compression_ratio: (self.bytes.compressed > 0 && self.bytes.after > 0.0)
                    .then(|| self.bytes.before / self.bytes.after),
            },
            cache: cache(&all_kinds(&self.cache)),
            visits: funnel.visits,
            landing_share: funnel.landing_share,
            visit_details: visits,
            zipf_exponent: popularity.zipf.as_ref().map(|zipf| zipf.exponent),
            popularity,
            crawlers: self.clients.crawlers(),
            countries: self.clients.countries.map(super::Countries::by_code),
            busiest,
            edge_cache: (!sizes.is_empty()).then_some(EdgeCacheSummary {
                cacheable,
                lifetime_s: self.cache_lifetime_s,
                sizes,
            }),
            termination: self.haproxy.as_ref().map(|haproxy| haproxy.terminations()),
            haproxy: self.haproxy.as_ref().map(|haproxy| haproxy.summary()),
            upstream: self.upstream.as_ref().map(|upstream| upstream.summary()),
            clock: self.clock.summary(),
            requests_by_minute,
            funnel,
        })
    }

    fn minutes(&self) -> Vec<MinuteSummary> {
        let tells_origin = self.origin.known > 0;
        let minutes = self.timeline.minutes();
        minutes
            .map(|(at_s, minute)| minute_summary(at_s, minute, tells_origin))
            .collect()
    }

    fn busiest(&self, mean: f64) -> Option<BusiestSummary> {
        let stretch = |busiest: Busiest, seconds: f64| {
            let per_second = busiest.requests as f64 / seconds;
            BusiestStretch {
                at: moment(busiest.at_s.saturating_mul(1000)),
                requests: busiest.requests,
                per_second,
                times_mean: per_second / mean,
            }
        };
        Some(BusiestSummary {
            second: stretch(self.timeline.busiest_second()?, 1.0),
            minute: stretch(self.timeline.busiest_minute()?, 60.0),
            hour: stretch(self.timeline.busiest_hour()?, 3600.0),
        })
    }

    fn funnel(&self, visits: Option<&VisitsSummary>, minutes: &[MinuteSummary]) -> FunnelSummary {
        let cache = cache(&all_kinds(&self.cache));
        let reach_service = if self.origin.known > 0 {
            self.origin.through
        } else {
            self.requests
        };
        let highest = minutes.iter().map(|minute| minute.reach_service).max();
        let page_views = self.clients.page_views_of_people();
        let count = visits.map(|visits| self.clients.table.visits(visits.of_pages).0);
        let landing = visits.and_then(|visits| visits.landing_pages.first());
        FunnelSummary {
            requests: self.requests,
            page_views,
            visits: count,
            landings_of_page_views: count
                .filter(|_| page_views > 0)
                .map(|count| (count as f64 / page_views as f64).min(1.0)),
            landing_share: landing.map(|page| page.share),
            landing_page: landing.map(|page| page.path.clone()),
            cache_misses: cache.map(|cache| cache.miss),
            reach_service,
            reach_service_share: reach_service as f64 / self.requests as f64,
            reach_service_per_second: highest.unwrap_or(0) as f64 / 60.0,
        }
    }
}

impl ClientCounts {
    /// Page views without those of crawlers.
    fn page_views_of_people(&self) -> u64 {
        self.page_views.saturating_sub(self.crawler_page_views)
    }

    /// `None` if no client is known.
    fn visits(&self) -> Option<VisitsSummary> {
        let clients = self.distinct.count();
        if clients == 0 {
            return None;
        }
        let of_pages = self.page_views > 0;
        let (visits, error) = self.table.visits(of_pages);
        let by = if self.with_agent > 0 {
            "address and agent"
        } else {
            "address"
        };
        Some(VisitsSummary {
            by: by.to_owned(),
            requests_without_client: self.unknown,
            pause_s: PAUSE_S,
            of_pages,
            error,
            clients,
            clients_error: Distinct::ERROR,
            page_views_per_visit: (of_pages && visits > 0)
                .then(|| self.page_views_of_people() as f64 / visits as f64),
            landing_pages: self.landing_pages(visits),
        })
    }

    fn landing_pages(&self, visits: u64) -> Vec<LandingPage> {
        let most = self.landings.most_frequent(LANDINGS_LISTED);
        let pages = most.into_iter().filter_map(|item| {
            Some(LandingPage {
                path: without_values(&item.text?),
                visits: item.count,
                share: (item.count as f64 / visits.max(1) as f64).min(1.0),
            })
        });
        pages.collect()
    }

    fn crawlers(&self) -> Option<CrawlersSummary> {
        if self.weight == 0 {
            return None;
        }
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        for (number, requests) in &self.names {
            *by_name
                .entry(self.table.name(*number).to_owned())
                .or_default() += requests;
        }
        let mut names: Vec<(String, u64)> = by_name.into_iter().collect();
        names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        names.truncate(NAMES_LISTED);
        let requests = self.by_agent + self.by_robots + self.by_pace;
        Some(CrawlersSummary {
            requests,
            share: requests as f64 / self.weight as f64,
            by_agent: self.by_agent,
            by_robots_txt: self.by_robots,
            by_pace: self.by_pace,
            names: names.into_iter().collect(),
        })
    }
}

fn minute_summary(at_s: i64, minute: &Minute, tells_origin: bool) -> MinuteSummary {
    let of = |kind: RequestKind| u64::from(minute.by_kind[kind as usize]);
    let requests = minute.by_kind.iter().map(|count| u64::from(*count)).sum();
    MinuteSummary {
        at: moment(at_s.saturating_mul(1000)),
        requests,
        page: of(RequestKind::Page),
        api: of(RequestKind::Api),
        asset: of(RequestKind::Asset),
        media: of(RequestKind::Media),
        other: of(RequestKind::Other),
        server_errors: u64::from(minute.server_errors),
        reach_service: if tells_origin {
            u64::from(minute.through)
        } else {
            requests
        },
        bytes: minute.bytes,
    }
}

fn hours(timeline: &super::Timeline) -> Vec<HourSummary> {
    let hours = timeline.hours().map(|(at_s, requests, times)| HourSummary {
        at: moment(at_s.saturating_mul(1000)),
        requests,
        response_time_ms: times.and_then(|times| times::distribution(times, 1e3)),
    });
    hours.collect()
}

fn named<T>(of: impl Fn(RequestKind) -> T) -> BTreeMap<String, T> {
    let kinds = RequestKind::ALL.into_iter();
    kinds
        .map(|kind| (kind.name().to_owned(), of(kind)))
        .collect()
}

fn statuses(counts: &[u64]) -> BTreeMap<String, u64> {
    let counted = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    counted
        .map(|(status, count)| (status.to_string(), *count))
        .collect()
}

fn all_kinds(by_kind: &[[u64; CACHE_OUTCOMES]]) -> [u64; CACHE_OUTCOMES] {
    std::array::from_fn(|outcome| by_kind.iter().map(|counts| counts[outcome]).sum())
}

/// In the order of [`crate::entry::CacheOutcome`].
fn cache(outcomes: &[u64; CACHE_OUTCOMES]) -> Option<CacheSummary> {
    let requests = outcomes.iter().sum();
    let [hit, stale, revalidated, miss, bypass] = *outcomes;
    (requests > 0).then(|| CacheSummary {
        requests,
        hit,
        stale,
        revalidated,
        miss,
        bypass,
        hit_share: (hit + stale + revalidated) as f64 / requests as f64,
    })
}
