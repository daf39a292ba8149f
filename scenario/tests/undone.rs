//! What a script does and undoes, what it expects of beliefs, and what never reaches a file.

mod bench;

use std::path::Path;

use netreel_scenario::{Believed, Outcome};

use bench::{Bench, ECHO, why};

/// A scenario whose nodes are told of faults.
fn with_faults(bench: &Bench, script: &str) -> netreel_scenario::Scenario {
    let nodes = "[[node]]\nname = \"A\"\n[[node]]\nname = \"B\"\n";
    let told = "faults = \"faults {from} {faults}\"\n";
    bench.read(&format!(
        "limit = 20.0\nscript = '''\n{script}\n'''\n{ECHO}{told}{nodes}"
    ))
}

fn outcome(script: &str) -> Outcome {
    let bench = Bench::new();
    let scenario = with_faults(&bench, script);
    bench.repeat(&scenario, 1).unwrap().remove(0).outcome
}

#[test]
fn faults_are_undone_by_what_set_them_and_what_stood_before_holds_again() {
    let script = r#"
        start()
        local some = faults("A", "B", {loss = 5})
        local late = faults("A", "B", {delay = 0.1})
        undo(late)
        undo(some)
        wait_log(10, "B", "faults A none")
        local said = {}
        for line in log("B"):gmatch("faults ([^\n]+)") do said[#said + 1] = line end
        local all = table.concat(said, "; ")
        expect(all == "A loss=5%; A delay=100ms; A loss=5%; A none", all)
    "#;
    assert_eq!(outcome(script), Outcome::Played);
    let twice = why(outcome(
        "start()\nlocal some = faults('A', 'B', {loss = 5})\nundo(some)\nundo(some)",
    ));
    assert!(
        twice.contains("it.toml:6: nothing that was done has the number 2, or it was undone"),
        "{twice}"
    );
}

#[test]
fn nodes_that_were_started_end_and_those_that_were_ended_start() {
    let script = r#"
        local first = start("A")
        local second = start("B")
        local dead = kill("A")
        undo(dead)
        expect(lives("A"), "A lives again")
        undo(second)
        expect(not lives("B"), "B has ended")
        undo()
        expect(not lives("A"), "so has A")
    "#;
    assert_eq!(outcome(script), Outcome::Played);
}

#[test]
fn what_a_script_says_undoes_something_is_called_once_also_where_it_fails() {
    let bench = Bench::new();
    let script = r#"
        start()
        local one = undoes(function() say("A", "one") print("one") end, "one")
        undoes(function() say("A", "two") print("two") end, "two")
        undoes(function() print("three") end)
        undo(one)
        error({code = 7, why = {"a", "b"}})
    "#;
    let scenario = with_faults(&bench, script);
    let told = why(bench.repeat(&scenario, 1).unwrap().remove(0).outcome);
    let place = "it.toml:9: error {code = 7, why = {1 = a, 2 = b}}";
    assert!(told.ends_with(place), "{told}");
    assert_eq!(bench.told(), ["one", "three", "two"]);
}

#[test]
fn what_is_thrown_and_is_no_text_has_a_place() {
    let told = |script: &str| why(outcome(script));
    assert!(told("error(nil)").ends_with("it.toml:3: error nil"));
    assert!(told("local function deep()\nerror(42)\nend\ndeep()").ends_with("it.toml:4: error 42"));
    assert!(told("error('as it is', 0)").ends_with("as it is"));
    let own = "error(setmetatable({}, {__tostring = function() return 'my own' end}))";
    assert!(told(own).ends_with("it.toml:3: error my own"));
}

#[test]
fn what_nodes_must_believe_is_asked_of_the_recordings() {
    let believed = |exists, owner: Option<&str>, script: &str| {
        let mut bench = Bench::new();
        let owner = owner.map(str::to_owned);
        bench.believed = Believed { exists, owner };
        bench.outcome(script)
    };
    let is_owned = "expect_state('A', 41, {owner = 'B'})";
    assert_eq!(believed(Some(true), Some("B"), is_owned), Outcome::Played);
    let missed = |outcome: Outcome| match outcome {
        Outcome::Unexpected(why) => why.join("; "),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        missed(believed(Some(true), Some("A"), is_owned)),
        "expected A to believe that object 41 is owned by B; what it believes: object 41 is owned by A"
    );
    assert_eq!(
        missed(believed(
            None,
            None,
            "expect_state('A', 41, {exists = false})"
        )),
        "expected A to believe that object 41 does not exist; what it believes: of object 41 nobody can tell"
    );
    let wrong = why(believed(None, None, "expect_state('A', 41, {owned = 'B'})"));
    assert!(wrong.contains("write expect_state(NODE, OBJECT"), "{wrong}");
}

#[test]
fn a_log_has_a_limit_and_its_end_is_there_all_the_same() {
    let bench = Bench::new();
    let text = "log_limit = 1\nscript = '''\nstart()\nwait_log(20, \"A\", \"the end\")\n'''\n[[node]]\nname = \
                \"A\"\ncommand = [\"sh\", \"-c\", \"yes 0123456789 | head -c 3000000; echo the end; sleep 600\"]\n";
    let scenario = bench.read(text);
    let matches = bench.repeat_by(&scenario, 1, |wants| wants.keeps_good = true);
    assert_eq!(matches.unwrap()[0].outcome, Outcome::Played);
    let log = bench.run_folder().join("match-00001/logs/A.log");
    // It is written to its end once the node has ended.
    let text = (0..1000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let text = std::fs::read_to_string(&log).unwrap();
        text.ends_with("the end\n").then_some(text)
    });
    let text = text.expect("the end of what it printed");
    assert!(text.len() < (1 << 20) + (64 << 10) + 1000, "{}", text.len());
    assert!(text.contains("netreel: this log has reached its limit of 1048576 bytes"));
    assert!(text.contains("bytes are left out here"));
}

