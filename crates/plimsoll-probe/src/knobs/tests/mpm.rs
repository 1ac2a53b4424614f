//! Apache with each of its MPMs: numbers of workers that it starts, and a change of the MPM.

use super::*;

/// An Apache that includes these files of `mods`.
fn apache(files: &[(&str, &str)]) -> MachineFolder {
    let machine = MachineFolder::new();
    machine.process(7, 1, "apache2", &["/usr/sbin/apache2", "-k", "start"]);
    machine.put(
        "etc/apache2/apache2.conf",
        "IncludeOptional mods/*.load\nIncludeOptional mods/*.conf\nKeepAlive On\n",
    );
    for (name, text) in files {
        machine.put(&format!("etc/apache2/mods/{name}"), text);
    }
    for mpm in ["prefork", "event"] {
        machine.put(&format!("usr/lib/apache2/modules/mod_mpm_{mpm}.so"), "");
    }
    machine
}

#[test]
fn workers_are_whole_processes_of_threads() {
    let machine = apache(&[
        ("mpm.load", "LoadModule mpm_event_module x.so\n"),
        (
            "mpm.conf",
            "ServerLimit 8\nThreadsPerChild 15\nMaxRequestWorkers 45\n",
        ),
    ]);
    let found = machine.find(&[7]);
    let workers = knob(&found, "apache_MaxRequestWorkers");
    // 8 processes have room for 120, and a reload does not start more.
    assert_eq!(workers.levels, ["15", "30", "45", "90"]);
    assert!(!workers.restart);
    machine.unit(7, "apache2.service");
    let found = machine.find(&[7]);
    let workers = knob(&found, "apache_MaxRequestWorkers");
    assert_eq!(workers.levels, ["15", "30", "45", "90", "180", "360"]);
    assert!(workers.restart);
    // 274 processes of 15 threads are 4,096 workers or more.
    assert_eq!(
        template_of(&found, "/etc/apache2/mods/mpm.conf"),
        "ServerLimit 274\nThreadsPerChild 15\nMaxRequestWorkers {{ apache_MaxRequestWorkers }}\n"
    );
}

/// As Debian 12 has them.
const PREFORK_LOAD: &str = "# Conflicts: mpm_event mpm_worker\nLoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so\n";
const PREFORK_CONF: &str = "# prefork MPM\nStartServers            5\nMinSpareServers         5\nMaxSpareServers         10\n\
    MaxRequestWorkers       150\nMaxConnectionsPerChild  0\n";

#[test]
fn prefork_may_become_another_mpm() {
    let machine = apache(&[
        ("mpm_prefork.load", PREFORK_LOAD),
        ("mpm_prefork.conf", PREFORK_CONF),
    ]);
    is_out_of_reach(&machine.find(&[7]), "apache_MPM", "not a unit of systemd");
    machine.unit(7, "apache2.service");
    let found = machine.find(&[7]);
    let mpm = knob(&found, "apache_MPM");
    // The module of `worker` is not installed.
    assert_eq!((mpm.now.as_str(), mpm.restart), ("prefork", true));
    assert_eq!(mpm.levels, ["prefork", "event"]);
    let load = template_of(&found, "/etc/apache2/mods/mpm_prefork.load");
    assert_eq!(
        load.lines().last().unwrap(),
        "LoadModule mpm_{{ apache_MPM }}_module /usr/lib/apache2/modules/mod_mpm_{{ apache_MPM }}.so"
    );
    // `event` does not know numbers of spare processes.
    assert_eq!(
        template_of(&found, "/etc/apache2/mods/mpm_prefork.conf"),
        "# prefork MPM\nStartServers            5\n\
         <IfModule mpm_prefork_module>\nMinSpareServers         5\n</IfModule>\n\
         <IfModule mpm_prefork_module>\nMaxSpareServers         10\n</IfModule>\n\
         ServerLimit 4096\nMaxRequestWorkers       {{ apache_MaxRequestWorkers }}\n\
         MaxConnectionsPerChild  {{ apache_MaxConnectionsPerChild }}\n"
    );
    // They are read by one MPM alone before another is loaded.
    let place = |name: &str| {
        let path = Path::new("/etc/apache2/mods").join(name);
        found.files.iter().position(|file| file.path == path)
    };
    assert!(place("mpm_prefork.conf").unwrap() < place("mpm_prefork.load").unwrap());
}

