//! Properties of Spring Boot, where they can be read: the command line, the environment, and files beside the program.
//! Those inside of its jar are not read.

use std::path::Path;

use crate::collectors::FileSetting;
use crate::collectors::configuration::Environment;
use crate::collectors::discovery::text_named;
use crate::files::Files;

/// The properties that are kept: others are secrets.
pub(crate) const THREADS: &str = "server.tomcat.threads.max";
pub(crate) const ACCEPT_COUNT: &str = "server.tomcat.accept-count";
pub(crate) const CONNECTIONS: &str = "server.tomcat.max-connections";
pub(crate) const JETTY_THREADS: &str = "server.jetty.threads.max";
pub(crate) const POOL: &str = "spring.datasource.hikari.maximum-pool-size";
pub(super) const VIRTUAL_THREADS: &str = "spring.threads.virtual.enabled";
/// What they were called before Spring Boot 2.3.
const FORMER: [(&str, &str); 2] = [
    (THREADS, "server.tomcat.max-threads"),
    (JETTY_THREADS, "server.jetty.max-threads"),
];
const KEPT: [&str; 8] = [
    THREADS,
    ACCEPT_COUNT,
    CONNECTIONS,
    JETTY_THREADS,
    POOL,
    VIRTUAL_THREADS,
    FORMER[0].1,
    FORMER[1].1,
];
/// Where a property is written that no file has: on the command line, or, behind the name of a variable, in the environment.
pub(crate) const COMMAND_LINE: &str = "its command line";
pub(crate) const IN_ENVIRONMENT: &str = " in its environment";
/// Folders and files that are looked into at most, and levels of a YAML file.
const PLACES_MAX: usize = 8;
const LEVELS_MAX: usize = 32;

/// A property of a file: its name in the form that all spellings share, its value, and its line.
type Property = (String, String, usize);

/// The properties of a process.
pub(super) struct SpringProperties<'a> {
    words: &'a [&'a str],
    environment: Option<&'a Environment>,
    /// Files with their properties; what the first has applies.
    files: Vec<(String, Vec<Property>)>,
}

impl<'a> SpringProperties<'a> {
    /// Reads those of a process.
    pub(super) fn read(
        files: &mut Files,
        pid: u32,
        words: &'a [&'a str],
        environment: Option<&'a Environment>,
    ) -> Self {
        let mut own = Self {
            words,
            environment,
            files: Vec::new(),
        };
        let profile = own.get("spring.profiles.active").map(|found| found.0);
        // Of several profiles the last one applies.
        let profile = profile.and_then(|all| Some(all.rsplit(',').next()?.trim().to_owned()));
        let places = own.places();
        let mut stems: Vec<String> = Vec::new();
        stems.extend(profile.map(|profile| format!("application-{profile}")));
        stems.push("application".to_owned());
        for stem in &stems {
            for place in places.iter().rev() {
                if !place.ends_with('/') && !place.is_empty() {
                    continue;
                }
                for extension in ["properties", "yml", "yaml"] {
                    own.add(files, pid, &format!("{place}{stem}.{extension}"));
                }
            }
        }
        for file in places.iter().rev() {
            if !file.ends_with('/') && !file.is_empty() {
                own.add(files, pid, file);
            }
        }
        own
    }

    /// The folders and files of its properties; what a later one has applies. A folder ends with `/`, except that in which
    /// the process runs.
    fn places(&self) -> Vec<String> {
        let list = |name: &str| -> Option<Vec<String>> {
            let (list, _) = self.get(name)?;
            let places = list.split([',', ';']).filter_map(|place| {
                let place = place.trim();
                let place = place.strip_prefix("optional:").unwrap_or(place);
                let place = place.strip_prefix("file:").unwrap_or(place);
                let place = place.strip_prefix("./").unwrap_or(place);
                (!place.starts_with("classpath:")).then(|| place.to_owned())
            });
            Some(places.take(PLACES_MAX).collect())
        };
        let mut places = list("spring.config.location")
            .unwrap_or_else(|| vec![String::new(), "config/".to_owned()]);
        places.extend(list("spring.config.additional-location").unwrap_or_default());
        places
    }

    fn add(&mut self, files: &mut Files, pid: u32, path: &str) {
        let Some(text) = text_named(files, pid, path) else {
            return;
        };
        let extension = Path::new(path).extension();
        let is_yaml = extension.is_some_and(|own| own == "yml" || own == "yaml");
        let mut read = if is_yaml {
            of_yaml(&text)
        } else {
            of_properties(&text)
        };
        read.retain(|(name, ..)| KEPT.iter().any(|kept| canonical(kept) == *name));
        self.files.push((path.to_owned(), read));
    }

    /// The value of a property, and where it is written.
    pub(super) fn get(&self, name: &str) -> Option<(String, String)> {
        let wanted = canonical(name);
        for prefix in ["--", "-D"] {
            let mut words = self.words.iter().rev();
            let given = words.find_map(|word| {
                let (key, value) = word.strip_prefix(prefix)?.split_once('=')?;
                (canonical(key) == wanted).then_some(value)
            });
            if let Some(value) = given {
                return Some((self.resolved(value)?, COMMAND_LINE.to_owned()));
            }
        }
        let bare = wanted.replace('.', "");
        let is_it = |key: &str| canonical(key) == bare;
        let variable = self.environment.and_then(|own| own.find(is_it));
        if let Some((key, value)) = variable {
            return Some((self.resolved(value)?, format!("{key}{IN_ENVIRONMENT}")));
        }
        self.files.iter().find_map(|(path, properties)| {
            let mut properties = properties.iter().rev();
            let (_, value, line) = properties.find(|(name, ..)| *name == wanted)?;
            Some((self.resolved(value)?, format!("{path}:{line}")))
        })
    }

    /// A property that is a number.
    pub(super) fn number(&self, name: &'static str) -> Option<FileSetting> {
        let mut former = FORMER.iter().filter(|(new, _)| *new == name);
        let found = self.get(name);
        let (value, place) = found.or_else(|| self.get(former.next()?.1))?;
        let value: u32 = value.parse().ok()?;
        Some(FileSetting::number(name, f64::from(value), place))
    }

    /// A value with the variable that it may be: `${POOL}`, or `${POOL:20}`.
    fn resolved(&self, value: &str) -> Option<String> {
        let Some(inside) = value.strip_prefix("${") else {
            return Some(value.to_owned());
        };
        let inside = inside.strip_suffix('}')?;
        let (name, default) = match inside.split_once(':') {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let known = self.environment.and_then(|own| own.get(name));
        known.or(default).map(str::to_owned)
    }
}

