//! Servers beside those of the target, and programs as their documentation starts them: without a unit or a whole path.

use super::*;

#[test]
fn haproxy_without_a_master_process_tells_what_reloads_it() {
    let machine = MachineFolder::new();
    machine.process(7, 1, "haproxy", &["/usr/sbin/haproxy", "-f", "haproxy.cfg"]);
    machine.put(
        "srv/haproxy.cfg",
        "global\ndefaults\n  timeout queue 5s\nbackend be\n  server a 127.0.0.1:1 maxconn 2\n",
    );
    let found = machine.find(&[7]);
    assert_eq!(knob(&found, "haproxy_be_server_maxconn").now, "2");
    is_out_of_reach(&found, "haproxy_be_server_maxconn", "start it with `-W`");
}

#[test]
fn threads_of_puma_are_those_that_run_where_the_file_computes_them() {
    let machine = MachineFolder::new();
    machine.process(7, 1, "puma", &["puma 5.6.5 (tcp://127.0.0.1:3000) [shop]"]);
    machine.put(
        "srv/config/puma.rb",
        "count = ENV.fetch(\"RAILS_MAX_THREADS\", 2).to_i\nthreads count, count\n",
    );
    for (thread, name) in [
        (7, "puma"),
        (8, "puma srv tp 001"),
        (9, "puma srv tp 002"),
        (10, "puma reactor"),
    ] {
        machine.put(&format!("proc/7/task/{thread}/comm"), &format!("{name}\n"));
    }
    let found = machine.find(&[7]);
    assert_eq!(knob(&found, "puma_threads").now, "2");
    assert!(
        template_of(&found, "/srv/config/puma.rb").ends_with(
            "threads {{ puma_threads }}, {{ puma_threads }}\nworkers {{ puma_workers }}\n"
        )
    );
    machine.put("proc/7/environ", "HOME=/srv\0RAILS_MAX_THREADS=8\0");
    assert_eq!(knob(&machine.find(&[7]), "puma_threads").now, "8");
}
