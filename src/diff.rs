//! `netreel diff`: what differs between two sessions.

use std::io::Write;
use std::path::Path;

use netreel_protocol::diff::{ComparedSession, Diff};
use netreel_protocol::export::{self, Both, DiffJson, FindingJson, ValuedJson};
use netreel_protocol::session::SessionTime;

use crate::arguments::{self, Source};
use crate::open::{self, Story};
use crate::outcome::{Answer, Result, fail};
use crate::packets::json;
use crate::text;

/// How many differences of a kind are told, unless all are asked for.
const TOLD: usize = 8;

pub fn run(arguments: &arguments::Diff, out: &mut dyn Write) -> Result<Answer> {
    let [mut first, mut second] = [
        story(arguments, &arguments.first)?,
        story(arguments, &arguments.second)?,
    ];
    let sides = [&first, &second].map(|story| ComparedSession {
        session: &story.session,
        history: story.history(),
    });
    let diff = Diff::new(sides)?;
    let told = export::diff(sides, &diff);
    if arguments.json {
        json(&told, out)?
    } else {
        Telling {
            told: &told,
            most: if arguments.all { usize::MAX } else { TOLD },
        }
        .print(out)?
    }
    out.flush()?;
    first.keep_index();
    second.keep_index();
    // What one of them lacks may be what the other has.
    for (story, path) in [(&first, &arguments.first), (&second, &arguments.second)] {
        if let Some(why) = story.unread.first() {
            return fail(format!(
                "{}: not all of it could be read, and what is missing counts as a difference: {why}",
                path.display()
            ));
        }
    }
    Ok(Answer::clean_if(told.same))
}

fn story(arguments: &arguments::Diff, path: &Path) -> Result<Story> {
    open::story(&Source {
        paths: vec![path.to_owned()],
        keys: arguments.keys.clone(),
        wire: arguments.wire.clone(),
        bounds: arguments.bounds.clone(),
        no_index: arguments.no_index,
    })
}

/// The differences for people.
struct Telling<'a> {
    told: &'a DiffJson,
    most: usize,
}

impl Telling<'_> {
    fn print(&self, out: &mut dyn Write) -> Result {
        let told = self.told;
        let compared = format!(
            "{}, {}, {}, {}",
            text::counted(told.nodes.len(), "node"),
            text::counted(told.messages, "message"),
            text::counted(told.beliefs - told.believed.len() as u64, "equal belief"),
            text::counted(told.findings, "finding"),
        );
        if told.same {
            writeln!(out, "the same: {compared}")?;
            return Ok(());
        }
        if let Some(first) = &told.first {
            let time = text::seconds(SessionTime(first.time_ns));
            writeln!(out, "they part at {time} s: {}", first.words)?;
        }
        writeln!(out, "the same in both: {compared}")?;
        if !told.counters {
            writeln!(
                out,
                "migration counters are not compared: one session has none"
            )?;
        }
        for (names, which) in pairs(&told.other_nodes) {
            if !names.is_empty() {
                writeln!(out, "nodes of the {which} alone: {}", names.join(", "))?;
            }
        }
        self.findings(out)?;
        for (only, which) in pairs(&told.only) {
            let title = format!("in the {which} alone");
            self.list(&title, "message", only, out, |it| {
                let time = text::seconds(SessionTime(it.time_ns));
                let words = &it.about.words;
                format!(
                    "{time} s  packet {}  {} -> {}  {words}",
                    it.packet, it.from, it.to
                )
            })?;
        }
        self.changed(out)?;
        let title = "taken otherwise";
        self.list(title, "message", &told.differently, out, |it| {
            let time = text::seconds(SessionTime(it.time_ns));
            format!("{time} s  {}", it.words())
        })?;
        let title = "believed otherwise";
        self.list(title, "object at a node", &told.believed, out, |it| {
            let time = text::seconds(SessionTime(it.time_ns));
            format!("{time} s  {}", it.words())
        })?;
        let title = "other in the end";
        self.list(title, "value", &told.valued, out, ValuedJson::sentence)
    }

    /// Messages with other fields, those of one kind with the same fields together.
    fn changed(&self, out: &mut dyn Write) -> Result {
        let alike = self.told.changed_alike();
        let all = self.told.changed.len();
        if all == 0 {
            return Ok(());
        }
        writeln!(out, "{} with other fields", text::counted(all, "message"))?;
        for alike in alike.iter().take(self.most) {
            let first = alike.places.first();
            let Some(first) = first.and_then(|&place| self.told.changed.get(place)) else {
                continue;
            };
            let time = text::seconds(SessionTime(first.time_ns));
            writeln!(out, "    {}", alike.words())?;
            writeln!(
                out,
                "        first at {time} s, packets {} and {}, {} -> {}: {}",
                first.packets.first,
                first.packets.second,
                first.from,
                first.to,
                first.fields_in_words()
            )?;
        }
        if alike.len() > self.most {
            writeln!(
                out,
                "    and {} other kinds of change (--all)",
                alike.len() - self.most
            )?;
        }
        Ok(())
    }

    fn findings(&self, out: &mut dyn Write) -> Result {
        let told = self.told;
        for (findings, which) in pairs(&told.findings_only) {
            let title = format!("in the {which} alone");
            self.list(&title, "finding", findings, out, finding)?;
        }
        let title = "of another level";
        self.list(title, "finding", &told.levels, out, |it| {
            let Both { first, second } = it.levels;
            format!("{} at {}: {second}, was {first}", it.rule, it.node)
        })
    }

    fn list<T>(
        &self,
        title: &str,
        one: &str,
        all: &[T],
        out: &mut dyn Write,
        words: impl Fn(&T) -> String,
    ) -> Result {
        if all.is_empty() {
            return Ok(());
        }
        let many = match (all.len(), one) {
            (1, _) => format!("1 {one}"),
            (count, "object at a node") => format!("{count} objects at nodes"),
            (count, _) => text::counted(count, one),
        };
        writeln!(out, "{many} {title}")?;
        for each in all.iter().take(self.most) {
            writeln!(out, "    {}", words(each))?;
        }
        if all.len() > self.most {
            writeln!(out, "    and {} more (--all)", all.len() - self.most)?;
        }
        Ok(())
    }
}

fn pairs<T>(both: &Both<T>) -> [(&T, &'static str); 2] {
    [(&both.first, "first"), (&both.second, "second")]
}

fn finding(finding: &FindingJson) -> String {
    let time = text::seconds(SessionTime(finding.time_ns));
    format!(
        "{time} s  {}  {} at {}: {}",
        finding.level, finding.rule, finding.node, finding.sentence
    )
}
