//! Matches of small programs: what a script does to them, and what is left when it ends.

mod bench;

use netreel_scenario::{Found, Outcome, recover};

use bench::{Bench, ECHO, why};

#[test]
fn a_script_speaks_to_nodes_and_reads_what_they_print() {
    let bench = Bench::new();
    let script = r#"
        start()
        say("A", "hello")
        say(nodes, "all of you")
        wait_log(10, nodes, "all of you")
        expect_log("A", "A hello")
        expect(not log("B"):find("hello"), "B hears nothing of it")
        print(#with_role("guest"), with_role("guest")[1])
    "#;
    assert_eq!(bench.outcome(script), Outcome::Played);
    assert_eq!(bench.told(), ["1\tB"]);
    let noted = bench.noted.lock().unwrap();
    assert_eq!(noted[..3], ["start A", "start B", "say A: hello"]);
    assert!(
        noted.contains(&"expect B hears nothing of it: so".to_owned()),
        "{noted:?}"
    );
}

#[test]
fn what_a_script_expects_and_is_not_so_fails_with_its_line() {
    let bench = Bench::new();
    let outcome = bench.outcome("start()\nexpect(1 == 2, \"one is two\")");
    let Outcome::Unexpected(why) = outcome else {
        panic!("{outcome:?}");
    };
    let why = &why[0];
    assert!(why.ends_with("it.toml:4: expected: one is two"), "{why}");
}

#[test]
fn what_does_not_come_in_time_is_told_with_what_was_waited_for() {
    let bench = Bench::new();
    let waited = why(bench.outcome("start()\nwait_log(0.1, \"A\", \"never\")"));
    let bench = Bench::new();
    assert!(
        waited.contains("wait for \"never\" in what A prints: not so in 0.1 s"),
        "{waited}"
    );
    let looked = why(bench.outcome("start()\nwait(0.1, function() return false end, \"it\")"));
    assert!(looked.contains("wait for it: not so in 0.1 s"), "{looked}");
}

#[test]
fn a_node_that_dies_is_told_with_its_last_line() {
    let bench = Bench::new();
    let why = why(bench.outcome("start()\nsay('A', 'last words')\nsay('A', 'crash')\nsleep(10)"));
    assert!(
        why.contains("node A has ended by itself: exit code 3"),
        "{why}"
    );
    assert!(why.ends_with("its last line: \"A last words\""), "{why}");
}

#[test]
fn a_node_that_was_killed_is_started_again_with_a_log_of_its_own() {
    let bench = Bench::new();
    let script = r#"
        start()
        say("A", "first")
        wait_log(10, "A", "first")
        kill("A")
        expect(not lives("A"), "A is dead")
        restart("A")
        say("A", "second")
        wait_log(10, "A", "second")
        expect(not log("A"):find("first"), "the second life has a log of its own")
        stop("B")
        expect(not lives("B"), "B has ended")
    "#;
    let scenario = bench.scenario(script);
    let matches = bench.repeat_by(&scenario, 1, |wants| wants.keeps_good = true);
    assert_eq!(matches.unwrap()[0].outcome, Outcome::Played);
    let logs = bench.run_folder().join("match-00001/logs");
    let read = |name: &str| std::fs::read_to_string(logs.join(name)).unwrap();
    assert_eq!(read("A.log"), "A first\n");
    assert_eq!(read("A.life-2.log"), "A second\n");
}

#[test]
fn a_match_that_takes_too_long_ends_whatever_its_script_does() {
    let bench = Bench::new();
    let text =
        |script: &str| format!("limit = 0.3\nscript = '{script}'\n{ECHO}[[node]]\nname = \"A\"\n");
    let scenario = bench.read(&text("start() sleep(3600)"));
    let slept = why(bench.repeat(&scenario, 1).unwrap().remove(0).outcome);
    assert!(
        slept.ends_with("the match has taken longer than its limit of 0.3 s"),
        "{slept}"
    );
    let bench = Bench::new();
    let scenario = bench.read(&text("start() while true do end"));
    let counted = why(bench.repeat(&scenario, 1).unwrap().remove(0).outcome);
    assert!(counted.contains("the match is over"), "{counted}");
}

#[test]
fn a_node_that_crashes_after_the_last_word_or_at_its_end_is_no_good_match() {
    let bench = Bench::new();
    let crashed = why(bench.outcome("start()\nsay('A', 'crash')\nos.execute('sleep 0.3')"));
    assert!(
        crashed.contains("node A has ended by itself: exit code 3"),
        "{crashed}"
    );
    let ends = |how: &str| {
        let bench = Bench::new();
        let text = format!(
            "script = 'start() sleep(0.3)'\n[[node]]\nname = \"A\"\nconsole = \"stdin\"\nquit = \"quit\"\ncommand = \
             [\"sh\", \"-c\", \"trap '' TERM; read line; {how}\"]\n"
        );
        bench
            .repeat(&bench.read(&text), 1)
            .unwrap()
            .remove(0)
            .outcome
    };
    assert_eq!(ends("exit 0"), Outcome::Played);
    assert!(why(ends("exit 4")).contains("node A was to end, and did so badly: exit code 4"));
    assert!(why(ends("kill -SEGV $$")).contains("did so badly: signal 11"));
    assert!(
        why(ends("sleep 60")).contains("node A did not end when it was told to, and was killed")
    );
}

#[test]
fn a_node_that_reads_nothing_holds_up_nobody() {
    let bench = Bench::new();
    let text = "limit = 2\nscript = 'start() for i = 1, 100000 do say(\"A\", (\"x\"):rep(4000)) end'\n[[node]]\nname = \
                \"A\"\nconsole = \"stdin\"\ncommand = [\"sleep\", \"600\"]\n";
    let held = why(bench
        .repeat(&bench.read(text), 1)
        .unwrap()
        .remove(0)
        .outcome);
    assert!(
        held.contains("does not read") || held.contains("longer than its limit"),
        "{held}"
    );
}

#[test]
fn a_script_cannot_end_its_run_or_count_for_ever_elsewhere() {
    let exits = why(Bench::new().outcome("os.exit(0)"));
    assert!(exits.contains("a script ends with `return`"), "{exits}");
    let bench = Bench::new();
    let text = format!(
        "limit = 0.3\nscript = 'coroutine.wrap(function() while true do end end)()'\n{ECHO}[[node]]\nname = \"A\"\n"
    );
    let counts = why(bench
        .repeat(&bench.read(&text), 1)
        .unwrap()
        .remove(0)
        .outcome);
    assert!(counts.contains("the match is over"), "{counts}");
}

#[test]
fn a_rule_that_there_is_not_is_told() {
    let why = why(Bench::new().outcome("expect_no_finding('eror')"));
    assert!(
        why.contains("there is no rule and no level \"eror\""),
        "{why}"
    );
}

#[test]
fn values_are_numbers_and_truths_where_they_look_so() {
    let bench = Bench::new();
    let text = format!(
        "script = 'print(values.loss + 1, values.bots, values.mode)'\n{ECHO}[values]\nloss = 2\nbots = false\nmode = \
         \"host\"\n[[node]]\nname = \"A\"\n"
    );
    bench.repeat(&bench.read(&text), 1).unwrap();
    assert_eq!(bench.told(), ["3\tfalse\thost"]);
}

#[test]
fn paths_begin_where_the_scenario_is() {
    let bench = Bench::new();
    std::fs::create_dir(bench.folder.path().join("sub")).unwrap();
    let text = "script = 'start() wait_log(10, \"A\", \"/sub\") wait_log(10, \"B\", \"/sub\")'\n[every]\nfolder = \
                \"sub\"\nends = true\ncommand = [\"pwd\"]\n[[node]]\nname = \"A\"\n[[node]]\nname = \"B\"\nstart = \
                [\"sh\", \"-c\", \"{command}\"]\n";
    assert_eq!(
        bench.repeat(&bench.read(text), 1).unwrap()[0].outcome,
        Outcome::Played
    );
}

#[test]
fn a_program_that_is_not_there_ends_the_run_at_once() {
    let bench = Bench::new();
    let text = "script = 'start()'\n[[node]]\nname = \"A\"\ncommand = [\"/nowhere/game\"]\n";
    let error = bench.repeat(&bench.read(text), 100).unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("node A cannot be started: /nowhere/game: No such file"),
        "{told}"
    );
}

