//! A team's own rules, in Lua: what they see of a session, and what they find.
//!
//! A file says what it has ([`RuleFile`]); [`find`] asks its rules one after the other. A rule sees rows
//! of the session as JSON prints them, filtered as elsewhere, and reports findings with the packets
//! that prove them.

mod rows;

use netreel_wire::rules::{Host, ROWS};
pub use netreel_wire::rules::{RuleError, RuleFile};
use serde_json::Value;

use rows::{Messages, Packets, Row};

use crate::history::{Evidence, Finding, History, Level, RULES, came, sent};
use crate::query::Query;
use crate::session::{NodeId, PacketId, Session, SessionTime};

/// A rule begins no more rows.
const ROWS_MAX: usize = 64;
/// A rule finds no more.
const FOUND_MAX: usize = 1000;
/// A sentence has no more characters.
const SENTENCE_MAX: usize = 500;

/// A rule that could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {error}")]
pub struct Failed {
    /// Its id.
    pub rule: String,
    /// Why.
    pub error: RuleError,
}

/// Reads a file of rules.
///
/// # Errors
/// It cannot be read, or one of its rules has the id of one that is built in.
pub fn parse(text: &str) -> Result<RuleFile, RuleError> {
    let file = RuleFile::new(text)?;
    match file.rules.iter().find(|id| RULES.contains(id)) {
        Some(id) => Err(RuleError {
            line: None,
            why: format!("{id} is a rule that netreel has itself: choose another id"),
        }),
        None => Ok(file),
    }
}

/// What the rules of a file find in a session, rule by rule, each in the order of its reports.
///
/// # Errors
/// The first rule that fails, or takes more than it may.
pub fn find(file: &RuleFile, session: &Session, history: &History) -> Result<Vec<Finding>, Failed> {
    let mut findings = Vec::new();
    for &rule in &file.rules {
        let mut asked = Asked {
            rule,
            session,
            history,
            rows: Vec::new(),
            findings: Vec::new(),
        };
        let done = file.ask(rule, &mut asked);
        done.map_err(|error| {
            let rule = rule.to_owned();
            Failed { rule, error }
        })?;
        findings.append(&mut asked.findings);
    }
    Ok(findings)
}

/// A rule that is being asked.
struct Asked<'a> {
    rule: &'static str,
    session: &'a Session,
    history: &'a History,
    rows: Vec<Row<'a>>,
    findings: Vec<Finding>,
}

impl Host for Asked<'_> {
    fn open(&mut self, what: &str, filter: &str) -> Result<usize, String> {
        if self.rows.len() >= ROWS_MAX {
            return Err(format!("a rule may ask for {ROWS_MAX} rows"));
        }
        let query = Query::parse(filter).map_err(|error| format!("{what}: {error}"))?;
        // Findings of the file's own rules do not stand in the history yet.
        if let Some(unknown) = query.unknown_names(self.session).first() {
            return Err(format!("{what}: {unknown}"));
        }
        let row = match what {
            "packets" => Row::Packets(Packets::new(query)),
            "messages" => Row::Messages(Messages::new(query)),
            "objects" => Row::Objects(self.history.objects.iter()),
            "links" => Row::Links(self.history.links(self.session).iter()),
            _ => return Err(format!("{what} is none of {}", ROWS.join(", "))),
        };
        let is_filtered = matches!(row, Row::Packets(_) | Row::Messages(_));
        if !is_filtered && !filter.is_empty() {
            return Err(format!("{what} take no filter"));
        }
        self.rows.push(row);
        Ok(self.rows.len() - 1)
    }

    fn next(&mut self, row: usize) -> Result<Option<Value>, String> {
        let row = self.rows.get_mut(row);
        row.ok_or("there is no such row")?
            .next(self.session, self.history)
    }

    fn found(&mut self, finding: Value) -> Result<(), String> {
        if self.findings.len() >= FOUND_MAX {
            return Err(format!("report: a rule may find {FOUND_MAX} things"));
        }
        let finding = self.finding(&finding);
        self.findings
            .push(finding.map_err(|why| format!("report: {why}"))?);
        Ok(())
    }
}

