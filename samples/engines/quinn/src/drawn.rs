//! What quinn and rustls else ask the operating system: random bytes and the calendar.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use netreel_transport::Transport;
use quinn_proto::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig, TimeSource,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use ring::{hkdf, hmac};
use rustls::crypto::ring::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup,
};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// The length of the connection ids that are given out, in bytes.
const ID_BYTES: usize = 8;

/// Random bytes that follow from a seed, for all that quinn and rustls draw; and a day, for all
/// certificates and tokens.
///
/// The seed is in the reel: whoever has the reel can work out the keys. So record what is being developed,
/// not what players say to each other.
#[derive(Clone, Debug)]
pub struct Drawn {
    bytes: &'static Bytes,
    today: UnixTime,
}

impl Drawn {
    /// Draws the seed from `io`. Certificates are judged as of `today`, in seconds since 1970: it is a start
    /// condition, and stands in the reel.
    ///
    /// What rustls asks for random bytes it keeps for ever, so that each call takes some 400 bytes that are
    /// never given back: one a node.
    pub fn from(io: &mut impl Transport, today: u64) -> Drawn {
        let mut seed = [0; 32];
        for part in seed.chunks_exact_mut(8) {
            part.copy_from_slice(&io.random().to_le_bytes());
        }
        Drawn {
            bytes: Box::leak(Box::new(Bytes(Mutex::new(StdRng::from_seed(seed))))),
            today: UnixTime::since_unix_epoch(Duration::from_secs(today)),
        }
    }

    /// What rustls works with: ciphers that netreel's `quic.wire` reads, the preferred one first, and X25519.
    pub fn provider(&self) -> Arc<CryptoProvider> {
        let key_exchange: &'static X25519 = Box::leak(Box::new(X25519(self.bytes)));
        Arc::new(CryptoProvider {
            cipher_suites: vec![
                TLS13_AES_128_GCM_SHA256,
                TLS13_AES_256_GCM_SHA384,
                TLS13_CHACHA20_POLY1305_SHA256,
            ],
            kx_groups: vec![key_exchange],
            secure_random: self.bytes,
            ..rustls::crypto::ring::default_provider()
        })
    }

    /// The day as rustls asks for it.
    pub fn time(&self) -> Arc<dyn TimeProvider> {
        Arc::new(Today(self.today))
    }

    /// An endpoint's settings.
    pub fn endpoint(&self) -> EndpointConfig {
        let reset_key: [u8; 64] = self.bytes.draw();
        let mut config =
            EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &reset_key)));
        let bytes = self.bytes;
        config.rng_seed(Some(bytes.draw()));
        config.cid_generator(move || Box::new(Ids(bytes)));
        config
    }

    /// The settings of connections that are accepted.
    ///
    /// # Errors
    /// `tls` was not made with this [`provider`](Drawn::provider).
    pub fn server(&self, tls: rustls::ServerConfig) -> Result<ServerConfig, NoInitialCipherSuite> {
        let tls = Arc::new(QuicServerConfig::try_from(tls)?);
        let key: [u8; 64] = self.bytes.draw();
        let token_key = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&key);
        let mut config = ServerConfig::new(tls, Arc::new(token_key));
        config.time_source(Arc::new(Today(self.today)));
        Ok(config)
    }

    /// The settings of connections that are begun.
    ///
    /// # Errors
    /// `tls` was not made with this [`provider`](Drawn::provider).
    pub fn client(&self, tls: rustls::ClientConfig) -> Result<ClientConfig, NoInitialCipherSuite> {
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
        let bytes = self.bytes;
        config.initial_dst_cid_provider(Arc::new(move || Ids(bytes).generate_cid()));
        Ok(config)
    }
}

#[derive(Debug)]
struct Bytes(Mutex<StdRng>);

impl Bytes {
    fn draw<const LENGTH: usize>(&self) -> [u8; LENGTH] {
        let mut drawn = [0; LENGTH];
        self.fill_all(&mut drawn);
        drawn
    }

    fn fill_all(&self, bytes: &mut [u8]) {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        source.fill_bytes(bytes);
    }
}

impl SecureRandom for Bytes {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.fill_all(bytes);
        Ok(())
    }
}

#[derive(Debug)]
struct Today(UnixTime);

impl TimeProvider for Today {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

/// By which quinn judges the age of its tokens.
impl TimeSource for Today {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.0.as_secs())
    }
}

/// Connection ids.
struct Ids(&'static Bytes);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.draw::<ID_BYTES>())
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The key exchange of RFC 7748. That of rustls draws its keys from the operating system, whatever the
/// provider says.
#[derive(Debug)]
struct X25519(&'static Bytes);

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = self.0.draw();
        let public = x25519_dalek::x25519(secret, x25519_dalek::X25519_BASEPOINT_BYTES);
        Ok(Box::new(Exchange { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    secret: [u8; 32],
    public: [u8; 32],
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let refused = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        let peer: [u8; 32] = peer.try_into().map_err(|_| refused.clone())?;
        match x25519_dalek::x25519(self.secret, peer) {
            // A point of small order: RFC 8446, 7.4.2.
            shared if shared == [0; 32] => Err(refused),
            shared => Ok(SharedSecret::from(&shared[..])),
        }
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
