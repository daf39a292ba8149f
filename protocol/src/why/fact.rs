//! What a step can state.

use crate::history::{Ambiguity, Effect};
use crate::session::{MessageId, NodeId, PacketId, SessionTime};

/// From whom to whom.
pub type Link = (NodeId, NodeId);

/// Makes the facts, each behind its word.
macro_rules! facts {
    ($(#[$of:meta])* pub enum Fact {
        $($(#[$says:meta])* $word:literal $fact:ident { $($field:tt)* },)*
    }) => {
        $(#[$of])*
        pub enum Fact { $($(#[$says])* $fact { $($field)* },)* }

        impl Fact {
            /// The word for it: `late`, `held`, `would`.
            pub fn kind(&self) -> &'static str {
                match self { $(Fact::$fact { .. } => $word,)* }
            }
        }
    };
}

facts! {
    /// Something that was so. Deliveries and findings are places in
    /// [`History::deliveries`](crate::history::History::deliveries) and
    /// [`History::findings`](crate::history::History::findings); lengths of time are in ns.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Fact {
        /// A rule found something.
        "found" Found {
            /// Which.
            finding: u32,
        },
        /// A piece of a finding's proof.
        "evidence" Evidence {
            /// Which finding.
            finding: u32,
            /// Which piece.
            piece: u32,
        },
        /// A packet was sent, or else seen.
        "sent" Sent {
            /// Which.
            packet: PacketId,
        },
        /// A packet arrived as others of its link do.
        "in-time" InTime {
            /// Which.
            packet: PacketId,
            /// How long it took; `None` where its send was not recorded.
            took_ns: Option<i64>,
        },
        /// A packet took far longer than others of its link.
        "late" Late {
            /// Which.
            packet: PacketId,
            /// How long it took.
            took_ns: i64,
            /// How long the fastest of the link took.
            fastest_ns: i64,
        },
        /// What was sent on a link for a while arrived together.
        "held" Held {
            /// From whom to whom.
            link: Link,
            /// The first and the last packet that arrived then.
            packets: (PacketId, PacketId),
            /// How many did.
            count: u32,
            /// Of how many that were sent from the first to the last of them.
            of: u32,
            /// When the first and the last of them were sent.
            sent: (SessionTime, SessionTime),
            /// When they arrived, at the latest.
            at: SessionTime,
            /// How many packets of others the receiver received while they were on their way.
            others: u32,
        },
        /// The receiver of a packet asked its socket for none for a while, and so did not read it.
        "not-read" NotRead {
            /// Which packet.
            packet: PacketId,
            /// When the receiver had asked last before, and found nothing.
            since: SessionTime,
            /// When it asked again.
            until: SessionTime,
        },
        /// A proxy did something to a packet.
        "fault" Fault {
            /// Which packet.
            packet: PacketId,
            /// The place in its [`faults`](crate::session::Packet::faults).
            fault: u32,
        },
        /// A packet was lost.
        "lost" Lost {
            /// Which.
            packet: PacketId,
            /// The next of the link that arrived.
            next: Option<PacketId>,
        },
        /// The send call failed.
        "send-failed" SendFailed {
            /// Which packet.
            packet: PacketId,
        },
        /// It lay in the receiver's buffer when that closed its socket.
        "unread" Unread {
            /// Which packet.
            packet: PacketId,
        },
        /// Nobody can say what became of a packet.
        "fate-unknown" FateUnknown {
            /// Which packet.
            packet: PacketId,
            /// Why.
            why: Unseen,
        },
        /// A message arrived: the copy that came first.
        "reached" Reached {
            /// The copy that was sent first.
            message: MessageId,
            /// The packet that brought it.
            packet: PacketId,
            /// How often it had been sent by then.
            sent: u32,
        },
        /// No copy of a message arrived.
        "never-reached" NeverReached {
            /// The copy that was sent first.
            message: MessageId,
            /// How often it was sent.
            sent: u32,
        },
        /// A message was sent again.
        "sent-again" SentAgain {
            /// The later copy.
            copy: MessageId,
            /// The one before it.
            before: MessageId,
            /// How long after it.
            after_ns: i64,
        },
        /// Its number does not tell a message apart from another one.
        "ambiguous" Ambiguous {
            /// Which message.
            message: MessageId,
            /// The one that it may be taken for.
            other: MessageId,
            /// Why.
            why: Ambiguity,
        },
        /// More copies than are told.
        "more-copies" MoreCopies {
            /// The copy that was sent first.
            message: MessageId,
            /// How many more there are.
            count: u32,
        },
        /// The receiver had said that it lacks a packet.
        "nacked" Nacked {
            /// Which.
            packet: PacketId,
            /// The packet that says so.
            nack: PacketId,
            /// When the sender received that.
            at: SessionTime,
        },
        /// The sender had heard that a later packet had arrived, and not of this one.
        "ack-gap" AckGap {
            /// The packet that was passed over.
            packet: PacketId,
            /// The later one.
            later: PacketId,
            /// When the sender learnt of that.
            at: SessionTime,
            /// How long after that it sent again.
            after_ns: i64,
        },
        /// The sender had heard of nothing that it had sent since.
        "silence" Silence {
            /// The packet of which no ack had come.
            packet: PacketId,
            /// How long the sender had waited.
            after_ns: i64,
        },
        /// It was sent again before an answer could have come.
        "eager" Eager {
            /// The packet of which no ack had come.
            packet: PacketId,
            /// How long the sender had waited.
            after_ns: i64,
            /// The shortest time after which the sender knew of an arrival, of the link's packets around it.
            round_ns: i64,
        },
        /// Acks of a packet that had arrived were lost or under way when it was sent again.
        "acks-away" AcksAway {
            /// The packet that had arrived.
            packet: PacketId,
            /// How many packets its receiver had sent back since, and how many of them were lost.
            answers: (u32, u32),
        },
        /// The sender had learnt that a packet had arrived.
        "acked" Acked {
            /// Which.
            packet: PacketId,
            /// When.
            at: SessionTime,
        },
        /// A reliable message was handed over late, because what carried it first was lost, or what carried
        /// one before it in its stream.
        "handed-over-late" HandedOverLate {
            /// Its delivery.
            delivery: u32,
            /// How long after it was first sent.
            late_ns: i64,
            /// What it waited for, where it was not lost itself.
            behind: Option<MessageId>,
            /// The packet that was lost first,
            lost: PacketId,
            /// and how many copies after it.
            more: u32,
            /// The packet that brought it.
            again: PacketId,
            /// How long after the copy before it that was sent.
            after_ns: i64,
            /// What its sender had heard by then.
            cause: Cause,
        },
        /// A message arrived and waited behind another one of its stream.
        "waited" Waited {
            /// Its delivery.
            delivery: u32,
            /// The copy that arrived first.
            arrived: PacketId,
            /// When.
            at: SessionTime,
            /// What it waited for.
            behind: MessageId,
            /// The packet that brought that.
            closed_by: PacketId,
            /// How long it waited.
            waited_ns: i64,
        },
        /// A message arrived, and waits for one of its stream that never did.
        "still-waits" StillWaits {
            /// The copy of it that was sent first.
            message: MessageId,
            /// What it waits for; of that as well.
            behind: MessageId,
        },
        /// What a node did with a message, or did itself.
        "did" Did {
            /// The delivery.
            delivery: u32,
        },
        /// What a node lacked was delivered to it later.
        "later" Later {
            /// The delivery that lacked it.
            delivery: u32,
            /// The delivery that came later.
            later: u32,
        },
        /// A message about the object from who gets it came before.
        "asked" Asked {
            /// The message.
            message: MessageId,
            /// The packet that carried it.
            packet: PacketId,
            /// When it came.
            at: SessionTime,
            /// How long before.
            before_ns: i64,
        },
        /// A rule of the wire.
        "rule" Rule {
            /// Who goes by it.
            node: NodeId,
            /// Which.
            rule: RuleWord,
        },
        /// What a node believed of an object at a moment.
        "believed" Believed {
            /// Who.
            node: NodeId,
            /// Of which object.
            object: u64,
            /// When.
            at: SessionTime,
        },
        /// Nothing that would tell a node of an object was delivered or is under way.
        "never-told" NeverTold {
            /// Who.
            node: NodeId,
            /// Of which object.
            object: u64,
        },
        /// What a node would have done with a message, had one come before another.
        "would" Would {
            /// The delivery of which it would have done something else.
            delivery: u32,
            /// The delivery that would have come first; in truth it came later.
            first: u32,
            /// The one before which it would have come.
            second: u32,
            /// What the node would have done.
            effect: Effect,
        },
        /// The wire does not explain a packet.
        "unfit" Unfit {
            /// Which.
            packet: PacketId,
        },
        /// A stretch that a reel does not hold.
        "hole" Hole {
            /// Whose.
            node: NodeId,
            /// The place in [`Node::holes`](crate::session::Node::holes).
            hole: u32,
        },
        /// A reel ends before its recording was closed.
        "cut-short" CutShort {
            /// Whose.
            node: NodeId,
        },
        /// How far clocks are known.
        "clocks" Clocks {
            /// Between whom.
            link: Link,
        },
        /// The wire declares no rules for what a node does.
        "no-rules" NoRules {
            /// Who.
            node: NodeId,
        },
        /// A packet is bound to another by nothing that a reel holds.
        "nothing" Nothing {
            /// What is not known.
            about: NotKnown,
        },
    }
}

/// Why nobody can say what became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// The receiver has no reel.
    NoReel,
    /// The receiver's reel has a hole, or ends too early.
    TooLittle,
    /// One capture saw the packet, and it stands for both ends.
    OnlySeen,
}

/// What the reels do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKnown {
    /// Why a node's program did what it did.
    Program(NodeId),
    /// Whether the packet is one of those that the node's kernel dropped.
    Kernel(NodeId),
    /// What the link did to a packet.
    OnTheWay(Link),
    /// What a sender had heard of its packets.
    Acks(Link),
    /// Why the reel lacks what it lacks.
    Reel(NodeId),
    /// Which of the wire and the packet is wrong.
    Wire,
    /// Which clock is wrong.
    Clock,
}

/// A rule of a `rules` block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names of the fields of `Rules`
pub enum RuleWord {
    UnknownMigrate,
    UnknownUpdate,
    UnknownDestroy,
    Create,
    Stale,
    UpdateFrom,
    OlderUpdate,
}

named! {
    /// What the sender of a copy had heard of the one before. Each word is that of the step in `why --json`:
    /// the one that [`Fact`] has for it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Cause {
        /// That the receiver lacked it.
        "nacked" Nacked,
        /// That a later packet had arrived, and nothing of this one.
        "ack-gap" AckGap,
        /// Nothing of it and of what came later: a time-out, as far as the packets tell.
        "silence" Silence,
        /// Nothing yet: no answer could have come.
        "eager" Eager,
        /// That it had arrived.
        "acked" Acked,
        /// Acks that nobody can read, or what no reel tells.
        "unknown" Unknown,
    }
}

impl Cause {
    pub(super) fn of(fact: &Fact) -> Cause {
        match fact {
            Fact::Nacked { .. } => Cause::Nacked,
            Fact::AckGap { .. } => Cause::AckGap,
            Fact::Silence { .. } => Cause::Silence,
            Fact::Eager { .. } => Cause::Eager,
            Fact::Acked { .. } => Cause::Acked,
            _ => Cause::Unknown,
        }
    }
}
