/* full REEL: records until that ends, and says how many calls were taken and what ended it. */
#include <netreel.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const char state[1000];
    netreel_api net;
    netreel_options options;
    netreel_recorder *recorder;
    netreel_thread *thread;
    uint64_t taken = 0;
    int32_t code;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.path = argc > 1 ? argv[1] : "full.reel";
    options.buffer_bytes = 256 << 10;
    if (netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 2;
    if (net.open(&options, &recorder) != NETREEL_OK ||
        net.thread_open(recorder, &thread) != NETREEL_OK) {
        printf("%s\n", net.error_text());
        return 1;
    }
    while ((code = net.snapshot(thread, state, sizeof state)) != NETREEL_E_STOPPED && taken < 50000)
        taken += code == NETREEL_OK;
    printf("%lu\n%s: %s\n", (unsigned long)taken, net.code_name(code), net.error_text());
    code = net.close(recorder, NULL);
    printf("%s: %s\n", net.code_name(code), net.error_text());
    return 0;
}
