//! Why whole kinds of elements are lost, and what to write instead.

use crate::script::Remedy;

/// Why elements are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Script,
    Protocol,
    WebSocket,
    Rendezvous,
    Pace,
    Certificate,
    Resolver,
    Markup,
    Digest,
    Size,
    Metrics,
    Database,
    Links,
    OnFailure,
}

impl Reason {
    pub(super) fn remedy(self) -> Remedy<'static> {
        let (why, remedy) = match self {
            Self::Script => (
                "a plan runs no scripts",
                "write what it computes as `set`, `capture` or a function of templates, or the journey as an external script (`process`)",
            ),
            Self::Protocol => (
                "a plan sends HTTP, WebSocket and Server-Sent Events only",
                "load this protocol with a tool of its own",
            ),
            Self::WebSocket => (
                "elements of WebSocket plug-ins are not read",
                "write the steps `ws`, `send`, `await` and `close`",
            ),
            Self::Rendezvous => (
                "users of a plan do not wait for each other",
                "write a `spike` in the phases of `load`",
            ),
            Self::Pace => (
                "a plan sets its pace by its load, not by delays",
                "write the rate as `sessions` under `load`, or a longer `think`",
            ),
            Self::Certificate => (
                "a plan has no client certificates",
                "terminate TLS in front of the target for the test",
            ),
            Self::Resolver => (
                "a plan resolves names with the system's resolver",
                "write the address as `target`, or in the hosts file",
            ),
            Self::Markup => (
                "a plan does not validate markup",
                "write `expect: { contains: TEXT }` or `expect: { regex: EXPRESSION }`",
            ),
            Self::Digest => (
                "a plan does not compare checksums of answers",
                "write `expect: { contains: TEXT }`",
            ),
            Self::Size => (
                "a plan does not compare sizes of answers",
                "write `expect: { contains: TEXT }`, or `expect: { header: { Content-Length: … } }`",
            ),
            Self::Metrics => (
                "results are not sent elsewhere during a run",
                "write the results with `plimsoll run --json`",
            ),
            Self::Database => (
                "a plan does not connect to databases",
                "export the rows to a CSV file, and name it under `data`",
            ),
            Self::Links => (
                "a plan follows no links that it finds",
                "write `capture` with a CSS selector and the attribute `href`, and a step with its value",
            ),
            Self::OnFailure => (
                "a failed step ends the iteration of a plan, and nothing else",
                "write `abort: [{ when: errors > 50% }]`",
            ),
        };
        Remedy { why, remedy }
    }
}
