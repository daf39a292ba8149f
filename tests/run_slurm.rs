//! A loop as jobs of a Slurm that has one machine: this one, with servers of its own in a folder.
//!
//! Takes root and the package slurm-wlm.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::netreel;

/// A cluster of one machine.
struct Cluster {
    folder: tempfile::TempDir,
    servers: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for server in self.servers.iter_mut().rev() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Two ports of loopback that are free, as far as one can know.
fn ports() -> [u16; 2] {
    let held = [(); 2].map(|()| std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port"));
    held.map(|it| it.local_addr().expect("its address").port())
}

impl Cluster {
    /// `None`, with a word, where this machine or user cannot.
    fn new() -> Option<Cluster> {
        if !Path::new("/usr/sbin/slurmctld").exists() {
            support::skipped("there is no slurmctld: install slurm-wlm");
            return None;
        }
        // SAFETY: it takes nothing and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            support::skipped("only root can start the servers of Slurm");
            return None;
        }
        let mut cluster = Cluster {
            folder: tempfile::tempdir().expect("a folder"),
            servers: Vec::new(),
        };
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let host = host.trim().split('.').next().unwrap_or_default().to_owned();
        let folder = cluster.folder.path().display().to_string();
        let [controls, works] = ports();
        let settings = format!(
            "ClusterName=netreel\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmctldPort={controls}\n\
             SlurmdPort={works}\nAuthType=auth/munge\nAuthInfo=socket={folder}/socket\nStateSaveLocation={folder}\n\
             SlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/controls.pid\nSlurmdPidFile={folder}/works.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\nReturnToService=2\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nNodeName={host} NodeAddr=127.0.0.1 CPUs=2\n\
             PartitionName=all Nodes=ALL Default=YES\n"
        );
        std::fs::write(cluster.at("slurm.conf"), settings).expect("a file");
        // Whom the servers of this cluster know by.
        std::fs::write(cluster.at("key"), [7; 1024]).expect("a file");
        let own = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(cluster.at("key"), own).expect("its mode");
        let words = format!(
            "--foreground --force --socket={folder}/socket --key-file={folder}/key --pid-file={folder}/munged.pid \
             --log-file={folder}/munged.log --seed-file={folder}/seed"
        );
        cluster.serve("/usr/sbin/munged", &words);
        cluster.wait_for("the key's server", || {
            Path::new(&format!("{folder}/socket")).exists()
        });
        for server in ["/usr/sbin/slurmctld", "/usr/sbin/slurmd"] {
            cluster.serve(server, &format!("-D -f {folder}/slurm.conf"));
        }
        cluster.wait_for("the machine", || {
            let seen = cluster
                .command("sinfo")
                .args(["--noheader", "--format=%T"])
                .output();
            seen.is_ok_and(|it| it.stdout == b"idle\n")
        });
        Some(cluster)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn serve(&mut self, program: &str, words: &str) {
        let log = std::fs::File::create(self.at(program.rsplit('/').next().unwrap_or(program)));
        let log = log.expect("a log");
        let server = Command::new(program)
            .args(words.split(' '))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.servers.push(server.expect("a server starts"));
    }

    fn wait_for(&self, what: &str, is_there: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_there() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{what} is not there"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A command of Slurm, which finds this cluster; what it starts finds the command that is tested.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let own = Path::new(env!("CARGO_BIN_EXE_netreel"))
            .parent()
            .expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .current_dir(self.folder.path())
            .env("SLURM_CONF", self.at("slurm.conf"))
            .env("PATH", format!("{}:{path}", own.display()));
        command
    }
}

/// Matches of a node that ends at once: every third is bad.
const THIRDS: &str = "\
limit = 20
script = '''
start()
expect(match % 3 ~= 0, \"no third\")
'''
[[node]]
name = \"A\"
ends = true
command = [\"true\"]
";

#[test]
fn a_loop_that_slurm_plays_comes_to_what_one_machine_would_have() {
    let Some(cluster) = Cluster::new() else {
        return;
    };
    std::fs::write(cluster.at("thirds.toml"), THIRDS).expect("a file");
    let mut emits = cluster.command(env!("CARGO_BIN_EXE_netreel"));
    emits.args([
        "run",
        "thirds.toml",
        "--repeat",
        "7",
        "--jobs",
        "3",
        "--emit",
        "slurm",
    ]);
    let jobs = emits.output().expect("the command starts");
    std::fs::write(cluster.at("loop.sh"), &jobs.stdout).expect("a file");
    let waits = cluster
        .command("sbatch")
        .args(["--wait", "loop.sh"])
        .output();
    let waits = waits.expect("sbatch starts");
    assert!(waits.status.success(), "{waits:?}");
    let parts = (1..=3).map(|part| cluster.at(&format!("run/part-{part}")));
    let parts = parts.map(|it| it.display().to_string());
    let words = ["run", "--json", "--gather"].map(str::to_owned).into_iter();
    let words: Vec<String> = words.chain(parts).collect();
    let gathered = netreel(&words).expect(1).json();
    assert_eq!(gathered["run"]["bad"]["count"], 2);
    assert_eq!(gathered["run"]["bad"]["of"], 7);
}
