//! Ring mode: what a trigger keeps, what is deleted, and what is there after a crash.
//!
//! Children are this test's own program, started again with a path in their environment.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use netreel_record::ring_mode::{
    KeptWindow, PeerOptions, Peers, Ring, TriggerNews, Triggers, trigger_on_panic,
};
use netreel_record::{Options, Pusher, Recorder, open, open_session};
use netreel_reel::{Event, EventNumber, Header, Reel, Trigger, TriggerCause};
use netreel_transport::monotonic_now;

const BEFORE: Duration = Duration::from_millis(400);
/// Nothing here takes this long, on any machine.
const LONG: Duration = Duration::from_secs(120);

fn options(triggers: &Triggers) -> Options {
    Options {
        ring: Some(Ring::new(BEFORE)),
        triggers: triggers.clone(),
        ..Options::default()
    }
}

fn recorder(folder: &Path, name: &str, options: Options) -> Recorder {
    let header = Header {
        node: name.to_owned(),
        ..Header::default()
    };
    Recorder::create(folder.join(format!("{name}.reel")), &header, options).unwrap()
}

/// Pushes numbered notes until `enough`.
fn push_until(pusher: &mut Pusher, count: &mut u64, mut enough: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !enough() {
        assert!(begun.elapsed() < LONG, "waited for too long");
        *count += 1;
        let text = count.to_string();
        let text = text.as_bytes();
        pusher.push(monotonic_now(), Event::Note { text }).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn push(pusher: &mut Pusher, count: &mut u64, more: u64) {
    let mut left = more;
    push_until(pusher, count, || {
        left = left.wrapping_sub(1);
        left == u64::MAX
    });
}

fn wait_for<T>(news: &Receiver<TriggerNews>, wanted: impl Fn(TriggerNews) -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        let left = LONG.saturating_sub(begun.elapsed());
        let next = news.recv_timeout(left).expect("news within the time");
        if let Some(found) = wanted(next) {
            return found;
        }
    }
}

fn kept(news: &Receiver<TriggerNews>) -> KeptWindow {
    wait_for(news, |news| match news {
        TriggerNews::Kept(window) => Some(window),
        TriggerNews::Refused(why) | TriggerNews::Failed(why) => panic!("{why}"),
        _ => None,
    })
}

fn closed(news: &Receiver<TriggerNews>) -> PathBuf {
    wait_for(news, |news| match news {
        TriggerNews::Closed { folder } => Some(folder),
        _ => None,
    })
}

/// The only reel of a folder.
fn reel_in(folder: &Path) -> std::sync::Arc<Reel> {
    let session = open_session(&[folder]).unwrap();
    assert!(session.failed.is_empty(), "{:?}", session.failed);
    assert_eq!(session.reels.len(), 1);
    session.reels[0].reel.clone()
}

/// The numbers of the notes, and the triggers with their texts. Every event number from the first
/// on is there.
fn read(reel: &Reel) -> (Vec<u64>, Vec<(Trigger, String)>) {
    let (mut notes, mut triggers) = (Vec::new(), Vec::new());
    let mut expected = reel.first_number();
    let walk = reel.for_each(|record| {
        assert_eq!(record.number, expected);
        expected = expected.next();
        match record.event {
            Event::Note { text } => {
                notes.extend(std::str::from_utf8(text).unwrap().parse::<u64>());
            }
            Event::Triggered { trigger, text } => {
                triggers.push((trigger, String::from_utf8(text.to_vec()).unwrap()));
            }
            _ => {}
        }
    });
    assert!(walk.damaged.is_empty() && walk.gaps.is_empty(), "{walk:?}");
    assert!(notes.windows(2).all(|pair| pair[1] == pair[0] + 1));
    (notes, triggers)
}

/// Waits until the first file of the recording was deleted: the window has moved on.
fn moved_on(recorder: &Recorder) -> impl Fn() -> bool + use<> {
    let first = recorder.path().to_owned();
    move || !first.exists()
}

#[test]
fn a_trigger_keeps_the_window_before_it_and_the_rest_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let triggers = Triggers::new();
    let news = triggers.news();
    let recorder = recorder(folder.path(), "A", options(&triggers));
    let (mut pusher, mut count) = (recorder.pusher().unwrap(), 0);
    push_until(&mut pusher, &mut count, moved_on(&recorder));
    let at_trigger = count;
    recorder.trigger(TriggerCause::CALL, "the score is wrong");
    let window = kept(&news);
    push(&mut pusher, &mut count, 50);
    drop(pusher);
    let summary = recorder.finish().unwrap();
    assert!(summary.files_deleted > 0);

    let reel = reel_in(&window.folder);
    let (notes, triggered) = read(&reel);
    assert!(reel.first_number() > EventNumber(0));
    assert_eq!(
        notes.last(),
        Some(&at_trigger),
        "everything up to the trigger"
    );
    let [(trigger, text)] = &triggered[..] else {
        panic!("{triggered:?}");
    };
    assert_eq!(
        (trigger.cause, &text[..]),
        (TriggerCause::CALL, "the score is wrong")
    );
    assert_eq!(u128::from(trigger.before_ms), BEFORE.as_millis());
    // The recording itself has its last window, and can be read beside the one that was kept.
    let (notes, _) = read(&open(folder.path().join("A.reel")).unwrap());
    assert_eq!(notes.last(), Some(&count));
}

