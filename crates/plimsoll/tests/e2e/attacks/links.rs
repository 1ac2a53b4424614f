//! The folder of the disk cache with links, pipes, devices and endless files of other users: the edge reads, writes,
//! truncates and removes nothing outside, never blocks, and continues.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::{AttackedEdge, MIB, PATIENCE, ScriptedOrigin, answer, get, now};
use crate::support::Sandbox;

/// A user that is neither root nor the edge's.
const SOMEBODY: u32 = 65_534;
const SECRET: &str = "what only its owner may know or change";

/// Serves cacheable pages; each contains the request it was generated for.
fn origin() -> ScriptedOrigin {
    ScriptedOrigin::start(|head, stream| {
        let path = head.split(' ').nth(1).unwrap();
        let is_page = path.starts_with("/page/");
        let body = format!("body of {path}");
        is_page.then(|| {
            let lines = "Cache-Control: max-age=600\r\n";
            std::io::Write::write_all(stream, &answer(lines, body.as_bytes())).is_ok()
        })
    })
}

fn start(place: Sandbox, origin: &ScriptedOrigin) -> AttackedEdge {
    let configuration = format!(
        "listen: 127.0.0.1:0\npools: {{ app: {{ servers: [\"http://{}\"] }} }}\n\
         cache: {{ disk: {{ path: copies, size: 16MiB }} }}\n",
        origin.address
    );
    AttackedEdge::start(place, &configuration)
}

/// Requests pages; each must be correct, from the cache or the server.
#[track_caller]
fn check_pages(edge: &AttackedEdge) {
    for number in 0..20 {
        let path = format!("/page/{number}");
        let answer = get(edge.address(), &path);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        let expected = format!("\r\n\r\nbody of {path}");
        assert!(text.ends_with(&expected), "{path}: {text}");
        assert!(!text.contains(SECRET), "{text}");
    }
}

/// Ends it in an orderly way: what waited to be written is written. Its folder is left as it is.
fn end(mut edge: AttackedEdge) -> Sandbox {
    edge.signal(rustix::process::Signal::TERM);
    edge.wait_for_end();
    std::mem::replace(&mut edge.place, Sandbox::new())
}

/// A folder with copies, whose edge has ended.
fn filled(origin: &ScriptedOrigin) -> Sandbox {
    let edge = start(Sandbox::new(), origin);
    check_pages(&edge);
    let began = now();
    while edge.metric("plimsoll_edge_cache_disk_objects") < 20.0 {
        assert!(began.elapsed() < PATIENCE, "they are not written");
    }
    end(edge)
}

/// Files of copies.
fn copies(folder: &Path) -> Vec<PathBuf> {
    let shards = fs::read_dir(folder).unwrap().flatten();
    let shards = shards.filter(|shard| shard.file_name().len() == 2);
    shards
        .flat_map(|shard| fs::read_dir(shard.path()).unwrap().flatten())
        .map(|file| file.path())
        .collect()
}

/// What lies outside: a folder with files whose names an edge might look for.
struct Outside {
    folder: PathBuf,
    files: Vec<PathBuf>,
}

impl Outside {
    fn new(place: &Sandbox) -> Self {
        let folder = place.path().join("outside");
        fs::create_dir(&folder).unwrap();
        let names = ["letter", "lock", "purges", "0", "1"];
        let files: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
        for file in &files {
            fs::write(file, SECRET).unwrap();
        }
        Self { folder, files }
    }

    fn letter(&self) -> &Path {
        &self.files[0]
    }

    #[track_caller]
    fn check(&self, what: &str) {
        for file in &self.files {
            let text = fs::read_to_string(file).unwrap_or_default();
            assert_eq!(text, SECRET, "{what}: {}", file.display());
        }
        let count = fs::read_dir(&self.folder).unwrap().count();
        assert_eq!(count, self.files.len(), "{what}: something was added");
    }
}

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "{program} needs root"
    );
}

#[test]
fn a_folder_that_somebody_else_controls_is_not_used() {
    let origin = origin();
    // Whose owner is somebody else, who may put anything there at any time.
    let place = Sandbox::new();
    let folder = place.path().join("copies");
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    let edge = start(place, &origin);
    let why = edge.wait_for_line("disk cache off in");
    assert!(why.contains("the directory belongs to user 65534"), "{why}");
    assert!(why.contains("chown"), "{why}");
    check_pages(&edge);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    // A link that somebody else has made, to a folder of the edge's own user.
    let place = Sandbox::new();
    let outside = Outside::new(&place);
    let folder = place.path().join("copies");
    symlink(&outside.folder, &folder).unwrap();
    lchown(&folder, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    let edge = start(place, &origin);
    let why = edge.wait_for_line("disk cache off in");
    assert!(why.contains("a symbolic link made by user 65534"), "{why}");
    check_pages(&edge);
    outside.check("a link to a folder");
    // A folder of copies in which others could write meanwhile.
    let place = filled(&origin);
    let folder = place.path().join("copies");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let edge = start(place, &origin);
    let why = edge.wait_for_line("disk cache off in");
    assert!(
        why.contains("other users may write to the directory (mode 777)"),
        "{why}"
    );
    check_pages(&edge);
}

/// Puts something in the place of what is at a path.
fn plant(path: &Path, put: impl FnOnce(&Path)) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).unwrap();
    } else {
        let _ = fs::remove_file(path);
    }
    put(path);
}

