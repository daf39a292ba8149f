//! The rules that say what went wrong. Each has its own file.

mod ack_of_unreceived;
mod ack_of_unsent;
mod address_changed;
mod answered_from_elsewhere;
mod belief_differs;
mod belief_differs_values;
mod case;
mod checksums_differ;
mod clock_disagreement;
mod clock_set;
mod connection_restarted;
mod content;
mod copies;
mod copies_differ;
mod counter_falls;
mod derived_field_wrong;
mod destroy_untold;
mod difference_lasts;
mod duplicate_sequence;
mod fragments_never_join;
mod given;
mod head_of_line_wait;
mod incomplete_reel;
mod input_late;
mod loss_pattern;
mod loss_tests;
mod migrate_before_create;
mod migrate_not_from_host;
mod nack_of_received;
mod never_acked;
mod nobody_owns;
mod number_space_exhausted;
mod objects_differ_at_rest;
mod old_connection;
mod origin_wrong;
mod prelude;
mod reliable_not_delivered;
mod reliable_stuck;
mod resend_storm;
mod rollback_deep;
mod rtt_step;
mod silent_link;
mod stale_message_ignored;
mod stream_gap;
mod stuck;
mod tick_drift;
mod tick_stall;
mod together;
mod told_twice;
mod told_twice_rpc;
mod two_owners;
mod undecodable_packet;
mod update_after_destroy;
mod update_before_create;
mod update_twice;
mod update_unowned;
mod values_differ;
mod words;
mod zombie_object;

pub(super) use case::{Case, Found};
pub(super) use content::says_the_same;
pub(crate) use words::{Told, came, sent, told, word};

use std::collections::BTreeSet;

use netreel_system::Cancel;

use super::{Finding, Level, Standing};
use crate::session::{PacketId, Session, parallel};

pub(super) const ADDRESS_CHANGED: &str = Rule::AddressChanged.id();
pub(super) const LOSS_PATTERN: &str = Rule::LossPattern.id();

