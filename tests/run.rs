//! Matches that a script drives, with the sample game as real processes.

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use support::netreel;
use support::programs::Bench;

const BOXES: &str = "samples/scenarios/boxes.toml";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// The objects that a run prints: one a match, and that of all.
fn objects(printed: &str) -> Vec<Value> {
    let lines = printed.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn a_loop_finds_the_race_and_keeps_matches_that_replay_exactly() {
    let folder = folder();
    let out = folder.path().join("run");
    let junit = folder.path().join("run.xml");
    let ran = netreel(&[
        "run",
        BOXES,
        "--repeat",
        "6",
        "--jobs",
        "3",
        "--set",
        "slow=6",
        "--json",
        "--out",
        text(&out),
        "--junit",
        text(&junit),
    ])
    .expect(1);
    let objects = objects(&ran.out);
    let (all, matches) = objects.split_last().expect("the sums");
    assert_eq!(matches.len(), 6);
    let kept: Vec<&str> = matches
        .iter()
        .filter_map(|it| it["kept"].as_str())
        .collect();
    assert_eq!(all["run"]["bad"]["count"], kept.len());
    assert!(!kept.is_empty());
    let bad = kept[0];
    let report = netreel(&["check", bad, "--json"]).expect(1).json();
    let findings = report["findings"].as_array().expect("findings").iter();
    let mut races = findings.filter(|it| it["rule"] == "migrate-before-create");
    assert!(races.next().is_some(), "{report}");
    for node in ["HOST", "A", "B", "X"] {
        let replayed = netreel(&["replay", bad, "--node", node, "--json"])
            .expect(0)
            .json();
        assert_eq!(replayed["result"], "exact", "{replayed}");
    }
    // Who opens one finds the others in a list; so does who opens the run.
    let picture = folder.path().join("run.png");
    let shot = ["inspect", text(&out), "--screenshot", text(&picture)];
    assert!(netreel(&shot).expect(0).out.contains("run.png"));
    assert!(picture.is_file());
    // What the runner did stands beside what the nodes did.
    let info = netreel(&["info", bad]).expect(0).out;
    assert!(info.contains("RUNNER: say A: spawn"), "{info}");
    let junit = std::fs::read_to_string(junit).expect("a report");
    let failures = format!(
        "tests=\"6\" disabled=\"0\" errors=\"0\" failures=\"{}\"",
        kept.len()
    );
    assert!(junit.contains(&failures), "{junit}");
}

/// The sizes of the files of a table of a dataset, one a session, in bytes.
#[cfg(feature = "parquet")]
fn in_table(dataset: &Path, table: &str) -> Vec<u64> {
    let days = std::fs::read_dir(dataset.join(table)).expect("a table");
    let sessions =
        days.flat_map(|day| std::fs::read_dir(day.expect("a day").path()).expect("a day"));
    let files = sessions.map(|it| it.expect("a session").path().join("part-0.parquet"));
    let mut sizes: Vec<u64> = files
        .map(|it| it.metadata().expect("a file").len())
        .collect();
    sizes.sort_unstable();
    sizes
}

#[test]
#[cfg(feature = "parquet")]
fn what_good_matches_came_to_stays_in_a_dataset() {
    let folder = folder();
    let (out, dataset) = (folder.path().join("run"), folder.path().join("dataset"));
    let played = netreel(&[
        "run",
        BOXES,
        "--repeat",
        "3",
        "--jobs",
        "3",
        "--set",
        "migration=owner",
        "--dataset",
        text(&dataset),
        "--out",
        text(&out),
    ]);
    played.expect(0);
    assert!(!out.join("match-00001").exists());
    for table in ["sessions", "nodes", "findings", "packets", "states"] {
        assert_eq!(in_table(&dataset, table).len(), 3, "{table}");
    }
    // One that is kept has its packets there as well: another seed, all kept.
    let more = netreel(&[
        "run",
        BOXES,
        "--seed",
        "2",
        "--keep-all",
        "--set",
        "migration=owner",
        "--dataset",
        text(&dataset),
        "--out",
        text(&folder.path().join("more")),
    ]);
    more.expect(0);
    let packets = in_table(&dataset, "packets");
    let [empty, .., whole] = packets.as_slice() else {
        panic!("{packets:?}");
    };
    assert_eq!(packets.len(), 4);
    assert!(whole > &(empty * 4), "{packets:?}");
}

#[test]
fn with_the_cure_no_match_is_bad() {
    let folder = folder();
    let out = folder.path().join("run");
    let cured = ["--set", "migration=owner", "--set", "slow=6"];
    let mut arguments = vec![
        "run",
        BOXES,
        "--repeat",
        "4",
        "--jobs",
        "4",
        "--out",
        text(&out),
    ];
    arguments.extend(cured);
    let ran = netreel(&arguments).expect(0);
    assert!(ran.out.contains("4 matches: 0 bad, 0.0 %"), "{}", ran.out);
}

/// Two matches of the demonstration: the objects that are printed of them.
fn demonstration(migration: &str, more: &[&str]) -> (tempfile::TempDir, Vec<Value>) {
    let folder = folder();
    let out = folder.path().join("run");
    let migration = format!("migration={migration}");
    let demo = "samples/scenarios/demo.toml";
    let arguments = [
        "run",
        demo,
        "--repeat",
        "2",
        "--jobs",
        "2",
        "--set",
        &migration,
        "--json",
        "--out",
        text(&out),
    ];
    let mut lines = objects(&netreel(&[&arguments, more].concat()).out);
    lines.pop();
    assert_eq!(lines.len(), 2);
    (folder, lines)
}

#[test]
fn the_demonstration_shows_the_race_in_each_match() {
    for shown in demonstration("host", &[]).1 {
        // Bad by its findings alone: what the script expects is there.
        assert_eq!(shown["match"]["outcome"], "played", "{shown}");
        assert_eq!(shown["match"]["bad"], true, "{shown}");
    }
}

#[test]
fn the_cure_of_the_demonstration_shows_the_race_in_no_match() {
    for cured in demonstration("owner", &[]).1 {
        assert_eq!(cured["match"]["bad"], false, "{cured}");
    }
}

#[test]
fn beside_a_bad_match_is_the_smallest_session_that_still_fails() {
    let (_folder, matches) = demonstration("host", &["--shrink"]);
    let kept = matches[0]["kept"].as_str().expect("it is kept");
    let small = kept.replace("/match-", "/shrunk-") + "/failing";
    let packets = |session: &str| netreel(&["packets", session, "--json"]).out.lines().count();
    assert!((1..packets(kept) / 4).contains(&packets(&small)), "{small}");
    netreel(&["check", &small]).expect(1);
}

#[test]
fn a_mistake_in_a_scenario_is_told_with_its_place() {
    let folder = folder();
    let file = folder.path().join("it.toml");
    std::fs::write(&file, "script = ''\n[[node]]\nname = \"A\"\n").expect("a file");
    let ran = netreel(&["run", text(&file)]).expect(2);
    let told = format!("netreel: {}:2:1: node A has no command", text(&file));
    assert!(ran.err.starts_with(&told), "{}", ran.err);
}

/// The sample game with a console of its own, until it is told to quit.
struct Game(Child, String);

impl Game {
    fn new(folder: &Path) -> Game {
        let mut game = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(["play", "--console", "127.0.0.1:0", "--out", text(folder)])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let out = game.stdout.as_mut().expect("its output");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
        let address = line
            .trim()
            .strip_prefix("console ")
            .expect("an address")
            .to_owned();
        Game(game, address)
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_console_speaks_to_several_nodes_at_once() {
    let folder = folder();
    let (one, two) = (Game::new(folder.path()), Game::new(folder.path()));
    let nodes = [format!("ONE={}", one.1), format!("TWO={}", two.1)];
    let ran = netreel(&["console", &nodes[0], &nodes[1], "--say", "spawn"]).expect(1);
    let refused = "error: there is no game yet: `choose host` or `choose join` first";
    assert_eq!(ran.out, format!("ONE  {refused}\nTWO  {refused}\n"));
    let ran = netreel(&[
        "console",
        &nodes[0],
        &nodes[1],
        "--json",
        "--say",
        "@TWO quit",
    ])
    .expect(0);
    assert_eq!(
        ran.out,
        "{\"node\":\"TWO\",\"said\":\"quit\",\"ok\":true,\"text\":\"\"}\n"
    );
    let ran = netreel(&["console", "127.0.0.1:1", "--say", "x"]).expect(2);
    assert!(
        ran.err.contains("127.0.0.1:1: Connection refused"),
        "{}",
        ran.err
    );
}

/// How many living processes have a variable that begins so in their environment.
fn marked(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes");
    let has_mark = |pid: &std::ffi::OsString| {
        let environment = Path::new("/proc").join(pid).join("environ");
        let environment = std::fs::read(environment).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|it| it.starts_with(mark.as_bytes()))
    };
    processes
        .flatten()
        .filter(|it| has_mark(&it.file_name()))
        .count()
}

/// The word in the environment of a run's processes, as its journal has it.
fn mark(run: &Path) -> Option<String> {
    let journal = std::fs::read_to_string(run.join("journal")).ok()?;
    let mut entries = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mark = entries.find_map(|it| Some(it["processes"]["mark"].as_str()?.to_owned()));
    mark.map(|mark| format!("NETREEL_RUN={mark}"))
}

#[test]
fn a_runner_that_is_killed_leaves_nothing_that_cannot_be_undone() {
    // The others are heavy: NETREEL_KILLS=50.
    let kills = std::env::var("NETREEL_KILLS")
        .ok()
        .and_then(|it| it.parse().ok());
    let kills: u32 = kills.unwrap_or(4);
    for kill in 0..kills {
        let folder = folder();
        let out = folder.path().join("run");
        let mut runner = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args([
                "run",
                BOXES,
                "--repeat",
                "100",
                "--jobs",
                "3",
                "--out",
                text(&out),
            ])
            .stdout(Stdio::null())
            .spawn()
            .expect("the command starts");
        // Moments that are spread over what a runner does: 0 to 4 s, by the golden ratio.
        let part = (f64::from(kill) * 0.618_034 + 0.3).fract();
        std::thread::sleep(Duration::from_secs_f64(part * 4.0));
        runner.kill().expect("it lives");
        runner.wait().expect("it has ended");
        netreel(&["run", "--recover", text(&out)]).expect(0);
        assert_eq!(
            mark(&out).map_or(0, |mark| marked(&mark)),
            0,
            "processes after {part}"
        );
        let left = std::fs::read_dir(&out).into_iter().flatten().flatten();
        let half = left
            .map(|it| it.path())
            .filter(|it| it.is_dir() && !it.join("match.json").exists());
        assert_eq!(half.count(), 0, "half matches after {part}");
        let again = netreel(&["run", "--recover", text(&out)]).expect(0);
        assert!(
            again.out.contains("0 processes, 0 folders"),
            "{}",
            again.out
        );
    }
}

/// A scenario of one node that ends at once: every third match is bad.
const THIRDS: &str = "\
limit = 20
script = '''
start()
expect(match % 3 ~= 0, \"no third\")
'''
[values]
word = \"plain\"
[[node]]
name = \"A\"
ends = true
command = [\"true\"]
";

#[test]
fn the_parts_of_a_loop_come_together() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let file = at("thirds.toml");
    std::fs::write(&file, THIRDS).expect("a file");
    let play = |part: &str, out: &str| {
        let arguments = [
            "run", &file, "--repeat", "7", "--part", part, "--out", out, "--json",
        ];
        objects(&netreel(&arguments).out)
    };
    let (one, two) = (at("one"), at("two"));
    assert_eq!(play("1/2", &one).len(), 5);
    assert_eq!(play("2/2", &two).len(), 4);
    // A match is played once more as a part of its own, from its seed.
    let third = play("3/3", &at("again"));
    let seed = |lines: &[Value], number| {
        let mut lines = lines.iter().filter(|it| it["match"]["number"] == number);
        lines.next().map(|it| it["match"]["seed"].clone())
    };
    assert_eq!(seed(&third, 3), seed(&play("1/2", &at("all")), 3));
    let page = at("run.html");
    let half = netreel(&["run", "--gather", &one]).expect(2);
    assert!(
        half.err.contains("3 of 7 matches are missing"),
        "{}",
        half.err
    );
    let gathered = netreel(&["run", "--gather", &one, &two, "--html", &page, "--json"]).expect(1);
    assert_eq!(gathered.json()["run"]["bad"]["count"], 2);
    assert_eq!(gathered.json()["run"]["bad"]["of"], 7);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(
        page.contains("<h2>Match 3</h2>") && page.contains("no third"),
        "{page}"
    );
    let twice = netreel(&["run", "--gather", &one, &one]).expect(2);
    assert!(
        twice.err.contains("match 1 is in two of the folders"),
        "{}",
        twice.err
    );
}

#[test]
fn a_run_is_held_against_another_one() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (bad, good) = (at("bad.toml"), at("good.toml"));
    std::fs::write(&bad, THIRDS).expect("a file");
    std::fs::write(&good, THIRDS.replace("match % 3 ~= 0", "true")).expect("a file");
    netreel(&["run", &bad, "--repeat", "30", "--out", &at("one")]).expect(1);
    let better = [
        "run",
        &good,
        "--repeat",
        "30",
        "--out",
        &at("two"),
        "--against",
        &at("one"),
    ];
    let told = netreel(&better).expect(0).out;
    assert!(
        told.contains("better than the other run, with 10 of 30 bad"),
        "{told}"
    );
}

#[test]
fn a_loop_is_written_as_jobs_for_schedulers() {
    let emit = |what: &str| {
        let arguments = [
            "run", BOXES, "--repeat", "500", "--jobs", "5", "--set", "slow=2", "--emit", what,
        ];
        netreel(&arguments).expect(0).out
    };
    let command = |part: &str| {
        format!(
            "netreel run {BOXES} --repeat 500 --seed 1 --part {part}/5 --out run/part-{part} --set slow=2 --fail-on error || \
             [ $? -eq 1 ]\n"
        )
    };
    let slurm = emit("slurm");
    assert!(
        slurm.starts_with("#!/bin/sh\n") && slurm.contains("\n#SBATCH --array=1-5\n"),
        "{slurm}"
    );
    assert!(
        slurm.contains("--gather run/part-* --fail-on error\n"),
        "{slurm}"
    );
    assert!(slurm.contains(&command("$SLURM_ARRAY_TASK_ID")), "{slurm}");
    let kubernetes = emit("kubernetes");
    assert!(kubernetes.contains("\n  completions: 5\n"), "{kubernetes}");
    assert!(kubernetes.contains(&command("$part")), "{kubernetes}");
    // No word of the text that the loop is written into is looked for in what a person gave.
    let parts = "run {} --emit slurm --keep-all --shrink --dataset COMMAND".replace("{}", BOXES);
    let parts: Vec<&str> = parts.split(' ').collect();
    let parts = netreel(&parts).expect(0).out;
    let whole = "--dataset run/part-$SLURM_ARRAY_TASK_ID/dataset --keep-all --shrink || ";
    assert!(parts.contains(whole), "{parts}");
    assert!(
        parts.contains("--fail-on error --dataset COMMAND\n"),
        "{parts}"
    );
    let parts = ["run", BOXES, "--emit", "github", "--dataset", "all of it"];
    let parts = netreel(&parts).expect(0).out;
    let own = "--dataset run/part-${{ matrix.part }}/dataset || ";
    assert!(parts.contains(own), "{parts}");
    let gathers = "--gather run/part-* --fail-on error --dataset 'all of it' --junit";
    assert!(parts.contains(gathers), "{parts}");
    assert!(parts.ends_with("run.*\n            all of it\n"), "{parts}");
    let github = emit("github");
    assert!(github.contains("part: [1, 2, 3, 4, 5]\n"), "{github}");
    assert!(github.contains(&command("${{ matrix.part }}")), "{github}");
}

/// Checks a manifest as Kubernetes does that lets nothing pass which it does not know.
const IS_VALID: &str = "import sys, yaml, kubernetes_validate as k\n\
    k.validate(yaml.safe_load(sys.stdin), k.latest_version(), strict=True)";

#[test]
fn the_manifest_is_one_that_kubernetes_takes() {
    let made = Path::new("target/python/bin/python");
    let python = std::env::var_os("NETREEL_PYTHON").map(std::path::PathBuf::from);
    let python = python.or_else(|| made.is_file().then(|| made.to_owned()));
    let python = python.unwrap_or_else(|| "python3".into());
    let has_it = Command::new(&python)
        .args(["-c", "import kubernetes_validate"])
        .stderr(Stdio::null())
        .status();
    if !has_it.is_ok_and(|it| it.success()) {
        support::skipped("kubernetes_validate is not installed: pip install kubernetes-validate");
        return;
    }
    let takes = |manifest: &str| {
        let mut checks = Command::new(&python)
            .args(["-c", IS_VALID])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut input = checks.stdin.take().expect("its input");
        std::io::Write::write_all(&mut input, manifest.as_bytes()).expect("it reads");
        drop(input);
        checks.wait().expect("it ends").success()
    };
    let emit = ["run", BOXES, "--repeat", "500", "--emit", "kubernetes"];
    let manifest = netreel(&emit).expect(0).out;
    assert!(takes(&manifest), "{manifest}");
    assert!(!takes(&manifest.replace("completions", "completion")));
}

#[test]
fn nodes_wait_for_their_debuggers_and_the_script_goes_on_with_them() {
    if Command::new("gdbserver").arg("--version").output().is_err() {
        support::skipped("gdbserver is not installed");
        return;
    }
    let folder = folder();
    let file = folder.path().join("debugged.toml");
    let scenario = "\
        limit = 1\nscript = '''\nstart()\nwait_log(1, nodes, \"here\")\n'''\n\
        [every]\nends = true\nconsole = \"none\"\ncommand = [\"/bin/echo\", \"here\"]\n\
        [[node]]\nname = \"A\"\n[[node]]\nname = \"B\"\n";
    std::fs::write(&file, scenario).expect("a file");
    let launch = folder.path().join(".vscode/launch.json");
    let mut runner = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args([
            "run",
            text(&file),
            "--gdb",
            "--vscode",
            text(&launch),
            "--out",
            text(&folder.path().join("run")),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let out = std::io::BufReader::new(runner.stdout.take().expect("its output"));
    let mut waited = Vec::new();
    let mut last = String::new();
    for line in std::io::BufRead::lines(out).map_while(Result::ok) {
        // What is printed is what somebody types.
        if let Some((_, gdb)) = line.split_once(" waits: ") {
            // Longer than the match may take by itself.
            std::thread::sleep(Duration::from_millis(700));
            let typed = format!("{gdb} -batch -ex continue");
            let attached = Command::new("sh")
                .args(["-c", &typed])
                .output()
                .expect("gdb");
            assert!(attached.status.success(), "{attached:?}");
            waited.push(gdb.to_owned());
        }
        last = line;
    }
    assert_eq!(waited.len(), 2, "{last}");
    let launch = std::fs::read_to_string(launch).expect("a launch file");
    let launch: Value = serde_json::from_str(&launch).expect("JSON");
    let nodes = serde_json::json!(["A", "B"]);
    assert_eq!(launch["compounds"][0]["configurations"], nodes);
    for (gdb, attaches) in waited.iter().zip(0..) {
        let attaches = &launch["configurations"][attaches];
        let server = attaches["miDebuggerServerAddress"].as_str().expect("where");
        assert!(gdb.contains(server), "{gdb} {server}");
        assert_eq!(attaches["program"], "/bin/echo");
    }
    assert!(runner.wait().expect("it has ended").success(), "{last}");
}

#[test]
fn the_samples_have_no_mistakes() {
    let samples = std::fs::read_dir("samples/scenarios").expect("samples");
    let paths = samples.map(|it| it.expect("a sample").path());
    let scenarios = paths.filter(|it| it.extension().is_some_and(|it| it == "toml"));
    let mut count = 0;
    for scenario in scenarios {
        // What writes the loop for somebody else reads all of the file, and starts nothing.
        netreel(&["run", text(&scenario), "--emit", "slurm"]).expect(0);
        count += 1;
    }
    assert!(count >= 4, "{count}");
}

#[test]
fn a_match_of_godot_is_driven_and_replays_exactly() {
    if netreel_capture::preload::find_program(Path::new("godot3-server")).is_none() {
        support::skipped("godot3-server is not installed");
        return;
    }
    let folder = folder();
    let out = folder.path().join("run");
    let godot = "samples/scenarios/godot.toml";
    let played = [
        "run",
        godot,
        "--keep-all",
        "--set",
        "seconds=1",
        "--out",
        text(&out),
    ];
    netreel(&played).expect(0);
    let kept = out.join("match-00001");
    let info = netreel(&["info", text(&kept)]).expect(0).out;
    assert!(info.contains("RUNNER: say LINK: faults"), "{info}");
    for node in ["SERVER", "ONE", "TWO"] {
        let replayed = netreel(&["replay", text(&kept), "--node", node, "--json", "--"]).expect(0);
        let result = replayed.json();
        assert_eq!(result["result"], "exact", "{result}");
    }
}

#[test]
fn a_bad_match_of_a_program_that_was_not_changed_is_kept_and_replays_exactly() {
    if Bench::new()
        .compile_with("enet", "cc", &["-lenet"])
        .is_none()
    {
        return;
    }
    let folder = folder();
    let out = folder.path().join("run");
    let enet = "samples/scenarios/enet.toml";
    // More is expected of a bad link than unreliable packets can do.
    let played = [
        "run",
        enet,
        "--json",
        "--set",
        "loss=10",
        "--set",
        "packets=100",
        "--set",
        "least=1",
        "--out",
        text(&out),
    ];
    let played = objects(&netreel(&played).expect(1).out);
    let kept = played[0]["kept"].as_str().expect("it is kept");
    let unexpected = &played[0]["match"]["outcome"]["unexpected"];
    assert!(
        unexpected.to_string().contains("the server has "),
        "{played:?}"
    );
    let faults = netreel(&["packets", kept, "--json"]).expect(0).out;
    assert!(faults.contains("\"lost\""), "the link lost some");
    for node in ["SERVER", "CLIENT"] {
        let replayed = netreel(&["replay", kept, "--node", node, "--json", "--"]).expect(0);
        let result = replayed.json();
        assert_eq!(result["result"], "exact", "{result}");
    }
}

#[test]
fn a_scenario_that_is_being_written_is_played_whenever_it_is_saved() {
    let folder = folder();
    let (file, script) = (folder.path().join("it.toml"), folder.path().join("it.lua"));
    let scenario = "file = \"it.lua\"\n[[node]]\nname = \"A\"\ncommand = [\"true\"]\n";
    std::fs::write(&file, scenario).expect("a file");
    std::fs::write(&script, "print('one')").expect("a file");
    let runner = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["run", text(&file), "--watch", "--out"])
        .arg(folder.path().join("run"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut runner = Game(runner, String::new());
    let out = std::io::BufReader::new(runner.0.stdout.take().expect("its output"));
    let mut lines = std::io::BufRead::lines(out).map_while(Result::ok);
    let mut said = || {
        let until = lines
            .by_ref()
            .take_while(|it| !it.starts_with("plays once more"));
        until.collect::<Vec<_>>().join("\n")
    };
    assert!(said().contains("match 1: one"));
    // A mistake is waited out: nothing is played, and the runner goes on.
    std::fs::write(&script, "print('two'").expect("a file");
    assert_eq!(said(), "");
    std::fs::write(&script, "print('three')").expect("a file");
    let third = said();
    assert!(third.contains("match 1: three"), "{third}");
    assert!(third.contains("saved-2"), "{third}");
}
