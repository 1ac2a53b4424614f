//! Servers beside those of the target, and programs as their documentation starts them: without a unit or a whole path.

use super::*;

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