#[test]
fn what_nobody_calls_so_is_told_with_what_there_is() {
    let bench = Bench::new();
    let why = why(bench.outcome("start()\nsay(\"C\", \"x\")"));
    assert!(
        why.ends_with("it.toml:4: there is no node \"C\"; there are A, B"),
        "{why}"
    );
}

#[test]
fn the_draws_of_a_match_come_from_its_seed() {
    let draws = |seed: u64| {
        let bench = Bench::new();
        let scenario = bench.scenario("print(math.random(1000000), seed)");
        bench
            .repeat_by(&scenario, 2, |wants| wants.seed = seed)
            .unwrap();
        bench.told()
    };
    let (one, other) = (draws(1), draws(2));
    assert_eq!(one, draws(1));
    assert!(one[0] != one[1] && one[0] != other[0], "{one:?} {other:?}");
}

#[test]
fn good_matches_are_thrown_away_and_bad_ones_are_kept() {
    let bench = Bench::new();
    let scenario = bench.scenario("start()\nexpect(match ~= 2, \"the second\")");
    assert_eq!(bench.repeat(&scenario, 3).unwrap().len(), 3);
    let kept = |number: u32| {
        bench
            .run_folder()
            .join(format!("match-{number:05}"))
            .exists()
    };
    assert!(!kept(1) && kept(2) && !kept(3));
    assert!(bench.run_folder().join("match-00002/match.json").exists());
    let listed = std::fs::read(bench.run_folder().join("kept.json")).unwrap();
    let listed: Vec<netreel_scenario::Kept> = serde_json::from_slice(&listed).unwrap();
    let [only] = listed.as_slice() else {
        panic!("{listed:?}");
    };
    assert_eq!(
        (only.number, only.folder.to_str()),
        (2, Some("match-00002"))
    );
    assert!(matches!(only.outcome, Outcome::Unexpected(_)));
}

