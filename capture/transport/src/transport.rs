//! The traits on both sides of the seam.

use netreel_reel::{Believed, Endpoint, SendOutcome, Time};

/// The world, as a network layer sees it: one socket, one clock, one source of randomness.
///
/// Call grammar: the owner of the loop calls [`tick`](Transport::tick) or
/// [`input`](Transport::input) and then hands `self` to the [`Layer`], which may call
/// [`now`](Transport::now), [`random`](Transport::random), [`receive`](Transport::receive) and
/// [`send`](Transport::send) any number of times, in any order.
pub trait Transport {
    /// Reads the clock.
    fn now(&mut self) -> Time;

    /// Draws 64 random bits.
    fn random(&mut self) -> u64;

    /// Sends one packet. `Ok` says that the operating system took all of it, not that it arrives.
    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError>;

    /// Takes the next packet that has arrived, if there is one; never waits.
    /// A packet longer than `buffer` is cut to it.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError>;

    /// Says that tick `tick` begins, at the game's virtual time `time`.
    fn tick(&mut self, tick: u64, time: Time);

    /// Says that the game is about to call into the layer; `call` is the engine's own encoding.
    fn input(&mut self, call: &[u8]);

    /// Leaves a note for whoever reads the recording.
    fn note(&mut self, text: &str);

    /// Says what the game believes of an object from here on; `object` and owners are the protocol's
    /// numbers. A recorder writes it down, so that a reader need not conclude it from packets by the
    /// rules of the wire; everybody else does nothing. A replay compares it and goes on.
    fn believes(&mut self, object: u64, believed: Believed<'_>) {
        let _ = (object, believed);
    }

    /// The same of a property whose value is numbers, which only a recorder puts into words.
    fn believes_value(&mut self, object: u64, property: &str, numbers: &[f64]) {
        let _ = (object, property, numbers);
    }

    /// Offers the layer's state; to be called between two turns, that is before
    /// [`tick`](Transport::tick) or [`input`](Transport::input). A recorder calls `save` where it is
    /// time for a snapshot, and everybody else does not.
    fn offer_state(&mut self, save: &mut dyn FnMut() -> Option<Vec<u8>>) {
        let _ = save;
    }
}

/// Declares methods of a [`Transport`] that call the same of another one, which is `$to`.
macro_rules! handed_on {
    ($self:ident => $to:expr; $($method:ident)*) => {
        $($crate::transport::handed_on! { @$method $self $to })*
    };
    (@now $self:ident $to:expr) => {
        #[inline]
        fn now(&mut $self) -> Time {
            $to.now()
        }
    };
    (@random $self:ident $to:expr) => {
        #[inline]
        fn random(&mut $self) -> u64 {
            $to.random()
        }
    };
    (@send $self:ident $to:expr) => {
        #[inline]
        fn send(&mut $self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
            $to.send(to, packet)
        }
    };
    (@receive $self:ident $to:expr) => {
        #[inline]
        fn receive(&mut $self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
            $to.receive(buffer)
        }
    };
    (@tick $self:ident $to:expr) => {
        #[inline]
        fn tick(&mut $self, tick: u64, time: Time) {
            $to.tick(tick, time);
        }
    };
    (@input $self:ident $to:expr) => {
        #[inline]
        fn input(&mut $self, call: &[u8]) {
            $to.input(call);
        }
    };
    (@note $self:ident $to:expr) => {
        #[inline]
        fn note(&mut $self, text: &str) {
            $to.note(text);
        }
    };
    (@believes $self:ident $to:expr) => {
        #[inline]
        fn believes(&mut $self, object: u64, believed: Believed<'_>) {
            $to.believes(object, believed);
        }
    };
    (@believes_value $self:ident $to:expr) => {
        #[inline]
        fn believes_value(&mut $self, object: u64, property: &str, numbers: &[f64]) {
            $to.believes_value(object, property, numbers);
        }
    };
    (@offer_state $self:ident $to:expr) => {
        #[inline]
        fn offer_state(&mut $self, save: &mut dyn FnMut() -> Option<Vec<u8>>) {
            $to.offer_state(save)
        }
    };
}
pub(crate) use handed_on;