/// Whether a name is that of a property, in one of its spellings or as it was called before.
pub(crate) fn is_name(name: &str, property: &str) -> bool {
    let mut former = FORMER.iter().filter(|(new, _)| *new == property);
    let before = former.next().map(|(_, before)| canonical(before));
    let name = canonical(name);
    name == canonical(property) || before.is_some_and(|before| before == name)
}

/// The form of a name that all of its spellings share: `maximum-pool-size`, `maximumPoolSize`, `MAXIMUM_POOL_SIZE`.
fn canonical(name: &str) -> String {
    let signs = name.chars().filter(|sign| !['-', '_'].contains(sign));
    signs.map(|sign| sign.to_ascii_lowercase()).collect()
}

/// The properties of a file of lines.
fn of_properties(text: &str) -> Vec<Property> {
    let lines = text.lines().enumerate();
    let all = lines.filter_map(|(index, line)| {
        let line = line.trim();
        let (key, value) = line.split_once(['=', ':'])?;
        let is_comment = line.starts_with(['#', '!']);
        (!is_comment).then(|| (canonical(key.trim()), value.trim().to_owned(), index + 1))
    });
    all.collect()
}

/// The properties of the first document of a YAML file: further ones are for some profiles only.
fn of_yaml(text: &str) -> Vec<Property> {
    let mut all = Vec::new();
    // The keys that the line is inside of, with their indentation.
    let mut path: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("---") && !all.is_empty() {
            break;
        }
        let content = line.split(" #").next().unwrap_or_default().trim_end();
        let inside = content.trim_start();
        let Some((key, value)) = inside
            .split_once(':')
            .filter(|_| !inside.starts_with(['#', '-']))
        else {
            continue;
        };
        let indent = content.len() - inside.len();
        while path.last().is_some_and(|(above, _)| *above >= indent) {
            path.pop();
        }
        let quotes = ['"', '\''];
        let key = key.trim().trim_matches(quotes);
        let value = value.trim().trim_matches(quotes);
        if value.is_empty() {
            if path.len() < LEVELS_MAX {
                path.push((indent, key.to_owned()));
            }
            continue;
        }
        let keys = path.iter().map(|(_, key)| key.as_str());
        let keys: Vec<&str> = keys.chain([key]).collect();
        all.push((canonical(&keys.join(".")), value.to_owned(), index + 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A property of process 7, with its place, where these files are beside it.
    #[track_caller]
    fn property(
        files: &[(&str, &str)],
        words: &[&str],
        environment: &str,
        name: &'static str,
    ) -> Option<(String, String)> {
        let root = tempfile::tempdir().unwrap();
        let all = files
            .iter()
            .map(|(path, text)| (format!("cwd/{path}"), *text));
        for (path, text) in all.chain([("environ".to_owned(), environment)]) {
            let path = root.path().join("proc/7").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut files = Files::new(root.path().to_owned());
        let environment = Environment::of(&mut files, 7);
        let own = SpringProperties::read(&mut files, 7, words, environment.as_ref());
        let found = own.number(name)?;
        assert_eq!(found.name, name);
        Some((found.value.to_string(), found.file))
    }

    #[track_caller]
    fn is_at(found: Option<(String, String)>, value: &str, place: &str) {
        let (found, at) = found.unwrap();
        assert_eq!((found.as_str(), at.as_str()), (value, place));
    }

    #[test]
    fn a_command_line_comes_before_the_environment_and_that_before_files() {
        let file = [(
            "application.properties",
            "# server.tomcat.threads.max=1\nserver.tomcat.threads.max = 50\nspring.datasource.password=x\n",
        )];
        let java = ["java", "-jar", "shop.jar"];
        is_at(
            property(&file, &java, "", THREADS),
            "50",
            "application.properties:2",
        );
        let variable = "PATH=/\0SERVER_TOMCAT_THREADS_MAX=60\0";
        let place = "SERVER_TOMCAT_THREADS_MAX in its environment";
        is_at(property(&file, &java, variable, THREADS), "60", place);
        let system = ["java", "-Dserver.tomcat.threads.max=70", "-jar", "shop.jar"];
        let place = "its command line";
        is_at(property(&file, &system, variable, THREADS), "70", place);
        let arguments = [
            "java",
            "-Dserver.tomcat.threads.max=70",
            "-jar",
            "shop.jar",
            "--server.tomcat.max-threads=80",
        ];
        // The former name does not come before what is set by the new one.
        is_at(property(&file, &arguments, "", THREADS), "70", place);
        let former = ["java", "-jar", "shop.jar", "--server.tomcat.max-threads=80"];
        is_at(property(&[], &former, "", THREADS), "80", place);
        assert_eq!(property(&[], &java, "", THREADS), None);
    }

    #[test]
    fn names_are_spelled_in_many_ways() {
        let java = ["java", "-jar", "shop.jar"];
        for name in [
            "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE",
            "SPRING_DATASOURCE_HIKARI_MAXIMUMPOOLSIZE",
        ] {
            let found = property(&[], &java, &format!("{name}=7\0"), POOL);
            is_at(found, "7", &format!("{name} in its environment"));
        }
        let file = [(
            "config/application.properties",
            "spring.datasource.hikari.maximumPoolSize: ${POOL:20}\n",
        )];
        let place = "config/application.properties:1";
        is_at(property(&file, &java, "", POOL), "20", place);
        is_at(property(&file, &java, "POOL=9\0", POOL), "9", place);
    }

    #[test]
    fn yaml_is_read_by_its_indentation() {
        let text = "# the shop\nserver:\n  port: 8080\n  tomcat:\n    threads:\n      max: 25 # enough\n    accept-count: 10\n\
            spring.datasource:\n  url: jdbc:postgresql://db/shop\n  hikari:\n    maximum-pool-size: \"5\"\n---\n\
            spring.config.activate.on-profile: test\nserver.tomcat.threads.max: 1\n";
        let java = ["java", "-jar", "shop.jar"];
        let file = [("application.yml", text)];
        let of = |name| property(&file, &java, "", name);
        is_at(of(THREADS), "25", "application.yml:6");
        is_at(of(ACCEPT_COUNT), "10", "application.yml:7");
        is_at(of(POOL), "5", "application.yml:11");
        assert_eq!(of(CONNECTIONS), None);
    }

    #[test]
    fn folders_and_profiles_have_an_order() {
        let files = [
            ("application.properties", "server.tomcat.threads.max=1\n"),
            (
                "config/application.properties",
                "server.tomcat.threads.max=2\n",
            ),
            (
                "application-exam.properties",
                "server.tomcat.threads.max=3\n",
            ),
            ("etc/shop.properties", "server.tomcat.threads.max=4\n"),
        ];
        let java = ["java", "-jar", "shop.jar"];
        let of = |words: &[&str]| property(&files, words, "", THREADS).unwrap().0;
        assert_eq!(of(&java), "2");
        let exam = ["java", "-jar", "shop.jar", "--spring.profiles.active=exam"];
        assert_eq!(of(&exam), "3");
        let located = [
            "java",
            "-Dspring.config.location=optional:file:./etc/shop.properties",
        ];
        assert_eq!(of(&located), "4");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[a-z:=#\"' \n.${}-]{0,200}") {
            let _ = (of_yaml(&text), of_properties(&text));
        }
    }
}
