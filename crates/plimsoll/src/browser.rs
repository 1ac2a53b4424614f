//! Browsers beside the load: from the plan file to the program and its arguments.

use std::ffi::OsString;
use std::path::PathBuf;

use plimsoll_browser::{BrowserSpec, NAMES};
use plimsoll_config::plan::{BrowserSettings, PlanFile};
use plimsoll_model::browser::BrowserPlan;
use plimsoll_model::plan::{Plan, Target};
use url::Url;

use crate::arguments::TransportArguments;
use crate::browser_guard;
use crate::explain::CliError;

/// This program, even if its file was replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Variables that a browser gets, if they exist: where programs and libraries are, languages, fonts, temporary files.
const ENVIRONMENT: [&str; 9] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "FONTCONFIG_FILE",
];
/// Headers that a browser sends by itself, or that belong to a request of the load.
const OWN_HEADERS: [&str; 10] = [
    "host",
    "user-agent",
    "accept",
    "accept-encoding",
    "accept-language",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "referer",
];

/// The first Chromium-based browser of `PATH`.
#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
)]
pub(crate) fn find() -> Option<PathBuf> {
    plimsoll_browser::find(std::env::var("PATH").unwrap_or_default().as_ref())
}

/// The browsers of a plan file, with their program.
pub(crate) fn of_file(
    file: Option<&PlanFile>,
    transport: &TransportArguments,
    target: &Target,
) -> Result<Option<Box<BrowserPlan>>, CliError> {
    let Some(file) = file else {
        return Ok(None);
    };
    let ca_file = transport.connection.cacert.is_some() || file.transport.ca_file.is_some();
    let settings = file.browser.as_ref();
    let plan = settings.map(|settings| plan(settings, transport, target, ca_file).map(Box::new));
    plan.transpose()
}

fn plan(
    settings: &BrowserSettings,
    transport: &TransportArguments,
    target: &Target,
    ca_file: bool,
) -> Result<BrowserPlan, CliError> {
    let unusable = [
        (target.unix_socket.is_some(), "a Unix socket"),
        (!transport.connection.address.is_empty(), "--address"),
        (transport.request.host.is_some(), "--host"),
        (ca_file, "CA certificates of its own"),
    ];
    if let Some((_, what)) = unusable.iter().find(|(is_given, _)| *is_given) {
        let message =
            format!("the plan's `browser` conflicts with {what}: a browser uses the URL alone");
        return Err(CliError::usage(message).remedy(
            "give a URL that a browser on this machine can open, or remove `browser` from the plan",
        ));
    }
    let program = settings.program.clone().or_else(find).ok_or_else(|| {
        CliError::usage("the plan has `browser`, but no Chromium-based browser was found in PATH")
            .details(vec![format!("tried: {}", NAMES.join(", "))])
            .remedy("install one (Debian, Ubuntu: apt install chromium), or name its program with `program` below `browser`")
    })?;
    Ok(BrowserPlan {
        users: settings.users,
        pages: settings.pages.clone(),
        think: settings.think,
        timeout: settings.timeout,
        hosts: settings.hosts.clone(),
        program,
    })
}

/// How the browser of a plan is started.
pub(crate) fn spec(plan: &Plan) -> Option<BrowserSpec> {
    let browser = plan.browser.as_deref()?;
    let base = Url::parse(&plan.target.url).ok()?;
    let origin = base.origin().ascii_serialization();
    let own_host = base.host_str().map(str::to_owned);
    let headers = plan.request.headers.iter().filter(|(name, _)| {
        let mut own = OWN_HEADERS.iter();
        !own.any(|own| name.eq_ignore_ascii_case(own))
    });
    Some(BrowserSpec {
        plan: browser.clone(),
        urls: browser
            .pages
            .iter()
            .map(|page| format!("{origin}{page}"))
            .collect(),
        hosts: own_host.into_iter().chain(browser.hosts.clone()).collect(),
        headers: headers.cloned().collect(),
        accepts_any_certificate: plan.transport.insecure,
        guard: (OWN_PROGRAM.into(), vec![browser_guard::NAME.into()]),
        environment: environment(),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
)]
fn environment() -> Vec<(OsString, OsString)> {
    let known = ENVIRONMENT.iter();
    known
        .filter_map(|name| Some((name.into(), std::env::var(name).ok()?.into())))
        .collect()
}
