//! Clients and their visits.
//!
//! A client is an address with an agent. A visit begins with a page view after 30 minutes without a request of the same
//! client. Where clients are too many for the table, it continues with a sample of them, chosen by hash and so for the
//! whole log, in which each stands for several.

use hashbrown::HashTable;

use super::crawlers;
use super::hash::{hash, is_sampled, join};

/// Pause after which a visit is over, seconds.
pub(super) const PAUSE_S: i64 = 30 * 60;
/// Clients in the table.
const CLIENTS_MAX: usize = 900_000;
/// Names of crawlers that are told apart.
const NAMES_MAX: usize = 2_000;
/// Page views of a visit from which on its pace is judged.
const PACED_FROM: u32 = 100;
/// Seconds per page view of a fast reader; who is faster for so long is a program.
const PACE_S: i64 = 1;

/// Why a client looks like a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramSign {
    /// The name in its agent, by number.
    Agent(u16),
    /// It read robots.txt.
    Robots,
    /// It reads faster than a person.
    Pace,
}

#[derive(Debug)]
struct Client {
    hash: u64,
    visit_from_s: i64,
    last_s: i64,
    /// Of the visit.
    page_views: u32,
    country: u16,
    sign: Option<ProgramSign>,
}

/// A request of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientRequest<'a> {
    pub(super) at_s: i64,
    pub(super) address: &'a str,
    pub(super) agent: &'a str,
    pub(super) path: &'a str,
    pub(super) is_page_view: bool,
}

/// What the table knows about the client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientState {
    /// For how many clients this one stands.
    pub(super) weight: u64,
    pub(super) country: u16,
    pub(super) sign: Option<ProgramSign>,
    /// A person's visit began with this request.
    pub(super) begins_visit: bool,
}

/// The clients of the last half hour, or a sample.
#[derive(Debug, Default)]
pub(super) struct Clients {
    table: HashTable<Client>,
    sample_bits: u32,
    names: Vec<String>,
    /// Visits of people that began with a page view, by weight.
    visits: u64,
    /// The same for stretches of requests of any kind: what remains of visits where a log has no pages.
    stretches: u64,
    latest_s: i64,
}

/// The hash of a client.
pub(super) fn client_hash(address: &str, agent: &str) -> u64 {
    join(hash(address.as_bytes()), hash(agent.as_bytes()))
}

impl Clients {
    /// Adds a request; `None` if its client is not in the sample. `country` is called once for each client.
    pub(super) fn take(
        &mut self,
        client: u64,
        request: &ClientRequest<'_>,
        country: impl FnOnce(&str) -> u16,
    ) -> Option<ClientState> {
        if !is_sampled(client, self.sample_bits) {
            return None;
        }
        self.latest_s = self.latest_s.max(request.at_s);
        let is_known = |other: &Client| other.hash == client;
        if let Some(entry) = self.table.find_mut(client, is_known) {
            let (begins_stretch, begins_visit) = entry.take(request);
            let (country, sign) = (entry.country, entry.sign);
            return Some(self.count(country, sign, begins_stretch, begins_visit));
        }
        self.make_room();
        if !is_sampled(client, self.sample_bits) {
            return None;
        }
        let mut entry = Client {
            hash: client,
            visit_from_s: request.at_s,
            last_s: i64::MIN,
            page_views: 0,
            country: country(request.address),
            sign: self.sign_of(request.agent),
        };
        let (begins_stretch, begins_visit) = entry.take(request);
        let (country, sign) = (entry.country, entry.sign);
        self.table.insert_unique(client, entry, |other| other.hash);
        Some(self.count(country, sign, begins_stretch, begins_visit))
    }

    fn count(
        &mut self,
        country: u16,
        sign: Option<ProgramSign>,
        begins_stretch: bool,
        begins_visit: bool,
    ) -> ClientState {
        let weight = 1 << self.sample_bits;
        let is_person = !matches!(sign, Some(ProgramSign::Agent(_)));
        self.stretches += u64::from(begins_stretch && is_person) * weight;
        self.visits += u64::from(begins_visit && is_person) * weight;
        ClientState {
            weight,
            country,
            sign,
            begins_visit: begins_visit && is_person,
        }
    }

    fn sign_of(&mut self, agent: &str) -> Option<ProgramSign> {
        let name = crawlers::name_of(agent)?;
        let index = match self.names.iter().position(|known| *known == name) {
            Some(index) => index,
            None if self.names.len() < NAMES_MAX => {
                self.names.push(name);
                self.names.len() - 1
            }
            None => NAMES_MAX,
        };
        u16::try_from(index).ok().map(ProgramSign::Agent)
    }

    /// Drops clients whose visit is over; if they are few, half of all clients leave the sample.
    fn make_room(&mut self) {
        if self.table.len() < CLIENTS_MAX {
            return;
        }
        let over_s = self.latest_s.saturating_sub(PAUSE_S);
        // A program that is known by what it did is not forgotten.
        let is_kept = |client: &Client| client.last_s >= over_s || client.sign.is_some();
        self.table.retain(|client| is_kept(client));
        while self.table.len() > CLIENTS_MAX / 2 {
            self.sample_bits += 1;
            let bits = self.sample_bits;
            self.table.retain(|client| is_sampled(client.hash, bits));
        }
    }

