//! Matches whose nodes have a network of their own, which makes the faults: programs as they are, on directed
//! links.
//!
//! Takes root, /dev/net/tun and python3.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netreel_system::network::Network;
use serde_json::Value;
use support::{command, ended, netreel, skipped};

/// A program that sends numbers, each once, and says what it gets; as it is told on its standard input.
const PEER: &str = r#"
import select, socket, sys
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("0.0.0.0", 7000))
print("listens", flush=True)
while True:
    for ready in select.select([here, sys.stdin], [], [])[0]:
        if ready is here:
            text, sender = here.recvfrom(2000)
            print("got", text.hex(), "from", sender[0], flush=True)
        else:
            words = sys.stdin.readline().split()
            if not words or words[0] == "quit":
                sys.exit()
            for number in range(int(words[1]), int(words[2])):
                here.sendto(b"%06d" % number, (words[0], 7000))
            print("sent", words[2], flush=True)
"#;

const SCENARIO: &str = r#"
name = "peers"
limit = 120
network = "own"
file = "peers.lua"

[every]
command = ["{netreel}", "record", "--name", "{node}", "--out", "{reels}", "--", "PYTHON", "-u", "peer.py"]
console = "stdin"
quit = "quit"

[[node]]
name = "A"

[[node]]
name = "B"
"#;

