//! `netreel stats`: where the bandwidth goes.

use std::io::Write;

use netreel_protocol::export::{self, StatsParts};
use netreel_protocol::history::History;
use netreel_protocol::session::Session;
use netreel_protocol::stats::{Bucket, Ledger, LinkStats, Row, RowOf, Spread, Stats, over};
use netreel_protocol::why::Cause;

use crate::arguments::{self, StatsBy};
use crate::open;
use crate::outcome::{Answer, Result};
use crate::packets::{json, rpc_name};
use crate::text::{self, Align, Table};

/// How many rows a table has that was not asked for by name.
const ROWS_MAX: usize = 12;

const SECOND_NS: i64 = 1_000_000_000;

pub fn run(arguments: &arguments::Stats, out: &mut dyn Write) -> Result<Answer> {
    let story = open::story(&arguments.filtered.read.source)?;
    let session = &story.session;
    let query = open::query(arguments.filtered.filter.as_deref(), session)?;
    let packets = story.packets(&query);
    let stats = Stats::new(session, story.history(), &packets);
    let stretch_ns = match (arguments.over, arguments.by) {
        (Some(seconds), _) => Some((seconds * SECOND_NS as f64) as i64),
        (None, Some(StatsBy::Second)) => Some(SECOND_NS),
        _ => None,
    };
    let buckets = stretch_ns.map(|stretch| over(session, story.history(), &packets, stretch));
    let parts = parts(arguments);
    if arguments.filtered.read.json {
        let told = export::stats(
            (session, story.history()),
            &stats,
            buckets.as_deref(),
            parts,
        );
        json(&told, out)?;
        return story.answered(out);
    }
    if let Some(buckets) = &buckets {
        let by_second = arguments.by == Some(StatsBy::Second);
        in_time(session, buckets, !by_second, out)?;
        return story.answered(out);
    }
    if parts.links {
        links(session, &stats, out)?;
        losses(story.history(), out)?;
    }
    for (name, ledger) in export::tables(&stats) {
        let is_asked = parts.table == Some(name);
        // A table that says nothing is left out, unless it is what was asked for.
        if is_asked || parts.tables && says_something(ledger) {
            if parts.links {
                writeln!(out)?;
            }
            let rows_max = if is_asked { usize::MAX } else { ROWS_MAX };
            rows(name, ledger, (&stats, rows_max), out)?;
        }
    }
    let is_asked = parts.table == Some("input");
    if is_asked || parts.tables && !stats.inputs.is_empty() {
        if parts.links {
            writeln!(out)?;
        }
        inputs(session, &stats, out)?;
    }
    story.answered(out)
}

/// Whether inputs came in time.
fn inputs(session: &Session, stats: &Stats, out: &mut dyn Write) -> Result {
    let mut table = Table::of_numbers([
        "inputs",
        "ticks",
        "late",
        "latest",
        "rollbacks",
        "played again",
    ]);
    for it in &stats.inputs {
        let judged = |count: u64| {
            if it.is_judged {
                count.to_string()
            } else {
                String::new()
            }
        };
        let name = format!("{} at {}", it.player_name(session), session.name(it.node));
        table.row([
            name,
            it.ticks.to_string(),
            judged(it.late),
            judged(it.worst.map_or(0, |worst| worst.depth())),
            judged(it.rollbacks),
            judged(it.played_again),
        ]);
    }
    table.print(out)
}

fn parts(arguments: &arguments::Stats) -> StatsParts {
    let all = arguments.by.is_none() && arguments.over.is_none();
    StatsParts {
        links: all || arguments.by == Some(StatsBy::Link),
        table: match arguments.by {
            Some(StatsBy::Kind) => Some("kind"),
            Some(StatsBy::Type) => Some("type"),
            Some(StatsBy::Object) => Some("object"),
            Some(StatsBy::Rpc) => Some("rpc"),
            Some(StatsBy::Input) => Some("input"),
            Some(StatsBy::Link | StatsBy::Second) | None => None,
        },
        tables: all,
    }
}

fn says_something(ledger: &Ledger) -> bool {
    let rows = ledger.rows().into_iter();
    let mut of = rows.map(|(of, _)| of);
    of.any(|of| matches!(of, RowOf::Name(_) | RowOf::Number(_)))
}

const LINK_HEADS: [&str; 13] = [
    "packets", "bytes", "lost", "bursts", "unknown", "resent", "bytes", "dupl.", "reord.", "delay",
    "p99", "jitter", "rtt",
];

fn links(session: &Session, stats: &Stats, out: &mut dyn Write) -> Result {
    let mut table = Table::of_numbers(["link"].into_iter().chain(LINK_HEADS));
    for (&(from, to), link) in &stats.links {
        table.row(
            [text::link(session, from, to)]
                .into_iter()
                .chain(cells(link)),
        );
    }
    table.row(["all".to_owned()].into_iter().chain(cells(&stats.all)));
    table.print(out)?;
    resends(session, stats, out)
}

/// What losses follow, where that is not chance alone: of the whole session, whatever is filtered.
fn losses(history: &History, out: &mut dyn Write) -> Result {
    let mut patterns = history.loss_patterns().peekable();
    if patterns.peek().is_some() {
        writeln!(out)?;
    }
    for pattern in patterns {
        writeln!(out, "{}", pattern.sentence)?;
    }
    Ok(())
}

