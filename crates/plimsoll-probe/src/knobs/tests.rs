//! Knobs of machines that are folders: what is found, what becomes of the files, and what is out of reach.

mod every_row;
mod java;
mod kernel;
mod memory_shares;
mod mpm;
mod programs;
mod strangers;
mod units;

use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

/// A machine without processes.
struct MachineFolder(tempfile::TempDir);

impl MachineFolder {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.put("proc/cpuinfo", "processor : 0\nprocessor : 1\n");
        machine.put(
            "proc/meminfo",
            "MemTotal: 8388608 kB\nMemAvailable: 8000000 kB\n",
        );
        machine.put("proc/sys/net/core/somaxconn", "4096\n");
        machine.put(
            "proc/self/limits",
            "Max open files            1024                65536                files\n",
        );
        machine
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A process, by its name and command line; its root is that of the machine.
    fn process(&self, pid: u32, parent: u32, comm: &str, words: &[&str]) {
        self.put(&format!("proc/{pid}/comm"), comm);
        // 512 pages of memory.
        let stat =
            format!("{pid} ({comm}) S {parent} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 512 0\n");
        self.put(&format!("proc/{pid}/stat"), &stat);
        self.put(&format!("proc/{pid}/cmdline"), &words.join("\0"));
        self.put(&format!("proc/{pid}/cgroup"), "0::/\n");
        symlink(
            self.0.path(),
            self.0.path().join(format!("proc/{pid}/root")),
        )
        .unwrap();
        symlink("/srv", self.0.path().join(format!("proc/{pid}/cwd"))).unwrap();
    }

    fn unit(&self, pid: u32, unit: &str) {
        self.put("run/systemd/system/none", "");
        self.put(
            &format!("proc/{pid}/cgroup"),
            &format!("0::/system.slice/{unit}\n"),
        );
    }

    fn find(&self, related: &[u32]) -> KnobsFound {
        self.find_with(related, false)
    }

    fn find_with(&self, related: &[u32], kernel: bool) -> KnobsFound {
        let mut files = Files::new(self.0.path().to_owned());
        let plan = KnobPlan {
            target_address: None,
            unix_socket: None,
            components: Vec::new(),
            kernel,
            root: self.0.path().to_owned(),
        };
        find_among(&mut files, &plan, &related.iter().copied().collect())
    }
}

#[track_caller]
fn knob<'f>(found: &'f KnobsFound, name: &str) -> &'f FoundKnob {
    let mut knobs = found.knobs.iter();
    let names: Vec<&str> = found.knobs.iter().map(|knob| knob.name.as_str()).collect();
    knobs
        .find(|knob| knob.name == name)
        .unwrap_or_else(|| panic!("{name} is not among {names:?}; {:?}", found.notes))
}

/// The template of a file with all knobs, which must be the file where each stands at its present level.
#[track_caller]
fn template_of(found: &KnobsFound, path: &str) -> String {
    let mut files = found.files.iter();
    let file = files.find(|file| file.path == Path::new(path)).unwrap();
    let whole = template(&file.text, &file.edits, &|_| true);
    let mut filled = whole.replace("{{ '{{' }}", "{{");
    for knob in &found.knobs {
        filled = filled.replace(&format!("{{{{ {} }}}}", knob.name), &knob.now);
    }
    assert!(!filled.contains("{{"), "{filled}");
    whole
}

#[track_caller]
fn is_out_of_reach(found: &KnobsFound, name: &str, because: &str) {
    match &knob(found, name).place {
        KnobPlace::Unreachable(why) => assert!(why.contains(because), "{why}"),
        place => panic!("{name} is reachable: {place:?}"),
    }
}

const NGINX: &str = "worker_processes 1;\nevents {\n    worker_connections 64;\n}\nhttp {\n    include sites/*.conf;\n}\n";
const SITE: &str = "upstream app {\n    server 127.0.0.1:8000;\n    keepalive 2;\n}\nserver {\n    listen 80;\n    \
    location / {\n        proxy_http_version 1.1;\n        proxy_pass http://app;\n    }\n}\n";