/// All files below a folder, with what they hold.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => all.push((path.display().to_string(), std::fs::read(&path).unwrap())),
        }
    }
    all
}

#[test]
fn a_secret_reaches_its_node_and_no_file() {
    let mut bench = Bench::new();
    let secret = "correct-horse-battery";
    std::fs::write(bench.folder.path().join("key"), format!("{secret}\n")).unwrap();
    bench.findings = vec![netreel_scenario::Found {
        rule: "zombie-object".to_owned(),
        level: "error".to_owned(),
        node: "A".to_owned(),
        text: format!("it says {secret}"),
    }];
    let text = "limit = 20.0\nscript = '''\nstart()\nlocal key = io.open(secret(\"key\")):read()\nnote(\"it is \" .. \
                key)\nprint(key)\nwait_log(10, \"A\", \"the end\")\nexpect(false, \"not \" .. key)\n'''\n\
                [secrets]\nkey = { file = \"key\" }\nown = { environment = \"PATH\" }\n[[node]]\nname = \"A\"\ncommand = \
                [\"sh\", \"-c\", \"cat {secret.key} >&2; cut -c1-8 {secret.key}; stat -c mode=%a {secret.own}; cat \
                {secret.own}; echo {secret.own}; echo the end; sleep 600\"]\n";
    let scenario = bench.read(text);
    let matches = bench.repeat(&scenario, 1).unwrap();
    let Outcome::Unexpected(missed) = &matches[0].outcome else {
        panic!("{:?}", matches[0].outcome);
    };
    assert!(missed[0].ends_with("expected: not ***"), "{missed:?}");
    assert_eq!(matches[0].judged.findings[0].text, "it says ***");
    assert_eq!(bench.told(), ["***"]);
    assert!(
        bench
            .noted
            .lock()
            .unwrap()
            .contains(&"it is ***".to_owned())
    );
    let all = files(&bench.run_folder());
    assert!(all.len() >= 4, "{all:?}");
    for value in [secret.to_owned(), std::env::var("PATH").unwrap()] {
        let has = |bytes: &[u8]| {
            bytes
                .windows(value.len())
                .any(|some| some == value.as_bytes())
        };
        let has: Vec<&String> = all.iter().filter(|it| has(&it.1)).map(|it| &it.0).collect();
        assert!(has.is_empty(), "a secret is in {has:?}");
    }
    // What is no secret stands: the begin of one is none.
    let log = bench.run_folder().join("match-00001/logs/A.log");
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[..4], ["***", "correct-", "mode=600", "***"]);
    assert!(!Path::new(lines[4]).exists(), "{} is left", lines[4]);
    assert_eq!(lines[5], "the end");
}

#[test]
fn a_secret_that_is_not_there_ends_the_run_and_is_not_told() {
    let bench = Bench::new();
    let read = |text: &str| {
        std::fs::write(bench.folder.path().join("key"), text).unwrap();
        let scenario = bench.read(&format!(
            "script = 'start()'\n[secrets]\nkey = {{ file = \"key\" }}\n{ECHO}[[node]]\nname = \"A\"\n"
        ));
        bench.repeat(&scenario, 1).unwrap_err().to_string()
    };
    let short = read("abc\n");
    assert!(short.contains("the secret key: it has 3 bytes"), "{short}");
    assert!(!short.contains("abc"));
}