    /// Visits, and by how much the true number may differ in 95 of 100 cases, as a share.
    pub(super) fn visits(&self, with_pages: bool) -> (u64, f64) {
        let visits = if with_pages {
            self.visits
        } else {
            self.stretches
        };
        if self.sample_bits == 0 || visits == 0 {
            return (visits, 0.0);
        }
        // Each sampled visit stands for `weight`; clients make a few visits each, which the factor 2 covers.
        let weight = (1_u64 << self.sample_bits) as f64;
        (visits, 1.96 * 2.0 * (weight / visits as f64).sqrt())
    }

    /// Name of a crawler by its number.
    pub(super) fn name(&self, number: u16) -> &str {
        self.names
            .get(usize::from(number))
            .map_or("others", String::as_str)
    }
}

impl Client {
    /// Whether the request begins a stretch of requests, and whether it begins a visit.
    fn take(&mut self, request: &ClientRequest<'_>) -> (bool, bool) {
        // Far back in time is another visit too: a second log of the same hours, or a clock that was set back.
        let pause_s = request.at_s.saturating_sub(self.last_s);
        let begins_stretch = !(-PAUSE_S..=PAUSE_S).contains(&pause_s);
        if begins_stretch {
            self.page_views = 0;
            self.visit_from_s = request.at_s;
            self.last_s = request.at_s;
        }
        // Lines are written at the ends of requests, so beginnings may be a little out of order.
        self.last_s = self.last_s.max(request.at_s);
        let begins_visit = request.is_page_view && self.page_views == 0;
        if begins_visit {
            self.visit_from_s = request.at_s;
        }
        self.page_views += u32::from(request.is_page_view);
        if self.sign.is_none() {
            let lasted_s = request.at_s.saturating_sub(self.visit_from_s);
            let pace = i64::from(self.page_views) * PACE_S;
            if request.path == "/robots.txt" {
                self.sign = Some(ProgramSign::Robots);
            } else if self.page_views >= PACED_FROM && lasted_s < pace {
                self.sign = Some(ProgramSign::Pace);
            }
        }
        (begins_stretch, begins_visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_view(at_s: i64, address: &str) -> ClientRequest<'_> {
        ClientRequest {
            at_s,
            address,
            agent: "Firefox",
            path: "/",
            is_page_view: true,
        }
    }

    fn take(clients: &mut Clients, request: &ClientRequest<'_>) -> Option<ClientState> {
        let client = client_hash(request.address, request.agent);
        clients.take(client, request, |_| 0)
    }

    #[test]
    fn a_visit_ends_after_half_an_hour_without_a_request() {
        let mut clients = Clients::default();
        let begins: Vec<bool> = [0, 10, 1810, 1811, 3612, 9000]
            .into_iter()
            .map(|at_s| {
                take(&mut clients, &page_view(at_s, "192.0.2.1"))
                    .unwrap()
                    .begins_visit
            })
            .collect();
        assert_eq!(begins, [true, false, false, false, true, true]);
        let poll = ClientRequest {
            path: "/api/live",
            is_page_view: false,
            ..page_view(10_700, "192.0.2.1")
        };
        assert!(!take(&mut clients, &poll).unwrap().begins_visit);
        // The poll kept the visit alive.
        assert!(
            !take(&mut clients, &page_view(12_400, "192.0.2.1"))
                .unwrap()
                .begins_visit
        );
        assert_eq!(clients.visits(true), (3, 0.0));
        assert_eq!(clients.visits(false), (3, 0.0));
    }

    #[test]
    fn programs_are_known_by_name_robots_and_pace() {
        let mut clients = Clients::default();
        let mut sign = |request: &ClientRequest<'_>| take(&mut clients, request).unwrap().sign;
        let named = ClientRequest {
            agent: "Googlebot/2.1",
            ..page_view(0, "192.0.2.1")
        };
        assert_eq!(sign(&named), Some(ProgramSign::Agent(0)));
        let robots = ClientRequest {
            path: "/robots.txt",
            is_page_view: false,
            ..page_view(0, "192.0.2.2")
        };
        assert_eq!(sign(&robots), Some(ProgramSign::Robots));
        let fast: Vec<_> = (0..120)
            .map(|number| sign(&page_view(number / 2, "192.0.2.3")))
            .collect();
        assert_eq!((fast[98], fast[99]), (None, Some(ProgramSign::Pace)));
        let slow = (0..300).map(|number| sign(&page_view(number * 5, "192.0.2.4")));
        assert!(slow.into_iter().all(|sign| sign.is_none()));
        assert_eq!(clients.name(0), "Googlebot");
        // The named one makes no visit.
        assert_eq!(clients.visits(true).0, 2);
    }

    #[test]
    fn too_many_clients_are_sampled_and_counted_within_the_error() {
        let mut clients = Clients::default();
        let number = 2_500_000_u64;
        for client in 0..number {
            // All within the half hour, two page views each.
            for at_s in [0, 1] {
                let request = page_view(at_s, "");
                clients.take(hash(&client.to_le_bytes()), &request, |_| 0);
            }
            assert!(clients.table.len() <= CLIENTS_MAX);
        }
        let (visits, error) = clients.visits(true);
        let off = (visits as f64 - number as f64).abs() / number as f64;
        assert!(off <= error && error < 0.01, "{visits} {error}");
    }
}
