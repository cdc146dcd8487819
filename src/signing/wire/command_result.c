#include "signing/wire/command_result.h"

#include "base/reason.h"
#include "signing/wire/protobuf_fields.h"
#include "signing/wire/message.h"
#include "signing/wire/proto/car_server.pb-c.h"
#include "signing/wire/proto/vcsec.pb-c.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef Fleet__CarServer__Response Response;
typedef Fleet__VCSEC__FromVCSECMessage FromVcsec;
typedef Fleet__VCSEC__CommandStatus CommandStatus;

static bool refuse(struct err *e, const char *reason) {
  snprintf(e->reason, sizeof e->reason, "%s", reason);
  e->outcome = OUTCOME_REFUSED;
  return err_set(e, KIND_refused, "the vehicle refused: %s", reason);
}

static bool say_busy(struct err *e) {
  e->outcome = OUTCOME_REFUSED;
  return err_set(e, KIND_busy, "the vehicle is busy: ask again shortly");
}

static const char no_cause[] = "GENERICERROR_UNKNOWN"; /* as the rows of reasons spell it */

static bool refuse_by_error(struct err *e, int value) {
  const ProtobufCEnumValue *v =
      protobuf_c_enum_descriptor_get_value(&fleet__errors__generic_error__e__descriptor, value);
  return refuse(e, v ? v->name : no_cause);
}

/* SIGNEDMESSAGE_INFORMATION_FAULT_NOT_ON_WHITELIST reads not_on_whitelist; a number without a name is the
 * reason itself. */
static bool refuse_by_name(struct err *e, const ProtobufCEnumDescriptor *d, int value, const char *prefix) {
  char word[96];
  const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(d, value);
  snprintf(word, sizeof word, "%d", value);
  if (v)
    snprintf(word, sizeof word, "%s",
             v->name + (strncmp(v->name, prefix, strlen(prefix)) ? 0 : strlen(prefix)));
  for (char *c = word; *c; c++) *c = (char)tolower((unsigned char)*c);
  return refuse(e, word);
}

static bool read_key_operation(const Fleet__VCSEC__WhitelistOperationStatus *s, struct err *e) {
  if (s->whitelistoperationinformation == 0) return true;
  return refuse_by_name(e, &fleet__vcsec__whitelist_operation_information__e__descriptor,
                        (int)s->whitelistoperationinformation, "WHITELISTOPERATION_INFORMATION_");
}

#define INFORMATION(word) FLEET__VCSEC__SIGNED_MESSAGE_INFORMATION__E__SIGNEDMESSAGE_INFORMATION_FAULT_##word

/* Why the message itself was refused. */
static bool refuse_message(const CommandStatus *s, struct err *e) {
  const Fleet__VCSEC__SignedMessageStatus *m =
      s->sub_message_case == FLEET__VCSEC__COMMAND_STATUS__SUB_MESSAGE_SIGNED_MESSAGE_STATUS
          ? s->signedmessagestatus
          : NULL;
  if (!m || m->signedmessageinformation == 0) return refuse(e, no_cause);
  if (m->signedmessageinformation == INFORMATION(INVALID_TOKEN)) /* the authorization server has that word */
    return refuse(e, "session_token_invalid");
  return refuse_by_name(e, &fleet__vcsec__signed_message_information__e__descriptor,
                        (int)m->signedmessageinformation, "SIGNEDMESSAGE_INFORMATION_FAULT_");
}

static bool says_nothing(struct err *e) {
  e->outcome = OUTCOME_UNKNOWN;
  return err_set(e, KIND_protocol, "the vehicle's answer does not say whether the command was carried out");
}

