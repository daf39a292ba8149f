//! What nodes are called where there is little room: what all names share is left out, what tells
//! them apart stays.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use netreel_protocol::session::{Node, NodeId, Packet, Session};
use netreel_reel::{EventKind, Header};

use crate::{LaneRow, Model};

/// Most characters of a name beside a lane.
const LANE_MAX: usize = 22;
/// Most characters of a name where two stand side by side, as a link.
const SHORT_MAX: usize = 13;
/// All IPv4 addresses are within this.
const HOST_MAX: usize = 15;

/// The names of a session's nodes, cut short.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Those that packets came from or went to; all where there are no packets.
    talking: BTreeSet<NodeId>,
    /// Those and whoever wrote into a recording of its own.
    shown: Vec<NodeId>,
    lanes: Vec<String>,
    short: Vec<String>,
    /// How many characters the longest has: of lanes' names, short names, and links.
    lane_length: usize,
    short_length: usize,
    link_length: usize,
}

impl Names {
    pub fn new(session: &Session) -> Names {
        let full: Vec<&str> = session.nodes.iter().map(|it| it.name.as_str()).collect();
        let mut talking: BTreeSet<NodeId> = session
            .links()
            .iter()
            .flat_map(|&(from, to)| [from, to])
            .collect();
        if talking.is_empty() {
            talking.extend((0..full.len()).map(|place| NodeId(place as u16)));
        }
        let shown: Vec<NodeId> = (0..full.len())
            .map(|place| NodeId(place as u16))
            .filter(|node| talking.contains(node) || writes(session, *node))
            .collect();
        // Where no wire says what packets carry, there is room for whole addresses.
        let short = short(&full, &talking, session.wire.is_none());
        let length = |node: NodeId| short.get(usize::from(node.0)).map_or(1, |it| length(it));
        let links = session
            .links()
            .iter()
            .map(|&(from, to)| length(from) + 3 + length(to));
        let port = |node: &Node| Some(node.endpoints.first()?.port());
        let ports: Vec<Option<u16>> = session.nodes.iter().map(port).collect();
        let lanes = lanes(&full, &ports);
        let longest = |names: &[String]| {
            shown
                .iter()
                .filter_map(|node| names.get(usize::from(node.0)))
                .map(|name| name.chars().count())
                .max()
                .unwrap_or(0)
        };
        Names {
            link_length: links.max().unwrap_or(0),
            lane_length: longest(&lanes),
            short_length: longest(&short),
            talking,
            shown,
            lanes,
            short,
        }
    }
}

/// Whether a node wrote notes of its own. What the recorder of an unmodified program writes is not its
/// program's.
fn writes(session: &Session, node: NodeId) -> bool {
    let reel = session.reels.get(usize::from(node.0));
    reel.and_then(Option::as_ref).is_some_and(|reel| {
        let is_own = reel.header().engine != Header::UNMODIFIED;
        is_own && reel.counts().contains_key(&EventKind::Note)
    })
}

impl Model {
    /// A node's name in at most 26 characters, another one for each node.
    pub fn lane_name(&self, node: NodeId) -> &str {
        self.names
            .lanes
            .get(usize::from(node.0))
            .map_or("?", String::as_str)
    }

    /// The nodes that have a lane: those that packets came from or went to, and whoever wrote notes and
    /// took no part, such as what ran the nodes. A helper process that was recorded and sent nothing has
    /// none.
    pub fn lanes(&self) -> &[NodeId] {
        &self.names.shown
    }

    /// Whether packets came from a node or went to it; of a session without packets all do.
    pub(crate) fn talks(&self, node: NodeId) -> bool {
        self.names.talking.contains(&node)
    }

    /// How many nodes neither sent nor received anything.
    pub(crate) fn quiet_nodes(&self) -> usize {
        self.session.nodes.len() - self.names.talking.len()
    }

    /// How many characters the longest name beside a lane has.
    pub fn lane_name_length(&self) -> usize {
        let joined = |row: &&LaneRow| row.nodes.len() > 1 && !row.folded;
        self.lane_rows()
            .iter()
            .filter(joined)
            .map(|row| self.lane_title(row).chars().count())
            .fold(self.names.lane_length, usize::max)
    }

    /// What tells a node from the others, in about a dozen characters: `:7000` of an address, `.4711`
    /// of a process.
    pub fn short_name(&self, node: NodeId) -> &str {
        self.names
            .short
            .get(usize::from(node.0))
            .map_or("?", String::as_str)
    }

