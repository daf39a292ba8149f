/*
 * The protocol of walker.hpp over UDP, recorded and replayed with netreel.hpp. On Linux and on Windows.
 *
 *     udp record REEL [PORT]   plays on 127.0.0.1; without PORT it prints its port and waits for a
 *                              peer, with PORT it calls there
 *     udp replay REEL [STEP]   plays the reel once more, with another constant if STEP is given
 *
 *     c++ -std=c++17 udp.cpp -I ../include -L ../../target/release -lnetreel \
 *         -Wl,-rpath,$PWD/../../target/release -o udp
 *     x86_64-w64-mingw32-g++ -std=c++17 udp.cpp -I ../include netreel.dll -lws2_32 -static -o udp.exe
 */
#include "walker.hpp"

#include "system.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

/** A socket of 127.0.0.1, the clock and chance, each written down as it answers. */
class Recorded {
public:
    explicit Recorded(const std::string &reel, unsigned port)
    {
        sockaddr_in address{};
        socket = system_open(&address);
        if (socket == SYSTEM_NO_SOCKET)
            throw std::runtime_error("no socket");
        system_do_not_wait(socket);
        netreel::from_sockaddr(&address, sizeof address, local).or_throw();
        if (port != 0) {
            peer = local;
            peer.port = static_cast<std::uint16_t>(port);
        }

        netreel::options options{reel};
        options.engine = "udp example";
        options.flags = NETREEL_CLOCK_MONOTONIC;
        options.start = Walker(peer).state();
        recorder = netreel::recorder::open(options).value();
        thread = recorder.open_thread().value();
        number = thread.open_socket(local).value();
    }
    Recorded(const Recorded &) = delete;
    Recorded &operator=(const Recorded &) = delete;
    ~Recorded() { system_close(socket); }

    // ---- What the protocol calls ----

    void clock(std::uint64_t &value)
    {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        value = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
        thread.clock_read(value);
    }
    void random(std::uint64_t &value)
    {
        value = static_cast<std::uint64_t>(device()) << 32 | device();
        thread.random_drawn(value);
    }
    netreel::code send(std::uint32_t, const netreel_endpoint &to, netreel::bytes packet)
    {
        sockaddr_in address{};
        std::uint32_t size = sizeof address;
        netreel::to_sockaddr(to, &address, size);
        thread.send(number, to, packet, [&]() -> std::int64_t {
            const long taken = system_send(socket, &address, packet.data(), packet.size());
            return taken < 0 ? -system_error() : taken;
        });
        return NETREEL_OK;
    }
    netreel::code receive(std::uint32_t, netreel::room into, netreel::packet &came)
    {
        sockaddr_in address{};
        const long length = system_receive(socket, &address, into.data(), into.size());
        came.kind = NETREEL_EMPTY;
        if (length < 0) {
            const int error = system_error();
            if (error == SYSTEM_NO_PACKET)
                thread.poll_empty(number);
            else
                thread.receive_failed(number, error);
            return NETREEL_OK;
        }
        came.kind = NETREEL_RECEIVED;
        came.length = static_cast<std::uint64_t>(length);
        netreel::from_sockaddr(&address, sizeof address, came.from);
        thread.packet_received(number, came.from, netreel::bytes_at(into.data(), came.length));
        return NETREEL_OK;
    }

    netreel_endpoint local{}, peer{};
    netreel::recorder recorder;
    netreel::thread thread;
    std::uint32_t number = 0; // in the reel

private:
    system_socket socket;
    std::random_device device;
};

/** The game: what it does to the protocol is recorded, and not run in a replay. */
static int play(const std::string &reel, unsigned port)
{
    Recorded world(reel, port);
    Walker walker(world.peer);
    std::cout << world.local.port << std::endl;
    for (std::uint64_t tick = 0; tick < 120 || (walker.ack < 60 && tick < 5000); ++tick) {
        if (tick % 3 == 0) {
            const std::int8_t call = tick % 2 ? 1 : -2;
            world.thread.input(netreel::bytes_of(call));
            walker.call(netreel::bytes_of(call));
        }
        world.thread.tick(tick, tick * 2000000);
        walker.tick(world);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    world.thread.socket_closed(world.number);
    world.thread.close();
    std::cout << world.recorder.close().value().events << " events" << std::endl;
    return 0;
}

static int play_again(const char *reel, const char *other_step)
{
    auto replay = netreel::replay::open(reel).value();
    Walker walker(replay.start());
    if (other_step)
        walker.step = std::atoi(other_step);
    netreel::step step;
    while (replay.next(step)) {
        if (step.is_tick())
            walker.tick(replay);
        else
            walker.call(step.input());
    }
    const auto report = replay.report();
    std::cout << (report.exact() ? "exact" : report.text) << ": " << report.ticks << " ticks, "
              << report.inputs << " calls, " << report.sends << " equal sends"
              << (report.cut ? "; the reel was cut" : "") << std::endl;
    return report.exact() ? 0 : 1;
}

int main(int argc, char **argv)
try {
    const std::string what = argc > 2 ? argv[1] : "";
    netreel::load().or_throw();
    if (what == "replay")
        return play_again(argv[2], argc > 3 ? argv[3] : nullptr);
    if (what == "record")
        return play(argv[2], argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0);
    std::cerr << "udp record REEL [PORT] | udp replay REEL [STEP]\n";
    return 2;
} catch (const std::exception &thrown) {
    std::cerr << "udp: " << thrown.what() << '\n';
    return 2;
}
