//! The real window, driven by mouse and keys as somebody would: in an X server without a screen (Xvfb),
//! by `xdotool`. What comes of it is seen in the window's title, in its pixels, and in the bookmarks
//! that it keeps beside the session. Files are let go of over it as a file manager does that, which
//! `xdotool` cannot (`other_client`).
#![cfg(feature = "gui")]

mod other_client;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::netreel;

/// How long anything may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(180);
const SCREEN: (u32, u32) = (1300, 900);
/// The least size that the window asks for.
const LEAST: (u32, u32) = (800, 500);

/// An X server with a window of the inspector in it.
struct Screen {
    folder: tempfile::TempDir,
    server: Child,
    display: String,
    inspector: Option<Child>,
    window: String,
}

impl Drop for Screen {
    fn drop(&mut self) {
        if thread::panicking() {
            self.keep();
        }
        for child in self.inspector.iter_mut().chain([&mut self.server]) {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Waits until there is an answer.
#[track_caller]
fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A program of the system that the test needs; says so where it is not there.
fn lacks(program: &str) -> bool {
    let found = Command::new(program)
        .arg("-help")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        println!("SKIPPED: the window driven by mouse and keys: {program} is not here");
    }
    found.is_err()
}

impl Screen {
    /// Opens a session in it.
    fn open(session: &str) -> Screen {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let number = folder.path().join("display");
        // The server writes its number where it is told to.
        let server = Command::new("sh")
            .arg("-c")
            .arg("exec Xvfb -displayfd 3 -screen 0 \"$1\" -fbdir \"$2\" -nolisten tcp 3>\"$3\"")
            .args(["sh", &format!("{}x{}x24", SCREEN.0, SCREEN.1)])
            .args([folder.path(), &number])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb");
        let display = wait("a display", || {
            let number = fs::read_to_string(&number).ok()?;
            number
                .ends_with('\n')
                .then(|| format!(":{}", number.trim()))
        });
        let mut screen = Screen {
            folder,
            server,
            display,
            inspector: None,
            window: String::new(),
        };
        for session in ["host", "owner"] {
            screen.copy(session);
        }
        let inspector = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(["inspect", session])
            .current_dir(screen.folder.path())
            .env("DISPLAY", &screen.display)
            .env("XDG_CONFIG_HOME", screen.folder.path())
            .env("XDG_STATE_HOME", screen.folder.path())
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            .stdin(Stdio::null())
            .spawn()
            .expect("the inspector");
        screen.inspector = Some(inspector);
        screen.window = wait("a window", || {
            let found = screen.tool(&["search", "--name", "^netreel"]);
            found.lines().last().map(str::to_owned)
        });
        // Before its first picture it has no keyboard.
        wait("a picture", || {
            let pixels = screen.pixels(SCREEN);
            let line = pixels.iter().step_by(10).flat_map(|row| row.chunks(4));
            let colours: std::collections::BTreeSet<&[u8]> = line.collect();
            (colours.len() > 40).then_some(())
        });
        wait("the keyboard", || {
            screen.tool(&["windowfocus", &screen.window]);
            thread::sleep(Duration::from_millis(200));
            (screen.tool(&["getwindowfocus"]) == screen.window).then_some(())
        });
        screen.settle();
        screen
    }

    /// A sample session of its own, so that bookmarks can be kept beside it.
    fn copy(&self, session: &str) {
        let from = Path::new("samples/sessions").join(session);
        let to = self.folder.path().join(session);
        fs::create_dir(&to).expect("a folder");
        for entry in fs::read_dir(from).expect("a sample session") {
            let path = entry.expect("a reel").path();
            fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }

    fn path(&self, session: &str) -> PathBuf {
        self.folder.path().join(session)
    }

    fn tool(&self, arguments: &[&str]) -> String {
        let done = Command::new("xdotool")
            .args(arguments)
            .env("DISPLAY", &self.display)
            .output()
            .expect("xdotool");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn press(&self, key: &str) {
        self.tool(&["key", key]);
        self.settle();
    }

    /// Keys while another one is held down.
    fn hold(&self, held: &str, keys: &[&str]) {
        self.tool(&["keydown", held]);
        self.settle();
        keys.iter().for_each(|key| self.press(key));
        self.tool(&["keyup", held]);
        self.settle();
    }

    fn write(&self, text: &str) {
        self.tool(&["type", "--delay", "15", text]);
        self.settle();
    }

    fn point(&self, (x, y): (u32, u32)) {
        let (x, y) = (x.to_string(), y.to_string());
        self.tool(&["mousemove", "--window", &self.window, &x, &y]);
        self.settle();
    }

    /// Lets go of a file over the window.
    fn let_go_of(&self, path: &Path) {
        let window = self.window.parse().expect("a window's number");
        other_client::let_go(&self.display, window, path).expect("a window that takes files");
    }

    /// Waits until the window is called after a session, and shows it.
    fn await_title(&self, session: &str) {
        wait("the session", || {
            self.title().contains(session).then_some(())
        });
        self.settle();
    }

    fn title(&self) -> String {
        self.tool(&["getwindowname", &self.window])
    }

    /// The rows of pixels of the window's place, each of four bytes.
    fn pixels(&self, (width, height): (u32, u32)) -> Vec<Vec<u8>> {
        let dump = fs::read(self.folder.path().join("Xvfb_screen0")).expect("the screen");
        let number = |place: usize| {
            let bytes = dump[place * 4..place * 4 + 4]
                .try_into()
                .expect("four bytes");
            u32::from_be_bytes(bytes) as usize
        };
        // An X window dump: how long its head is, a line of it, and its colours of 12 bytes.
        let (head, line, colours) = (number(0), number(12), number(19));
        let rows = (0..height as usize).map(|row| {
            let from = head + colours * 12 + row * line;
            dump[from..from + width as usize * 4].to_vec()
        });
        rows.collect()
    }

    /// Writes what is seen into a file, for whoever asks why a test failed.
    fn keep(&self) {
        let pixels = self.pixels(SCREEN).concat();
        let pixels: Vec<u8> = pixels
            .chunks(4)
            .flat_map(|it| [it[2], it[1], it[0]])
            .collect();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("window-as-it-failed.png");
        let file = fs::File::create(&path).expect("a file");
        let mut encoder = png::Encoder::new(file, SCREEN.0, SCREEN.1);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().expect("a head");
        writer.write_image_data(&pixels).expect("pixels");
        println!("what was seen last: {}", path.display());
    }

    /// Waits until the picture stays as it is.
    fn settle(&self) {
        let mut before = Vec::new();
        wait("a picture that stays", || {
            thread::sleep(Duration::from_millis(250));
            let now = self.pixels(SCREEN);
            let stays = now == before;
            before = now;
            stays.then_some(())
        });
    }

    /// Marks what is selected, or with `B` what is visible, and returns the entry of the file.
    fn mark(&self, session: &str, key: &str, note: &str) -> Value {
        match key {
            "B" => self.hold("Shift_L", &["b"]),
            key => self.press(key),
        }
        self.write(note);
        self.press("Return");
        wait("a bookmark", || {
            let text = fs::read_to_string(self.path(session).join("bookmarks.json")).ok()?;
            let file: Value = serde_json::from_str(&text).ok()?;
            let mut all = file["bookmarks"].as_array()?.iter();
            // What is marked again has its old note before the new one.
            let is_it =
                |entry: &&Value| entry["note"].as_str().is_some_and(|it| it.ends_with(note));
            all.find(is_it).cloned()
        })
    }

    /// Finds something by its name, and does it.
    fn find(&self, name: &str) {
        self.hold("Control_L", &["p"]);
        self.write(name);
        self.press("Return");
    }

    /// The same of something that changes the picture, which may take a while.
    fn find_and_wait(&self, name: &str, comes: impl Fn(&Screen) -> bool) {
        let before = self.pixels(SCREEN);
        self.find(name);
        wait(name, || {
            (self.pixels(SCREEN) != before && comes(self)).then_some(())
        });
        self.settle();
    }

    /// How many lines of pixels have text in them, in the left half between two heights.
    fn lines_of_text(&self, rows: std::ops::Range<usize>) -> usize {
        let pixels = self.pixels(SCREEN);
        let is_bright = |pixel: &[u8]| pixel[..3].iter().all(|part| *part > 150);
        let has_text = |row: &&Vec<u8>| {
            let left = row.chunks(4).take(SCREEN.0 as usize / 2);
            left.filter(|pixel| is_bright(pixel)).count() > 3
        };
        pixels[rows].iter().filter(has_text).count()
    }

    /// The packet that is selected: a bookmark is on the event of its send.
    fn selected(&self, session: &str, note: &str) -> u64 {
        let entry = self.mark(session, "b", note);
        let packets = netreel(&["packets", text(&self.path(session)), "--json"]).expect(0);
        let lines = packets.out.lines();
        let mut packets = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let sent = |it: &Value| it["from"] == entry["reel"] && it["sent_event"] == entry["event"];
        let found = packets.find(sent).expect("the packet that was marked");
        found["packet"].as_u64().expect("a number")
    }
}

/// The length of a bookmark on time.
fn length(entry: &Value) -> i64 {
    let time = |name: &str| entry[name].as_i64().expect("a time");
    time("to_ns") - time("from_ns")
}

#[test]
fn somebody_opens_filters_reads_the_story_goes_back_steps_and_resizes() {
    if lacks("Xvfb") || lacks("xdotool") {
        return;
    }
    let screen = Screen::open("owner");
    screen.await_title("owner");

    // Another session, by its path.
    let host = screen.path("host");
    screen.hold("Control_L", &["o"]);
    // Nothing with shift: under load the window may hear of it after the letter.
    screen.write("host");
    screen.press("Return");
    screen.await_title("host");

    // And others that are dropped on it.
    for session in ["owner", "host"] {
        screen.let_go_of(&screen.path(session));
        screen.await_title(session);
    }

    // It opens with its story: the first packet of the worst finding's proof.
    let report = netreel(&["check", text(&host), "--json"]).expect(1).json();
    let findings = report["findings"].as_array().expect("findings");
    let worst = findings
        .iter()
        .find(|finding| finding["level"] == "error")
        .expect("an error");
    let told = screen.selected("host", "told");
    assert_eq!(worst["evidence"][0]["packet"], told);

    // A filter, and the first packet that it takes.
    let filter = "object == 42";
    let taken = netreel(&["packets", text(&host), "--filter", filter, "--json"]).expect(0);
    let first: Value =
        serde_json::from_str(taken.out.lines().next().expect("a packet")).expect("JSON");
    screen.press("slash");
    screen.write(filter);
    screen.press("Return");
    screen.press("Home");
    let filtered = screen.selected("host", "filtered");
    assert_eq!(first["packet"], filtered);
    assert_ne!(filtered, told);

    // What is selected goes to other programs as text.
    screen.hold("Control_L", &["c"]);
    let copied = wait("what was copied", || {
        other_client::copied(&screen.display).expect("an X server")
    });
    assert!(copied.contains(&format!("packet {filtered}")), "{copied}");

    // Back: the bookmark, the step.
    screen.hold("Alt_L", &["Left", "Left"]);
    assert_eq!(screen.selected("host", "back"), told);

    // Time, by the mouse: the wheel shows less of it, a drag another stretch as long.
    screen.find("clear the filter");
    screen.press("1");
    screen.point((700, 250));
    let all = screen.mark("host", "B", "all");
    screen.point((700, 250));
    for _ in 0..3 {
        screen.tool(&["click", "4"]);
        screen.settle();
    }
    let near = screen.mark("host", "B", "near");
    assert!(length(&near) < length(&all) * 2 / 3, "{near} {all}");
    screen.point((700, 250));
    screen.tool(&["mousedown", "1"]);
    screen.point((640, 250));
    screen.point((600, 250));
    screen.tool(&["mouseup", "1"]);
    screen.settle();
    let later = screen.mark("host", "B", "later");
    assert!(later["from_ns"].as_i64() > near["from_ns"].as_i64());
    assert!((length(&later) - length(&near)).abs() < length(&near) / 100);

    // A replay: X's, forward by two packets and back by one.
    let has_events = |screen: &Screen| screen.lines_of_text(200..500) > 60;
    screen.find_and_wait("replay x", has_events);
    screen.find_and_wait("on to the next packet", has_events);
    let one = screen.mark("host", "b", "one");
    screen.find_and_wait("on to the next packet", has_events);
    let two = screen.mark("host", "b", "two");
    assert_ne!(one, two);
    screen.find_and_wait("back to the packet before", has_events);
    // The same packet has the same mark, with another note.
    let again = screen.mark("host", "b", "again");
    assert_eq!(
        (&again["reel"], &again["event"]),
        (&one["reel"], &one["event"])
    );

    // What is shown, for somebody else: a picture of it, and what the filter takes as a session.
    screen.find("write a picture of the window");
    screen.write("shown.png");
    screen.press("Return");
    let picture = screen.folder.path().join("shown.png");
    let size = wait("a picture", || {
        let file = std::io::BufReader::new(fs::File::open(&picture).ok()?);
        let reader = png::Decoder::new(file).read_info().ok()?;
        Some((reader.info().width, reader.info().height))
    });
    assert!(size.0 >= LEAST.0 && size.1 >= LEAST.1, "{size:?}");
    screen.find("show the whole session");
    screen.press("slash");
    screen.write(filter);
    screen.press("Return");
    screen.find("write what the filter takes as a session");
    screen.write("part");
    screen.press("Return");
    wait("a session", || {
        let cut = netreel(&["packets", text(&screen.path("part")), "--json"]);
        (cut.out.lines().count() == taken.out.lines().count()).then_some(())
    });
    screen.find("clear the filter");

    // Small, and large again: all is where it was.
    screen.press("1");
    screen.point((1290, 895));
    let (width, height) = SCREEN;
    let size = |width: u32, height: u32| {
        let (width, height) = (width.to_string(), height.to_string());
        screen.tool(&["windowsize", "--sync", &screen.window, &width, &height]);
        screen.settle();
    };
    size(width, height);
    let before = screen.pixels(SCREEN);
    size(LEAST.0, LEAST.1);
    let small = screen.pixels(LEAST);
    // Every tenth of its height shows something.
    for part in small.chunks(LEAST.1 as usize / 10) {
        let colours: std::collections::BTreeSet<&[u8]> =
            part.iter().flat_map(|row| row.chunks(4)).collect();
        assert!(colours.len() > 8, "{} colours", colours.len());
    }
    size(width, height);
    let after = screen.pixels(SCREEN);
    let differ = |(one, other): (&Vec<u8>, &Vec<u8>)| {
        let pairs = one.chunks(4).zip(other.chunks(4));
        pairs.filter(|(one, other)| one != other).count()
    };
    let differing: usize = before.iter().zip(&after).map(differ).sum();
    let share = differing as f64 / f64::from(width * height);
    assert!(share < 0.005, "{share} of the picture is another one");
}
