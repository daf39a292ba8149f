//! What one node believes of one object: the receiver's rules of the wire, step by step.

use std::collections::BTreeMap;

use netreel_wire::{
    CreateRule, MessageFacts, OlderUpdate, Role, Rules, StaleRule, UnknownDestroy, UnknownMigrate,
    UnknownUpdate, UpdateFrom,
};

use super::{Belief, Effect};
use crate::session::NodeId;

/// One node's state of one object.
#[derive(Debug, Default)]
pub(crate) struct Believer {
    state: State,
    /// The highest migration counter heard.
    counter: Option<u64>,
    /// For each link, the place of the packet that brought the newest UPDATE that was taken.
    newest_updates: BTreeMap<NodeId, i64>,
    /// What is kept until what it speaks of has come, in the order in which it came.
    queued: Vec<Waiting>,
}

/// A message that waits: a MIGRATE for CREATE, a DESTROY for that or for the MIGRATE of its counter.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Migrate {
        owner: Option<u64>,
        counter: Option<u64>,
    },
    Destroy {
        counter: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing was heard of it.
    #[default]
    Absent,
    Alive {
        owner: Option<u64>,
    },
    Dead,
    /// The reel has a hole in which anything may have happened.
    Unknown,
}

/// Who says a message, and where its packet lies on the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speaker {
    /// The link's sender.
    pub from: NodeId,
    /// The protocol number of the node that said it first.
    pub peer: Option<u64>,
    /// The packet's place on the link's line of sequence numbers.
    pub place: Option<i64>,
}

impl Believer {
    /// The belief, once something was heard.
    pub fn belief(&self) -> Option<Belief> {
        match self.state {
            State::Absent => None,
            State::Alive { owner: Some(owner) } => Some(Belief::Owned(owner)),
            State::Alive { owner: None } | State::Unknown => Some(Belief::Unknown),
            State::Dead => Some(Belief::Destroyed),
        }
    }

    /// The highest migration counter heard.
    pub fn counter(&self) -> Option<u64> {
        self.counter
    }

    /// The reel lacks a stretch: what was true before it need not be true after it.
    pub fn forget(&mut self) {
        self.state = State::Unknown;
        self.newest_updates.clear();
        self.queued.clear();
    }

    /// Takes one message about the object.
    pub fn take(
        &mut self,
        role: Role,
        facts: &MessageFacts,
        rules: Option<&Rules>,
        speaker: Speaker,
    ) -> Effect {
        let Some(rules) = rules else {
            self.state = State::Unknown;
            return Effect::Unknown;
        };
        if self.state == State::Unknown
            && !(rules.stale == StaleRule::Never && settles(role, rules))
        {
            self.raise(facts.migration_counter);
            return Effect::Unknown;
        }
        match role {
            Role::Create => self.create(facts, rules, speaker),
            Role::Migrate | Role::MigrateOrder => self.migrate(facts, rules),
            Role::Update => self.update(facts, rules, speaker),
            Role::Destroy => self.destroy(facts, rules),
            _ => Effect::Plain,
        }
    }

    fn create(&mut self, facts: &MessageFacts, rules: &Rules, speaker: Speaker) -> Effect {
        let counter = facts.migration_counter;
        if rules.create == CreateRule::Newer && self.is_old(counter) {
            return Effect::IgnoredStale;
        }
        self.come_alive(facts.owner.or(speaker.peer));
        self.raise(counter);
        self.take_queued(rules);
        Effect::Created
    }

    /// What waited and waits no longer: MIGRATEs first, and then what they made an end of.
    fn take_queued(&mut self, rules: &Rules) {
        let mut ends = Vec::new();
        for waiting in std::mem::take(&mut self.queued) {
            match waiting {
                Waiting::Migrate { owner, counter } => {
                    if rules.stale == StaleRule::Never || !self.is_old(counter) {
                        self.come_alive(owner);
                        self.raise(counter);
                    }
                }
                Waiting::Destroy { .. } => ends.push(waiting),
            }
        }
        for waiting in ends {
            let Waiting::Destroy { counter } = waiting else {
                continue;
            };
            if rules.stale == StaleRule::Counter && counter > self.counter {
                self.queued.push(waiting);
            } else if rules.stale == StaleRule::Never || !self.is_old(counter) {
                self.state = State::Dead;
            }
        }
    }