#[test]
fn a_finding_makes_a_match_bad_and_ends_the_run_where_that_is_wanted() {
    let mut bench = Bench::new();
    bench.findings = vec![Found {
        rule: "zombie-object".to_owned(),
        level: "error".to_owned(),
        node: "X".to_owned(),
        text: "it lives".to_owned(),
    }];
    let scenario = bench.scenario("expect_finding(\"zombie-object\", \"X\")");
    let matches = bench
        .repeat_by(&scenario, 10, |wants| wants.ends_at_bad = true)
        .unwrap();
    assert_eq!(matches.len(), 1);
    assert_eq!(matches[0].outcome, Outcome::Played);
    assert!(matches[0].is_bad("error"));
    let other = Bench::new();
    let scenario = other.scenario("expect_finding(\"zombie-object\")\nexpect_no_finding()");
    let matches = other.repeat(&scenario, 1).unwrap();
    let missed = vec!["no finding zombie-object".to_owned()];
    assert_eq!(matches[0].outcome, Outcome::Unexpected(missed));
}

#[test]
fn a_run_goes_on_where_it_was_ended() {
    let bench = Bench::new();
    let scenario = bench.scenario("print(match)");
    bench.repeat(&scenario, 3).unwrap();
    // What was cut while it was written is no match.
    let file = bench.run_folder().join("matches.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 20]).unwrap();
    let matches = bench.repeat(&scenario, 5).unwrap();
    let numbers: Vec<u64> = matches.iter().map(|it| it.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(bench.told(), ["1", "2", "3", "3", "4", "5"]);
}

#[test]
fn a_run_of_another_seed_is_not_gone_on_with() {
    let bench = Bench::new();
    let scenario = bench.scenario("print(match)");
    bench.repeat(&scenario, 1).unwrap();
    let error = bench
        .repeat_by(&scenario, 2, |wants| wants.seed = 9)
        .unwrap_err();
    assert!(
        error.to_string().contains("name another folder with --out"),
        "{error}"
    );
}

#[test]
fn a_run_that_is_ended_leaves_no_half_match() {
    let bench = Bench::new();
    let scenario = bench.scenario("start()\nsleep(600)");
    let cancelled = bench.cancel.clone();
    let matches = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            cancelled.cancel();
        });
        bench.repeat(&scenario, 5).unwrap()
    });
    assert!(matches.is_empty());
    let left = std::fs::read_dir(bench.run_folder()).unwrap();
    let left = left.map(|it| it.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| !name.starts_with("match-")));
    assert_eq!(recover(&bench.run_folder()).unwrap(), Default::default());
}

