/* believes REEL: a game that says what it believes. */
#include <netreel.h>
#include <string.h>

int main(int argc, char **argv)
{
    const double place[3] = {1.5, -2.0, 3.0};
    netreel_api net;
    netreel_options options;
    netreel_recorder *recorder;
    netreel_thread *thread;
    if (argc < 2 || netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 2;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.path = argv[1];
    if (net.open(&options, &recorder) != NETREEL_OK)
        return 3;
    if (net.thread_open(recorder, &thread) != NETREEL_OK)
        return 4;
    if (net.believes_created(thread, 42, 3) != NETREEL_OK)
        return 5;
    if (net.believes_created(thread, 43, NETREEL_NO_OWNER) != NETREEL_OK)
        return 6;
    if (net.believes_owner(thread, 42, 4) != NETREEL_OK)
        return 7;
    if (net.believes_value(thread, 42, "position", place, 3) != NETREEL_OK)
        return 8;
    if (net.believes_text(thread, 42, "name", "Bob the second", 14) != NETREEL_OK)
        return 9;
    if (net.believes_destroyed(thread, 42) != NETREEL_OK)
        return 10;
    if (net.believes_value(thread, 42, "two words", place, 3) != NETREEL_E_ARGUMENT)
        return 11;
    if (net.believes_value(thread, 42, NULL, place, 3) != NETREEL_E_ARGUMENT)
        return 12;
    if (net.believes_value(thread, 42, "position", NULL, 3) != NETREEL_E_ARGUMENT)
        return 13;
    if (net.thread_close(thread) != NETREEL_OK || net.close(recorder, NULL) != NETREEL_OK)
        return 14;
    return 0;
}