    /// How many characters the longest short name of a node with a lane has.
    pub fn short_name_length(&self) -> usize {
        self.names.short_length
    }

    /// `A → X`, of short names.
    pub fn short_link_name(&self, packet: &Packet) -> String {
        let (from, to) = (self.short_name(packet.from), self.short_name(packet.to));
        format!("{from} → {to}")
    }

    /// How many characters the longest of these links has.
    pub fn short_link_length(&self) -> usize {
        self.names.link_length
    }
}

/// What a name says of what it names.
enum Kind<'a> {
    /// An endpoint that nobody named.
    Address(SocketAddr),
    /// `PROGRAM.PID`
    Process(&'a str, &'a str),
    /// Somebody's word.
    Word,
}

fn kind(name: &str) -> Kind<'_> {
    if let Ok(address) = name.parse() {
        return Kind::Address(address);
    }
    match name.rsplit_once('.') {
        Some((program, pid))
            if !program.is_empty()
                && !pid.is_empty()
                && pid.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            Kind::Process(program, pid)
        }
        _ => Kind::Word,
    }
}

/// A program without its process where it ran once; with its port where that tells its processes
/// apart; every other name as it is.
fn lanes(full: &[&str], ports: &[Option<u16>]) -> Vec<String> {
    let mut programs: BTreeMap<&str, Vec<Option<u16>>> = BTreeMap::new();
    for (place, name) in full.iter().enumerate() {
        if let Kind::Process(program, _) = kind(name) {
            programs
                .entry(program)
                .or_default()
                .push(ports.get(place).copied().flatten());
        }
    }
    let name = |(place, name): (usize, &&str)| {
        let Kind::Process(program, _) = kind(name) else {
            return cut(name, LANE_MAX);
        };
        let ran = programs.get(program).map_or(&[][..], Vec::as_slice);
        let differ = ran.iter().flatten().collect::<BTreeSet<_>>().len() == ran.len();
        match ports.get(place).copied().flatten() {
            _ if ran.len() == 1 => cut(program, LANE_MAX),
            Some(port) if differ => cut(&format!("{program}:{port}"), LANE_MAX),
            _ => cut(name, LANE_MAX),
        }
    };
    apart(full.iter().enumerate().map(name).collect(), full)
}

/// Of the nodes that talk: their ports where these are all that differs, their hosts where these are
/// enough, otherwise what is behind the hosts' common start; a program without its process where it
/// ran once, a process without its program where there is no other program.
fn short(full: &[&str], talking: &BTreeSet<NodeId>, roomy: bool) -> Vec<String> {
    let kinds: Vec<Kind<'_>> = full.iter().map(|name| kind(name)).collect();
    let talking: Vec<&Kind<'_>> = talking
        .iter()
        .map(|node| usize::from(node.0))
        .filter_map(|at| kinds.get(at))
        .collect();
    let addresses: Vec<SocketAddr> = talking.iter().filter_map(|kind| address(kind)).collect();
    let hosts: BTreeSet<String> = addresses.iter().map(|at| at.ip().to_string()).collect();
    let shared = shared_start(&hosts);
    let mut programs: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in &talking {
        if let Kind::Process(program, _) = kind {
            *programs.entry(program).or_default() += 1;
        }
    }
    let name = |(name, kind): (&&str, &Kind<'_>)| match *kind {
        Kind::Address(at) if hosts.len() == 1 && addresses.len() > 1 => format!(":{}", at.port()),
        Kind::Address(at) if hosts.len() == addresses.len() && hosts.len() > 1 => {
            let host = at.ip().to_string();
            if hosts.iter().all(|host| length(host) <= HOST_MAX) {
                host
            } else {
                behind(&host, shared)
            }
        }
        Kind::Address(at) if shared > 0 => {
            let host = behind(&at.ip().to_string(), shared);
            match at {
                SocketAddr::V4(_) => format!("{host}:{}", at.port()),
                SocketAddr::V6(_) => format!("[{host}]:{}", at.port()),
            }
        }
        Kind::Address(at) => ends_of(at, roomy),
        Kind::Process(program, pid) => match programs.get(program) {
            Some(1) => cut(program, SHORT_MAX),
            Some(_) if programs.len() == 1 => format!(".{pid}"),
            _ => cut(name, SHORT_MAX),
        },
        _ => cut(name, SHORT_MAX),
    };
    apart(full.iter().zip(&kinds).map(name).collect(), full)
}

