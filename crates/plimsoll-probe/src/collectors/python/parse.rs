//! Stacks of a program in Python, as `py-spy dump --json` prints them.

use serde_json::Value;

/// Threads of one sample at most.
const THREADS_MAX: usize = 1024;
/// Path fragments of Python's own files and of installed packages.
const NOT_OWN: [&str; 4] = ["/lib/python", "site-packages", "dist-packages", "<frozen"];

/// A thread at the time of the sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadStack {
    /// It computes, or waits for the interpreter's lock.
    pub(crate) is_active: bool,
    /// It has the interpreter's lock.
    pub(crate) has_lock: bool,
    /// The innermost call of the application's own code, `handle (app.py:12)`; without one, the innermost of all.
    pub(crate) call: String,
}

/// Parses them; `None` when it is not such output.
#[must_use]
pub(crate) fn stacks(text: &str) -> Option<Vec<ThreadStack>> {
    let json: Value = serde_json::from_str(text).ok()?;
    let threads = json.as_array()?;
    let stacks = threads.iter().take(THREADS_MAX).map(|thread| {
        let is = |name: &str| thread.get(name).and_then(Value::as_bool).unwrap_or(false);
        let frames = thread.get("frames").and_then(Value::as_array);
        ThreadStack {
            is_active: is("active"),
            has_lock: is("owns_gil"),
            call: frames.map(|frames| innermost(frames)).unwrap_or_default(),
        }
    });
    Some(stacks.collect())
}

fn innermost(frames: &[Value]) -> String {
    let text = |frame: &Value, name: &str| {
        let value = frame.get(name).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let is_own = |frame: &&Value| {
        let file = text(frame, "filename");
        !NOT_OWN.iter().any(|pattern| file.contains(pattern))
    };
    let frame = frames.iter().find(is_own).or(frames.first());
    frame.map_or_else(String::new, |frame| {
        let file = text(frame, "short_filename");
        let file = file.rsplit('/').next().unwrap_or_default();
        let line = frame.get("line").and_then(Value::as_u64).unwrap_or(0);
        format!("{} ({file}:{line})", text(frame, "name"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DUMP: &str = r#"[{"pid": 1, "thread_name": "T", "active": true, "owns_gil": true, "frames": [
        {"name": "loads", "filename": "/usr/lib/python3.11/json/__init__.py", "short_filename": "json/__init__.py", "line": 346},
        {"name": "handle", "filename": "/srv/shop/app.py", "short_filename": "shop/app.py", "line": 12}]},
        {"pid": 1, "active": false, "owns_gil": false, "frames": [
        {"name": "wait", "filename": "/usr/lib/python3.11/threading.py", "short_filename": "threading.py", "line": 7}]}]"#;

    #[test]
    fn the_innermost_call_of_the_applications_own() {
        let read = stacks(DUMP).unwrap();
        let shown: Vec<_> = read
            .iter()
            .map(|stack| (stack.is_active, stack.has_lock, stack.call.as_str()))
            .collect();
        let right = [
            (true, true, "handle (app.py:12)"),
            (false, false, "wait (threading.py:7)"),
        ];
        assert_eq!(shown, right);
        assert_eq!(stacks("Error: Permission denied"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,80}") {
            let _ = stacks(&text);
            let _ = stacks(&DUMP.replace("12", &text));
        }
    }
}