#[test]
fn an_application_in_its_processes_keeps_the_mpm() {
    let machine = apache(&[
        ("mpm_prefork.load", PREFORK_LOAD),
        ("mpm_prefork.conf", PREFORK_CONF),
        ("php.load", "LoadModule php_module libphp8.2.so\n"),
    ]);
    machine.unit(7, "apache2.service");
    let found = machine.find(&[7]);
    is_out_of_reach(&found, "apache_MPM", "PHP needs prefork");
    let conf = template_of(&found, "/etc/apache2/mods/mpm_prefork.conf");
    assert!(!conf.contains("IfModule"), "{conf}");
}

#[test]
fn a_thread_for_each_request_never_becomes_a_process() {
    let load = "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n";
    let machine = apache(&[("mpm_event.load", load)]);
    machine.unit(7, "apache2.service");
    let found = machine.find(&[7]);
    is_out_of_reach(&found, "apache_MPM", "no other level is possible");
    machine.put("usr/lib/apache2/modules/mod_mpm_worker.so", "");
    let found = machine.find(&[7]);
    assert_eq!(knob(&found, "apache_MPM").levels, ["worker", "event"]);
}

#[test]
fn php_in_its_processes_has_its_cache_in_ini_files() {
    let machine = apache(&[
        ("mpm_prefork.load", PREFORK_LOAD),
        (
            "php8.2.load",
            "LoadModule php_module /usr/lib/apache2/modules/libphp8.2.so\n",
        ),
    ]);
    let named = "`Loaded Configuration File`";
    is_out_of_reach(&machine.find(&[7]), "apache_opcache_enable", named);
    machine.put(
        "etc/php/8.2/apache2/php.ini",
        "[PHP]\nopcache.enable=0 ; why\n",
    );
    machine.put(
        "etc/php/8.2/apache2/conf.d/10-opcache.ini",
        "zend_extension=opcache.so\nopcache.memory_consumption=16\n",
    );
    let found = machine.find(&[7]);
    let cache = knob(&found, "apache_opcache_enable");
    assert_eq!((cache.now.as_str(), cache.restart), ("0", false));
    let ini = template_of(&found, "/etc/php/8.2/apache2/php.ini");
    assert!(
        ini.contains("opcache.enable={{ apache_opcache_enable }} ; why\n"),
        "{ini}"
    );
    let module = template_of(&found, "/etc/php/8.2/apache2/conf.d/10-opcache.ini");
    assert!(
        module.contains("={{ apache_opcache_memory_consumption }}\n"),
        "{module}"
    );
    let mut files = found.files.iter();
    let file = files.find(|file| file.path.ends_with("php.ini")).unwrap();
    assert_eq!(
        file.reload.as_ref().unwrap().join(" "),
        "apache2ctl -k graceful"
    );
    // Apache's own files have the last word.
    machine.put(
        "etc/apache2/mods/php8.2.conf",
        "php_admin_flag opcache.validate_timestamps Off\nphp_admin_value opcache.enable 1\n",
    );
    let found = machine.find(&[7]);
    assert_eq!(knob(&found, "apache_opcache_validate_timestamps").now, "0");
    assert_eq!(knob(&found, "apache_opcache_enable").now, "0");
    let own = template_of(&found, "/etc/apache2/mods/php8.2.conf");
    let edited = "opcache.validate_timestamps {{ apache_opcache_validate_timestamps }}\n";
    assert!(own.contains(edited), "{own}");
}
