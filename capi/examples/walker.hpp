/*
 * A hand-written protocol: two walkers tell each other where they stand, as those of udp.c do. It knows
 * nothing of recording. `World` has clock, random, receive and send, as netreel::replay and
 * netreel::world do.
 */
#ifndef WALKER_HPP
#define WALKER_HPP

#include <netreel.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

class Walker {
public:
    explicit Walker(const netreel_endpoint &of) : peer(of) {}

    /** As `state` wrote it: start conditions, or a snapshot. */
    explicit Walker(netreel::bytes state)
    {
        if (state.size() != sizeof *this)
            throw std::runtime_error("that is no state of a walker");
        std::memcpy(static_cast<void *>(this), state.data(), state.size());
    }

    /** As it lies in memory: a real engine would write it field by field. */
    std::string state() const
    {
        return std::string(netreel::text_of(netreel::bytes_of(*this)));
    }

    template <class World> void tick(World &&world)
    {
        std::uint64_t now = 0, nonce = 0;
        world.clock(now);
        std::array<std::byte, 20> in;
        netreel::packet came;
        while (world.receive(0, in, came) && came.received()) {
            if (came.length != in.size())
                continue;
            peer = came.from;
            ack = std::max(ack, read(in, 0));
        }
        if (peer.port == 0)
            return;
        world.random(nonce);
        std::array<std::byte, 20> out;
        write(out, 0, ++sequence);
        write(out, 4, ack);
        write(out, 8, static_cast<std::uint32_t>(now / 1000000));
        write(out, 12, static_cast<std::uint32_t>(nonce));
        write(out, 16, static_cast<std::uint32_t>(position));
        world.send(0, peer, out);
    }

    /** A call of the game: a direction in a byte. */
    void call(netreel::bytes call)
    {
        if (call.size() != 1)
            throw std::runtime_error("a call of a walker has one byte");
        position += static_cast<std::int8_t>(call[0]) * step;
    }

    netreel_endpoint peer{};
    std::uint32_t sequence = 0, ack = 0;
    std::int32_t position = 0, step = 5;

private:
    static std::uint32_t read(const std::array<std::byte, 20> &from, std::size_t at)
    {
        std::uint32_t value = 0;
        for (std::size_t place = at; place < at + 4; ++place)
            value = value << 8 | static_cast<std::uint32_t>(from[place]);
        return value;
    }
    static void write(std::array<std::byte, 20> &into, std::size_t at, std::uint32_t value)
    {
        for (std::size_t place = at + 4; place-- > at; value >>= 8)
            into[place] = static_cast<std::byte>(value & 0xff);
    }
};

#endif