#[test]
fn a_window_goes_on_after_its_trigger_where_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let triggers = Triggers::new();
    let news = triggers.news();
    let mut options = options(&triggers);
    options.ring = options.ring.map(|ring| Ring {
        after: Duration::from_millis(300),
        ..ring
    });
    let recorder = recorder(folder.path(), "A", options);
    let (mut pusher, mut count) = (recorder.pusher().unwrap(), 0);
    push_until(&mut pusher, &mut count, moved_on(&recorder));
    let at_trigger = count;
    recorder.trigger(TriggerCause::CALL, "go on");
    let pulled = Instant::now();
    push_until(&mut pusher, &mut count, || {
        pulled.elapsed() > Duration::from_millis(300)
    });
    let at_end = count;
    let window = kept(&news);
    push_until(&mut pusher, &mut count, || {
        news.try_iter()
            .any(|news| matches!(news, TriggerNews::Closed { .. }))
    });
    let (notes, _) = read(&reel_in(&window.folder));
    assert!(notes.contains(&at_trigger) && notes.contains(&at_end));
}

#[test]
fn triggers_of_four_threads_at_once_are_of_one_window_and_all_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let triggers = Triggers::new();
    let news = triggers.news();
    let recorder = recorder(folder.path(), "A", options(&triggers));
    let (mut pusher, mut count) = (recorder.pusher().unwrap(), 0);
    push(&mut pusher, &mut count, 20);
    std::thread::scope(|scope| {
        for name in ["one", "two", "three", "four"] {
            let recorder = &recorder;
            scope.spawn(move || recorder.trigger(TriggerCause::CALL, name));
        }
    });
    drop(pusher);
    recorder.finish().unwrap();
    let folder = closed(&news);
    let (_, triggered) = read(&reel_in(&folder));
    let mut names: Vec<_> = triggered.iter().map(|(_, text)| text.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["four", "one", "three", "two"]);
}

#[test]
fn without_ring_mode_a_trigger_is_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path(), "A", Options::default());
    recorder.trigger(TriggerCause::KEY, "here");
    recorder.finish().unwrap();
    let (_, triggered) = read(&open(folder.path().join("A.reel")).unwrap());
    assert_eq!(triggered[0].0.before_ms, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_window_starts_at_a_snapshot_where_there_are_some() {
    let folder = tempfile::tempdir().unwrap();
    let triggers = Triggers::new();
    let news = triggers.news();
    let recorder = recorder(folder.path(), "A", options(&triggers));
    let (mut pusher, mut count) = (recorder.pusher().unwrap(), 0);
    let moved_on = moved_on(&recorder);
    while !moved_on() {
        pusher
            .push(monotonic_now(), Event::Snapshot { state: b"all" })
            .unwrap();
        push(&mut pusher, &mut count, 130);
    }
    recorder.trigger(TriggerCause::CALL, "now");
    let reel = reel_in(&kept(&news).folder);
    let mut first = None;
    reel.for_each(|record| {
        first.get_or_insert(matches!(record.event, Event::Snapshot { .. }));
    });
    assert_eq!(first, Some(true));
}

#[test]
fn a_signal_is_a_trigger() {
    let folder = tempfile::tempdir().unwrap();
    let triggers = Triggers::new();
    triggers.on_signal(libc::SIGUSR2).unwrap();
    let news = triggers.news();
    let recorder = recorder(folder.path(), "A", options(&triggers));
    let (mut pusher, mut count) = (recorder.pusher().unwrap(), 0);
    push(&mut pusher, &mut count, 20);
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR2)
        .unwrap();
    let (_, triggered) = read(&reel_in(&kept(&news).folder));
    let (trigger, text) = &triggered[0];
    assert_eq!(
        (trigger.cause, &text[..]),
        (TriggerCause::SIGNAL, "SIGUSR2")
    );
}

