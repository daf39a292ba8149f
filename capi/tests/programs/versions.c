/*
 * versions REEL: a plugin that was compiled with another netreel.h than the library's. With -DNEWER
 * that header has a function and an option more, with -DOLDER both structs end earlier.
 */
#include <netreel.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    netreel_api net;
    netreel_options options;
    netreel_summary summary;
    netreel_recorder *recorder;
    netreel_thread *thread;
    if (argc < 2 || netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 2;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.path = argv[1];
#ifdef NEWER
    if (net.newer != NULL)
        return 3;
    options.newer = 1;
    if (net.open(&options, &recorder) != NETREEL_E_UNSUPPORTED || recorder != NULL)
        return 4;
    puts(net.error_text());
    options.newer = 0;
#endif
    if (net.open(&options, &recorder) != NETREEL_OK)
        return 5;
    if (net.thread_open(recorder, &thread) != NETREEL_OK)
        return 6;
    if (net.note(thread, "hello", 5) != NETREEL_OK || net.thread_close(thread) != NETREEL_OK)
        return 7;
    memset(&summary, 0xee, sizeof summary);
    summary.size = sizeof summary;
    if (net.close(recorder, &summary) != NETREEL_OK || summary.events != 1)
        return 8;
#ifdef NEWER
    if (summary.newer != 0)
        return 9;
#endif
    printf("table of %u bytes, %u known\n", (unsigned)sizeof net, (unsigned)net.size);
    return 0;
}
