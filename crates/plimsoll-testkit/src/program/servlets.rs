//! Tomcat and Jetty from the system's packages: servers with different path normalisation, each with its defaults and
//! as lenient as possible.

use std::net::SocketAddr;

use super::databases::carry_out;
use super::{Program, folder, write};
use crate::port;

const SERVERS: &str = include_str!("servlets/Main.java");
/// Debian's folder of Java libraries.
const LIBRARIES: [&str; 18] = [
    "tomcat10-annotations-api",
    "tomcat10-api",
    "tomcat10-catalina",
    "tomcat10-coyote",
    "tomcat10-el-api",
    "tomcat10-jaspic-api",
    "tomcat10-jni",
    "tomcat10-juli",
    "tomcat10-servlet-api",
    "tomcat10-util",
    "tomcat10-util-scan",
    "jetty9-http",
    "jetty9-io",
    "jetty9-security",
    "jetty9-server",
    "jetty9-servlet",
    "jetty9-util",
    "servlet-api",
];

/// The servers respond to paths below `/admin/` with `the admin is at PATH`, and to others with `the page is
/// at PATH`; both with the path as the server reads it.
#[derive(Debug)]
pub struct Servlets {
    /// The program.
    pub program: Program,
    /// Tomcat, the lenient Tomcat, Jetty and the lenient Jetty.
    pub addresses: [SocketAddr; 4],
}

impl Servlets {
    /// Compiles and starts them.
    #[must_use]
    pub fn start() -> Self {
        let folder = folder();
        let source = folder.path().join("Main.java");
        write(&source, SERVERS);
        let path = folder.path().display().to_string();
        let libraries = LIBRARIES.map(|name| format!("/usr/share/java/{name}.jar"));
        let libraries = libraries.join(":");
        let source = source.display().to_string();
        carry_out(&["javac", "-nowarn", "-cp", &libraries, "-d", &path, &source]);
        let addresses = [(); 4].map(|()| port::unused());
        let ports = addresses.map(|address| address.port().to_string());
        let classes = format!("{path}:{libraries}");
        // Minimal JIT compilation: they live for seconds.
        let mut command = vec![
            "java",
            "-XX:TieredStopAtLevel=1",
            "-Xshare:auto",
            "-cp",
            &classes,
            "Main",
        ];
        command.extend(ports.iter().map(String::as_str));
        Self {
            program: Program::start(folder, &command, "all four listen"),
            addresses,
        }
    }
}