/// What a rule finds.
type Ask = fn(&Case<'_>) -> Vec<Found>;

/// How a rule is asked; none that is asked last.
macro_rules! asked {
    ($file:ident) => {
        Some($file::find)
    };
    ($file:ident last) => {
        None
    };
}

/// Makes the rules of a list: the file of each, its name, and its id. Those that are asked when all others
/// have been say `last`: see [`all`].
macro_rules! rules {
    ($($file:ident $name:ident $id:literal $($last:ident)?;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {$(
            #[doc = concat!("The rule of `", stringify!($file), ".rs`, which says what it finds.")]
            $name,
        )*}

        const ALL: [Rule; RULES.len()] = [$(Rule::$name,)*];

        /// The ids of all rules.
        pub const RULES: [&str; [$($id),*].len()] = [$($id,)*];

        const ALONE: [Option<Ask>; RULES.len()] = [$(asked!($file $($last)?),)*];
    };
}

impl Rule {
    /// The rule that has an id; `None` for a team's own, which is asked beside those here.
    pub fn named(id: &str) -> Option<Rule> {
        let place = RULES.iter().position(|it| *it == id)?;
        ALL.get(place).copied()
    }

    const fn id(self) -> &'static str {
        RULES[self as usize]
    }

    /// Whether it finds that a packet does not fit the wire.
    pub fn is_unfit(self) -> bool {
        matches!(self, Rule::UndecodablePacket | Rule::DerivedFieldWrong)
    }

    /// Things that it found.
    fn found(self, mut found: Vec<Found>) -> Vec<Found> {
        found.iter_mut().for_each(|it| it.finding.rule = self.id());
        found
    }
}

rules! {
    ack_of_unreceived AckOfUnreceived "ack-of-unreceived";
    ack_of_unsent AckOfUnsent "ack-of-unsent";
    address_changed AddressChanged "address-changed";
    answered_from_elsewhere AnsweredFromElsewhere "answered-from-elsewhere";
    belief_differs BeliefDiffers "belief-differs";
    checksums_differ ChecksumsDiffer "checksums-differ";
    clock_disagreement ClockDisagreement "clock-disagreement";
    clock_set ClockSet "clock-set";
    connection_restarted ConnectionRestarted "connection-restarted";
    copies_differ CopiesDiffer "copies-differ";
    counter_falls CounterFalls "counter-falls";
    derived_field_wrong DerivedFieldWrong "derived-field-wrong";
    destroy_untold DestroyUntold "destroy-untold";
    difference_lasts DifferenceLasts "difference-lasts" last;
    duplicate_sequence DuplicateSequence "duplicate-sequence";
    fragments_never_join FragmentsNeverJoin "fragments-never-join";
    head_of_line_wait HeadOfLineWait "head-of-line-wait";
    incomplete_reel IncompleteReel "incomplete-reel";
    input_late InputLate "input-late";
    loss_pattern LossPattern "loss-pattern";
    migrate_before_create MigrateBeforeCreate "migrate-before-create";
    migrate_not_from_host MigrateNotFromHost "migrate-not-from-host";
    nack_of_received NackOfReceived "nack-of-received";
    never_acked NeverAcked "never-acked";
    nobody_owns NobodyOwns "nobody-owns" last;
    number_space_exhausted NumberSpaceExhausted "number-space-exhausted";
    objects_differ_at_rest ObjectsDifferAtRest "objects-differ-at-rest" last;
    old_connection OldConnection "old-connection";
    origin_wrong OriginWrong "origin-wrong";
    reliable_not_delivered ReliableNotDelivered "reliable-not-delivered";
    reliable_stuck ReliableStuck "reliable-stuck";
    resend_storm ResendStorm "resend-storm";
    rollback_deep RollbackDeep "rollback-deep";
    rtt_step RttStep "rtt-step";
    silent_link SilentLink "silent-link";
    stale_message_ignored StaleMessageIgnored "stale-message-ignored";
    stream_gap StreamGap "stream-gap";
    tick_drift TickDrift "tick-drift";
    tick_stall TickStall "tick-stall";
    told_twice ToldTwice "told-twice";
    two_owners TwoOwners "two-owners";
    undecodable_packet UndecodablePacket "undecodable-packet";
    update_after_destroy UpdateAfterDestroy "update-after-destroy";
    update_before_create UpdateBeforeCreate "update-before-create";
    update_twice UpdateTwice "update-twice";
    update_unowned UpdateUnowned "update-unowned";
    values_differ ValuesDiffer "values-differ" last;
    zombie_object ZombieObject "zombie-object";
}

/// What all rules come to.
pub(super) struct All {
    /// Ordered by time, then node, then rule.
    pub found: Vec<Found>,
    /// See [`History::standing`](super::History::standing).
    pub standing: Vec<Standing>,
    /// See [`History::unknown_values`](super::History::unknown_values).
    pub unknown_values: Option<Standing>,
}

/// Asks all rules, as long as they are wanted.
pub(super) fn all(case: &Case<'_>, cancel: &Cancel) -> All {
    let session = case.session;
    let alone = ALL.into_iter().zip(ALONE);
    let alone = alone.filter_map(|(rule, ask)| Some((rule, ask?)));
    let found = parallel::map(alone.collect(), session.workers(), |(rule, ask)| {
        if cancel.goes_on() {
            rule.found(ask(case))
        } else {
            Vec::new()
        }
    });
    let mut all: Vec<Found> = found.into_iter().flatten().collect();
    let explained = explained(&all);
    let (found, mut told) = objects_differ_at_rest::find(case, &explained);
    all.extend(Rule::ObjectsDifferAtRest.found(found));
    all.extend(Rule::NobodyOwns.found(nobody_owns::find(case, &explained)));
    let (found, differ) = values_differ::find(case, &explained);
    all.extend(Rule::ValuesDiffer.found(found));
    told.extend(differ);
    let lasting = difference_lasts::find(case, &explained, &told);
    all.extend(Rule::DifferenceLasts.found(lasting.found));
    for found in &mut all {
        doubt(session, &mut found.finding);
    }
    let mut all = together::together(all);
    for Found { finding, .. } in &mut all {
        if !finding.each.is_empty() {
            doubt(session, finding);
        }
        at_the_wire(session, finding);
    }
    all.sort_by_key(|Found { finding, .. }| {
        (finding.time, finding.node, finding.rule, finding.object())
    });
    All {
        found: all,
        standing: lasting.standing,
        unknown_values: lasting.unknown,
    }
}

/// The objects about which nodes disagree because of what other rules found.
fn explained(all: &[Found]) -> BTreeSet<u64> {
    let rules = [
        Rule::MigrateBeforeCreate.id(),
        Rule::ZombieObject.id(),
        Rule::TwoOwners.id(),
    ];
    let findings = all.iter().map(|found| &found.finding);
    let telling = findings.filter(|it| it.level > Level::Info && rules.contains(&it.rule));
    telling.flat_map(|it| it.objects.iter().copied()).collect()
}

/// What a node made of its messages rests on its having read them, which a capture cannot tell.
fn at_the_wire(session: &Session, finding: &mut Finding) {
    let node = session.node(finding.node);
    let Some(node) = node.filter(|node| node.captured && !finding.objects.is_empty()) else {
        return;
    };
    let words = format!(
        "; {} is known from a packet capture: that it read what came by is assumed",
        node.name
    );
    finding.sentence.push_str(&words);
}

/// What is said of objects rests on what the wire says of packets: where it does not fit one of
/// them, the finding may be of the wire alone.
fn doubt(session: &Session, finding: &mut Finding) {
    let unfit: BTreeSet<PacketId> = finding
        .proof()
        .map(|piece| piece.packet)
        .filter(|&id| session.said(id).is_some_and(|said| said.diagnostics > 0))
        .collect();
    let Some(first) = unfit.first() else { return };
    if finding.objects.is_empty() {
        return;
    }
    finding.level = finding.level.min(Level::Warning);
    let words = match unfit.len() {
        1 => format!("; packet {first} does not fit the wire"),
        count => format!(
            "; packet {first} and {} more do not fit the wire",
            count - 1
        ),
    };
    finding.sentence.push_str(&words);
}
