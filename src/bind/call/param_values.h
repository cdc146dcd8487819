/* One value of a parameter as what it is: checked against its row, not yet written in any form.
 *
 * The forms of params.h are made of these; each raises the caller's mistake.
 */
#ifndef FLEET_BIND_PARAM_VALUES_H
#define FLEET_BIND_PARAM_VALUES_H

#include "bind/call/params.h"

void id_value(const struct plan *p, const struct param *q, int index, struct buf *out);
struct bytes string_value(const struct plan *p, const struct param *q, int index);
void check_text_param(const struct plan *p, const struct param *q, struct bytes text);
const struct choice *choice_value(const struct plan *p, const struct param *q, int index);
/* Whether the text is given that the plain form takes in place of true or false. */
bool is_boolean_word(const struct plan *p, const struct param *q, int index);
bool boolean_value(const struct plan *p, const struct param *q, int index);
lua_Integer integer_value(const struct plan *p, const struct param *q, int index);
/* The 65 bytes of a public key in any of its forms, as a Lua string that stays on the stack. */
struct bytes public_key_value(const struct plan *p, const struct param *q, int index);
double number_value(const struct plan *p, const struct param *q, int index);
unsigned days_value(const struct plan *p, const struct param *q, int index);

#endif
