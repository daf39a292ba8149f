//! A match on three machines that are reached over ssh: three network namespaces, each with an sshd.
//!
//! Takes root, `ip` and the packages openssh-server and openssh-client.

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::netreel;

/// A program that speaks UDP as it is told on its standard input.
const PEER: &str = r#"
import select, socket, sys
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind((sys.argv[1], 7000))
print("listens", flush=True)
while True:
    for ready in select.select([here, sys.stdin], [], [])[0]:
        if ready is here:
            text, sender = here.recvfrom(2000)
            print("got", text.decode(), "from", sender[0], flush=True)
        else:
            line = sys.stdin.readline()
            if not line or line == "quit\n":
                sys.exit()
            address, text = line.split(None, 1)
            here.sendto(text.strip().encode(), (address, 7000))
"#;

/// Namespaces on one bridge, which stands in a namespace too.
struct Machines {
    folder: tempfile::TempDir,
    names: Vec<String>,
    servers: Vec<Child>,
}

impl Drop for Machines {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn ip(words: &str) -> bool {
    let silent = Command::new("ip")
        .args(words.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    silent.is_ok_and(|status| status.success())
}

impl Machines {
    /// `None`, with a word, where this machine or user cannot.
    fn new() -> Option<Machines> {
        let sshd = Path::new("/usr/sbin/sshd");
        if !sshd.exists() {
            support::skipped("there is no sshd: install openssh-server");
            return None;
        }
        let id = std::process::id();
        let mut machines = Machines {
            folder: tempfile::tempdir().unwrap(),
            names: Vec::new(),
            servers: Vec::new(),
        };
        let middle = format!("netreel-run-{id}-0");
        if !ip(&format!("netns add {middle}")) {
            support::no_namespace();
            return None;
        }
        machines.names.push(middle.clone());
        let key = machines.path("key");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f", &key])
            .status();
        assert!(made.is_ok_and(|status| status.success()), "a key for ssh");
        std::fs::copy(machines.path("key.pub"), machines.path("allowed")).unwrap();
        std::fs::create_dir_all("/run/sshd").unwrap();
        ip(&format!("-n {middle} link set lo up"));
        ip(&format!("-n {middle} link add bridge type bridge"));
        ip(&format!("-n {middle} addr add 10.77.0.254/24 dev bridge"));
        ip(&format!("-n {middle} link set bridge up"));
        for number in 1..=3 {
            let name = format!("netreel-run-{id}-{number}");
            assert!(ip(&format!("netns add {name}")));
            machines.names.push(name.clone());
            ip(&format!(
                "-n {middle} link add port{number} type veth peer name eth0 netns {name}"
            ));
            ip(&format!(
                "-n {middle} link set port{number} master bridge up"
            ));
            ip(&format!("-n {name} addr add 10.77.0.{number}/24 dev eth0"));
            ip(&format!("-n {name} link set eth0 up"));
            ip(&format!("-n {name} link set lo up"));
            let server = Command::new("ip")
                .args([
                    "netns",
                    "exec",
                    &name,
                    "/usr/sbin/sshd",
                    "-D",
                    "-e",
                    "-f",
                    "/dev/null",
                ])
                .args([
                    "-h",
                    &key,
                    "-p",
                    "2222",
                    "-o",
                    "StrictModes=no",
                    "-o",
                    "UsePAM=no",
                ])
                .args(["-o", "PidFile=none", "-o", "PermitRootLogin=yes", "-o"])
                .arg(format!("AuthorizedKeysFile={}", machines.path("allowed")))
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            machines.servers.push(server);
        }
        let begun = Instant::now();
        while !(1..=3).all(|number| machines.reaches(number)) {
            assert!(begun.elapsed() < Duration::from_secs(20), "no sshd answers");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(machines)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn ssh(&self, number: u32) -> Vec<String> {
        let (key, host) = (self.path("key"), format!("root@10.77.0.{number}"));
        let words = [
            "ssh",
            "-F",
            "/dev/null",
            "-i",
            &key,
            "-p",
            "2222",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
            &host,
        ];
        words.map(str::to_owned).to_vec()
    }

    /// A command in the middle, where the runner is.
    fn middle(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[0]]);
        command
    }

