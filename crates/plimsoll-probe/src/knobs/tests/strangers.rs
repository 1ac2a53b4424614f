//! Servers beside those of the target, and programs as their documentation starts them: without a unit or a whole path.

use super::*;

#[test]
fn servers_that_the_target_does_not_use_come_last() {
    let machine = stack();
    machine.process(
        30,
        1,
        "php-fpm8.2",
        &["php-fpm: master process (/etc/php/php-fpm.conf)"],
    );
    machine.put(
        "etc/php/php-fpm.conf",
        "[www]\nlisten = /run/php.sock\npm = dynamic\npm.max_children = 1\n",
    );
    // Where it listens is not known: it may be the one that nginx names.
    let found = machine.find(&[7]);
    assert_eq!(found.knobs[0].name, "php_pm_max_children");
    machine.put(
        "proc/net/unix",
        "Num RefCount Protocol Flags Type St Inode Path\n0: 00000002 00000000 00010000 0001 01 55 /run/php.sock\n",
    );
    machine.put("proc/30/fd/none", "");
    symlink("socket:[55]", machine.0.path().join("proc/30/fd/9")).unwrap();
    let found = machine.find(&[7]);
    let order: Vec<bool> = found
        .knobs
        .iter()
        .map(|knob| knob.name.starts_with("php"))
        .collect();
    assert!(order.is_sorted() && order.contains(&true), "{order:?}");
    let note = "PHP-FPM (pid 30) is included because it is the only one on this machine; no connection of the target to \
                it was open; its settings come last";
    assert!(
        found.notes.iter().any(|own| own == note),
        "{:?}",
        found.notes
    );
    // What is known of no target belongs to it as much as all else; and a database may be used for moments.
    let found = machine.find(&[]);
    assert_eq!(found.knobs[0].name, "php_pm_max_children");
    let note = "PostgreSQL (pid 11) is included because it is the only one on this machine; no connection of the target \
                to it was open";
    assert!(
        found.notes.iter().any(|own| own == note),
        "{:?}",
        found.notes
    );
}

#[test]
fn poolers_and_databases_of_others_have_no_part_in_the_conditions() {
    let machine = stack();
    machine.process(30, 1, "pgbouncer", &["pgbouncer", "/etc/pgbouncer.ini"]);
    machine.put(
        "etc/pgbouncer.ini",
        "[databases]\nother = port=5432\n[pgbouncer]\ndefault_pool_size = 5\n",
    );
    machine.process(31, 1, "mariadbd", &["/usr/sbin/mariadbd"]);
    machine.put(
        "proc/net/unix",
        "Num RefCount Protocol Flags Type St Inode Path\n0: 00000002 00000000 00010000 0001 01 55 /run/pooler.sock\n\
         0: 00000002 00000000 00010000 0001 01 56 /run/mariadb.sock\n",
    );
    for (pid, socket) in [(30, "socket:[55]"), (31, "socket:[56]")] {
        machine.put(&format!("proc/{pid}/fd/none"), "");
        symlink(socket, machine.0.path().join(format!("proc/{pid}/fd/9"))).unwrap();
    }
    // The target has connections to PostgreSQL itself.
    let found = machine.find(&[7, 9, 11]);
    let is_other = |knob: &FoundKnob| {
        let mut prefixes = ["pgbouncer", "mariadb"].into_iter();
        prefixes.any(|prefix| knob.name.starts_with(prefix))
    };
    let order: Vec<bool> = found.knobs.iter().map(is_other).collect();
    assert!(order.is_sorted() && order.contains(&true), "{order:?}");
    let constraints = found.constraints.iter();
    let texts = constraints.filter_map(|constraint| constraint.text(&|_| true));
    let texts: Vec<String> = texts.map(|constraint| constraint.text).collect();
    let own = "gunicorn_workers * gunicorn_threads <= postgres_max_connections - 10".to_owned();
    assert!(texts.contains(&own), "{texts:?}");
    // Where it has none, the pooler may be between them.
    let found = machine.find(&[7, 9]);
    let texts = found.constraints.iter();
    let texts = texts.filter_map(|constraint| constraint.text(&|_| true));
    let texts: Vec<String> = texts.map(|constraint| constraint.text).collect();
    assert!(!texts.contains(&own), "{texts:?}");
}

#[test]
fn a_server_of_another_person_is_none_of_several() {
    let machine = stack();
    let words = ["/usr/bin/postgres", "-D", "/home/me/pg"];
    machine.process(20, 1, "postgres", &words);
    let status = |owner: u32| {
        format!("Name:\tpostgres\nUid:\t{owner}\t{owner}\t{owner}\t{owner}\nGid:\t0\t0\t0\t0\n")
    };
    machine.put("proc/20/status", &status(4242));
    let found = machine.find(&[7]);
    assert_eq!(knob(&found, "postgres_max_connections").now, "100");
    machine.put("proc/20/status", &status(0));
    let notes = machine.find(&[7]).notes;
    let several = "is not included: 2 run on this machine";
    assert!(notes.iter().any(|note| note.contains(several)), "{notes:?}");
}