/// A transport that is lent.
impl<T: Transport + ?Sized> Transport for &mut T {
    handed_on! {
        self => (**self);
        now random send receive tick input note believes believes_value offer_state
    }
}

/// A sans-IO network layer: all that it does follows from these calls and from what the
/// [`Transport`] answers.
pub trait Layer {
    /// One tick: read the clock, take what has arrived, send what is due.
    fn tick(&mut self, io: &mut dyn Transport);

    /// One call of the game into the layer, in the engine's own encoding.
    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError>;

    /// The layer's state between two calls, in the engine's own encoding: all that its further doing
    /// follows from besides its start conditions, what it is handed and the answers of the
    /// transport; and best a digest of what it has handed to the game, so that a replay finds a
    /// layer that hands up something else. The same state gives the same bytes. `None` where the
    /// engine does not offer it.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Makes a layer with the same start conditions what the saved one was.
    ///
    /// # Errors
    /// The engine does not offer it, or cannot read the state; the layer is then as it was.
    fn restore(&mut self, state: &[u8]) -> Result<(), RestoreError> {
        let _ = state;
        Err(RestoreError::NotOffered)
    }

    /// The one switch of all time-outs, for whoever stops the layer in a debugger. Off, the layer
    /// gives up nothing and nobody for having taken too long, whatever any clock says. On, it does
    /// as its start conditions and the calls of the game say; so it is when it is made.
    ///
    /// How the switch stands is no part of the [state](Layer::save): a replay that throws it still
    /// compares the states. A game that turns time-outs off while it runs says so in a call
    /// ([`input`](Layer::input)) instead, which is recorded.
    ///
    /// Whether the layer has such a switch.
    fn time_outs(&mut self, on: bool) -> bool {
        let _ = on;
        false
    }

    /// Says what the layer believes of each of its objects now, in the order of their numbers; whether
    /// it says so at all. Exploring compares what nodes believe when all is delivered.
    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        let _ = say;
        false
    }

    /// A copy that does from here on what the layer itself would do; quicker than [`save`](Layer::save)
    /// and [`restore`](Layer::restore) where many ways are tried from one state. `None` where the engine
    /// offers none.
    fn fork(&self) -> Option<Box<dyn Layer>> {
        None
    }
}

/// What a layer believes of an object that lives there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectBelief {
    /// The protocol's number of the object.
    pub object: u64,
    /// The protocol's number of the peer that owns it; `None` where the layer knows no owners.
    pub owner: Option<u64>,
    /// A hash of its values: equal where the values are.
    pub values: u64,
}

/// A packet that was received: its bytes are at the start of the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Who sent it.
    pub from: Endpoint,
    /// How many bytes of the buffer it fills.
    pub length: usize,
}

/// A send that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The operating system refused, with this error code.
    #[error("send failed: {}", std::io::Error::from_raw_os_error(*.0))]
    Os(i32),
    /// Only this many bytes were taken.
    #[error("only {0} bytes of the packet were taken")]
    Short(u32),
}

impl SendError {
    /// What a send call comes to that had this outcome.
    pub(crate) fn of(outcome: SendOutcome) -> Result<(), SendError> {
        match outcome {
            SendOutcome::Sent => Ok(()),
            SendOutcome::Short(taken) => Err(SendError::Short(taken)),
            SendOutcome::Failed(code) => Err(SendError::Os(code)),
        }
    }
}

/// A receive that failed, with the operating system's error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("receive failed: {}", std::io::Error::from_raw_os_error(*.0))]
pub struct ReceiveError(pub i32);

/// A call into the layer that it could not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("call of {length} bytes into the layer: {why}")]
pub struct InputError {
    /// The length of the call.
    pub length: usize,
    /// What was wrong with it.
    pub why: String,
}

/// A state that a layer could not be brought into.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The engine cannot restore a state.
    #[error("the engine offers no restoring of its state")]
    NotOffered,
    /// The engine cannot read this one.
    #[error("the engine cannot read the state: {0}")]
    Refused(String),
}
