//! `stats`: where the bandwidth goes.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use crate::history::{History, Punctuality};
use crate::session::Session;
use crate::stats::{Bucket, Ledger, Link, LinkStats, Row, RowOf, Stats};

/// The answer of `netreel stats --json`. What was not asked for is left out.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StatsJson {
    /// All links together.
    pub all: LinkStatsJson,
    /// Each link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<LinkStatsJson>>,
    /// What losses follow, a sentence each; left out where nothing but chance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<String>,
    /// The tables, by what they are by: `kind`, `type`, `object`, `rpc`.
    #[serde(flatten)]
    pub tables: BTreeMap<&'static str, Vec<RowJson>>,
    /// Whether inputs came in time, of each node and each other player; left out where the wire tells none.
    #[serde(rename = "input", skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<InputsJson>>,
    /// The links by stretches of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Vec<BucketJson>>,
}

/// A link, or all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LinkStatsJson {
    /// Who sent; left out where it is all links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// To whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What it carried, and how.
    #[serde(flatten)]
    pub stats: LinkStats,
}

/// A row of a table.
#[derive(Clone, Debug, Serialize)]
pub struct RowJson {
    /// `named`, `others`, `frame`, `layers`, `unexplained`, `undecoded`.
    pub row: &'static str,
    /// The name or the number of what is `named`.
    pub name: Json,
    /// How much it was.
    #[serde(flatten)]
    pub of: Row,
}

/// The inputs of one player as they came to a node.
#[derive(Clone, Debug, Serialize)]
pub struct InputsJson {
    /// Where they came to.
    pub node: String,
    /// Whose they are.
    pub player: String,
    /// The inputs of how many ticks came.
    pub ticks: u64,
    /// How many of them came after their tick; `null` where it is not known how far the node was.
    pub late: Option<u64>,
    /// By how many ticks the latest of them came late.
    pub latest: Option<u64>,
    /// Between how many of the node's ticks some of them came: each time may be a rollback.
    pub rollbacks: Option<u64>,
    /// How many ticks these played again together.
    pub played_again: Option<u64>,
}

/// A stretch of time.
#[derive(Clone, Debug, Serialize)]
pub struct BucketJson {
    /// From when.
    pub from_ns: i64,
    /// Until when, this moment not included.
    pub until_ns: i64,
    /// All links together.
    pub all: LinkStatsJson,
    /// Each link that had packets then.
    pub links: Vec<LinkStatsJson>,
}

/// What of the answer is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatsParts {
    /// The links.
    pub links: bool,
    /// The table of this name, or all of them.
    pub table: Option<&'static str>,
    /// All tables.
    pub tables: bool,
}

/// The names of the tables, and where they are.
pub fn tables(stats: &Stats) -> [(&'static str, &Ledger); 4] {
    [
        ("kind", &stats.kinds),
        ("type", &stats.types),
        ("object", &stats.objects),
        ("rpc", &stats.rpcs),
    ]
}

/// Where the bandwidth goes, as far as it was asked for.
pub fn stats(
    (session, history): (&Session, &History),
    stats: &Stats,
    over: Option<&[Bucket]>,
    parts: StatsParts,
) -> StatsJson {
    let wanted = tables(stats)
        .into_iter()
        .filter(|&(name, _)| parts.tables || parts.table == Some(name));
    StatsJson {
        all: link(session, None, &stats.all),
        links: parts.links.then(|| links(session, &stats.links)),
        losses: if parts.links {
            history
                .loss_patterns()
                .map(|it| it.sentence.clone())
                .collect()
        } else {
            Vec::new()
        },
        tables: wanted.map(|(name, ledger)| (name, rows(ledger))).collect(),
        inputs: {
            let wanted = parts.tables || parts.table == Some("input");
            let told = stats.inputs.iter().map(|it| inputs(session, it));
            wanted
                .then(|| told.collect())
                .filter(|told: &Vec<_>| !told.is_empty())
        },
        over: over.map(|buckets| {
            let told = buckets.iter().map(|bucket| BucketJson {
                from_ns: bucket.from.0,
                until_ns: bucket.until.0,
                all: link(session, None, &bucket.all),
                links: links(session, &bucket.links),
            });
            told.collect()
        }),
    }
}

fn inputs(session: &Session, it: &Punctuality) -> InputsJson {
    let judged = |count: u64| it.is_judged.then_some(count);
    InputsJson {
        node: session.name(it.node),
        player: it.player_name(session),
        ticks: it.ticks,
        late: judged(it.late),
        latest: judged(it.worst.map_or(0, |worst| worst.depth())),
        rollbacks: judged(it.rollbacks),
        played_again: judged(it.played_again),
    }
}

fn links(session: &Session, links: &BTreeMap<Link, LinkStats>) -> Vec<LinkStatsJson> {
    let told = links.iter();
    told.map(|(&ends, stats)| link(session, Some(ends), stats))
        .collect()
}

fn link(session: &Session, ends: Option<Link>, stats: &LinkStats) -> LinkStatsJson {
    LinkStatsJson {
        from: ends.map(|(from, _)| session.name(from)),
        to: ends.map(|(_, to)| session.name(to)),
        stats: stats.clone(),
    }
}

fn rows(ledger: &Ledger) -> Vec<RowJson> {
    let rows = ledger.rows().into_iter();
    let told = rows.map(|(of, row)| {
        let (kind, name) = match of {
            RowOf::Name(name) => ("named", Json::from(name.as_str())),
            RowOf::Number(number) => ("named", Json::from(*number)),
            RowOf::Others => ("others", Json::Null),
            RowOf::Frame => ("frame", Json::Null),
            RowOf::Layers => ("layers", Json::Null),
            RowOf::Unexplained => ("unexplained", Json::Null),
            RowOf::Undecoded => ("undecoded", Json::Null),
        };
        let of = *row;
        RowJson {
            row: kind,
            name,
            of,
        }
    });
    told.collect()
}
