//! What happened, in words.

#[cfg(feature = "window")]
use netreel_sample_engine::{Deed, Doing, ObjectId};
use netreel_sample_engine::{Event, IgnoreReason, ObjectMessage, Peer};

/// What an event says to whoever plays; nothing for what is of no interest to them.
pub fn sentence(event: &Event, names: &[String]) -> Option<String> {
    let name = |peer: Peer| names.get(usize::from(peer.0)).map_or("?", String::as_str);
    Some(match event {
        Event::Joined { peer, .. } => format!("{} is here", name(*peer)),
        Event::Left { peer } => format!("{} has left", name(*peer)),
        Event::SessionEnded { .. } => "the session is over".to_owned(),
        Event::Created { object, owner } => {
            format!("CREATE {} of {}", object.0, name(*owner))
        }
        Event::Destroyed { object } => format!("DESTROY {}", object.0),
        Event::Migrated { object, owner, .. } => {
            format!("MIGRATE {} to {}", object.0, name(*owner))
        }
        Event::Requested { object, by } => {
            format!("{} asks for {}", name(*by), object.0)
        }
        Event::Ignored {
            message: ObjectMessage::Update,
            ..
        } => return None,
        Event::Ignored {
            message,
            object,
            because,
        } => {
            let what = match message {
                ObjectMessage::Create => "CREATE",
                ObjectMessage::Migrate => "MIGRATE",
                ObjectMessage::Destroy => "DESTROY",
                ObjectMessage::Order => "order",
                ObjectMessage::Update => "UPDATE",
            };
            let why = because_text(*because);
            format!("{what} {} ignored: {why}", object.0)
        }
        Event::Refused { because } => format!("that cannot be done: {because:?}"),
        Event::BadPacket { from, .. } => format!("a bad packet from {from}"),
        Event::Updated { .. }
        | Event::Called { .. }
        | Event::Arrived { .. }
        | Event::Lost { .. } => return None,
    })
}

fn because_text(because: IgnoreReason) -> &'static str {
    match because {
        IgnoreReason::Unknown => "there is no such box here",
        IgnoreReason::Stale => "its counter is old",
        IgnoreReason::NotOwner => "not from its owner",
        IgnoreReason::OutOfOrder => "a newer one came before",
        IgnoreReason::Unfit => "it does not fit",
        IgnoreReason::Early => "it waits for what must come before it",
    }
}

/// What a player is about to do.
#[cfg(feature = "window")]
pub fn errand(doing: Doing, object: ObjectId) -> String {
    let what = match doing {
        Doing::PickUp => "picks up",
        Doing::Push => "pushes",
        Doing::ThrowAway => "throws away",
    };
    format!("{what} {}", object.0)
}

/// What a deed is called on its button.
#[cfg(feature = "window")]
pub fn deed(deed: Deed) -> &'static str {
    match deed {
        Deed::Walk(_) | Deed::Go(_) => "walk",
        Deed::Spawn => "spawn",
        Deed::PickUp(_) => "pick up",
        Deed::PutDown => "put down",
        Deed::Push(_) => "push",
        Deed::ThrowAway(_) => "throw away",
        Deed::Leave => "leave",
    }
}

/// The colour that a box's paint stands for: red, green, blue.
pub fn color(paint: u8) -> [u8; 3] {
    // Round the wheel of hues, at one lightness.
    let hue = f64::from(paint) / 256.0 * 6.0;
    let part = |shift: f64| {
        let at = (hue + shift).rem_euclid(6.0);
        let level = (at - 3.0).abs() - 1.0;
        (90.0 + 130.0 * level.clamp(0.0, 1.0)) as u8
    };
    [part(0.0), part(4.0), part(2.0)]
}
