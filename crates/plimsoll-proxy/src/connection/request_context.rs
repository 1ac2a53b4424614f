//! State that only some requests carry: a trace, the path for choosing a fallback, a place in a waiting room, a limit that
//! was exceeded.

mod fallback_path;
mod head_limit;
mod request_trace;
mod waiting_room;

pub(super) use self::head_limit::HeadLimit;
use self::waiting_room::WaitingState;
use super::DownstreamConnection;
use crate::telemetry::trace::RequestTrace;

/// State kept until such a request is answered.
#[derive(Debug, Default)]
pub(super) struct RequestContext {
    trace: Option<RequestTrace>,
    /// Its path, where the fallback depends on it.
    path: String,
    waiting: WaitingState,
    /// The limit of heads that it, or its response, exceeded, for the log.
    exceeded: Option<HeadLimit>,
}

impl DownstreamConnection {
    fn context_mut(&mut self) -> &mut RequestContext {
        self.context.get_or_insert_default()
    }
}