#[test]
fn what_a_node_leaves_behind_ends_with_its_match() {
    let bench = Bench::new();
    let orphan = bench.folder.path().join("orphan");
    let text = format!(
        "script = 'start() sleep(0.2)'\n[[node]]\nname = \"A\"\ncommand = [\"sh\", \"-c\", \
         \"setsid sleep 600 & echo $! > {}; exec sleep 600\"]\n",
        orphan.display()
    );
    assert_eq!(
        bench.repeat(&bench.read(&text), 1).unwrap()[0].outcome,
        Outcome::Played
    );
    let pid = std::fs::read_to_string(orphan).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // It may wait for whoever takes the dead away.
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[test]
fn an_error_that_a_script_catches_is_its_sentence_and_no_stack() {
    let bench = Bench::new();
    let script = r#"
        start()
        local _, caught = pcall(say, "C", "hello")
        print(caught)
        local _, deep = pcall(function() say("C", "hello") end)
        print(deep)
        local _, handled = xpcall(say, function(why) return "handled " .. why end, "C", "hello")
        print(handled)
        local _, resumed = coroutine.resume(coroutine.create(say), "C", "hello")
        print(resumed)
        print(pcall(function() return 1, nil, 3 end))
        print(select(2, pcall(error, { code = 7 })).code)
    "#;
    assert_eq!(bench.outcome(script), Outcome::Played);
    let sentence = "there is no node \"C\"; there are A, B";
    let told = bench.told();
    for (caught, begins) in told.iter().zip(["", "", "handled ", ""]) {
        assert!(
            caught.starts_with(begins) && caught.ends_with(sentence),
            "{caught}"
        );
        assert!(!caught.contains("traceback"), "{caught}");
    }
    assert!(
        told[1].ends_with(&format!("it.toml:7: {sentence}")),
        "{}",
        told[1]
    );
    assert_eq!(told[4..], ["true\t1\tnil\t3", "7"]);
}

#[test]
fn a_node_that_nobody_will_hear_is_not_waited_for() {
    let deaf = |script: &str| {
        let bench = Bench::new();
        let text = format!(
            "limit = 20.0\nscript = \"{script}\"\n[[node]]\nname = 'A'\ncommand = ['sleep', '600']\n[[node]]\n\
             name = 'B'\nconsole = 'stdin'\ncommand = ['cat']\n"
        );
        why(bench
            .repeat(&bench.read(&text), 1)
            .unwrap()
            .remove(0)
            .outcome)
    };
    // Each says more than that the limit is over, or the time of the wait.
    let no_console = deaf("start() wait(19, 'A', 'ready?')");
    assert!(
        no_console.contains("node A cannot be told anything: the file has no console"),
        "{no_console}"
    );
    assert!(no_console.contains("wait_log"), "{no_console}");
    let stopped = deaf("start() stop('B') wait(19, {'B'}, 'ready?')");
    assert!(
        stopped.contains("node B cannot be told anything: the node has ended"),
        "{stopped}"
    );
    let unstarted = deaf("wait(19, 'B', 'ready?')");
    assert!(unstarted.contains("node B was not started"), "{unstarted}");
}