fn stack() -> MachineFolder {
    let machine = MachineFolder::new();
    machine.process(
        7,
        1,
        "nginx",
        &["nginx: master process /usr/sbin/nginx -c /etc/nginx/nginx.conf"],
    );
    machine.process(8, 7, "nginx", &["nginx: worker process"]);
    machine.put("etc/nginx/nginx.conf", NGINX);
    machine.put("etc/nginx/sites/app.conf", SITE);
    machine.process(
        9,
        1,
        "python3",
        &[
            "python3",
            "/usr/bin/gunicorn",
            "-c",
            "/srv/conf.py",
            "app:app",
        ],
    );
    machine.process(10, 9, "python3", &["python3", "/usr/bin/gunicorn"]);
    machine.put("srv/conf.py", "bind = '127.0.0.1:8000'\nworkers = 1\n");
    machine.process(
        11,
        1,
        "postgres",
        &["/usr/bin/postgres", "-D", "/var/lib/pg"],
    );
    machine.put(
        "var/lib/pg/postgresql.conf",
        "shared_buffers = 16MB\t# min 128kB\nmax_connections = 100\n",
    );
    machine
}

#[test]
fn a_stack_is_found_from_its_proxy_on() {
    let found = stack().find(&[7, 8]);
    let site = template_of(&found, "/etc/nginx/sites/app.conf");
    assert!(site.contains("keepalive {{ nginx_keepalive }};"), "{site}");
    assert!(
        site.contains("listen 80 backlog={{ nginx_backlog }};"),
        "{site}"
    );
    let main = template_of(&found, "/etc/nginx/nginx.conf");
    assert!(
        main.starts_with("worker_processes {{ nginx_worker_processes }};\n"),
        "{main}"
    );
    assert!(
        main.contains("proxy_buffers {{ nginx_proxy_buffers }};"),
        "{main}"
    );
    let gunicorn = template_of(&found, "/srv/conf.py");
    assert!(
        gunicorn.contains("workers = {{ gunicorn_workers }}\n"),
        "{gunicorn}"
    );
    assert!(
        gunicorn.contains("threads = {{ gunicorn_threads }}\n"),
        "{gunicorn}"
    );
    // A single worker for two CPUs comes before what is large enough.
    let first: Vec<&str> = found
        .knobs
        .iter()
        .take(3)
        .map(|knob| knob.name.as_str())
        .collect();
    assert!(first.contains(&"gunicorn_workers"), "{first:?}");
    let workers = knob(&found, "gunicorn_workers");
    assert_eq!((workers.now.as_str(), workers.restart), ("1", false));
    assert_eq!(workers.levels, ["1", "2", "4", "8", "16"]);
    assert_eq!(workers.usual.as_deref(), Some("4"));
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("only one on this machine"))
    );
}

#[test]
fn commands_check_and_reload() {
    let found = stack().find(&[7, 8]);
    let file = |path: &str| {
        let mut files = found.files.iter();
        files
            .find(|file| file.path == Path::new(path))
            .unwrap()
            .clone()
    };
    let nginx = file("/etc/nginx/nginx.conf");
    let check = nginx.check.unwrap().join(" ");
    assert_eq!(check, "nginx -c /etc/nginx/nginx.conf -t -q");
    assert_eq!(
        nginx.reload.unwrap().join(" "),
        "nginx -c /etc/nginx/nginx.conf -s reload"
    );
    assert_eq!(
        file("/srv/conf.py").reload.unwrap().join(" "),
        "pkill -HUP -o -f ^python3 /usr/bin/gunicorn -c /srv/conf\\.py app:app$"
    );
    assert_eq!(
        file("/srv/conf.py").check.unwrap().last().unwrap(),
        "/srv/conf.py"
    );
}

