//! The browser of a run, and its users.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::clock::Deadline;
use crate::process::Process;
use crate::protocol::CallError;
use crate::spec::{BrowserSpec, VisitSink};
use crate::users::Users;

/// Time for a browser to start: on a busy machine, with a cold disk.
const START_PATIENCE: Duration = Duration::from_mins(1);

/// Why a browser is not there.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// It was not started, or ended at once.
    #[error("the browser {} did not start: {why}", .program.display())]
    Start {
        /// Its program.
        program: PathBuf,
        /// Why, in its own words where it has some.
        why: String,
    },
}

/// A browser whose users visit pages; dropping it ends both.
#[derive(Debug)]
pub struct Browsers {
    process: Process,
    users: Users,
    product: String,
}

impl Browsers {
    /// Starts a browser; its users begin with [`Self::begin`].
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(spec: BrowserSpec) -> Result<Self, BrowserError> {
        let failed = |why: String| BrowserError::Start {
            program: spec.plan.program.clone(),
            why,
        };
        let mut process = Process::start(&spec).map_err(|error| failed(error.to_string()))?;
        let deadline = Deadline::after(START_PATIENCE);
        let version = process
            .connection()
            .call("Browser.getVersion", &json!({}), deadline);
        let version = match version {
            Ok(version) => version,
            Err(error) => {
                process.end();
                return Err(failed(match (error, process.last_error()) {
                    (CallError::Gone, Some(line)) => line,
                    (CallError::Gone, None) => "it ended at once".to_owned(),
                    (error, _) => error.to_string(),
                }));
            }
        };
        let product = version["product"].as_str().unwrap_or("unknown").to_owned();
        Ok(Self {
            users: Users::new(spec, process.connection().clone()),
            process,
            product,
        })
    }

    /// Name and version of the browser: `Chrome/156.0.8078.108`.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// The process whose descendants are the browser.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Lets the users begin. Each visit that ends goes to `sink`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn begin(&mut self, sink: VisitSink) -> io::Result<()> {
        self.users.begin(sink)
    }

    /// Ends the visits, which are then not reported, and the browser. Returns what went wrong with it meanwhile.
    pub fn stop(mut self) -> Option<String> {
        let fault = self.users.end(&mut self.process);
        fault.map(|fault| match self.process.last_error() {
            Some(line) => format!("{fault}: {line}"),
            None => fault,
        })
    }
}

impl Drop for Browsers {
    fn drop(&mut self) {
        self.users.end(&mut self.process);
    }
}
