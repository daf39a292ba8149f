/*
 * What netreel_layer.hpp makes of two classes, called as netreel calls it: `layer_table`. With
 * -fno-exceptions refusals come through netreel::refuse. Prints what is not so, and ends with 1 then.
 */
#include <netreel_layer.hpp>

#include <cstdio>
#include <cstring>

static int wrong = 0;

static void check(bool so, const char *what)
{
    if (!so) {
        std::printf("not so: %s\n", what);
        ++wrong;
    }
}

static void refuse(const char *why)
{
#ifdef NETREEL_EXCEPTIONS
    throw std::runtime_error(why);
#else
    netreel::refuse(why);
#endif
}

/** All that a layer may have. */
struct Whole {
    std::string state;
    bool patient = false;

    Whole(const netreel_layer_start &start, netreel::world world)
        : state(netreel::text_of(netreel::bytes_at(start.start, start.start_length)))
    {
        if (state.empty())
            refuse("no start conditions");
        world.note("made");
    }
    void tick(netreel::world world, std::uint64_t tick, std::uint64_t)
    {
        std::uint64_t now = 0, drawn = 0;
        world.clock(now);
        world.random(drawn);
        std::byte buffer[8];
        netreel::packet came;
        if (world.receive(0, buffer, came) && came.received())
            world.send(0, came.from, netreel::bytes_at(buffer, came.length));
        state += std::to_string(tick + now + drawn);
        world.believes("destroyed 1");
    }
    void input(netreel::world, netreel::bytes call)
    {
        if (call.size() != 1)
            refuse("a call has one byte");
    }
    std::string save() const { return state; }
    void restore(netreel::world, netreel::bytes saved) { state = netreel::text_of(saved); }
    bool time_outs(bool on)
    {
        patient = !on;
        return true;
    }
    std::vector<netreel_belief> beliefs() const { return {{1, 2, 3}, {4, 5, 6}}; }
};

/** As little as will do. */
struct Little {
    Little(const netreel_layer_start &, netreel::world) {}
    void tick(netreel::world, std::uint64_t, std::uint64_t) {}
    void input(netreel::world, netreel::bytes) {}
};

NETREEL_LAYER(Whole, "engine", "7")

static std::string said, sent;

static netreel_world a_world()
{
    netreel_world world{};
    world.size = sizeof world;
    world.version = NETREEL_LAYER_VERSION;
    world.clock = [](void *, std::uint64_t *value) -> std::int32_t { return *value = 10, 0; };
    world.random = [](void *, std::uint64_t *value) -> std::int32_t { return *value = 100, 0; };
    world.receive = [](void *, std::uint32_t, void *buffer, std::uint64_t, netreel_packet *packet) -> std::int32_t {
        std::memcpy(buffer, "hey", 3);
        packet->kind = packet->size == sizeof *packet ? NETREEL_RECEIVED : NETREEL_FAILED;
        packet->length = 3;
        return 0;
    };
    world.send = [](void *, std::uint32_t, const netreel_endpoint *, const void *bytes, std::uint64_t length,
                    std::int64_t *) -> std::int32_t {
        sent.assign(static_cast<const char *>(bytes), static_cast<std::size_t>(length));
        return 0;
    };
    world.note = world.believes = [](void *, const char *text, std::uint64_t length) -> std::int32_t {
        said.assign(text, static_cast<std::size_t>(length));
        return 0;
    };
    return world;
}

static void whole()
{
    const netreel_layer_api *api = netreel_layer(NETREEL_LAYER_VERSION);
    check(api && netreel_layer(99) == nullptr, "one version is served");
    check(api->size == sizeof *api && std::strcmp(api->name, "engine") == 0 && std::strcmp(api->build, "7") == 0,
          "a table has its name");
    netreel_world world = a_world();
    netreel_layer_start start{};
    void *layer = nullptr;
    check(api->create(&start, &world, &layer) < 0 && !layer, "a refusal makes no layer");
    check(std::strcmp(api->error(nullptr), "no start conditions") == 0, "and says why");
    start.start = "s";
    start.start_length = 1;
    check(api->create(&start, &world, &layer) == 0 && layer && said == "made", "a layer is made");
    check(api->tick(layer, &world, 1, 0) == 0 && sent == "hey" && said == "destroyed 1", "it reaches its world");
    world.size = offsetof(netreel_world, believes); // an older netreel
    said.clear();
    check(api->tick(layer, &world, 1, 0) == 0 && said.empty(), "what is not there is not called");

    std::uint64_t length = 0, count = 0;
    char state[16];
    check(api->save(layer, nullptr, 0, &length) == 0 && length == 7, "a state says its length");
    check(api->save(layer, state, 16, &length) == 0 && std::memcmp(state, "s111111", 7) == 0, "and its bytes");
    check(api->restore(layer, &world, "t", 1) == 0 && api->save(layer, state, 16, &length) == 0 && length == 1,
          "another is restored");
    check(api->input(layer, &world, "ab", 2) < 0 && std::strcmp(api->error(layer), "a call has one byte") == 0,
          "a call is refused");
    check(api->input(layer, &world, "a", 1) == 0 && *api->error(layer) == '\0', "and the next is not");
    netreel_belief beliefs[2];
    check(api->beliefs(layer, nullptr, 0, &count) == 0 && count == 2, "beliefs are counted");
    check(api->beliefs(layer, beliefs, 2, &count) == 0 && beliefs[1].values == 6, "and told");
    check(api->time_outs(layer, 0) == 0 && static_cast<Whole *>(layer)->patient, "time-outs have a switch");
    api->destroy(layer);
}

int main()
{
    whole();
    const netreel_layer_api little = netreel::layer_table<Little>("little");
    check(little.create && !little.save && !little.restore && !little.time_outs && !little.beliefs && !little.build,
          "what a class has not is NULL");
    return wrong == 0 ? 0 : 1;
}
