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
use crate::text::{self, Align};

/// How many rows a table has that was not asked for by name.
const ROWS_MAX: usize = 12;

const SECOND_NS: i64 = 1_000_000_000;

pub fn run(arguments: &arguments::Stats, out: &mut dyn Write) -> Result<Answer> {
    let story = open::story(&arguments.filtered.read.source)?;
    let session = &story.session;
    let query = open::query(arguments.filtered.filter.as_deref(), session)?;
    let all = (0, session.packet_count());
    let packets = query.packets(session, &|| story.history(), all);
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
    let heads = [
        "inputs",
        "ticks",
        "late",
        "latest",
        "rollbacks",
        "played again",
    ];
    let mut table = vec![heads.map(str::to_owned).to_vec()];
    for it in &stats.inputs {
        let judged = |count: u64| {
            if it.is_judged {
                count.to_string()
            } else {
                String::new()
            }
        };
        let name = format!("{} at {}", it.player_name(session), session.name(it.node));
        table.push(vec![
            name,
            it.ticks.to_string(),
            judged(it.late),
            judged(it.worst.map_or(0, |worst| worst.depth())),
            judged(it.rollbacks),
            judged(it.played_again),
        ]);
    }
    let mut sides = vec![Align::Left];
    sides.extend([Align::Right; 5]);
    text::table(&sides, &table, out)?;
    Ok(())
}

fn parts(arguments: &arguments::Stats) -> StatsParts {
    let only = |table: Option<&'static str>| StatsParts {
        table,
        ..StatsParts::default()
    };
    match arguments.by {
        None if arguments.over.is_some() => only(None),
        None => StatsParts {
            links: true,
            table: None,
            tables: true,
        },
        Some(StatsBy::Link) => StatsParts {
            links: true,
            ..StatsParts::default()
        },
        Some(StatsBy::Kind) => only(Some("kind")),
        Some(StatsBy::Type) => only(Some("type")),
        Some(StatsBy::Object) => only(Some("object")),
        Some(StatsBy::Rpc) => only(Some("rpc")),
        Some(StatsBy::Input) => only(Some("input")),
        Some(StatsBy::Second) => only(None),
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
    let mut table = vec![heads(&["link"])];
    let mut sides = vec![Align::Left];
    sides.extend([Align::Right; LINK_HEADS.len()]);
    for (&(from, to), link) in &stats.links {
        let mut row = vec![text::link(session, from, to)];
        row.extend(cells(link));
        table.push(row);
    }
    let mut row = vec!["all".to_owned()];
    row.extend(cells(&stats.all));
    table.push(row);
    text::table(&sides, &table, out)?;
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
    let row = |name: String, link: &LinkStats| {
        let counts = Cause::ALL.map(|cause| match link.resent_for.get(&cause) {
            Some(count) => count.to_string(),
            None => String::new(),
        });
        [vec![name], counts.into()].concat()
    };
    let heads = Cause::ALL.map(|cause| cause.name().to_owned());
    let mut table = vec![[vec!["resent, having heard".to_owned()], heads.into()].concat()];
    for (&(from, to), link) in &stats.links {
        if !link.resent_for.is_empty() {
            table.push(row(text::link(session, from, to), link));
        }
    }
    table.push(row("all".to_owned(), &stats.all));
    let mut sides = vec![Align::Left];
    sides.extend([Align::Right; Cause::ALL.len()]);
    writeln!(out)?;
    text::table(&sides, &table, out)?;
    Ok(())
}

fn heads(first: &[&str]) -> Vec<String> {
    let heads = first.iter().chain(&LINK_HEADS);
    heads.map(|&head| head.to_owned()).collect()
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
    let first: &[&str] = if with_links {
        &["from s", "link"]
    } else {
        &["from s"]
    };
    let mut table = vec![heads(first)];
    let mut sides = vec![Align::Right];
    sides.extend(with_links.then_some(Align::Left));
    sides.extend([Align::Right; LINK_HEADS.len()]);
    for bucket in buckets {
        let time = text::seconds(bucket.from);
        if !with_links {
            let mut row = vec![time];
            row.extend(cells(&bucket.all));
            table.push(row);
            continue;
        }
        for (&(from, to), link) in &bucket.links {
            let mut row = vec![time.clone(), text::link(session, from, to)];
            row.extend(cells(link));
            table.push(row);
        }
    }
    text::table(&sides, &table, out)?;
    Ok(())
}

/// Prints a table of what the bytes were.
fn rows(
    name: &str,
    ledger: &Ledger,
    (stats, rows_max): (&Stats, usize),
    out: &mut dyn Write,
) -> Result {
    let heads = [
        name, "packets", "messages", "bytes", "share", "resent", "bytes",
    ];
    let mut table = vec![heads.map(str::to_owned).to_vec()];
    let whole = stats.all.bytes.saturating_mul(8);
    let all = ledger.rows();
    let (told, left) = all.split_at(if all.len() <= rows_max {
        all.len()
    } else {
        rows_max
    });
    for (of, row) in told {
        table.push(cells_of(row_name(name, of), row, whole));
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
        table.push(cells);
    }
    let sum = Row {
        packets: stats.all.packets,
        messages: stats.all.messages,
        bits: ledger.bits(),
        resent: stats.all.resent,
        resent_bits: all.iter().map(|(_, row)| row.resent_bits).sum(),
    };
    table.push(cells_of("all".to_owned(), &sum, whole));
    let mut sides = vec![Align::Left];
    sides.extend([Align::Right; 6]);
    text::table(&sides, &table, out)?;
    Ok(())
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

fn cells_of(name: String, row: &Row, whole: u64) -> Vec<String> {
    vec![
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