static bool read_status(const CommandStatus *s, struct err *e) {
  bool keys = s->sub_message_case == FLEET__VCSEC__COMMAND_STATUS__SUB_MESSAGE_WHITELIST_OPERATION_STATUS &&
              s->whitelistoperationstatus;
  if (keys && !read_key_operation(s->whitelistoperationstatus, e)) return false;
  if (s->operationstatus == FLEET__VCSEC__OPERATION_STATUS__E__OPERATIONSTATUS_WAIT) return say_busy(e);
  if (s->operationstatus == FLEET__VCSEC__OPERATION_STATUS__E__OPERATIONSTATUS_ERROR)
    return refuse_message(s, e);
  return s->operationstatus == FLEET__VCSEC__OPERATION_STATUS__E__OPERATIONSTATUS_OK || says_nothing(e);
}

static bool unreadable(struct err *e) {
  e->outcome = OUTCOME_UNKNOWN;
  return err_set(e, KIND_protocol,
                 "the vehicle's answer cannot be read: the command may have been carried out");
}

static bool read_vcsec(const struct answer_facts *f, struct arena *a, struct err *e) {
  FromVcsec *m = (FromVcsec *)message_unpack(&fleet__vcsec__from_vcsecmessage__descriptor, f->payload, a);
  if (!m) return unreadable(e);
  if (m->sub_message_case == FLEET__VCSEC__FROM_VCSECMESSAGE__SUB_MESSAGE_NOMINAL_ERROR && m->nominalerror)
    return refuse_by_error(e, (int)m->nominalerror->genericerror);
  if (m->sub_message_case == FLEET__VCSEC__FROM_VCSECMESSAGE__SUB_MESSAGE_COMMAND_STATUS && m->commandstatus)
    return read_status(m->commandstatus, e);
  bool empty = m->sub_message_case == FLEET__VCSEC__FROM_VCSECMESSAGE__SUB_MESSAGE__NOT_SET &&
               m->base.n_unknown_fields == 0;
  return empty || says_nothing(e);
}

static const char *vehicle_words(const Fleet__CarServer__ActionStatus *s) {
  const Fleet__CarServer__ResultReason *r = s->result_reason;
  bool text = r && r->reason_case == FLEET__CAR_SERVER__RESULT_REASON__REASON_PLAIN_TEXT && r->plain_text &&
              *r->plain_text;
  return text ? r->plain_text : "unspecified error";
}

static bool read_infotainment(const struct answer_facts *f, struct arena *a, struct err *e) {
  Response *r = (Response *)message_unpack(&fleet__car_server__response__descriptor, f->payload, a);
  if (!r) return unreadable(e);
  if (r->actionstatus) {
    int result = (int)r->actionstatus->result;
    if (result == FLEET__CAR_SERVER__OPERATION_STATUS__E__OPERATIONSTATUS_ERROR)
      return refuse(e, vehicle_words(r->actionstatus));
    return result == FLEET__CAR_SERVER__OPERATION_STATUS__E__OPERATIONSTATUS_OK || says_nothing(e);
  }
  return f->authenticated || says_nothing(e);
}

/* No tag covers the status of the envelope: it can turn success into failure, never the reverse. */
static bool read_envelope(const struct answer_facts *f, struct err *e) {
  if (f->status == STATUS_OK) return true;
  if (f->status == STATUS_WAIT)
    say_busy(e);
  else
    refuse(e, no_cause);
  if (f->authenticated) e->outcome = OUTCOME_UNKNOWN;
  return false;
}

bool answer_read(const struct answer_facts *f, struct err *e) {
  struct arena a;
  arena_start(&a, 4 * MESSAGE_LIMIT);
  bool ok = (f->domain == DOMAIN_VCSEC ? read_vcsec : read_infotainment)(f, &a, e) && read_envelope(f, e);
  arena_end(&a);
  return ok;
}

bool answer_unchanged(bool strict, struct err *e) {
  const struct reason *known = e->reason[0] ? reason_of(e->reason) : NULL;
  if (!known) return false;
  if (known->kind == KIND_none && !strict) return true;
  size_t size = strlen(e->message);
  if (known->doc) snprintf(e->message + size, sizeof e->message - size, ". %s", known->doc);
  if (known->kind != KIND_none) e->kind = known->kind;
  return false;
}

bool answer_is_stale(const struct err *e) {
  return e->kind == KIND_protocol && e->outcome == OUTCOME_REFUSED;
}
