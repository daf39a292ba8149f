/*
 * netreel_layer.hpp - a class of C++17 as the plugin of netreel_layer.h.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     struct MyLayer {
 *         MyLayer(const netreel_layer_start &start, netreel::world world);
 *         void tick(netreel::world world, uint64_t tick, uint64_t time);
 *         void input(netreel::world world, netreel::bytes call);
 *     };
 *     NETREEL_LAYER(MyLayer, "my engine", "build 7")    // or nullptr for the build
 *
 * What these throw, or say to netreel::refuse, is the error of the call. What a layer may have besides:
 *
 *     std::string save() const;                         // any container of bytes. Both or none:
 *     void restore(netreel::world world, netreel::bytes state);
 *     bool time_outs(bool on);                          // false: this layer has none
 *     std::vector<netreel_belief> beliefs() const;      // in the order of objects' numbers
 *
 * The plugin links nothing of netreel.
 */
#ifndef NETREEL_LAYER_HPP
#define NETREEL_LAYER_HPP

#include <netreel.hpp>
#include <netreel_layer.h>

#include <cstring>
#include <memory>

namespace netreel {

/** What answers a layer: the functions of netreel::replay. To be used inside calls into the layer. */
class world {
public:
    explicit world(const netreel_world *of) noexcept : of_(of) {}

    code receive(std::uint32_t socket, room into, packet &packet) const noexcept
    {
        return of_->receive(of_->world, socket, into.data(), into.size(), &packet);
    }
    code send(std::uint32_t socket, const netreel_endpoint &to, bytes packet,
              std::int64_t *came = nullptr) const noexcept
    {
        return of_->send(of_->world, socket, &to, packet.data(), packet.size(), came);
    }
    code clock(std::uint64_t &value) const noexcept { return of_->clock(of_->world, &value); }
    code random(std::uint64_t &value) const noexcept { return of_->random(of_->world, &value); }
    code note(std::string_view text) const noexcept
    {
        return of_->note(of_->world, text.data(), text.size());
    }
    /** "created 42 owner 3"; NETREEL_E_UNSUPPORTED where this netreel hears no beliefs. */
    code believes(std::string_view words) const noexcept
    {
        if (of_->size < offsetof(netreel_world, believes) + sizeof of_->believes || !of_->believes)
            return NETREEL_E_UNSUPPORTED;
        return of_->believes(of_->world, words.data(), words.size());
    }
    const netreel_world *get() const noexcept { return of_; }

private:
    const netreel_world *of_;
};

namespace detail {

template <class L, class = void> struct has_states : std::false_type {};
template <class L>
struct has_states<L, std::void_t<decltype(std::declval<const L &>().save())>> : std::true_type {};
template <class L, class = void> struct has_time_outs : std::false_type {};
template <class L>
struct has_time_outs<L, std::void_t<decltype(std::declval<L &>().time_outs(true))>>
    : std::true_type {};
template <class L, class = void> struct has_beliefs : std::false_type {};
template <class L>
struct has_beliefs<L, std::void_t<decltype(std::declval<const L &>().beliefs())>>
    : std::true_type {};

/** Why the last call failed. All calls come from one thread. */
inline std::string &refused()
{
    static std::string why;
    return why;
}

/** The functions of netreel_layer_api around a class. */
template <class L> struct layer_functions {
    /** 0, or below it where `body` throws, or refuses. */
    template <class Body> static std::int32_t run(Body &&body)
    {
        refused().clear();
#ifdef NETREEL_EXCEPTIONS
        try {
            body();
        } catch (const std::exception &thrown) {
            refused() = thrown.what();
            return NETREEL_E_ARGUMENT;
        } catch (...) {
            refused() = "the layer threw what is no std::exception";
            return NETREEL_E_INTERNAL;
        }
#else
        body();
#endif
        return refused().empty() ? NETREEL_OK : NETREEL_E_ARGUMENT;
    }

    static std::int32_t create(const netreel_layer_start *start, const netreel_world *io, void **made)
    {
        return run([&] {
            auto layer = std::make_unique<L>(*start, world(io));
            if (refused().empty())
                *made = layer.release();
        });
    }
    static std::int32_t tick(void *layer, const netreel_world *io, std::uint64_t tick,
                             std::uint64_t time)
    {
        return run([&] { static_cast<L *>(layer)->tick(world(io), tick, time); });
    }
    static std::int32_t input(void *layer, const netreel_world *io, const void *call,
                              std::uint64_t length)
    {
        return run([&] { static_cast<L *>(layer)->input(world(io), bytes_at(call, length)); });
    }
    static void destroy(void *layer) { delete static_cast<L *>(layer); }
    static const char *error(void *) { return refused().c_str(); }

    /** Copies what a container has where there is room for all of it. */
    template <class C, class E>
    static void give(const C &all, E *room, std::uint64_t capacity, std::uint64_t *count)
    {
        *count = all.size();
        if (capacity >= all.size() && !all.empty())
            std::memcpy(room, all.data(), all.size() * sizeof *all.data());
    }
    static std::int32_t save(void *layer, void *state, std::uint64_t capacity, std::uint64_t *length)
    {
        return run([&] {
            const auto saved = static_cast<const L *>(layer)->save();
            static_assert(sizeof *saved.data() == 1, "a state is bytes");
            give(saved, state, capacity, length);
        });
    }
    static std::int32_t restore(void *layer, const netreel_world *io, const void *state,
                                std::uint64_t length)
    {
        return run([&] { static_cast<L *>(layer)->restore(world(io), bytes_at(state, length)); });
    }
    static std::int32_t time_outs(void *layer, std::int32_t on)
    {
        bool has = false;
        const std::int32_t came = run([&] { has = static_cast<L *>(layer)->time_outs(on != 0); });
        return came == NETREEL_OK && !has ? NETREEL_E_UNSUPPORTED : came;
    }
    static std::int32_t beliefs(void *layer, netreel_belief *beliefs, std::uint64_t capacity,
                                std::uint64_t *count)
    {
        return run([&] { give(static_cast<const L *>(layer)->beliefs(), beliefs, capacity, count); });
    }
};

} // namespace detail

/** Inside a call into a layer: it is refused, for this reason. For who builds without exceptions. */
inline void refuse(std::string_view why) { detail::refused() = why; }

/** The table of a class. `name` is the engine that reels name; `build` may be NULL. */
template <class L> netreel_layer_api layer_table(const char *name, const char *build = nullptr)
{
    using functions = detail::layer_functions<L>;
    detail::sized<netreel_layer_api> api;
    api.version = NETREEL_LAYER_VERSION;
    api.name = name;
    api.build = build;
    api.create = functions::create;
    api.tick = functions::tick;
    api.input = functions::input;
    api.destroy = functions::destroy;
    api.error = functions::error;
    if constexpr (detail::has_states<L>::value) {
        api.save = functions::save;
        api.restore = functions::restore;
    }
    if constexpr (detail::has_time_outs<L>::value)
        api.time_outs = functions::time_outs;
    if constexpr (detail::has_beliefs<L>::value)
        api.beliefs = functions::beliefs;
    return api;
}

} // namespace netreel

/** What the plugin exports: once, in one file of it. */
#define NETREEL_LAYER(LAYER, NAME, BUILD)                                                          \
    extern "C" NETREEL_EXPORT const netreel_layer_api *netreel_layer(std::uint32_t version)        \
    {                                                                                              \
        static const netreel_layer_api api = netreel::layer_table<LAYER>(NAME, BUILD);             \
        return version == NETREEL_LAYER_VERSION ? &api : nullptr;                                  \
    }

#endif