#[test]
fn a_trigger_while_recording_is_switched_off_is_in_its_window_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let triggers = Triggers::new();
    let news = triggers.news();
    let recorder = recorder(folder.path(), "A", options(&triggers));
    let (mut pusher, mut count) = (recorder.pusher().unwrap(), 0);
    push(&mut pusher, &mut count, 20);
    pusher.switch(false, monotonic_now());
    recorder.trigger(TriggerCause::CALL, "while it is off");
    let (notes, triggered) = read(&reel_in(&kept(&news).folder));
    assert_eq!(notes.last(), Some(&20));
    assert_eq!(triggered[0].1, "while it is off");
}

#[test]
fn a_trigger_after_the_end_of_a_recording_is_told_why_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let triggers = Triggers::new();
    let news = triggers.news();
    let mut options = options(&triggers);
    options.max.bytes = Some(10_000);
    let recorder = recorder(folder.path(), "A", options);
    let mut pusher = recorder.pusher().unwrap();
    let begun = Instant::now();
    while recorder.is_recording() {
        assert!(begun.elapsed() < LONG, "it reaches its size");
        pusher.push(monotonic_now(), Event::Note { text: &[b'0'; 500] });
        std::thread::sleep(Duration::from_millis(1));
    }
    // Its writing thread may be about to end: until then the window is kept.
    let why = loop {
        assert!(begun.elapsed() < LONG, "it says why");
        recorder.trigger(TriggerCause::CALL, "too late");
        let refused = news.try_iter().find_map(|news| match news {
            TriggerNews::Refused(why) => Some(why),
            _ => None,
        });
        match refused {
            Some(why) => break why,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let expected = "no window is kept any more, because recording has ended: it has reached its";
    assert!(why.contains(expected), "{why}");
    assert!(!triggers.has_ring());
}

#[test]
fn a_trigger_that_joins_a_window_says_which_and_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let triggers = Triggers::new();
    let news = triggers.news();
    let recorder = recorder(folder.path(), "A", options(&triggers));
    let (mut pusher, mut count) = (recorder.pusher().unwrap(), 0);
    push(&mut pusher, &mut count, 20);
    recorder.trigger(TriggerCause::CALL, "the first");
    let mut window = kept(&news);
    // On a machine that stood still for a second in between, it has a window of its own.
    let joined = loop {
        let pulled = recorder.triggers().pull(TriggerCause::CALL, "another one");
        let joined = wait_for(&news, |news| match news {
            TriggerNews::Joined { folder, id } => Some(Ok((folder, id))),
            TriggerNews::Kept(window) => Some(Err(window)),
            _ => None,
        });
        match joined {
            Ok((folder, id)) => {
                assert_eq!(id, pulled);
                break folder;
            }
            Err(its_own) => window = its_own,
        }
    };
    assert_eq!(joined, window.folder);
    wait_for(&news, |news| match news {
        TriggerNews::Closed { folder } if folder == window.folder => Some(()),
        _ => None,
    });
    let (_, triggered) = read(&reel_in(&window.folder));
    assert_eq!(triggered.last().unwrap().1, "another one");
    assert!(triggered.len() > 1);
}

fn peers(triggers: &Triggers, peers: &[&Peers], key: &str, node: &str) -> Peers {
    let options = PeerOptions {
        listen: Some(([127, 0, 0, 1], 0).into()),
        peers: peers.iter().map(|peer| peer.local()).collect(),
        key: key.to_owned(),
        node: node.to_owned(),
    };
    Peers::start(options, triggers).unwrap()
}