#[test]
fn what_needs_a_restart_needs_a_unit() {
    let machine = stack();
    let found = machine.find(&[7]);
    is_out_of_reach(&found, "postgres_shared_buffers", "not a unit of systemd");
    assert!(matches!(
        knob(&found, "postgres_work_mem").place,
        KnobPlace::File(_)
    ));
    machine.unit(11, "postgresql@15-main.service");
    let found = machine.find(&[7]);
    let buffers = knob(&found, "postgres_shared_buffers");
    assert!(buffers.restart && matches!(buffers.place, KnobPlace::File(_)));
    let text = template_of(&found, "/var/lib/pg/postgresql.conf");
    assert!(
        text.starts_with("shared_buffers = {{ postgres_shared_buffers }}\t# min 128kB\n"),
        "{text}"
    );
}

#[test]
fn conditions_hold_today() {
    let machine = stack();
    machine.unit(11, "postgresql.service");
    let found = machine.find(&[7]);
    let texts = |searched: &[&str]| -> Vec<String> {
        let constraints = found.constraints.iter();
        let texts =
            constraints.filter_map(|constraint| constraint.text(&|name| searched.contains(&name)));
        texts.map(|constraint| constraint.text).collect()
    };
    let all = texts(&[
        "gunicorn_workers",
        "gunicorn_threads",
        "postgres_shared_buffers",
        "postgres_max_connections",
    ]);
    assert_eq!(
        all,
        [
            "gunicorn_workers * gunicorn_rss + postgres_shared_buffers <= 0.8 * memory",
            "gunicorn_workers * gunicorn_threads <= postgres_max_connections - 10",
        ]
    );
    assert_eq!(
        texts(&["gunicorn_threads"]),
        ["1 * gunicorn_threads <= 100 - 10"]
    );
    assert!(texts(&["nginx_backlog"]).is_empty());
}

#[test]
fn of_several_servers_the_unrelated_are_left_out() {
    let machine = stack();
    machine.process(
        20,
        1,
        "postgres",
        &["/usr/bin/postgres", "-D", "/var/lib/other"],
    );
    let found = machine.find(&[7]);
    assert!(
        found
            .knobs
            .iter()
            .all(|knob| !knob.name.starts_with("postgres"))
    );
    let excluded = found
        .notes
        .iter()
        .filter(|note| note.contains("is not included"));
    assert_eq!(excluded.count(), 2);
    let found = machine.find(&[7, 20]);
    is_out_of_reach(
        &found,
        "postgres_work_mem",
        "/var/lib/other/postgresql.conf cannot be read",
    );
}

#[test]
fn servers_of_other_people_are_left_out() {
    let machine = stack();
    machine.put(
        "proc/11/status",
        "Name:\tpostgres\nUid:\t4242\t4242\t4242\t4242\nGid:\t4242\t4242\t4242\t4242\n",
    );
    let found = machine.find(&[7]);
    assert!(
        found
            .knobs
            .iter()
            .all(|knob| !knob.name.starts_with("postgres"))
    );
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("belongs to another person"))
    );
    assert!(!machine.find(&[7, 11]).knobs.is_empty());
    // `nobody` is no person.
    machine.put(
        "proc/11/status",
        "Name:\tpostgres\nUid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\n",
    );
    assert_eq!(
        knob(&machine.find(&[7]), "postgres_max_connections").now,
        "100"
    );
}

#[test]
fn what_the_command_line_sets_is_not_in_the_file() {
    let machine = MachineFolder::new();
    machine.process(9, 1, "gunicorn", &["gunicorn", "--workers=3", "app:app"]);
    let found = machine.find(&[9]);
    is_out_of_reach(&found, "gunicorn_workers", "--workers 3");
}

