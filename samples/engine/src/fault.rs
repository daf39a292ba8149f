//! Faults that a test can plant in one node's layer, to see whether a recording shows them.

use serde::{Deserialize, Serialize};

/// Something that a layer does wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Its acks name all packets that they can name, whatever arrived.
    AckUnreceived,
    /// It takes one packet in eight without noting for its acks that it came.
    ForgetAck,
    /// It does what a reliable message says twice.
    DeliverTwice,
    /// It does not do what a CREATE says, in one packet of three.
    NeverDeliver,
    /// It never sends again what was lost of its reliable stream.
    NeverResend,
    /// It sends again in each tick all that is not acked.
    ResendEveryTick,
    /// It gives one number in sixteen to two packets.
    SequenceTwice,
    /// It tells the last of its peers of no CREATE.
    ForgetCreate,
    /// It tells the last of its peers of no DESTROY.
    ForgetDestroy,
    /// Made the owner of an object, it tells nobody (mode `owner`); as HOST, it does not tell the new
    /// owner (mode `host`).
    ForgetAnnounce,
    /// It does not remember that it destroyed an object.
    ForgetTombstones,
    /// As HOST, it gives an object away without raising its migration counter.
    CounterNotRaised,
    /// It sends UPDATEs of objects whose CREATE is not acked.
    UpdateBeforeCreate,
    /// It takes an UPDATE that was lost for one that arrived, and does not send its values again.
    ForgetLostUpdate,
    /// It does what an UPDATE says and does not tell its game, in one packet of eight.
    SwallowUpdates,
    /// Its acks name packets that it has yet to receive, or that were never sent.
    AckAhead,
    /// It acks nothing.
    NeverAck,
    /// It does not take acks of reliable messages to heart.
    IgnoreAcks,
    /// In every second second it acks only what came up to a number that 32 divides.
    HoldAcks,
    /// It sends again what was lost two seconds later.
    ResendLate,
    /// Every 64 packets it counts the last twenty once more.
    SequenceBack,
    /// It ends one packet in sixteen a byte late.
    TailByte,
    /// It ends one packet in sixteen a byte early.
    CutPacket,
    /// It tells of each CREATE twice.
    CreateTwice,
    /// Made the owner of an object, it tells so twice (mode `owner`).
    MigrateTwice,
    /// As a server, it passes each message on twice.
    RelayTwice,
    /// As a server, it passes no CREATE on to the last of its peers.
    RelayNoCreate,
    /// As a server, it passes no DESTROY on to the last of its peers.
    RelayNoDestroy,
    /// As a server, it passes no MIGRATE on to the last of its peers.
    RelayNoMigrate,
    /// It tells the last of its peers of no first field.
    ForgetField,
    /// It tells the last of its peers that HOST owns what it creates.
    MisnameOwner,
    /// Made the owner of an object, it tells the last of its peers that HOST is (mode `owner`).
    MisnameHeir,
    /// It does nothing for a second, from its 60th tick on.
    Stall,
    /// Its acks name numbers that nobody has used.
    AckUnsent,
    /// As HOST, it gives an object away at a lower counter than it has heard, where it has heard one.
    CounterFalls,
    /// It tells of an object's last values after its DESTROY.
    UpdateAfterDestroy,
    /// It never sends one in sixteen messages of its reliable stream.
    SkipPlace,
    /// It takes what it should ask HOST for (mode `owner`).
    TakeUnasked,
    /// It counts the fragments of a split message from 1.
    FragmentIndexOff,
    /// It sends again what is not acked after 20 ms, however long a round trip takes.
    ResendTimerShort,
    /// It compares packet numbers by their lowest seven bits: its acks stand still where these begin
    /// again from 0.
    AcksStand,
    /// It tells of each DESTROY twice.
    DestroyTwice,
    /// It sends each UPDATE twice.
    UpdateTwice,
    /// In one packet of eight it sends an UPDATE of an object that another one owns.
    UpdateUnowned,
    /// It says of one UPDATE in eight packets that the last of its peers said it.
    OriginWrong,
    /// It takes no ack of a packet that it has judged lost.
    IgnoreLateAcks,
    /// It sends again what was lost under the number of the packet that was lost.
    ResendOldNumber,
    /// It says of a packet without a message that it carries one.
    EmptyCount,
    /// It sends nothing where it has nothing to say and owes no ack.
    NoKeepAlive,
    /// It waits a thirtieth of the time before it takes a silent peer for gone.
    TimeOutShort,
    /// It acks a reliable message that comes more than two places early, and drops it.
    DropEarly,
    /// The numbers of its reliable stream begin again from 0 after the sixteenth.
    StreamWrapsEarly,
    /// It drops a reliable message that it should send while four or more are not acked.
    DropAtFullQueue,
    /// It does what a reliable message says as soon as it comes, whatever is missing before it.
    DeliverAsTheyCome,
    /// It drops packets that are as long as they may be, or nearly.
    RefuseFullPackets,
    /// After a round trip longer than the mean it sends UPDATEs in a quarter of the packets that it sent
    /// them in before, and in no more of them ever again.
    ThrottleFalls,
    /// It gives the id of an object that it destroyed to the next that it creates.
    IdAgain,
    /// It tells of a CREATE those alone who have said their names by then.
    CreateToJoined,
    /// It tells the last of its peers of one CREATE in two alone, and of the other objects by UPDATEs.
    HiddenUpdated,
    /// It takes the ack of an UPDATE for one of the values of now, and waits for it before the next.
    AckOfNewest,
    /// It sends each value once, and takes the ack of an UPDATE for one of all values sent before it.
    AckOfAllBefore,
    /// Where the last field of an object changes, it tells of the field before it.
    WrongDirtyField,
    /// It sends UPDATEs of no more than the first eight objects that it looks after.
    FirstObjectsOnly,
    /// As a server, it passes each message on to the one who said it as well.
    RelayBack,
    /// It reads the negative numbers of an UPDATE two steps too high.
    NegativesOff,
    /// It writes what a CREATE says anew when it sends it again, and the object has moved since.
    RewriteResend,
}
