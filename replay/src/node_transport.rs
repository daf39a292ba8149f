//! A node's transport that hands everything on to what holds all nodes.

/// Declares the transport `$of` of the node `$own.node`, which hands on to `$all`.
macro_rules! node_transport {
    ($of:ty, $own:ident => $all:expr) => {
        impl $of {
            /// [`send`](Transport::send) of a layer with several sockets.
            ///
            /// # Errors
            /// As there.
            pub fn send_on(
                &mut $own,
                socket: SocketId,
                to: Endpoint,
                packet: &[u8],
            ) -> Result<(), SendError> {
                $all.send($own.node, Some(socket), to, packet)
            }

            /// [`receive`](Transport::receive) of a layer with several sockets.
            ///
            /// # Errors
            /// As there.
            pub fn receive_on(
                &mut $own,
                socket: SocketId,
                buffer: &mut [u8],
            ) -> Result<Option<Datagram>, ReceiveError> {
                $all.receive($own.node, Some(socket), buffer)
            }
        }

        impl Transport for $of {
            fn now(&mut $own) -> Time {
                $all.now($own.node)
            }

            fn random(&mut $own) -> u64 {
                $all.random($own.node)
            }

            fn send(&mut $own, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
                $all.send($own.node, None, to, packet)
            }

            fn receive(&mut $own, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
                $all.receive($own.node, None, buffer)
            }

            /// Ticks are the recording's.
            fn tick(&mut $own, _tick: u64, _time: Time) {}

            /// Calls of the game are the recording's.
            fn input(&mut $own, _call: &[u8]) {}

            fn note(&mut $own, text: &str) {
                $all.note($own.node, text);
            }

            fn believes(&mut $own, object: u64, believed: Believed<'_>) {
                $all.believes($own.node, object, believed);
            }

            fn believes_value(&mut $own, object: u64, property: &str, numbers: &[f64]) {
                let mut said = String::new();
                netreel_reel::say_numbers(property, numbers, &mut said);
                let said = said.as_bytes();
                $own.believes(object, Believed::Value { said });
            }
        }
    };
}
pub(crate) use node_transport;