#[test]
fn haproxy_queues_for_its_servers() {
    let machine = MachineFolder::new();
    machine.process(
        7,
        1,
        "haproxy",
        &["/usr/sbin/haproxy", "-Ws", "-f", "/etc/haproxy/haproxy.cfg"],
    );
    machine.put(
        "etc/haproxy/haproxy.cfg",
        "global\n    maxconn 100\ndefaults\n    timeout connect 5s\nbackend app\n    server a 127.0.0.1:1 maxconn 5\n    \
         server b 127.0.0.1:2 maxconn 5 # full\nbackend open\n    server c 127.0.0.1:3 check\n",
    );
    let found = machine.find(&[7]);
    let text = template_of(&found, "/etc/haproxy/haproxy.cfg");
    assert_eq!(
        text.matches("{{ haproxy_app_server_maxconn }}").count(),
        2,
        "{text}"
    );
    assert!(
        text.contains("server c 127.0.0.1:3 check maxconn {{ haproxy_open_server_maxconn }}\n"),
        "{text}"
    );
    assert!(
        text.contains("global\n    nbthread {{ haproxy_nbthread }}\n"),
        "{text}"
    );
    assert_eq!(knob(&found, "haproxy_timeout_queue").now, "5s");
    assert_eq!(found.knobs[0].name, "haproxy_app_server_maxconn");
    assert_eq!(
        found.files[0].reload.as_ref().unwrap().join(" "),
        "pkill -USR2 -o -f ^/usr/sbin/haproxy( .*)? -f /etc/haproxy/haproxy\\.cfg( |$)"
    );
}

#[test]
fn php_and_apache_count_their_processes() {
    let machine = MachineFolder::new();
    machine.process(7, 1, "apache2", &["/usr/sbin/apache2", "-k", "start"]);
    machine.put(
        "etc/apache2/apache2.conf",
        "LoadModule mpm_prefork_module m.so\nIncludeOptional mods/*.conf\nKeepAliveTimeout 30\n",
    );
    machine.put(
        "etc/apache2/mods/mpm.conf",
        "<IfModule mpm_prefork_module>\nMaxRequestWorkers 4\n</IfModule>\n",
    );
    machine.process(
        9,
        1,
        "php-fpm8.2",
        &["php-fpm: master process (/etc/php/fpm/php-fpm.conf)"],
    );
    machine.process(10, 9, "php-fpm8.2", &["php-fpm: pool www"]);
    machine.put(
        "etc/php/fpm/php-fpm.conf",
        "[global]\ninclude=/etc/php/fpm/pool.d/*.conf\n",
    );
    machine.put(
        "etc/php/fpm/pool.d/www.conf",
        "[www]\npm = dynamic\npm.max_children = 2\npm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 2\n",
    );
    machine.put("etc/php/fpm/php.ini", "[PHP]\nopcache.enable=0\n");
    let loaded = "is not loaded";
    is_out_of_reach(&machine.find(&[7, 9]), "php_opcache_enable", loaded);
    let extension = "zend_extension=opcache.so\n";
    machine.put("etc/php/fpm/conf.d/10-opcache.ini", extension);
    let found = machine.find(&[7, 9]);
    // A reload does not go beyond the limit of servers.
    assert_eq!(
        knob(&found, "apache_MaxRequestWorkers")
            .levels
            .last()
            .unwrap(),
        "256"
    );
    assert_eq!(knob(&found, "apache_KeepAliveTimeout").now, "30");
    let children = knob(&found, "php_pm_max_children");
    assert_eq!(children.levels.first().unwrap(), "2");
    assert_eq!(knob(&found, "php_opcache_enable").now, "0");
    let pool = template_of(&found, "/etc/php/fpm/pool.d/www.conf");
    assert!(
        pool.contains("pm = {{ php_pm }}\npm.max_children = {{ php_pm_max_children }}\n"),
        "{pool}"
    );
    template_of(&found, "/etc/php/fpm/php.ini");
    machine.unit(7, "apache2.service");
    assert!(knob(&machine.find(&[7]), "apache_MaxRequestWorkers").restart);
}

