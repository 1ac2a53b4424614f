//! Which technology a process runs: by its name in the kernel, by the script that an interpreter runs, or by its command
//! line where it has the name of a thread.

use plimsoll_model::component::ComponentKind;

use crate::files::Files;
use crate::parse::process;

/// What the names of interpreters begin with whose programs are found by the script that they run.
const INTERPRETERS: [&str; 2] = ["python", "pypy"];

/// What Node calls its first thread from 22.14 on, and so its process in the kernel.
const FIRST_THREADS_OF_NODE: [&str; 2] = ["MainThread", "node-MainThread"];

/// The only long option of Python that has a value, in the next word.
const WITH_VALUE: &str = "--check-hash-based-pycs";

/// The words of a command line, which NUL separates; programs that write their own title separate them by spaces.
pub(crate) fn words_of(line: &str) -> Vec<&str> {
    let words = line.split(['\0', ' ']);
    words.filter(|word| !word.is_empty()).collect()
}

/// The technology of a process with this name in the kernel; `None` where it is none that is known.
pub(crate) fn technology_of(files: &mut Files, pid: u32, comm: &str) -> Option<ComponentKind> {
    let by_name = ComponentKind::of_process(comm);
    let is_interpreter = INTERPRETERS.iter().any(|name| comm.starts_with(name));
    let is_thread = FIRST_THREADS_OF_NODE.contains(&comm);
    if by_name.is_some() || !(is_interpreter || is_thread) {
        return by_name;
    }
    let line = files.command_line(pid);
    let words = words_of(&line);
    let program = if is_thread {
        words.first()?.rsplit('/').next()
    } else {
        script_of(&words)
    };
    ComponentKind::of_process(program?)
}

/// The technology of a process; `None` where it is none that is known, or gone.
pub(crate) fn technology(files: &mut Files, pid: u32) -> Option<ComponentKind> {
    let comm = files.read(&format!("proc/{pid}/comm")).ok()?;
    let comm = comm.trim_end().to_owned();
    technology_of(files, pid, &comm)
}

/// Whether a process is a child of one of its technology, with the same files; `None` where it is gone.
pub(crate) fn is_worker(files: &mut Files, pid: u32, kind: ComponentKind) -> Option<bool> {
    let stat = files.read(&format!("proc/{pid}/stat")).ok();
    let parent = stat.and_then(process::stat)?.parent;
    Some(technology(files, parent) == Some(kind))
}

/// The name of the script or of the package that Python was started with; `None` for code on the command line or
/// from standard input, and for none.
fn script_of<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if word.starts_with("--") {
            if *word == WITH_VALUE {
                words.next();
            }
            continue;
        }
        let Some(options) = word.strip_prefix('-') else {
            return word.rsplit('/').next();
        };
        if options.is_empty() {
            // The script comes from standard input.
            return None;
        }
        // Options without a value may stand before one that has a value, in the same word or in the next.
        let Some(at) = options.find(['m', 'c', 'W', 'X']) else {
            continue;
        };
        let (option, joined) = options.split_at(at).1.split_at(1);
        let value = if joined.is_empty() {
            words.next().copied()?
        } else {
            joined
        };
        match option {
            "m" => return value.split('.').next(),
            "c" => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_the_name_of_a_thread_is_known_by_its_command_line() {
        for (comm, line, kind) in [
            ("node", "", Some(ComponentKind::Node)),
            (
                "MainThread",
                "/usr/bin/node\0server.js\0",
                Some(ComponentKind::Node),
            ),
            (
                "node-MainThread",
                "node\0server.js\0",
                Some(ComponentKind::Node),
            ),
            ("MainThread", "/opt/game\0", None),
            ("MainThread", "", None),
            ("server", "/usr/bin/node\0server.js\0", None),
        ] {
            let root = tempfile::tempdir().unwrap();
            let folder = root.path().join("proc/7");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cmdline"), line).unwrap();
            let mut files = Files::new(root.path().to_owned());
            assert_eq!(technology_of(&mut files, 7, comm), kind, "{comm} {line}");
        }
    }

    #[test]
    fn scripts_of_an_interpreter() {
        for (line, script) in [
            ("python3 /usr/bin/gunicorn -c conf.py", Some("gunicorn")),
            (
                "/usr/bin/python3.11 -u -m gunicorn app:app",
                Some("gunicorn"),
            ),
            ("python3 -Im gunicorn.app.wsgiapp app:app", Some("gunicorn")),
            ("python3 -mgunicorn", Some("gunicorn")),
            ("python3 -W ignore -Xutf8 -OO serve.py", Some("serve.py")),
            (
                "python3 -X dev --check-hash-based-pycs never run.py",
                Some("run.py"),
            ),
            ("python3 -c import_gunicorn", None),
            ("python3 - gunicorn", None),
            ("python3 -m", None),
            ("python3", None),
            ("", None),
        ] {
            assert_eq!(script_of(&words_of(line)), script, "{line}");
        }
    }
}
