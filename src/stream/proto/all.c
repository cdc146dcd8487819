/* The generated messages as one translation unit: no symbol of theirs leaves it. */
#include <protobuf-c/protobuf-c.h> /* before the line below: the library's own symbols are not ours to hide */

#pragma GCC visibility push(hidden)
#pragma GCC diagnostic ignored "-Wmissing-braces" /* in the generated initialisers */
#include "vehicle_alert.pb-c.c"
#include "vehicle_data.pb-c.c"
#include "vehicle_error.pb-c.c"
#pragma GCC visibility pop