#[test]
fn a_master_of_php_is_reloaded_although_its_number_changes() {
    let reload = |global: &str, pid: &str, unit: Option<&str>| {
        let machine = MachineFolder::new();
        let title = "php-fpm: master process (/srv/php-fpm.conf)";
        machine.process(9, 1, "php-fpm8.2", &[title]);
        let main = format!("[global]\n{global}[www]\npm = static\npm.max_children = 2\n");
        machine.put("srv/php-fpm.conf", &main);
        machine.put("run/php.pid", pid);
        if let Some(unit) = unit {
            machine.unit(9, unit);
        }
        let found = machine.find(&[9]);
        found.files[0].reload.as_ref().unwrap().join(" ")
    };
    let file = "pid = /run/php.pid\n";
    assert_eq!(reload(file, "9\n", None), "pkill -USR2 -F /run/php.pid");
    // The file is of another master, or there is none.
    let by_title = "pkill -USR2 -o -f ^php-fpm: master process \\(/srv/php-fpm\\.conf\\)";
    assert_eq!(reload(file, "8\n", None), by_title);
    assert_eq!(reload("", "", None), by_title);
    assert_eq!(
        reload(file, "9\n", Some("php8.2-fpm.service")),
        "systemctl kill --kill-who=main --signal=USR2 php8.2-fpm.service"
    );
}