#[test]
fn a_signal_finds_its_process_after_another_start() {
    let reloads = |machine: &MachineFolder| {
        let found = machine.find(&[7, 9, 11]);
        let reload = |path: &str| {
            let mut files = found.files.iter();
            let file = files.find(|file| file.path == Path::new(path)).unwrap();
            file.reload.as_ref().unwrap().join(" ")
        };
        let of_postgres = reload("/var/lib/pg/postgresql.conf");
        (reload("/srv/conf.py"), of_postgres, found.notes)
    };
    // Files that have their numbers.
    let machine = stack();
    machine.put("var/lib/pg/postmaster.pid", "11\n/var/lib/pg\n1790000000\n");
    machine.put(
        "srv/conf.py",
        "bind = '127.0.0.1:8000'\npidfile = 'run/app.pid'\n",
    );
    machine.put("srv/run/app.pid", "9\n");
    let (gunicorn, postgres, _) = reloads(&machine);
    assert_eq!(gunicorn, "pkill -HUP -F /srv/run/app.pid");
    assert_eq!(postgres, "pkill -HUP -F /var/lib/pg/postmaster.pid");
    // The file is of another process.
    machine.put("srv/run/app.pid", "8\n");
    let line = "^python3 /usr/bin/gunicorn -c /srv/conf\\.py app:app$";
    assert_eq!(reloads(&machine).0, format!("pkill -HUP -o -f {line}"));
    // Another server has the same command line.
    let words = [
        "python3",
        "/usr/bin/gunicorn",
        "-c",
        "/srv/conf.py",
        "app:app",
    ];
    machine.process(20, 1, "python3", &words);
    let (gunicorn, _, notes) = reloads(&machine);
    assert_eq!(gunicorn, "kill -HUP 9");
    let note = "gunicorn (pid 9) has no pid file that names it, and its command line does not tell it apart";
    assert!(notes.iter().any(|own| own.starts_with(note)), "{notes:?}");
}

#[test]
fn a_start_has_levels_of_the_command_line() {
    let machine = MachineFolder::new();
    let words = [
        "python3",
        "/usr/bin/gunicorn",
        "-w",
        "3",
        "--threads=2",
        "app:app",
    ];
    machine.process(9, 1, "python3", &words);
    let found = machine.find(&[9]);
    assert_eq!(found.starts, [], "its executable may be of somebody else");
    symlink("/usr/bin/python3.11", machine.0.path().join("proc/9/exe")).unwrap();
    machine.put("usr/bin/python3", "");
    machine.put(
        "proc/9/environ",
        "PATH=/bin:/usr/bin\0APP_ENV=live\0API_KEY=hunter2\0",
    );
    let found = machine.find(&[9]);
    is_out_of_reach(&found, "gunicorn_workers", "let the experiment start it");
    let [start] = &found.starts[..] else {
        unreachable!("{:?}", found.starts)
    };
    // A link of a virtual environment would be another program.
    assert_eq!(start.command[0], "/usr/bin/python3");
    assert_eq!((start.folder.as_str(), start.pid), ("/srv", 9));
    let levels = start.levels.iter();
    let levels = levels.map(|level| format!("{} {}{}", level.word, level.before, level.knob));
    assert_eq!(
        levels.collect::<Vec<_>>(),
        ["3 gunicorn_workers", "4 --threads=gunicorn_threads"]
    );
    let variables = start.variables.as_deref().unwrap().iter();
    let variables = variables.map(|own| (own.name.as_str(), own.value.as_deref()));
    assert_eq!(
        variables.collect::<Vec<_>>(),
        [("APP_ENV", Some("live")), ("API_KEY", None)]
    );
    machine.unit(9, "shop.service");
    assert_eq!(machine.find(&[9]).starts, []);
}

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
fn pgbouncer_leads_to_the_postgresql_of_its_socket() {
    let machine = MachineFolder::new();
    machine.process(7, 1, "pgbouncer", &["pgbouncer", "/etc/pgbouncer.ini"]);
    machine.put(
        "etc/pgbouncer.ini",
        "[databases]\nshop = dbname=shop\n[pgbouncer]\nunix_socket_dir = /var/run/postgresql\n",
    );
    for (pid, socket) in [(11, 77), (12, 78)] {
        let data = format!("/var/lib/pg{pid}");
        machine.process(pid, 1, "postgres", &["/usr/bin/postgres", "-D", &data]);
        machine.put(
            &format!("var/lib/pg{pid}/postgresql.conf"),
            &format!("max_connections = {pid}0\n"),
        );
        let descriptors = machine.0.path().join(format!("proc/{pid}/fd"));
        std::fs::create_dir(&descriptors).unwrap();
        symlink(format!("socket:[{socket}]"), descriptors.join("5")).unwrap();
    }
    machine.put(
        "proc/net/unix",
        "Num       RefCount Protocol Flags    Type St Inode Path\n\
         0000000000000000: 00000002 00000000 00010000 0001 01 77 /tmp/.s.PGSQL.5432\n\
         0000000000000000: 00000002 00000000 00010000 0001 01 78 /run/postgresql/.s.PGSQL.5432\n",
    );
    let found = machine.find(&[7]);
    assert_eq!(knob(&found, "postgres_max_connections").now, "120");
    assert!(
        !found
            .knobs
            .iter()
            .any(|knob| knob.name.starts_with("postgres2"))
    );
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
