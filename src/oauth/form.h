/* Forms and queries of the authorization server, application/x-www-form-urlencoded (RFC 6749, appendix B). */
#ifndef FLEET_OAUTH_FORM_H
#define FLEET_OAUTH_FORM_H

#include "base/buf.h"
#include "base/err.h"

/* Appends "name=value", with "&" before it unless out is empty; value.data NULL leaves it out. */
void form_add(struct buf *out, const char *name, struct bytes value);

/* Appends the decoded value of a field; false when the name is absent. A name given twice, or a badly encoded
 * value, is an error in e. */
bool form_field(struct bytes form, const char *name, struct buf *value, struct err *e);

#endif