/// `…12.156:49152`: the last bytes of an address, all of one that is short.
fn ends_of(address: SocketAddr, roomy: bool) -> String {
    let name = address.to_string();
    match address {
        SocketAddr::V4(at) if !roomy && length(&name) > HOST_MAX => {
            let [_, _, c, d] = at.ip().octets();
            format!("…{c}.{d}:{}", at.port())
        }
        SocketAddr::V4(_) => name,
        SocketAddr::V6(_) => cut(&name, HOST_MAX),
    }
}

fn address(kind: &Kind<'_>) -> Option<SocketAddr> {
    match kind {
        Kind::Address(address) => Some(*address),
        _ => None,
    }
}

/// How many bytes all these hosts begin with, up to a dot or colon; 0 where there is one alone.
fn shared_start(hosts: &BTreeSet<String>) -> usize {
    let (Some(first), true) = (hosts.first(), hosts.len() > 1) else {
        return 0;
    };
    let equal = |host: &String| {
        first
            .bytes()
            .zip(host.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let equal = hosts.iter().map(equal).min().unwrap_or(0);
    first
        .get(..equal)
        .unwrap_or_default()
        .rfind(['.', ':'])
        .map_or(0, |at| at + 1)
}

/// What is behind a host's first `shared` bytes; all of a host that does not begin so.
fn behind(host: &str, shared: usize) -> String {
    match host.get(shared..) {
        Some(rest) if shared > 0 => cut(&format!("…{rest}"), SHORT_MAX),
        _ => cut(host, SHORT_MAX),
    }
}

/// Names that became the same, or that would look the same, get back what differs between them; where
/// that is too long or cannot be written, a number.
fn apart(mut short: Vec<String>, full: &[&str]) -> Vec<String> {
    for attempt in 0..2 {
        let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, name) in short.iter().enumerate() {
            same.entry(looks(name)).or_default().push(place);
        }
        for places in same.into_values().filter(|places| places.len() > 1) {
            let names: Vec<&str> = places
                .iter()
                .filter_map(|&at| full.get(at).copied())
                .collect();
            let differing = differing(&names);
            let told: BTreeSet<String> = differing.iter().map(|name| looks(name)).collect();
            let fit = differing.iter().all(|name| length(name) <= LANE_MAX);
            for (&place, differs) in places.iter().zip(differing) {
                match short.get_mut(place) {
                    Some(name) if attempt > 0 => *name = format!("{name} #{place}"),
                    Some(name) if fit && told.len() == places.len() => *name = differs,
                    _ => {}
                }
            }
        }
    }
    short
}

/// Names without what all of them begin and end with.
fn differing(names: &[&str]) -> Vec<String> {
    let names: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let Some(first) = names.first() else {
        return Vec::new();
    };
    let least = names.iter().map(Vec::len).min().unwrap_or(0);
    let all = |same: &dyn Fn(&Vec<char>, usize) -> bool| {
        (0..least)
            .take_while(|&at| names.iter().all(|name| same(name, at)))
            .count()
    };
    let start = all(&|name, at| name.get(at) == first.get(at));
    let end =
        all(&|name, at| name.iter().rev().nth(at) == first.iter().rev().nth(at)).min(least - start);
    let sign = |left_out: usize| if left_out > 0 { "…" } else { "" };
    let name = |name: &Vec<char>| {
        let middle: String = name.iter().take(name.len() - end).skip(start).collect();
        format!("{}{middle}{}", sign(start), sign(end))
    };
    names.iter().map(name).collect()
}

/// A name as the faces of the inspector can write it: they have Latin, Greek and Cyrillic letters, and
/// one sign for all that they lack.
fn looks(name: &str) -> String {
    let known = |c: char| c < '\u{530}' || ('\u{2010}'..'\u{2070}').contains(&c);
    name.chars()
        .map(|c| if known(c) { c } else { '□' })
        .collect()
}

/// `godot3-se….9786`: the start of a name and its end, where ports and processes stand.
fn cut(name: &str, most: usize) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= most {
        return name.to_owned();
    }
    let start = (most - 1) / 2;
    let end = most - 1 - start;
    let (first, last) = (characters.iter().take(start), characters.iter());
    first
        .chain(&['…'])
        .chain(last.skip(characters.len() - end))
        .collect()
}

