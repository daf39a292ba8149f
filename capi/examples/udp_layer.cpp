/*
 * The protocol of walker.hpp as a plugin: what udp.cpp, or udp.c, has recorded,
 * `netreel replay REEL --layer ./udp_layer.so` plays once more.
 *
 *     c++ -std=c++17 -shared -fPIC udp_layer.cpp -I ../include -o udp_layer.so
 *
 * With -DSTEP=7 it is a changed layer, and diverges.
 */
#include "walker.hpp"

#include <netreel_layer.hpp>

struct Plugin {
    Walker walker;

    Plugin(const netreel_layer_start &start, netreel::world)
        : walker(netreel::bytes_at(start.start, start.start_length))
    {
#ifdef STEP
        walker.step = STEP;
#endif
    }
    void tick(netreel::world world, std::uint64_t, std::uint64_t) { walker.tick(world); }
    void input(netreel::world, netreel::bytes call) { walker.call(call); }

    std::string save() const { return walker.state(); }
    void restore(netreel::world, netreel::bytes state) { walker = Walker(state); }
};

NETREEL_LAYER(Plugin, "udp example", nullptr)