impl Asked<'_> {
    /// What a rule reports.
    fn finding(&self, told: &Value) -> Result<Finding, String> {
        const NAMES: [&str; 6] = ["level", "sentence", "node", "object", "packets", "time_ns"];
        let table = told.as_object().ok_or("a finding has names, not places")?;
        if let Some(name) = table.keys().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(format!("{name} is none of {}", NAMES.join(", ")));
        }
        let level = match told.get("level").and_then(Value::as_str) {
            None if told.get("level").is_none() => Level::Warning,
            Some("error") => Level::Error,
            Some("warning") => Level::Warning,
            Some("info") => Level::Info,
            _ => return Err("level is one of error, warning, info".to_owned()),
        };
        let sentence = told
            .get("sentence")
            .and_then(Value::as_str)
            .ok_or("there is no sentence")?;
        // It may hold what somebody sent: no terminal may take that for more than text.
        let sentence: String = sentence.chars().take(SENTENCE_MAX).collect();
        let sentence = sentence.replace(char::is_control, " ");
        let packets = match told.get("packets") {
            None => Vec::new(),
            Some(Value::Array(all)) => all.iter().map(packet_number).collect::<Result<_, _>>()?,
            Some(one) => vec![packet_number(one)?],
        };
        let evidence: Vec<Evidence> = packets
            .into_iter()
            .map(|packet| self.evidence(packet))
            .collect::<Result<_, _>>()?;
        let node = match told.get("node") {
            None => evidence.first().map_or(NodeId(0), |piece| piece.node),
            Some(name) => {
                let name = name.as_str().ok_or("node is a name")?;
                let mut nodes = (0..self.session.nodes.len()).map(|place| NodeId(place as u16));
                let node = nodes.find(|&node| self.session.name(node) == name);
                node.ok_or_else(|| format!("there is no node {name}"))?
            }
        };
        let object = match told.get("object") {
            None => None,
            Some(object) => Some(object_number(object)?),
        };
        let time = match told.get("time_ns") {
            None => evidence.iter().map(|piece| piece.time).max(),
            Some(time) => Some(SessionTime(time.as_i64().ok_or("time_ns is a number")?)),
        };
        Ok(Finding {
            rule: self.rule,
            level,
            node,
            objects: object.into_iter().collect(),
            each: Vec::new(),
            time: time.unwrap_or_default(),
            sentence,
            evidence,
        })
    }

    /// A packet as a piece of proof: where it left, or else where it came.
    fn evidence(&self, id: PacketId) -> Result<Evidence, String> {
        let piece = sent(self.session, id, "sent").or_else(|| came(self.session, id, "received"));
        piece.ok_or_else(|| format!("there is no packet {}", id.0))
    }
}

fn packet_number(of: &Value) -> Result<PacketId, String> {
    let number = of
        .as_u64()
        .and_then(|number| u32::try_from(number).ok())
        .map(PacketId);
    number.ok_or_else(|| "packets are numbers of packets".to_owned())
}

/// An object's number. Those of 2^63 and above are negative in Lua.
fn object_number(of: &Value) -> Result<u64, String> {
    let negative = || of.as_i64().map(i64::cast_unsigned);
    let number = of.as_u64().or_else(negative);
    number.ok_or_else(|| "object is a whole number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_reported_by_the_number_that_lua_has_for_it() {
        let (session, history) = (Session::default(), History::default());
        for object in [1, i64::MAX as u64, 1 << 63, u64::MAX] {
            // Lua takes a number in tens that is so large for one with a fraction.
            let text = format!(
                "rule('r', function() report {{ sentence = 'x', object = {object:#x} }} end)"
            );
            let file = parse(&text).expect("it compiles");
            let found = find(&file, &session, &history).expect("it is found");
            assert_eq!(found[0].objects, [object], "{text}");
        }
    }

    #[test]
    fn no_rule_can_filter_by_those_of_its_file() {
        let (session, history) = (Session::default(), History::default());
        let text = "rule('a', function() end) rule('b', function() packets('rule == a') end)";
        let file = parse(text).expect("it compiles");
        for _ in 0..2 {
            let failed = find(&file, &session, &history).expect_err("there is no such rule");
            assert!(failed.error.why.contains("no rule is called a"), "{failed}");
        }
        let query = Query::parse("rule == a").expect("a filter");
        assert_eq!(query.unknown_names(&session).len(), 1);
        assert_eq!(query.unknown_names_beside(&session, &file.rules).len(), 0);
    }
}
