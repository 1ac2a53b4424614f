//! Programs that run as units of an administrator: their variables and command lines are changed there.

use super::*;

const UNIT: &str = "etc/systemd/system/shop.service";

/// A process that runs as a unit with this text.
fn unit(comm: &str, words: &[&str], text: &str) -> MachineFolder {
    let machine = MachineFolder::new();
    machine.process(9, 1, comm, words);
    machine.unit(9, "shop.service");
    machine.put(UNIT, text);
    machine
}

#[track_caller]
fn unit_of(found: &KnobsFound) -> String {
    let path = format!("/{UNIT}");
    let mut files = found.files.iter();
    let file = files.find(|file| file.path == Path::new(&path)).unwrap();
    let script = "systemctl daemon-reload && exec systemctl restart \"$1\"";
    let restart = ["sh", "-c", script, "sh", "shop.service"];
    assert_eq!(file.restart.as_deref().unwrap(), restart);
    template_of(found, &path)
}

#[test]
fn variables_of_node_are_lines_of_its_unit() {
    let text = "[Unit]\nDescription=Shop\n[Service]\nEnvironment=NODE_ENV=production WEB_CONCURRENCY=2\n\
        ExecStart=/usr/bin/node server.js\n";
    let machine = unit("node", &["/usr/bin/node", "server.js"], text);
    machine.put("proc/9/environ", "WEB_CONCURRENCY=2\0");
    let found = machine.find(&[9]);
    let workers = knob(&found, "node_WEB_CONCURRENCY");
    assert_eq!((workers.now.as_str(), workers.restart), ("2", true));
    let edited = unit_of(&found);
    let lines = "[Service]\nEnvironment=UV_THREADPOOL_SIZE={{ node_UV_THREADPOOL_SIZE }}\n\
        Environment=NODE_ENV=production WEB_CONCURRENCY={{ node_WEB_CONCURRENCY }}\n";
    assert!(edited.contains(lines), "{edited}");
    // What a package installs stays as it is.
    let path = machine.0.path().join(UNIT);
    std::fs::remove_file(&path).unwrap();
    machine.put("lib/systemd/system/shop.service", text);
    symlink("/lib/systemd/system/shop.service", path).unwrap();
    let found = machine.find(&[9]);
    is_out_of_reach(&found, "node_WEB_CONCURRENCY", "`systemctl edit`");
}

#[test]
fn flags_are_words_of_a_unit() {
    let line = "/usr/bin/gunicorn -w 3 --threads=2 app:app";
    let text = format!("[Service]\n# Of the days of -w 3 --threads=2 alone.\nExecStart={line}\n");
    let words: Vec<&str> = line.split(' ').collect();
    let machine = unit("gunicorn", &words, &text);
    let found = machine.find(&[9]);
    let workers = knob(&found, "gunicorn_workers");
    assert_eq!((workers.now.as_str(), workers.restart), ("3", true));
    let edited = unit_of(&found);
    let line =
        "/usr/bin/gunicorn -w {{ gunicorn_workers }} --threads={{ gunicorn_threads }} app:app\n";
    assert!(edited.ends_with(line), "{edited}");
    let texts = found.constraints.iter();
    let texts = texts.filter_map(|constraint| constraint.text(&|_| true));
    let texts: Vec<String> = texts.map(|constraint| constraint.text).collect();
    let memory = "gunicorn_workers * gunicorn_rss <= 0.8 * memory".to_owned();
    assert!(texts.contains(&memory), "{texts:?}");
}

#[test]
fn flags_of_java_are_words_of_a_unit() {
    let line =
        "/usr/bin/java -Xmx256m -XX:+UseSerialGC -jar shop.jar --server.tomcat.threads.max=60";
    let words: Vec<&str> = line.split(' ').collect();
    let text = format!("[Service]\nExecStart={line}\n");
    let machine = unit("java", &words, &text);
    let found = machine.find(&[9]);
    assert_eq!(knob(&found, "jvm_collector").now, "Serial");
    let edited = unit_of(&found);
    for part in [
        "-Xmx{{ jvm_Xmx }} ",
        "-XX:+Use{{ jvm_collector }}GC ",
        "--server.tomcat.threads.max={{ jvm_server_tomcat_threads_max }}\n",
    ] {
        assert!(edited.contains(part), "{edited}");
    }
}

/// A file of `systemctl edit` counts more than the unit.
#[test]
fn a_drop_in_comes_before_its_unit() {
    let text = "[Service]\nEnvironment=UV_THREADPOOL_SIZE=8\n";
    let machine = unit("node", &["/usr/bin/node", "server.js"], text);
    machine.put("proc/9/environ", "UV_THREADPOOL_SIZE=16\0");
    let drop_in = "etc/systemd/system/shop.service.d/override.conf";
    machine.put(drop_in, "[Service]\nEnvironment=UV_THREADPOOL_SIZE=16\n");
    let found = machine.find(&[9]);
    assert_eq!(knob(&found, "node_UV_THREADPOOL_SIZE").now, "16");
    let path = format!("/{drop_in}");
    let edited = template_of(&found, &path);
    let right = "[Service]\nEnvironment=UV_THREADPOOL_SIZE={{ node_UV_THREADPOOL_SIZE }}\n";
    assert_eq!(edited, right);
}
