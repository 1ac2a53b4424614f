//! `plimsoll record`: a browser visits a site through a recording proxy, and the visit becomes a plan.
//!
//! Only requests to the given host are recorded. Traffic to hosts that the user permits is tunnelled and counted; other
//! hosts are refused.

mod browser;
mod budget;
mod certificate;
mod clock;
mod forward;
mod log;
mod proxy;
mod reach;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_import::journey;
use plimsoll_lab::progress::StopFlag;
use tokio::net::TcpListener;
use url::Url;

use crate::arguments::RecordArguments;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::screen::{eprint, print};
use crate::{import, signals};

use browser::BrowserProcess;
use certificate::Authority;
use log::ExchangeLog;
use proxy::Proxy;
use reach::RestrictedDialer;

/// Interval of the check for Ctrl-C.
const STOP_EVERY: Duration = Duration::from_millis(100);

/// Records a visit and writes its plan.
pub(crate) fn record(arguments: &RecordArguments) -> Result<Exit, CliError> {
    let url = import::site(&arguments.url)?;
    let authority =
        Authority::new(&url).map_err(|error| CliError::new(Exit::Internal, error.to_string()))?;
    // Found before anything starts: without a browser the recording cannot proceed.
    let browser = match arguments.proxy {
        Some(_) => None,
        None => Some(browser::find(
            arguments
                .browser
                .clone()
                .filter(|path| !path.as_os_str().is_empty()),
        )?),
    };
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let log = Arc::new(ExchangeLog::new());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listener = runtime.block_on(listen(arguments))?;
    let reach = RestrictedDialer::new(
        &proxy::host_and_port(&url),
        arguments.host.iter().chain(&arguments.pass),
        listener.local_addr()?,
    );
    let proxy = Proxy::new(
        &url,
        &authority,
        arguments.ca_file.as_deref(),
        &arguments.host,
        reach,
        Arc::clone(&log),
    )?;
    let proxy = (proxy, listener);
    runtime.block_on(visit(arguments, &url, &authority, browser, proxy, &stop))?;
    // Connections that are still open end with the loop.
    drop(runtime);
    let recording = log.recording();
    let options = journey::Options {
        target: Some(url),
        hosts: arguments.host.clone(),
        file: "recording".to_owned(),
        has_folder: arguments.out.is_some(),
    };
    let imported =
        journey::plan(&recording, &options).map_err(|error| CliError::usage(chain(&error)))?;
    import::show(&imported);
    match &arguments.out {
        Some(path) => {
            let folder = path.parent().unwrap_or(Path::new(""));
            import::output::write_files(&imported, Path::new(""), folder)?;
            write(path, &imported.plan)?;
            eprint(&format!("wrote {}", path.display()));
        }
        None => print(&imported.plan),
    }
    Ok(Exit::Met)
}

/// Listens on the given address, or on a loopback address.
async fn listen(arguments: &RecordArguments) -> Result<TcpListener, CliError> {
    let wanted = arguments
        .proxy
        .unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    if !wanted.ip().is_loopback() && arguments.pass.iter().any(|host| host == "*") {
        return Err(CliError::usage(format!(
            "with --pass '*' the proxy on {wanted} would be an open proxy"
        ))
        .remedy("listen on a loopback address, such as --proxy 127.0.0.1:8899, or list the hosts with --pass HOST"));
    }
    TcpListener::bind(wanted).await.map_err(|error| {
        CliError::usage(format!("cannot listen on {wanted}: {error}"))
            .remedy("use a free address, such as 127.0.0.1:0")
    })
}

async fn visit(
    arguments: &RecordArguments,
    url: &Url,
    authority: &Authority,
    program: Option<PathBuf>,
    (proxy, listener): (Proxy, TcpListener),
    stop: &StopFlag,
) -> Result<(), CliError> {
    let address = listener.local_addr()?;
    let serving = tokio::spawn(proxy.serve(listener));
    let mut browser = match program {
        Some(program) => Some(BrowserProcess::start(
            &program,
            address,
            &authority.fingerprint(),
            url,
        )?),
        None => None,
    };
    if browser.is_none() {
        eprint(&format!(
            "proxy on {address}; Ctrl-C ends the recording and writes the plan"
        ));
        if url.scheme() == "https" {
            write(&arguments.certificate, &authority.pem())?;
            let name = arguments.certificate.display();
            eprint(&format!(
                "let the browser trust {name} for this recording only: its private key is not stored"
            ));
        }
    } else {
        eprint("visit the site; closing the browser or Ctrl-C ends the recording");
    }
    let mut tick = tokio::time::interval(STOP_EVERY);
    loop {
        tokio::select! {
            () = BrowserProcess::ended(&mut browser) => break,
            _ = tick.tick() => if stop.is_raised() { break },
        }
    }
    serving.abort();
    if let Some(browser) = browser {
        browser.stop().await;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    plimsoll_lab::output::write(path, text.as_bytes())
        .map_err(|error| CliError::usage(format!("cannot write {}: {error}", path.display())))
}