    fn migrate(&mut self, facts: &MessageFacts, rules: &Rules) -> Effect {
        let counter = facts.migration_counter;
        if rules.stale == StaleRule::Counter && self.is_old(counter) {
            return Effect::IgnoredStale;
        }
        let alive = matches!(self.state, State::Alive { .. });
        match rules.unknown_migrate {
            UnknownMigrate::Drop if !alive => return Effect::IgnoredUnknown,
            UnknownMigrate::Queue if !alive => {
                let owner = facts.new_owner;
                self.queued.push(Waiting::Migrate { owner, counter });
                return Effect::Queued;
            }
            _ => {}
        }
        self.come_alive(facts.new_owner);
        self.raise(counter);
        self.take_queued(rules);
        if alive {
            Effect::Migrated
        } else {
            Effect::CreatedByMigrate
        }
    }

    /// An UPDATE counts at the counter of the believed ownership: an older one is stale, and a
    /// newer one is from somebody who is not the owner yet. One without a counter is never old.
    fn update(&mut self, facts: &MessageFacts, rules: &Rules, speaker: Speaker) -> Effect {
        let State::Alive { owner } = self.state else {
            return self.unknown_update(facts, rules, speaker);
        };
        if rules.stale == StaleRule::Counter && facts.migration_counter.is_some() {
            if self.is_old(facts.migration_counter) {
                return Effect::IgnoredStale;
            }
            if facts.migration_counter > self.counter {
                return match rules.unknown_update {
                    UnknownUpdate::Queue => Effect::Queued,
                    UnknownUpdate::Drop | UnknownUpdate::Create => Effect::IgnoredNotOwner,
                };
            }
        }
        if rules.update_from == UpdateFrom::Owner && owner != speaker.peer {
            return Effect::IgnoredNotOwner;
        }
        if let Some(place) = speaker.place {
            let newest = self.newest_updates.entry(speaker.from).or_insert(i64::MIN);
            if place <= *newest && rules.older_update == OlderUpdate::Drop {
                return Effect::IgnoredOutOfOrder;
            }
            *newest = place.max(*newest);
        }
        Effect::Updated
    }

    /// An UPDATE that waits for CREATE changes nothing that is believed here.
    fn unknown_update(&mut self, facts: &MessageFacts, rules: &Rules, speaker: Speaker) -> Effect {
        let counter = facts.migration_counter;
        if rules.unknown_update == UnknownUpdate::Drop {
            return Effect::IgnoredUnknown;
        }
        if rules.stale == StaleRule::Counter && self.is_old(counter) {
            return Effect::IgnoredStale;
        }
        if rules.unknown_update == UnknownUpdate::Queue {
            return Effect::Queued;
        }
        self.come_alive(facts.owner.or(speaker.peer));
        self.raise(counter);
        if let Some(place) = speaker.place {
            self.newest_updates.insert(speaker.from, place);
        }
        Effect::CreatedByUpdate
    }

    fn destroy(&mut self, facts: &MessageFacts, rules: &Rules) -> Effect {
        let counter = facts.migration_counter;
        if rules.stale == StaleRule::Counter && self.is_old(counter) {
            return Effect::IgnoredStale;
        }
        let is_early = rules.stale == StaleRule::Counter && counter > self.counter;
        match (self.state, rules.unknown_destroy) {
            (State::Absent, UnknownDestroy::Queue) => {
                self.queued.push(Waiting::Destroy { counter });
                return Effect::Queued;
            }
            (State::Alive { .. } | State::Dead, UnknownDestroy::Queue) if is_early => {
                self.queued.push(Waiting::Destroy { counter });
                return Effect::Queued;
            }
            (State::Dead, UnknownDestroy::Queue) => return Effect::IgnoredUnknown,
            (State::Absent | State::Dead, UnknownDestroy::Drop) => return Effect::IgnoredUnknown,
            (State::Absent | State::Dead, UnknownDestroy::Tombstone) => {
                self.state = State::Dead;
                self.raise(counter);
                return Effect::Tombstoned;
            }
            (State::Alive { .. } | State::Unknown, _) => {}
        }
        self.state = State::Dead;
        self.raise(counter);
        Effect::Destroyed
    }

