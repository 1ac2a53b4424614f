//! `plimsoll agent`: lets others read this machine, by invitation; and the agents that other commands read.

mod tokens;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_agent::{AgentServer, IdentityStore, Report, StoreError};
use plimsoll_lab::progress::StopFlag;

use crate::arguments::AgentArguments;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::screen::{eprint, print};
use crate::signals;
pub(crate) use tokens::specs;

/// The file below the state folder.
const IDENTITY: &str = "agent.json";
/// State of an agent that root runs, by hand or by the unit of the package: beside that of the edge, whose folder belongs to
/// the edge's user.
const STATE_OF_ROOT: &str = "/var/lib/plimsoll-agent";

/// Invites, or serves until it is interrupted.
pub(crate) fn agent(arguments: &AgentArguments) -> Result<Exit, CliError> {
    let name = arguments
        .name
        .clone()
        .unwrap_or_else(plimsoll_agent::of_this_machine);
    if arguments.stdio {
        return serve_stdio(&name);
    }
    let store = IdentityStore::new(identity_file()?);
    if arguments.invite {
        return invite(arguments, &store, &name);
    }
    if let Some(file) = &arguments.token_file {
        prepare_token(file, &store, arguments.valid_for)?;
    }
    serve(arguments, store, name)
}

/// Serves the reader that started this program over `ssh`. The file that was sent is not needed any more.
fn serve_stdio(name: &str) -> Result<Exit, CliError> {
    plimsoll_ssh::remove_own_file();
    plimsoll_agent::serve_stdio(name)
        .map(|()| Exit::Met)
        .map_err(|text| CliError::usage(format!("the reader of this agent: {text}")))
}

fn serve(
    arguments: &AgentArguments,
    mut store: IdentityStore,
    name: String,
) -> Result<Exit, CliError> {
    store.server_config().map_err(|error| explain(&error))?;
    let address = arguments.listen;
    let listener = TcpListener::bind(address).map_err(|error| {
        CliError::usage(format!("cannot listen on {address}: {error}"))
            .remedy("listen on a free address of this machine: --listen ADDRESS:PORT")
    })?;
    let address = listener.local_addr()?;
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    eprint(&format!(
        "agent {name} listens on {address}; who holds a token of it reads this machine, and changes nothing; Ctrl-C ends it"
    ));
    let report: Report = Arc::new(|text: &str| eprint(text));
    let server = AgentServer::new(listener, store, name, report)?;
    server.serve(&stop.shared())?;
    Ok(Exit::Met)
}

/// Makes a token, and tells how it is used.
fn invite(arguments: &AgentArguments, store: &IdentityStore, name: &str) -> Result<Exit, CliError> {
    let address = arguments.listen;
    let host = if address.ip().is_unspecified() {
        format!("{name}:{}", address.port())
    } else {
        address.to_string()
    };
    let shown = if let Some(file) = &arguments.token_file {
        make_token(file, store, arguments.valid_for)?;
        eprint(&format!(
            "{} has the line of the invitation",
            file.display()
        ));
        file.display().to_string()
    } else {
        let token = store
            .invite(plimsoll_agent::invitation_ends(arguments.valid_for))
            .map_err(|error| explain(&error))?;
        print(&format!("{}\n", token.to_text()));
        "agent.token".to_owned()
    };
    eprint(&format!(
        "put that line into a file where the load runs, readable by you alone, and read this machine with\n  \
         plimsoll watch URL --agent {host} --agent-token-file {shown}"
    ));
    eprint(&format!(
        "the key of this agent is in {}; remove that file to end all invitations",
        store.path().display()
    ));
    Ok(Exit::Met)
}

/// The token of a file: made where the file is missing, else one of this agent.
fn prepare_token(file: &Path, store: &IdentityStore, lasting: Duration) -> Result<(), CliError> {
    if !file.exists() {
        return make_token(file, store, lasting);
    }
    for token in tokens::of_file(file)? {
        if store.knows(&token).map_err(|error| explain(&error))? {
            return Ok(());
        }
    }
    Err(CliError::usage(format!(
        "{} has no token of this agent, whose key is in {}",
        file.display(),
        store.path().display()
    ))
    .remedy("remove the file, and this command makes a new one; or run as the user who made it"))
}

fn make_token(file: &Path, store: &IdentityStore, lasting: Duration) -> Result<(), CliError> {
    let ends = plimsoll_agent::invitation_ends(lasting);
    let token = store.invite(ends).map_err(|error| explain(&error))?;
    plimsoll_agent::write_secret(file, &format!("{}\n", token.to_text()))
        .map_err(|error| explain(&error))
}

/// Where the identity is stored: the folder of the service manager, of the user, or of root.
#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
)]
fn identity_file() -> Result<PathBuf, CliError> {
    let folder = |name: &str| {
        let value = std::env::var(name).ok();
        value.filter(|value| value.starts_with('/'))
    };
    // systemd separates several folders by colons; the first one is used.
    let of_unit =
        folder("STATE_DIRECTORY").and_then(|folders| folders.split(':').next().map(PathBuf::from));
    let of_user = || Some(PathBuf::from(folder("XDG_STATE_HOME")?).join("plimsoll"));
    let of_root = || {
        let is_root = rustix::process::geteuid().is_root();
        is_root.then(|| PathBuf::from(STATE_OF_ROOT))
    };
    let of_home = || Some(PathBuf::from(folder("HOME")?).join(".local/state/plimsoll"));
    let found = of_unit
        .or_else(of_user)
        .or_else(of_root)
        .or_else(of_home)
        .ok_or_else(|| {
            CliError::usage("there is no folder for the key of this agent")
                .remedy("set XDG_STATE_HOME to a folder that outlives restarts")
        })?;
    Ok(found.join(IDENTITY))
}

fn explain(error: &StoreError) -> CliError {
    let remedy = match error {
        StoreError::Missing(_) => {
            "invite somebody first: `plimsoll agent --invite`, as the user who runs the agent"
        }
        StoreError::Open { .. } => "chmod 600 the file, and invite anew if others may have read it",
        StoreError::Io { .. } => {
            "run as the user who made the file, or set XDG_STATE_HOME to a folder of your own"
        }
        StoreError::Identity { .. } => "remove the file and invite anew",
    };
    CliError::usage(chain(error)).remedy(remedy)
}