/// The folder of a scenario with this script; `None`, with a sentence, where there is no right to a network.
fn scenario(script: &str) -> Option<tempfile::TempDir> {
    if let Err(error) = Network::new([10, 78, 0, 1].into()) {
        skipped(format!("no right to make a network namespace: {error}"));
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // What stands in the PATH may be a script that looks for the program.
    let python = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let Ok(python) = python else {
        skipped("there is no python3");
        return None;
    };
    let python = String::from_utf8(python.stdout).expect("a path in UTF-8");
    let file = SCENARIO.replace("PYTHON", python.trim());
    let files = [
        ("peer.py", PEER),
        ("peers.toml", file.as_str()),
        ("peers.lua", script),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    Some(folder)
}

const BEGINS: &str = r#"
start()
wait_log(60, nodes, "listens")
function sends(from, to, first, last)
    say(from, "10.77.0." .. to .. " " .. first .. " " .. last)
    wait_log(20, from, "sent " .. last)
end
"#;

/// Plays one match, and keeps it: its folder.
fn played(folder: &Path, out: &str) -> PathBuf {
    let (file, out) = (folder.join("peers.toml"), folder.join(out));
    let words = [
        "run",
        "--seed",
        "3",
        "--keep-all",
        "--json",
        "--fail-on",
        "error",
    ];
    let words = words.map(str::to_owned).into_iter();
    let words = words.chain([text(&file), "--out".to_owned(), text(&out)]);
    let ran = netreel(&words.collect::<Vec<_>>());
    let line = ran.out.lines().next().unwrap_or_default();
    let first: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(
        first["match"]["outcome"], "played",
        "{} {}",
        ran.out, ran.err
    );
    out.join("match-00001")
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The packets of a match, in order.
fn packets(folder: &Path) -> Vec<Value> {
    let printed = netreel(&["packets", &text(folder), "--json"]).expect(0).out;
    let lines = printed.lines();
    lines
        .map(|it| serde_json::from_str(it).expect("JSON"))
        .collect()
}

/// Which of the packets of A were lost, by their number on the link.
fn lost(packets: &[Value]) -> Vec<usize> {
    let of_a = packets.iter().filter(|it| it["from"] == "A");
    let lost = of_a.enumerate().filter(|(_, it)| it["fate"] == "lost");
    lost.map(|(number, _)| number).collect()
}

#[test]
fn one_seed_loses_the_same_packets_of_the_link_that_it_is_said_of_and_of_no_other() {
    let script = format!(
        "{BEGINS}faults('A', 'B', {{ loss = 30 }}) sends('A', 2, 0, 60) sends('B', 1, 100, 160) \
         wait_log(20, 'A', ('000159'):gsub('.', '3%0')) sleep(0.2)"
    );
    let Some(folder) = scenario(&script) else {
        return;
    };
    let (one, other) = (played(folder.path(), "one"), played(folder.path(), "other"));
    let (one_packets, other_packets) = (packets(&one), packets(&other));
    assert_eq!(one_packets.len(), 120);
    let lost_once = lost(&one_packets);
    assert!((8..30).contains(&lost_once.len()), "{lost_once:?}");
    assert_eq!(lost_once, lost(&other_packets));
    let of_b = one_packets.iter().filter(|it| it["from"] == "B");
    assert_eq!(of_b.filter(|it| it["fate"] != "received").count(), 0);
    // They were sent, and lost by the network: nobody has forgotten to send them.
    for packet in one_packets.iter().filter(|it| it["fate"] == "lost") {
        let fault = &packet["faults"][0];
        assert_eq!(
            (&fault["proxy"], &fault["verdict"]),
            (&"network".into(), &"lost".into())
        );
        assert!(!packet["sent_ns"].is_null(), "{packet}");
    }
    for node in ["A", "B"] {
        let ran = netreel(&["replay", &text(&one), "--node", node, "--json", "--"]).expect(0);
        assert_eq!(ran.json()["result"], "exact", "{node}");
    }
}

#[test]
fn faults_change_while_programs_run_and_go_when_they_are_undone() {
    let script = format!(
        "{BEGINS}local slow = faults('A', 'B', {{ delay = 0.2 }}) sends('A', 2, 0, 10) \
         undo(slow) sleep(0.4) sends('A', 2, 10, 20) \
         faults('A', 'B', {{ corrupt = 100 }}) sends('A', 2, 20, 30) sleep(0.1) \
         faults('A', 'B', {{ held = true }}) sends('A', 2, 30, 40) sleep(0.1) \
         expect(not log('B'):find('303030303330'), 'what is held does not arrive') \
         faults('A', 'B') wait_log(20, 'B', '303030303339') sleep(0.1)"
    );
    let Some(folder) = scenario(&script) else {
        return;
    };
    let mut all = packets(&played(folder.path(), "run"));
    // What arrives with another bit is none that was sent.
    all.retain(|it| !it["sent_ns"].is_null());
    assert_eq!(all.len(), 40);
    let verdict = |packet: &Value| packet["faults"][0]["verdict"].as_str().map(str::to_owned);
    let verdicts: Vec<Option<String>> = all.iter().map(verdict).collect();
    for (range, wanted) in [
        (0..10, Some("delayed")),
        (10..20, None),
        (20..30, Some("corrupted")),
        (30..40, Some("delayed")),
    ] {
        let wanted = wanted.map(str::to_owned);
        assert!(
            verdicts[range.clone()].iter().all(|it| *it == wanted),
            "{range:?}: {verdicts:?}"
        );
    }
}

/// The network namespaces of all processes.
fn namespaces() -> BTreeSet<PathBuf> {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let links = all.filter_map(|it| std::fs::read_link(it.path().join("ns/net")).ok());
    links.collect()
}

#[test]
fn what_a_killed_runner_leaves_of_its_networks_goes_when_it_is_recovered() {
    let Some(folder) = scenario(&format!("{BEGINS}note('there') sleep(60)")) else {
        return;
    };
    let (file, out) = (folder.path().join("peers.toml"), folder.path().join("run"));
    let mut runner = command()
        .args(["run", &text(&file), "--out", &text(&out)])
        .stdout(Stdio::null())
        .spawn()
        .expect("the command starts");
    // Whose they are says the run's own mark: other tests have runs as well.
    let mine = || {
        let journal = std::fs::read_to_string(out.join("journal")).unwrap_or_default();
        let first = serde_json::from_str::<Value>(journal.lines().next().unwrap_or_default());
        let first = first.expect("what processes are known by");
        let mark = first["processes"]["mark"].as_str().expect("a word");
        let marked = netreel_system::process::marked("NETREEL_RUN", &|it| it.starts_with(mark));
        let network = |it: &u32| std::fs::read_link(format!("/proc/{it}/ns/net")).ok();
        marked.iter().filter_map(network).collect::<BTreeSet<_>>()
    };
    let own = std::fs::read_link("/proc/self/ns/net").expect("a namespace");
    let log = out.join("match-00001/logs/B.log");
    let begun = Instant::now();
    while !std::fs::read_to_string(&log).is_ok_and(|it| it.contains("listens")) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "B does not listen"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let made: BTreeSet<PathBuf> = mine().into_iter().filter(|it| *it != own).collect();
    assert!(made.len() >= 2, "{made:?}");
    runner.kill().expect("the runner");
    ended(&mut runner);
    netreel(&["run", "--recover", &text(&out)]).expect(0);
    let left: Vec<PathBuf> = namespaces().intersection(&made).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_link_of_programs_without_a_network_says_what_makes_faults() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it.toml");
    let text_of = "script = '''start() faults('A', 'B', { loss = 5 })'''\n[every]\ncommand = ['cat']\nconsole = 'stdin'\n\
                   [[node]]\nname = 'A'\n[[node]]\nname = 'B'\n";
    std::fs::write(&file, text_of).expect("a file");
    let out = folder.path().join("run");
    let ran = netreel(&["run", &text(&file), "--out", &text(&out)]).expect(1);
    assert!(ran.out.contains("no network = \"own\""), "{}", ran.out);
}
