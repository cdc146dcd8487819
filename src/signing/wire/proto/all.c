/* The generated messages as one translation unit: whatever flags a static host compiles with, no symbol of theirs leaves
 * it, so that another copy of protobuf-c or of these messages in the process cannot clash (the prefix is `fleet`). */
#include <protobuf-c/protobuf-c.h> /* before the line below: the library's own symbols are not ours to hide */

#pragma GCC visibility push(hidden)
#pragma GCC diagnostic ignored "-Wmissing-braces" /* in the generated initialisers */
#include "errors.pb-c.c"
#include "keys.pb-c.c"
#include "managed_charging.pb-c.c"
#include "signatures.pb-c.c"
#include "timestamp.pb-c.c"
#include "universal_message.pb-c.c"
#include "vcsec.pb-c.c"
#include "car_server.pb-c.c"
#pragma GCC visibility pop
