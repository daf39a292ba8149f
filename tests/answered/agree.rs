//! What answers about one session have to do with each other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::answers::{Answered, Effect, Message, Packet};

/// Whether there is a session at all.
fn is_read(told: &Answered) -> bool {
    !told.packets().is_empty()
}

/// What was answered in JSON.
fn json(told: &Answered, command: &str) -> Value {
    serde_json::from_str(told.text(command)).expect("JSON")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// As tables show it.
fn seconds(ns: i64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

/// The number behind a word at the start of a line of `info`.
fn number_behind(text: &str, word: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut found = lines.find_map(|mut words| (words.next() == Some(word)).then_some(words))?;
    found.next()?.parse().ok()
}

/// With `--json` a command has the same exit code, and says the same besides.
pub fn json_ends_as_the_text(told: &Answered) {
    for command in ["info", "packets", "objects", "check", "migrations"] {
        let as_json = format!("{command}-json");
        if !told.has(command) || !is_read(told) {
            continue;
        }
        let both = [command, &as_json];
        let [text, json] = both.map(|command| told.answer(command));
        told.hold(&both, text.code == json.code, "other exit codes");
    }
}

/// Each line of the table is a packet of JSON.
pub fn text_and_json_of_packets(told: &Answered) {
    let (both, packets) = (["packets", "packets-json"], told.packets());
    let lines: Vec<&str> = told.text("packets").lines().skip(1).collect();
    told.hold(&both, lines.len() == packets.len(), "not as many packets");
    for (packet, line) in packets.iter().zip(lines) {
        let mut words = line.split_whitespace();
        let begins = [packet.packet.to_string(), seconds(packet.first_ns())];
        let same = begins.iter().all(|it| words.next() == Some(it))
            && words.any(|word| word == packet.to)
            && words.any(|word| word == packet.length.to_string())
            && line.contains(&format!("{} -> {}", packet.from, packet.to));
        told.hold(
            &both,
            same,
            format_args!("packet {}: {line}", packet.packet),
        );
    }
}

/// Each line of CSV is a packet of JSON.
pub fn csv_and_json_of_packets(told: &Answered) {
    if !told.has("csv") {
        return;
    }
    let (both, packets) = (["csv", "packets-json"], told.packets());
    let mut lines = told.text("csv").lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let lines: Vec<&str> = lines.collect();
    told.hold(&both, lines.len() == packets.len(), "not as many packets");
    for (packet, line) in packets.iter().zip(lines) {
        let cells: BTreeMap<&str, &str> = head.iter().copied().zip(line.split(',')).collect();
        let shown = |number: Option<i64>| number.map_or(String::new(), |it| it.to_string());
        let number = |number: Option<u64>| number.map_or(String::new(), |it| it.to_string());
        let expected = [
            ("packet", packet.packet.to_string()),
            ("from", packet.from.clone()),
            ("to", packet.to.clone()),
            ("sent_ns", shown(packet.sent_ns)),
            ("received_ns", shown(packet.received_ns)),
            ("late_ns", shown(packet.late_ns)),
            ("duplicates", packet.duplicates_ns.len().to_string()),
            ("acked_ns", shown(packet.acked_ns)),
            ("fate", packet.fate.clone()),
            ("length", packet.length.to_string()),
            ("sequence", number(packet.sequence)),
            ("ack", number(packet.ack)),
        ];
        for (name, value) in expected {
            let same = cells.get(name) == Some(&value.as_str());
            told.hold(&both, same, format_args!("{name} is not {value}: {line}"));
        }
    }
}

/// How many packets, bytes, messages of each kind and fates there are is what the packets say.
pub fn info_and_packets(told: &Answered) {
    if !is_read(told) {
        return;
    }
    let all = ["info", "info-json", "packets-json"];
    let (info, packets) = (json(told, "info-json"), told.packets());
    let messages = packets.iter().map(|packet| packet.messages.len()).sum();
    for (word, count) in [("packets", packets.len()), ("messages", messages)] {
        let in_text = number_behind(told.text("info"), word);
        let same = info[word] == count && in_text == Some(count as u64);
        told.hold(&all, same, format_args!("there are {count} {word}"));
    }
    let mut links: BTreeMap<[&str; 2], (u64, u64)> = BTreeMap::new();
    let mut named: BTreeMap<[&str; 2], u64> = BTreeMap::new();
    for packet in packets {
        let link = links.entry([&packet.from, &packet.to]).or_default();
        *link = (link.0 + 1, link.1 + packet.length);
        *named.entry(["fates", &packet.fate]).or_default() += 1;
        let kinds = packet.messages.iter().filter_map(|it| it.kind.as_deref());
        kinds.for_each(|kind| *named.entry(["kinds", kind]).or_default() += 1);
    }
    let told_links = list(&info, "links").iter().map(|link| {
        let [from, to] = ["from", "to"].map(|name| link[name].as_str().unwrap_or_default());
        let [packets, bytes] = ["packets", "bytes"].map(|name| link[name].as_u64().unwrap_or(0));
        ([from, to], (packets, bytes))
    });
    told.hold(
        &all,
        told_links.collect::<BTreeMap<_, _>>() == links,
        "links",
    );
    let counted = ["fates", "kinds"].into_iter().flat_map(|group| {
        let counts = info[group].as_object().into_iter().flatten();
        counts.map(move |(name, count)| ([group, name.as_str()], count.as_u64().unwrap_or(0)))
    });
    let counted = counted.filter(|(_, count)| *count > 0);
    let same = counted.collect::<BTreeMap<_, _>>() == named;
    told.hold(&all, same, format_args!("these are counted: {named:?}"));
}

/// The same objects, each with as many beliefs of nodes.
pub fn text_and_json_of_objects(told: &Answered) {
    if !is_read(told) {
        return;
    }
    let all = ["objects", "objects-json", "info"];
    let objects = json(told, "objects-json");
    let mut expected = Vec::new();
    for object in list(&objects, "objects") {
        let lanes = list(object, "lanes").iter();
        let spans: usize = lanes.map(|lane| list(lane, "spans").len()).sum();
        expected.push((object["object"].to_string(), spans));
    }
    let mut found: Vec<(String, usize)> = Vec::new();
    for line in told.text("objects").lines() {
        match (line.strip_prefix("object "), found.last_mut()) {
            (Some(rest), _) => {
                let number = rest.split_whitespace().next().unwrap_or_default();
                found.push((number.to_owned(), 0));
            }
            (None, Some(object)) => object.1 += usize::from(line.starts_with("  ")),
            (None, None) => {}
        }
    }
    told.hold(&all, found == expected, "other objects");
    let counted = number_behind(told.text("info"), "objects");
    told.hold(&all, counted == Some(expected.len() as u64), "not as many");
}

/// The same migrations, each with as many steps.
pub fn text_and_json_of_migrations(told: &Answered) {
    if !told.has("migrations") {
        return;
    }
    let both = ["migrations", "migrations-json"];
    let migrations = json(told, "migrations-json");
    let mut expected = Vec::new();
    for migration in list(&migrations, "migrations") {
        let to = migration["to"].as_str().unwrap_or_default();
        expected.push(format!("object {} to {to}", migration["object"]));
        let steps = list(migration, "steps").iter();
        expected.extend(steps.map(|step| seconds(step["time_ns"].as_i64().unwrap_or(0))));
    }
    let found: Vec<&str> = told.text("migrations").lines().map(str::trim).collect();
    let same = found.len() == expected.len()
        && found
            .iter()
            .zip(&expected)
            .all(|(line, begins)| line.starts_with(begins.as_str()));
    told.hold(
        &both,
        same,
        format_args!("these should be told: {expected:?}"),
    );
}

/// The same verdict, and the same findings in the same order.
pub fn text_and_json_of_findings(told: &Answered) {
    if !is_read(told) {
        return;
    }
    let both = ["check", "check-json"];
    let (text, report) = (told.text("check"), json(told, "check-json"));
    let verdict = report["verdict"].as_str().unwrap_or_default();
    let begins = |line: &str| line.split([':', ' ']).next() == Some(verdict);
    told.hold(
        &both,
        text.lines().any(begins),
        format_args!("not {verdict}"),
    );
    let counts = ["error", "warning", "info"].map(|level| report["counts"][level].as_u64());
    let findings = list(&report, "findings");
    let sum: u64 = counts.into_iter().flatten().sum();
    told.hold(&both, sum == findings.len() as u64, "not as many findings");
    let mut lines = text.lines();
    for finding in findings {
        let [level, rule, sentence] =
            ["level", "rule", "sentence"].map(|name| finding[name].as_str().unwrap_or_default());
        let head = lines.find(|line| line.split_whitespace().take(2).eq([level, rule]));
        let same = head.is_some() && lines.next().map(str::trim) == Some(sentence);
        told.hold(&both, same, format_args!("{rule}: {sentence}"));
    }
}

/// The evidence of a finding, and of each thing that it tells of.
fn evidence(finding: &Value) -> impl Iterator<Item = &Value> {
    let each = list(finding, "each").iter();
    let all = [finding].into_iter().chain(each);
    all.flat_map(|it| list(it, "evidence"))
}

/// Evidence is a packet from or to the node, and a message that it has; what does not fit the wire has none.
pub fn evidence_and_packets(told: &Answered) {
    if !is_read(told) {
        return;
    }
    let (both, packets) = (["check-json", "packets-json"], told.packets());
    for finding in list(&json(told, "check-json"), "findings") {
        for evidence in evidence(finding) {
            let Some(number) = evidence["packet"].as_u64() else {
                continue;
            };
            let packet = packets.get(number as usize);
            let has = |packet: &Packet| {
                let message = evidence["message"].as_u64();
                let mut messages = packet.messages.iter();
                let nodes = [&packet.from, &packet.to];
                nodes
                    .into_iter()
                    .any(|node| evidence["node"] == node.as_str())
                    && (packet.messages.is_empty()
                        || message.is_none_or(|it| messages.any(|other| other.message == it)))
            };
            told.hold(&both, packet.is_some_and(has), evidence);
        }
    }
}

/// Whether a packet is one of a filter's.
fn fits(filter: &str, packet: &Packet, evidence: &BTreeSet<u64>) -> bool {
    let is_lost = packet.fate == "lost";
    let mut messages = packet.messages.iter();
    match filter {
        "filtered-fates" => {
            is_lost || !packet.duplicates_ns.is_empty() || packet.acked_ns.is_none()
        }
        "filtered-lengths" => is_lost && packet.length > 100,
        "filtered-messages" => {
            let is_create = |it: &str| it.eq_ignore_ascii_case("create");
            let is_one =
                |it: &Message| it.resend_of.is_some() && it.kind.as_deref().is_some_and(is_create);
            packet.from == "A" && messages.any(is_one)
        }
        "filtered-times" => {
            let back = packet.acked_ns.zip(packet.sent_ns);
            packet.late_ns.is_some_and(|late| late > 30_000_000)
                && packet.sent_ns.or(packet.received_ns) > Some(1_000_000_000)
                && back.is_some_and(|(acked, sent)| acked - sent < 1_000_000_000)
        }
        "filtered-effects" => {
            let is_one = |it: &Effect| ["stale", "queued"].contains(&it.effect.as_str());
            messages.any(|message| message.effects.iter().any(is_one))
        }
        _ => evidence.contains(&packet.packet),
    }
}

/// What a filter lets through is what the packets say of themselves.
pub fn filters_of_packets(told: &Answered) {
    let packets = told.packets();
    let report = json(told, "check-json");
    let findings = list(&report, "findings").iter();
    let evidence = findings.flat_map(evidence);
    let evidence: BTreeSet<u64> = evidence.filter_map(|it| it["packet"].as_u64()).collect();
    for name in [
        "filtered-fates",
        "filtered-lengths",
        "filtered-messages",
        "filtered-times",
        "filtered-effects",
        "filtered-evidence",
    ] {
        if !told.has(name) {
            continue;
        }
        let numbers = told.text(name).lines().filter_map(|line| {
            let line = line.trim_start_matches("{\"packet\":").trim_start();
            let digits = line.split(|it: char| !it.is_ascii_digit()).next();
            digits?.parse().ok()
        });
        let found: Vec<u64> = numbers.collect();
        let those = packets.iter().filter(|it| fits(name, it, &evidence));
        let expected: Vec<u64> = those.map(|packet| packet.packet).collect();
        let words = format_args!("{name} should be {expected:?}");
        let commands = [name, "packets-json", "check-json"];
        told.hold(&commands, found == expected, words);
    }
}

/// What `show` prints in full are the packets before 0.3 s.
pub fn packets_in_full(told: &Answered) {
    if !told.has("show") {
        return;
    }
    let heads = told.text("show").lines();
    let heads = heads.filter_map(|line| line.strip_prefix("packet "));
    let begins = |packet: &Packet| format!("{}  {} -> {}", packet.packet, packet.from, packet.to);
    let early = |packet: &&Packet| packet.first_ns() < 300_000_000;
    let those = told.packets().iter().filter(early);
    let expected: Vec<String> = those.map(begins).collect();
    let found: Vec<&str> = heads.collect();
    let same = found.len() == expected.len()
        && found
            .iter()
            .zip(&expected)
            .all(|(head, begins)| head.starts_with(begins.as_str()));
    told.hold(
        &["show", "packets-json"],
        same,
        format_args!("these should be: {expected:?}"),
    );
}

/// The findings of a node, with the sentences that they have without the filter.
pub fn filter_of_findings(told: &Answered) {
    if !told.has("filtered-findings") {
        return;
    }
    let text = told.text("filtered-findings");
    for finding in list(&json(told, "check-json"), "findings") {
        let sentence = finding["sentence"].as_str().unwrap_or_default();
        let is_told = text.lines().any(|line| line.trim() == sentence);
        let same = is_told == (finding["node"] == "HOST");
        told.hold(&["filtered-findings", "check-json"], same, sentence);
    }
}

/// Each line that comes through a filter is one of all, in the same order.
pub fn filtered_lines(told: &Answered) {
    for (name, of) in [
        ("filtered-fates", "packets"),
        ("filtered-lengths", "packets"),
        ("filtered-messages", "packets"),
        ("filtered-times", "packets"),
        ("filtered-effects", "packets"),
        ("filtered-evidence", "packets-json"),
        ("filtered-objects", "objects"),
    ] {
        if !told.has(name) {
            continue;
        }
        let mut all = told.text(of).lines();
        for line in told.text(name).lines() {
            let is_there = line == "no object fits the filter" || all.any(|other| other == line);
            told.hold(&[name, of], is_there, format_args!("{name}: {line}"));
        }
    }
}

/// With a wire and without, a capture has the same packets at the same times.
pub fn packets_without_a_wire(sessions: &[Answered]) {
    for bare in sessions {
        let name = bare.asked.name.strip_suffix("-bare");
        let known = sessions
            .iter()
            .find(|it| Some(it.asked.name.as_str()) == name);
        let Some(known) = known else { continue };
        let (ours, theirs) = (known.packets(), bare.packets());
        let commands = ["packets-json"];
        bare.hold(&commands, ours.len() == theirs.len(), "not as many packets");
        for (packet, other) in ours.iter().zip(theirs) {
            let [same, expected] = [packet, other].map(|it| {
                let seen: Vec<i64> = it.seen.iter().map(|seen| seen.time_ns).collect();
                (
                    it.packet,
                    &it.from,
                    &it.to,
                    it.sent_ns,
                    it.received_ns,
                    seen,
                    it.length,
                )
            });
            let holds = same == expected && other.messages.is_empty();
            bare.hold(&commands, holds, format_args!("packet {}", packet.packet));
        }
    }
}

/// Without a wire no message and no object is known, and the verdict says why it is none.
pub fn nothing_is_judged_without_a_wire(told: &Answered) {
    if !told.asked.name.ends_with("-bare") || !is_read(told) {
        return;
    }
    let report = json(told, "check-json");
    let reasons = list(&report, "reasons").iter();
    let mut reasons = reasons.filter_map(|reason| reason["id"].as_str());
    let unknown = report["verdict"] == "unknown" && reasons.any(|it| it == "no-wire");
    told.hold(&["check-json"], unknown, "no wire is no reason");
    let none = list(&json(told, "objects-json"), "objects").is_empty();
    told.hold(&["objects-json"], none, "there are objects");
    let info = json(told, "info-json");
    let none = info["messages"] == 0 && info["wire"] == Value::Null;
    told.hold(&["info-json"], none, "there are messages");
}
