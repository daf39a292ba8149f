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
pub(super) use loss_pattern::RULE as LOSS_PATTERN;
pub(crate) use words::{Told, came, sent, told, word};

use std::collections::BTreeSet;

use netreel_system::Cancel;

use super::{Finding, Level, Standing};
use crate::session::{PacketId, Session, parallel};

pub(super) const ADDRESS_CHANGED: &str = address_changed::RULE;

/// Makes the rules of a list: the file of each, its name, and what its `find` is handed: the `case`, or
/// the session and its `history`. Those that are asked when all others have been say `last`: see [`all`].
macro_rules! rules {
    ($($file:ident $name:ident: $asked:ident;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {$(
            #[doc = concat!("The rule of `", stringify!($file), ".rs`, which says what it finds.")]
            $name,
        )*}

        /// The ids of all rules.
        pub const RULES: [&str; [$(Rule::$name),*].len()] = [$($file::RULE,)*];

        impl Rule {
            /// The rule that has an id; `None` for a team's own, which is asked beside those here.
            pub fn named(id: &str) -> Option<Rule> {
                match id {
                    $($file::RULE => Some(Rule::$name),)*
                    _ => None,
                }
            }

            /// Whether it finds that a packet does not fit the wire.
            pub fn is_unfit(self) -> bool {
                matches!(self, Rule::UndecodablePacket | Rule::DerivedFieldWrong)
            }
        }

        const ALONE: &[Option<Ask>] = &[$(asked!($asked $file),)*];
    };
}

/// What a rule finds.
type Ask = fn(&Case<'_>) -> Vec<Found>;

/// How a rule is asked; none that is asked last.
macro_rules! asked {
    (case $file:ident) => {
        Some($file::find)
    };
    (history $file:ident) => {
        Some(|it| $file::find(it.session, it.history))
    };
    (last $file:ident) => {
        None
    };
}

rules! {
    ack_of_unreceived AckOfUnreceived: case;
    ack_of_unsent AckOfUnsent: case;
    address_changed AddressChanged: case;
    answered_from_elsewhere AnsweredFromElsewhere: case;
    belief_differs BeliefDiffers: case;
    checksums_differ ChecksumsDiffer: case;
    clock_disagreement ClockDisagreement: history;
    clock_set ClockSet: history;
    connection_restarted ConnectionRestarted: case;
    copies_differ CopiesDiffer: case;
    counter_falls CounterFalls: case;
    derived_field_wrong DerivedFieldWrong: history;
    destroy_untold DestroyUntold: case;
    difference_lasts DifferenceLasts: last;
    duplicate_sequence DuplicateSequence: case;
    fragments_never_join FragmentsNeverJoin: case;
    head_of_line_wait HeadOfLineWait: case;
    incomplete_reel IncompleteReel: history;
    input_late InputLate: case;
    loss_pattern LossPattern: case;
    migrate_before_create MigrateBeforeCreate: history;
    migrate_not_from_host MigrateNotFromHost: case;
    nack_of_received NackOfReceived: case;
    never_acked NeverAcked: case;
    nobody_owns NobodyOwns: last;
    number_space_exhausted NumberSpaceExhausted: case;
    objects_differ_at_rest ObjectsDifferAtRest: last;
    old_connection OldConnection: case;
    origin_wrong OriginWrong: case;
    reliable_not_delivered ReliableNotDelivered: case;
    reliable_stuck ReliableStuck: case;
    resend_storm ResendStorm: case;
    rollback_deep RollbackDeep: case;
    rtt_step RttStep: case;
    silent_link SilentLink: case;
    stale_message_ignored StaleMessageIgnored: history;
    stream_gap StreamGap: case;
    tick_drift TickDrift: case;
    tick_stall TickStall: case;
    told_twice ToldTwice: case;
    two_owners TwoOwners: history;
    undecodable_packet UndecodablePacket: history;
    update_after_destroy UpdateAfterDestroy: case;
    update_before_create UpdateBeforeCreate: case;
    update_twice UpdateTwice: case;
    update_unowned UpdateUnowned: case;
    values_differ ValuesDiffer: last;
    zombie_object ZombieObject: case;
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
    let alone: Vec<Ask> = ALONE.iter().flatten().copied().collect();
    let found = parallel::map(alone, session.workers(), |rule| {
        if cancel.goes_on() {
            rule(case)
        } else {
            Vec::new()
        }
    });
    let mut all: Vec<Found> = found.into_iter().flatten().collect();
    let explained = explained(&all);
    let (found, mut told) = objects_differ_at_rest::find(case, &explained);
    all.extend(found);
    all.extend(nobody_owns::find(case, &explained));
    let (found, differ) = values_differ::find(case, &explained);
    all.extend(found);
    told.extend(differ);
    let lasting = difference_lasts::find(case, &explained, &told);
    all.extend(lasting.found);
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
        migrate_before_create::RULE,
        zombie_object::RULE,
        two_owners::RULE,
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
        1 => format!("; packet {} does not fit the wire", first.0),
        count => format!(
            "; packet {} and {} more do not fit the wire",
            first.0,
            count - 1
        ),
    };
    finding.sentence.push_str(&words);
}
