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

use super::{Finding, Level, Standing, Wanted};
use crate::session::{PacketId, Session, parallel};

pub(super) const ADDRESS_CHANGED: &str = address_changed::RULE;

/// Makes the rules of a list: the file of each, its name, and how a case is asked. Those without the last
/// are asked when all others have been: see [`all`].
macro_rules! rules {
    ($($file:ident $name:ident $(: $find:expr)?;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs)] // `docs/findings` has a page of each
        pub enum Rule { $($name,)* }

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
        }

        const ALONE: &[fn(&Case<'_>) -> Vec<Found>] = &[$($($find,)?)*];
    };
}

rules! {
    ack_of_unreceived AckOfUnreceived: ack_of_unreceived::find;
    ack_of_unsent AckOfUnsent: ack_of_unsent::find;
    address_changed AddressChanged: address_changed::find;
    answered_from_elsewhere AnsweredFromElsewhere: answered_from_elsewhere::find;
    belief_differs BeliefDiffers: belief_differs::find;
    checksums_differ ChecksumsDiffer: checksums_differ::find;
    clock_disagreement ClockDisagreement: |it| clock_disagreement::find(it.session, it.history);
    clock_set ClockSet: |it| clock_set::find(it.session, it.history);
    connection_restarted ConnectionRestarted: connection_restarted::find;
    copies_differ CopiesDiffer: copies_differ::find;
    counter_falls CounterFalls: counter_falls::find;
    derived_field_wrong DerivedFieldWrong: |it| derived_field_wrong::find(it.session, it.history);
    destroy_untold DestroyUntold: destroy_untold::find;
    difference_lasts DifferenceLasts;
    duplicate_sequence DuplicateSequence: duplicate_sequence::find;
    fragments_never_join FragmentsNeverJoin: fragments_never_join::find;
    head_of_line_wait HeadOfLineWait: head_of_line_wait::find;
    incomplete_reel IncompleteReel: |it| incomplete_reel::find(it.session, it.history);
    input_late InputLate: input_late::find;
    loss_pattern LossPattern: loss_pattern::find;
    migrate_before_create MigrateBeforeCreate: |it| migrate_before_create::find(it.session, it.history);
    migrate_not_from_host MigrateNotFromHost: migrate_not_from_host::find;
    nack_of_received NackOfReceived: nack_of_received::find;
    never_acked NeverAcked: never_acked::find;
    nobody_owns NobodyOwns;
    number_space_exhausted NumberSpaceExhausted: number_space_exhausted::find;
    objects_differ_at_rest ObjectsDifferAtRest;
    old_connection OldConnection: old_connection::find;
    origin_wrong OriginWrong: origin_wrong::find;
    reliable_not_delivered ReliableNotDelivered: reliable_not_delivered::find;
    reliable_stuck ReliableStuck: reliable_stuck::find;
    resend_storm ResendStorm: resend_storm::find;
    rollback_deep RollbackDeep: rollback_deep::find;
    rtt_step RttStep: rtt_step::find;
    silent_link SilentLink: silent_link::find;
    stale_message_ignored StaleMessageIgnored: |it| stale_message_ignored::find(it.session, it.history);
    stream_gap StreamGap: stream_gap::find;
    tick_drift TickDrift: tick_drift::find;
    tick_stall TickStall: tick_stall::find;
    told_twice ToldTwice: told_twice::find;
    two_owners TwoOwners: |it| two_owners::find(it.session, it.history);
    undecodable_packet UndecodablePacket: |it| undecodable_packet::find(it.session, it.history);
    update_after_destroy UpdateAfterDestroy: update_after_destroy::find;
    update_before_create UpdateBeforeCreate: update_before_create::find;
    update_twice UpdateTwice: update_twice::find;
    update_unowned UpdateUnowned: update_unowned::find;
    values_differ ValuesDiffer;
    zombie_object ZombieObject: zombie_object::find;
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
pub(super) fn all(case: &Case<'_>, wanted: Wanted<'_>) -> All {
    let session = case.session;
    let found = parallel::map(ALONE.to_vec(), session.workers(), |rule| match wanted() {
        true => rule(case),
        false => Vec::new(),
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