#[test]
fn another_node_keeps_the_same_window_under_the_same_name() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (a, b) = (Triggers::new(), Triggers::new());
    let (news_a, news_b) = (a.news(), b.news());
    let recorder_a = recorder(ours.path(), "A", options(&a));
    let recorder_b = recorder(theirs.path(), "B", options(&b));
    let peers_b = peers(&b, &[], "a key for the test", "B");
    let _peers_a = peers(&a, &[&peers_b], "a key for the test", "A");
    let (mut pusher_a, mut pusher_b) = (recorder_a.pusher().unwrap(), recorder_b.pusher().unwrap());
    let mut count = 0;
    push(&mut pusher_a, &mut count, 20);
    push(&mut pusher_b, &mut count, 20);
    recorder_a.trigger(TriggerCause::KEY, "t was pressed");
    let (window_a, window_b) = (kept(&news_a), kept(&news_b));
    assert_eq!(window_a.folder.file_name(), window_b.folder.file_name());
    let (_, triggered) = read(&reel_in(&window_b.folder));
    let (trigger, text) = &triggered[0];
    assert!(trigger.from_peer);
    assert_eq!(
        (trigger.cause, &text[..]),
        (TriggerCause::KEY, "A: t was pressed")
    );
}

#[test]
fn a_node_with_another_key_keeps_nothing_and_the_one_that_asked_says_so() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (a, b) = (Triggers::new(), Triggers::new());
    let (news_a, news_b) = (a.news(), b.news());
    let recorder_a = recorder(ours.path(), "A", options(&a));
    let _recorder_b = recorder(theirs.path(), "B", options(&b));
    let peers_b = peers(&b, &[], "one key for the test", "B");
    let _peers_a = peers(&a, &[&peers_b], "another key for the test", "A");
    recorder_a.trigger(TriggerCause::CALL, "keep it");
    let silent = wait_for(&news_a, |news| match news {
        TriggerNews::Failed(why) => Some(why),
        _ => None,
    });
    assert!(silent.contains("did not answer"), "{silent}");
    assert!(
        news_b.try_iter().next().is_none(),
        "it was not even triggered"
    );
}

const FOLDER: &str = "NETREEL_TEST_RING_FOLDER";
const PANICS: &str = "NETREEL_TEST_RING_PANICS";

/// Not a test of its own: what the process does that ends in the middle. It says how many notes it
/// has pushed.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let triggers = Triggers::new();
    let recorder = recorder(Path::new(&folder), "A", options(&triggers));
    let (mut pusher, mut count) = (recorder.pusher().unwrap(), 0);
    if std::env::var(PANICS).is_ok() {
        trigger_on_panic(&triggers);
        push(&mut pusher, &mut count, 20);
        let abort = std::panic::catch_unwind(|| panic!("the world has ended"));
        assert!(abort.is_err());
        std::process::abort();
    }
    let moved_on = moved_on(&recorder);
    let mut said = false;
    loop {
        push(&mut pusher, &mut count, 1);
        if !said && moved_on() {
            said = true;
            println!("\nmoved on");
        }
        println!("\npushed {count}");
    }
}

fn start_child(folder: &Path, panics: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if panics {
        command.env(PANICS, "1");
    }
    command.spawn().unwrap()
}

#[test]
fn after_a_kill_the_last_window_is_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_child(folder.path(), false);
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    lines
        .by_ref()
        .find(|line| line == "moved on")
        .expect("it moves on");
    lines.by_ref().nth(300).expect("it goes on");
    child.kill().unwrap();
    let pushed = lines
        .filter_map(|line| line.strip_prefix("pushed ")?.parse::<u64>().ok())
        .last();
    child.wait().unwrap();
    let reel = open(folder.path().join("A.reel")).unwrap();
    let (notes, _) = read(&reel);
    assert!(
        reel.first_number() > EventNumber(0),
        "what is older is gone"
    );
    assert!(
        notes.last() >= pushed.as_ref(),
        "{:?} {pushed:?}",
        notes.last()
    );
}

#[test]
fn a_panic_is_a_trigger_and_its_window_is_kept_before_the_process_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_child(folder.path(), true);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGABRT));
    let windows = std::fs::read_dir(folder.path()).unwrap().flatten();
    let windows: Vec<_> = windows
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    let [window] = &windows[..] else {
        panic!("{windows:?}");
    };
    let (notes, triggered) = read(&reel_in(window));
    assert_eq!(notes.last(), Some(&20));
    let (trigger, text) = &triggered[0];
    assert_eq!(trigger.cause, TriggerCause::PANIC);
    assert!(text.contains("the world has ended"), "{text}");
    assert!(text.contains("ring_mode.rs"), "{text}");
}