#[test]
fn behind_a_known_application_only_stores_are_taken_for_its_own() {
    let machine = MachineFolder::new();
    machine.process(
        7,
        1,
        "php-fpm8.2",
        &["php-fpm: master process (/srv/php-fpm.conf)"],
    );
    machine.put(
        "srv/php-fpm.conf",
        "[www]\npm = static\npm.max_children = 2\n",
    );
    machine.process(8, 1, "redis-server", &["redis-server", "127.0.0.1:6379"]);
    machine.process(9, 1, "gunicorn", &["gunicorn", "app:app"]);
    let prefixes = |related: &[u32]| {
        let found = machine.find(related);
        let names = found
            .knobs
            .iter()
            .map(|knob| knob.name.split('_').next().unwrap().to_owned());
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(
        prefixes(&[7]),
        BTreeSet::from(["php".to_owned(), "redis".to_owned()])
    );
    // Nothing is known of the target.
    assert_eq!(prefixes(&[]).len(), 3);
}

#[test]
fn workers_have_the_connections_of_the_only_database() {
    let conditions = |apache: &str| {
        let machine = MachineFolder::new();
        machine.process(7, 1, "apache2", &["/usr/sbin/apache2", "-k", "start"]);
        machine.put("etc/apache2/apache2.conf", apache);
        let mut files = Files::new(machine.0.path().to_owned());
        let cpus = Machine::read(&mut files);
        let (listeners, components) = (Listeners::default(), []);
        let mut reader = KnobReader::new(&mut files, &cpus, &components, &listeners);
        let apache = processes::servers(reader.files).remove(0);
        read_server(&mut reader, &apache);
        let database = ServerProcess {
            kind: ComponentKind::Mysql,
            ..apache
        };
        reader.begin(&database);
        reader.knob(reader::NewKnob::new(
            "max_connections",
            "10",
            reader::Spot::Unreachable(String::new()),
        ));
        reader.add_constraints();
        let constraints = reader.found.constraints.iter();
        let constraints = constraints.filter_map(|constraint| constraint.text(&|_| true));
        constraints
            .map(|constraint| constraint.text)
            .collect::<Vec<_>>()
    };
    let main = "LoadModule mpm_prefork_module m.so\nMaxRequestWorkers 4\n";
    let bound = "apache_MaxRequestWorkers <= mariadb_max_connections - 1".to_owned();
    assert!(!conditions(main).contains(&bound));
    let scripts = format!("{main}LoadModule php_module libphp8.2.so\n");
    let found = conditions(&scripts);
    assert!(found.contains(&bound), "{found:?}");
    // It does not hold today.
    let many = scripts.replace("Workers 4", "Workers 40");
    assert!(
        !conditions(&many)
            .iter()
            .any(|text| text.contains("max_connections"))
    );
}

#[test]
fn the_cache_of_php_is_found_wherever_its_files_are() {
    let machine = MachineFolder::new();
    let title = "php-fpm: master process (/srv/php-fpm.conf)";
    machine.process(9, 1, "php-fpm8.2", &[title]);
    let pool = "[www]\npm = static\npm.max_children = 2\n";
    machine.put("srv/php-fpm.conf", pool);
    let none = machine.find(&[9]);
    is_out_of_reach(&none, "php_opcache_enable", "`Loaded Configuration File`");
    // Debian's program reads them there.
    machine.put("etc/php/8.2/fpm/php.ini", "[PHP]\nopcache.enable = On\n");
    let memory = "zend_extension=opcache.so\nopcache.memory_consumption=16\n";
    machine.put("etc/php/8.2/fpm/conf.d/10-opcache.ini", memory);
    let found = machine.find(&[9]);
    assert_eq!(knob(&found, "php_opcache_enable").now, "1");
    assert_eq!(knob(&found, "php_opcache_memory_consumption").now, "16");
    template_of(&found, "/etc/php/8.2/fpm/conf.d/10-opcache.ini");
    // The pool has the last word.
    let off = format!(
        "{pool}php_admin_value[opcache.enable] = 0\nphp_value[opcache.memory_consumption] = 8\n"
    );
    machine.put("srv/php-fpm.conf", &off);
    let found = machine.find(&[9]);
    assert_eq!(knob(&found, "php_opcache_enable").now, "0");
    assert_eq!(knob(&found, "php_opcache_memory_consumption").now, "16");
    let text = template_of(&found, "/srv/php-fpm.conf");
    let edited = "php_admin_value[opcache.enable] = {{ php_opcache_enable }}\n";
    assert!(text.contains(edited), "{text}");
}

#[test]
fn the_kernel_is_found_when_it_is_wanted() {
    let machine = MachineFolder::new();
    machine.put("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
    machine.put("proc/sys/vm/swappiness", "60\n");
    assert!(machine.find(&[]).knobs.is_empty());
    let found = machine.find_with(&[], true);
    assert_eq!(knob(&found, "kernel_swappiness").now, "60");
    assert_eq!(
        knob(&found, "kernel_ipv4_tcp_rmem").now,
        "4096 131072 6291456"
    );
    let file = &found.files[0];
    assert_eq!(file.path, Path::new(KERNEL_FILE));
    template_of(&found, KERNEL_FILE);
    // Only what is searched is written.
    let own = kernel_file(file, &|knob| knob == "kernel_swappiness");
    assert_eq!(
        own.text,
        "# net.core.somaxconn = 4096\n# net.ipv4.tcp_rmem = 4096 131072 6291456\nvm.swappiness = 60\n"
    );
    let text = template(&own.text, &own.edits, &|_| true);
    let right = own.text.replace("60", "{{ kernel_swappiness }}");
    assert_eq!(text, right);
}

#[test]
fn applications_behind_a_pooler_have_its_connections() {
    let machine = stack();
    machine.process(30, 1, "pgbouncer", &["pgbouncer", "/etc/pgbouncer.ini"]);
    machine.put(
        "etc/pgbouncer.ini",
        "[databases]\nshop = port=5432\n[pgbouncer]\ndefault_pool_size = 5\n",
    );
    let found = machine.find(&[7, 9, 11, 30]);
    let texts = found
        .constraints
        .iter()
        .filter_map(|constraint| constraint.text(&|_| true));
    let texts: Vec<String> = texts.map(|constraint| constraint.text).collect();
    assert!(
        texts.contains(
            &"pgbouncer_default_pool_size * pgbouncer_pools <= postgres_max_connections - 10"
                .to_owned()
        ),
        "{texts:?}"
    );
}

#[test]
fn a_program_that_cannot_be_read_is_named() {
    let machine = MachineFolder::new();
    machine.process(7, 1, "nginx", &["nginx: master process nginx"]);
    machine.process(9, 1, "java", &["java", "-Xmx256m", "-jar", "shop.jar"]);
    machine.process(11, 1, "redis-server", &["redis-server", "127.0.0.1:6379"]);
    let found = machine.find(&[7, 9, 11]);
    is_out_of_reach(
        &found,
        "nginx_worker_processes",
        "/etc/nginx/nginx.conf cannot be read",
    );
    is_out_of_reach(&found, "jvm_Xmx", "not a unit of systemd");
    // Nothing is sent to an address at which the process does not listen.
    is_out_of_reach(&found, "redis_maxmemory", "its address is unknown");
}