    fn reaches(&self, number: u32) -> bool {
        let mut command = self.middle();
        command.args(self.ssh(number)).arg("true");
        let status = command.stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    fn scenario(&self) -> String {
        let mut text = String::from(
            "limit = 100\nfile = \"it.lua\"\n[every]\nconsole = \"stdin\"\nquit = \"quit\"\n",
        );
        for (number, name) in (1..).zip(["A", "B", "C"]) {
            let (here, there) = (self.path("peer.py"), self.path(&format!("machine{number}")));
            let reach: Vec<String> = self
                .ssh(number)
                .iter()
                .map(|it| format!("{it:?}"))
                .collect();
            text.push_str(&format!(
                "[[node]]\nname = \"{name}\"\nreach = [{}]\nbring = [{{ from = \"{here}\", to = \
                 \"{there}/peer.py\" }}]\nfetch = \"{there}/reels\"\nfolder = \"{there}\"\ncommand = [\"{{netreel}}\", \
                 \"record\", \"--name\", \"{name}\", \"--out\", \"{there}/reels\", \"--\", \"python3\", \"-u\", \
                 \"{there}/peer.py\", \"10.77.0.{number}\"]\n",
                reach.join(", ")
            ));
        }
        text
    }
}

#[test]
fn a_match_over_ssh_brings_files_survives_a_killed_node_and_leaves_nothing_there() {
    let Some(machines) = Machines::new() else {
        return;
    };
    std::fs::write(machines.path("peer.py"), PEER).unwrap();
    std::fs::write(machines.path("it.toml"), machines.scenario()).unwrap();
    let script = r#"
        start()
        wait_log(20, nodes, "listens")
        say("A", "10.77.0.2 one")
        wait_log(10, "B", "got one from 10.77.0.1")
        kill("B")
        say("C", "10.77.0.2 nobody hears it")
        restart("B")
        wait_log(20, "B", "listens")
        say("A", "10.77.0.2 two")
        wait_log(10, "B", "got two from 10.77.0.1")
        say("B", "10.77.0.3 three")
        wait_log(10, "C", "got three from 10.77.0.2")
    "#;
    std::fs::write(machines.path("it.lua"), script).unwrap();
    let out = machines.path("run");
    let run = machines
        .middle()
        .arg(env!("CARGO_BIN_EXE_netreel"))
        .args([
            "run",
            &machines.path("it.toml"),
            "--keep-all",
            "--out",
            &out,
        ])
        .output()
        .unwrap();
    let (said, error) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert_eq!(run.status.code(), Some(0), "{said}{error}");
    // Both lives of B are in the session, which is one.
    let kept = format!("{out}/match-00001");
    let info = netreel(&["info", &kept, "--json"]).expect(0).json();
    let names = info["nodes"].as_array().unwrap().iter();
    let names: Vec<&str> = names.filter_map(|node| node["name"].as_str()).collect();
    let lives = names.iter().filter(|name| name.starts_with('B')).count();
    assert_eq!(lives, 2, "{names:?}");
    let packets = netreel(&["packets", &kept, "--json"]).expect(0).out;
    let received = packets
        .lines()
        .filter(|line| line.contains("\"fate\":\"received\""))
        .count();
    assert_eq!(received, 3, "{packets}");
    // What was brought is named where the match begins.
    let info = netreel(&["info", &format!("{kept}/RUNNER.reel")])
        .expect(0)
        .out;
    assert!(info.contains("peer.py"), "{info}");
    // Nothing is left there.
    for number in 1..=3 {
        assert!(!Path::new(&machines.path(&format!("machine{number}/peer.py"))).exists());
        assert!(!Path::new(&machines.path(&format!("machine{number}/reels"))).exists());
    }
    let still = Command::new("pgrep")
        .args(["-f", &machines.path("machine")])
        .output()
        .unwrap();
    assert!(
        still.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&still.stdout)
    );
}