fn length(name: &str) -> usize {
    name.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expected: &[&str]) {
        let all = (0..names.len()).map(|place| NodeId(place as u16));
        assert_eq!(short(names, &all.collect(), false), expected);
    }

    #[test]
    fn words_stay_as_they_are() {
        check(&["HOST", "A", "B"], &["HOST", "A", "B"]);
    }

    #[test]
    fn ports_are_enough_on_one_host() {
        check(
            &["127.0.0.1:7000", "127.0.0.1:7001", "HOST"],
            &[":7000", ":7001", "HOST"],
        );
        check(&["[::1]:7000", "[::1]:7001"], &[":7000", ":7001"]);
    }

    #[test]
    fn hosts_are_enough_where_each_has_one_port() {
        check(&["10.0.0.1:9", "10.0.0.2:9"], &["10.0.0.1", "10.0.0.2"]);
        check(
            &["192.168.100.131:9", "81.2.69.142:8"],
            &["192.168.100.131", "81.2.69.142"],
        );
    }

    #[test]
    fn long_hosts_keep_their_ends() {
        check(
            &["[2001:db8:1:2:3:4:5:6]:9", "[2001:db8:1:2:3:4:5:77]:9"],
            &["…6", "…77"],
        );
    }

    #[test]
    fn nodes_that_share_hosts_and_ports_keep_what_differs_of_both() {
        check(
            &["10.0.0.1:9", "10.0.0.2:9", "10.0.0.1:8"],
            &["…1:9", "…2:9", "…1:8"],
        );
        check(
            &["[fe80::1]:9", "[fe80::2]:9", "[fe80::1]:8"],
            &["[…1]:9", "[…2]:9", "[…1]:8"],
        );
    }

    #[test]
    fn addresses_that_share_nothing_keep_their_last_bytes() {
        let names = [
            "192.168.12.156:42965",
            "128.116.89.113:63862",
            "192.168.12.156:46507",
        ];
        check(&names, &["…12.156:42965", "…89.113:63862", "…12.156:46507"]);
    }

    #[test]
    fn a_program_that_ran_once_needs_no_process() {
        check(
            &["ioq3ded.4711", "ioquake3.x86_64.4712"],
            &["ioq3ded", "ioquak…x86_64"],
        );
    }

    #[test]
    fn one_program_needs_no_name() {
        check(
            &["godot3-server.9786", "godot3-server.9818"],
            &[".9786", ".9818"],
        );
    }

    #[test]
    fn who_does_not_talk_does_not_lengthen_the_others() {
        let names = ["dash.4710", "many.4711", "many.4712"];
        let talking = BTreeSet::from([NodeId(1), NodeId(2)]);
        let short = short(&names, &talking, false);
        assert_eq!(short, ["dash.4710", ".4711", ".4712"]);
    }

    #[test]
    fn a_long_name_keeps_its_start_and_its_end() {
        let name = "[2001:db8:1111:2222:3333:4444:5555:6b7c]:7000";
        assert_eq!(lanes(&[name], &[]), ["[2001:db8:…:6b7c]:7000"]);
    }

    #[test]
    fn long_names_that_differ_in_the_middle_are_told_apart() {
        let names = [
            "the-server-of-the-red-team-in-the-hall",
            "the-server-of-the-blue-team-in-the-hall",
        ];
        let expected = ["…red…", "…blue…"];
        assert_eq!(lanes(&names, &[]), expected);
        check(&names, &expected);
    }

    #[test]
    fn names_that_the_faces_cannot_write_have_numbers() {
        check(
            &["游戏", "玩家", "游戏一"],
            &["游戏 #0", "玩家 #1", "游戏一"],
        );
        check(&["сервер", "клиент"], &["сервер", "клиент"]);
    }

    #[test]
    fn two_nodes_of_one_name_have_numbers() {
        check(&["A", "A"], &["A #0", "A #1"]);
    }

    #[test]
    fn a_lane_of_a_program_says_what_tells_its_processes_apart() {
        let names = ["doom.15512", "server.15510", "doom.15519"];
        let shown = lanes(&names, &[Some(2342), Some(2342), Some(2343)]);
        assert_eq!(shown, ["doom:2342", "server", "doom:2343"]);
        let shown = lanes(&names, &[Some(2342), None, Some(2342)]);
        assert_eq!(shown, ["doom.15512", "server", "doom.15519"]);
        assert_eq!(lanes(&["a.x", "b.7"], &[]), ["a.x", "b"]);
    }
}
