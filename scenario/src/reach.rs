//! Other machines: files are brought there, commands run there, recordings are fetched from there.
//!
//! A machine is reached by a command that takes a line for a shell as its last word: `ssh HOST`, `ip netns
//! exec NAME sh -c`, whatever a console's kit has. All that is asked of it is a POSIX shell with
//! `sha256sum` and `tar`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netreel_system::file::permissions;
use sha2::{Digest, Sha256};

use crate::fill::quoted;
use crate::journal::{Journal, MARK, hex};
use crate::mistake::about;

/// How a machine is reached; nothing for this one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reach(pub Vec<String>);

/// A file or folder that a node needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bring {
    /// Where it is here.
    pub from: PathBuf,
    /// Where it goes there.
    pub to: String,
}

impl Reach {
    /// The command that runs a line there.
    pub fn command(&self, line: &str) -> Vec<String> {
        if self.0.is_empty() {
            vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()]
        } else {
            self.0.iter().cloned().chain([line.to_owned()]).collect()
        }
    }

    /// Runs a line there, with a file as its input: what it prints.
    ///
    /// # Errors
    /// What it says on its error output.
    pub fn run(&self, line: &str, input: Option<File>) -> Result<Vec<u8>, String> {
        let words = self.command(line);
        let output = command_of(&words)
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .output()
            .map_err(about(&words[0]))?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            let said = String::from_utf8_lossy(&output.stderr);
            let reached = self.0.join(" ");
            Err(format!("{reached}: {} ({})", said.trim(), output.status))
        }
    }

    /// Brings files there, of those only what is another there; where there is a journal, what undoes that is
    /// in it before. The digests of all, by where they are there.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not the same there afterwards.
    pub fn bring(
        &self,
        brings: &[Bring],
        journal: Option<&Journal>,
    ) -> Result<BTreeMap<String, String>, String> {
        let mut files = BTreeMap::new();
        for bring in brings {
            walk(&bring.from, &bring.to, &mut files)?;
        }
        let mut digests = BTreeMap::new();
        for (to, from) in &files {
            digests.insert(to.clone(), digest(from)?);
        }
        let there = self.digests(files.keys())?;
        for (to, from) in &files {
            if there.get(to) == digests.get(to) {
                continue;
            }
            if let Some(journal) = journal {
                self.undone_by(journal, to, there.contains_key(to))?;
            }
            self.copy(from, to)?;
        }
        let now = self.digests(files.keys())?;
        match files.keys().find(|to| now.get(*to) != digests.get(*to)) {
            Some(to) => Err(format!("{to} is another file there than was brought")),
            None => Ok(digests),
        }
    }

    /// Writes down what takes away what is about to be brought; one that was there before, and is another, is
    /// kept beside it until then and comes back.
    fn undone_by(&self, journal: &Journal, to: &str, was_there: bool) -> Result<(), String> {
        let before = format!("{to}.netreel-before-{}", journal.run_mark());
        let half = quoted(&format!("{before}.new"));
        let (before, new, to) = (quoted(&before), quoted(&new_name(to)), quoted(to));
        // It may be done at any point of bringing, and twice.
        let line = if was_there {
            format!("rm -f {new} {half}; [ ! -f {before} ] || mv -f {before} {to}")
        } else {
            format!("rm -f {to} {new}")
        };
        journal.undo(self.command(&line))?;
        if was_there {
            let keeps = format!("cp -p {to} {half} && mv -f {half} {before}");
            self.run(&keeps, None).map(drop)
        } else {
            Ok(())
        }
    }

    fn copy(&self, from: &Path, to: &str) -> Result<(), String> {
        let told = about(from.display());
        let file = File::open(from).map_err(&told)?;
        let mode = permissions(&file).map_err(&told)?;
        let folder = Path::new(to).parent().unwrap_or(Path::new("/"));
        let folder = quoted(&folder.display().to_string());
        let (to, new) = (quoted(to), quoted(&new_name(to)));
        // A program that runs keeps the file that it has.
        let line =
            format!("mkdir -p {folder} && cat > {new} && chmod {mode:o} {new} && mv -f {new} {to}");
        self.run(&line, Some(file)).map(drop)
    }

    /// The digests of files there, of those that are there.
    fn digests<'a>(
        &self,
        files: impl Iterator<Item = &'a String>,
    ) -> Result<BTreeMap<String, String>, String> {
        let files: Vec<&String> = files.collect();
        let mut found = BTreeMap::new();
        // A command line has an end.
        for some in files.chunks(200) {
            let names: Vec<String> = some.iter().map(|file| quoted(file)).collect();
            let line = format!(
                "for f in {}; do if [ -f \"$f\" ]; then sha256sum -b < \"$f\"; else echo -; fi; done",
                names.join(" ")
            );
            let text = self.run(&line, None)?;
            let text = String::from_utf8_lossy(&text);
            for (file, line) in some.iter().zip(text.lines()) {
                let digest = line.split_whitespace().next().unwrap_or("-");
                if digest != "-" {
                    found.insert((*file).clone(), digest.to_owned());
                }
            }
        }
        Ok(found)
    }

    /// Makes a folder there; what undoes it is in the journal before, unless it is there already.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(&self, folder: &str, journal: &Journal) -> Result<(), String> {
        let folder = quoted(folder);
        let there = self.run(&format!("[ ! -e {folder} ] || echo there"), None)?;
        if there.is_empty() {
            journal.undo(self.command(&format!("rm -rf {folder}")))?;
        }
        self.run(&format!("mkdir -p {folder}"), None).map(drop)
    }

    /// Fetches all files of a folder there into one here. They stay there as well.
    ///
    /// # Errors
    /// A folder that is not there, or files that cannot be written here.
    pub fn fetch(&self, from: &str, to: &Path) -> Result<(), String> {
        let line = format!("tar -C {} -cf - .", quoted(from));
        let packed = self.run(&line, None)?;
        let mut unpacks = Command::new("tar")
            .arg("-C")
            .arg(to)
            .args(["-xf", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .map_err(about("tar"))?;
        let written = unpacks
            .stdin
            .take()
            .map(|mut input| input.write_all(&packed));
        let ended = unpacks.wait().map_err(about("tar"))?;
        if !ended.success() || written.is_some_and(|it| it.is_err()) {
            return Err(format!(
                "what {from} holds cannot be unpacked in {}",
                to.display()
            ));
        }
        Ok(())
    }

    /// The line that ends all processes there whose environment has this mark, or one that begins so: of a
    /// run, of a match, of a node.
    pub fn end_line(mark: &str) -> String {
        format!(
            "for signal in TERM KILL; do found=; for p in /proc/[0-9]*; do if tr '\\0' '\\n' < $p/environ 2>/dev/null | \
             grep -q '^{MARK}={mark}\\(\\.\\|$\\)'; then found=1; kill -$signal ${{p#/proc/}} 2>/dev/null; fi; done; \
             [ -n \"$found\" ] || break; sleep 0.5; done; true"
        )
    }
}

/// A program, and what it is given.
pub(crate) fn command_of(words: &[String]) -> Command {
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1));
    command
}