/// What senders had heard when they sent messages again, where they did.
fn resends(session: &Session, stats: &Stats, out: &mut dyn Write) -> Result {
    if stats.all.resent_for.is_empty() {
        return Ok(());
    }
    let heads = Cause::ALL.map(Cause::name);
    let mut table = Table::of_numbers(["resent, having heard"].into_iter().chain(heads));
    let mut row = |name: String, link: &LinkStats| {
        let count = |cause| link.resent_for.get(&cause).map(u64::to_string);
        let counts = Cause::ALL.map(|cause| count(cause).unwrap_or_default());
        table.row([name].into_iter().chain(counts));
    };
    for (&(from, to), link) in &stats.links {
        if !link.resent_for.is_empty() {
            row(text::link(session, from, to), link);
        }
    }
    row("all".to_owned(), &stats.all);
    writeln!(out)?;
    table.print(out)
}

fn cells(link: &LinkStats) -> Vec<String> {
    let length = |it: Option<Spread>, get: fn(Spread) -> i64| {
        it.map_or(String::new(), |it| text::duration(get(it)))
    };
    let bursts = match link.bursts.longest {
        0 => String::new(),
        longest => format!("{} up to {longest}", link.bursts.count),
    };
    let delay = match (link.delay_ns, link.clock_error_ns) {
        (Some(it), Some(0)) => text::duration(it.median),
        (Some(it), Some(error)) => {
            let error = i64::try_from(error).unwrap_or(i64::MAX);
            format!("{} ±{}", text::duration(it.median), text::duration(error))
        }
        (Some(it), None) => format!("{} ±?", text::duration(it.median)),
        (None, _) => String::new(),
    };
    vec![
        link.packets.to_string(),
        text::bytes(link.bytes),
        link.lost.to_string(),
        bursts,
        link.unknown.to_string(),
        link.resent.to_string(),
        text::bytes(link.resent_bits.div_ceil(8)),
        link.duplicated.to_string(),
        link.reordered.map_or(String::new(), |it| it.to_string()),
        delay,
        length(link.delay_ns, |it| it.p99),
        link.jitter_ns.map_or(String::new(), text::duration),
        length(link.rtt_ns, |it| it.median),
    ]
}

/// Prints links by time; of each stretch the links, or all of them in one row.
fn in_time(session: &Session, buckets: &[Bucket], with_links: bool, out: &mut dyn Write) -> Result {
    let link = with_links.then_some((Align::Left, "link"));
    let mut sides = vec![Align::Right];
    sides.extend(link.map(|(side, _)| side));
    sides.extend([Align::Right; LINK_HEADS.len()]);
    let mut table = Table::new(sides);
    let heads = ["from s"].into_iter().chain(link.map(|(_, head)| head));
    table.row(heads.chain(LINK_HEADS));
    for bucket in buckets {
        let time = text::seconds(bucket.from);
        if !with_links {
            table.row([time].into_iter().chain(cells(&bucket.all)));
            continue;
        }
        for (&(from, to), link) in &bucket.links {
            let begin = [time.clone(), text::link(session, from, to)];
            table.row(begin.into_iter().chain(cells(link)));
        }
    }
    table.print(out)
}

/// Prints a table of what the bytes were.
fn rows(
    name: &'static str,
    ledger: &Ledger,
    (stats, rows_max): (&Stats, usize),
    out: &mut dyn Write,
) -> Result {
    let mut table = Table::of_numbers([
        name, "packets", "messages", "bytes", "share", "resent", "bytes",
    ]);
    let whole = stats.all.bytes.saturating_mul(8);
    let all = ledger.rows();
    let (told, left) = all.split_at(all.len().min(rows_max));
    for (of, row) in told {
        table.row(cells_of(row_name(name, of), row, whole));
    }
    if !left.is_empty() {
        let mut sum = Row::default();
        for (_, row) in left {
            sum.messages += row.messages;
            sum.bits += row.bits;
            sum.resent += row.resent;
            sum.resent_bits += row.resent_bits;
        }
        let mut cells = cells_of(format!("{} more", left.len()), &sum, whole);
        cells[1] = String::new();
        table.row(cells);
    }
    let sum = Row {
        packets: stats.all.packets,
        messages: stats.all.messages,
        bits: ledger.bits(),
        resent: stats.all.resent,
        resent_bits: all.iter().map(|(_, row)| row.resent_bits).sum(),
    };
    table.row(cells_of("all".to_owned(), &sum, whole));
    table.print(out)
}

fn row_name(table: &str, of: &RowOf) -> String {
    match of {
        RowOf::Name(name) => rpc_name(name),
        RowOf::Number(number) => format!("{table} {number}"),
        RowOf::Others => match table {
            "kind" => "(of no kind)",
            "rpc" => "(no RPC, or not named)",
            "type" => "(of no object, or no type)",
            _ => "(of no object)",
        }
        .to_owned(),
        RowOf::Frame => "(headers, acks, padding)".to_owned(),
        RowOf::Layers => "(in layers)".to_owned(),
        RowOf::Unexplained => "(not explained)".to_owned(),
        RowOf::Undecoded => "(not decoded)".to_owned(),
    }
}

fn cells_of(name: String, row: &Row, whole: u64) -> [String; 7] {
    [
        name,
        row.packets.to_string(),
        row.messages.to_string(),
        bits(row.bits),
        text::percent(row.bits as f64 / whole.max(1) as f64),
        row.resent.to_string(),
        bits(row.resent_bits),
    ]
}

/// Bytes, where they are whole; else with the eighths, so that a column sums up.
fn bits(bits: u64) -> String {
    match bits % 8 {
        0 => format!("{} B", bits / 8),
        _ => format!("{:.3} B", bits as f64 / 8.0),
    }
}