    fn come_alive(&mut self, owner: Option<u64>) {
        if !matches!(self.state, State::Alive { .. }) {
            self.newest_updates.clear();
        }
        self.state = State::Alive { owner };
    }

    /// A lower counter is old, and so is anything at the same counter after DESTROY.
    fn is_old(&self, counter: Option<u64>) -> bool {
        let heard = self.counter.unwrap_or(0);
        let counter = counter.unwrap_or(0);
        counter < heard || (self.state == State::Dead && counter == heard)
    }

    fn raise(&mut self, counter: Option<u64>) {
        self.counter = self.counter.max(counter);
    }
}

/// Whether the outcome is the same whatever was true of the object before.
fn settles(role: Role, rules: &Rules) -> bool {
    match role {
        Role::Create => rules.create == CreateRule::Always,
        Role::Migrate | Role::MigrateOrder => rules.unknown_migrate == UnknownMigrate::Create,
        Role::Destroy => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORIC: Rules = Rules {
        name: String::new(),
        unknown_migrate: UnknownMigrate::Drop,
        unknown_update: UnknownUpdate::Drop,
        unknown_destroy: UnknownDestroy::Drop,
        create: CreateRule::Always,
        stale: StaleRule::Never,
        update_from: UpdateFrom::Anyone,
        older_update: OlderUpdate::Take,
        late_input: None,
        input_delay: 0,
    };
    const COUNTED: Rules = Rules {
        name: String::new(),
        unknown_migrate: UnknownMigrate::Create,
        unknown_update: UnknownUpdate::Drop,
        unknown_destroy: UnknownDestroy::Tombstone,
        create: CreateRule::Newer,
        stale: StaleRule::Counter,
        update_from: UpdateFrom::Owner,
        older_update: OlderUpdate::Drop,
        late_input: None,
        input_delay: 0,
    };

    /// Messages as `(role, peer that is named or speaks, counter)`; `forget` is `Role::Other`.
    fn check(
        rules: &Rules,
        messages: &[(Role, u64, u64)],
        effects: &[Effect],
        belief: Option<Belief>,
    ) {
        let mut believer = Believer::default();
        let mut found = Vec::new();
        for (place, &(role, peer, counter)) in messages.iter().enumerate() {
            if role == Role::Other {
                believer.forget();
                continue;
            }
            let facts = MessageFacts {
                owner: Some(peer),
                new_owner: Some(peer),
                migration_counter: (rules.stale == StaleRule::Counter).then_some(counter),
                ..MessageFacts::default()
            };
            let place = Some(place as i64);
            let speaker = Speaker {
                from: NodeId(0),
                peer: Some(peer),
                place,
            };
            found.push(believer.take(role, &facts, Some(rules), speaker));
        }
        assert_eq!(found, effects);
        assert_eq!(believer.belief(), belief);
    }

    use Role::{Create, Destroy, Migrate, Other, Update};

    #[test]
    fn historic_rules_drop_what_comes_before_create_and_keep_the_zombie() {
        check(
            &HISTORIC,
            &[
                (Migrate, 2, 0),
                (Update, 2, 0),
                (Destroy, 2, 0),
                (Create, 1, 0),
            ],
            &[
                Effect::IgnoredUnknown,
                Effect::IgnoredUnknown,
                Effect::IgnoredUnknown,
                Effect::Created,
            ],
            Some(Belief::Owned(1)),
        );
    }

    #[test]
    fn counted_rules_create_by_migrate_and_ignore_the_late_create() {
        check(
            &COUNTED,
            &[
                (Migrate, 2, 1),
                (Update, 2, 1),
                (Destroy, 2, 1),
                (Create, 1, 0),
            ],
            &[
                Effect::CreatedByMigrate,
                Effect::Updated,
                Effect::Destroyed,
                Effect::IgnoredStale,
            ],
            Some(Belief::Destroyed),
        );
    }

    #[test]
    fn a_destroy_of_the_unknown_leaves_a_tombstone_that_stops_create() {
        check(
            &COUNTED,
            &[(Destroy, 2, 1), (Create, 1, 0)],
            &[Effect::Tombstoned, Effect::IgnoredStale],
            Some(Belief::Destroyed),
        );
    }

    #[test]
    fn an_object_comes_back_at_a_higher_counter() {
        check(
            &COUNTED,
            &[(Create, 1, 0), (Destroy, 1, 0), (Migrate, 2, 1)],
            &[Effect::Created, Effect::Destroyed, Effect::CreatedByMigrate],
            Some(Belief::Owned(2)),
        );
    }

    #[test]
    fn an_older_migrate_does_not_take_the_object_back() {
        check(
            &COUNTED,
            &[(Create, 1, 0), (Migrate, 2, 2), (Migrate, 1, 1)],
            &[Effect::Created, Effect::Migrated, Effect::IgnoredStale],
            Some(Belief::Owned(2)),
        );
    }

    #[test]
    fn an_update_from_somebody_else_does_not_count() {
        check(
            &COUNTED,
            &[(Create, 1, 0), (Update, 2, 0)],
            &[Effect::Created, Effect::IgnoredNotOwner],
            Some(Belief::Owned(1)),
        );
    }

    #[test]
    fn an_update_at_a_counter_that_is_not_heard_of_yet_does_not_count() {
        check(
            &COUNTED,
            &[(Create, 1, 0), (Migrate, 2, 1), (Update, 2, 3)],
            &[Effect::Created, Effect::Migrated, Effect::IgnoredNotOwner],
            Some(Belief::Owned(2)),
        );
    }

    #[test]
    fn an_update_creates_where_the_rules_say_so() {
        let rules = Rules {
            unknown_update: UnknownUpdate::Create,
            ..HISTORIC
        };
        check(
            &rules,
            &[(Update, 2, 0), (Destroy, 2, 0), (Update, 3, 0)],
            &[
                Effect::CreatedByUpdate,
                Effect::Destroyed,
                Effect::CreatedByUpdate,
            ],
            Some(Belief::Owned(3)),
        );
        let rules = Rules {
            unknown_update: UnknownUpdate::Create,
            ..COUNTED
        };
        check(
            &rules,
            &[(Create, 1, 0), (Destroy, 1, 0), (Update, 1, 0)],
            &[Effect::Created, Effect::Destroyed, Effect::IgnoredStale],
            Some(Belief::Destroyed),
        );
    }

    #[test]
    fn what_waits_for_create_changes_the_owner_after_it() {
        let rules = Rules {
            unknown_migrate: UnknownMigrate::Queue,
            unknown_update: UnknownUpdate::Queue,
            ..HISTORIC
        };
        check(
            &rules,
            &[(Migrate, 2, 0), (Update, 2, 0), (Create, 1, 0)],
            &[Effect::Queued, Effect::Queued, Effect::Created],
            Some(Belief::Owned(2)),
        );
        check(
            &rules,
            &[
                (Create, 1, 0),
                (Migrate, 2, 0),
                (Destroy, 2, 0),
                (Create, 1, 0),
            ],
            &[
                Effect::Created,
                Effect::Migrated,
                Effect::Destroyed,
                Effect::Created,
            ],
            Some(Belief::Owned(1)),
        );
    }

    #[test]
    fn what_is_early_waits_for_the_counter_that_it_names() {
        let rules = Rules {
            unknown_migrate: UnknownMigrate::Queue,
            unknown_update: UnknownUpdate::Queue,
            unknown_destroy: UnknownDestroy::Queue,
            ..COUNTED
        };
        let (create, migrate, end) = ((Create, 1, 0), (Migrate, 2, 1), (Destroy, 2, 1));
        use Effect::{Created, Destroyed, Migrated, Queued};
        let orders = [
            ([create, migrate, end], [Created, Migrated, Destroyed]),
            ([create, end, migrate], [Created, Queued, Migrated]),
            ([migrate, create, end], [Queued, Created, Destroyed]),
            ([migrate, end, create], [Queued, Queued, Created]),
            ([end, create, migrate], [Queued, Created, Migrated]),
            ([end, migrate, create], [Queued, Queued, Created]),
        ];
        for (order, effects) in orders {
            check(&rules, &order, &effects, Some(Belief::Destroyed));
        }
        check(
            &rules,
            &[create, (Update, 2, 1), migrate, (Update, 1, 0)],
            &[Created, Queued, Migrated, Effect::IgnoredStale],
            Some(Belief::Owned(2)),
        );
    }

    #[test]
    fn an_update_without_a_counter_is_never_old() {
        let rules = Rules {
            update_from: UpdateFrom::Anyone,
            ..COUNTED
        };
        let mut believer = Believer::default();
        let mut take = |role, counter| {
            let facts = MessageFacts {
                owner: Some(1),
                new_owner: Some(1),
                migration_counter: counter,
                ..MessageFacts::default()
            };
            let speaker = Speaker {
                from: NodeId(0),
                peer: Some(1),
                place: None,
            };
            believer.take(role, &facts, Some(&rules), speaker)
        };
        assert_eq!(take(Create, Some(0)), Effect::Created);
        assert_eq!(take(Migrate, Some(2)), Effect::Migrated);
        assert_eq!(take(Update, None), Effect::Updated);
        assert_eq!(take(Update, Some(0)), Effect::IgnoredStale);
    }

    #[test]
    fn an_update_behind_a_newer_one_is_out_of_order_unless_the_wire_says_that_it_is_taken() {
        let dropping = Rules {
            older_update: OlderUpdate::Drop,
            ..HISTORIC
        };
        older_update(&dropping, Effect::IgnoredOutOfOrder);
        older_update(&HISTORIC, Effect::Updated);
    }

    fn older_update(rules: &Rules, expected: Effect) {
        let mut believer = Believer::default();
        let facts = MessageFacts {
            owner: Some(1),
            ..MessageFacts::default()
        };
        let at = |place| Speaker {
            from: NodeId(0),
            peer: Some(1),
            place: Some(place),
        };
        let mut take = |role, place| believer.take(role, &facts, Some(rules), at(place));
        assert_eq!(take(Create, 1), Effect::Created);
        assert_eq!(take(Update, 5), Effect::Updated);
        assert_eq!(take(Update, 4), expected);
        assert_eq!(take(Update, 6), Effect::Updated);
    }

    #[test]
    fn after_a_hole_nobody_can_say_what_a_counted_message_did() {
        check(
            &COUNTED,
            &[(Create, 1, 0), (Other, 0, 0), (Destroy, 1, 0)],
            &[Effect::Created, Effect::Unknown],
            Some(Belief::Unknown),
        );
    }

    #[test]
    fn after_a_hole_a_historic_destroy_is_certain() {
        check(
            &HISTORIC,
            &[
                (Create, 1, 0),
                (Other, 0, 0),
                (Migrate, 2, 0),
                (Destroy, 1, 0),
            ],
            &[Effect::Created, Effect::Unknown, Effect::Destroyed],
            Some(Belief::Destroyed),
        );
    }

    #[test]
    fn without_rules_nothing_can_be_said() {
        let mut believer = Believer::default();
        let speaker = Speaker {
            from: NodeId(0),
            peer: None,
            place: None,
        };
        let effect = believer.take(Create, &MessageFacts::default(), None, speaker);
        assert_eq!(
            (effect, believer.belief()),
            (Effect::Unknown, Some(Belief::Unknown))
        );
    }
}
