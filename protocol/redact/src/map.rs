//! What stands where an address, a port, a host name or a user name stood: the same in all reels.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use netreel_reel::Endpoint;
use siphasher::sip::SipHasher24;

use crate::rules::{RedactError, Redaction};
use crate::word::is_host;

/// What a session names that is mapped, before anybody knows to what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub addresses: BTreeSet<IpAddr>,
    pub ports: BTreeSet<u16>,
    pub hosts: BTreeSet<String>,
    /// Names of people's folders.
    pub users: BTreeSet<String>,
    pub nodes: BTreeSet<String>,
    /// Names of people and machines that are known by themselves, not only where they stand.
    pub people: BTreeSet<String>,
    pub machines: BTreeSet<String>,
    /// Paths that are removed.
    pub paths: BTreeSet<String>,
}

/// What became of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    pub addresses: BTreeMap<IpAddr, IpAddr>,
    pub ports: BTreeMap<u16, u16>,
    pub hosts: BTreeMap<String, String>,
    pub users: BTreeMap<String, String>,
    pub nodes: BTreeMap<String, String>,
    /// Names that are found wherever they stand as a word: of people, and of machines.
    pub people: BTreeMap<String, String>,
    pub machines: BTreeMap<String, String>,
    key: [u8; 16],
}

/// 198.18.0.0/15, kept for measurements (RFC 2544): no machine of the public net has one.
const BENCHMARK: (u32, u32) = (0xc612_0000, 1 << 17);
/// 233.252.0.0/24, the multicast addresses for examples (RFC 6676).
const MULTICAST: (u32, u32) = (0xe9fc_0000, 1 << 8);

/// The key that a text stands for.
pub fn key_of(text: &str) -> [u8; 16] {
    let map = Map {
        key: *b"netreel redact 1",
        ..Map::default()
    };
    map.token("key", text.as_bytes())
}

impl Map {
    /// Gives each thing that was found another one. Depends on the key and on what was found, not on
    /// the order in which it was.
    pub fn new(rules: &Redaction, found: &Found) -> Result<Map, RedactError> {
        let mut map = Map {
            key: rules.key,
            ..Map::default()
        };
        let mut taken = found.addresses.clone();
        for &address in &found.addresses {
            if let Some(new) = map.new_address(address, rules, &taken)? {
                taken.insert(new);
                map.addresses.insert(address, new);
            }
        }
        // An address that stands for another inside IPv6 goes the way of the other.
        for &address in &found.addresses {
            if let IpAddr::V6(v6) = address
                && let Some(v4) = v6.to_ipv4_mapped()
                && let Some(IpAddr::V4(new)) = map.addresses.get(&IpAddr::V4(v4)).copied()
            {
                map.addresses.insert(address, new.to_ipv6_mapped().into());
            }
        }
        if rules.ports {
            let mut taken = found.ports.clone();
            for &port in found.ports.iter().filter(|&&port| port != 0) {
                let new = map.new_port(port, &taken)?;
                taken.insert(new);
                map.ports.insert(port, new);
            }
        }
        // A node is called what it is called, also where netreel writes its machine's name.
        let is_node = |host: &String| !is_host(host) && found.nodes.contains(host);
        if !rules.keep_names {
            let mut hosts = &found.hosts | &found.machines;
            hosts.retain(|host| !is_node(host));
            map.hosts = map.numbered(&hosts, |number| format!("host-{number}.example"));
            let users = &found.users | &found.people;
            map.users = map.numbered(&users, |number| format!("user-{number}"));
            let is_word = |name: &String| is_telling(name) && !found.nodes.contains(name);
            let of = |names: &BTreeMap<String, String>, known: &dyn Fn(&String) -> bool| {
                let names = names
                    .iter()
                    .filter(|(name, _)| is_word(name) && known(name))
                    .map(|(name, new)| (name.clone(), new.clone()));
                names.collect::<BTreeMap<_, _>>()
            };
            map.people = of(&map.users, &|_| true);
            map.machines = of(&map.hosts, &|name| found.machines.contains(name));
        }
        if rules.nodes {
            map.nodes = map.numbered(&found.nodes, |number| format!("node-{number}"));
        }
        Ok(map)
    }