/// In place of the edge's own files: it reports what to remove, or replaces it; nothing outside changes.
#[test]
fn links_in_the_place_of_its_own_files_lead_nowhere() {
    let origin = origin();
    for (name, is_named) in [("new", true), ("lock", true), ("purges", false)] {
        for to_folder in [true, false] {
            let place = filled(&origin);
            let outside = Outside::new(&place);
            let target = if to_folder {
                &outside.folder
            } else {
                outside.letter()
            };
            let planted = place.path().join("copies").join(name);
            plant(&planted, |path| symlink(target, path).unwrap());
            let edge = start(place, &origin);
            if is_named {
                let why = edge.wait_for_line("disk cache off in");
                let words =
                    format!("`{name}` in the directory was not created by an edge; remove it");
                assert!(why.contains(&words), "{why}");
            }
            check_pages(&edge);
            outside.check(name);
            let _place = end(edge);
            outside.check(name);
        }
    }
    // What is written beside has no link either, nor a pipe that waits for a reader.
    for pipe in [false, true] {
        let place = filled(&origin);
        let outside = Outside::new(&place);
        for name in ["purges", "0", "1", "2"] {
            let planted = place.path().join("copies/new").join(name);
            plant(&planted, |path| {
                if pipe {
                    run("mkfifo", &[path.to_str().unwrap()]);
                } else {
                    symlink(outside.letter(), path).unwrap();
                }
            });
        }
        let edge = start(place, &origin);
        edge.wait_for_line("disk cache in");
        check_pages(&edge);
        outside.check("beside");
    }
}

/// In the place of a copy's file.
#[test]
fn what_is_no_file_is_no_copy() {
    type Put = fn(&Path, &Outside);
    let puts: [(&str, Put); 6] = [
        ("a link to a secret", |path, outside| {
            symlink(outside.letter(), path).unwrap();
        }),
        ("a link to a device", |path, _| {
            symlink("/dev/zero", path).unwrap();
        }),
        ("a pipe", |path, _| run("mkfifo", &[path.to_str().unwrap()])),
        ("a device", |path, _| {
            run("mknod", &[path.to_str().unwrap(), "c", "1", "5"]);
        }),
        ("a huge file", |path, _| {
            let file = fs::File::create(path).unwrap();
            file.set_len(1 << 40).unwrap();
        }),
        ("somebody's file", |path, _| {
            fs::write(path, SECRET).unwrap();
            chown(path, Some(SOMEBODY), None).unwrap();
        }),
    ];
    for (what, put) in puts {
        let origin = origin();
        let place = filled(&origin);
        let outside = Outside::new(&place);
        let all = copies(&place.path().join("copies"));
        assert_eq!(all.len(), 20);
        for path in &all {
            plant(path, |path| put(path, &outside));
        }
        let edge = start(place, &origin);
        edge.wait_for_line("disk cache in");
        let memory = edge.memory();
        check_pages(&edge);
        check_pages(&edge);
        let grown = edge.memory_peak().saturating_sub(memory);
        assert!(grown <= 16 * MIB, "{what}: {grown} bytes");
        outside.check(what);
        let _place = end(edge);
        outside.check(what);
    }
}

/// In the place of a folder of copies: what is behind it is neither served nor removed.
#[test]
fn a_link_in_the_place_of_a_part_holds_nothing() {
    let origin = origin();
    let place = filled(&origin);
    let outside = Outside::new(&place);
    let folder = place.path().join("copies");
    // The real copies stand outside now, and a link to them in their place.
    let mut moved = Vec::new();
    for shard in fs::read_dir(&folder).unwrap().flatten() {
        if shard.file_name().len() == 2 {
            let to = place.path().join("moved").join(shard.file_name());
            fs::create_dir_all(place.path().join("moved")).unwrap();
            fs::rename(shard.path(), &to).unwrap();
            symlink(&to, shard.path()).unwrap();
            moved.extend(fs::read_dir(to).unwrap().flatten().map(|file| file.path()));
        }
    }
    assert_eq!(moved.len(), 20);
    let edge = start(place, &origin);
    let found = edge.wait_for_line("disk cache in");
    assert!(found.contains(": 0 stored responses, 0 bytes"), "{found}");
    let asked = origin.heads();
    check_pages(&edge);
    assert_eq!(origin.heads(), asked + 20, "a copy from outside was served");
    let place = end(edge);
    assert!(
        moved.iter().all(|file| file.exists()),
        "a file outside was removed"
    );
    outside.check("a part");
    drop(place);
}
