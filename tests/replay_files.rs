//! Files that a program changes: started again it finds each as it found it, and changes none.

mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use support::programs::{Bench, sent, text};

/// What lies below a folder: of each file its content, when it was changed, and where a link leads.
fn all(folder: &Path) -> BTreeMap<PathBuf, (String, i64)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, is) = (entry.path(), entry.metadata().unwrap());
        if is.is_dir() {
            found.extend(all(&path));
        }
        let content = match is.is_file() {
            true => String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned(),
            false => format!("{:?}", std::fs::read_link(&path).ok()),
        };
        found.insert(path, (content, is.mtime_nsec()));
    }
    found
}

#[test]
fn a_program_that_writes_files_finds_them_as_it_found_them() {
    let bench = Bench::new();
    let (program, folder) = (bench.compile("saves"), bench.at("game"));
    let command = [text(&program), text(&folder)];
    // There is nothing at the first start, and what the one before has left at the others.
    for start in 0..3 {
        let _ = std::fs::remove_dir_all(bench.out());
        bench.record(&[], &command).expect(0);
        let said = sent(&bench.reel());
        let cache = format!("cache {} {}", i32::from(start > 0), 7 * start);
        assert!(said.contains(&cache.into_bytes()), "{said:?}");
        let left = all(&folder);
        for _ in 0..2 {
            bench.expect_exact(&command);
            assert_eq!(all(&folder), left);
        }
        // Nor does it need what is there now.
        let aside = bench.at("aside");
        std::fs::rename(&folder, &aside).unwrap();
        bench.expect_exact(&command);
        assert!(!folder.exists());
        std::fs::rename(&aside, &folder).unwrap();
    }
}

#[test]
fn a_program_with_threads_finds_its_files_as_well() {
    let bench = Bench::new();
    let (program, folder) = (bench.compile("saves"), bench.at("game"));
    let command = [text(&program), text(&folder)];
    bench
        .record(&["--one-thread-at-a-time"], &command)
        .expect(0);
    bench.expect_exact(&command);
}

const DATABASE: &str = "import sqlite3, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0))
db = sqlite3.connect(sys.argv[1])
db.execute('pragma journal_mode=' + sys.argv[2])
db.execute('create table if not exists players (name text, score int)')
for turn in range(5):
    db.execute('insert into players values (?, ?)', ('player%d' % turn, turn)); db.commit()
    rows = db.execute('select count(*), sum(score) from players').fetchone()
    s.sendto(b'%d %d' % rows, s.getsockname()); s.recv(100)
db.close()";

#[test]
fn a_database_is_as_it_was() {
    for mode in ["delete", "wal"] {
        let bench = Bench::new();
        let file = bench.at("players.sqlite");
        let command = ["python3", "-c", DATABASE, text(&file), mode];
        for _ in 0..2 {
            let _ = std::fs::remove_dir_all(bench.out());
            let flags = ["--name", "SERVER"];
            bench.record_plainly(&flags, &command).expect(0);
            let left = std::fs::read(&file).unwrap();
            for _ in 0..2 {
                let ran = bench.again(&["--node", "SERVER"], &command).expect(0);
                assert!(ran.out.contains("exact, 5 of 5 sends"), "{}", ran.out);
                assert_eq!(std::fs::read(&file).unwrap(), left);
            }
        }
    }
}

/// A file that is longer than what is kept of one is the user's own affair, and is named.
#[test]
fn a_file_that_is_too_long_to_be_kept_is_named() {
    let bench = Bench::new();
    let (program, file) = (bench.compile("counts"), bench.at("count"));
    let command = [text(&program), text(&file)];
    std::fs::write(&file, format!("1{}", " ".repeat(5 << 20))).unwrap();
    bench.record(&[], &command).expect(0);
    let ran = bench.again(&[], &command).expect(1);
    let told = format!("known: the file {} ", text(&file));
    assert!(ran.out.contains(&told), "{}", ran.out);
    assert!(ran.out.contains("too long to be kept"), "{}", ran.out);
}

/// What is not answered is named before all guesses.
#[test]
fn a_stream_to_another_program_is_named_where_it_says_something_else() {
    let bench = Bench::new();
    let (program, socket) = (bench.compile("speaks"), bench.at("socket"));
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let answers = std::thread::spawn(move || {
        for answer in ["one", "other"] {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        }
    });
    let command = [text(&program), text(&socket)];
    bench.record(&[], &command).expect(0);
    let ran = bench.again(&[], &command).expect(1);
    answers.join().unwrap();
    let mut reasons = ran
        .out
        .lines()
        .filter(|line| line.contains("maybe because"));
    let told = format!("is a stream to another program, {}:", text(&socket));
    let first = reasons.next().unwrap_or_default();
    assert!(first.contains(&told), "{}", ran.out);
}

#[test]
fn a_file_that_is_only_lengthened_and_too_long_to_be_kept_is_named() {
    let bench = Bench::new();
    let program = bench.compile("grows");
    let file = bench.at("long.dat");
    let command = [text(&program), text(&file)];
    bench.record_plainly(&[], &command).expect(0);
    std::fs::remove_dir_all(bench.out()).unwrap();
    bench.record_plainly(&[], &command).expect(0);
    let told = bench.again(&[], &command).expect(1).out;
    let named = format!("changes the file {}, which had 5242880 bytes", text(&file));
    assert!(told.contains(&named), "{told}");
}