    /// What an endpoint becomes.
    pub fn endpoint(&self, endpoint: Endpoint) -> Endpoint {
        let (ip, port) = (endpoint.ip(), endpoint.port());
        let ip = self.addresses.get(&ip).copied().unwrap_or(ip);
        let port = self.ports.get(&port).copied().unwrap_or(port);
        match (ip, endpoint) {
            (IpAddr::V6(ip), SocketAddr::V6(old)) => {
                SocketAddrV6::new(ip, port, old.flowinfo(), old.scope_id()).into()
            }
            (ip, _) => SocketAddr::new(ip, port),
        }
    }

    /// A number that follows from the key and from these bytes alone.
    pub fn hash(&self, what: &str, bytes: &[u8], attempt: u32) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(what.as_bytes());
        hasher.write(&[0]);
        hasher.write(&attempt.to_le_bytes());
        hasher.write(bytes);
        hasher.finish()
    }

    /// The same, of any length.
    pub fn token(&self, what: &str, bytes: &[u8]) -> [u8; 16] {
        let mut token = [0; 16];
        for (attempt, part) in (0..).zip(token.chunks_exact_mut(8)) {
            part.copy_from_slice(&self.hash(what, bytes, attempt).to_le_bytes());
        }
        token
    }

    /// Names by number, in an order that the key alone knows.
    fn numbered(
        &self,
        names: &BTreeSet<String>,
        name: impl Fn(u32) -> String,
    ) -> BTreeMap<String, String> {
        let mut order: Vec<&String> = names.iter().collect();
        order.sort_by_key(|name| (self.hash("name", name.as_bytes(), 0), *name));
        // A copy of a copy names things that were numbered before.
        let mut free = (1..).map(name).filter(|new| !names.contains(new));
        let numbered = order
            .into_iter()
            .filter_map(|old| Some((old.clone(), free.next()?)));
        numbered.collect()
    }

    fn new_address(
        &self,
        address: IpAddr,
        rules: &Redaction,
        taken: &BTreeSet<IpAddr>,
    ) -> Result<Option<IpAddr>, RedactError> {
        if !rules.addresses || says_nothing(address) || (is_loopback(address) && !rules.loopback) {
            return Ok(None);
        }
        let (octets, space) = match address {
            IpAddr::V4(v4) if v4.is_multicast() => (v4.octets().to_vec(), MULTICAST.1.into()),
            IpAddr::V4(v4) => (v4.octets().to_vec(), BENCHMARK.1.into()),
            IpAddr::V6(v6) => (v6.octets().to_vec(), 1 << 32),
        };
        let is_end = |place: &u32| address.is_ipv4() && [0, BENCHMARK.1 - 1].contains(place);
        let new = |place| match address {
            IpAddr::V4(v4) if v4.is_multicast() => Ipv4Addr::from(MULTICAST.0 | place).into(),
            IpAddr::V4(_) => Ipv4Addr::from(BENCHMARK.0 | place).into(),
            IpAddr::V6(v6) => documented(v6, place).into(),
        };
        let places = self.places("address", &octets, space);
        let mut news = places.filter(|place| !is_end(place)).map(new);
        let new = news.find(|new| !taken.contains(new));
        let none = RedactError::TooManyAddresses { most: space };
        new.map(Some).ok_or(none)
    }

    fn new_port(&self, port: u16, taken: &BTreeSet<u16>) -> Result<u16, RedactError> {
        let space = u64::from(u16::MAX) - 1024 + 1;
        let places = self.places("port", &port.to_le_bytes(), space);
        let mut ports = places.map(|place| 1024 + place as u16);
        let new = ports.find(|port| !taken.contains(port));
        new.ok_or(RedactError::TooManyPorts)
    }

    /// Places of a space, each once, from one on that the key knows; no more than there are addresses.
    fn places(&self, what: &str, old: &[u8], space: u64) -> impl Iterator<Item = u32> + use<> {
        let first = self.hash(what, old, 0);
        let steps = 0..space.min(BENCHMARK.1.into());
        steps.map(move |step| (first.wrapping_add(step) % space) as u32)
    }
}