/// What a file is called before all of it is there.
fn new_name(to: &str) -> String {
    format!("{to}.netreel-new")
}

/// All files below a path, by where they go.
fn walk(from: &Path, to: &str, files: &mut BTreeMap<String, PathBuf>) -> Result<(), String> {
    let told = about(from.display());
    let kind = std::fs::metadata(from).map_err(&told)?;
    if kind.is_file() {
        files.insert(to.to_owned(), from.to_owned());
        return Ok(());
    }
    if !kind.is_dir() {
        return Err(format!("{} is neither a file nor a folder", from.display()));
    }
    for entry in std::fs::read_dir(from).map_err(&told)? {
        let entry = entry.map_err(&told)?;
        let name = entry.file_name();
        let to = format!("{}/{}", to.trim_end_matches('/'), name.to_string_lossy());
        walk(&entry.path(), &to, files)?;
    }
    Ok(())
}

fn digest(file: &Path) -> Result<String, String> {
    let told = about(file.display());
    let mut read = File::open(file).map_err(&told)?;
    let (mut sum, mut bytes) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match read.read(&mut bytes).map_err(&told)? {
            0 => break,
            count => sum.update(&bytes[..count]),
        }
    }
    Ok(hex(&sum.finalize()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{RecoverError, Recovered};

    /// A folder with what is brought, and one that it goes to, which has another file of its name.
    fn replaced() -> (tempfile::TempDir, Vec<Bring>) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, text) in [("from", "new"), ("it's there", "old")] {
            std::fs::write(at(name), text).unwrap();
        }
        let to = at("it's there").display().to_string();
        let brings = vec![Bring {
            from: at("from"),
            to,
        }];
        (folder, brings)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn check(undoes: impl FnOnce(Journal, &Path)) {
        let ((folder, brings), run) = (replaced(), tempfile::tempdir().unwrap());
        let (journal, _) = Journal::open(run.path()).unwrap();
        Reach::default().bring(&brings, Some(&journal)).unwrap();
        let there = || std::fs::read_to_string(&brings[0].to).unwrap();
        assert_eq!(there(), "new");
        undoes(journal, run.path());
        assert_eq!(there(), "old");
        assert_eq!(names(folder.path()), ["from", "it's there"]);
    }

    /// A child that another test starts has the lock of the journal as well, until it begins its program.
    fn recovered(run: &Path) -> Recovered {
        loop {
            match crate::recover(run) {
                Err(RecoverError::UnderWay(_)) => std::thread::sleep(Duration::from_millis(1)),
                recovered => return recovered.unwrap(),
            }
        }
    }

    #[test]
    fn a_file_that_was_replaced_comes_back_when_the_run_is_over() {
        check(|journal, _| assert_eq!(journal.over(), [""; 0]));
    }

    #[test]
    fn a_file_that_was_replaced_comes_back_also_where_the_runner_was_killed() {
        check(|journal, run| {
            drop(journal);
            assert_eq!(recovered(run).commands, 1);
        });
    }

    #[test]
    fn who_was_killed_before_a_file_was_replaced_has_changed_nothing() {
        let ((folder, brings), run) = (replaced(), tempfile::tempdir().unwrap());
        let (journal, _) = Journal::open(run.path()).unwrap();
        Reach::default()
            .undone_by(&journal, &brings[0].to, true)
            .unwrap();
        drop(journal);
        recovered(run.path());
        assert_eq!(std::fs::read_to_string(&brings[0].to).unwrap(), "old");
        assert_eq!(names(folder.path()), ["from", "it's there"]);
    }
}
