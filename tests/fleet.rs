//! `netreel export --format parquet`: what engines that know nothing of netreel read in the dataset.
#![cfg(feature = "parquet")]

mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netreel_fleet::{SCHEMA, Table};
use serde_json::{Map, Value, json};
use support::netreel;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const WIRE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/wires/boxes.wire");

fn session(name: &str) -> String {
    format!("{ROOT}/samples/sessions/{name}")
}

/// Both recorded sessions as a dataset.
fn dataset() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = format!("{ROOT}/samples/sessions");
    export(&sessions, folder.path(), &["--each"]).expect(0);
    folder
}

fn export(path: &str, folder: &Path, more: &[&str]) -> support::Ran {
    let folder = folder.to_str().expect("a path in UTF-8");
    let mut arguments = vec!["export", path, "--format", "parquet", "--out", folder];
    arguments.extend(["--wire", WIRE, "--no-index"]);
    arguments.extend(more);
    netreel(&arguments)
}

/// Asks an engine for all tables, or these queries; `None`, with a sentence, where it cannot be had.
fn ask(engine: &str, folder: &Path, queries: Option<&[&str]>) -> Option<Value> {
    let what = if queries.is_some() {
        "queries"
    } else {
        "tables"
    };
    let python = std::env::var_os("NETREEL_PYTHON").map(PathBuf::from);
    let made = Path::new(ROOT).join("target/python/bin/python");
    let python = python.or_else(|| made.is_file().then_some(made));
    let mut child = Command::new(python.unwrap_or_else(|| "python3".into()))
        .arg(Path::new(ROOT).join("tests/fleet.py"))
        .args([engine.as_ref(), folder.as_os_str(), what.as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .inspect_err(|error| support::skipped(format_args!("{engine}: no python: {error}")))
        .ok()?;
    let mut asks = child.stdin.take().expect("a pipe");
    // An engine that is not there reads nothing.
    let _ = asks.write_all(json!(queries).to_string().as_bytes());
    drop(asks);
    let output = child.wait_with_output().expect("the engine ends");
    if output.status.code() == Some(77) {
        support::skipped(format_args!(
            "{engine} is not installed: pip install {engine}"
        ));
        return None;
    }
    assert!(output.status.success(), "{engine} could not read it");
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

const ENGINES: [&str; 3] = ["duckdb", "pyarrow", "pyspark"];

type Rows = BTreeMap<String, Vec<Map<String, Value>>>;

/// All tables as one engine reads them.
fn read(engine: &str, folder: &Path) -> Option<Rows> {
    let tables = ask(engine, folder, None)?;
    Some(serde_json::from_value(tables).expect("tables"))
}

/// What tables have of the session that `path` names.
fn of_session(tables: &Rows, path: &str) -> Rows {
    let mut of_path = tables["sessions"].iter().filter(|row| row["path"] == *path);
    let id = of_path.next().expect("the session")["session"].clone();
    assert_eq!(of_path.next(), None, "a session stands there once");
    let mut tables = tables.clone();
    for rows in tables.values_mut() {
        rows.retain(|row| row["session"] == id);
    }
    tables
}

/// What `netreel` prints, a JSON value a line.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let ran = netreel(arguments);
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The rows of a table without these columns, in an order of their own.
fn sorted(rows: &[Map<String, Value>], without: &[&str]) -> Vec<String> {
    let shown = rows.iter().map(|row| {
        let kept = row.iter().filter(|(name, _)| !without.contains(&&name[..]));
        // Engines give columns in orders of their own.
        let kept: BTreeMap<_, _> = kept.collect();
        json!(kept).to_string()
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    shown
}

/// What the command's JSON says, as rows.
fn expected(rows: Vec<Value>) -> Vec<String> {
    let rows = rows.into_iter().map(|row| match row {
        Value::Object(row) => row,
        other => panic!("{other} is no row"),
    });
    sorted(&rows.collect::<Vec<_>>(), &[])
}

const PLACE: [&str; 3] = ["date", "session", "utc"];

fn count(list: &Value) -> usize {
    list.as_array().expect("a list").len()
}

#[track_caller]
fn same(what: &str, found: &[String], expected: &[String]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected, "{what}");
    }
    assert_eq!(found.len(), expected.len(), "{what}");
    assert!(!found.is_empty(), "{what}: nothing was compared");
}

fn packets_and_what_became_of_them(engine: &str, tables: &Rows, path: &str) {
    let said = lines(&["packets", path, "--json", "--wire", WIRE]);
    let start = netreel(&["info", path, "--json", "--wire", WIRE]).expect(0);
    let start = start.json()["start_utc_ns"].clone();
    let start: i64 = start.as_str().expect("digits").parse().expect("a number");
    for row in &tables["packets"] {
        let first = [&row["sent_ns"], &row["received_ns"]];
        let first = first.into_iter().find_map(Value::as_i64).expect("a time");
        assert_eq!(row["utc"], (start + first).div_euclid(1000), "{engine}");
    }
    let [mut packets, mut messages, mut acks, mut deliveries] = [const { Vec::new() }; 4];
    for packet in &said {
        let (from, to) = (&packet["from"], &packet["to"]);
        let all = packet["messages"].as_array().expect("messages");
        packets.push(json!({
            "packet": packet["packet"], "sender": from, "receiver": to,
            "sent_ns": packet["sent_ns"], "sent_event": packet["sent_event"],
            "received_ns": packet["received_ns"], "received_event": packet["received_event"],
            "late_ns": packet["late_ns"], "duplicates": count(&packet["duplicates_ns"]),
            "seen": count(&packet["seen"]), "fate": packet["fate"],
            "doubtful": packet["doubtful"] == true, "faults": null, "length": packet["length"],
            "cut": packet["cut"], "protocol": packet["protocol"], "sequence": packet["sequence"],
            "ack": packet["ack"], "diagnostics": packet["diagnostics"], "messages": all.len(),
            "resends": all.iter().filter(|it| !it["resend_of"].is_null()).count(),
        }));
        if let Some(acked) = packet["acked_ns"].as_i64() {
            acks.push(json!({
                "packet": packet["packet"], "sender": from, "receiver": to, "acked_ns": acked,
                "rtt_ns": packet["sent_ns"].as_i64().map(|sent| acked - sent),
            }));
        }
        for message in all {
            messages.push(json!({
                "message": message["message"], "packet": packet["packet"], "sender": from,
                "receiver": to, "kind": message["kind"], "reliable": message["reliable"],
                "reliable_sequence": message["reliable_sequence"], "origin": message["origin"],
                "rpc": message["rpc"], "object": message["object"], "owner": message["owner"],
                "counter": message["counter"], "resend_of": message["resend_of"],
                "fragment_index": message["fragment"][0],
                "fragment_count": message["fragment"][1],
            }));
            for effect in message["effects"].as_array().expect("effects") {
                deliveries.push(json!({
                    "message": message["message"], "packet": packet["packet"],
                    "node": effect["node"], "time_ns": effect["time_ns"],
                    "local": effect["local"], "effect": effect["effect"],
                    "kind": message["kind"], "object": message["object"],
                }));
            }
        }
    }
    let compare = |table: &str, all: Vec<Value>, more: &[&str]| {
        let without = [&PLACE, more].concat();
        let found = sorted(&tables[table], &without);
        same(&format!("{engine}: {table}"), &found, &expected(all));
    };
    compare("packets", packets, &[]);
    compare("messages", messages, &["bits"]);
    compare("acks", acks, &["ack_packet", "ambiguous"]);
    compare("deliveries", deliveries, &[]);
    for ack in &tables["acks"] {
        let told = ack["ack_packet"].as_u64().expect("a packet");
        let told = &said[usize::try_from(told).expect("small")];
        let came = [&told["from"], &told["to"], &told["received_ns"]];
        let expected = [&ack["receiver"], &ack["sender"], &ack["acked_ns"]];
        assert_eq!(came, expected, "{engine}: {ack:?}");
    }
}

fn beliefs(engine: &str, tables: &Rows, path: &str) {
    let said = netreel(&["objects", path, "--json", "--wire", WIRE]).expect(0);
    let said = said.json();
    let mut spans = Vec::new();
    for object in said["objects"].as_array().expect("objects") {
        for lane in object["lanes"].as_array().expect("lanes") {
            for span in lane["spans"].as_array().expect("spans") {
                spans.push(json!({
                    "object": object["object"], "object_type": object["type"],
                    "node": lane["node"], "from_ns": span["from_ns"], "to_ns": span["to_ns"],
                    "belief": span["belief"], "owner": span["owner"],
                    "counter": span["counter"], "packet": span["packet"],
                }));
            }
        }
    }
    let found = sorted(&tables["objects"], &PLACE);
    same(&format!("{engine}: objects"), &found, &expected(spans));
}

/// At some moments, each value that `netreel state` shows is the row of that time.
fn states(engine: &str, tables: &Rows, path: &str) {
    let mut rows: BTreeMap<[String; 3], Vec<&Map<String, Value>>> = BTreeMap::new();
    for row in &tables["states"] {
        let key = ["object", "property", "node"].map(|name| row[name].to_string());
        rows.entry(key).or_default().push(row);
    }
    let mut compared = 0;
    for at in (200i64..=1400).step_by(400) {
        let time = format!("{at}ms");
        let said = netreel(&["state", path, "--json", "--wire", WIRE, "--at", &time]).expect(0);
        for object in said.json()["objects"].as_array().expect("objects") {
            for property in object["properties"].as_array().expect("properties") {
                for value in property["nodes"].as_array().expect("nodes") {
                    let key = [&object["object"], &property["property"], &value["node"]];
                    let rows = &rows[&key.map(Value::to_string)];
                    let at = at * 1_000_000;
                    let mut holding = rows.iter().filter(|row| {
                        row["from_ns"].as_i64() <= Some(at) && row["to_ns"].as_i64() > Some(at)
                    });
                    let row = holding.next().expect("a row of this moment");
                    assert!(holding.next().is_none(), "{engine}: two at once: {row:?}");
                    assert_eq!(row["from_ns"], value["since_ns"], "{engine}: {row:?}");
                    assert_eq!(row["packet"], value["packet"], "{engine}: {row:?}");
                    assert_eq!(row["unit"], property["unit"], "{engine}: {row:?}");
                    let held = row["value"].as_str().map_or(Value::Null, |text| {
                        serde_json::from_str(text).expect("a value is JSON")
                    });
                    assert_eq!(held, value["value"], "{engine}: {row:?}");
                    if let Some(number) = value["value"].as_f64() {
                        assert_eq!(row["number"].as_f64(), Some(number), "{engine}: {row:?}");
                    }
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "{compared} values were compared");
}

fn findings(engine: &str, tables: &Rows, path: &str) {
    let ran = netreel(&["check", path, "--json", "--wire", WIRE]);
    let said = ran.json();
    let [mut findings, mut evidence] = [const { Vec::new() }; 2];
    for finding in said["findings"].as_array().expect("findings") {
        let several = finding["objects"].as_array().map(Vec::len);
        let objects = several.unwrap_or(usize::from(finding["object"].is_u64()));
        findings.push(json!({
            "objects": objects, "finding": finding["finding"], "rule": finding["rule"], "level": finding["level"],
            "node": finding["node"], "object": finding["object"],
            "time_ns": finding["time_ns"], "sentence": finding["sentence"],
        }));
        // Of several objects each has its own.
        let each = finding["each"].as_array();
        let told = each.map_or(vec![finding], |each| each.iter().collect());
        let pieces = told.into_iter().flat_map(|it| {
            let pieces = it["evidence"].as_array().expect("evidence");
            pieces.iter().map(move |piece| (&it["object"], piece))
        });
        for (place, (object, piece)) in pieces.enumerate() {
            evidence.push(json!({
                "object": object, "finding": finding["finding"], "place": place, "what": piece["what"],
                "packet": piece["packet"], "message": piece["message"], "node": piece["node"],
                "event": piece["event"], "time_ns": piece["time_ns"],
            }));
        }
    }
    for (table, all) in [("findings", findings), ("evidence", evidence)] {
        let found = sorted(&tables[table], &PLACE);
        same(&format!("{engine}: {table}"), &found, &expected(all));
    }
    let [of_session] = &tables["sessions"][..] else {
        panic!("{engine}: a session has a row")
    };
    for column in ["verdict", "judged_until_ns"] {
        assert_eq!(of_session[column], said[column], "{engine}");
    }
    for (column, level) in [
        ("errors", "error"),
        ("warnings", "warning"),
        ("infos", "info"),
    ] {
        assert_eq!(of_session[column], said["counts"][level], "{engine}");
    }
}

fn nodes(engine: &str, tables: &Rows, path: &str) {
    let said = netreel(&["info", path, "--json", "--wire", WIRE]).expect(0);
    let said = said.json();
    let nodes = said["nodes"].as_array().expect("nodes").iter().map(|node| {
        let endpoints: Vec<_> = node["endpoints"]
            .as_array()
            .expect("endpoints")
            .iter()
            .collect();
        let endpoints: Vec<_> = endpoints.iter().filter_map(|it| it.as_str()).collect();
        json!({
            "node": node["name"], "peer": node["peer"], "recorded": node["recorded"],
            "complete": node["complete"], "rules": node["rules"],
            "endpoints": endpoints.join(","), "start_ns": node["start_ns"],
            "end_ns": node["end_ns"], "clock_error_ns": node["clock_error_ns"],
            "sent": node["sent"], "received": node["received"], "holes": count(&node["holes"]),
        })
    });
    let without = [&PLACE[..], &["engine", "build", "seeds"]].concat();
    let found = sorted(&tables["nodes"], &without);
    same(
        &format!("{engine}: nodes"),
        &found,
        &expected(nodes.collect()),
    );
    for row in &tables["nodes"] {
        assert_eq!(row["engine"], "boxes", "{engine}");
        assert!(
            row["build"].as_str().is_some_and(|it| !it.is_empty()),
            "{engine}"
        );
    }
}

#[test]
fn each_engine_reads_in_every_table_what_the_command_prints() {
    let folder = dataset();
    for engine in ENGINES {
        let Some(all) = read(engine, folder.path()) else {
            continue;
        };
        assert_eq!(all.len(), Table::ALL.len());
        for name in ["host", "owner"] {
            let path = session(name);
            let tables = of_session(&all, &path);
            packets_and_what_became_of_them(engine, &tables, &path);
            beliefs(engine, &tables, &path);
            states(engine, &tables, &path);
            findings(engine, &tables, &path);
            nodes(engine, &tables, &path);
        }
    }
}

/// The queries of the page: each with the words above it.
fn queries(page: &str) -> Vec<(&str, &str)> {
    let mut parts = page.split("```sql\n");
    let mut above = parts.next().expect("a page");
    parts
        .map(|part| {
            let (sql, rest) = part.split_once("```").expect("a block ends");
            let words = above.trim_end().rsplit("\n\n").next().unwrap_or_default();
            above = rest;
            (words, sql)
        })
        .collect()
}

fn page() -> String {
    std::fs::read_to_string(Path::new(ROOT).join("docs/fleet.md")).expect("the page")
}

#[test]
fn the_queries_of_the_page_run_in_duckdb_and_spark_and_agree() {
    let folder = dataset();
    let page = page();
    let queries = queries(&page);
    assert!(queries.len() >= 5, "{} queries", queries.len());
    let sql: Vec<&str> = queries.iter().map(|&(_, sql)| sql).collect();
    let answers: Vec<Value> = ["duckdb", "pyspark"]
        .iter()
        .filter_map(|engine| ask(engine, folder.path(), Some(&sql)))
        .collect();
    for (place, (words, sql)) in queries.into_iter().enumerate() {
        for answer in &answers {
            assert!(count(&answer[place]) > 0, "{words}\n{sql}");
            assert_eq!(answer[place], answers[0][place], "{words}\n{sql}");
        }
    }
}

#[test]
fn the_build_that_made_zombies_is_the_one_that_was_recorded() {
    let folder = dataset();
    let page = page();
    let queries = queries(&page);
    let mut queries = queries
        .iter()
        .filter(|(words, _)| words.contains("zombies"));
    let (_, sql) = queries.next().expect("the query");
    let Some(answers) = ask("duckdb", folder.path(), Some(&[sql])) else {
        return;
    };
    let zombies = |name: &str| {
        let check = netreel(&["check", &session(name), "--json", "--wire", WIRE]).json();
        let findings = check["findings"].as_array().expect("findings").clone();
        let zombies = findings.iter().filter(|it| it["rule"] == "zombie-object");
        zombies.count() as u64
    };
    let all: u64 = count_of(&answers[0], "zombies");
    assert_eq!(all, zombies("host") + zombies("owner"));
    assert!(all > 0);
}

fn count_of(answer: &Value, column: &str) -> u64 {
    let rows = answer.as_array().expect("rows").iter();
    rows.map(|row| row[column].as_u64().expect("a count")).sum()
}

#[test]
fn a_session_that_is_exported_again_takes_its_own_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = |folder: &Path| {
        let mut files = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                match path.is_dir() {
                    true => open.push(path),
                    false => files.push((path.clone(), std::fs::read(&path).expect("a file"))),
                }
            }
        }
        files.sort();
        files
    };
    export(&session("host"), folder.path(), &[]).expect(0);
    let once = files(folder.path());
    assert_eq!(once.len(), Table::ALL.len());
    export(&session("host"), folder.path(), &[]).expect(0);
    let again = files(folder.path());
    assert!(once == again, "the same files with the same bytes");
    export(&session("owner"), folder.path(), &[]).expect(0);
    assert_eq!(files(folder.path()).len(), 2 * Table::ALL.len());
}

#[test]
fn the_page_has_every_column_of_every_table() {
    let mut tables = format!("The version of the schema is {SCHEMA}.\n");
    for table in Table::ALL {
        tables.push_str(&format!(
            "\n### {}\n\nA row is {}.\n\n",
            table.name(),
            table.says()
        ));
        tables.push_str("| column | type | what it is |\n|---|---|---|\n");
        for column in table.columns() {
            let null = if column.is_optional { ", or null" } else { "" };
            let (name, kind, says) = (column.name, column.kind.name(), column.says);
            tables.push_str(&format!("| `{name}` | {kind}{null} | {says} |\n"));
        }
    }
    let page = page();
    assert!(
        page.contains(&tables),
        "docs/fleet.md lacks this:\n\n{tables}"
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |more: &[&str], says: &str| {
        let ran = export(&session("host"), folder.path(), more).expect(2);
        assert!(ran.err.contains(says), "{}", ran.err);
    };
    refused(&["--filter", "object == 42"], "choose in the query");
    let ran = netreel(&["export", &session("host"), "--format", "parquet"]).expect(2);
    assert!(ran.err.contains("--out DIR"), "{}", ran.err);
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let ran = export(&session("host"), &file, &[]).expect(2);
    assert!(ran.err.contains("cannot write it"), "{}", ran.err);
}

/// Matches of one node that ends at once: every third is not as expected, the fifth cannot be played.
const MATCHES: &str = "\
limit = 20
script = '''
if match == 5 then error('no fifth') end
start()
expect(match % 3 ~= 0, 'no third')
'''
[[node]]
name = 'A'
ends = true
command = ['true']
";

#[test]
fn a_match_that_does_not_say_whether_it_was_bad_is_not_called_good() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (file, out) = (at("matches.toml"), at("run"));
    std::fs::write(&file, MATCHES).expect("a file");
    netreel(&["run", &file, "--keep-all", "--out", &out]).expect(0);
    let kept = format!("{out}/match-00001");
    let says = format!("{kept}/match.json");
    let text = std::fs::read_to_string(&says).expect("a match");
    assert!(text.contains(r#","bad":false"#), "{text}");
    for (text, outcome) in [
        (text.clone(), json!("good")),
        (text.replace(r#","bad":false"#, ""), Value::Null),
    ] {
        std::fs::write(&says, text).expect("a match");
        let dataset = at("dataset");
        export(&kept, Path::new(&dataset), &[]).expect(0);
        for engine in ENGINES {
            let Some(tables) = read(engine, Path::new(&dataset)) else {
                continue;
            };
            let rows = &tables["sessions"];
            assert_eq!(rows.len(), 1, "{engine}");
            assert_eq!(rows[0]["outcome"], outcome, "{engine}");
            assert_eq!(rows[0]["match_number"], 1, "{engine}");
        }
    }
}

#[test]
fn what_became_of_each_match_of_a_loop_is_beside_its_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (file, dataset) = (at("matches.toml"), at("dataset"));
    std::fs::write(&file, MATCHES).expect("a file");
    let parts = [at("part-1"), at("part-2")];
    let mut seeds = BTreeMap::new();
    for (part, out) in ["1/2", "2/2"].iter().zip(&parts) {
        let own = format!("{out}/dataset");
        let played = [
            "run",
            &file,
            "--repeat",
            "6",
            "--part",
            part,
            "--out",
            out,
            "--dataset",
            &own,
            "--json",
        ];
        for line in lines(&played) {
            if let Some(number) = line["match"]["number"].as_u64() {
                seeds.insert(number, line["match"]["seed"].clone());
            }
        }
    }
    // What somebody else's program lays into a folder is no day.
    std::fs::write(format!("{}/dataset/sessions/.DS_Store", parts[0]), "").expect("a file");
    let missing = ["run", "--gather", &at("none"), "--dataset", &dataset];
    netreel(&missing).expect(2);
    let [one, two] = &parts;
    netreel(&["run", "--gather", one, two, "--dataset", &dataset]).expect(1);
    // A match that was kept is the same when it is exported again.
    let again = format!("{one}/match-00003");
    export(&again, Path::new(&dataset), &[]).expect(0);
    for engine in ENGINES {
        let Some(tables) = read(engine, Path::new(&dataset)) else {
            continue;
        };
        let mut sessions = tables["sessions"].clone();
        sessions.sort_by_key(|row| row["match_number"].as_u64());
        assert_eq!(sessions.len(), 6, "{engine}");
        for (row, (number, seed)) in sessions.iter().zip(&seeds) {
            assert_eq!(row["match_number"], *number, "{engine}");
            assert_eq!(row["match_seed"], *seed, "{engine}");
            let (outcome, why) = match number {
                3 | 6 => ("bad", Some("no third")),
                5 => ("failed", Some("no fifth")),
                _ => ("good", None),
            };
            assert_eq!(row["outcome"], outcome, "{engine}: {number}");
            let told = row["why"].as_str();
            assert_eq!(told.is_some(), why.is_some(), "{engine}: {told:?}");
            let is_told = why.is_none_or(|why| told.is_some_and(|it| it.contains(why)));
            assert!(is_told, "{engine}: {told:?}");
        }
    }
}