/// 2001:db8::/32, kept for documentation (RFC 3849); a group, ff0x::db8:0:0/96 (RFC 6676).
fn documented(old: Ipv6Addr, place: u32) -> Ipv6Addr {
    let [high, low] = [(place >> 16) as u16, place as u16];
    match old.segments() {
        [group @ 0xff00..=0xffff, ..] => {
            Ipv6Addr::new(0xff00 | group & 0xf, 0, 0, 0, 0, 0xdb8, high, low)
        }
        _ => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, high, low),
    }
}

/// The addresses that name no machine.
fn says_nothing(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_unspecified() || v4.is_broadcast(),
        IpAddr::V6(v6) => {
            let mapped = v6.to_ipv4_mapped().map(IpAddr::V4);
            v6.is_unspecified() || mapped.is_some_and(says_nothing)
        }
    }
}

pub(crate) fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback(),
        IpAddr::V6(v6) => {
            v6.is_loopback() || v6.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
        }
    }
}

/// Users that every machine may have, and names of machines that say nothing of one: any word may be
/// one of them.
const GENERAL: &[&str] = &[
    "admin",
    "administrator",
    "alpine",
    "android",
    "app",
    "arch",
    "build",
    "builder",
    "centos",
    "ci",
    "client",
    "container",
    "daemon",
    "debian",
    "default",
    "demo",
    "dev",
    "developer",
    "docker",
    "ec2-user",
    "fedora",
    "game",
    "gamer",
    "games",
    "guest",
    "home",
    "host",
    "jenkins",
    "kali",
    "linux",
    "local",
    "localdomain",
    "localhost",
    "mint",
    "nobody",
    "none",
    "player",
    "public",
    "python",
    "raspberrypi",
    "root",
    "runner",
    "server",
    "shared",
    "steam",
    "system",
    "test",
    "tester",
    "ubuntu",
    "unknown",
    "user",
    "vagrant",
    "workspace",
    "www-data",
];

/// Shorter names are parts of anything.
const NAME_MIN: usize = 3;

/// Whether a name tells of somebody wherever it stands.
fn is_telling(name: &str) -> bool {
    let is_name = name.len() >= NAME_MIN && name.contains(|c: char| c.is_alphabetic());
    is_name && !GENERAL.contains(&name.to_ascii_lowercase().as_str())
}

/// Folders that every machine has.
const OF_SYSTEM: &[&str] = &[
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libexec", "proc", "run", "sbin", "sys",
    "tmp", "usr", "var",
];

impl Found {
    /// A path that is removed, and the folders that it lies in.
    pub fn path(&mut self, path: &str) {
        let first = path.split('/').find(|part| !part.is_empty());
        if !path.starts_with('/') || first.is_none_or(|first| OF_SYSTEM.contains(&first)) {
            return;
        }
        let mut path = path.trim_end_matches('/');
        // A folder at the root may be any word.
        while path.matches('/').count() >= 2 && self.paths.insert(path.to_owned()) {
            path = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        }
    }

    /// A variable of the environment.
    pub fn variable(&mut self, name: &str, value: &str) {
        let value = value.trim();
        let is_name = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '/');
        match name {
            "USER" | "LOGNAME" | "USERNAME" | "SUDO_USER" | "DOAS_USER" if is_name => {
                self.people.insert(value.to_owned());
            }
            "HOSTNAME" | "HOST" | "COMPUTERNAME" if is_name => {
                self.machines.insert(value.to_owned());
                // Without its domain it is named as well.
                let (short, _) = value.split_once('.').unwrap_or((value, ""));
                self.machines.insert(short.to_owned());
            }
            _ => {}
        }
    }

    pub fn endpoint(&mut self, endpoint: Endpoint) {
        self.address(endpoint.ip());
        self.ports.insert(endpoint.port());
    }

    pub fn address(&mut self, address: IpAddr) {
        if let IpAddr::V6(v6) = address
            && let Some(v4) = v6.to_ipv4_mapped()
        {
            self.addresses.insert(v4.into());
        }
        self.addresses.insert(address);
    }
}
